//! The variance that components explain.

use karhunen::incomplete::{Method, Regularization};
use karhunen::{Dense, IncompletePca, Observed, Pca, PcaModel, Weights};
use karhunen_testkit::Incomplete;

use crate::incomplete::fixtures::observed;

fn fit_of_all(table: &Incomplete) -> PcaModel {
    let (n, p) = table.shape();
    Pca::new(p).fit(&Dense::row_major(&table.complete.concat(), n, p).unwrap(), &Weights::default()).unwrap()
}

fn strict(method: Method, c: usize) -> IncompletePca {
    IncompletePca { method, tol: 1e-14, max_iter: 50_000, ..IncompletePca::new(c) }
}

#[test]
fn complete_data_have_the_explained_shares_of_pca() {
    let table = Incomplete::planted(50, 9, &[3.0, 2.0], 0.5, 0.0, 5);
    let exact = fit_of_all(&table);
    for method in [Method::Em, Method::Cg, Method::Als, Method::Map] {
        let model = strict(method, 2).fit(&observed(&table)).unwrap();
        let (total, expected) = (model.parts().total_variance, exact.total_variance());
        assert!((total / expected - 1.0).abs() < 1e-7, "{}: {total} instead of {expected}", method.name());
        if method == Method::Em {
            for k in 0..2 {
                let away = model.explained_variance_ratio()[k] - exact.explained_variance_ratio()[k];
                assert!(away.abs() < 1e-7, "component {k}: {away}");
            }
        }
    }
}

#[test]
fn probabilistic_components_explain_their_expected_variance() {
    // Tipping and Bishop (1999): eigenvalues less the noise, the mean of the discarded ones; divisor n.
    let (n, p) = (200, 10);
    let table = Incomplete::planted(n, p, &[3.0, 2.0], 1.0, 0.0, 6);
    let exact = fit_of_all(&table);
    let values: Vec<f64> = exact.explained_variance().iter().map(|v| v * (n - 1) as f64 / n as f64).collect();
    let noise = values[2..].iter().sum::<f64>() / (p - 2) as f64;
    let model = strict(Method::Ppca, 2).fit(&observed(&table)).unwrap();
    for (found, value) in model.explained_variance().iter().zip(&values) {
        let expected = value - noise;
        assert!((found / expected - 1.0).abs() < 1e-6, "{found} instead of {expected}");
    }
    let (total, expected) = (model.parts().total_variance, values.iter().sum::<f64>());
    assert!((total / expected - 1.0).abs() < 1e-6, "{total} instead of {expected}");
}

#[test]
fn variational_components_explain_the_products_of_their_variances() {
    // Problem Q: v_a v_s of `docs/log/reference-values.md`, for each of 12 features.
    let data = observed(&Incomplete::problem_q());
    for method in [Method::Vb, Method::VbFull] {
        let model = strict(method, 2).fit(&data).unwrap();
        for (found, expected) in model.explained_variance().iter().zip([1.5133931, 0.7265038]) {
            let ratio = found / (12.0 * expected);
            assert!((ratio - 1.0).abs() < 0.02, "{}: {found}, {ratio} times", method.name());
        }
        // Posterior means alone explain less.
        let of_means = model.singular_values()[1].powi(2) / 40.0;
        assert!(model.explained_variance()[1] > of_means, "{of_means}");
    }
}

#[test]
fn explained_shares_never_exceed_one() {
    for (missing, seed) in [(0.0, 1), (0.5, 2), (0.8, 3)] {
        let table = Incomplete::planted(60, 15, &[3.0, 2.0, 1.0], 0.3, missing, seed);
        let data: Observed<f64> = observed(&table);
        for method in Method::ALL {
            for row_offsets in [false, true] {
                let regularization = (method == Method::Cg).then_some(Regularization::Ridge(1.0));
                let pca = IncompletePca { row_offsets, regularization, ..IncompletePca::new(4) };
                let model = IncompletePca { method, ..pca }.fit(&data).unwrap();
                let name = method.name();
                let shares = model.explained_variance_ratio();
                let sum: f64 = shares.iter().sum();
                assert!(sum <= 1.0 + 1e-12 && sum > 0.3, "{name}, {missing}, {row_offsets}: {sum}");
                assert!(model.explained_variance().is_sorted_by(|a, b| a >= b), "{name}, {missing}");
                assert!(shares.iter().all(|share| *share >= 0.0), "{name}: {shares:?}");
            }
        }
    }
}

#[test]
fn a_fixed_broad_prior_explains_nothing() {
    // Rows with one entry, whose scores are uncertain, among rows with many.
    let mut table = Incomplete::planted(200, 12, &[3.0, 2.0], 0.3, 0.2, 4);
    table.observed[100..].iter_mut().enumerate().for_each(|(j, row)| {
        row.fill(false);
        row[j % 12] = true;
    });
    let fit = |method| IncompletePca { method, ..IncompletePca::new(2) }.fit(&observed(&table)).unwrap();
    let (held, learned) = (fit(Method::VbFixed), fit(Method::VbFull));
    for (held, learned) in held.explained_variance().iter().zip(learned.explained_variance()) {
        assert!((0.3..3.0).contains(&(held / learned)), "{held} {learned}");
    }
}
