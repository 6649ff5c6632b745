//! Dense rows in the memory of a GPU. Products convert, centre and scale the values panel by panel.

use std::ops::Range;

use cudarc::driver::CudaSlice;
use karhunen::exec::Exec;
use karhunen::matrix::Major;
use karhunen::{Dense, Error, Matrix, Result, Scalar, Side, Sparse};
use rayon::prelude::*;

use crate::cuda::gpu::Gpu;
use crate::cuda::kernels::{OnGpu, Panel};
use crate::cuda::products::symmetric;
use crate::cuda::standard::By;
use crate::cuda::upload::Upload;

/// Most values of a panel, unless one row or one column has more.
const PANEL: usize = 1 << 25;
/// Most values that are copied at a time from rows that are not contiguous.
const COPIED: usize = 1 << 25;
/// Rows that a thread copies at a time from columns.
const LINES: usize = 64;
/// Fewest rows and most runs of rows that are summed by themselves, and most sums of all runs.
const RUN: usize = 256;
const RUNS: usize = 1024;
const SUMS: usize = 1 << 22;

/// Values of a panel of rows of `n` x `p` values.
pub(super) fn panel_len((n, p): (usize, usize)) -> usize {
    PANEL.min(n.saturating_mul(p)).max(p)
}

/// A matrix, row-major.
#[derive(Debug)]
pub(super) struct DenseRows {
    shape: (usize, usize),
    is_f32: bool,
    values: CudaSlice<u8>,
    panel: CudaSlice<f64>,
}

impl DenseRows {
    /// Takes memory for rows of type `T`.
    pub(super) fn room<T: Scalar>(gpu: &Gpu, (n, p): (usize, usize)) -> Result<Self> {
        let bytes = n.saturating_mul(p).saturating_mul(size_of::<T>());
        let panel = panel_len((n, p));
        gpu.ask("the matrix", bytes as f64 + 8.0 * panel as f64)?;
        Ok(Self {
            shape: (n, p),
            is_f32: T::NAME == f32::NAME,
            values: gpu.zeros("the matrix", bytes)?,
            panel: gpu.zeros("a panel of the matrix", panel)?,
        })
    }

    /// Copies a block of rows, the first of which is row `first`.
    pub(super) fn put<T: Scalar>(
        &mut self,
        upload: &mut Upload<'_>,
        first: usize,
        x: &Dense<'_, T>,
    ) -> Result<()> {
        let (p, bytes) = (self.shape.1, self.shape.1 * size_of::<T>());
        let mut copy = |rows: Range<usize>, values: &[T]| {
            let place = self.values.slice_mut((first + rows.start) * bytes..(first + rows.end) * bytes);
            upload.put(bytemuck::cast_slice::<T, u8>(values), place)
        };
        let all = x.contiguous();
        if !all.is_empty() {
            return Ok(copy(0..x.n_rows(), all)?);
        }
        let most = (COPIED / p.max(1)).max(1);
        let mut tile = Vec::new();
        for start in (0..x.n_rows()).step_by(most) {
            let rows = start..(start + most).min(x.n_rows());
            tile.resize(rows.len() * p, T::default());
            if x.contiguous_row(start).is_some() {
                for (i, line) in rows.clone().zip(tile.chunks_exact_mut(p)) {
                    line.copy_from_slice(x.contiguous_row(i).unwrap_or_default());
                }
            } else {
                tile.par_chunks_mut(LINES * p).enumerate().for_each(|(part, lines)| {
                    for j in 0..p {
                        for (i, line) in lines.chunks_exact_mut(p).enumerate() {
                            line[j] = x.get(start + part * LINES + i, j);
                        }
                    }
                });
            }
            copy(rows, &tile)?;
        }
        Ok(())
    }

    /// Copies a block of sparse rows among dense ones, zeros included.
    pub(super) fn put_sparse<T: Scalar>(
        &mut self,
        upload: &mut Upload<'_>,
        first: usize,
        x: &Sparse<'_, T>,
    ) -> Result<()> {
        let (n, p) = (x.n_rows(), x.n_cols());
        let mut rows = Matrix::<T>::zeros(n, p);
        for (line, bounds) in x.pointers().windows(2).enumerate() {
            for at in bounds[0]..bounds[1] {
                let other = x.index(at);
                let place = if x.major() == Major::Rows { (line, other) } else { (other, line) };
                rows[place] = x.values()[at];
            }
        }
        self.put(upload, first, &Dense::row_major(rows.as_slice(), n, p)?)
    }

    /// Calls `f` with each panel of whole rows, and with the rows.
    fn visit_rows(
        &mut self,
        gpu: &Gpu,
        by: &OnGpu,
        exec: &Exec<'_>,
        mut f: impl FnMut(&CudaSlice<f64>, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let (n, p) = self.shape;
        let most = (self.panel.len() / p).max(1);
        for start in (0..n).step_by(most) {
            let rows = start..(start + most).min(n);
            let panel = Panel { first_row: start, n_rows: rows.len(), first_col: 0, n_cols: p };
            gpu.dense_panel(&mut self.panel, (&self.values, self.is_f32, p), panel, by)?;
            let end = rows.end;
            f(&self.panel, rows)?;
            exec.report(end as f64 / n as f64)?;
        }
        Ok(())
    }

    /// Calls `f` with each panel of whole columns, shape (n, width), and with the width.
    fn visit_columns(
        &mut self,
        gpu: &Gpu,
        by: &OnGpu,
        exec: &Exec<'_>,
        mut f: impl FnMut(&CudaSlice<f64>, usize) -> Result<()>,
    ) -> Result<()> {
        let (n, p) = self.shape;
        if self.panel.len() < n {
            self.panel = gpu.zeros("a panel of the matrix", n)?;
        }
        let most = (self.panel.len() / n).max(1);
        for start in (0..p).step_by(most) {
            let width = most.min(p - start);
            let panel = Panel { first_row: 0, n_rows: n, first_col: start, n_cols: width };
            gpu.dense_panel(&mut self.panel, (&self.values, self.is_f32, p), panel, by)?;
            f(&self.panel, width)?;
            exec.report((start + width) as f64 / p as f64)?;
        }
        Ok(())
    }

    /// `B Q`, shape (n, l).
    pub(super) fn project(&mut self, gpu: &Gpu, by: By<'_>, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let ((n, p), l) = (self.shape, q.n_cols());
        let on_gpu = by.put(gpu)?;
        let q = gpu.put("vectors", q.as_slice())?;
        let mut out = gpu.zeros("a product", n * l)?;
        self.visit_rows(gpu, &on_gpu, exec, |panel, rows| {
            let r = rows.len();
            let mut part = out.slice_mut(rows.start * l..rows.end * l);
            Ok(gpu.multiply((r, p, l), (&panel.slice(..r * p), false), &q.slice(..p * l), 0.0, &mut part)?)
        })?;
        gpu.get_matrix(&out, (n, l))
    }

    /// `B' U`, shape (p, l).
    pub(super) fn project_t(&mut self, gpu: &Gpu, by: By<'_>, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let (p, l) = (self.shape.1, u.n_cols());
        let on_gpu = by.put(gpu)?;
        let u = gpu.put("vectors", u.as_slice())?;
        let mut out = gpu.zeros("a product", p * l)?;
        self.visit_rows(gpu, &on_gpu, exec, |panel, rows| {
            let r = rows.len();
            let part = u.slice(rows.start * l..rows.end * l);
            let mut out = out.slice_mut(..p * l);
            Ok(gpu.multiply((p, r, l), (&panel.slice(..r * p), true), &part, 1.0, &mut out)?)
        })?;
        gpu.get_matrix(&out, (p, l))
    }

    /// `B' (B Q)`, shape (p, l).
    pub(super) fn normal(&mut self, gpu: &Gpu, by: By<'_>, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let ((n, p), l) = (self.shape, q.n_cols());
        let on_gpu = by.put(gpu)?;
        let q = gpu.put("vectors", q.as_slice())?;
        let mut image = gpu.zeros("a product", (self.panel.len() / p).clamp(1, n) * l)?;
        let mut out = gpu.zeros("a product", p * l)?;
        self.visit_rows(gpu, &on_gpu, exec, |panel, rows| {
            let r = rows.len();
            let panel = panel.slice(..r * p);
            gpu.multiply((r, p, l), (&panel, false), &q.slice(..p * l), 0.0, &mut image.slice_mut(..r * l))?;
            let mut out = out.slice_mut(..p * l);
            Ok(gpu.multiply((p, r, l), (&panel, true), &image.slice(..r * l), 1.0, &mut out)?)
        })?;
        gpu.get_matrix(&out, (p, l))
    }

    /// `B (B' U)`, shape (n, l).
    pub(super) fn normal_t(&mut self, gpu: &Gpu, by: By<'_>, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let ((n, p), l) = (self.shape, u.n_cols());
        let on_gpu = by.put(gpu)?;
        let u = gpu.put("vectors", u.as_slice())?;
        let mut image = gpu.zeros("a product", (self.panel.len().max(n) / n).clamp(1, p) * l)?;
        let mut out = gpu.zeros("a product", n * l)?;
        self.visit_columns(gpu, &on_gpu, exec, |panel, c| {
            let panel = panel.slice(..n * c);
            gpu.multiply((c, n, l), (&panel, true), &u.slice(..n * l), 0.0, &mut image.slice_mut(..c * l))?;
            let mut out = out.slice_mut(..n * l);
            Ok(gpu.multiply((n, c, l), (&panel, false), &image.slice(..c * l), 1.0, &mut out)?)
        })?;
        gpu.get_matrix(&out, (n, l))
    }

    /// `B'B` or `B B'`.
    pub(super) fn square(&mut self, gpu: &Gpu, by: By<'_>, side: Side, exec: &Exec<'_>) -> Result<Matrix> {
        let (n, p) = self.shape;
        let dim = if side == Side::Columns { p } else { n };
        let on_gpu = by.put(gpu)?;
        let mut out = gpu.zeros("the covariance matrix", dim * dim)?;
        match side {
            Side::Columns => self.visit_rows(gpu, &on_gpu, exec, |panel, rows| {
                Ok(gpu.add_square(panel, (rows.len(), p), false, &mut out)?)
            })?,
            Side::Rows => self.visit_columns(gpu, &on_gpu, exec, |panel, width| {
                Ok(gpu.add_square(panel, (n, width), true, &mut out)?)
            })?,
        }
        symmetric(gpu, &out, dim)
    }

    /// Means, and sums of weighted squared deviations from them: two passes, first about the first row.
    pub(super) fn moments(
        &mut self,
        gpu: &Gpu,
        shares: Option<&[f64]>,
        exec: &Exec<'_>,
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        let weight = shares.map_or(self.shape.0 as f64, |shares| shares.iter().sum());
        let shares = shares.map(|shares| gpu.put("weights", shares)).transpose()?;
        let mut mean = self.row(gpu, 0)?;
        let (sum, _) = self.sums(gpu, &mean, shares.as_ref())?;
        mean.iter_mut().zip(&sum).for_each(|(mean, sum)| *mean += sum / weight);
        exec.report(0.5)?;
        if let Some(column) = mean.iter().position(|mean| !mean.is_finite()) {
            self.refuse_non_finite(gpu, column, exec)?;
        }
        let (sum, mut squares) = self.sums(gpu, &mean, shares.as_ref())?;
        for ((mean, sum), square) in mean.iter_mut().zip(&sum).zip(&mut squares) {
            // The mean was rounded: what is left of it is squared once too often.
            *mean += sum / weight;
            let rest = *square - sum * sum / weight;
            // NaN, of sums beyond f64, stays.
            *square = if rest < 0.0 { 0.0 } else { rest };
        }
        exec.report(1.0)?;
        Ok((mean, squares))
    }

    /// Sums of weighted deviations from `shift`, and of their squares, of each column.
    fn sums(
        &self,
        gpu: &Gpu,
        shift: &[f64],
        shares: Option<&CudaSlice<f64>>,
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        let (n, p) = self.shape;
        let n_chunks = n.div_ceil(RUN).min(RUNS).min(SUMS / p).max(1);
        let shift = gpu.put("centres", shift)?;
        let chunks = gpu.dense_sums((&self.values, self.is_f32), (n, p), n_chunks, &shift, shares)?;
        let (mut sum, mut squares) = (vec![0.0; p], vec![0.0; p]);
        for chunk in chunks.chunks_exact(2 * p) {
            sum.iter_mut().zip(&chunk[..p]).for_each(|(total, part)| *total += part);
            squares.iter_mut().zip(&chunk[p..]).for_each(|(total, part)| *total += part);
        }
        Ok((sum, squares))
    }

    /// Row `i`.
    fn row(&self, gpu: &Gpu, i: usize) -> Result<Vec<f64>> {
        let bytes = self.shape.1 * if self.is_f32 { 4 } else { 8 };
        let bytes = gpu.get_bytes(&self.values.slice(i * bytes..(i + 1) * bytes))?;
        Ok(if self.is_f32 {
            bytes.chunks_exact(4).map(|value| f64::from(bytemuck::pod_read_unaligned::<f32>(value))).collect()
        } else {
            bytes.chunks_exact(8).map(bytemuck::pod_read_unaligned).collect()
        })
    }

    /// Names the first value that is NaN or infinite, if there is one.
    fn refuse_non_finite(&mut self, gpu: &Gpu, column: usize, exec: &Exec<'_>) -> Result<()> {
        let p = self.shape.1;
        let by = By { center: &vec![0.0; p], factor: &vec![1.0; p], shares: None, common: 1.0 };
        let unit = Matrix::from_fn(p, 1, |j, _| f64::from(u8::from(j == column)));
        // The product of a row with such a value anywhere is not finite either.
        let product = self.project(gpu, by, &unit, exec)?;
        let Some(row) = product.as_slice().iter().position(|value| !value.is_finite()) else { return Ok(()) };
        let values = self.row(gpu, row)?;
        match values.iter().position(|value| !value.is_finite()) {
            Some(column) => Err(Error::NonFinite { row, column, value: values[column] }),
            None => Ok(()),
        }
    }
}
