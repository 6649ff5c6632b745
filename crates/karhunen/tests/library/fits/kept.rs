//! Memory limits of fits whose passes a log keeps.

use karhunen::exec::{Fact, PassLog};
use karhunen::pca::Route;
use karhunen::{Dense, Error, ErrorKind, Pca, PcaModel, Result, Run, Source, Sparse, Weights};
use karhunen_testkit::{Columns, gaussian, row_major, sparse};

use crate::fits::disk::{Disk, SparseDisk};
use crate::fits::limits::written_limit;

/// A log that forgets.
struct Forgetting;

impl PassLog for Forgetting {
    fn begin(&self, _: &[Fact]) -> Result<()> {
        Ok(())
    }
    fn take(&self, _: &'static str) -> Result<Option<Vec<f64>>> {
        Ok(None)
    }
    fn keep(&self, _: &'static str, _: &[f64]) -> Result<()> {
        Ok(())
    }
}

/// Fits, with a log if `is_logged`.
fn fit(pca: &Pca, x: &dyn Source<f64>, is_logged: bool, n_threads: usize) -> Result<PcaModel> {
    let (weights, run) = (Weights::default(), Run::threads(n_threads));
    if is_logged { pca.fit_logged(x, &weights, &Forgetting, &run) } else { pca.fit_with(x, &weights, &run) }
}

/// Requires that a fit within each of many limits from `first` megabytes on succeeds, or within the limit that its refusal
/// names. Returns the number of such limits.
fn each_limit_that_is_named_suffices(
    what: &str,
    first: u64,
    within: impl Fn(u64) -> Result<PcaModel>,
) -> usize {
    let mut named = Vec::new();
    for limit in (0..11).map(|step| 1 + (first + 4 * step) * 1_000_000) {
        let Err(error) = within(limit) else { continue };
        assert_eq!(error.kind(), ErrorKind::Argument, "{what}: {error}");
        let text = error.to_string();
        let least = written_limit(&text);
        assert!(least > limit, "{what}: {text}");
        if !named.contains(&least) {
            let outcome = within(least);
            assert!(outcome.is_ok(), "{what}: {text}, but then {}", outcome.unwrap_err());
            named.push(least);
        }
    }
    named.len()
}

const ROUTES: [Option<Route>; 5] =
    [None, Some(Route::Svd), Some(Route::Covariance), Some(Route::Gram), Some(Route::BlockKrylov)];

#[test]
fn the_smallest_limit_of_a_fit_with_a_log_suffices() {
    for (n, p) in [(900, 700), (700, 900)] {
        let values = row_major(&gaussian(n, p, 8));
        let array = Dense::row_major(&values, n, p).unwrap();
        let arrays = sparse(n, p, 0.02, Columns::Zipf, 5);
        let matrix = Sparse::csr(n, p, &arrays.indptr, &arrays.indices, &arrays.values).unwrap();
        let sparse_disk = SparseDisk { arrays: &arrays, height: 100 };
        let mut n_refused = [0; 4];
        for solver in ROUTES {
            for n_threads in [3, 6] {
                let within = |x: &dyn Source<f64>, limit| {
                    let pca = Pca { solver, memory_limit: Some(limit), max_iter: 1, ..Pca::new(4) };
                    fit(&pca, x, true, n_threads)
                };
                let what = format!("{n} x {p}, {solver:?}, {n_threads} threads");
                let of = |name: &str, first, within: &dyn Fn(u64) -> Result<PcaModel>| {
                    each_limit_that_is_named_suffices(&format!("{name} of {what}"), first, within)
                };
                n_refused[0] += of("array", 0, &|limit| within(&array, limit));
                let disk = |limit: u64| Disk::holding(3e6, &values, (n, p), 100).within(limit as f64, 0.1);
                n_refused[1] += of("file", 64, &|limit| within(&disk(limit), limit));
                if solver != Some(Route::Svd) {
                    n_refused[2] += of("sparse array", 0, &|limit| within(&matrix, limit));
                    n_refused[3] += of("sparse file", 64, &|limit| within(&sparse_disk, limit));
                }
            }
        }
        assert!(n_refused.iter().all(|number| *number > 0), "{n} x {p}: {n_refused:?}");
    }
}

#[test]
fn a_route_is_chosen_that_fits_with_the_log() {
    let (n, p) = (900, 700);
    let values = row_major(&gaussian(n, p, 8));
    let within = |solver, memory_limit, is_logged| {
        let disk = Disk::new(&values, n, p, 100);
        // The choice leaves memory for four threads.
        fit(
            &Pca { solver, memory_limit: Some(memory_limit), max_iter: 1, ..Pca::new(4) },
            &disk,
            is_logged,
            4,
        )
    };
    let chosen =
        |memory_limit, is_logged| within(None, memory_limit, is_logged).unwrap().convergence().solver;
    let Err(error) = within(Some(Route::Covariance), 1, true) else { panic!("a byte suffices") };
    let least = written_limit(&error.to_string());
    assert_eq!(chosen(least, true), Route::Covariance);
    let below = least - 1_000_000;
    assert!(matches!(within(Some(Route::Covariance), below, true), Err(Error::Memory { .. })));
    assert_eq!(chosen(below, false), Route::Covariance);
    assert_ne!(chosen(below, true), Route::Covariance);
}
