//! Sparse rows in the memory of a GPU. Products are corrected for centres by rank-one terms.

use cudarc::driver::CudaSlice;
use karhunen::exec::Exec;
use karhunen::matrix::Major;
use karhunen::memory;
use karhunen::{Dense, Error, Matrix, Result, Scalar, Sparse};
use rayon::prelude::*;

use crate::cuda::dense::panel_len;
use crate::cuda::gpu::{self, Gpu};
use crate::cuda::kernels::LINE_THREADS;
use crate::cuda::products::symmetric;
use crate::cuda::sparse::Lines;
use crate::cuda::standard::By;
use crate::cuda::upload::Upload;

/// Most entries of a block of rows, which the host copies with their indices.
const ENTRIES: usize = 1 << 26;

/// Blocks of rows, each compressed by rows and by columns.
#[derive(Debug)]
pub(super) struct SparseRows {
    shape: (usize, usize),
    blocks: Vec<Block>,
}

#[derive(Debug)]
struct Block {
    first: usize,
    by_rows: Lines,
    by_columns: Lines,
}

impl SparseRows {
    pub(super) fn new(shape: (usize, usize)) -> Self {
        Self { shape, blocks: Vec::new() }
    }

    /// Copies a block of rows, the first of which is row `first`.
    pub(super) fn push<T: Scalar>(&mut self, gpu: &Gpu, first: usize, x: &Sparse<'_, T>) -> Result<()> {
        let n_lines = x.pointers().len() - 1;
        if x.major() == Major::Columns {
            let by_columns = lines(gpu, x, 0..n_lines, first)?;
            let by_rows = gpu.transposed(&by_columns)?;
            self.blocks.push(Block { first, by_rows, by_columns });
            return Ok(());
        }
        let mut start = 0;
        while start < n_lines {
            let from = x.pointers()[start];
            let within = x.pointers()[start + 1..].partition_point(|end| end - from <= ENTRIES);
            let end = start + within.max(1);
            let by_rows = lines(gpu, x, start..end, first)?;
            let by_columns = gpu.transposed(&by_rows)?;
            self.blocks.push(Block { first: first + start, by_rows, by_columns });
            start = end;
        }
        Ok(())
    }

    /// Copies a block of dense rows among sparse ones: the values that are not zero.
    pub(super) fn push_dense<T: Scalar>(&mut self, gpu: &Gpu, first: usize, x: &Dense<'_, T>) -> Result<()> {
        let (n, p) = (x.n_rows(), x.n_cols());
        let (mut pointers, mut indices, mut values) = (vec![0], Vec::<u64>::new(), Vec::new());
        for i in 0..n {
            for (j, value) in (0..p).map(|j| (j, x.get(i, j))).filter(|(_, value)| *value != T::default()) {
                indices.push(j as u64);
                values.push(value);
            }
            pointers.push(values.len());
        }
        self.push(gpu, first, &Sparse::csr(n, p, &pointers, &indices, &values)?)
    }

    /// `A X`, shape (n, l), for `x` of shape (p, l).
    fn multiply(&self, gpu: &Gpu, x: &CudaSlice<f64>, l: usize) -> gpu::Result<CudaSlice<f64>> {
        let (n, p) = self.shape;
        let mut out = gpu.zeros("a product", n * l)?;
        for Block { first, by_rows, .. } in &self.blocks {
            let mut part = out.slice_mut(first * l..(first + by_rows.n_lines) * l);
            gpu.multiply_sparse(by_rows, &x.slice(..p * l), l, 0.0, &mut part)?;
        }
        Ok(out)
    }

    /// `A' U`, shape (p, l), for `u` of shape (n, l).
    fn multiply_t(&self, gpu: &Gpu, u: &CudaSlice<f64>, l: usize) -> gpu::Result<CudaSlice<f64>> {
        let p = self.shape.1;
        let mut out = gpu.zeros("a product", p * l)?;
        for Block { first, by_rows, by_columns } in &self.blocks {
            let part = u.slice(first * l..(first + by_rows.n_lines) * l);
            gpu.multiply_sparse(by_columns, &part, l, 1.0, &mut out.slice_mut(..p * l))?;
        }
        Ok(out)
    }

    /// `F Q` and `m' F Q`.
    fn scaled(&self, gpu: &Gpu, by: By<'_>, q: &Matrix) -> gpu::Result<(CudaSlice<f64>, CudaSlice<f64>)> {
        let (p, l) = q.shape();
        let scaled = Matrix::from_fn(p, l, |j, c| by.factor[j] * q[(j, c)]);
        let means: Vec<f64> = (0..l).map(|c| (0..p).map(|j| by.center[j] * scaled[(j, c)]).sum()).collect();
        Ok((gpu.put("vectors", scaled.as_slice())?, gpu.put("vectors", &means)?))
    }

    /// `R U`, and the sums of its columns.
    fn weighed(&self, gpu: &Gpu, by: By<'_>, u: &Matrix) -> gpu::Result<(CudaSlice<f64>, Vec<f64>)> {
        let (n, l) = u.shape();
        let weighed = Matrix::from_fn(n, l, |i, c| by.root(i) * u[(i, c)]);
        let sums = (0..l).map(|c| (0..n).map(|i| weighed[(i, c)]).sum()).collect();
        Ok((gpu.put("vectors", weighed.as_slice())?, sums))
    }

    /// `F (G - m s')` of a product `G`, shape (p, l).
    fn finished(&self, gpu: &Gpu, by: By<'_>, product: &CudaSlice<f64>, sums: &[f64]) -> Result<Matrix> {
        let mut product = gpu.get_matrix(product, (self.shape.1, sums.len()))?;
        for (j, line) in product.as_mut_slice().chunks_exact_mut(sums.len()).enumerate() {
            line.iter_mut().zip(sums).for_each(|(x, sum)| *x = (*x - by.center[j] * sum) * by.factor[j]);
        }
        Ok(product)
    }

    /// `B Q`, shape (n, l).
    pub(super) fn project(&self, gpu: &Gpu, by: By<'_>, q: &Matrix) -> Result<Matrix> {
        let (n, l) = (self.shape.0, q.n_cols());
        let on_gpu = by.put(gpu)?;
        let (scaled, means) = self.scaled(gpu, by, q)?;
        let mut image = self.multiply(gpu, &scaled, l)?;
        gpu.correct(&mut image, (n, l), (None, &means), on_gpu.roots.as_ref(), by.common)?;
        gpu.get_matrix(&image, (n, l))
    }

    /// `B' U`, shape (p, l).
    pub(super) fn project_t(&self, gpu: &Gpu, by: By<'_>, u: &Matrix) -> Result<Matrix> {
        let (weighed, sums) = self.weighed(gpu, by, u)?;
        let product = self.multiply_t(gpu, &weighed, u.n_cols())?;
        self.finished(gpu, by, &product, &sums)
    }

    /// `B' (B Q)`, shape (p, l).
    pub(super) fn normal(&self, gpu: &Gpu, by: By<'_>, q: &Matrix) -> Result<Matrix> {
        let (n, l) = (self.shape.0, q.n_cols());
        let shares = by.shares.map(|shares| gpu.put("weights", shares)).transpose()?;
        let (scaled, means) = self.scaled(gpu, by, q)?;
        let mut image = self.multiply(gpu, &scaled, l)?;
        gpu.correct(&mut image, (n, l), (None, &means), shares.as_ref(), by.common * by.common)?;
        let product = self.multiply_t(gpu, &image, l)?;
        let sums = gpu.row_sums(&image, (n, l), &gpu.put("vectors", &vec![1.0; n])?)?;
        self.finished(gpu, by, &product, &gpu.get(&sums, l)?)
    }

    /// `B (B' U)`, shape (n, l).
    pub(super) fn normal_t(&self, gpu: &Gpu, by: By<'_>, u: &Matrix) -> Result<Matrix> {
        let ((n, p), l) = (self.shape, u.n_cols());
        let on_gpu = by.put(gpu)?;
        let squared: Vec<f64> = by.factor.iter().map(|factor| factor * factor).collect();
        let squared = gpu.put("centres and scales", &squared)?;
        let (weighed, sums) = self.weighed(gpu, by, u)?;
        let mut image = self.multiply_t(gpu, &weighed, l)?;
        let sums = gpu.put("vectors", &sums)?;
        gpu.correct(&mut image, (p, l), (Some(&on_gpu.center), &sums), Some(&squared), 1.0)?;
        let means = gpu.row_sums(&image, (p, l), &on_gpu.center)?;
        let mut product = self.multiply(gpu, &image, l)?;
        gpu.correct(&mut product, (n, l), (None, &means), on_gpu.roots.as_ref(), by.common)?;
        gpu.get_matrix(&product, (n, l))
    }

    /// `B'B`, from panels of standardised rows, zeros included.
    pub(super) fn square(&self, gpu: &Gpu, by: By<'_>, exec: &Exec<'_>) -> Result<Matrix> {
        let (n, p) = self.shape;
        let on_gpu = by.put(gpu)?;
        let mut panel = gpu.zeros("a panel of the matrix", panel_len(self.shape))?;
        let mut out = gpu.zeros("the covariance matrix", p * p)?;
        let most = (panel.len() / p).max(1);
        for Block { first, by_rows, .. } in &self.blocks {
            let roots = on_gpu.roots.as_ref().map(|roots| roots.slice(*first..first + by_rows.n_lines));
            for start in (0..by_rows.n_lines).step_by(most) {
                let n_rows = most.min(by_rows.n_lines - start);
                gpu.sparse_panel(&mut panel, by_rows, (start, n_rows), &on_gpu, roots.as_ref())?;
                gpu.add_square(&panel, (n_rows, p), false, &mut out)?;
                exec.report((first + start + n_rows) as f64 / n as f64)?;
            }
        }
        symmetric(gpu, &out, p)
    }

    /// Means, and sums of weighted squared deviations from them, of all values with those that are not
    /// stored.
    pub(super) fn moments(&self, gpu: &Gpu, shares: Option<&[f64]>) -> Result<(Vec<f64>, Vec<f64>)> {
        let (n, p) = self.shape;
        let weight: f64 = shares.map_or(n as f64, |shares| shares.iter().sum());
        let shares = shares.map(|shares| gpu.put("weights", shares)).transpose()?;
        let sums = |shift: &[f64]| -> Result<Vec<f64>> {
            let shift = gpu.put("centres", shift)?;
            let mut total = vec![0.0; 3 * p];
            for Block { first, by_rows, by_columns } in &self.blocks {
                let shares = shares.as_ref().map(|shares| shares.slice(*first..first + by_rows.n_lines));
                let part = gpu.sparse_sums(by_columns, &shift, shares.as_ref())?;
                total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
            }
            Ok(total)
        };
        let first = sums(&vec![0.0; p])?;
        let mut mean: Vec<f64> = first.chunks_exact(3).map(|sums| sums[0] / weight).collect();
        let about = sums(&mean)?;
        let rounding = (8.0 + n as f64 / f64::from(LINE_THREADS)) * f64::EPSILON * weight;
        let mut squares = Vec::with_capacity(p);
        for (mean, sums) in mean.iter_mut().zip(about.chunks_exact(3)) {
            // A weight below the rounding of the sums is none: the column is full.
            let others = weight - sums[2];
            let others = if others > rounding { others } else { 0.0 };
            // The mean was rounded: what is left of it is squared once too often.
            let left = sums[0] - others * *mean;
            let square = sums[1] + others * *mean * *mean - left * left / weight;
            // NaN, of sums beyond f64, stays.
            squares.push(if square < 0.0 { 0.0 } else { square });
            *mean += left / weight;
        }
        Ok((mean, squares))
    }
}

/// Most threads of a block of a kernel.
const THREADS: usize = 256;

/// Copies lines of a matrix, whose values become f64. `first` is the number of the first row of the block.
fn lines<T: Scalar>(
    gpu: &Gpu,
    x: &Sparse<'_, T>,
    lines: std::ops::Range<usize>,
    first: usize,
) -> Result<Lines> {
    let what = "the sparse matrix";
    let pointers = x.pointers();
    let stored = pointers[lines.start]..pointers[lines.end];
    let n_indices = if x.major() == Major::Rows { x.n_cols() } else { x.n_rows() };
    for (what, found) in
        // Kernels count up to a block of threads past the last entry.
        [
            ("stored entries", stored.len() + THREADS),
            ("rows or columns", n_indices),
            ("rows or columns", lines.len()),
        ]
    {
        gpu::count(what, found)?;
    }
    memory::ask("a copy of sparse rows for the device", 12.0 * stored.len() as f64, Vec::new)?;
    // The entries, their copy in the other order, and the work of the transposition.
    gpu.ask(what, 3.0 * 12.0 * stored.len() as f64 + 8.0 * (lines.len() + n_indices) as f64)?;
    let start: Vec<i32> =
        pointers[lines.start..=lines.end].iter().map(|at| (at - stored.start) as i32).collect();
    let index: Vec<i32> = stored.clone().into_par_iter().map(|at| x.index(at) as i32).collect();
    let value: Vec<f64> = x.values()[stored.clone()].par_iter().map(|value| value.to_f64()).collect();
    if let Some(at) = value.par_iter().position_first(|value| !value.is_finite()) {
        let line = pointers.partition_point(|start| *start <= stored.start + at) - 1;
        let other = x.index(stored.start + at);
        let (row, column) = if x.major() == Major::Rows { (line, other) } else { (other, line) };
        return Err(Error::NonFinite { row: first + row, column, value: value[at] });
    }
    let mut upload = Upload::new(gpu);
    let (start, index) = (upload.new_slice(what, &start)?, upload.new_slice(what, &index)?);
    let value = upload.new_slice(what, &value)?;
    Ok(Lines { n_lines: lines.len(), n_indices, n_stored: stored.len(), start, index, value })
}
