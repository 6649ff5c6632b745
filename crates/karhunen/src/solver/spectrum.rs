//! What is wanted of a spectrum, and what is found.

use crate::linalg::Matrix;

/// How many components are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    /// This many.
    Count(usize),
    /// As many as are needed for the sum of squared singular values to exceed `sum`, to 12 digits, where that of all of them is
    /// `total`.
    Share { sum: f64, total: f64 },
}

/// Parameters of iterations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IterationOptions {
    /// The largest residual, relative to the largest eigenvalue.
    pub(crate) tol: f64,
    /// Products with the matrix allowed.
    pub(crate) max_iter: usize,
    /// Columns applied at a time; chosen if `None`.
    pub(crate) block_size: Option<usize>,
    /// Of the starting block.
    pub(crate) seed: u64,
}

/// Leading eigenpairs of `B'B` and how they were found.
#[derive(Clone, Debug)]
pub(crate) struct Spectrum {
    /// Squared singular values, descending.
    pub(crate) values: Vec<f64>,
    /// Right singular vectors as rows, shape (k, p), orthonormal.
    pub(crate) components: Matrix,
    /// `||B'B w - lambda w|| / lambda_1` of each pair; on the side of the rows a bound on it.
    pub(crate) residuals: Vec<f64>,
    /// Passes over the matrix.
    pub(crate) n_passes: usize,
}

impl Spectrum {
    /// Of no pair: nothing was asked for, and nothing is computed.
    pub(super) fn none(n_columns: usize) -> Self {
        Self {
            values: Vec::new(),
            components: Matrix::zeros(0, n_columns),
            residuals: Vec::new(),
            n_passes: 0,
        }
    }

    /// Keeps the first `k` pairs.
    pub(crate) fn truncate(&mut self, k: usize) {
        self.values.truncate(k);
        self.residuals.truncate(k);
        self.components = self.components.rows(0..k);
    }
}

/// How many of `values` are needed.
pub(crate) fn count(values: &[f64], wanted: Wanted) -> Option<usize> {
    match wanted {
        Wanted::Count(k) => Some(k.min(values.len())),
        Wanted::Share { sum, .. } => {
            let mut reached = 0.0;
            values
                .iter()
                .position(|value| {
                    reached += value;
                    // What equals the sum in exact arithmetic must not exceed it by its rounding.
                    reached > sum * (1.0 + 1e-12)
                })
                .map(|last| last + 1)
        }
    }
}
