//! The routes to the principal components.

/// A route to the principal components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
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

impl Route {
    /// The name in options, reports and files.
    pub fn name(self) -> &'static str {
        match self {
            Route::Svd => "svd",
            Route::Covariance => "covariance",
            Route::Gram => "gram",
            Route::BlockKrylov => "block-krylov",
        }
    }
}

impl std::fmt::Display for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
