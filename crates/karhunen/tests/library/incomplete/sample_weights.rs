//! Sample weights, including zeros.

use karhunen::incomplete::{
    CrossValidation, FitContext, IncompleteStream, MeanMode, MeanPrior, Method, OnlineRule, Regularization,
};
use karhunen::{IncompleteModel, IncompletePca, Observed, Run};
use karhunen_testkit::{Incomplete, largest};

use crate::incomplete::fixtures::observed;

fn problem() -> Incomplete {
    Incomplete::planted(60, 12, &[3.0, 2.0], 0.5, 0.3, 8)
}

fn weights() -> Vec<f64> {
    (0..60).map(|j| [1.0, 3.0, 2.0, 1.0, 4.0][j % 5]).collect()
}

/// The rows of `table`, repeated by their weights.
fn repeated(table: &Incomplete, weights: &[f64]) -> (Incomplete, Vec<usize>) {
    let rows: Vec<usize> = (0..weights.len()).flat_map(|j| vec![j; weights[j] as usize]).collect();
    let pick = |x: &Vec<Vec<f64>>| rows.iter().map(|j| x[*j].clone()).collect();
    let repeated = Incomplete {
        complete: pick(&table.complete),
        noise_free: pick(&table.noise_free),
        observed: rows.iter().map(|j| table.observed[*j].clone()).collect(),
    };
    (repeated, rows)
}

#[track_caller]
fn same(what: &str, weighted: &IncompleteModel, expected: &IncompleteModel, rows: &[usize], tol: f64) {
    let (x, y) = (weighted.parts(), expected.parts());
    assert_eq!(x.components.shape(), y.components.shape(), "{what}");
    let close = |name: &str, x: f64, y: f64, scale: f64| {
        assert!((x - y).abs() <= tol * scale.max(1e-300), "{what}, {name}: {x} {y}");
    };
    for (a, b) in x.components.as_slice().iter().zip(y.components.as_slice()) {
        close("components", *a, *b, 1.0);
    }
    for (name, a, b) in [
        ("mean", &x.mean, &y.mean),
        ("mean_variance", &x.mean_variance, &y.mean_variance),
        ("explained_variance", &x.explained_variance, &y.explained_variance),
        ("ratio", &x.explained_variance_ratio, &y.explained_variance_ratio),
        ("singular_values", &x.singular_values, &y.singular_values),
    ] {
        let scale = largest(b.iter().copied());
        a.iter().zip(b.iter()).for_each(|(a, b)| close(name, *a, *b, scale));
    }
    close("noise", x.noise_variance, y.noise_variance, y.noise_variance);
    close("total_variance", x.total_variance, y.total_variance, y.total_variance);
    close("cost", x.convergence.cost, y.convergence.cost, y.convergence.cost.abs());
    close("rmse", x.convergence.rmse, y.convergence.rmse, y.convergence.rmse);
    let c = x.components.n_rows();
    for (at, row) in rows.iter().enumerate() {
        (0..c).for_each(|k| close("scores", x.scores[(*row, k)], y.scores[(at, k)], 10.0));
    }
    for (at, row) in rows.iter().enumerate().step_by(7) {
        for column in 0..x.mean.len() {
            let (a, b) = (weighted.predict(*row, column).unwrap(), expected.predict(at, column).unwrap());
            close("error bars", a.std().unwrap(), b.std().unwrap(), b.std().unwrap());
        }
    }
}

/// Conjugate gradients followed to their end are affected by the rounding of sums.
const CONVERGED: f64 = 5e-7;

/// Options of converged fits.
fn options(method: Method) -> IncompletePca {
    IncompletePca { method, tol: 1e-13, max_iter: 20_000, ..IncompletePca::new(2) }
}

#[test]
fn integer_weights_equal_repeated_rows() {
    let (data, weights) = (observed(&problem()), weights());
    let (expanded, rows) = repeated(&problem(), &weights);
    let (weighted, expanded) = (data.with_sample_weights(&weights).unwrap(), observed(&expanded));
    for method in Method::ALL.into_iter().filter(|method| *method != Method::Online) {
        let pca = options(method);
        let (x, y) = (pca.fit(&weighted).unwrap(), pca.fit(&expanded).unwrap());
        same(method.name(), &x, &y, &rows, CONVERGED);
    }
}

#[test]
fn integer_weights_equal_repeated_rows_after_any_number_of_iterations() {
    // Both fits take the same path, as no random number belongs to a row.
    let (data, weights) = (observed(&problem()), weights());
    let (expanded, rows) = repeated(&problem(), &weights);
    let (weighted, expanded) = (data.with_sample_weights(&weights).unwrap(), observed(&expanded));
    for method in Method::ALL.into_iter().filter(|method| *method != Method::Online) {
        let pca = IncompletePca { method, n_starts: Some(2), seed: 3, ..IncompletePca::new(2) };
        let (x, y) = (pca.fit(&weighted).unwrap(), pca.fit(&expanded).unwrap());
        assert_eq!(x.convergence().trace.len(), y.convergence().trace.len(), "{}", method.name());
        same(method.name(), &x, &y, &rows, 1e-9);
    }
}

#[test]
fn integer_weights_equal_repeated_rows_with_penalties_priors_and_fixed_means() {
    let (data, weights) = (observed(&problem()), weights());
    let (expanded, rows) = repeated(&problem(), &weights);
    let (weighted, expanded) = (data.with_sample_weights(&weights).unwrap(), observed(&expanded));
    let mean_prior = MeanPrior { count: 4.0, value: Some(0.5) };
    for method in
        [Method::Als, Method::Ccd, Method::Ridge, Method::Vb, Method::VbFull, Method::Map, Method::Ppca]
    {
        let weighted_ridge = Some(Regularization::Weighted(0.05));
        let posterior = !matches!(method, Method::Als | Method::Ccd | Method::Ridge);
        let regularization = if posterior { None } else { weighted_ridge };
        let pca = IncompletePca { regularization, mean_prior, ..options(method) };
        let (x, y) = (pca.fit(&weighted).unwrap(), pca.fit(&expanded).unwrap());
        same(method.name(), &x, &y, &rows, CONVERGED);
        let pca = IncompletePca { mean: MeanMode::Fixed, ..pca };
        let (x, y) = (pca.fit(&weighted).unwrap(), pca.fit(&expanded).unwrap());
        same(method.name(), &x, &y, &rows, CONVERGED);
    }
}

#[test]
fn rows_of_weight_zero_are_ignored_and_scored() {
    let table = problem();
    let weights: Vec<f64> = (0..60).map(|j| [1.0, 0.0, 2.0][j % 3]).collect();
    let (expanded, rows) = repeated(&table, &weights);
    let weighted = observed(&table).with_sample_weights(&weights).unwrap();
    for method in [Method::Em, Method::Cg, Method::VbFull, Method::Soft] {
        let (x, y) =
            (options(method).fit(&weighted).unwrap(), options(method).fit(&observed(&expanded)).unwrap());
        same(method.name(), &x, &y, &rows, CONVERGED);
        let again = x.transform(&weighted).unwrap();
        for row in (1..60).step_by(3) {
            assert_eq!(x.scores().row(row), again.row(row), "{}", method.name());
            assert!(x.predict(row, 3).unwrap().std().unwrap() > 0.0);
        }
    }
    let without: Vec<usize> = (0..60).filter(|j| j % 3 != 1).collect();
    let pick = |x: &Vec<Vec<f64>>| without.iter().map(|j| x[*j].clone()).collect();
    let rest = Incomplete {
        complete: pick(&table.complete),
        noise_free: pick(&table.noise_free),
        observed: without.iter().map(|j| table.observed[*j].clone()).collect(),
    };
    let kept: Vec<f64> = without.iter().map(|j| weights[*j]).collect();
    let rest = observed(&rest).with_sample_weights(&kept).unwrap();
    let pca = options(Method::Als);
    assert_eq!(pca.fit(&weighted).unwrap().components(), pca.fit(&rest).unwrap().components());
    let grid = CrossValidation { n_components: vec![1, 2], ..CrossValidation::default() };
    let run = |data: &Observed<f64>| grid.run(&IncompletePca::default(), data, &Run::default()).unwrap();
    assert_eq!(run(&weighted), run(&rest));
}

#[test]
fn a_common_factor_of_weights_keeps_directions() {
    // Half weights leave a least-squares fit unchanged, and the variances are still the variances of the rows.
    let data = observed(&problem());
    let plain = options(Method::Em).fit(&data).unwrap();
    let half = options(Method::Em).fit(&data.with_sample_weights(&[0.5; 60]).unwrap()).unwrap();
    for (a, b) in plain.components().as_slice().iter().zip(half.components().as_slice()) {
        assert!((a - b).abs() < 1e-5);
    }
    assert!((half.convergence().cost / plain.convergence().cost - 0.5).abs() < 1e-9);
    assert!((half.convergence().rmse - plain.convergence().rmse).abs() < 1e-9);
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let data = observed(&problem()).with_sample_weights(&weights()).unwrap();
    for method in [Method::Cg, Method::Vb, Method::VbFull, Method::Ccd] {
        let pca = IncompletePca { max_iter: 40, ..options(method) };
        let fit = |n| pca.fit_with(&data, &FitContext::default(), &Run::threads(n)).unwrap();
        assert_eq!(fit(1).components(), fit(3).components());
    }
}

#[test]
fn invalid_sample_weights_are_refused() {
    let message =
        |weights: &[f64]| observed(&problem()).with_sample_weights(weights).unwrap_err().to_string();
    assert!(message(&[1.0]).starts_with("there is 1 sample weight for 60 rows"));
    assert!(message(&[-1.0; 60]).starts_with("sample weights: entry 0 is -1"));
    assert!(message(&[0.0; 60]).starts_with("sample weights: all 60 entries are zero"));
    // Normalised weights are not multiplicities.
    for weight in [1.0 / 60.0, 1e-300, 5e-324, 1e308] {
        assert!(
            message(&[weight; 60]).contains("multiply them so that they sum to the number of rows"),
            "{weight}"
        );
    }
    let weighted = observed(&problem()).with_sample_weights(&weights()).unwrap();
    assert_eq!(weighted.sample_weights(), Some(&weights()[..]));
    let online = IncompletePca { method: Method::Online, ..IncompletePca::new(2) };
    assert!(online.fit(&weighted).unwrap_err().to_string().contains("repeat them"));
    let mut stream = IncompleteStream::new(2, 12, OnlineRule::Diagonal, 0).unwrap();
    assert!(stream.partial_fit(&weighted).unwrap_err().to_string().contains("repeat them"));
    assert!(weighted.with_sample_weights(&weights()).unwrap_err().to_string().contains("weighed once"));
    // At most as many components as rows of positive weight.
    let few: Vec<f64> = (0..60).map(|j| f64::from(u8::from(j < 2))).collect();
    let few = observed(&problem()).with_sample_weights(&few).unwrap();
    let error = IncompletePca::new(3).fit(&few).unwrap_err().to_string();
    assert!(
        error.contains("they are positive for 2 of the 60 rows, and 3 components need at least 3"),
        "{error}"
    );
}
