//! The routes to kernel principal components.

use crate::choice::{Choice, Named, plain_names};
use crate::error::{Advice, options};

/// A route to the kernel principal components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KernelRoute {
    /// The centred kernel matrix, shape (n, n) in f64, reduced to tridiagonal form.
    Full,
    /// The leading eigenvectors by block Krylov iteration on the kernel matrix, one triangle of which is stored.
    Stored,
    /// Block Krylov iteration that computes the kernel matrix tile by tile in every pass: memory proportional to
    /// n.
    Tiles,
    /// The Nyström approximation of the kernel matrix from some rows, the landmarks: one pass, memory independent
    /// of n. Drineas & Mahoney (2005).
    Nystrom,
    /// Random Fourier features for kernels of differences (rbf, laplacian): one pass, memory independent of n.
    Fourier,
}

impl KernelRoute {
    /// True if a low-rank approximation replaces the kernel matrix.
    pub fn approximates(self) -> bool {
        matches!(self, Self::Nystrom | Self::Fourier)
    }

    /// True for block Krylov iteration.
    pub(super) fn iterates(self) -> bool {
        matches!(self, Self::Stored | Self::Tiles)
    }

    /// The remedy for components that missed the tolerance.
    pub(super) fn advice(self) -> Advice {
        let limits = if self.iterates() { vec![options::MAX_ITER, options::TOL] } else { vec![options::TOL] };
        Advice::Raise(limits)
    }
}

impl Choice for KernelRoute {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Full, "full", "The whole kernel matrix, decomposed"),
        Named::new(Self::Stored, "stored", "The leading ones by iteration, the matrix held in memory"),
        Named::new(Self::Tiles, "tiles", "The same, the matrix computed again in every pass"),
        Named::new(Self::Nystrom, "nystrom", "Some rows, the landmarks, represent all"),
        Named::new(Self::Fourier, "fourier", "Random Fourier features, for rbf and laplacian"),
    ];
}

plain_names!(KernelRoute);
