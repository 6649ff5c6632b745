//! Products with a source and with its blocks: the only place that distinguishes dense from sparse blocks.

use std::borrow::Cow;
use std::ops::Range;

use crate::error::Result;
use crate::exec::{Accumulate as _, Exec};
use crate::linalg::dense::products::{self as dense_products, RowSum};
use crate::linalg::dense::rank_k::{self, RankK};
use crate::linalg::sparse::products as sparse_products;
use crate::linalg::{ColumnMap, Dense, Matrix};
use crate::moments::{sparse_scatter, sparse_sums};
use crate::scalar::Scalar;
use crate::source::{self, Block, PieceRows, Source};

/// `M Q` into `out` (row-major, n x l).
pub(crate) fn project<T: Scalar, U: Scalar>(
    block: &Block<'_, T>,
    map: ColumnMap<'_>,
    q: &Matrix,
    exec: &Exec<'_>,
    out: &mut [U],
) -> Result<()> {
    match block {
        Block::Dense(x) => dense_products::project(*x, map, q, out, exec),
        Block::Sparse(x) => sparse_products::project(x, &map, q, exec, out),
    }
}

/// Visits the rows of `x`, dense ones in whole pieces of `piece_rows`. The [`Exec`] that `f` receives reports their
/// part of the progress.
pub(crate) fn visit_pieces<T: Scalar>(
    x: &dyn Source<T>,
    piece_rows: &PieceRows<'_, T>,
    exec: &Exec<'_>,
    mut f: impl FnMut(Range<usize>, &Block<'_, T>, &Exec<'_>) -> Result<()>,
) -> Result<()> {
    let n = x.shape().0 as f64;
    source::visit_pieces(x, piece_rows, &mut |first, block| {
        let rows = first..first + block.n_rows();
        let part = exec.part(rows.start as f64 / n, rows.end as f64 / n);
        f(rows, &block, &part)
    })
}

/// Adds the sums over the dense and over the sparse blocks.
fn sum(parts: [Option<Matrix>; 2], shape: (usize, usize)) -> Matrix {
    let total = parts.into_iter().flatten().reduce(|mut total, part| {
        total.merge(&part);
        total
    });
    total.unwrap_or_else(|| Matrix::zeros(shape.0, shape.1))
}

/// Adds `part` to `total`.
fn add(total: &mut Option<Matrix>, part: Matrix) {
    match total {
        Some(total) => total.merge(&part),
        none => *none = Some(part),
    }
}

/// `M'U` of all rows, shape (p, l), in one visit.
pub(crate) fn apply_t<T: Scalar>(
    x: &dyn Source<T>,
    map: ColumnMap<'_>,
    u: &Matrix,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    let (mut dense, mut others) = (RowSum::of_given::<T>(u), None);
    let piece_rows = |rows: &Dense<'_, T>| dense_products::piece_rows(rows, u.n_rows(), u.n_cols());
    visit_pieces(x, &piece_rows, exec, |rows, block, exec| {
        let is_all = rows.len() == u.n_rows();
        match block {
            // A wide array in one block is multiplied without private sums.
            Block::Dense(x) if is_all => add(&mut others, dense_products::apply_t(*x, map, u, exec)?),
            Block::Dense(x) => dense.add(rows.start, *x, map, exec)?,
            Block::Sparse(x) if is_all => add(&mut others, sparse_products::apply_t(x, &map, u, exec)?),
            Block::Sparse(x) => {
                add(&mut others, sparse_products::apply_t(x, &map, &u.rows(rows), exec)?);
            }
        }
        Ok(())
    })?;
    Ok(sum([dense.finish(), others], (x.shape().1, u.n_cols())))
}

/// `M' W M Q` of all rows, shape (p, l), in one visit.
pub(crate) fn normal<T: Scalar>(
    x: &dyn Source<T>,
    map: ColumnMap<'_>,
    row_weights: Option<&[f64]>,
    q: &Matrix,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    let n = x.shape().0;
    let mut total = NormalSum::new::<T>(n, Cow::Borrowed(q), row_weights);
    let piece_rows = |rows: &Dense<'_, T>| normal_piece_rows(rows, n, q.n_cols());
    visit_pieces(x, &piece_rows, exec, |rows, block, exec| total.add(rows, block, map, exec))?;
    Ok(total.finish().1)
}

/// Number of dense rows of a piece of a [`NormalSum`] with `l` vectors over `n` rows in all. Every run of rows but the last
/// must hold whole pieces.
pub(crate) fn normal_piece_rows<T: Scalar>(rows: &Dense<'_, T>, n: usize, l: usize) -> usize {
    dense_products::piece_rows(rows, n, l)
}

/// `M' W M Q`, shape (p, l), over rows that are passed in runs, each with a map of its own.
pub(crate) struct NormalSum<'a> {
    q: Cow<'a, Matrix>,
    row_weights: Option<&'a [f64]>,
    dense: RowSum<'a>,
    others: Option<Matrix>,
}

impl<'a> NormalSum<'a> {
    /// Begins a sum over `n` rows of type `T` in all.
    pub(crate) fn new<T: Scalar>(n: usize, q: Cow<'a, Matrix>, row_weights: Option<&'a [f64]>) -> Self {
        let dense = RowSum::of_product::<T>(n, &q, row_weights);
        Self { q, row_weights, dense, others: None }
    }

    /// Adds the rows `rows` of all.
    pub(crate) fn add<T: Scalar>(
        &mut self,
        rows: Range<usize>,
        block: &Block<'_, T>,
        map: ColumnMap<'_>,
        exec: &Exec<'_>,
    ) -> Result<()> {
        match block {
            Block::Dense(x) => self.dense.add(rows.start, *x, map, exec),
            Block::Sparse(x) => {
                let weights = self.row_weights.map(|w| &w[rows]);
                add(&mut self.others, sparse_products::normal(x, &map, weights, &self.q, exec)?);
                Ok(())
            }
        }
    }

    /// `Q` and the product.
    pub(crate) fn finish(self) -> (Cow<'a, Matrix>, Matrix) {
        let product = sum([self.dense.finish(), self.others], self.q.shape());
        (self.q, product)
    }
}

/// `M' W M` of all rows, shape (p, p), in one visit.
pub(crate) fn scatter<T: Scalar>(
    x: &dyn Source<T>,
    map: ColumnMap<'_>,
    row_weights: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    let shape = x.shape();
    let (mut dense, mut others) = (RankK::new(shape.1), None);
    let piece_rows = dense.piece_rows();
    visit_pieces(x, &|_| piece_rows, exec, |rows, block, exec| {
        let weights = row_weights.map(|w| &w[rows]);
        match block {
            Block::Dense(x) => dense.add(*x, map, weights, exec),
            Block::Sparse(x) => {
                add(&mut others, sparse_scatter::scatter(x, &map, weights, exec)?);
                Ok(())
            }
        }
    })?;
    Ok(sum([dense.finish(), others], (shape.1, shape.1)))
}

/// `M M'U`, shape (n, l).
pub(crate) fn normal_t<T: Scalar>(
    block: &Block<'_, T>,
    map: ColumnMap<'_>,
    u: &Matrix,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    match block {
        Block::Dense(x) => dense_products::normal_t(*x, map, u, exec),
        Block::Sparse(x) => sparse_products::normal_t(x, &map, u, exec),
    }
}

/// `R M M' R` with `R` the diagonal of `row_factors`, shape (n, n).
pub(crate) fn gram<T: Scalar>(
    block: &Block<'_, T>,
    map: ColumnMap<'_>,
    row_factors: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    match block {
        Block::Dense(x) => rank_k::gram(*x, map, row_factors, exec),
        Block::Sparse(x) => sparse_scatter::gram(x, &map, row_factors, exec),
    }
}

/// Writes the rows `rows` of the block, zeros included, into `out` (row-major, rows.len() x p).
pub(crate) fn rows<T: Scalar>(block: &Block<'_, T>, rows: Range<usize>, out: &mut [f64]) -> Result<()> {
    match block {
        Block::Dense(x) => {
            for (i, line) in rows.zip(out.chunks_exact_mut(x.n_cols())) {
                match x.contiguous_row(i) {
                    Some(row) => line.iter_mut().zip(row).for_each(|(o, v)| *o = v.to_f64()),
                    None => line.iter_mut().enumerate().for_each(|(j, o)| *o = x.get(i, j).to_f64()),
                }
            }
            Ok(())
        }
        Block::Sparse(x) => sparse_sums::densify(x, rows, out),
    }
}

/// Writes the mapped and weighted rows `rows` of the block into `out`, row-major, shape (rows.len(), p).
pub(crate) fn mapped_rows<T: Scalar>(
    block: &Block<'_, T>,
    map: ColumnMap<'_>,
    row_factors: Option<&[f64]>,
    rows: Range<usize>,
    out: &mut [f64],
) -> Result<()> {
    self::rows(block, rows.clone(), out)?;
    for (i, line) in rows.zip(out.chunks_exact_mut(block.n_cols())) {
        let row_factor = row_factors.map_or(1.0, |r| r[i]);
        if !map.remainder.is_empty() {
            for (((value, shift), remainder), factor) in
                line.iter_mut().zip(map.shift).zip(map.remainder).zip(map.factor)
            {
                *value = (*value - shift - remainder) * factor * row_factor;
            }
            continue;
        }
        for ((value, shift), factor) in line.iter_mut().zip(map.shift).zip(map.factor) {
            *value = (*value - shift) * factor * row_factor;
        }
    }
    Ok(())
}
