//! Wanted and computed parts of a spectrum.

use crate::linalg::Matrix;
use crate::solver::problem::Blocks;

/// Number of wanted components.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    /// This many.
    Count(usize),
    /// The smallest number whose squared singular values have a sum above `sum`, to 12 digits; `total` is the sum
    /// of all.
    Share { sum: f64, total: f64 },
}

/// Parameters of iterations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IterationOptions<'a> {
    /// Largest residual allowed, relative to the largest eigenvalue.
    pub(crate) tol: f64,
    /// The rounding of centring that is added to the residuals, as a multiple of [`Products::cancelled`] by the largest
    /// eigenvalue: block Krylov iteration stops where both are within `tol`.
    ///
    /// [`Products::cancelled`]: crate::operator::Products::cancelled
    pub(crate) centring: f64,
    /// The most products with the matrix.
    pub(crate) max_iter: usize,
    /// Block size; chosen if `None`.
    pub(crate) block_size: Option<usize>,
    /// Blocks of products that read the data again, unless `block_size` is given; `None` for data in memory.
    pub(crate) reading: Option<Blocks>,
    /// Seed of the random directions of the starting block.
    pub(crate) seed: u64,
    /// Directions that the starting block holds in addition to the random ones: orthonormal columns, shape (p, l).
    /// Block Krylov iteration alone uses them, and then iterates with `B'B` whatever the shape.
    pub(crate) start: Option<&'a Matrix>,
}

/// Leading eigenpairs of `B'B`, their residuals and their cost.
#[derive(Clone, Debug)]
pub(crate) struct Spectrum {
    /// Squared singular values, descending.
    pub(crate) values: Vec<f64>,
    /// Right singular vectors as rows, shape (k, p), orthonormal.
    pub(crate) components: Matrix,
    /// `||B'B w - lambda w|| / lambda_1` of each pair; for eigenvectors of `B B'` an upper bound.
    pub(crate) residuals: Vec<f64>,
    /// All smaller values, descending, if they are known.
    pub(crate) others: Option<Vec<f64>>,
}

impl Spectrum {
    /// The spectrum of no pair.
    pub(crate) fn none(n_columns: usize) -> Self {
        Self {
            values: Vec::new(),
            components: Matrix::zeros(0, n_columns),
            residuals: Vec::new(),
            others: None,
        }
    }

    /// Tests whether one of the first `n` values is missing, or so small that products of columns or rows have lost its
    /// digits: the errors of all are roundings of the largest.
    pub(crate) fn loses_small_values(&self, n: usize) -> bool {
        /// Leaves nine digits.
        const SMALLEST: f64 = 1e-7;
        let least = self.values.get(n.saturating_sub(1)).copied().unwrap_or(0.0);
        self.values.first().is_some_and(|largest| least < SMALLEST * largest)
    }

    /// Keeps the first `k` pairs.
    pub(crate) fn truncate(&mut self, k: usize) {
        let dropped = self.values.split_off(k);
        if let Some(others) = &mut self.others {
            others.splice(0..0, dropped);
        }
        self.residuals.truncate(k);
        self.components = self.components.rows(0..k);
    }
}

/// Number of `values` needed; `None` if they do not reach the sum.
pub(crate) fn count(values: &[f64], wanted: Wanted) -> Option<usize> {
    match wanted {
        Wanted::Count(k) => Some(k.min(values.len())),
        Wanted::Share { sum, .. } => {
            let mut reached = 0.0;
            values
                .iter()
                .position(|value| {
                    reached += value;
                    // Values that equal the sum in exact arithmetic must not exceed it by rounding.
                    reached > sum * (1.0 + 1e-12)
                })
                .map(|last| last + 1)
        }
    }
}
