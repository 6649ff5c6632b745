//! Distances of rows with missing values, against dense algebra and simulated rows.

use karhunen::diagnostics::{
    self, Rows, SpeScale, incomplete_features, incomplete_row_contributions, incomplete_samples,
};
use karhunen::incomplete::{Method, NoiseModel};
use karhunen::{Dense, IncompleteModel, IncompletePca, Matrix, Observed, Pca, Run, Weights};
use karhunen_testkit::{gaussian, row_major};

use crate::diagnostics::{Table, close, dot};

pub(crate) fn observed(rows: &Table) -> Observed<f64> {
    let values = row_major(rows);
    Observed::from_dense(&Dense::row_major(&values, rows.len(), rows[0].len()).unwrap()).unwrap()
}

/// Rows of three components and noise, with a share of their entries missing.
pub(crate) fn rows(seed: u64, n: usize, missing: f64) -> Table {
    const P: usize = 12;
    let loadings = gaussian(P, 3, 1);
    let (scores, noise, hidden) = (gaussian(n, 3, seed), gaussian(n, P, seed + 1), gaussian(n, P, seed + 2));
    let threshold = quantile(missing);
    let value = |i: usize, j: usize| {
        let fit: f64 = (0..3).map(|k| scores[i][k] * loadings[j][k] * (3 - k) as f64).sum();
        if hidden[i][j] < threshold { f64::NAN } else { 5.0 + fit + 0.5 * noise[i][j] }
    };
    (0..n).map(|i| (0..P).map(|j| value(i, j)).collect()).collect()
}

/// Quantiles of the normal distribution for the shares of missing entries that the tests use.
fn quantile(share: f64) -> f64 {
    match share {
        0.0 => f64::NEG_INFINITY,
        0.3 => -0.524_400_512_708,
        _ => panic!("the quantile of {share} is not known"),
    }
}

pub(crate) fn fit(method: Method, rows: &Table) -> IncompleteModel {
    let pca = IncompletePca { method, tol: 1e-10, max_iter: 20_000, ..IncompletePca::new(3) };
    pca.fit(&observed(rows)).unwrap()
}

/// The solution of a small system by elimination with pivots.
fn solved(mut a: Table, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|x, y| a[*x][k].abs().total_cmp(&a[*y][k].abs())).unwrap();
        a.swap(k, pivot);
        b.swap(k, pivot);
        let (row, right) = (a[k].clone(), b[k]);
        for (line, b) in a.iter_mut().zip(&mut b).skip(k + 1) {
            let factor = line[k] / row[k];
            line.iter_mut().zip(&row).for_each(|(x, y)| *x -= factor * y);
            *b -= factor * right;
        }
    }
    for k in (0..n).rev() {
        b[k] = (b[k] - dot(&a[k][k + 1..], &b[k + 1..])) / a[k][k];
    }
    b
}

#[test]
fn complete_rows_have_the_distances_of_pca() {
    let x = rows(11, 200, 0.0);
    let values = row_major(&x);
    let dense = Dense::row_major(&values, x.len(), x[0].len()).unwrap();
    let pca = Pca::new(3).fit(&dense, &Weights::default()).unwrap();
    let expected = diagnostics::samples(&pca, &dense).unwrap();
    let of_features = diagnostics::features(&pca).unwrap();
    for (method, tolerance) in [(Method::Em, 1e-6), (Method::Ppca, 0.02)] {
        let model = fit(method, &x);
        let found = incomplete_samples(&model, &observed(&x), &Run::default()).unwrap();
        for i in 0..x.len() {
            assert_eq!((found.t2_degrees[i], found.spe_degrees[i]), (3, 9));
            close("T2", found.t2[i], expected.t2[i], tolerance);
            close("SPE", found.spe[i], expected.spe[i], tolerance);
            close("distance", found.distance2[i], expected.distance2[i], tolerance);
        }
        let spread = diagnostics::SpeDistribution::of_rows(&expected.spe, &expected.distance2, None).unwrap();
        let limit = spread.limit(0.95, diagnostics::SpeLimit::Box).unwrap();
        let scale = SpeScale::of_rows(&found, None).unwrap();
        close("limit", scale.limits(&found, 0.95).unwrap()[0], limit, tolerance);
        let t2_limit = diagnostics::t2_limit(&pca, 0.95, Rows::New).unwrap();
        assert_eq!(found.t2_limits(&model, 0.95, Rows::New).unwrap()[7], t2_limit);
        let features = incomplete_features(&model);
        for (found, expected) in
            features.correlations.as_slice().iter().zip(of_features.correlations.as_slice())
        {
            // Learned variances leave out the noise.
            close("correlation", *found, *expected, tolerance.max(1e-6) * 4.0);
        }
        if method == Method::Em {
            for (found, expected) in features.communalities.iter().zip(&of_features.communalities) {
                close("communality", *found, *expected, 1e-6);
            }
        }
    }
}

/// `x' (V S V' + v I)^-1 x` of the observed entries is T² and the error over the noise variance; the error refers to
/// the nearest point of the plane.
#[test]
fn distances_add_up_to_the_distance_of_the_density() {
    let x = rows(21, 300, 0.3);
    let model = fit(Method::Ppca, &x);
    let found = incomplete_samples(&model, &observed(&x), &Run::default()).unwrap();
    let noise = model.noise_variance();
    let terms = incomplete_row_contributions(&model, &observed(&x), &Run::default()).unwrap();
    let v = model.components();
    for (i, row) in x.iter().enumerate().take(40) {
        let seen: Vec<usize> = (0..row.len()).filter(|j| !row[*j].is_nan()).collect();
        let mean =
            |j: usize| model.mean()[j] + (0..3).map(|k| v[(k, j)] * model.parts().prior.mean[k]).sum::<f64>();
        let away: Vec<f64> = seen.iter().map(|j| row[*j] - mean(*j)).collect();
        let prior: Table = (0..3).map(|k| model.parts().prior.precision.row(k).to_vec()).collect();
        // S V' of the observed entries.
        let spread: Table = seen
            .iter()
            .map(|j| solved(prior.clone(), (0..3).map(|k| noise * v[(k, *j)]).collect()))
            .collect();
        let covariance: Table = seen
            .iter()
            .enumerate()
            .map(|(a, j)| {
                (0..seen.len())
                    .map(|b| {
                        let shared: f64 = (0..3).map(|k| v[(k, *j)] * spread[b][k]).sum();
                        shared + if a == b { noise } else { 0.0 }
                    })
                    .collect()
            })
            .collect();
        let whole = dot(&away, &solved(covariance, away.clone()));
        close("sum", found.t2[i] + found.spe[i] / noise, whole, 1e-7);
        let gram: Table = (0..3)
            .map(|k| (0..3).map(|l| seen.iter().map(|j| v[(k, *j)] * v[(l, *j)]).sum()).collect())
            .collect();
        let right: Vec<f64> =
            (0..3).map(|k| seen.iter().zip(&away).map(|(j, a)| v[(k, *j)] * a).sum()).collect();
        if seen.len() > 3 {
            let scores = solved(gram, right);
            let error: f64 = seen
                .iter()
                .zip(&away)
                .map(|(j, a)| (a - (0..3).map(|k| v[(k, *j)] * scores[k]).sum::<f64>()).powi(2))
                .sum();
            close("SPE", found.spe[i], error, 1e-8);
        }
        let finite =
            |values: &[f64]| -> Vec<f64> { values.iter().copied().filter(|t| !t.is_nan()).collect() };
        let (of_t2, left) = (finite(terms.t2.row(i)), finite(terms.residuals.row(i)));
        assert_eq!((of_t2.len(), left.len()), (seen.len(), seen.len()));
        close("terms", of_t2.iter().sum(), found.t2[i], 1e-8);
        close("residuals", left.iter().map(|r| r * r).sum(), found.spe[i], 1e-8);
    }
}

#[test]
fn rows_with_few_entries_have_fewer_degrees() {
    let x = rows(31, 200, 0.3);
    let model = fit(Method::Ppca, &x);
    let mut few = vec![vec![f64::NAN; 12]; 3];
    (few[1][4], few[2][1], few[2][7]) = (9.0, 4.0, 7.0);
    let found = incomplete_samples(&model, &observed(&few), &Run::default()).unwrap();
    assert_eq!(found.t2_degrees, [0, 1, 2]);
    assert_eq!(found.spe_degrees, [0, 0, 0]);
    assert!([found.t2[0], found.spe[0], found.distance2[0]].iter().all(|zero| zero.to_bits() == 0));
    let v = model.components();
    let variance: f64 = (0..3)
        .map(|k| v[(k, 4)].powi(2) * model.noise_variance() / model.parts().prior.precision[(k, k)])
        .sum::<f64>()
        + model.noise_variance();
    close("one entry", found.t2[1], (9.0 - model.mean()[4]).powi(2) / variance, 1e-2);
    assert!(found.spe.iter().all(|spe| *spe < 1e-9));
    assert!(found.t2_p_values(&model, Rows::New)[0].is_nan());
    assert_eq!(SpeScale::of_model(&model).limits(&found, 0.95).unwrap(), [f64::INFINITY; 3]);
}

/// A model keeps the scale of errors of new rows that its rows give, whatever its units, weights, offsets and noise.
#[test]
fn a_model_has_the_scale_of_its_rows() {
    let x = rows(81, 90, 0.3);
    let weights: Vec<f64> = (0..90).map(|i| f64::from(1 + i % 3)).collect();
    let options = IncompletePca { method: Method::Ppca, ..IncompletePca::new(2) };
    for (weights, pca) in [
        (None, options.clone()),
        (Some(&weights[..]), IncompletePca { scale: true.into(), ..options.clone() }),
        (Some(&weights[..]), IncompletePca { row_offsets: true, method: Method::Em, ..options.clone() }),
        (None, IncompletePca { noise: NoiseModel::Feature, ..options.clone() }),
    ] {
        let plain = observed(&x);
        let data = match weights {
            Some(weights) => plain.with_sample_weights(weights).unwrap(),
            None => plain,
        };
        let model = pca.fit(&data).unwrap();
        let found = incomplete_samples(&model, &data, &Run::default()).unwrap();
        let [kept, again] =
            [SpeScale::of_model(&model), SpeScale::of_left_out(&model, &found, weights).unwrap()];
        assert_eq!(kept.n_observations, weights.map_or(90.0, |w| w.iter().sum()));
        close("variance", kept.variance, again.variance, 1e-9);
        close("dispersion", kept.dispersion, again.dispersion, 1e-9);
        let plain = IncompletePca { error_bars: false, ..pca }.fit(&data).unwrap();
        assert!(SpeScale::of_model(&plain).n_observations.is_infinite());
    }
    // Rows without degrees of freedom say nothing of errors.
    let few = |i: usize, j: usize, value: f64| if i < 20 || j < 2 { value } else { f64::NAN };
    let x: Table = rows(81, 200, 0.0)
        .iter()
        .enumerate()
        .map(|(i, row)| row.iter().enumerate().map(|(j, value)| few(i, j, *value)).collect())
        .collect();
    assert_eq!(SpeScale::of_model(&options.fit(&observed(&x)).unwrap()).n_observations, 20.0);
}

#[test]
fn multiplicities_and_scales_change_distances_as_the_fit() {
    let x = rows(61, 120, 0.3);
    let weights: Vec<f64> = (0..120).map(|i| f64::from(1 + i % 3)).collect();
    let weighted = observed(&x).with_sample_weights(&weights).unwrap();
    let pca = IncompletePca { scale: true.into(), method: Method::Ppca, ..IncompletePca::new(2) };
    let model = pca.fit(&weighted).unwrap();
    let plain = incomplete_samples(&model, &observed(&x), &Run::default()).unwrap();
    let found = incomplete_samples(&model, &weighted, &Run::default()).unwrap();
    for i in 0..120 {
        close("T2", found.t2[i], plain.t2[i], 1e-9);
        close("SPE", found.spe[i], plain.spe[i], 1e-9);
    }
    // Other units change nothing.
    let units: Table = x
        .iter()
        .map(|row| row.iter().enumerate().map(|(j, v)| v * 10f64.powi(j as i32 - 6)).collect())
        .collect();
    let other = pca.fit(&observed(&units).with_sample_weights(&weights).unwrap()).unwrap();
    let of_units = incomplete_samples(&other, &observed(&units), &Run::default()).unwrap();
    let near = |a: &[f64], b: &[f64]| a.iter().zip(b).for_each(|(a, b)| close("units", *a, *b, 1e-4));
    near(&of_units.t2, &plain.t2);
    near(&of_units.spe, &plain.spe);
    let features: Matrix = incomplete_features(&other).correlations;
    near(features.as_slice(), incomplete_features(&model).correlations.as_slice());
}

/// Of a least-squares fit, distances are to the means, and T² has the variances of the scores without their noise.
#[test]
fn least_squares_scores_are_compared_with_their_variances() {
    let x = rows(61, 120, 0.3);
    // Few iterations: the prior of penalised methods, which plays no part here, is elsewhere.
    let model = IncompletePca { method: Method::Em, max_iter: 5, ..IncompletePca::new(3) };
    let model = model.fit(&observed(&x)).unwrap();
    let found = incomplete_samples(&model, &observed(&x), &Run::default()).unwrap();
    let (v, noise) = (model.components(), model.noise_variance());
    let counted = x.iter().flatten().filter(|value| !value.is_nan()).count() as f64;
    let share = counted / (120.0 * 12.0);
    for (i, row) in x.iter().enumerate() {
        let seen: Vec<usize> = (0..row.len()).filter(|j| !row[*j].is_nan()).collect();
        let away: Vec<f64> = seen.iter().map(|j| row[*j] - model.mean()[*j]).collect();
        close("distance", found.distance2[i], dot(&away, &away), 1e-10);
        let covariance = |j: usize, l: usize| -> f64 {
            let along = |k: usize| (model.explained_variance()[k] - noise / share) * v[(k, j)] * v[(k, l)];
            (0..3).map(along).sum::<f64>() + if j == l { noise } else { 0.0 }
        };
        let whole: Table = seen.iter().map(|j| seen.iter().map(|l| covariance(*j, *l)).collect()).collect();
        close("sum", found.t2[i] + found.spe[i] / noise, dot(&away, &solved(whole, away.clone())), 1e-7);
    }
}

/// Multiplicities of rows are repeated rows, for the number of rows in limits and for the variance of offsets.
#[test]
fn multiplicities_count_as_repeated_rows() {
    let x = rows(71, 60, 0.3);
    let counts: Vec<f64> = (0..60).map(|i| f64::from(i % 3 + 1)).collect();
    let repeated: Table =
        x.iter().zip(&counts).flat_map(|(row, count)| vec![row.clone(); *count as usize]).collect();
    for row_offsets in [false, true] {
        let pca = IncompletePca {
            method: Method::Em,
            row_offsets,
            tol: 1e-14,
            max_iter: 20_000,
            ..IncompletePca::new(2)
        };
        let data = observed(&x).with_sample_weights(&counts).unwrap();
        let models = [pca.fit(&data).unwrap(), pca.fit(&observed(&repeated)).unwrap()];
        let totals = models.each_ref().map(IncompleteModel::row_totals);
        assert_eq!(totals[0].samples, 120.0);
        assert_eq!(totals[0].entries, totals[1].entries);
        close("offsets", totals[0].offset_variance, totals[1].offset_variance, 1e-4);
        let found = models.each_ref().map(|model| {
            let found = incomplete_samples(model, &observed(&x), &Run::default()).unwrap();
            (found.t2_limits(model, 0.95, Rows::New).unwrap(), found.t2)
        });
        for i in 0..60 {
            close("limit", found[0].0[i], found[1].0[i], 1e-12);
            close("T2", found[0].1[i], found[1].1[i], 1e-4);
        }
        let features = models.each_ref().map(|model| incomplete_features(model).communalities);
        for (weighted, repeated) in features[0].iter().zip(&features[1]) {
            close("communality", *weighted, *repeated, 1e-4);
        }
    }
}
