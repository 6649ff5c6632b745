//! Components of rows that can be read again, started from a sketch.

use std::sync::atomic::{AtomicUsize, Ordering};

use karhunen::error::{Advice, options};
use karhunen::incremental::{IncrementalMethod, IncrementalPca};
use karhunen::pca::Route;
use karhunen::source::{Block, Passes};
use karhunen::{Dense, Error, Pca, Result, Run, Source, Weights};
use karhunen_testkit::{planted, power_law, row_major, uniform_weights};

use crate::incremental::fixtures::{Layout, assert_same, fitted, model};

fn sketch(k: usize) -> IncrementalPca {
    IncrementalPca { method: IncrementalMethod::Sketch, ..IncrementalPca::new(k) }
}

#[test]
fn fewer_passes_lead_to_the_components_of_all_rows() {
    let (n, p, k) = (1500, 300, 10);
    let rows = planted(n, p, &power_law(300, 1.0), 2.0, 1).rows;
    let weights = uniform_weights(n, 2);
    let values = row_major(&rows);
    let x = Dense::row_major(&values, n, p).unwrap();
    let exact = Pca { solver: Some(Route::Svd), ..Pca::new(k) };
    let expected = exact.fit(&x, &Weights::of_samples(&weights)).unwrap();
    let run = Run::threads(2);
    for pca in [sketch(k), IncrementalPca::new(k)] {
        let fit = fitted(&pca, &rows, Some(&weights), 100, Layout::RowMajor);
        let refined = fit.refine(&x, Some(&weights), Some(1e-8), &run).unwrap();
        assert!(refined.convergence().converged());
        assert_same(&refined, &expected, 1e-11);
        let krylov = Pca { solver: Some(Route::BlockKrylov), tol: Some(1e-8), ..Pca::new(k) };
        let cold = krylov.fit(&x, &Weights::of_samples(&weights)).unwrap();
        let passes = (refined.convergence().n_passes, cold.convergence().n_passes);
        assert!(2 * passes.0 <= passes.1, "{} and {} passes", passes.0, passes.1);
    }
}

#[test]
fn the_remedy_of_a_refined_fit_is_its_one_option() {
    let (n, p) = (300, 40);
    let rows = planted(n, p, &power_law(p, 1.0), 2.0, 1).rows;
    let values = row_major(&rows);
    let x = Dense::row_major(&values, n, p).unwrap();
    let fit = fitted(&sketch(3), &rows, None, 100, Layout::RowMajor);
    let refined = fit.refine(&x, None, Some(1e-17), &Run::threads(1)).unwrap();
    assert_eq!(refined.convergence().advice, Some(Advice::Raise(vec![options::TOL])));
}

/// Directions that are invariant but not the leading ones.
#[test]
fn directions_that_the_fit_has_not_seen_are_found() {
    let p = 40;
    let old: Vec<Vec<f64>> = planted(80, 20, &power_law(20, 1.0), 0.0, 1)
        .rows
        .into_iter()
        .map(|row| [row, vec![0.0; 20]].concat())
        .collect();
    let new: Vec<Vec<f64>> = planted(80, 20, &[50.0, 40.0, 30.0], 0.0, 2)
        .rows
        .into_iter()
        .map(|row| [vec![0.0; 20], row].concat())
        .collect();
    let all = [old.clone(), new].concat();
    let values = row_major(&all);
    let x = Dense::row_major(&values, 160, p).unwrap();
    let pca = IncrementalPca { n_oversamples: Some(17), ..sketch(3) };
    let fit = fitted(&pca, &old, None, 20, Layout::RowMajor);
    let refined = fit.refine(&x, None, None, &Run::threads(1)).unwrap();
    let exact = Pca { solver: Some(Route::Svd), ..Pca::new(3) };
    assert_same(&refined, &exact.fit(&x, &Weights::default()).unwrap(), 1e-11);
}

/// Fewer rows than columns.
#[test]
fn wide_rows_are_refined() {
    let (n, p, k) = (60, 200, 4);
    let rows = planted(n, p, &power_law(50, 1.0), 1.0, 3).rows;
    let values = row_major(&rows);
    let x = Dense::row_major(&values, n, p).unwrap();
    let pca = IncrementalPca { n_oversamples: Some(4), batch_size: Some(10), ..sketch(k) };
    let fit = fitted(&pca, &rows, None, 9, Layout::Csc);
    assert!(model(&fit).residuals()[0] > 1e-9);
    let exact = Pca { solver: Some(Route::Svd), ..Pca::new(k) };
    let refined = fit.refine(&x, None, None, &Run::threads(2)).unwrap();
    assert_same(&refined, &exact.fit(&x, &Weights::default()).unwrap(), 1e-11);
}

/// Rows that can be visited once.
struct Once<'a>(Dense<'a, f64>, AtomicUsize);

impl Source<f64> for Once<'_> {
    fn shape(&self) -> (usize, usize) {
        self.0.shape()
    }
    fn passes(&self) -> Passes {
        Passes::Once
    }
    fn n_stored(&self) -> usize {
        self.0.n_stored()
    }
    fn is_sparse(&self) -> bool {
        false
    }
    fn visit(&self, f: &mut dyn FnMut(usize, Block<'_, f64>) -> Result<()>) -> Result<()> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.visit(f)
    }
}

#[test]
fn sources_that_do_not_fit_are_refused_before_they_are_read() {
    let rows = planted(30, 6, &power_law(5, 1.0), 1.0, 3).rows;
    let values = row_major(&rows);
    let x = Dense::row_major(&values, 30, 6).unwrap();
    let fit = fitted(&sketch(2), &rows, None, 9, Layout::RowMajor);
    let run = Run::threads(1);
    let once = Once(x, AtomicUsize::new(0));
    assert!(matches!(fit.refine(&once, None, None, &run), Err(Error::OnePass { .. })));
    assert_eq!(once.1.into_inner(), 0);
    let narrow = Dense::row_major(&values, 36, 5).unwrap();
    assert!(matches!(fit.refine(&narrow, None, None, &run), Err(Error::Shape { found: 5, expected: 6, .. })));
    let empty = sketch(2).start(6).unwrap();
    assert!(matches!(empty.refine(&x, None, None, &run), Err(Error::Empty { .. })));
    let all = fitted(&IncrementalPca::default(), &rows, None, 9, Layout::RowMajor);
    assert!(matches!(all.refine(&x, None, None, &run), Err(Error::Option { .. })));
}
