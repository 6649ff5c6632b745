//! Rows without entries: the fit equals a fit of the other rows, and the means predict them.

use karhunen::incomplete::{IncompleteStream, MeanMode, Method, OnlineRule};
use karhunen::{Dense, IncompleteModel, IncompletePca, Observed, Run};
use karhunen_testkit::{Incomplete, largest};

/// Columns of [`others`].
const P: usize = 6;
/// Numbers of the rows without entries.
const EMPTY: [usize; 3] = [0, 7, 32];

/// Rows with entries, row by row.
fn others() -> Vec<f64> {
    let table = Incomplete::planted(30, P, &[2.0, 1.0], 0.3, 0.3, 5);
    let mut x = table.with_nan();
    // A row and a column that are not zero on average.
    (0..30).for_each(|i| x[i * P] += 4.0);
    x.chunks_exact_mut(P).filter(|row| row.iter().all(|x| x.is_nan())).for_each(|row| row[1] = 1.0);
    x
}

/// The rows of [`others`] among rows without entries.
fn with_empty_rows(x: &[f64]) -> Vec<f64> {
    let mut rows = x.chunks_exact(P);
    let n = x.len() / P + EMPTY.len();
    let row = |i: usize, rows: &mut std::slice::ChunksExact<'_, f64>| {
        if EMPTY.contains(&i) { vec![f64::NAN; P] } else { rows.next().unwrap().to_vec() }
    };
    (0..n).flat_map(|i| row(i, &mut rows)).collect()
}

fn observe(x: &[f64]) -> Observed<f64> {
    Observed::from_dense(&Dense::row_major(x, x.len() / P, P).unwrap()).unwrap()
}

#[track_caller]
fn assert_same_fit(what: &str, found: &IncompleteModel, expected: &IncompleteModel) {
    let (x, y) = (found.parts(), expected.parts());
    let close = |name: &str, a: &[f64], b: &[f64]| {
        let size = largest(b.iter().map(|b| b.abs())).max(1.0);
        let far = a.iter().zip(b).map(|(a, b)| (a - b).abs());
        assert!(a.len() == b.len() && largest(far) <= 1e-12 * size, "{what}, {name}: {a:?} {b:?}");
    };
    close("components", x.components.as_slice(), y.components.as_slice());
    close("mean", &x.mean, &y.mean);
    close("variance", &x.explained_variance, &y.explained_variance);
    close("ratio", &x.explained_variance_ratio, &y.explained_variance_ratio);
    close("noise", &[x.noise_variance], &[y.noise_variance]);
}

fn assert_rows(what: &str, model: &IncompleteModel, data: &Observed<f64>, expected: &IncompleteModel) {
    let new = model.row_scores(data).unwrap();
    let has_prior = of_posterior(model.convergence().method) && model.row_offsets().is_some();
    let tol = if has_prior { 0.1 } else { 0.0 };
    let mut seen = 0;
    for i in 0..data.n_samples() {
        let is_empty = EMPTY.contains(&i);
        let scores = model.scores().row(i);
        if is_empty {
            let far = largest(scores.iter().map(|s| s.abs()));
            assert!(scores == new.scores.row(i) && far <= tol, "{what} {i}: {scores:?}");
            let offsets = [model.row_offsets(), new.offsets.as_deref()].map(|b| b.map_or(0.0, |b| b[i]));
            // Offsets of posteriors are zero on average up to convergence.
            assert!(offsets[0] == offsets[1] && offsets[0].abs() <= tol, "{what} {i}: {offsets:?}");
        }
        for j in 0..P {
            let found = model.predict(i, j).unwrap();
            assert!(found.std().unwrap().is_finite(), "{what} {i} {j}");
            let value = if is_empty { model.mean()[j] } else { expected.predict(seen, j).unwrap().value };
            assert!(
                (found.value - value).abs() < 1e-12_f64.max(2.0 * tol),
                "{what} {i} {j}: {} {value}",
                found.value
            );
        }
        seen += usize::from(!is_empty);
    }
}

#[test]
fn rows_without_entries_change_no_fit_and_are_predicted_by_the_means() {
    let x = others();
    let (data, without) = (observe(&with_empty_rows(&x)), observe(&x));
    for method in Method::ALL {
        for (mean, row_offsets) in [
            (MeanMode::Joint, false),
            (MeanMode::Joint, true),
            (MeanMode::Fixed, false),
            (MeanMode::None, false),
            (MeanMode::Fixed, true),
        ] {
            let pca = IncompletePca { method, mean, row_offsets, max_iter: 40, ..IncompletePca::new(2) };
            let what = format!("{} {mean:?} {row_offsets}", method.name());
            let (model, expected) = (pca.fit(&data).unwrap(), pca.fit(&without).unwrap());
            assert_eq!(model.n_samples(), 33, "{what}");
            assert_same_fit(&what, &model, &expected);
            assert_rows(&what, &model, &data, &expected);
        }
    }
}

#[test]
fn weights_of_rows_and_entries_stay_with_their_rows() {
    let x = others();
    let n = x.len() / P;
    let whole = with_empty_rows(&x);
    let mut weights: Vec<f64> = (0..n).map(|i| [2.0, 1.0, 0.0, 3.0][i % 4]).collect();
    let without = observe(&x).with_sample_weights(&weights).unwrap();
    EMPTY.iter().for_each(|i| weights.insert(*i, 5.0));
    let data = observe(&whole).with_sample_weights(&weights).unwrap();
    for method in [Method::Em, Method::Als, Method::Ppca, Method::VbFull] {
        let pca = IncompletePca { method, max_iter: 40, ..IncompletePca::new(2) };
        let (model, expected) = (pca.fit(&data).unwrap(), pca.fit(&without).unwrap());
        assert_same_fit(method.name(), &model, &expected);
        assert_rows(method.name(), &model, &data, &expected);
    }
}

/// No row can be left out where as many rows as components are needed.
#[test]
fn fewer_rows_with_entries_than_components_are_fitted() {
    let mut x = vec![f64::NAN; 5 * P];
    (0..P).for_each(|j| x[P + j] = [1.0, 4.0, 2.0, 0.5, -1.0, 3.0][j]);
    let data = observe(&x);
    for method in Method::ALL {
        let model = IncompletePca { method, max_iter: 20, ..IncompletePca::new(2) }.fit(&data).unwrap();
        for i in [0, 2, 3, 4] {
            let far = (0..P).map(|j| (model.predict(i, j).unwrap().value - x[P + j]).abs());
            assert!(largest(far) < 1e-6, "{} {i}", method.name());
        }
    }
}

#[test]
fn rows_without_entries_teach_a_stream_nothing() {
    let x = others();
    let (data, without) = (observe(&with_empty_rows(&x)), observe(&x));
    let learn = |rows: &[&Observed<f64>]| {
        let mut stream = IncompleteStream::new(2, P, OnlineRule::Diagonal, 1).unwrap();
        rows.iter().for_each(|rows| stream.partial_fit(rows).unwrap());
        stream
    };
    let (whole, part) = (learn(&[&data; 3]), learn(&[&without; 3]));
    assert_eq!((whole.n_samples_seen(), part.n_samples_seen()), (99, 90));
    let pca = IncompletePca::new(2);
    let (model, expected) = (whole.finish(&data, &pca).unwrap(), part.finish(&without, &pca).unwrap());
    assert_same_fit("stream", &model, &expected);
    assert_rows("stream", &model, &data, &expected);
    // A batch without any entry has the means as predictions, and the variances of the rows before.
    let empty = observe(&[f64::NAN; 4 * P]);
    let mut stream = whole.clone();
    stream.partial_fit(&empty).unwrap();
    let model = stream.finish(&empty, &pca).unwrap();
    assert_eq!((stream.n_samples_seen(), model.n_samples()), (103, 4));
    assert!(model.explained_variance()[1] > 0.0);
    let (scores, _) = model.transform_with_covariances(&empty, &Run::default()).unwrap();
    assert_eq!(model.scores(), &scores);
    assert!(scores.as_slice().iter().all(|s| *s == 0.0));
}

fn of_posterior(method: Method) -> bool {
    matches!(method, Method::Ppca | Method::Vb | Method::VbFixed | Method::VbFull)
}
