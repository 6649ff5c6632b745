//! Loadings and scores during a fit.
//!
//! Row j of the loadings is `(a_j, mu_j, 0 …)`, row i of the scores is `(s_i, 1, 0 …)`: the mean is the loading of
//! the constant score one, and a prediction is one dot product of two rows. With row offsets, `b_i` is the last
//! score, of fixed loading one: `(a_j, 1, mu_j, 0 …)` and `(s_i, b_i, 1, 0 …)`. Zeros pad rows to whole cache
//! lines.

pub(crate) mod covariances;
pub(crate) mod objective;
pub(crate) mod prior;
pub(crate) mod state_arrays;

use std::sync::Arc;

use crate::error::Result;
use crate::exec::{Accumulate, Exec};
use crate::incomplete::data::Rows;
use crate::linalg::Matrix;
use crate::linalg::prefetch::LINE;
use crate::linalg::simd::Lane;
use crate::scalar::Scalar;

/// Number of values per piece of elementwise work.
const PIECE: usize = 1 << 16;

/// A matrix whose rows have equal width and start at cache lines.
#[derive(Debug)]
pub(crate) struct Factor<T> {
    data: Vec<T>,
    /// Position of the first row in `data`.
    offset: usize,
    n_rows: usize,
    width: usize,
    /// Multiplicity of each row in sums over rows; `None` if all are one.
    multiplicity: Option<Arc<[f64]>>,
}

impl<T: Scalar> Clone for Factor<T> {
    fn clone(&self) -> Self {
        // A copied offset could misalign the rows of the new allocation.
        let mut copy = self.zeros_like();
        copy.as_mut_slice().copy_from_slice(self.as_slice());
        copy
    }
}

impl<T: Scalar> Factor<T> {
    /// Zeros, at least `n_values` per row.
    pub(crate) fn zeros(n_rows: usize, n_values: usize) -> Self {
        let (per_line, width) = (LINE / size_of::<T>(), Self::width_for(n_values));
        let data = vec![T::default(); n_rows * width + per_line];
        // Rows without an aligned offset cost speed only.
        let offset = data.as_ptr().align_offset(LINE);
        let offset = if offset < per_line { offset } else { 0 };
        Self { data, offset, n_rows, width, multiplicity: None }
    }

    /// Padded width of rows of `n_values`.
    pub(crate) fn width_for(n_values: usize) -> usize {
        n_values.next_multiple_of(LINE / size_of::<T>())
    }

    /// Zeros of the same shape and multiplicities.
    pub(crate) fn zeros_like(&self) -> Self {
        self.zeros_of_width(self.width)
    }

    /// Zeros with the same rows and multiplicities, at least `n_values` per row.
    pub(crate) fn zeros_of_width(&self, n_values: usize) -> Self {
        Self { multiplicity: self.multiplicity.clone(), ..Self::zeros(self.n_rows, n_values) }
    }

    /// Sets the multiplicities of the rows.
    pub(crate) fn with_multiplicity(self, multiplicity: Option<&Arc<[f64]>>) -> Self {
        Self { multiplicity: multiplicity.cloned(), ..self }
    }

    /// Multiplicity of each row, unless all are one.
    pub(crate) fn multiplicity(&self) -> Option<&Arc<[f64]>> {
        self.multiplicity.as_ref()
    }

    /// Sum of the multiplicities of the rows.
    pub(crate) fn total(&self) -> f64 {
        self.multiplicity.as_ref().map_or(self.n_rows as f64, |multiplicity| multiplicity.iter().sum())
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of values per row, padding included.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        &self.data[self.offset..self.offset + self.n_rows * self.width]
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data[self.offset..self.offset + self.n_rows * self.width]
    }

    pub(crate) fn row(&self, i: usize) -> &[T] {
        &self.as_slice()[i * self.width..(i + 1) * self.width]
    }

    pub(crate) fn row_mut(&mut self, i: usize) -> &mut [T] {
        let width = self.width;
        &mut self.as_mut_slice()[i * width..(i + 1) * width]
    }

    /// All rows, as the output of a pass.
    pub(crate) fn as_rows(&mut self) -> Rows<'_, T> {
        Rows { width: self.width, data: self.as_mut_slice() }
    }

    /// The first `n_values` of every row.
    pub(crate) fn to_matrix(&self, n_values: usize) -> Matrix {
        Matrix::from_fn(self.n_rows, n_values, |i, k| self.row(i)[k].to_f64())
    }

    /// `self = base + t step`, elementwise.
    pub(crate) fn set_step(&mut self, base: &Self, t: f64, step: &Self, exec: &Exec<'_>) -> Result<()> {
        let (base, step) = (base.as_slice(), step.as_slice());
        exec.fill(self.as_mut_slice(), PIECE, |piece, out| {
            let (base, step) = (&base[piece * PIECE..], &step[piece * PIECE..]);
            for ((out, base), step) in out.iter_mut().zip(base).zip(step) {
                *out = T::from_f64(base.to_f64() + t * step.to_f64());
            }
            Ok(())
        })
    }

    /// Applies `f` to every row, in parallel.
    pub(crate) fn map_rows(&mut self, exec: &Exec<'_>, f: impl Fn(usize, &mut [T]) + Sync) -> Result<()> {
        let width = self.width;
        let rows = (PIECE / width).max(1);
        exec.fill(self.as_mut_slice(), rows * width, |piece, out| {
            for (at, row) in out.chunks_exact_mut(width).enumerate() {
                f(piece * rows + at, row);
            }
            Ok(())
        })
    }

    /// Sums over rows times their multiplicities: `f` adds row i to `len` sums. The same bits for any number of
    /// threads.
    pub(crate) fn sum_rows(
        &self,
        len: usize,
        exec: &Exec<'_>,
        f: impl Fn(usize, &[T], &mut [f64]) + Sync,
    ) -> Result<Vec<f64>> {
        let rows = (PIECE / self.width).max(1);
        sum_pieces(exec, self.n_rows.div_ceil(rows), len, &|piece, sums| {
            let of_piece = piece * rows..((piece + 1) * rows).min(self.n_rows);
            let Some(multiplicity) = &self.multiplicity else {
                of_piece.for_each(|i| f(i, self.row(i), sums));
                return;
            };
            let mut once = vec![0.0; len];
            for i in of_piece {
                once.fill(0.0);
                f(i, self.row(i), &mut once);
                sums.iter_mut().zip(&once).for_each(|(sum, x)| *sum += multiplicity[i] * x);
            }
        })
    }
}

/// Sums `len` numbers over pieces, as [`Exec::fold`] does. It is compiled once, because it is not generic.
fn sum_pieces(
    exec: &Exec<'_>,
    n_pieces: usize,
    len: usize,
    work: &(dyn Fn(usize, &mut [f64]) + Sync),
) -> Result<Vec<f64>> {
    let sums = exec.fold(
        n_pieces,
        || Sums(vec![0.0; len]),
        |piece, sums| {
            work(piece, &mut sums.0);
            Ok(())
        },
    )?;
    Ok(sums.0)
}

struct Sums(Vec<f64>);

impl Accumulate for Sums {
    fn reset(&mut self) {
        self.0.fill(0.0);
    }
    fn merge(&mut self, other: &Self) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a += b;
        }
    }
}

/// Loadings, means and scores.
#[derive(Debug)]
pub(crate) struct Factors<T> {
    /// `(a_j, mu_j)` of each feature.
    pub(crate) a: Factor<T>,
    /// `(s_i, 1)` of each sample.
    pub(crate) s: Factor<T>,
    /// Number of scores per row: components, plus one with row offsets.
    pub(crate) c: usize,
}

impl<T: Scalar> Clone for Factors<T> {
    fn clone(&self) -> Self {
        Self { a: self.a.clone(), s: self.s.clone(), c: self.c }
    }
}

impl<T: Scalar> Factors<T> {
    /// From loadings (n_features, c), scores (n_samples, c) and mean (n_features).
    pub(crate) fn new(loadings: &Matrix, scores: &Matrix, mean: &[f64]) -> Self {
        let c = loadings.n_cols();
        let fill = |from: &Matrix, last: &dyn Fn(usize) -> f64| {
            let mut factor = Factor::zeros(from.n_rows(), c + 1);
            for i in 0..from.n_rows() {
                let row = factor.row_mut(i);
                for (to, from) in row.iter_mut().zip(from.row(i)) {
                    *to = T::from_f64(*from);
                }
                row[c] = T::from_f64(last(i));
            }
            factor
        };
        Self { a: fill(loadings, &|j| mean[j]), s: fill(scores, &|_| 1.0), c }
    }

    /// As [`Factors::new`], with row offsets, shape (n_samples,), if given.
    pub(crate) fn with_offsets(
        loadings: &Matrix,
        scores: &Matrix,
        mean: &[f64],
        offsets: Option<&[f64]>,
    ) -> Self {
        let Some(offsets) = offsets else { return Self::new(loadings, scores, mean) };
        let c = loadings.n_cols();
        let appended = |x: &Matrix, last: &dyn Fn(usize) -> f64| {
            Matrix::from_fn(x.n_rows(), c + 1, |j, k| if k < c { x[(j, k)] } else { last(j) })
        };
        Self::new(&appended(loadings, &|_| 1.0), &appended(scores, &|i| offsets[i]), mean)
    }

    /// Score `k` of every row.
    pub(crate) fn scores_of(&self, k: usize) -> Vec<f64> {
        (0..self.s.n_rows()).map(|i| self.s.row(i)[k].to_f64()).collect()
    }

    /// Sets the multiplicities of the rows of the scores.
    pub(crate) fn with_multiplicity(self, multiplicity: Option<&Arc<[f64]>>) -> Self {
        Self { s: self.s.with_multiplicity(multiplicity), ..self }
    }

    /// The mean of each feature.
    pub(crate) fn mean(&self) -> Vec<f64> {
        (0..self.a.n_rows()).map(|j| self.a.row(j)[self.c].to_f64()).collect()
    }

    /// The factor on one side.
    pub(crate) fn of(&self, side: FactorSide) -> &Factor<T> {
        match side {
            FactorSide::Scores => &self.s,
            FactorSide::Loadings => &self.a,
        }
    }
}

/// `X'X` of the first `c` values of the rows, shape (c, c).
pub(crate) fn gram<T: Lane>(factor: &Factor<T>, c: usize, exec: &Exec<'_>) -> Result<Matrix> {
    let sums = factor.sum_rows(c * c, exec, |_, row, sums| {
        for (x, sums) in row.iter().zip(sums.chunks_exact_mut(c)) {
            for (y, sum) in row.iter().zip(sums) {
                *sum += x.to_f64() * y.to_f64();
            }
        }
    })?;
    Matrix::from_vec(c, c, sums)
}

/// The factor that an operation solves for or reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FactorSide {
    /// One row for each sample; passes go by rows.
    Scores,
    /// One row for each feature; passes go by columns.
    Loadings,
}

impl FactorSide {
    pub(crate) fn other(self) -> Self {
        match self {
            FactorSide::Scores => FactorSide::Loadings,
            FactorSide::Loadings => FactorSide::Scores,
        }
    }
}
