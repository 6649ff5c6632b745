use std::sync::Mutex;

use super::*;
use crate::exec::{Flow, Observer, Run};
use crate::testing::test_matrices::{identity_error, with_eigenvalues};

/// A diagonal matrix.
struct Diagonal(Vec<f64>);

impl SymOp for Diagonal {
    fn dim(&self) -> usize {
        self.0.len()
    }
    fn apply(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        exec.report(0.5)?;
        Ok(Matrix::from_fn(q.n_rows(), q.n_cols(), |i, j| q[(i, j)] * self.0[i]))
    }
}

/// Products with relative errors of the size of f32 rounding.
struct Rounded(Matrix);

impl SymOp for Rounded {
    fn dim(&self) -> usize {
        self.0.n_rows()
    }
    fn apply(&self, q: &Matrix, _: &Exec<'_>) -> Result<Matrix> {
        let single = |a: &Matrix| Matrix::from_fn(a.n_rows(), a.n_cols(), |i, j| f64::from(a[(i, j)] as f32));
        Ok(single(&multiply(&self.0, &single(q))))
    }
}

fn solve(op: &dyn SymOp, k: usize, options: KrylovOptions) -> Eigenpairs {
    found(&mut BlockKrylov::new(op, options).unwrap(), k, &Exec::sequential()).unwrap()
}

fn found(search: &mut BlockKrylov<'_>, k: usize, exec: &Exec<'_>) -> Result<Eigenpairs> {
    match search.leading(Wanted::Count(k), k, exec)? {
        Search::Found(pairs) => Ok(pairs),
        Search::Short(more) => panic!("{k} pairs were wanted, not {more}"),
    }
}

fn tol(tol: f64) -> KrylovOptions {
    KrylovOptions { tol, ..KrylovOptions::default() }
}

/// Residuals computed from scratch, relative to `lambda_1`.
fn true_residuals(op: &dyn SymOp, pairs: &Eigenpairs) -> Vec<f64> {
    let product = op.apply(&pairs.vectors, &Exec::sequential()).unwrap();
    let scale = pairs.values[0].max(f64::MIN_POSITIVE);
    (0..pairs.values.len())
        .map(|j| {
            let difference =
                |i: usize| product[(i, j)] / scale - pairs.values[j] / scale * pairs.vectors[(i, j)];
            (0..op.dim()).map(|i| difference(i).powi(2)).sum::<f64>().sqrt()
        })
        .collect()
}

fn n_converged(pairs: &Eigenpairs, tol: f64) -> usize {
    pairs.residuals.iter().filter(|r| **r <= tol).count()
}

fn check(op: &dyn SymOp, pairs: &Eigenpairs, expected: &[f64], options: &KrylovOptions) {
    let tol = options.tol.max(ROUNDING);
    let k = pairs.values.len();
    assert_eq!(n_converged(pairs, tol), k, "{:?}", pairs.residuals);
    assert!(pairs.values.windows(2).all(|w| w[0] >= w[1]));
    assert!(identity_error(&pairs.vectors) < 1e-13, "{:e}", identity_error(&pairs.vectors));
    for (j, value) in pairs.values.iter().enumerate() {
        // The error of an eigenvalue is at most its residual, and quadratic in it where gaps allow.
        let error = (value - expected[j]).abs() / expected[0].max(f64::MIN_POSITIVE);
        assert!(error <= 2.0 * tol + 1e-13, "value {j}: {value:e} instead of {:e}", expected[j]);
    }
    for (reported, fresh) in pairs.residuals.iter().zip(true_residuals(op, pairs)) {
        assert!((reported - fresh).abs() <= 1e-13 + 1e-6 * fresh, "{reported:e} {fresh:e}");
        assert!(*reported <= tol);
    }
}

fn power_law(dim: usize) -> Vec<f64> {
    (1..=dim).map(|i| (i as f64).powf(-1.5)).collect()
}

#[test]
fn planted_spectra_are_found() {
    let spike: Vec<f64> =
        (0..300).map(|i| if i < 5 { 100.0 - i as f64 } else { 1.0 + 1.0 / i as f64 }).collect();
    for values in [power_law(300), spike] {
        let a = with_eigenvalues(&values, 1);
        for tolerance in [1e-3, 1e-6, 1e-10, 0.0] {
            for k in [1, 5, 30] {
                check(&a, &solve(&a, k, tol(tolerance)), &values, &tol(tolerance));
            }
        }
    }
}

#[test]
fn every_k_of_small_dimensions_is_found() {
    for dim in [1, 2, 3, 12] {
        let values: Vec<f64> = (0..dim).map(|i| f64::from(dim - i) / 3.0).collect();
        let a = with_eigenvalues(&values, 2);
        for k in 1..=dim as usize {
            for block_size in [None, Some(1), Some(3), Some(50)] {
                let options = KrylovOptions { block_size, ..tol(1e-12) };
                check(&a, &solve(&a, k, options.clone()), &values, &options);
            }
        }
    }
}

#[test]
fn multiplicities_above_the_block_size_are_found() {
    let mut values = vec![3.0; 20];
    values.extend((0..380).map(|i| 2.0 * 0.97f64.powi(i)));
    let op = Diagonal(values.clone());
    for tolerance in [1e-6, 1e-10] {
        for k in [8, 20, 25, 40] {
            for block_size in [1, 2, 8, 16] {
                let options = KrylovOptions { block_size: Some(block_size), ..tol(tolerance) };
                check(&op, &solve(&op, k, options.clone()), &values, &options);
            }
        }
    }
    let identity = Diagonal(vec![7.0; 100]);
    check(&identity, &solve(&identity, 30, tol(1e-8)), &[7.0; 100], &tol(1e-8));
}

#[test]
fn repeated_eigenvalues_are_found_within_every_basis_limit() {
    let values: Vec<f64> = (0..130).map(|i| f64::from(5 - i / 26)).collect();
    let op = Diagonal(values.clone());
    for max_basis in (40..130).step_by(12) {
        for (k, block_size) in [(30, 5), (43, 16)] {
            let options =
                KrylovOptions { block_size: Some(block_size), max_basis: Some(max_basis), ..tol(1e-9) };
            check(&op, &solve(&op, k, options.clone()), &values, &options);
        }
    }
}

#[test]
fn clustered_eigenvalues_are_found() {
    let mut values: Vec<f64> = (0..15).map(|i| 5.0 - 1e-9 * f64::from(i)).collect();
    values.extend((0..285).map(|i| 1.0 - f64::from(i) / 300.0));
    let a = with_eigenvalues(&values, 3);
    check(&a, &solve(&a, 20, tol(1e-7)), &values, &tol(1e-7));
}

#[test]
fn eigenvalues_beyond_the_rank_are_zero() {
    let mut values = vec![0.0; 200];
    values[..6].copy_from_slice(&[9.0, 7.0, 5.0, 3.0, 1.0, 0.5]);
    let a = with_eigenvalues(&values, 4);
    for (k, tolerance) in [(6, 1e-6), (20, 1e-6), (90, 1e-12), (200, 1e-6)] {
        check(&a, &solve(&a, k, tol(tolerance)), &values, &tol(tolerance));
    }
    let zero = Diagonal(vec![0.0; 50]);
    let pairs = solve(&zero, 10, tol(1e-6));
    assert_eq!(
        (pairs.values.as_slice(), pairs.residuals.as_slice()),
        ([0.0; 10].as_slice(), [0.0; 10].as_slice())
    );
    assert!(identity_error(&pairs.vectors) < 1e-14);
}

#[test]
fn the_scale_of_the_matrix_does_not_matter() {
    let values = power_law(150);
    let a = with_eigenvalues(&values, 5);
    let plain = solve(&a, 10, tol(1e-9));
    for scale in [f64::MIN_POSITIVE * 2f64.powi(60), 2f64.powi(-660), 2f64.powi(660)] {
        let scaled = Matrix::from_fn(150, 150, |i, j| a[(i, j)] * scale);
        let pairs = solve(&scaled, 10, tol(1e-9));
        assert_eq!(n_converged(&pairs, 1e-9), 10);
        for (x, y) in pairs.values.iter().zip(&plain.values) {
            assert!((x / scale - y).abs() < 1e-12, "{x:e}");
        }
    }
}

#[test]
fn noisy_products_end_the_search_at_the_noise() {
    let values = power_law(400);
    let a = with_eigenvalues(&values, 6);
    let op = Rounded(a);
    let pairs = solve(&op, 20, tol(1e-6));
    assert_eq!(n_converged(&pairs, 1e-6), 20);
    for (reported, fresh) in pairs.residuals.iter().zip(true_residuals(&op, &pairs)) {
        assert!(fresh < 1.3e-6 && (reported - fresh).abs() < 3e-7, "{reported:e} {fresh:e}");
    }
    for (value, expected) in pairs.values.iter().zip(&values) {
        assert!((value - expected).abs() < 1e-6);
    }
    let out_of_reach = solve(&op, 20, tol(1e-11));
    assert!(n_converged(&out_of_reach, 1e-11) < 20);
    assert!(out_of_reach.n_iterations < 300, "{} products in vain", out_of_reach.n_iterations);
    assert!(out_of_reach.residuals.iter().all(|r| *r < 1e-6), "{:?}", out_of_reach.residuals);
    // Noise of the products beyond the rank does no harm either.
    let mut low_rank = vec![0.0; 100];
    low_rank[..4].copy_from_slice(&[4.0, 3.0, 2.0, 1.0]);
    let pairs = solve(&Rounded(with_eigenvalues(&low_rank, 7)), 12, tol(1e-6));
    assert_eq!(n_converged(&pairs, 1e-6), 12);
    assert!(pairs.values.iter().all(|x| x.is_finite() && *x >= 0.0));
}

#[test]
fn the_iteration_limit_is_obeyed_and_residuals_are_reported() {
    let values: Vec<f64> = (0..500).map(|i| 1.0 - 1e-4 * f64::from(i)).collect();
    let op = Diagonal(values);
    let pairs = solve(&op, 10, KrylovOptions { max_iter: 5, ..tol(1e-10) });
    assert_eq!(pairs.n_iterations, 5);
    assert!(n_converged(&pairs, 1e-10) < 10);
    for (reported, fresh) in pairs.residuals.iter().zip(true_residuals(&op, &pairs)) {
        assert!((reported - fresh).abs() < 1e-13);
    }
    // The products for a basis of k columns are always made.
    let pairs = solve(&op, 40, KrylovOptions { max_iter: 1, ..tol(1e-10) });
    assert_eq!((pairs.n_iterations, pairs.values.len()), (5, 40));
}

#[test]
fn a_continued_search_finds_more_pairs() {
    let values = power_law(500);
    let op = Diagonal(values.clone());
    let exec = Exec::sequential();
    let mut search = BlockKrylov::new(&op, tol(1e-8)).unwrap();
    let mut products = 0;
    for k in [4, 10, 25, 25, 60, 500] {
        let pairs = found(&mut search, k, &exec).unwrap();
        assert_eq!(pairs.values.len(), k);
        check(&op, &pairs, &values, &tol(1e-8));
        let afresh = solve(&op, k, tol(1e-8)).n_iterations;
        let more = pairs.n_iterations - products;
        assert!(more <= afresh, "{k}: {more} {afresh}");
        products = pairs.n_iterations;
    }
}

#[test]
fn same_bits_for_every_number_of_threads_and_another_seed_agrees() {
    let a = with_eigenvalues(&power_law(600), 8);
    let run = |threads, seed| {
        let options = KrylovOptions { seed, ..tol(1e-9) };
        Exec::run(&Run::threads(threads), |exec| found(&mut BlockKrylov::new(&a, options)?, 12, exec))
            .unwrap()
    };
    let one = run(1, 0);
    for threads in [2, 3] {
        let several = run(threads, 0);
        assert_eq!(
            (&one.values, &one.vectors, &one.residuals),
            (&several.values, &several.vectors, &several.residuals)
        );
    }
    let other = run(1, 1);
    assert_ne!(one.vectors, other.vectors);
    assert!(one.values.iter().zip(&other.values).all(|(x, y)| (x - y).abs() < 1e-13));
}

#[test]
fn small_basis_limits_and_wide_blocks_converge() {
    let values = power_law(300);
    let op = Diagonal(values.clone());
    for (block_size, max_basis) in
        [(Some(1), Some(12)), (Some(8), Some(1)), (Some(16), Some(40)), (Some(16), None)]
    {
        let options = KrylovOptions { block_size, max_basis, ..tol(1e-8) };
        check(&op, &solve(&op, 10, options.clone()), &values, &options);
    }
}

struct Watcher {
    seen: Mutex<Vec<f64>>,
    stop_at: f64,
}

impl Observer for Watcher {
    fn update(&self, _: &'static str, fraction: f64) -> Flow {
        self.seen.lock().unwrap().push(fraction);
        if fraction >= self.stop_at { Flow::Stop } else { Flow::Continue }
    }
}

#[test]
fn reports_progress_and_stops_on_request() {
    let op = Diagonal(power_law(400));
    let run = |stop_at| {
        let watcher = Watcher { seen: Mutex::new(Vec::new()), stop_at };
        let result = Exec::run(&Run { n_threads: Some(1), observer: &watcher, ..Run::default() }, |exec| {
            found(&mut BlockKrylov::new(&op, tol(1e-10))?, 10, &exec.phase("eigenpairs"))
        });
        (result, watcher.seen.into_inner().unwrap())
    };
    let (result, seen) = run(2.0);
    assert!(result.is_ok());
    assert!(seen.windows(2).all(|w| w[0] <= w[1]), "{seen:?}");
    assert!(seen.len() > 10 && seen[0] < 0.1 && *seen.last().unwrap() == 1.0, "{seen:?}");
    let (result, seen) = run(0.3);
    assert!(matches!(result, Err(Error::Stopped { phase: "eigenpairs" })));
    assert!(*seen.last().unwrap() < 0.6);
}

#[test]
fn residuals_of_nan_are_within_no_tolerance() {
    let ritz = |residuals: Vec<f64>| Ritz { values: Vec::new(), vectors: Matrix::zeros(0, 0), residuals };
    assert!(ritz(vec![f64::NAN; 3]).worst().is_nan());
    assert!(ritz(vec![1e-9, f64::NAN, 1e-12]).worst().is_nan());
    assert_eq!(ritz(vec![1e-9, 1e-3, 1e-12]).worst(), 1e-3);
}

#[test]
fn invalid_options_are_refused() {
    let op = Diagonal(vec![1.0; 3]);
    assert!(BlockKrylov::new(&op, tol(f64::NAN)).is_err());
    assert!(BlockKrylov::new(&op, KrylovOptions { block_size: Some(0), ..tol(1e-6) }).is_err());
    let infinite = Diagonal(vec![f64::INFINITY; 3]);
    let result = found(&mut BlockKrylov::new(&infinite, tol(1e-6)).unwrap(), 2, &Exec::sequential());
    assert!(matches!(result, Err(Error::Decomposition { .. })));
    let empty = Diagonal(Vec::new());
    assert!(solve(&empty, 0, tol(1e-6)).values.is_empty());
}

/// Searches until the share is reached; returns the pairs and the number of extensions of the search.
fn share(op: &dyn SymOp, share: f64, total: f64, first: usize) -> (Eigenpairs, usize) {
    let wanted = Wanted::Share { sum: share * total, total };
    let mut search = BlockKrylov::new(op, tol(1e-9)).unwrap();
    let (mut k, mut n_short) = (first, 0);
    loop {
        match search.leading(wanted, k, &Exec::sequential()).unwrap() {
            Search::Found(pairs) => return (pairs, n_short),
            Search::Short(more) => {
                assert!(more > k && more <= op.dim(), "{k} {more}");
                (k, n_short) = (more, n_short + 1);
            }
        }
    }
}

#[test]
fn a_share_finds_the_same_pairs_from_every_first_guess() {
    let values: Vec<f64> = (1..=300).map(|j| 1.0 / f64::from(j)).collect();
    let op = Diagonal(values.clone());
    let total: f64 = values.iter().sum();
    let mut reached = 0.0;
    // The sum of 37 of the values is the first to exceed two thirds.
    let expected = values
        .iter()
        .position(|x| {
            reached += x;
            reached > 0.667 * total
        })
        .unwrap()
        + 1;
    for first in [1, 16, expected, 2 * expected, 300] {
        let (pairs, n_short) = share(&op, 0.667, total, first);
        assert_eq!(pairs.values.len(), expected, "from {first}");
        assert_eq!(n_short > 0, first < expected, "from {first}");
        check(&op, &pairs, &values, &tol(1e-9));
    }
    let (all, _) = share(&op, 1.0 - 2e-12, total, 8);
    assert_eq!(all.values.len(), 300);
}

#[test]
fn a_spectrum_estimate_counts_eigenvalues() {
    // The largest 60 of 600 eigenvalues are spread over 5..6, the others over 0..1.
    let values: Vec<f64> = (0..600)
        .map(|j| if j < 60 { 6.0 - f64::from(j) / 60.0 } else { 1.0 - f64::from(j - 60) / 540.0 })
        .collect();
    let op = Diagonal(values.clone());
    let total: f64 = values.iter().sum();
    let nodes = BlockKrylov::new(&op, tol(1e-8)).unwrap().estimate_spectrum(8, &Exec::sequential()).unwrap();
    assert_eq!(nodes.len(), 64);
    let weight: f64 = nodes.iter().map(|node| node.weight).sum();
    assert!((weight - 600.0).abs() < 1e-9, "the weights of a basis of the first block add up: {weight}");
    let exact = |share: f64| {
        let mut reached = 0.0;
        values
            .iter()
            .position(|x| {
                reached += x;
                reached > share * total
            })
            .map_or(600, |last| last + 1)
    };
    for share in [0.1, 0.3, 0.5, 0.7, 0.9, 0.99] {
        let estimated = crate::solver::spectrum_estimate::count(&nodes, 600, share * total, total);
        // Eight random vectors determine the sum of sixty values to about a fifteenth.
        let (least, most) = (exact(share - 0.08), exact(share + 0.08));
        assert!((least..=most).contains(&estimated), "{share}: {estimated}, not {least} to {most}");
    }
    // With more steps than dimensions the estimate is exact.
    let few = Diagonal(values[..20].to_vec());
    let nodes = BlockKrylov::new(&few, tol(1e-8)).unwrap().estimate_spectrum(8, &Exec::sequential()).unwrap();
    assert_eq!(nodes.len(), 20);
}
