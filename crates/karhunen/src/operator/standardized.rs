//! The weighted, centred and scaled data matrix `B = V^(1/2) (X - 1 mu') F`, never formed.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Result;
use crate::exec::{Accumulate as _, Exec};
use crate::linalg::decomp::tsqr::{self, Triangle};
use crate::linalg::dense::products::PackedRows;
use crate::linalg::dense::rank_k;
use crate::linalg::{ColumnMap, Dense, Matrix};
use crate::operator::{Products, Side, blocks, image_by_parts};
use crate::scalar::Scalar;
use crate::source::{Block, Source, visit_pieces};

/// Bytes of a panel of explicit mapped values.
const PANEL_BYTES: usize = 16 << 20;

/// `B = V^(1/2) M` with `M = (X - 1 mu') F` over any source: normalised row weights `V`, column factors `F`.
pub(crate) struct Standardized<'a, T: Scalar> {
    x: &'a dyn Source<T>,
    map: ColumnMap<'a>,
    /// `v`; equal for all rows if `None`.
    shares: Option<&'a [f64]>,
    /// `v^(1/2)`, unless all are equal.
    roots: Option<Vec<f64>>,
    start: Option<Matrix>,
    packing: Mutex<Packing>,
}

/// When the values of dense data are packed for products.
enum Packing {
    /// In every product, so far.
    EachTime,
    /// In the next product, which keeps them.
    Next,
    /// In every product, because packing them once did not pay, or memory is needed.
    Never,
    /// They are packed: rows for `B'B` ([`Side::Columns`]), columns for `B B'`.
    Done(Side, PackedRows),
}

impl<'a, T: Scalar> Standardized<'a, T> {
    /// Views `x` through the map; `shares` sum to one.
    pub(crate) fn new(x: &'a dyn Source<T>, map: ColumnMap<'a>, shares: Option<&'a [f64]>) -> Self {
        let roots = shares.map(|v| v.iter().map(|v| v.sqrt()).collect());
        Self { x, map, shares, roots, start: None, packing: Mutex::new(Packing::EachTime) }
    }

    /// With orthonormal columns near the leading right singular vectors, shape (p, l).
    pub(crate) fn starting_from(self, start: Option<Matrix>) -> Self {
        Self { start, ..self }
    }

    /// From the next product on, keeps dense data in one block packed for the products of the side that comes first, unless
    /// that was given up.
    pub(crate) fn keep_packed(&self) {
        let mut packing = self.packing();
        if matches!(*packing, Packing::EachTime) {
            *packing = Packing::Next;
        }
    }

    /// Frees packed values. Every later product packs the values again.
    pub(crate) fn release_packed(&self) {
        *self.packing() = Packing::Never;
    }

    fn packing(&self) -> MutexGuard<'_, Packing> {
        self.packing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `M' W M q` (`Side::Columns`) or `M M' q` of data in one block, in one visit; `None`, without a visit, of others, and of
    /// columns that are not kept packed.
    fn product_of_block(&self, side: Side, q: &Matrix, exec: &Exec<'_>) -> Result<Option<Matrix>> {
        if side == Side::Columns && matches!(*self.packing(), Packing::EachTime | Packing::Never) {
            return Ok(None);
        }
        let weights = if side == Side::Columns { self.shares } else { None };
        self.in_one_block(exec, |block, exec| {
            let mut packing = self.packing();
            if let (Packing::Next, Block::Dense(x)) = (&*packing, block) {
                let packed = PackedRows::new(*x, self.map, side == Side::Rows, &exec.step(0.0))?;
                *packing = packed.map_or(Packing::Never, |packed| Packing::Done(side, packed));
            }
            if let Packing::Done(of, packed) = &*packing
                && *of == side
                && let Some(product) = packed.normal(weights, q, exec)?
            {
                return Ok(product);
            }
            drop(packing);
            blocks::product_of_block(block, self.map, (side, weights), q, exec)
        })
    }

    /// The normalised weight of every row if all are equal, otherwise one.
    fn common_share(&self) -> f64 {
        if self.shares.is_some() { 1.0 } else { 1.0 / self.x.shape().0 as f64 }
    }

    fn root(&self, row: usize) -> f64 {
        self.roots.as_ref().map_or_else(|| self.common_share().sqrt(), |r| r[row])
    }

    /// Visits the blocks, each with its part of the phase.
    fn visit(
        &self,
        exec: &Exec<'_>,
        mut f: impl FnMut(Range<usize>, &Block<'_, T>, &Exec<'_>) -> Result<()>,
    ) -> Result<()> {
        let n = self.x.shape().0 as f64;
        self.x.visit(&mut |first, block| {
            let rows = first..first + block.n_rows();
            let part = exec.part(rows.start as f64 / n, rows.end as f64 / n);
            f(rows, &block, &part)
        })
    }

    /// `V^(1/2) U`.
    fn weigh_rows(&self, u: &Matrix) -> Matrix {
        let mut weighed = u.clone();
        for i in 0..u.n_rows() {
            let root = self.root(i);
            weighed.row_mut(i).iter_mut().for_each(|value| *value *= root);
        }
        weighed
    }

    /// The columns `columns` of `B`, explicit, shape (n, columns.len()).
    fn columns(&self, columns: Range<usize>, exec: &Exec<'_>) -> Result<Matrix> {
        let (n, p) = self.x.shape();
        let width = columns.len();
        let mut out = Matrix::zeros(n, width);
        self.visit(exec, |rows, block, exec| {
            let chunk = (PANEL_BYTES / 8 / p).max(1);
            let part = &mut out.as_mut_slice()[rows.start * width..rows.end * width];
            exec.fill(part, chunk * width, |index, part| {
                let chunk_rows = index * chunk..index * chunk + part.len() / width;
                let mut line = vec![0.0; p];
                for (i, out) in chunk_rows.zip(part.chunks_exact_mut(width)) {
                    blocks::mapped_rows(block, self.map, None, i..i + 1, &mut line)?;
                    let root = self.root(rows.start + i);
                    out.iter_mut().zip(&line[columns.clone()]).for_each(|(o, v)| *o = v * root);
                }
                Ok(())
            })
        })?;
        Ok(out)
    }

    /// Calls `f` with the columns of `B`, as many at a time as fit a panel.
    fn visit_columns(
        &self,
        exec: &Exec<'_>,
        mut f: impl FnMut(&Matrix, &Exec<'_>) -> Result<()>,
    ) -> Result<()> {
        let (n, p) = self.x.shape();
        let width = (PANEL_BYTES / 8 / n).clamp(1, p);
        for start in (0..p).step_by(width) {
            let end = (start + width).min(p);
            let part = exec.part(start as f64 / p as f64, end as f64 / p as f64);
            f(&self.columns(start..end, &part.part(0.0, 0.5))?, &part.part(0.5, 1.0))?;
        }
        Ok(())
    }

    /// Calls `f` with the whole matrix if it comes in one block, in one visit; `None`, without a visit, if it does
    /// not.
    fn in_one_block<R>(
        &self,
        exec: &Exec<'_>,
        f: impl Fn(&Block<'_, T>, &Exec<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        if self.x.n_blocks() != Some(1) {
            return Ok(None);
        }
        let mut result = None;
        self.visit(exec, |_, block, exec| {
            result = Some(f(block, exec)?);
            Ok(())
        })?;
        Ok(result)
    }
}

/// Number of rows of a piece of a reduction: several times p, because the triangle of a piece costs as much as p
/// rows, but no more than fit a panel.
fn triangle_rows(p: usize) -> usize {
    if let Some(n_rows) = tsqr::narrow_rows(p) {
        return n_rows;
    }
    (8 * p).min(PANEL_BYTES / 8 / p).max(2 * p).max(256)
}

/// Squared norm of the rank-one correction that centres sparse products.
pub(crate) fn cancelled_by_correction(map: ColumnMap<'_>) -> f64 {
    map.shift.iter().zip(map.factor).map(|(m, f)| (m * f) * (m * f)).sum()
}

impl<T: Scalar> Products for Standardized<'_, T> {
    fn shape(&self) -> (usize, usize) {
        self.x.shape()
    }

    fn cancelled(&self, _: f64) -> f64 {
        // Dense rows are centred before they are multiplied, sparse products are corrected by rank-one terms.
        if !self.x.is_sparse() {
            return 0.0;
        }
        cancelled_by_correction(self.map)
    }

    fn apply_t(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        blocks::apply_t(self.x, self.map, &self.weigh_rows(u), exec)
    }

    fn image(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        if self.x.is_sparse() {
            let weighed = self.weigh_rows(u);
            let whole = self.in_one_block(exec, |block, exec| {
                blocks::apply_t_transposed(block, self.map, &weighed, exec)
            })?;
            if let Some(image) = whole.flatten() {
                return Ok(image);
            }
        }
        image_by_parts(self, u, exec)
    }

    fn normal(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let mut total = match self.product_of_block(Side::Columns, q, exec)? {
            Some(total) => total,
            None => blocks::normal(self.x, self.map, self.shares, q, exec)?,
        };
        total.scale(self.common_share());
        Ok(total)
    }

    fn start(&self) -> Option<&Matrix> {
        self.start.as_ref()
    }

    fn normal_t(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let weighed = self.weigh_rows(u);
        if let Some(product) = self.product_of_block(Side::Rows, &weighed, exec)? {
            return Ok(self.weigh_rows(&product));
        }
        let t = self.apply_t(u, &exec.part(0.0, 0.5))?;
        let mut product = Matrix::zeros(u.n_rows(), u.n_cols());
        let width = u.n_cols();
        self.visit(&exec.part(0.5, 1.0), |rows, block, exec| {
            let out = &mut product.as_mut_slice()[rows.start * width..rows.end * width];
            blocks::project(block, self.map, &t, exec, out)
        })?;
        Ok(self.weigh_rows(&product))
    }

    fn product(&self, side: Side, exec: &Exec<'_>) -> Result<Matrix> {
        if side == Side::Columns {
            let mut total = blocks::scatter(self.x, self.map, self.shares, exec)?;
            total.scale(self.common_share());
            return Ok(total);
        }
        let whole = self
            .in_one_block(exec, |block, exec| blocks::gram(block, self.map, self.roots.as_deref(), exec))?;
        if let Some(mut gram) = whole {
            gram.scale(self.common_share());
            return Ok(gram);
        }
        let n = self.x.shape().0;
        let mut total = Matrix::zeros(n, n);
        self.visit_columns(exec, |columns, exec| {
            let width = columns.n_cols();
            let unchanged = ColumnMap { shift: &vec![0.0; width], remainder: &[], factor: &vec![1.0; width] };
            total.merge(&rank_k::gram(Dense::from(columns), unchanged, None, exec)?);
            Ok(())
        })?;
        Ok(total)
    }

    fn triangle(&self, side: Side, exec: &Exec<'_>) -> Result<Triangle> {
        let (n, p) = self.x.shape();
        if side == Side::Rows {
            let mut total = Triangle::new(n);
            self.visit_columns(exec, |columns, _| {
                total.push(columns.transposed().as_slice());
                Ok(())
            })?;
            return Ok(total);
        }
        let mut total = None;
        let piece_rows = triangle_rows(p);
        visit_pieces(self.x, &|_| piece_rows.into(), exec, |rows, block, exec| {
            exec.fold_into(
                &mut total,
                rows.len().div_ceil(piece_rows),
                || Triangle::new(p),
                |piece, triangle| {
                    let inner = piece * piece_rows..((piece + 1) * piece_rows).min(rows.len());
                    let roots = self.roots.as_ref().map(|r| &r[rows.clone()]);
                    triangle.push_with(inner.len(), |panel| {
                        blocks::mapped_rows(block, self.map, roots, inner, panel)
                    })?;
                    triangle.reduce_narrow();
                    Ok(())
                },
            )
        })?;
        let mut total = total.unwrap_or_else(|| Triangle::new(p));
        total.scale(self.common_share().sqrt());
        Ok(total)
    }
}
