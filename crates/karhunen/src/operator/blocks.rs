//! Products with one block of rows: the only place that distinguishes dense from sparse blocks.

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::dense::products as dense_products;
use crate::linalg::dense::rank_k;
use crate::linalg::sparse::products as sparse_products;
use crate::linalg::{ColumnMap, Matrix};
use crate::moments::{sparse_scatter, sparse_sums};
use crate::scalar::Scalar;
use crate::source::Block;

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

/// `M'U`, shape (p, l).
pub(crate) fn apply_t<T: Scalar>(
    block: &Block<'_, T>,
    map: ColumnMap<'_>,
    u: &Matrix,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    match block {
        Block::Dense(x) => dense_products::apply_t(*x, map, u, exec),
        Block::Sparse(x) => sparse_products::apply_t(x, &map, u, exec),
    }
}

/// `M' W M Q`, shape (p, l).
pub(crate) fn normal<T: Scalar>(
    block: &Block<'_, T>,
    map: ColumnMap<'_>,
    row_weights: Option<&[f64]>,
    q: &Matrix,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    match block {
        Block::Dense(x) => dense_products::normal(*x, map, row_weights, q, exec),
        Block::Sparse(x) => sparse_products::normal(x, &map, row_weights, q, exec),
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

/// `M' W M`, shape (p, p).
pub(crate) fn scatter<T: Scalar>(
    block: &Block<'_, T>,
    map: ColumnMap<'_>,
    row_weights: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    match block {
        Block::Dense(x) => rank_k::scatter(*x, map, row_weights, exec),
        Block::Sparse(x) => sparse_scatter::scatter(x, &map, row_weights, exec),
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

/// Writes the mapped and weighted rows `rows` of the block into `out`, row-major, shape (rows.len(), p).
pub(crate) fn mapped_rows<T: Scalar>(
    block: &Block<'_, T>,
    map: ColumnMap<'_>,
    row_factors: Option<&[f64]>,
    rows: std::ops::Range<usize>,
    out: &mut [f64],
) -> Result<()> {
    let p = block.n_cols();
    match block {
        Block::Dense(x) => {
            for (i, line) in rows.clone().zip(out.chunks_exact_mut(p)) {
                match x.contiguous_row(i) {
                    Some(row) => line.iter_mut().zip(row).for_each(|(o, v)| *o = v.to_f64()),
                    None => line.iter_mut().enumerate().for_each(|(j, o)| *o = x.get(i, j).to_f64()),
                }
            }
        }
        Block::Sparse(x) => sparse_sums::densify(x, rows.clone(), out)?,
    }
    for (i, line) in rows.zip(out.chunks_exact_mut(p)) {
        let row_factor = row_factors.map_or(1.0, |r| r[i]);
        if matches!(block, Block::Dense(_)) && !map.remainder.is_empty() {
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
