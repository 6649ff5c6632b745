//! Fits that were interrupted after any pass have the bits of those that were not.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use karhunen::exec::{Fact, PassLog};
use karhunen::kernel::{Gamma, Kernel, KernelRoute};
use karhunen::pca::{Route, Scaling};
use karhunen::{Dense, Error, KernelPca, NComponents, Pca, Result, Run, Source, Sparse, Weights};
use karhunen_testkit::{Columns, gaussian, row_major, sparse};

use crate::fits::disk::Disk;

/// Passes in memory. A run receives the first `n_held` of them and keeps the others.
struct Passes {
    held: Vec<(&'static str, Vec<f64>)>,
    n_taken: AtomicUsize,
    fit: Mutex<Vec<Fact>>,
    kept: Mutex<Vec<(&'static str, Vec<f64>)>>,
}

impl Passes {
    fn new(held: &[(&'static str, Vec<f64>)]) -> Self {
        let held = held.to_vec();
        Self { held, n_taken: AtomicUsize::new(0), fit: Mutex::default(), kept: Mutex::default() }
    }
}

impl PassLog for Passes {
    fn begin(&self, fit: &[Fact]) -> Result<()> {
        *self.fit.lock().unwrap() = fit.to_vec();
        Ok(())
    }
    fn take(&self, name: &'static str) -> Result<Option<Vec<f64>>> {
        let next = self.n_taken.fetch_add(1, Ordering::Relaxed);
        let Some((found, result)) = self.held.get(next) else { return Ok(None) };
        assert_eq!(*found, name);
        Ok(Some(result.clone()))
    }
    fn keep(&self, name: &'static str, result: &[f64]) -> Result<()> {
        self.kept.lock().unwrap().push((name, result.to_vec()));
        Ok(())
    }
}

/// Fits with every number of passes held, and returns how many there are. `source` returns the rows, and the visits so
/// far.
fn interrupted_anywhere<S: Source<f64>>(
    pca: &Pca,
    source: impl Fn() -> S,
    weights: &Weights<'_>,
    visits: impl Fn(&S) -> usize,
) -> usize {
    let run = Run::threads(2);
    let expected = pca.fit_with(&source(), weights, &run).unwrap();
    let (x, log) = (source(), Passes::new(&[]));
    assert_eq!(pca.fit_logged(&x, weights, &log, &run).unwrap(), expected);
    let of_fit = visits(&x);
    let all = log.kept.into_inner().unwrap();
    for n_held in 0..=all.len() {
        let (x, log) = (source(), Passes::new(&all[..n_held]));
        // The whole model, with the number of passes.
        assert_eq!(pca.fit_logged(&x, weights, &log, &run).unwrap(), expected, "{pca:?} after {n_held}");
        assert!(log.kept.into_inner().unwrap() == all[n_held..], "{pca:?} after {n_held}");
        // Of the route svd only the first pass is kept.
        let most = match expected.convergence().solver {
            Route::Svd => of_fit.saturating_sub(1),
            _ => 0,
        };
        if n_held == all.len() {
            assert!(visits(&x) <= most, "{pca:?}: {} passes of {of_fit} are made again", visits(&x));
        }
    }
    all.len()
}

fn values(n: usize, p: usize) -> Vec<f64> {
    let mut rows = gaussian(n, p, 5);
    for row in &mut rows {
        row.iter_mut().enumerate().for_each(|(j, value)| *value = 3.0 + *value / (j + 1) as f64);
    }
    row_major(&rows)
}

#[test]
fn dense_rows_of_a_disk_are_visited_only_for_passes_that_are_missing() {
    let (n, p) = (900, 60);
    let values = values(n, p);
    let weights: Vec<f64> = (0..n).map(|i| (i % 4) as f64).collect();
    let disk = || Disk::new(&values, n, p, 130);
    for weights in [Weights::default(), Weights::of_samples(&weights)] {
        let tall = |pca: Pca| interrupted_anywhere(&pca, disk, &weights, Disk::visits);
        assert_eq!(tall(Pca { solver: Some(Route::Covariance), ..Pca::new(4) }), 1);
        assert!(tall(Pca { solver: Some(Route::BlockKrylov), scale: true.into(), ..Pca::new(4) }) > 2);
        let by_range = |solver| Pca { solver: Some(solver), ..Pca::new(4) }.scale(Scaling::Range);
        assert_eq!(tall(by_range(Route::Covariance).center(vec![2.0; 60])), 2);
        assert!(tall(by_range(Route::BlockKrylov)) > 3);
        assert_eq!(tall(Pca { solver: Some(Route::Gram), ..Pca::new(4) }), 3);
        let share = NComponents::Variance(0.6);
        assert!(tall(Pca { n_components: share, solver: Some(Route::BlockKrylov), ..Pca::default() }) > 2);
        assert!(tall(Pca { n_components: share, ..Pca::default() }) > 0);
        assert_eq!(tall(Pca { solver: Some(Route::Svd), ..Pca::new(4) }), 1);
    }
    let wide = || Disk::new(&values, p, n, 7);
    let of_wide = |pca: Pca| interrupted_anywhere(&pca, wide, &Weights::default(), Disk::visits);
    assert!(of_wide(Pca { solver: Some(Route::BlockKrylov), ..Pca::new(4) }) > 2);
    assert_eq!(of_wide(Pca { solver: Some(Route::Gram), ..Pca::new(4) }), 3);
}

#[test]
fn wide_and_sparse_rows_in_memory_continue_too() {
    let values = values(300, 520);
    let dense = Dense::row_major(&values, 300, 520).unwrap();
    for solver in [Route::Covariance, Route::BlockKrylov] {
        let pca = Pca { solver: Some(solver), ..Pca::new(3) };
        assert!(interrupted_anywhere(&pca, || dense, &Weights::default(), |_| 0) > 0);
    }
    let arrays = sparse(200, 40, 0.2, Columns::Uniform, 3);
    let x = Sparse::csr(200, 40, &arrays.indptr, &arrays.indices, &arrays.values).unwrap();
    let pca = Pca { solver: Some(Route::BlockKrylov), ..Pca::new(3) };
    assert!(interrupted_anywhere(&pca, || x.clone(), &Weights::default(), |_| 0) > 2);
}

#[test]
fn what_a_fit_depends_on_identifies_it() {
    let values = values(50, 8);
    let facts = |pca: &Pca, values: &[f64], weights: &Weights<'_>, n: usize| {
        let log = Passes::new(&[]);
        let x = Dense::row_major(values, n, 400 / n).unwrap();
        pca.fit_logged(&x, weights, &log, &Run::threads(1)).unwrap();
        log.fit.into_inner().unwrap()
    };
    let differing = |a: &[Fact], b: &[Fact]| -> Vec<&'static str> {
        assert!(a.iter().map(Fact::name).eq(b.iter().map(Fact::name)));
        a.iter().zip(b).filter(|(a, b)| a.value() != b.value()).map(|(a, _)| a.name()).collect()
    };
    let (pca, none) = (Pca::new(2), Weights::default());
    let usual = facts(&pca, &values, &none, 50);
    assert_eq!(differing(&usual, &facts(&pca, &values, &none, 50)), [""; 0]);
    let with = |pca: Pca| differing(&usual, &facts(&pca, &values, &none, 50));
    assert_eq!(with(Pca::new(3)), ["n_components"]);
    assert_eq!(with(Pca { scale: true.into(), ..pca.clone() }), ["scale"]);
    assert_eq!(with(Pca { center: false.into(), ..pca.clone() }), ["center"]);
    assert_eq!(with(pca.clone().scale(Scaling::Pareto)), ["scale"]);
    let given =
        |number: f64| facts(&pca.clone().center(vec![number; 8]).scale(vec![2.0; 8]), &values, &none, 50);
    assert_eq!(differing(&given(1.0), &given(1.0)), [""; 0]);
    assert_eq!(differing(&given(1.0), &given(3.0)), ["centres of columns"]);
    assert_eq!(with(Pca { seed: 1, ..pca.clone() }), ["seed"]);
    assert_eq!(with(Pca { tol: Some(1e-3), ..pca.clone() }), ["tol"]);
    assert_eq!(with(Pca { solver: Some(Route::Svd), ..pca.clone() }), ["solver"]);
    assert_eq!(with(Pca { strict: true, ..pca.clone() }), [""; 0]);
    let mut other = values.clone();
    other.swap(0, 8);
    assert_eq!(differing(&usual, &facts(&pca, &other, &none, 50)), ["values"]);
    assert_eq!(
        differing(&usual, &facts(&pca, &values, &none, 40)),
        ["numbers of rows", "numbers of columns"]
    );
    let ones = vec![1.0; 50];
    let weighted = facts(&pca, &values, &Weights::of_samples(&ones), 50);
    assert_eq!(differing(&usual, &weighted), ["weights of rows"]);
}

#[test]
fn a_result_of_another_size_is_refused() {
    let values = values(50, 8);
    let x = Dense::row_major(&values, 50, 8).unwrap();
    let pca = Pca { solver: Some(Route::Covariance), ..Pca::new(2) };
    let log = Passes::new(&[("scatter", vec![0.0; 7])]);
    let error = pca.fit_logged(&x, &Weights::default(), &log, &Run::threads(1)).unwrap_err();
    assert!(matches!(error, Error::OtherFit { what: "results of a pass", .. }), "{error}");
}

#[test]
fn a_kernel_fit_continues_after_any_product() {
    let values = row_major(&gaussian(300, 4, 2));
    let x = Dense::row_major(&values, 300, 4).unwrap();
    let (weights, run) = (Weights::default(), Run::threads(2));
    let rbf = Kernel::Rbf { gamma: Gamma::Value(0.2) };
    // Not positive: products for the smallest eigenvalue come first.
    let sigmoid = Kernel::Sigmoid { gamma: Gamma::Value(0.1), coef0: 0.5 };
    for (kernel, solver, tol) in [
        (rbf, KernelRoute::Tiles, None),
        (rbf, KernelRoute::Stored, None),
        // The first products come from an iteration in f32.
        (rbf, KernelRoute::Tiles, Some(1e-4)),
        (sigmoid, KernelRoute::Tiles, None),
    ] {
        let pca = KernelPca { kernel, solver: Some(solver), tol, ..KernelPca::new(3) };
        let expected = pca.fit_with(&x, &weights, &run).unwrap();
        let log = Passes::new(&[]);
        assert_eq!(pca.fit_logged(&x, &weights, &log, &run).unwrap(), expected);
        let all = log.kept.into_inner().unwrap();
        assert!(all.len() > 3);
        for n_held in [1, all.len() / 2, all.len()] {
            let log = Passes::new(&all[..n_held]);
            assert_eq!(pca.fit_logged(&x, &weights, &log, &run).unwrap(), expected);
            assert!(log.kept.into_inner().unwrap() == all[n_held..]);
        }
    }
}
