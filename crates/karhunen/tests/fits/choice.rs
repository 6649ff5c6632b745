//! The route that is chosen where the number of components is not known before the data are read.

use karhunen::{NComponents, Pca, PcaModel, Route, Source, SparseMatrix, Weights};
use karhunen_testkit::SplitMix64;

/// One entry in a hundred of a wide matrix; a few columns with most of the variance, if `factors`.
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
    let pca = Pca { n_components, solver, n_threads: Some(n_threads), ..Pca::default() };
    pca.fit(x, &Weights::default()).unwrap()
}

/// Version 0.1.0 chose block Krylov iteration for every share of data of this shape, which then took eight times as long as
/// the other route where the share took hundreds of components.
#[test]
fn a_share_of_the_variance_is_found_by_the_route_for_as_many_components_as_it_takes() {
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
fn the_look_changes_neither_the_components_nor_the_bits_for_other_numbers_of_threads() {
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
                // Of the tolerance of the iteration, 1e-8, the square, or as much where eigenvalues are close.
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
fn passes_of_the_look_are_counted() {
    let x = sparse(false);
    let asked = fit(&x.view(), NComponents::Variance(0.9), Some(Route::Gram), 1);
    let chosen = fit(&x.view(), NComponents::Variance(0.9), None, 1);
    assert_eq!(chosen.convergence().solver, Route::Gram);
    let more = chosen.convergence().n_passes - asked.convergence().n_passes;
    assert!((4..=8).contains(&more), "{more} products of the look");
}
