//! Block Krylov iteration over rows that every visit reads again: blocks, start and number of visits.

use karhunen::pca::Route;
use karhunen::{Dense, Pca, PcaModel, Run, Source, Sparse, Weights};
use karhunen_testkit::{Columns, gaussian, row_major, sparse};

use crate::fits::disk::{Disk, SparseDisk};
use crate::fits::one_visit::bits;

/// Normal values whose column `j` has the standard deviation `(j + 1)^(-exponent / 2)`, and the mean `offset`.
fn with_spectrum(n: usize, p: usize, exponent: f64, offset: f64) -> Vec<f64> {
    let mut rows = gaussian(n, p, 11);
    for row in &mut rows {
        for (j, value) in row.iter_mut().enumerate() {
            *value = offset + *value * ((j + 1) as f64).powf(-0.5 * exponent);
        }
    }
    row_major(&rows)
}

fn iterated(pca: &Pca) -> Pca {
    Pca { solver: Some(Route::BlockKrylov), ..pca.clone() }
}

/// Compares variances and the planes of components with a fit by the covariance matrix of the array.
fn assert_near(found: &PcaModel, exact: &PcaModel, tol: f64, what: &str) {
    let largest = exact.explained_variance()[0];
    for (found, exact) in found.explained_variance().iter().zip(exact.explained_variance()) {
        assert!((found - exact).abs() <= tol * largest, "{what}: variance {found} for {exact}");
    }
    assert_eq!(found.convergence().n_converged, found.n_components(), "{what}");
}

/// Passes of the specification of data beyond memory, for the spectra `1 / i` and `1 / i^2`, and two more.
#[test]
fn iteration_takes_no_more_passes_than_specified() {
    let (n, p, k) = (4_000, 600, 40);
    let mut failures = Vec::new();
    for (exponent, expected) in [(1.0, [3, 6, 7]), (2.0, [2, 3, 5])] {
        let values = with_spectrum(n, p, exponent, 100.0);
        let array = Dense::row_major(&values, n, p).unwrap();
        let exact = Pca { solver: Some(Route::Covariance), ..Pca::new(k) };
        let exact = exact.fit(&array, &Weights::default()).unwrap();
        for (tol, expected) in [1e-3, 1e-6, 1e-8].into_iter().zip(expected) {
            let disk = Disk::new(&values, n, p, 300);
            let pca = iterated(&Pca { tol: Some(tol), ..Pca::new(k) });
            let model = pca.fit_with(&disk, &Weights::default(), &Run::threads(2)).unwrap();
            let n_passes = model.convergence().n_passes;
            assert_eq!(n_passes, disk.visits());
            assert_near(&model, &exact, tol, &format!("1/i^{exponent} to {tol}"));
            let passes = format!("1/i^{exponent} to {tol:e}: {n_passes} passes, {expected} specified");
            failures.extend((n_passes > expected + 2).then_some(passes));
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}

#[test]
fn iteration_has_the_same_bits_for_every_block_height_limit_and_number_of_threads() {
    let (n, p) = (3_000, 90);
    let values = with_spectrum(n, p, 0.5, 3.0);
    let single: Vec<f32> = values.iter().map(|&value| value as f32).collect();
    let weights: Vec<f64> = (0..n).map(|i| 0.5 + (i % 3) as f64).collect();
    let weights = Weights::of_samples(&weights);
    let pca = iterated(&Pca { scale: true.into(), ..Pca::new(3) });
    let of = |height, n_threads, memory_limit| {
        let pca = Pca { memory_limit, ..pca.clone() };
        let run = Run::threads(n_threads);
        let double = pca.fit_with(&Disk::new(&values, n, p, height), &weights, &run).unwrap();
        let single = pca.fit_with(&Disk::new(&single, n, p, height), &weights, &run).unwrap();
        [bits(&double), bits(&single)]
    };
    let expected = of(3_000, 1, None);
    for (height, n_threads, limit) in
        [(1_400, 2, Some(300_000_000)), (77, 7, Some(900_000_000)), (1, 1, None)]
    {
        assert!(of(height, n_threads, limit) == expected, "blocks of {height}, {n_threads} threads");
    }
    let exact = Pca { solver: Some(Route::Covariance), ..pca.clone() };
    let exact = exact.fit(&Dense::row_major(&values, n, p).unwrap(), &weights).unwrap();
    let found = pca.fit(&Disk::new(&values, n, p, 500), &weights).unwrap();
    assert_near(&found, &exact, 1e-8, "scaled and weighted");
}

#[test]
fn sparse_rows_are_read_once_for_the_covariance_and_start_iteration_in_the_first_pass() {
    let (n, p) = (2_000, 300);
    let arrays = sparse(n, p, 0.05, Columns::Zipf, 5);
    let matrix = Sparse::csr(n, p, &arrays.indptr, &arrays.indices, &arrays.values).unwrap();
    let weights: Vec<f64> = (0..n).map(|i| 0.5 + (i % 3) as f64).collect();
    let weights = Weights::of_samples(&weights);
    for scale in [false, true] {
        let pca = Pca { scale: scale.into(), solver: Some(Route::Covariance), ..Pca::new(6) };
        let exact = pca.fit(&matrix, &weights).unwrap();
        for height in [2_000, 300] {
            let disk = SparseDisk { arrays: &arrays, height };
            let once = pca.fit(&disk, &weights).unwrap();
            assert_eq!(once.convergence().n_passes, 1);
            assert_near(&once, &exact, 1e-10, &format!("covariance, scale {scale}"));
            let iterated = iterated(&pca).fit(&disk, &weights).unwrap();
            assert_near(&iterated, &exact, 1e-8, &format!("iterated, scale {scale}"));
            let in_memory =
                Pca { solver: Some(Route::BlockKrylov), ..pca.clone() }.fit(&matrix, &weights).unwrap();
            assert!(iterated.convergence().n_passes < in_memory.convergence().n_passes);
        }
    }
}

#[test]
fn a_fit_of_rows_that_are_read_again_takes_one_pass_and_says_so() {
    let (n, p) = (5_000, 200);
    let values = with_spectrum(n, p, 1.0, 0.0);
    let disk = Disk::new(&values, n, p, 512);
    let model = Pca::new(5).fit(&disk, &Weights::default()).unwrap();
    assert_eq!((model.convergence().solver, disk.visits()), (Route::Covariance, 1));
    let reason = &model.convergence().reason;
    assert!(reason.contains("and 1 pass on one core; ") && reason.contains(" passes"), "{reason}");
    // A limit whose half does not hold the covariance matrix.
    let values = with_spectrum(1_700, 1_600, 1.0, 0.0);
    let disk = Disk::new(&values, 1_700, 1_600, 512);
    let run = Run::threads(1);
    let need = Pca { solver: Some(Route::Covariance), ..Pca::new(5) }.memory_need(&disk, &run);
    let pca = Pca { memory_limit: Some((1.9 * need) as u64), ..Pca::new(5) };
    let model = pca.fit_with(&disk, &Weights::default(), &run).unwrap();
    assert_eq!(model.convergence().solver, Route::BlockKrylov, "{}", model.convergence().reason);
    assert_eq!(model.convergence().n_passes, disk.visits());
}

/// Collects the visits that a fit reports.
struct Visits(std::sync::Mutex<Vec<(usize, Option<usize>)>>);

impl karhunen::Observer for Visits {
    fn update(&self, _: &'static str, _: f64) -> karhunen::Flow {
        karhunen::Flow::Continue
    }
    fn visit(&self, at: &karhunen::exec::Visit) {
        if at.done == 0.0 {
            self.0.lock().unwrap().push((at.number, at.predicted));
        }
    }
}

#[test]
fn an_observer_learns_the_number_of_every_visit_and_of_those_predicted() {
    let (n, p) = (1_000, 40);
    let values = with_spectrum(n, p, 0.5, 0.0);
    let visits = |x: &dyn Source<f64>, route| {
        let seen = Visits(std::sync::Mutex::default());
        let pca = Pca { solver: Some(route), ..Pca::new(3) };
        let model = pca.fit_with(x, &Weights::default(), &Run::observed(&seen)).unwrap();
        (seen.0.into_inner().unwrap(), model.convergence().n_passes)
    };
    let disk = || Disk::new(&values, n, p, 300);
    assert_eq!(visits(&disk(), Route::Covariance), (vec![(1, Some(1))], 1));
    let (seen, n_passes) = visits(&disk(), Route::BlockKrylov);
    assert_eq!(seen.iter().map(|visit| visit.0).collect::<Vec<_>>(), (1..=n_passes).collect::<Vec<_>>());
    assert!(seen.iter().all(|(number, predicted)| predicted.is_some_and(|most| most >= *number)), "{seen:?}");
    // Rows in memory are not read again.
    let array = Dense::row_major(&values, n, p).unwrap();
    assert_eq!(visits(&array, Route::BlockKrylov).0, []);
}
