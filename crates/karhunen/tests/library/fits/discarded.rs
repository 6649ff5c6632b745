//! The variances that a fit discards, which rules for the number of components need.

use karhunen::pca::Route;
use karhunen::record::Recorded;
use karhunen::selection::{Spectrum, of_spectrum};
use karhunen::{Dense, NComponents, Pca, PcaModel, Weights};
use karhunen_testkit::gaussian;

fn fit(rows: &[Vec<f64>], n_components: NComponents, solver: Option<Route>) -> PcaModel {
    let values: Vec<f64> = rows.concat();
    let x = Dense::row_major(&values, rows.len(), rows[0].len()).unwrap();
    Pca { n_components, solver, ..Pca::new(1) }.fit(&x, &Weights::default()).unwrap()
}

#[test]
fn rules_apply_to_a_fit_that_kept_three_components() {
    // Few columns, more columns than all eigenvectors are computed of, and fewer rows than columns.
    for (n, p) in [(60, 8), (150, 80), (40, 90)] {
        let mut rows = gaussian(n, p, 7);
        rows.iter_mut().for_each(|row| {
            row.iter_mut().enumerate().for_each(|(j, x)| *x *= 3.0 / (j as f64 + 1.0).sqrt())
        });
        let whole = fit(&rows, NComponents::All, None);
        for solver in [None, Some(Route::Covariance), Some(Route::Gram), Some(Route::Svd)] {
            let kept = fit(&rows, NComponents::Count(3), solver);
            let discarded = kept.parts().discarded_variance.as_deref().unwrap();
            let rest = &whole.explained_variance()[3..];
            assert!(
                discarded.iter().zip(rest).all(|(found, v)| (found - v).abs() < 1e-9 * rest[0]),
                "{solver:?}"
            );
            assert!(discarded[rest.len()..].iter().all(|v| *v <= 1e-12 * whole.total_variance()));
            let answers = |model: &PcaModel| {
                let table = of_spectrum(&Spectrum::of_model(model, None).unwrap());
                table.into_iter().map(|row| (row.rule, row.n_components)).collect::<Vec<_>>()
            };
            assert_eq!(answers(&kept), answers(&whole), "{n} x {p} by {solver:?}");
            assert_eq!(answers(&whole.leading(3).unwrap()), answers(&whole));
            assert_eq!(answers(&kept.leading(2).unwrap()), answers(&whole));
            let again = PcaModel::from_record(&mut kept.to_record().unwrap()).unwrap();
            assert_eq!(again, kept);
        }
        assert_eq!(whole.parts().discarded_variance, None);
        let iterated = fit(&rows, NComponents::Count(3), Some(Route::BlockKrylov));
        assert_eq!(iterated.parts().discarded_variance, None);
    }
}
