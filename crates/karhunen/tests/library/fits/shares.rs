//! Memory limits of fits for a share of the variance, whose number of components is known after some passes.

use karhunen::{ErrorKind, NComponents, Pca, PcaModel, Result, Run, Source, Weights};
use karhunen_testkit::{gaussian, row_major};

use crate::fits::disk::Disk;
use crate::fits::limits::written_limit;

/// Normal values whose column `j` has the variance `(j + 1)^-exponent`.
fn with_spectrum(n: usize, p: usize, exponent: f64) -> Vec<f64> {
    let mut rows = gaussian(n, p, 4);
    for row in &mut rows {
        row.iter_mut().enumerate().for_each(|(j, x)| *x *= ((j + 1) as f64).powf(-0.5 * exponent));
    }
    row_major(&rows)
}

fn fit(x: &dyn Source<f64>, share: f64, limit: u64, n_threads: usize) -> Result<PcaModel> {
    let n_components = NComponents::Variance(share);
    let pca = Pca { n_components, memory_limit: Some(limit), max_iter: 40, ..Pca::default() };
    pca.fit_with(x, &Weights::default(), &Run::threads(n_threads))
}

#[test]
#[ignore = "seconds: cargo xtask test slow"]
fn the_limit_that_a_refusal_names_after_the_estimate_suffices() {
    let mut n_late = 0;
    for exponent in [0.4, 1.2] {
        let (n, p) = (600, 1_800);
        let values = with_spectrum(n, p, exponent);
        for (share, n_threads) in [(0.3, 2), (0.9, 2), (0.3, 12), (0.9, 12)] {
            for limit in (66..130).step_by(8).map(|megabytes| megabytes * 1_000_000) {
                let what = format!("{n} x {p}, {exponent}, {share}, {n_threads} threads, {limit}");
                let within = |limit: u64| {
                    let disk = Disk::new(&values, n, p, 100).within(limit as f64, 0.05);
                    let outcome = fit(&disk, share, limit, n_threads);
                    (outcome, disk.visits())
                };
                let (Err(mut error), mut visits) = within(limit) else { continue };
                if visits == 0 {
                    // The limit suffices for the estimate.
                    match within(written_limit(&error.to_string())) {
                        (Err(late), n_visits) => (error, visits) = (late, n_visits),
                        (Ok(_), _) => continue,
                    }
                }
                assert!(visits > 0, "{what}: {error}");
                assert_eq!(error.kind(), ErrorKind::Argument, "{what}: {error}");
                n_late += 1;
                let (outcome, _) = within(written_limit(&error.to_string()));
                assert!(outcome.is_ok(), "{what}: {error}, but then {}", outcome.unwrap_err());
            }
        }
    }
    assert!(n_late > 0, "no fit was refused after an estimate");
}
