//! Products with a source and with its blocks: the only place that distinguishes dense from sparse blocks.

use std::borrow::Cow;
use std::ops::Range;

use pulp::{Simd, WithSimd};

use crate::error::Result;
use crate::exec::{Accumulate as _, Exec};
use crate::linalg::dense::pieces::RowPieces;
use crate::linalg::dense::products::{self as dense_products, RowSum};
use crate::linalg::dense::rank_k::{self, RankK};
use crate::linalg::simd::dispatch;
use crate::linalg::sparse::products as sparse_products;
use crate::linalg::{ColumnMap, Dense, Matrix};
use crate::moments::{sparse_scatter, sparse_sums};
use crate::operator::Side;
use crate::scalar::Scalar;
use crate::source::{Block, Source, visit_pieces};

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

/// A sum over the dense blocks, and one over the other blocks, of shape `shape`.
struct BlockSums<D> {
    dense: D,
    others: Option<Matrix>,
    shape: (usize, usize),
}

impl<D> BlockSums<D> {
    fn new(dense: D, shape: (usize, usize)) -> Self {
        Self { dense, others: None, shape }
    }

    /// Adds `part` to the sum over the other blocks.
    fn add_other(&mut self, part: Matrix) {
        match &mut self.others {
            Some(total) => total.merge(&part),
            none => *none = Some(part),
        }
    }

    /// The sum over all blocks; `finish` returns that over the dense ones.
    fn finish(self, finish: impl FnOnce(D) -> Option<Matrix>) -> Matrix {
        let Self { dense, others, shape } = self;
        let total = [finish(dense), others].into_iter().flatten().reduce(|mut total, part| {
            total.merge(&part);
            total
        });
        total.unwrap_or_else(|| Matrix::zeros(shape.0, shape.1))
    }
}

/// `M'U` of all rows, shape (p, l), in one visit.
pub(crate) fn apply_t<T: Scalar>(
    x: &dyn Source<T>,
    map: ColumnMap<'_>,
    u: &Matrix,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    let mut total = BlockSums::new(RowSum::of_given::<T>(u), (x.shape().1, u.n_cols()));
    let pieces = |rows: &Dense<'_, T>| dense_products::row_pieces(rows, u.n_rows(), u.n_cols());
    visit_pieces(x, &pieces, exec, |rows, block, exec| {
        let is_all = rows.len() == u.n_rows();
        match block {
            // A wide array in one block is multiplied without private sums.
            Block::Dense(x) if is_all => total.add_other(dense_products::apply_t(*x, map, u, exec)?),
            Block::Dense(x) => total.dense.add(rows.start, *x, map, exec)?,
            Block::Sparse(x) if is_all => total.add_other(sparse_products::apply_t(x, &map, u, exec)?),
            Block::Sparse(x) => {
                total.add_other(sparse_products::apply_t(x, &map, &u.rows(rows), exec)?);
            }
        }
        Ok(())
    })?;
    Ok(total.finish(RowSum::finish))
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
    let pieces = |rows: &Dense<'_, T>| normal_pieces(rows, n, q.n_cols());
    visit_pieces(x, &pieces, exec, |rows, block, exec| total.add(rows, block, map, exec))?;
    Ok(total.finish().1)
}

/// `M' W M q` (`Side::Columns`) or `M M' q` of a block that holds all rows.
pub(crate) fn product_of_block<T: Scalar>(
    block: &Block<'_, T>,
    map: ColumnMap<'_>,
    (side, row_weights): (Side, Option<&[f64]>),
    q: &Matrix,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    if side == Side::Rows {
        return normal_t(block, map, q, exec);
    }
    let n = block.n_rows();
    let mut total = NormalSum::new::<T>(n, Cow::Borrowed(q), row_weights);
    total.add(0..n, block, map, exec)?;
    Ok(total.finish().1)
}

/// The pieces of dense rows of a [`NormalSum`] with `l` vectors over `n` rows in all. Every run of rows but the last must
/// hold whole pieces.
pub(crate) fn normal_pieces<T: Scalar>(rows: &Dense<'_, T>, n: usize, l: usize) -> RowPieces {
    dense_products::row_pieces(rows, n, l)
}

/// `M' W M Q`, shape (p, l), over rows that are passed in runs, each with a map of its own.
pub(crate) struct NormalSum<'a> {
    q: Cow<'a, Matrix>,
    row_weights: Option<&'a [f64]>,
    sums: BlockSums<RowSum<'a>>,
}

impl<'a> NormalSum<'a> {
    /// Begins a sum over `n` rows of type `T` in all.
    pub(crate) fn new<T: Scalar>(n: usize, q: Cow<'a, Matrix>, row_weights: Option<&'a [f64]>) -> Self {
        let sums = BlockSums::new(RowSum::of_product::<T>(n, &q, row_weights), q.shape());
        Self { q, row_weights, sums }
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
            Block::Dense(x) => self.sums.dense.add(rows.start, *x, map, exec),
            Block::Sparse(x) => {
                let weights = self.row_weights.map(|w| &w[rows]);
                self.sums.add_other(sparse_products::normal(x, &map, weights, &self.q, exec)?);
                Ok(())
            }
        }
    }

    /// `Q` and the product.
    pub(crate) fn finish(self) -> (Cow<'a, Matrix>, Matrix) {
        (self.q, self.sums.finish(RowSum::finish))
    }
}

/// `M' W M` of all rows, shape (p, p), in one visit.
pub(crate) fn scatter<T: Scalar>(
    x: &dyn Source<T>,
    map: ColumnMap<'_>,
    row_weights: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    let p = x.shape().1;
    let mut total = BlockSums::new(RankK::new(p), (p, p));
    let pieces = total.dense.piece_rows().into();
    visit_pieces(x, &|_| pieces, exec, |rows, block, exec| {
        let weights = row_weights.map(|w| &w[rows]);
        match block {
            Block::Dense(x) => total.dense.add(*x, map, weights, exec),
            Block::Sparse(x) => {
                total.add_other(sparse_scatter::scatter(x, &map, weights, exec)?);
                Ok(())
            }
        }
    })?;
    Ok(total.finish(RankK::finish))
}

/// `U'M`, shape (l, p), of a kind of block that forms it without forming `M'U`; `None` for the others.
pub(crate) fn apply_t_transposed<T: Scalar>(
    block: &Block<'_, T>,
    map: ColumnMap<'_>,
    u: &Matrix,
    exec: &Exec<'_>,
) -> Result<Option<Matrix>> {
    match block {
        Block::Dense(_) => Ok(None),
        Block::Sparse(x) => sparse_products::apply_t_transposed(x, &map, u, exec).map(Some),
    }
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
    dispatch(MapRows { lines: out, map, factors: row_factors.map(|factors| &factors[rows]) });
    Ok(())
}

/// Maps rows in place and multiplies them by their factors (default one).
struct MapRows<'a> {
    /// Row-major.
    lines: &'a mut [f64],
    map: ColumnMap<'a>,
    factors: Option<&'a [f64]>,
}

impl WithSimd for MapRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { lines, map: ColumnMap { shift, remainder, factor }, factors } = self;
        for (i, line) in lines.chunks_exact_mut(shift.len()).enumerate() {
            let row_factor = factors.map_or(1.0, |factors| factors[i]);
            if remainder.is_empty() {
                for ((value, shift), factor) in line.iter_mut().zip(shift).zip(factor) {
                    *value = (*value - shift) * factor * row_factor;
                }
                continue;
            }
            for (((value, shift), remainder), factor) in line.iter_mut().zip(shift).zip(remainder).zip(factor)
            {
                *value = (*value - shift - remainder) * factor * row_factor;
            }
        }
    }
}
