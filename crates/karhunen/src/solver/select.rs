//! Which route to take: the predicted cost and memory of each, and the choice between them.
//!
//! The prediction knows the shape, the storage and what is wanted, never the number of threads: the same route, and so
//! the same bits, wherever a fit runs.

use crate::error::size;
use crate::solver::need;

/// A route to the principal components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Route {
    /// Singular values of the data matrix itself, by orthogonal reductions: never squares the condition number.
    Svd,
    /// Eigenvectors of the covariance matrix, p x p.
    Covariance,
    /// Eigenvectors of the matrix of inner products of the rows, n x n.
    Gram,
    /// The leading components by block Krylov iteration, stopped by their residuals.
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

/// What a prediction needs to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem {
    /// Rows.
    pub(crate) n: usize,
    /// Columns.
    pub(crate) p: usize,
    /// Components wanted; `None` where a fraction of the variance decides.
    pub(crate) k: Option<usize>,
    /// Stored entries.
    pub(crate) n_stored: usize,
    /// Whether what is not stored is zero.
    pub(crate) sparse: bool,
    /// Bytes of a value.
    pub(crate) value_bytes: usize,
}

/// The predicted expense of a route.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cost {
    /// On one core of a present-day machine. Only ratios matter.
    pub(crate) seconds: f64,
    /// Of the route's own matrices, beside the data, roughly: what the choice weighs. What is asked for is [`Problem::need`].
    pub(crate) bytes: f64,
}

impl Problem {
    /// Components wanted, or a guess where a fraction of the variance decides: it may need many.
    fn k_or_guess(&self) -> usize {
        let smaller = self.n.min(self.p);
        self.k.unwrap_or((smaller / 8).max(8.min(smaller)))
    }

    /// Bytes that a fit by `route` takes beside the data.
    pub(crate) fn need(&self, route: Route, n_threads: usize) -> f64 {
        need::bytes(route, self, self.k_or_guess(), n_threads)
    }

    /// What takes less than `route`, with its need.
    pub(crate) fn smaller_need(&self, route: Route, n_threads: usize) -> String {
        let routes = [Route::Covariance, Route::Gram, Route::BlockKrylov, Route::Svd];
        let needs = routes.into_iter().map(|route| (route, self.need(route, n_threads)));
        let least = needs.min_by(|a, b| a.1.total_cmp(&b.1));
        let mut ways = Vec::new();
        if let Some((least, bytes)) = least.filter(|least| least.1 < 0.8 * self.need(route, n_threads)) {
            ways.push(format!("say `solver` {least}, which needs {}", size(bytes)));
        }
        if self.k.is_none_or(|k| k > 1) {
            ways.push("ask for fewer components (`n_components`)".to_owned());
        }
        ways.push("raise the limit of memory".to_owned());
        ways.join(", or ")
    }
}

/// Below this, the most accurate route is taken whatever the others would cost.
const SECONDS_NOT_WORTH_SAVING: f64 = 0.01;
/// How much longer the most accurate route may take where every component is wanted, the smallest ones too.
const PRICE_OF_ALL: f64 = 3.0;
/// Routes may use this much memory of their own, or as much as the data.
const BYTES_ALWAYS_ALLOWED: f64 = (1u64 << 30) as f64;

/// Multiply-adds of one core per second, times two: rank-k updates, narrow products, orthogonal reductions.
const RANK_K: f64 = 70e9;
const NARROW_F64: f64 = 55e9;
const NARROW_F32: f64 = 110e9;
const REDUCTION: f64 = 8e9;
/// Sparse products, bound by the gathering of rows; and scattered updates of a covariance matrix.
const SPARSE_F64: f64 = 12e9;
const SPARSE_F32: f64 = 22e9;
const SCATTERED: f64 = 1.1e9;
/// Bytes read from memory.
const MEMORY: f64 = 15e9;

/// Predicts the expense of `route`.
pub(crate) fn cost(route: Route, problem: &Problem) -> Cost {
    let Problem { n, p, n_stored, sparse, value_bytes, .. } = *problem;
    let (n, p, stored) = (n as f64, p as f64, n_stored as f64);
    let smaller = n.min(p);
    // A fraction of the variance may need many components.
    let k = problem.k.map_or((smaller / 8.0).max(8.0_f64.min(smaller)), |k| k as f64);
    let narrow = match (sparse, value_bytes) {
        (true, 4) => SPARSE_F32,
        (true, _) => SPARSE_F64,
        (false, 4) => NARROW_F32,
        (false, _) => NARROW_F64,
    };
    let pass = |columns: f64| (4.0 * stored * columns / narrow).max(stored * value_bytes as f64 / MEMORY);
    // Updates of the upper triangle; sparse rows of r entries make r^2 / 2 of them, if the rows are alike.
    let updates = |dim: f64, lines: f64| {
        if sparse { stored * stored / lines / SCATTERED } else { lines * dim * dim / RANK_K }
    };
    match route {
        Route::Svd => Cost {
            seconds: 4.0 * n.max(p) * smaller * smaller / REDUCTION + 25.0 * smaller.powi(3) / REDUCTION,
            bytes: 8.0 * 4.0 * smaller * smaller,
        },
        Route::Covariance => {
            Cost { seconds: updates(p, n) + eigenvectors(p, k), bytes: 8.0 * (2.0 * p * p + p * k) }
        }
        Route::Gram => Cost {
            seconds: updates(n, p) + eigenvectors(n, k) + pass(k) / 2.0,
            bytes: 8.0 * (2.0 * n * n + p * k),
        },
        Route::BlockKrylov => {
            let columns = krylov_columns(k).min(2.0 * smaller);
            Cost {
                seconds: columns / 16.0 * pass(16.0) + orthogonalisation(smaller, k, columns),
                bytes: 8.0 * (krylov_basis(k).min(smaller) * smaller + p * k),
            }
        }
    }
}

/// Columns that block Krylov iteration multiplies the matrix with, to find `k` components.
fn krylov_columns(k: f64) -> f64 {
    7.0 * k + 60.0
}

/// Columns of its basis.
fn krylov_basis(k: f64) -> f64 {
    3.0 * k + 32.0
}

fn orthogonalisation(dim: f64, k: f64, columns: f64) -> f64 {
    4.0 * dim * krylov_basis(k) * columns / NARROW_F64 + krylov_basis(k).powi(3) * 10.0 / REDUCTION
}

/// Seconds for `k` eigenvectors of a matrix that is there.
fn eigenvectors(dim: f64, k: f64) -> f64 {
    let all = 1.6e-10 * dim.powi(3);
    let columns = krylov_columns(k) * 1.5;
    all.min(2.0 * dim * dim * columns / NARROW_F64 + orthogonalisation(dim, k, columns))
}

/// Chooses a route and says why.
pub(crate) fn choose(problem: &Problem) -> (Route, String) {
    let routes = [Route::Covariance, Route::Gram, Route::BlockKrylov, Route::Svd];
    let data_bytes = (problem.n_stored * problem.value_bytes) as f64;
    let allowed = BYTES_ALWAYS_ALLOWED.max(data_bytes);
    let fits = |route: Route| cost(route, problem).bytes <= allowed;
    let seconds = |route: Route| cost(route, problem).seconds;
    let svd = seconds(Route::Svd);
    let best = routes.into_iter().filter(|&r| fits(r)).min_by(|&a, &b| seconds(a).total_cmp(&seconds(b)));
    let Some(best) = best else {
        return (Route::BlockKrylov, "no other route's matrices fit in memory".to_owned());
    };
    if !problem.sparse && svd <= SECONDS_NOT_WORTH_SAVING {
        return (Route::Svd, "small enough for the most accurate route".to_owned());
    }
    let all = problem.k == Some(problem.n.min(problem.p));
    if !problem.sparse && all && fits(Route::Svd) && svd <= PRICE_OF_ALL * seconds(best) {
        return (Route::Svd, "all components are wanted, the smallest ones accurately".to_owned());
    }
    let others: Vec<String> = routes
        .into_iter()
        .filter(|&r| r != best)
        .map(|r| {
            if fits(r) { format!("{r} {}", figure(seconds(r))) } else { format!("{r} needs too much memory") }
        })
        .collect();
    (best, format!("predicted {} on one core; {}", figure(seconds(best)), others.join(", ")))
}

fn figure(seconds: f64) -> String {
    match seconds {
        s if s < 0.0995 => format!("{:.0} ms", (s * 1e3).max(1.0)),
        s if s < 9.95 => format!("{s:.1} s"),
        s => format!("{s:.0} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices() {
        let dense = |n, p, k, value_bytes| Problem { n, p, k, n_stored: n * p, sparse: false, value_bytes };
        let sparse = |n, p, k, n_stored| Problem { n, p, k, n_stored, sparse: true, value_bytes: 4 };
        let table = [
            // Small tables: the most accurate route.
            (dense(150, 4, Some(4), 8), Route::Svd),
            (dense(1_000, 20, Some(20), 8), Route::Svd),
            (dense(38, 5_000, Some(10), 8), Route::Svd),
            (dense(1, 1, Some(1), 8), Route::Svd),
            // Tall: the covariance matrix.
            (dense(100_000, 500, Some(50), 8), Route::Covariance),
            (dense(1_000_000, 100, Some(50), 4), Route::Covariance),
            (dense(1_000_000, 100, None, 4), Route::Covariance),
            (dense(100_000, 500, Some(500), 8), Route::Covariance),
            // Wide: inner products.
            (dense(500, 100_000, Some(50), 8), Route::Gram),
            (dense(500, 100_000, Some(500), 8), Route::Gram),
            // Large both ways, few components.
            (dense(5_000, 5_000, Some(50), 8), Route::BlockKrylov),
            (dense(60_000, 2_000, Some(50), 4), Route::BlockKrylov),
            (sparse(100_000, 30_000, Some(50), 20_000_000), Route::BlockKrylov),
            (sparse(20_000, 300_000, Some(50), 11_000_000), Route::BlockKrylov),
            // Too large for any matrix of their own but a basis.
            (sparse(1_000_000, 1_000_000, None, 20_000_000), Route::BlockKrylov),
            // Few columns: the covariance matrix of sparse data is cheap.
            (sparse(1_000_000, 100, Some(10), 10_000_000), Route::Covariance),
        ];
        for (problem, route) in table {
            let (chosen, reason) = choose(&problem);
            assert_eq!(chosen, route, "{problem:?}: {reason}");
        }
    }

    #[test]
    fn costs_grow_with_the_problem() {
        let small =
            Problem { n: 2_000, p: 300, k: Some(10), n_stored: 600_000, sparse: false, value_bytes: 8 };
        let tall = Problem { n: 20_000, n_stored: 6_000_000, ..small };
        for route in [Route::Svd, Route::Covariance, Route::Gram, Route::BlockKrylov] {
            let (a, b) = (cost(route, &small), cost(route, &tall));
            assert!(b.seconds > a.seconds, "{route}: {a:?} {b:?}");
            assert!(b.bytes >= a.bytes, "{route}: {a:?} {b:?}");
        }
    }
}
