//! Which route to take.
//!
//! The choice knows the numbers of rows, features and components, the type of the data and the memory limit, never the
//! number of threads. Routes that differ by the memory limit alone (stored and recomputed tiles) give the same bits.

use crate::error::size;
use crate::kernel::gram::stored_bytes;

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

/// What a choice needs to know.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem {
    /// Rows.
    pub(super) n: usize,
    /// Components wanted; all if `None`.
    pub(super) k: Option<usize>,
    /// Whether the data are f32.
    pub(super) single: bool,
    /// Columns.
    pub(super) p: usize,
    /// Whether the kernel matrix is given: it cannot be recomputed.
    pub(super) given: bool,
    /// Whether landmarks can stand for all rows: the kernel is positive without centring.
    pub(super) may_approximate: bool,
    /// Landmarks or Fourier features of the approximate routes.
    pub(super) n_features: usize,
    /// Bytes.
    pub(super) memory_limit: f64,
}

/// Below this number of rows all eigenvectors cost as little as some.
const SMALL: usize = 400;

impl Problem {
    /// Bytes of the stored triangle.
    fn stored(&self) -> f64 {
        if self.single { stored_bytes::<f32>(self.n) } else { stored_bytes::<f64>(self.n) }
    }

    /// Bytes that a route holds beside the data.
    pub(super) fn bytes(&self, route: KernelRoute) -> f64 {
        let n = self.n as f64;
        let vectors = 8.0 * n * (3.0 * self.k.unwrap_or(self.n) as f64 + 100.0);
        match route {
            // The matrix, faer's copy, vectors twice.
            KernelRoute::Full => 32.0 * n * n,
            KernelRoute::Stored => self.stored() + vectors,
            KernelRoute::Tiles => vectors,
            // Sums of two threads, and small matrices.
            KernelRoute::Nystrom | KernelRoute::Fourier => 8.0 * 8.0 * (self.n_features as f64).powi(2),
        }
    }
}

/// Seconds on one core that exact tiles may take before the matrix is approximated.
const PATIENCE: f64 = 1800.0;
/// Entries of the kernel matrix, times features and vectors, that one core works on in a second: four fifths of what the radial
/// kernel reaches with AVX-512, in f64 and in f32.
const SPEED: [f64; 2] = [5e10, 1.3e11];

impl Problem {
    /// Predicted seconds of recomputed tiles on one core.
    fn tiles_seconds(&self) -> f64 {
        let passes = 15.0 + self.k.unwrap_or(0) as f64 / 8.0;
        let speed = SPEED[usize::from(self.single)];
        0.5 * (self.n as f64).powi(2) * (self.p as f64 + 60.0) * passes / speed
    }
}

/// Chooses a route and says why.
pub(super) fn choose(problem: &Problem) -> (KernelRoute, String) {
    let n = problem.n;
    let fits = |route| problem.bytes(route) <= problem.memory_limit;
    match problem.k {
        None => return (KernelRoute::Full, "all components are wanted".to_owned()),
        Some(_) if n == 1 => return (KernelRoute::Full, "there is one row".to_owned()),
        Some(_) if n <= SMALL => return (KernelRoute::Full, format!("{n} rows are few")),
        Some(k) if 4 * k > n && fits(KernelRoute::Full) => {
            return (KernelRoute::Full, format!("{k} of {n} components are more than a quarter"));
        }
        Some(_) => {}
    }
    let matrix = size(problem.stored());
    if problem.given || fits(KernelRoute::Stored) {
        return (KernelRoute::Stored, format!("the kernel matrix takes {matrix}"));
    }
    let limit = size(problem.memory_limit);
    let reason = format!("the kernel matrix would take {matrix}, over the limit of {limit}");
    let seconds = problem.tiles_seconds();
    if seconds > PATIENCE && problem.may_approximate {
        return (
            KernelRoute::Nystrom,
            format!("{reason}, and tiles {:.0} minutes on one core", seconds / 60.0),
        );
    }
    (KernelRoute::Tiles, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(n: usize, single: bool) -> Problem {
        Problem {
            n,
            k: Some(50),
            single,
            p: 50,
            given: false,
            may_approximate: true,
            n_features: 1000,
            memory_limit: 1e10,
        }
    }

    #[test]
    fn rows_memory_and_patience_decide() {
        let route = |problem: &Problem| choose(problem).0;
        assert_eq!(route(&problem(400, false)), KernelRoute::Full);
        assert_eq!(route(&problem(150, false)), KernelRoute::Full);
        assert_eq!(route(&problem(40_000, false)), KernelRoute::Stored);
        assert_eq!(route(&problem(60_000, false)), KernelRoute::Tiles);
        // Half of the bytes, and more than twice the speed.
        assert_eq!(route(&problem(60_000, true)), KernelRoute::Stored);
        assert_eq!(route(&problem(350_000, true)), KernelRoute::Tiles);
        assert_eq!(route(&problem(350_000, false)), KernelRoute::Nystrom);
        let only_exact = Problem { may_approximate: false, ..problem(350_000, false) };
        assert_eq!(route(&only_exact), KernelRoute::Tiles);
        let all = Problem { k: None, ..problem(5000, false) };
        assert_eq!(route(&all), KernelRoute::Full);
    }
}
