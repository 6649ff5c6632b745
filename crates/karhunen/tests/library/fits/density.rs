//! The density of degenerate models, without components or without noise; the number of components for a share.

use karhunen::pca::Route;
use karhunen::{Matrix, NComponents, Pca, PcaModel, Scalar, Source};
use karhunen_testkit::{Rows, Tolerance, assert_close, gaussian, planted, power_law, svd};

use crate::fits::expect::SOLVERS;
use crate::fits::sources::Layout;

fn within(norm: f64) -> Tolerance {
    // Variances near the smallest kept one lose digits as eigenvalues of products.
    Tolerance { multiple: 1e5, epsilon: f64::EPSILON, norm }
}

fn fit(rows: &Rows, pca: &Pca) -> PcaModel {
    Layout::RowMajor.with::<f64, _>(rows, |x| pca.fit(x, &Default::default())).unwrap()
}

fn likelihoods(model: &PcaModel, rows: &Rows) -> Vec<f64> {
    Layout::RowMajor.with::<f64, _>(rows, |x| model.score_samples(x)).unwrap()
}

/// Log-densities by the pseudo-inverse and pseudo-determinant of the model's covariance, of rank `rank`.
fn density(model: &PcaModel, rows: &Rows, rank: usize) -> Vec<f64> {
    let covariance = model.covariance().unwrap();
    let covariance: Rows = (0..covariance.n_rows()).map(|i| covariance.row(i).to_vec()).collect();
    let found = svd(&covariance);
    let constant = rank as f64 * std::f64::consts::TAU.ln()
        + found.values[..rank].iter().map(|value| value.ln()).sum::<f64>();
    let of_row = |row: &Vec<f64>| {
        let inside: f64 = (0..rank)
            .map(|c| {
                let along: f64 =
                    row.iter().zip(model.mean()).zip(&found.right[c]).map(|((x, m), v)| (x - m) * v).sum();
                along * along / found.values[c]
            })
            .sum();
        -0.5 * (constant + inside)
    };
    rows.iter().map(of_row).collect()
}

fn no_component<T: Scalar>(x: &dyn Source<T>, solver: Option<Route>) {
    let (n, p) = x.shape();
    let model = Pca { solver, ..Pca::new(0) }.fit(x, &Default::default()).unwrap();
    let all = Pca { solver, ..Pca::default() }.fit(x, &Default::default()).unwrap();
    assert_eq!((model.n_components(), model.components().shape()), (0, (0, p)));
    assert_close("mean", model.mean(), all.mean(), within(1.0));
    let noise = all.total_variance() / n.min(p) as f64;
    assert_close("noise", &[model.noise_variance()], &[noise], within(noise));
    let scores = model.transform(x).unwrap();
    assert_eq!(scores.shape(), (n, 0));
    let rows = model.inverse_transform(&scores).unwrap();
    for i in 0..n {
        let mean: Vec<T> = model.mean().iter().map(|&m| T::from_f64(m)).collect();
        assert_eq!(rows.row(i), mean);
    }
    let spherical = Matrix::from_fn(p, p, |i, j| if i == j { model.noise_variance() } else { 0.0 });
    assert_eq!(model.covariance().unwrap(), spherical);
    assert!(model.score_samples(x).unwrap().iter().all(|value| value.is_finite()));
}

#[test]
fn no_component_leaves_the_mean_and_one_noise_variance() {
    for (n, p) in [(30, 4), (4, 30)] {
        let rows = planted(n, p, &power_law(3, 1.0), 2.0, 5).rows;
        for solver in [None, Some(Route::Svd), Some(Route::Covariance), Some(Route::Gram)] {
            for layout in [Layout::RowMajor, Layout::ColumnMajor, Layout::Csr32, Layout::Csc64] {
                layout.with::<f64, _>(&rows, |x| no_component(x, solver));
                layout.with::<f32, _>(&rows, |x| no_component(x, solver));
            }
        }
        let model = fit(&rows, &Pca::new(0));
        assert_close("density", &likelihoods(&model, &rows), &density(&model, &rows, p), within(1e3));
    }
}

/// With fewer rows than columns all variance can be kept, so that no noise is left.
#[test]
fn without_noise_the_density_is_that_within_the_span_of_the_components() {
    let rows = planted(12, 9, &[4.0, 2.0, 0.5], 3.0, 7).rows;
    let narrow: Rows = rows.iter().map(|row| row[..2].to_vec()).collect();
    for scale in [false, true] {
        for solver in SOLVERS {
            for n_components in [NComponents::Count(3), NComponents::Count(5), NComponents::All] {
                let model = fit(
                    &rows,
                    &Pca { n_components, solver, scale: scale.into(), tol: Some(1e-13), ..Pca::default() },
                );
                let found = likelihoods(&model, &rows);
                assert_close("singular", &found, &density(&model, &rows, 3), within(1e3));
                assert!(model.precision().is_err());
                let outside = gaussian(2, 9, 8);
                assert_eq!(likelihoods(&model, &outside), [f64::NEG_INFINITY; 2], "{solver:?}");
            }
            // As many components as columns: an ordinary density.
            let model = fit(&narrow, &Pca { solver, scale: scale.into(), tol: Some(1e-13), ..Pca::new(2) });
            assert_eq!(model.noise_variance(), 0.0);
            assert_close("full", &likelihoods(&model, &narrow), &density(&model, &narrow, 2), within(1e3));
            assert!(likelihoods(&model, &gaussian(2, 2, 8)).iter().all(|value| value.is_finite()));
        }
    }
    // Data without variance: a point.
    let constant = vec![vec![1.0, 2.0]; 4];
    let model = fit(&constant, &Pca::new(1));
    assert_eq!(likelihoods(&model, &vec![vec![1.0, 2.0], vec![1.0, 3.0]]), [0.0, f64::NEG_INFINITY]);
}

#[test]
fn a_share_takes_the_fewest_components_that_exceed_it() {
    let rows = planted(40, 7, &[1.0; 4], 2.0, 3).rows;
    for solver in SOLVERS {
        // Shares that rounding moves to either side of a quarter, a half and three quarters.
        for (fraction, expected) in
            [(0.2, 1), (0.25, 2), (0.4, 2), (0.5, 3), (0.74, 3), (0.75, 4), (1.0 - 1e-13, 4), (1.0, 4)]
        {
            let pca = Pca {
                n_components: NComponents::Variance(fraction),
                solver,
                tol: Some(1e-13),
                ..Pca::default()
            };
            assert_eq!(fit(&rows, &pca).n_components(), expected, "{solver:?} {fraction}");
        }
    }
}
