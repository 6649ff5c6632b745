//! The routes to kernel principal components.

/// A route to the kernel principal components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum KernelRoute {
    /// All eigenvectors of the centred kernel matrix, formed, shape (n, n) in f64.
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

    /// The name in options, reports and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Stored => "stored",
            Self::Tiles => "tiles",
            Self::Nystrom => "nystrom",
            Self::Fourier => "fourier",
        }
    }
}

impl std::fmt::Display for KernelRoute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
