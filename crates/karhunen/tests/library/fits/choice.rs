//! The choice of a route for an unknown number of components, and for small tables.

use karhunen::matrix::SparseMatrix;
use karhunen::pca::Route;
use karhunen::{Dense, NComponents, Pca, PcaModel, Run, Source, Weights};
use karhunen_testkit::{SplitMix64, gaussian, row_major};

use crate::fits::disk::Disk;

/// A wide matrix, one entry in a hundred stored; if `factors`, a few columns have most of the variance.
fn sparse(factors: bool) -> SparseMatrix<f64> {
    let (n, p) = (500, 2400);
    let mut random = SplitMix64::new(1);
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..n {
        for j in 0..p {
            if random.bits().is_multiple_of(100) || (factors && j < 5) {
                rows.push(i as u32);
                columns.push(j as u32);
                values.push(random.normal() * if j < 5 && factors { 20.0 } else { 1.0 });
            }
        }
    }
    SparseMatrix::from_triples(n, p, &rows, &columns, &values).unwrap()
}

fn fit(x: &dyn Source<f64>, n_components: NComponents, solver: Option<Route>, n_threads: usize) -> PcaModel {
    let pca = Pca { n_components, solver, ..Pca::default() };
    pca.fit_with(x, &Weights::default(), &Run::threads(n_threads)).unwrap()
}

/// Version 0.1.0 chose block Krylov iteration for every share of data of this shape, which took eight times as
/// long as the other route if the share took hundreds of components.
#[test]
fn a_share_of_the_variance_takes_the_best_route_for_its_number_of_components() {
    let noise = sparse(false);
    for (share, few) in [(0.9, false), (0.99, false)] {
        let model = fit(&noise.view(), NComponents::Variance(share), None, 1);
        assert!((model.n_components() < 50) == few, "{share}: {}", model.n_components());
        assert_eq!(model.convergence().solver, Route::Gram, "{share}: {}", model.convergence().reason);
    }
    let factors = sparse(true);
    let model = fit(&factors.view(), NComponents::Variance(0.9), None, 1);
    assert_eq!(model.n_components(), 5);
    assert_eq!(model.convergence().solver, Route::BlockKrylov, "{}", model.convergence().reason);
}

#[test]
fn the_spectrum_estimate_changes_no_component_and_threads_change_no_bit() {
    // Block Krylov iteration for hundreds of components would take long.
    for (x, routes) in
        [(sparse(false), [Route::Gram, Route::Svd]), (sparse(true), [Route::Gram, Route::BlockKrylov])]
    {
        let share = NComponents::Variance(0.9);
        let one = fit(&x.view(), share, None, 1);
        for route in routes {
            let other = fit(&x.view(), share, Some(route), 1);
            assert_eq!(other.n_components(), one.n_components(), "{route}");
            let largest = one.explained_variance()[0];
            for (a, b) in one.explained_variance().iter().zip(other.explained_variance()) {
                // The error is the squared tolerance, 1e-8 squared, or the tolerance itself for close eigenvalues.
                assert!((a - b).abs() <= 1e-8 * largest, "{route}: {a} {b}");
            }
        }
        let two = fit(&x.view(), share, None, 2);
        assert_eq!(one.convergence().solver, two.convergence().solver);
        assert_eq!(one.components(), two.components());
        assert_eq!(one.explained_variance(), two.explained_variance());
    }
}

#[test]
fn passes_of_the_spectrum_estimate_are_counted() {
    let x = sparse(false);
    let asked = fit(&x.view(), NComponents::Variance(0.9), Some(Route::Gram), 1);
    let chosen = fit(&x.view(), NComponents::Variance(0.9), None, 1);
    assert_eq!(chosen.convergence().solver, Route::Gram);
    let more = chosen.convergence().n_passes - asked.convergence().n_passes;
    assert!((4..=8).contains(&more), "{more} products of the spectrum estimate");
}

#[test]
fn small_tables_keep_variances_that_products_of_columns_lose() {
    for (n, p) in [(500, 50), (60, 300)] {
        let (rank, faster) = if n > p { (p, Route::Covariance) } else { (n - 1, Route::Gram) };
        let values = |factor: f64| {
            let mut rows = gaussian(n, p, 5);
            rows.iter_mut().for_each(|row| row[7] *= factor);
            row_major(&rows)
        };
        let fit = |x: &dyn Source<f64>, pca: &Pca| pca.fit(x, &Weights::default()).unwrap();
        let svd = Pca { solver: Some(Route::Svd), ..Pca::default() };
        // In units that differ by a factor of 1e6 the least variance is 1e-12 of the largest.
        for (factor, route) in [(1.0, faster), (1e6, Route::Svd)] {
            let values = values(factor);
            let held = Dense::row_major(&values, n, p).unwrap();
            let exact = fit(&held, &svd);
            for (kind, x) in [("held", &held as &dyn Source<f64>), ("disk", &Disk::new(&values, n, p, 64))] {
                let found = fit(x, &Pca::default());
                let reason = &found.convergence().reason;
                assert!(kind == "disk" || found.convergence().solver == route, "{n} x {p}: {reason}");
                for (a, b) in found.explained_variance()[..rank].iter().zip(exact.explained_variance()) {
                    assert!((a - b).abs() <= 1e-9 * b, "{kind}, {n} x {p}, {factor}: {a} is not {b}");
                }
            }
        }
        // The largest alone loses nothing.
        let values = values(1e6);
        let first = fit(&Dense::row_major(&values, n, p).unwrap(), &Pca::new(1));
        assert_ne!(first.convergence().solver, Route::Svd, "{n} x {p}");
    }
}
