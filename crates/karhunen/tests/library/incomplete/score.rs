//! The likelihood of rows with missing entries, compared with the density of their entries by dense covariances.

use karhunen::incomplete::{Method, Triples};
use karhunen::{IncompleteModel, IncompletePca, Matrix, Observed, Run};
use karhunen_testkit::{Incomplete, Rows};

use crate::incomplete::fixtures::observed;

/// `ln N(x; 0, C)` by elimination without pivots.
fn log_density(mut c: Rows, mut x: Vec<f64>) -> f64 {
    let (n, mut log_determinant, mut squares) = (x.len(), 0.0, 0.0);
    for k in 0..n {
        let pivot = c[k][k];
        log_determinant += pivot.ln();
        squares += x[k] * x[k] / pivot;
        for i in k + 1..n {
            let factor = c[i][k] / pivot;
            x[i] -= factor * x[k];
            let row = c[k].clone();
            c[i].iter_mut().zip(&row).for_each(|(a, b)| *a -= factor * b);
        }
    }
    -0.5 * (n as f64 * std::f64::consts::TAU.ln() + log_determinant + squares)
}

/// The inverse of a small matrix by Gauss-Jordan elimination.
fn inverse(matrix: &Matrix) -> Rows {
    let c = matrix.n_rows();
    let mut rows: Rows = (0..c)
        .map(|k| matrix.row(k).iter().copied().chain((0..c).map(|l| f64::from(u8::from(k == l)))).collect())
        .collect();
    for k in 0..c {
        let pivot = rows[k][k];
        rows[k].iter_mut().for_each(|x| *x /= pivot);
        for i in (0..c).filter(|i| *i != k) {
            let (factor, row) = (rows[i][k], rows[k].clone());
            rows[i].iter_mut().zip(&row).for_each(|(a, b)| *a -= factor * b);
        }
    }
    rows.into_iter().map(|row| row[c..].to_vec()).collect()
}

/// The log-density of the entries `(column, value, weight)` of one row.
fn oracle(model: &IncompleteModel, entries: &[(usize, f64, f64)]) -> f64 {
    let parts = model.parts();
    let (free, noise, prior) = (model.n_components(), model.noise_variance(), &parts.prior);
    let of_scores = inverse(&prior.precision);
    let loading = |i: usize, k: usize| if k < free { parts.components[(k, i)] } else { 1.0 };
    let all = 0..of_scores.len();
    let covariance = |i: usize, j: usize| -> f64 {
        let pairs = all.clone().flat_map(|k| all.clone().map(move |l| (k, l)));
        noise * pairs.map(|(k, l)| loading(i, k) * of_scores[k][l] * loading(j, l)).sum::<f64>()
    };
    let mean = |i: usize| parts.mean[i] + all.clone().map(|k| loading(i, k) * prior.mean[k]).sum::<f64>();
    let c = entries.iter().map(|(i, ..)| {
        let own = |j: usize, w: f64| if *i == j { noise / w } else { 0.0 };
        entries.iter().map(|(j, _, w)| covariance(*i, *j) + own(*j, *w)).collect()
    });
    log_density(c.collect(), entries.iter().map(|(i, x, _)| x - mean(*i)).collect())
}

#[test]
fn likelihoods_agree_with_dense_covariances() {
    let table = Incomplete::problem_q();
    let data = observed(&table);
    for method in [Method::Ppca, Method::VbFull, Method::Vb, Method::VbFixed, Method::Map] {
        for row_offsets in [false, true] {
            let pca = IncompletePca { method, row_offsets, max_iter: 60, ..IncompletePca::new(2) };
            let model = pca.fit(&data).unwrap();
            if model.singular_values().contains(&0.0) {
                continue;
            }
            let found = model.score_samples(&data).unwrap();
            for (row, found) in found.iter().enumerate() {
                let (columns, values) = data.row(row);
                let entries: Vec<_> =
                    columns.iter().zip(values).map(|(column, x)| (*column as usize, *x, 1.0)).collect();
                let expected = oracle(&model, &entries);
                assert!(
                    (found - expected).abs() < 1e-9 * expected.abs().max(1.0),
                    "{method:?} {found} {expected}"
                );
            }
        }
    }
}

#[test]
fn likelihoods_obey_weights_empty_rows_and_threads() {
    let table = Incomplete::problem_q();
    let model =
        IncompletePca { method: Method::Ppca, ..IncompletePca::new(2) }.fit(&observed(&table)).unwrap();
    let (columns, values, weights) = ([0, 3, 7], [1.0, -2.0, 0.5], [0.25, 4.0, 1.5]);
    // Only the last of 200 rows has entries.
    let triples = Triples { rows: &[199; 3], columns: &columns, values: &values, weights: Some(&weights) };
    let rows = Observed::from_triples(&triples, (200, 12), karhunen::incomplete::Duplicates::Refuse).unwrap();
    let one = model.score_samples_with(&rows, &Run::threads(1)).unwrap();
    assert_eq!(one, model.score_samples_with(&rows, &Run::threads(4)).unwrap());
    assert!(one[..199].iter().all(|x| *x == 0.0));
    let entries: Vec<_> = (0..3).map(|e| (columns[e] as usize, values[e], weights[e])).collect();
    let expected = oracle(&model, &entries);
    assert!((one[199] - expected).abs() < 1e-10 * expected.abs(), "{} {expected}", one[199]);
}

#[test]
fn inactive_components_leave_the_likelihood_unchanged() {
    // The data support two of ten components.
    let data = observed(&Incomplete::planted(300, 12, &[3.0, 2.0], 0.3, 0.2, 3));
    let fit = |n_components| {
        let pca = IncompletePca { method: Method::Vb, max_iter: 2000, ..IncompletePca::new(n_components) };
        pca.fit(&data).unwrap()
    };
    let (many, few) = (fit(6), fit(2));
    let mean = |model: &IncompleteModel| {
        let found = model.score_samples(&data).unwrap();
        found.iter().sum::<f64>() / found.len() as f64
    };
    assert!((mean(&many) - mean(&few)).abs() < 0.05, "{} {}", mean(&many), mean(&few));
}

#[test]
fn models_without_a_density_are_refused() {
    let data = observed(&Incomplete::problem_q());
    let model = IncompletePca { method: Method::Em, ..IncompletePca::new(2) }.fit(&data).unwrap();
    let error = model.score_samples(&data).unwrap_err();
    assert!(
        error.to_string().starts_with("method = em is not allowed: a likelihood needs a method"),
        "{error}"
    );
    let model = IncompletePca { method: Method::Ppca, ..IncompletePca::new(2) }.fit(&data).unwrap();
    let narrow = observed(&Incomplete::planted(5, 3, &[1.0], 0.1, 0.0, 1));
    let error = model.score_samples(&narrow).unwrap_err();
    assert!(error.to_string().contains("3 columns, but 12 are needed"), "{error}");
    let mut parts = model.parts().clone();
    parts.noise_variance = 0.0;
    let error = IncompleteModel::try_from(parts).unwrap().score_samples(&data).unwrap_err();
    assert!(error.to_string().starts_with("noise_variance = 0 is not allowed"), "{error}");
}
