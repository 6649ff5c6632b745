//! The leading directions of known directions and further rows.

use super::parts::{Directions, SketchRows};
use crate::error::Result;
use crate::exec::{Accumulate, Exec};
use crate::linalg::Matrix;
use crate::linalg::decomp::basis::{add_tall_product, tall_t_product};
use crate::linalg::decomp::eigh::{Eigh, eigh};
use crate::linalg::decomp::orthonormal::{Orthonormal, orthonormalize, polish_near};
use crate::linalg::dense::small::multiply;

/// Ratio of the sums of squares below which the directions are orthonormalized and decomposed again:
/// eigenvectors of the small matrix give them to `epsilon / ratio`.
const UNSAFE_RATIO: f64 = 1e-10;

/// The difference of two means, and what it adds to the sums of squares: `c d d'`.
pub(super) struct Between {
    /// `d`, shape (p, 1), scaled as the rows are.
    delta: Matrix,
    /// `c = s_a s_b / (s_a + s_b)`.
    weight: f64,
}

impl Between {
    pub(super) fn new(delta: Vec<f64>, weight: f64) -> Self {
        let p = delta.len();
        let delta = Matrix::from_fn(p, 1, |j, _| delta[j]);
        Self { delta, weight }
    }

    /// Adds `c d (d' Q)` to `out`.
    pub(super) fn add_product(&self, q: &Matrix, out: &mut Matrix) {
        let mut along = vec![0.0; q.n_cols()];
        for (j, delta) in self.delta.as_slice().iter().enumerate() {
            along.iter_mut().zip(q.row(j)).for_each(|(sum, value)| *sum += delta * value);
        }
        for (j, delta) in self.delta.as_slice().iter().enumerate() {
            let factor = self.weight * delta;
            out.row_mut(j).iter_mut().zip(&along).for_each(|(out, along)| *out += factor * along);
        }
    }
}

/// The directions kept.
pub(super) struct Kept {
    /// Orthonormal columns.
    pub(super) vectors: Matrix,
    /// Sums of squares along them, descending and positive.
    pub(super) squares: Vec<f64>,
    /// The largest sum of squares along a direction that was cut off.
    pub(super) cut_off: f64,
}

/// The at most `l` leading eigenpairs of `M'M`, `M` the stack of `old`, the rows of `part`, and the
/// difference of the means. Directions at rounding level are left out.
pub(super) fn truncated(
    old: Directions<'_>,
    part: &dyn SketchRows,
    between: Option<&Between>,
    l: usize,
    exec: &Exec<'_>,
) -> Result<Kept> {
    let n_rows = old.n_rows() + part.n_rows() + usize::from(between.is_some());
    if n_rows > old.vectors.n_rows() {
        by_columns(old, part, between, l, exec)
    } else {
        by_rows(old, part, between, l, exec)
    }
}

/// Decomposes `M'M`, shape (p, p).
fn by_columns(
    old: Directions<'_>,
    part: &dyn SketchRows,
    between: Option<&Between>,
    l: usize,
    exec: &Exec<'_>,
) -> Result<Kept> {
    let mut sum = part.scatter(exec)?;
    if old.n_rows() > 0 {
        sum.merge(&old.scatter(exec)?);
    }
    if let Some(Between { delta, weight }) = between {
        for i in 0..delta.n_rows() {
            let factor = weight * delta[(i, 0)];
            sum.row_mut(i).iter_mut().zip(delta.as_slice()).for_each(|(sum, d)| *sum += factor * d);
        }
    }
    let Leading { squares, vectors, cut_off } = leading(&sum, l, part.rounding())?;
    Ok(Kept { vectors, squares, cut_off })
}

/// Decomposes `M M'`, shape (m + r + 1, m + r + 1).
fn by_rows(
    old: Directions<'_>,
    part: &dyn SketchRows,
    between: Option<&Between>,
    l: usize,
    exec: &Exec<'_>,
) -> Result<Kept> {
    let (m, r) = (old.n_rows(), part.n_rows());
    let dim = m + r + usize::from(between.is_some());
    let mut square = Matrix::zeros(dim, dim);
    for (i, sum) in old.squares.iter().enumerate() {
        square[(i, i)] = *sum;
    }
    let mut set = |first: usize, block: &Matrix| {
        for i in 0..block.n_rows() {
            for j in 0..block.n_cols() {
                square[(m + i, first + j)] = block[(i, j)];
                square[(first + j, m + i)] = block[(i, j)];
            }
        }
    };
    set(m, &part.gram(&exec.part(0.0, 0.3))?);
    if m > 0 {
        let across = part.apply(old.vectors, &exec.part(0.3, 0.5))?;
        let roots: Vec<f64> = old.squares.iter().map(|sum| sum.sqrt()).collect();
        set(0, &Matrix::from_fn(r, m, |i, j| across[(i, j)] * roots[j]));
    }
    if let Some(Between { delta, weight }) = between {
        let root = weight.sqrt();
        let along = part.apply(delta, exec)?;
        set(m + r, &Matrix::from_fn(r, 1, |i, _| along[(i, 0)] * root));
        let own: f64 = delta.as_slice().iter().map(|d| d * d).sum();
        square[(dim - 1, dim - 1)] = own * weight;
        if m > 0 {
            let along = tall_t_product(old.vectors, delta, exec)?;
            for i in 0..m {
                let value = along[(i, 0)] * old.squares[i].sqrt() * root;
                square[(i, dim - 1)] = value;
                square[(dim - 1, i)] = value;
            }
        }
    }
    let Leading { squares, vectors, cut_off } = leading(&square, l, part.rounding())?;
    if squares.is_empty() {
        return Ok(Kept { vectors: Matrix::zeros(old.vectors.n_rows(), 0), squares, cut_off });
    }
    // The coefficients of the rows of the stack in each direction, of length one.
    let k = squares.len();
    let of = |i: usize, j: usize| vectors[(i, j)] / squares[j].sqrt();
    let exec_rotate = exec.part(0.6, 0.9);
    let mut rotated = part.apply_t(&Matrix::from_fn(r, k, |i, j| of(m + i, j)), &exec.part(0.5, 0.6))?;
    if m > 0 {
        let mut known = Matrix::from_fn(m, k, of);
        old.weigh(&mut known);
        add_tall_product(old.vectors, &known, &mut rotated, &exec_rotate)?;
    }
    if let Some(Between { delta, weight }) = between {
        let along = Matrix::from_fn(1, k, |_, j| of(dim - 1, j) * weight.sqrt());
        add_tall_product(delta, &along, &mut rotated, &exec_rotate)?;
    }
    orthonormal(rotated, squares, cut_off, &exec.part(0.9, 1.0))
}

/// Makes directions orthonormal that are so up to rounding. Directions whose variances are rounding errors are not.
fn orthonormal(mut vectors: Matrix, squares: Vec<f64>, cut_off: f64, exec: &Exec<'_>) -> Result<Kept> {
    /// Seed of columns that replace dependent ones, which have no variance.
    const SEED: u64 = 0;
    if squares[squares.len() - 1] >= UNSAFE_RATIO * squares[0] && polish_near(&mut vectors, exec)? {
        return Ok(Kept { vectors, squares, cut_off });
    }
    // `V D V' = Q (R D R') Q'`.
    let Orthonormal { q, r } = orthonormalize(vectors, SEED, exec)?;
    let scaled = Matrix::from_fn(r.n_rows(), r.n_cols(), |i, j| r[(i, j)] * squares[j]);
    let Leading { squares, vectors, .. } = leading(&multiply(&scaled, &r.transposed()), squares.len(), 0.0)?;
    let mut rotated = Matrix::zeros(q.n_rows(), squares.len());
    add_tall_product(&q, &vectors, &mut rotated, exec)?;
    Ok(Kept { vectors: rotated, squares, cut_off })
}

/// Leading eigenpairs of a symmetric matrix.
struct Leading {
    squares: Vec<f64>,
    /// Columns.
    vectors: Matrix,
    /// The next eigenvalue, at least zero.
    cut_off: f64,
}

/// The at most `l` leading eigenpairs above rounding level, which is at least `rounding`.
fn leading(a: &Matrix, l: usize, rounding: f64) -> Result<Leading> {
    let dim = a.n_rows();
    let Eigh { mut values, vectors } = eigh(a)?;
    let own = values.first().map_or(0.0, |largest| largest.max(0.0) * f64::EPSILON * dim as f64);
    let level = if own > rounding { own } else { rounding };
    let k = values.iter().take_while(|&&value| value > level).count().min(l);
    let cut_off = values.get(k).map_or(0.0, |value| value.max(0.0));
    values.truncate(k);
    Ok(Leading { squares: values, vectors: vectors.columns(0..k), cut_off })
}
