//! The choice of a route.
//!
//! The choice depends on the numbers of rows, features and components, the type of the data and the memory limit,
//! not on the number of threads. Stored and recomputed tiles, which differ by the memory limit alone, give the
//! same bits.

use crate::choice::Choice;
use crate::error::{Advice, Available, Error, Result, options, size};
use crate::kernel::approximate::SAMPLE;
use crate::kernel::gram::stored_bytes;
use crate::kernel::landmarks::n_candidates;
use crate::kernel::route::KernelRoute;
use crate::linalg::decomp::tridiagonal;
use crate::memory;
use crate::pca::NComponents;

/// Size, type and memory limit of a fit.
#[derive(Clone, Copy, Debug)]
pub(super) struct KernelProblem {
    /// Number of rows.
    pub(super) n: usize,
    /// Requested number of components.
    pub(super) n_components: NComponents,
    /// True for f32 data.
    pub(super) single: bool,
    /// True if an iteration may begin in f32.
    pub(super) may_begin: bool,
    /// Number of columns.
    pub(super) p: usize,
    /// True for a precomputed kernel matrix, which cannot be recomputed.
    pub(super) given: bool,
    /// True if landmarks may approximate the kernel matrix.
    pub(super) may_approximate: bool,
    /// Number of landmarks or Fourier features of the approximate routes.
    pub(super) n_features: usize,
    /// Memory limit.
    pub(super) limit: Available,
}

/// Number of rows up to which the whole kernel matrix is reduced in less time than an iteration takes.
const SMALL: usize = 400;

impl KernelProblem {
    /// Number of components; for a share of the variance a guess, as it may need many.
    fn k(&self) -> usize {
        match self.n_components {
            NComponents::Count(k) => k,
            NComponents::Variance(_) => (self.n / 8).max(8.min(self.n)),
            _ => self.n,
        }
    }

    /// Bytes of the stored triangle.
    fn stored(&self) -> f64 {
        if self.single { stored_bytes::<f32>(self.n) } else { stored_bytes::<f64>(self.n) }
    }

    /// Bytes of the matrices of a route, excluding the data.
    pub(super) fn bytes(&self, route: KernelRoute) -> f64 {
        let n = self.n as f64;
        let vectors = 8.0 * n * (3.0 * self.k() as f64 + 100.0);
        match route {
            // The matrix, faer's copy, and two copies of the vectors.
            KernelRoute::Full => 32.0 * n * n,
            KernelRoute::Stored => self.stored() + vectors,
            KernelRoute::Tiles => vectors,
            // Sums of two threads, and small matrices.
            KernelRoute::Nystrom | KernelRoute::Fourier => 8.0 * 8.0 * (self.n_features as f64).powi(2),
        }
    }
}

impl KernelProblem {
    /// Refuses a fit by `route` with `n_threads` threads whose memory estimate exceeds the memory limit or the
    /// available memory.
    ///
    /// # Errors
    /// [`crate::error::Error::Memory`].
    pub(super) fn ask(&self, route: KernelRoute, n_threads: usize) -> Result<()> {
        let (what, bytes) = (format!("the {route} route"), self.bytes(route));
        if bytes > self.limit.bytes {
            let available = Some(self.limit);
            return Err(Error::Memory {
                what,
                bytes,
                available,
                advice: self.smaller_need(route, n_threads),
            });
        }
        memory::ask(&what, self.need(route, n_threads), || self.smaller_need(route, n_threads))
    }

    /// Memory estimate in bytes of a fit by `route`, excluding the data: matrices, copies of rows, and buffers of
    /// threads.
    pub(super) fn need(&self, route: KernelRoute, n_threads: usize) -> f64 {
        /// Bytes of an f64.
        const F64: f64 = 8.0;
        /// Bytes of the tiles and panels of a thread.
        const BUFFERS: f64 = (3u64 << 20) as f64;
        let (n, p, m, threads) = (self.n as f64, self.p as f64, self.n_features as f64, n_threads as f64);
        let rows = if self.given { 0.0 } else { F64 * 2.5 * n * p };
        let buffers = threads * BUFFERS + F64 * (8.0 * n + 8.0 * p);
        let k = self.k() as f64;
        let model = F64 * 4.0 * n * k;
        // The sums of each thread; a wide first product also takes copies.
        let sums = if self.may_begin { (threads + 4.0) * (k + 24.0) } else { threads * 40.0 };
        buffers
            + match route {
                KernelRoute::Full => F64 * n * n + tridiagonal::need(self.n) + rows + model,
                KernelRoute::Stored | KernelRoute::Tiles => self.bytes(route) + rows + model + F64 * sums * n,
                KernelRoute::Nystrom => {
                    candidates_need(self.n, self.p, self.n_features) + features_need(m, threads)
                }
                KernelRoute::Fourier => F64 * m * p + features_need(m, threads),
            }
    }

    /// Advice that names ways to need less memory than `route`.
    fn smaller_need(&self, route: KernelRoute, n_threads: usize) -> Vec<Advice> {
        use KernelRoute as R;
        let others = match self.given {
            true => &[R::Stored, R::Nystrom][..],
            false => &[R::Tiles, R::Stored, R::Nystrom],
        };
        let own = self.need(route, n_threads);
        let takes = |other| match self.n_components {
            NComponents::Count(_) => other != R::Nystrom || self.may_approximate,
            NComponents::Variance(_) => other != R::Nystrom && self.may_approximate,
            _ => other == R::Nystrom && self.may_approximate,
        };
        let smaller = others
            .iter()
            .filter(|&&other| other != route && takes(other) && self.need(other, n_threads) < 0.8 * own);
        let mut ways: Vec<Advice> = smaller
            .map(|other| Advice::Solver {
                route: Box::new(other.value()),
                bytes: self.need(*other, n_threads),
            })
            .take(1)
            .collect();
        ways.push(if route.approximates() { Advice::FewerFeatures } else { Advice::FewerComponents });
        ways.push(if self.bytes(route) > self.limit.bytes {
            Advice::Raise(vec![options::MEMORY_LIMIT])
        } else {
            Advice::RaiseLimit
        });
        ways
    }
}

/// Bytes of the sums of products of `m` features and of the decompositions of the sums.
fn features_need(m: f64, threads: f64) -> f64 {
    let sums = (threads + 2.0) * (0.5 * m * m + 400.0 * m);
    8.0 * (sums + 10.0 * m * m + 3.0 * (SAMPLE as f64) * (m + SAMPLE as f64))
}

/// Bytes of the candidate rows for `m` landmarks of `n` rows of `p` columns, and of their features.
fn candidates_need(n: usize, p: usize, m: usize) -> f64 {
    let candidates = n_candidates(m).min(n) as f64;
    8.0 * (candidates * (2.0 * p as f64 + 4.0 * m as f64) + 2.0 * (m * p) as f64)
}

/// Predicted seconds of exact tiles on one core above which the matrix is approximated.
const PATIENCE: f64 = 1800.0;
/// Entries of the kernel matrix, times features and vectors, per second and core: four fifths of the speed of the
/// rbf kernel with AVX-512, in f64 and in f32.
const SPEED: [f64; 2] = [5e10, 1.3e11];

impl KernelProblem {
    /// Predicted seconds of recomputed tiles on one core.
    fn tiles_seconds(&self) -> f64 {
        let passes = 15.0 + self.n_components.given().unwrap_or(0) as f64 / 8.0;
        let speed = SPEED[usize::from(self.single)];
        0.5 * (self.n as f64).powi(2) * (self.p as f64 + 60.0) * passes / speed
    }
}

/// Chooses a route; returns it and the reason.
pub(super) fn choose(problem: &KernelProblem) -> (KernelRoute, String) {
    let n = problem.n;
    let fits = |route| problem.bytes(route) <= problem.limit.bytes;
    match problem.n_components.given() {
        None => {
            let reason = match problem.n_components {
                NComponents::Variance(_) => "a share of the variance may take many components",
                _ => "all components are wanted",
            };
            return (KernelRoute::Full, reason.to_owned());
        }
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
    let limit = size(problem.limit.bytes);
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

    fn problem(n: usize, single: bool) -> KernelProblem {
        KernelProblem {
            n,
            n_components: NComponents::Count(50),
            single,
            may_begin: false,
            p: 50,
            given: false,
            may_approximate: true,
            n_features: 1000,
            limit: memory::limit(Some(10_000_000_000)),
        }
    }

    #[test]
    fn the_route_follows_from_rows_memory_and_predicted_time() {
        let route = |problem: &KernelProblem| choose(problem).0;
        assert_eq!(route(&problem(400, false)), KernelRoute::Full);
        assert_eq!(route(&problem(150, false)), KernelRoute::Full);
        assert_eq!(route(&problem(40_000, false)), KernelRoute::Stored);
        assert_eq!(route(&problem(60_000, false)), KernelRoute::Tiles);
        // f32: half the bytes, and more than twice the speed.
        assert_eq!(route(&problem(60_000, true)), KernelRoute::Stored);
        assert_eq!(route(&problem(350_000, true)), KernelRoute::Tiles);
        assert_eq!(route(&problem(350_000, false)), KernelRoute::Nystrom);
        let only_exact = KernelProblem { may_approximate: false, ..problem(350_000, false) };
        assert_eq!(route(&only_exact), KernelRoute::Tiles);
        let all = KernelProblem { n_components: NComponents::All, ..problem(5000, false) };
        assert_eq!(route(&all), KernelRoute::Full);
    }
}
