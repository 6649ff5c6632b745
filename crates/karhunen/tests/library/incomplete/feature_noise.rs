//! The noise of each feature.

use karhunen::incomplete::{IncompleteParts, Method, Regularization};
use karhunen::{Dense, IncompleteModel, IncompletePca, Observed, Run};
use karhunen_testkit::{Incomplete, SplitMix64, largest};

use crate::incomplete::fixtures::observed;

/// Planted values whose noise has a standard deviation for each column.
pub(crate) fn unequal(n: usize, factors: &[f64], deviations: &[f64], missing: f64, seed: u64) -> Incomplete {
    let mut table = Incomplete::planted(n, deviations.len(), factors, 0.0, missing, seed);
    let noise = SplitMix64::new(5000 + seed).normals(n, deviations.len());
    for (row, noise) in table.complete.iter_mut().zip(&noise) {
        row.iter_mut().zip(noise).zip(deviations).for_each(|((x, e), deviation)| *x += deviation * e);
    }
    table
}

/// `n` standard deviations from `least` to `most`, at equal ratios.
pub(crate) fn deviations(n: usize, least: f64, most: f64) -> Vec<f64> {
    (0..n).map(|j| least * (most / least).powf(j as f64 / (n as f64 - 1.0))).collect()
}

/// The value of an entry under the scores of its row without some of its entries, less the entry.
fn error(model: &IncompleteModel, row: &[f64], column: usize, without: Option<usize>) -> f64 {
    let mut kept = row.to_vec();
    without.into_iter().for_each(|column| kept[column] = f64::NAN);
    let kept = Observed::from_dense(&Dense::row_major(&kept, 1, row.len()).unwrap()).unwrap();
    model.value(model.transform(&kept).unwrap().row(0), 0.0, column) - row[column]
}

/// The leverage of an entry on loadings and mean.
fn of_column(model: &IncompleteModel, row: &[f64], column: usize) -> f64 {
    let parts = model.parts();
    let given = Observed::from_dense(&Dense::row_major(row, 1, row.len()).unwrap()).unwrap();
    let scores = model.transform(&given).unwrap();
    let covariances = parts.loading_covariances.as_ref().unwrap();
    let c = model.n_components();
    let pairs = (0..c).flat_map(|k| (0..c).map(move |l| (k, l)));
    let products = pairs.map(|(k, l)| scores[(0, k)] * covariances.get(column, k, l) * scores[(0, l)]);
    (products.sum::<f64>() + parts.mean_variance[column]) / parts.noise_variance
}

/// The noise of each column, from errors of entries that are left out of the scores of their rows one at a time.
fn by_leaving_out(model: &IncompleteModel, table: &Incomplete, is_flat: bool) -> Vec<f64> {
    let ((n, p), v, rows) = (table.shape(), model.noise_variance(), table.with_nan());
    let row = |j: usize| &rows[j * p..(j + 1) * p];
    let own: Vec<[f64; 3]> = (0..p)
        .map(|i| {
            let [mut squares, mut columns, mut shared, mut left, mut fourth] = [0.0; 5];
            let seen: Vec<usize> = (0..n).filter(|j| table.observed[*j][i]).collect();
            for j in &seen {
                let (with, without) = (error(model, row(*j), i, None), error(model, row(*j), i, Some(i)));
                let kept = with / without;
                squares += with * with;
                columns += of_column(model, row(*j), i);
                shared += kept * (1.0 - kept);
                left += kept * kept;
                fourth += kept.powi(4);
            }
            let parameters = if is_flat { model.n_components() as f64 + 1.0 } else { columns };
            let free = 1.0 - parameters / seen.len() as f64;
            let degrees = free * left * left / fourth;
            let of_scores = v * shared / left;
            let log = (squares / free / left / (v + of_scores)).ln()
                + 1.0 / degrees
                + 1.0 / (3.0 * degrees.powi(2));
            [log, 2.0 / degrees + 2.0 / degrees.powi(2), of_scores]
        })
        .collect();
    let spread = own.iter().map(|[log, variance, _]| log * log - variance).sum::<f64>() / p as f64;
    assert!(spread > 0.1);
    own.iter()
        .map(|[log, variance, of_scores]| {
            let shrunk = log * spread / (spread + variance);
            let total = shrunk.exp() * (v + of_scores);
            assert!((log - shrunk).abs() < variance.sqrt() && total - of_scores > total * variance.sqrt());
            total - of_scores
        })
        .collect()
}

#[test]
fn noise_of_a_column_follows_from_errors_of_entries_left_out() {
    let table = unequal(80, &[2.0, 1.5], &deviations(10, 0.3, 0.9), 0.2, 1);
    let data = observed(&table);
    for (method, regularization) in [(Method::Em, None), (Method::Ridge, Some(Regularization::Ridge(1.0)))] {
        let tol = 1e-13;
        let pca = IncompletePca { method, regularization, tol, max_iter: 20_000, ..IncompletePca::new(2) };
        let model = pca.fit(&data).unwrap();
        let (found, expected) =
            (model.feature_noise_variance(), by_leaving_out(&model, &table, method == Method::Em));
        // Covariances of the loadings are of single precision.
        for (j, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!((found / expected - 1.0).abs() < 1e-5, "{}, {j}: {found} {expected}", method.name());
        }
    }
}

#[test]
fn features_with_few_entries_have_the_noise_of_all() {
    let mut table = unequal(200, &[2.0, 1.5], &deviations(12, 0.5, 0.5), 0.2, 2);
    table.observed.iter_mut().enumerate().for_each(|(j, row)| row[3] &= j < 6);
    let noise = |table: &Incomplete| {
        let model =
            IncompletePca { method: Method::Em, ..IncompletePca::new(2) }.fit(&observed(table)).unwrap();
        let v = model.noise_variance();
        model.feature_noise_variance().iter().map(|x| x / v).collect::<Vec<f64>>()
    };
    // Where noise is equal, it differs from the noise of all only by what exceeds a standard error.
    let equal = noise(&table);
    assert!(largest(equal.iter().map(|x| (x - 1.0).abs())) < 0.1, "{equal:?}");
    // A column with as many entries as parameters says nothing, whatever the others say.
    table.observed.iter_mut().enumerate().for_each(|(j, row)| {
        row[3] = j < 3;
        row[5] |= j < 3;
        row[7] |= j < 3;
    });
    table.complete.iter_mut().enumerate().for_each(|(j, row)| row[0] += if j % 2 == 0 { 2.0 } else { -2.0 });
    let unequal = noise(&table);
    assert_eq!(unequal[3], 1.0);
    assert!(unequal[0] > 3.0 && unequal[1] < 0.8, "{unequal:?}");
}

#[test]
fn the_noise_of_features_has_the_unit_of_the_data_and_any_route() {
    let table = unequal(120, &[2.0, 1.5], &deviations(9, 0.2, 1.2), 0.3, 3);
    let (data, values) = (observed(&table), table.with_nan());
    let pca = IncompletePca::new(2);
    let expected = pca.fit(&data).unwrap();
    let close = |what: &str, found: &[f64], factor: f64, tol: f64| {
        for (found, expected) in found.iter().zip(expected.feature_noise_variance()) {
            assert!((found / expected / factor - 1.0).abs() < tol, "{what}: {found} {expected}");
        }
    };
    let times = |factor: f64| {
        let values: Vec<f64> = values.iter().map(|x| factor * x).collect();
        let data = Observed::from_dense(&Dense::row_major(&values, 120, 9).unwrap()).unwrap();
        pca.fit(&data).unwrap().feature_noise_variance()
    };
    close("times 1024", &times(1024.0), 1024.0 * 1024.0, 1e-9);
    let single: Vec<f32> = values.iter().map(|x| *x as f32).collect();
    let single = Observed::from_dense(&Dense::row_major(&single, 120, 9).unwrap()).unwrap();
    close("f32", &pca.fit(&single).unwrap().feature_noise_variance(), 1.0, 1e-2);
    let threads = pca.fit_with(&data, &Default::default(), &Run::threads(3)).unwrap();
    assert_eq!(threads.feature_noise_variance(), expected.feature_noise_variance());
}

#[test]
fn models_without_the_noise_of_features_have_the_noise_of_all() {
    let table = unequal(60, &[2.0], &deviations(6, 0.2, 1.2), 0.3, 4);
    let model = IncompletePca::new(1).fit(&observed(&table)).unwrap();
    assert!(model.predict(0, 0).unwrap().noise_variance < 0.3 * model.predict(0, 5).unwrap().noise_variance);
    let old = IncompleteParts { feature_noise_variance: None, ..model.parts().clone() };
    let old = IncompleteModel::try_from(old).unwrap();
    assert_eq!(old.feature_noise_variance(), [model.noise_variance(); 6]);
    assert_eq!(old.predict(0, 0).unwrap().noise_variance, model.noise_variance());
    let without =
        IncompletePca { error_bars: false, ..IncompletePca::new(1) }.fit(&observed(&table)).unwrap();
    assert_eq!(without.parts().feature_noise_variance, None);
}
