//! The routes to kernel principal components.

/// A route to the kernel principal components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum KernelRoute {
    /// All eigenvectors of the centred kernel matrix, n x n in f64.
    Full,
    /// The leading eigenvectors by block Krylov iteration on the kernel matrix, of which one triangle is stored.
    Stored,
    /// The same, computing the kernel matrix tile by tile in every pass: memory proportional to n.
    Tiles,
    /// The kernel matrix that agrees with the exact one on some rows, the landmarks, and is of their rank: one pass, memory
    /// that does not grow with n. Drineas & Mahoney (2005).
    Nystrom,
    /// Random Fourier features of kernels of differences (rbf, laplacian): one pass, memory that does not grow with n.
    Fourier,
}

impl KernelRoute {
    /// Whether the kernel matrix is replaced by one of low rank.
    pub fn approximates(self) -> bool {
        matches!(self, Self::Nystrom | Self::Fourier)
    }

    /// Whether components come from passes over the kernel matrix, as many as the tolerance takes.
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
