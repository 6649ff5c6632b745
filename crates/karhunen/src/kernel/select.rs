//! Which route to take.
//!
//! The choice knows the numbers of rows, features and components, the type of the data and the memory limit, never the
//! number of threads. Routes that differ by the memory limit alone (stored and recomputed tiles) give the same bits.

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
}

impl KernelRoute {
    /// The name in options, reports and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Stored => "stored",
            Self::Tiles => "tiles",
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
    /// Whether the kernel matrix is given: it cannot be recomputed.
    pub(super) given: bool,
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
        }
    }
}

/// Chooses a route and says why.
pub(super) fn choose(problem: &Problem) -> (KernelRoute, String) {
    let n = problem.n;
    let fits = |route| problem.bytes(route) <= problem.memory_limit;
    match problem.k {
        None => return (KernelRoute::Full, "all components are wanted".to_owned()),
        Some(_) if n <= SMALL => return (KernelRoute::Full, format!("{n} rows are few")),
        Some(k) if 4 * k > n && fits(KernelRoute::Full) => {
            return (KernelRoute::Full, format!("{k} of {n} components are more than a quarter"));
        }
        Some(_) => {}
    }
    let gigabytes = problem.stored() / 1e9;
    if problem.given || fits(KernelRoute::Stored) {
        return (KernelRoute::Stored, format!("the kernel matrix takes {gigabytes:.2} GB"));
    }
    let limit = problem.memory_limit / 1e9;
    let reason = format!("the kernel matrix would take {gigabytes:.2} GB, over the limit of {limit:.2} GB");
    (KernelRoute::Tiles, reason)
}
