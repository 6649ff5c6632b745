//! The routes to the principal components.

use crate::choice::{Choice, Named, plain_names};
use crate::error::Advice;

/// A route to the principal components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Singular values of the data matrix by orthogonal reductions, without squaring the condition number.
    Svd,
    /// Eigenvectors of the covariance matrix, p x p.
    Covariance,
    /// Eigenvectors of the matrix of inner products of the rows, n x n.
    Gram,
    /// The leading components by block Krylov iteration, until their residuals are within the tolerance.
    BlockKrylov,
}

impl Choice for Route {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Svd, "svd", "Singular values of the data themselves: the most accurate"),
        Named::new(
            Self::Covariance,
            "covariance",
            "Eigenvectors of the covariance matrix: many rows, few columns",
        ),
        Named::new(
            Self::Gram,
            "gram",
            "Eigenvectors of the inner products of the rows: few rows, many columns",
        ),
        Named::new(Self::BlockKrylov, "block-krylov", "The leading components by iteration: large both ways"),
    ];
}

plain_names!(Route);

impl Route {
    /// Advises this route, whose memory estimate is `bytes`.
    pub(crate) fn advice(self, bytes: f64) -> Advice {
        Advice::Solver { route: Box::new(self.value()), bytes }
    }

    /// The rounding errors of variances, relative to the largest one, after sums over `n` values: of the singular values of
    /// route svd, of their squares on the others.
    pub(crate) fn rounding(self, n: usize) -> f64 {
        let rounding = f64::EPSILON * n as f64;
        if self == Self::Svd { rounding * rounding } else { rounding }
    }
}
