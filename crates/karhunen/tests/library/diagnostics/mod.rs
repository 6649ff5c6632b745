//! Diagnostics against their definitions, computed plainly from dense rows, and the calibration of limits and tests.

mod calibration;
mod incomplete;
mod left_out;
mod resampling;

use karhunen::diagnostics::{
    self, Adjust, Rows as RowKind, SpeDistribution, SpeLimit, adjusted, contributions, cos2, features,
    row_contributions, samples, t2_limit,
};
use karhunen::pca::{Centring, Scaling};
use karhunen::{Dense, Error, Matrix, NComponents, Pca, PcaModel, Run, Sparse, Weighting, Weights};
use karhunen_testkit::{
    Columns, SparseArrays, gaussian, integer_weights, planted, repeat_rows, row_major, sparse,
    uniform_weights, weighted_pca,
};

type Table = Vec<Vec<f64>>;

/// Correlations by frequency weights.
fn correlations(
    scores: &Matrix,
    variables: &Matrix,
    weights: Option<&[f64]>,
) -> karhunen::Result<diagnostics::Correlations> {
    diagnostics::correlations(scores, variables, (weights, Weighting::Frequency), &Run::default())
}

/// Categories by frequency weights.
fn categories(
    scores: &Matrix,
    codes: &[Option<usize>],
    n_categories: usize,
    weights: Option<&[f64]>,
) -> karhunen::Result<diagnostics::Categories> {
    diagnostics::categories(scores, (codes, n_categories), (weights, Weighting::Frequency))
}

fn fit(pca: &Pca, rows: &Table, weights: &Weights<'_>) -> PcaModel {
    let values = row_major(rows);
    pca.fit(&Dense::row_major(&values, rows.len(), rows[0].len()).unwrap(), weights).unwrap()
}

fn close(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance * expected.abs().max(1.0),
        "{what}: {found}, not {expected}"
    );
}

/// Rows as the model maps them, by the definition.
fn mapped(model: &PcaModel, rows: &Table) -> Table {
    let weight = |j: usize| model.feature_weights().map_or(1.0, |w| w[j]);
    rows.iter()
        .map(|row| {
            (0..row.len()).map(|j| (row[j] - model.mean()[j]) / model.scale()[j] * weight(j).sqrt()).collect()
        })
        .collect()
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Options, rows, weights of rows and of columns.
type Case = (Pca, Table, Option<Vec<f64>>, Option<Vec<f64>>);

/// Fits with and without scaling, weights of rows and columns, and centring.
fn fits() -> Vec<Case> {
    let rows = planted(40, 7, &[9.0, 4.0, 2.0, 1.0, 0.5, 0.3, 0.1], 3.0, 1).rows;
    let of_rows = uniform_weights(40, 2).iter().map(|w| w + 0.5).collect::<Vec<_>>();
    let of_columns = vec![1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 0.25];
    let pca = Pca { n_components: NComponents::Count(3), ..Pca::default() };
    let mut out = Vec::new();
    let given = Centring::Given(vec![2.0, -1.0, 0.0, 5.0, 1.0, 0.5, 3.0]);
    for scale in [Scaling::None, Scaling::Deviation, Scaling::Pareto] {
        for center in [Centring::None, Centring::Mean, given.clone()] {
            for weighting in [Weighting::Frequency, Weighting::Importance, Weighting::Population] {
                for (weights, columns) in [(None, None), (Some(of_rows.clone()), Some(of_columns.clone()))] {
                    out.push((
                        Pca { scale: scale.clone(), center: center.clone(), weighting, ..pca.clone() },
                        rows.clone(),
                        weights,
                        columns,
                    ));
                }
            }
        }
    }
    out
}

#[test]
fn rows_have_the_values_of_the_definition() {
    for (pca, rows, weights, columns) in fits() {
        let given = Weights { samples: weights.as_deref(), features: columns.as_deref() };
        let model = fit(&pca, &rows, &given);
        let (values, k) = (row_major(&rows), model.n_components());
        let x = Dense::row_major(&values, 40, 7).unwrap();
        let found = samples(&model, &x).unwrap();
        let shares = contributions(&found.scores, model.explained_variance(), weights.as_deref()).unwrap();
        let (cos2, leverage) = (cos2(&found.scores, &found.distance2), &found.leverage);
        let terms = row_contributions(&model, &x, &Run::default()).unwrap();
        let weight = |i: usize| weights.as_ref().map_or(1.0, |w| w[i]);
        let scores: Table = mapped(&model, &rows)
            .iter()
            .map(|m| (0..k).map(|c| dot(model.components().row(c), m)).collect())
            .collect();
        for (i, m) in mapped(&model, &rows).iter().enumerate() {
            let t2: f64 = (0..k).map(|c| scores[i][c].powi(2) / model.explained_variance()[c]).sum();
            close("T2", found.t2[i], t2, 1e-12);
            let residual: Vec<f64> = (0..7)
                .map(|j| m[j] - (0..k).map(|c| scores[i][c] * model.components()[(c, j)]).sum::<f64>())
                .collect();
            close("Q", found.spe[i], dot(&residual, &residual), 1e-12);
            close("distance", found.distance2[i], dot(m, m), 1e-12);
            close("sum of terms", terms.t2.row(i).iter().sum(), t2, 1e-11);
            for (j, residual) in residual.iter().enumerate() {
                close("residual", terms.residuals[(i, j)], *residual, 1e-12);
                let share: f64 = (0..k)
                    .map(|c| scores[i][c] / model.explained_variance()[c] * model.components()[(c, j)])
                    .sum();
                close("term", terms.t2[(i, j)], share * m[j], 1e-11);
            }
            let centred = pca.center == Centring::Mean;
            let mut of_row = if centred { f64::NAN } else { 0.0 };
            for c in 0..k {
                close("cos2", cos2[(i, c)], scores[i][c].powi(2) / dot(m, m), 1e-12);
                let total: f64 = (0..40).map(|i| weight(i) * scores[i][c].powi(2)).sum();
                close("contribution", shares[(i, c)], weight(i) * scores[i][c].powi(2) / total, 1e-11);
                of_row += scores[i][c].powi(2) / total;
            }
            if pca.weighting != Weighting::Importance {
                let total: f64 = (0..40).map(weight).sum();
                let squares: f64 = (0..40).map(|i| weight(i).powi(2)).sum();
                // Counts are observations; the weights of a population are worth their effective number.
                let worth =
                    if pca.weighting == Weighting::Population { total.powi(2) / squares } else { total };
                if centred {
                    of_row = 1.0 / total
                        + (0..k)
                            .map(|c| {
                                let sum: f64 = (0..40).map(|i| weight(i) * scores[i][c].powi(2)).sum();
                                scores[i][c].powi(2) / sum
                            })
                            .sum::<f64>();
                }
                close("leverage", leverage[i], of_row * total / worth, 1e-11);
            }
        }
    }
}

#[test]
fn features_have_the_values_of_the_definition() {
    for (pca, rows, weights, columns) in fits() {
        let given = Weights { samples: weights.as_deref(), features: columns.as_deref() };
        let model = fit(&pca, &rows, &given);
        let found = features(&model).unwrap();
        let maps = mapped(&model, &rows);
        let weight = |i: usize| weights.as_ref().map_or(1.0, |w| w[i]);
        let product = |x: &dyn Fn(usize) -> f64, y: &dyn Fn(usize) -> f64| -> f64 {
            (0..40).map(|i| weight(i) * x(i) * y(i)).sum()
        };
        for j in 0..7 {
            let value = |i: usize| maps[i][j];
            let mut sum = 0.0;
            for c in 0..model.n_components() {
                let score = |i: usize| dot(model.components().row(c), &maps[i]);
                let r = product(&value, &score) / (product(&value, &value) * product(&score, &score)).sqrt();
                close("correlation", found.correlations[(j, c)], r, 1e-11);
                close("cos2", found.cos2[(j, c)], r * r, 1e-11);
                close("contribution", found.contributions[(j, c)], model.components()[(c, j)].powi(2), 1e-15);
                sum += r * r;
            }
            close("communality", found.communalities[j], sum, 1e-11);
        }
    }
}

#[test]
fn rotated_features_have_the_values_of_the_definition() {
    use karhunen::rotation::{Criterion, Oblimin, Orthomax, RotatedModel};
    for (pca, rows, weights, columns) in fits() {
        let given = Weights { samples: weights.as_deref(), features: columns.as_deref() };
        let model = fit(&pca, &rows, &given);
        let (values, maps) = (row_major(&rows), mapped(&model, &rows));
        let x = Dense::row_major(&values, 40, 7).unwrap();
        let weight = |i: usize| weights.as_ref().map_or(1.0, |w| w[i]);
        let product = |x: &dyn Fn(usize) -> f64, y: &dyn Fn(usize) -> f64| -> f64 {
            (0..40).map(|i| weight(i) * x(i) * y(i)).sum()
        };
        let before = features(&model).unwrap();
        for criterion in [Criterion::Orthomax(Orthomax::varimax()), Criterion::Oblimin(Oblimin::default())] {
            let oblique = matches!(criterion, Criterion::Oblimin(_));
            let rotated = RotatedModel::new(model.clone(), None, criterion, &Run::default()).unwrap();
            let scores = rotated.transform_with(&x, &Run::default()).unwrap();
            let found = diagnostics::rotated_features(&rotated).unwrap();
            for j in 0..7 {
                let value = |i: usize| maps[i][j];
                for c in 0..3 {
                    let score = |i: usize| scores[(i, c)];
                    let r =
                        product(&value, &score) / (product(&value, &value) * product(&score, &score)).sqrt();
                    close("correlation", found.correlations[(j, c)], r, 1e-10);
                    close("cos2", found.cos2[(j, c)], r * r, 1e-10);
                    if !oblique {
                        // The variance of a score is one, of the projection of a feature r squared times its own.
                        let all: f64 = (0..7).map(|l| product(&|i| maps[i][l], &score).powi(2)).sum();
                        close(
                            "contribution",
                            found.contributions[(j, c)],
                            product(&value, &score).powi(2) / all,
                            1e-10,
                        );
                    }
                }
                close("communality", found.communalities[j], before.communalities[j], 1e-10);
            }
            for c in 0..3 {
                close("sum", (0..7).map(|j| found.contributions[(j, c)]).sum(), 1.0, 1e-10);
            }
        }
    }
}

#[test]
fn a_weight_of_three_counts_as_three_rows() {
    let rows = gaussian(30, 5, 4);
    let counts = integer_weights(30, 4, 5).iter().map(|w| w + 1).collect::<Vec<u32>>();
    let weights: Vec<f64> = counts.iter().map(|w| f64::from(*w)).collect();
    let repeated = repeat_rows(&rows, &counts);
    let pca = Pca { n_components: NComponents::Count(2), scale: true.into(), ..Pca::default() };
    let (model, other) =
        (fit(&pca, &rows, &Weights::of_samples(&weights)), fit(&pca, &repeated, &Weights::default()));
    let level = |model: &PcaModel, rows| t2_limit(model, 0.95, rows).unwrap();
    for rows in [RowKind::Fitted, RowKind::New] {
        close("limit", level(&model, rows), level(&other, rows), 1e-12);
    }
    let (few, many) = (features(&model).unwrap(), features(&other).unwrap());
    for (x, y) in few.cos2.as_slice().iter().zip(many.cos2.as_slice()) {
        close("cos2", *x, *y, 1e-11);
    }
    let scores = |model: &PcaModel, rows: &Table| {
        let values = row_major(rows);
        model.transform(&Dense::row_major(&values, rows.len(), 5).unwrap()).unwrap()
    };
    let (few, many) = (scores(&model, &rows), scores(&other, &repeated));
    let codes = |n: usize, of: &dyn Fn(usize) -> usize| (0..n).map(|i| Some(of(i) % 3)).collect::<Vec<_>>();
    let origin: Vec<usize> =
        counts.iter().enumerate().flat_map(|(i, w)| std::iter::repeat_n(i, *w as usize)).collect();
    let one = categories(&few, &codes(30, &|i| i), 3, Some(&weights)).unwrap();
    let all = categories(&many, &codes(origin.len(), &|i| origin[i]), 3, None).unwrap();
    for (x, y) in one.v_tests.as_slice().iter().zip(all.v_tests.as_slice()) {
        close("v test", *x, *y, 1e-9);
    }
    for (x, y) in one.eta2_p_values.iter().zip(&all.eta2_p_values) {
        close("p", *x, *y, 1e-9);
    }
    let z = Matrix::from_fn(30, 1, |i, _| (i * i % 7) as f64);
    let z_all = Matrix::from_fn(origin.len(), 1, |i, _| (origin[i] * origin[i] % 7) as f64);
    let one = correlations(&few, &z, Some(&weights)).unwrap();
    let all = correlations(&many, &z_all, None).unwrap();
    for c in 0..2 {
        close("correlation", one.correlations[(0, c)], all.correlations[(0, c)], 1e-11);
        close("p", one.p_values[(0, c)], all.p_values[(0, c)], 1e-9);
    }
}

#[test]
fn sparse_rows_and_single_precision_agree() {
    let arrays = sparse(60, 12, 0.3, Columns::Uniform, 3);
    let rows = arrays.to_rows();
    let values = row_major(&rows);
    let dense = Dense::row_major(&values, 60, 12).unwrap();
    let by_rows = Sparse::csr(60, 12, &arrays.indptr, &arrays.indices, &arrays.values).unwrap();
    let columns = arrays.by_columns();
    let by_columns = Sparse::csc(60, 12, &columns.indptr, &columns.indices, &columns.values).unwrap();
    // All components: the rows lie in the plane, and differences of lengths have no digit.
    for n_components in [NComponents::Count(4), NComponents::All] {
        let pca = Pca { n_components, scale: true.into(), ..Pca::default() };
        let model = pca.fit(&dense, &Weights::default()).unwrap();
        let one = samples(&model, &dense).unwrap();
        let [two, three] = [&by_rows, &by_columns].map(|x| samples(&model, x).unwrap());
        let singles: Vec<f32> = values.iter().map(|x| *x as f32).collect();
        let single = samples(&model, &Dense::row_major(&singles, 60, 12).unwrap()).unwrap();
        for i in 0..60 {
            let size = one.distance2[i];
            for other in [&two, &three] {
                assert!((one.spe[i] - other.spe[i]).abs() <= 1e-13 * size);
                close("T2", other.t2[i], one.t2[i], 1e-12);
            }
            assert!((one.spe[i] - single.spe[i]).abs() <= 1e-3 * one.spe[i] + 1e-9 * size);
            if n_components == NComponents::All {
                assert!(one.spe[i] >= 0.0 && one.spe[i] < 1e-24 * size, "{} of {size}", one.spe[i]);
            }
        }
    }
}

#[test]
fn diagnostics_of_the_oracle_are_the_same() {
    let rows = gaussian(25, 6, 9);
    let weights = uniform_weights(25, 8).iter().map(|w| w + 0.1).collect::<Vec<_>>();
    let options = karhunen_testkit::Options {
        sample_weights: Some(&weights),
        feature_weights: None,
        center: true,
        scale: true,
        weighting: karhunen_testkit::Weighting::Importance,
    };
    let expected = weighted_pca(&rows, &options);
    let pca = Pca {
        n_components: NComponents::Count(2),
        scale: true.into(),
        weighting: Weighting::Importance,
        ..Pca::default()
    };
    let model = fit(&pca, &rows, &Weights::of_samples(&weights));
    let values = row_major(&rows);
    let found = samples(&model, &Dense::row_major(&values, 25, 6).unwrap()).unwrap();
    let standardized = expected.standardized(&rows);
    let fitted = expected.transform(&rows);
    for i in 0..25 {
        let squares = dot(&standardized[i], &standardized[i]);
        let kept = fitted[i][0].powi(2) + fitted[i][1].powi(2);
        close("Q", found.spe[i], squares - kept, 1e-11);
    }
    let shares = contributions(&found.scores, model.explained_variance(), Some(&weights)).unwrap();
    for c in 0..2 {
        close("sum of contributions", (0..25).map(|i| shares[(i, c)]).sum(), 1.0, 1e-11);
    }
}

#[test]
fn missing_values_of_supplementary_variables_leave_out_their_rows() {
    let scores = Matrix::from_fn(5, 1, |i, _| [1.0, 2.0, 3.0, 4.0, 10.0][i]);
    let z = Matrix::from_fn(5, 2, |i, j| if i == 4 { f64::NAN } else { [i as f64, 7.0][j] });
    let found = correlations(&scores, &z, None).unwrap();
    close("correlation", found.correlations[(0, 0)], 1.0, 1e-15);
    assert!(found.p_values[(0, 0)] < 1e-12);
    assert_eq!(found.n_observed, [4.0, 4.0]);
    // A constant has none.
    assert!(found.correlations[(1, 0)].is_nan() && found.p_values[(1, 0)].is_nan());
    let codes = [Some(0), Some(0), Some(2), Some(2), None];
    let found = categories(&scores, &codes, 3, None).unwrap();
    assert_eq!(found.barycentres[(0, 0)], 1.5);
    assert!(found.barycentres[(1, 0)].is_nan());
    close("eta2", found.eta2[0], 0.8, 1e-15);
    assert_eq!(adjusted(&[0.5, f64::NAN], Adjust::Holm)[0], 0.5);
}

#[test]
fn what_is_undefined_is_not_a_number() {
    // A constant column, a column of weight zero, and a row at the mean.
    let rows: Table =
        [[0.0, 0.0, 1.0], [1.0, 2.0, 1.0], [-1.0, -2.0, 1.0], [3.0, 1.0, 1.0], [-3.0, -1.0, 1.0]]
            .map(Vec::from)
            .into();
    let model = fit(&Pca::new(1), &rows, &Weights::default());
    let found = features(&model).unwrap();
    assert!(found.communalities[2].is_nan() && found.correlations[(2, 0)].is_nan());
    assert!(found.communalities[0] > 0.5 && found.communalities[0] <= 1.0);
    let weighted = Weights { samples: None, features: Some(&[1.0, 0.0, 1.0]) };
    assert!(features(&fit(&Pca::new(1), &rows, &weighted)).unwrap().communalities[1].is_nan());
    let values = row_major(&rows);
    let of_rows = samples(&model, &Dense::row_major(&values, 5, 3).unwrap()).unwrap();
    let shares = cos2(&of_rows.scores, &of_rows.distance2);
    assert!(shares[(0, 0)].is_nan() && shares[(1, 0)] > 0.5);
    // A component without variance has no contributions.
    let all = fit(&Pca::new(3), &rows, &Weights::default());
    let scores = samples(&all, &Dense::row_major(&values, 5, 3).unwrap()).unwrap().scores;
    let shares = contributions(&scores, all.explained_variance(), None).unwrap();
    for i in 0..5 {
        assert!(shares[(i, 0)].is_finite() && shares[(i, 2)].is_nan());
    }
    // A constant whose mean is rounded, and scores without variance.
    let scores = Matrix::from_fn(178, 1, |i, _| (i % 7) as f64);
    let constant = correlations(&scores, &Matrix::from_fn(178, 1, |_, _| 0.1), None).unwrap();
    assert!(constant.correlations[(0, 0)].is_nan() && constant.p_values[(0, 0)].is_nan());
    let codes: Vec<Option<usize>> = (0..178).map(|i| Some(i % 2)).collect();
    let flat = categories(&Matrix::from_fn(178, 1, |_, _| 0.1), &codes, 2, None).unwrap();
    assert!(flat.eta2[0].is_nan() && flat.v_tests[(0, 0)].is_nan());
    close("barycentre", flat.barycentres[(0, 0)], 0.1, 1e-15);
    let unknown = categories(&scores, &[None; 178], 2, None).unwrap();
    assert!(unknown.eta2[0].is_nan() && unknown.barycentres[(0, 0)].is_nan());
}

#[test]
fn units_change_nothing() {
    let rows = gaussian(50, 6, 3);
    let limits = |scale: f64| {
        let scaled: Table = rows.iter().map(|row| row.iter().map(|x| x * scale).collect()).collect();
        let model = fit(&Pca::new(2), &scaled, &Weights::default());
        let values = row_major(&scaled);
        let found = samples(&model, &Dense::row_major(&values, 50, 6).unwrap()).unwrap();
        let spread = SpeDistribution::of_rows(&found.spe, &found.distance2, None).unwrap();
        [SpeLimit::Box, SpeLimit::JacksonMudholkar]
            .map(|how| spread.limit(0.99, how).unwrap() / scale / scale)
    };
    let expected = limits(1.0);
    for scale in [1e-100, 1e-30, 1e30, 1e100, 1e150] {
        for (found, expected) in limits(scale).iter().zip(expected) {
            close("limit", *found / expected, 1.0, 1e-9);
        }
    }
    let scores = Matrix::from_fn(50, 1, |i, _| rows[i][0]);
    let codes: Vec<Option<usize>> = (0..50).map(|i| Some(i % 3)).collect();
    let eta2 = categories(&scores, &codes, 3, None).unwrap().eta2[0];
    let r = correlations(&scores, &Matrix::from_fn(50, 1, |i, _| rows[i][1]), None).unwrap();
    for scale in [1e-165, 1e-160, 1e160, 1e300] {
        let variable = Matrix::from_fn(50, 1, |i, _| rows[i][1] * scale);
        let found = correlations(&scores, &variable, None).unwrap();
        close("correlation", found.correlations[(0, 0)], r.correlations[(0, 0)], 1e-12);
        let scaled = Matrix::from_fn(50, 1, |i, _| rows[i][0] * scale);
        close("eta2", categories(&scaled, &codes, 3, None).unwrap().eta2[0], eta2, 1e-12);
    }
}

#[test]
fn weights_have_the_meanings_of_a_fit() {
    let rows = gaussian(40, 3, 6);
    let raw: Vec<f64> = uniform_weights(40, 7).iter().map(|w| w + 0.2).collect();
    let sum: f64 = raw.iter().sum();
    let normalised: Vec<f64> = raw.iter().map(|w| w / sum).collect();
    let scores = Matrix::from_fn(40, 1, |i, _| rows[i][0]);
    let variable = Matrix::from_fn(40, 1, |i, _| rows[i][1]);
    let codes: Vec<Option<usize>> = (0..40).map(|i| Some(i % 2)).collect();
    let p_value = |weights: &[f64], weighting| {
        let weights = (Some(weights), weighting);
        let r = diagnostics::correlations(&scores, &variable, weights, &Run::default())?.p_values[(0, 0)];
        Ok::<_, Error>([r, diagnostics::categories(&scores, (&codes, 2), weights)?.eta2_p_values[0]])
    };
    // A constant factor changes nothing for importance, and frequencies of less than two rows are refused.
    for weighting in [Weighting::Importance, Weighting::Population] {
        let (one, two) = (p_value(&raw, weighting).unwrap(), p_value(&normalised, weighting).unwrap());
        for (one, two) in one.iter().zip(two) {
            close("p", *one, two, 1e-12);
        }
    }
    assert!(matches!(p_value(&normalised, Weighting::Frequency), Err(Error::FrequencyTooSmall { .. })));
    // Equal importance weights are as none.
    let equal = p_value(&[0.025; 40], Weighting::Importance).unwrap();
    let plain = correlations(&scores, &variable, None).unwrap().p_values[(0, 0)];
    close("p of equal weights", equal[0], plain, 1e-12);
    // Contributions sum to one whatever the unit of importance weights.
    let model = fit(
        &Pca { weighting: Weighting::Importance, ..Pca::new(2) },
        &rows,
        &Weights::of_samples(&normalised),
    );
    let values = row_major(&rows);
    let found = samples(&model, &Dense::row_major(&values, 40, 3).unwrap()).unwrap();
    for weights in [&raw, &normalised] {
        let shares = contributions(&found.scores, model.explained_variance(), Some(weights)).unwrap();
        close("sum", (0..40).map(|i| shares[(i, 0)]).sum(), 1.0, 1e-12);
    }
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let weights = vec![bad; 40];
        let refused = |error: Error| {
            let error = error.to_string();
            assert!(error.starts_with("sample weights: "), "{error}");
        };
        refused(p_value(&weights, Weighting::Importance).unwrap_err());
        refused(contributions(&found.scores, model.explained_variance(), Some(&weights)).unwrap_err());
        refused(SpeDistribution::of_rows(&found.spe, &found.distance2, Some(&weights)).unwrap_err());
    }
}

#[test]
fn a_model_of_all_variance_has_no_limit() {
    let rows = gaussian(50, 6, 3);
    let model = fit(&Pca::new(6), &rows, &Weights::default());
    let values = row_major(&rows);
    let found = samples(&model, &Dense::row_major(&values, 50, 6).unwrap()).unwrap();
    let spread = SpeDistribution::of_rows(&found.spe, &found.distance2, None).unwrap();
    assert_eq!(spread, SpeDistribution::of_variances(&[]));
    assert_eq!(spread.limit(0.99, SpeLimit::Box).unwrap(), f64::INFINITY);
}

#[test]
fn sparse_columns_far_from_zero_keep_their_distances() {
    // Full columns with a mean of 1e9: the difference to a row of zeros has no digit.
    let rows: Table = gaussian(30, 4, 2).iter().map(|row| row.iter().map(|x| x + 1e9).collect()).collect();
    let arrays = SparseArrays::of_rows(&rows);
    let values = row_major(&rows);
    let dense = Dense::row_major(&values, 30, 4).unwrap();
    let model = Pca::new(2).fit(&dense, &Weights::default()).unwrap();
    let expected = samples(&model, &dense).unwrap();
    let by_rows = Sparse::csr(30, 4, &arrays.indptr, &arrays.indices, &arrays.values).unwrap();
    let columns = arrays.by_columns();
    let by_columns = Sparse::csc(30, 4, &columns.indptr, &columns.indices, &columns.values).unwrap();
    for x in [by_rows, by_columns] {
        let found = samples(&model, &x).unwrap();
        for i in 0..30 {
            close("distance", found.distance2[i], expected.distance2[i], 1e-12);
        }
    }
}

#[test]
fn bad_arguments_are_refused_by_name() {
    let rows = gaussian(10, 3, 1);
    let model = fit(&Pca::new(2), &rows, &Weights::default());
    for level in [0.0, 1.0, f64::NAN, -1.0] {
        let error = t2_limit(&model, level, RowKind::New).unwrap_err();
        assert!(error.to_string().contains("level"), "{error}");
    }
    let few = fit(&Pca::new(2), &gaussian(3, 3, 1), &Weights::default());
    assert!(matches!(t2_limit(&few, 0.95, RowKind::New), Err(Error::Degenerate { .. })));
    let scores = Matrix::zeros(10, 2);
    let infinite = Matrix::from_fn(10, 1, |i, _| if i == 4 { f64::INFINITY } else { 1.0 });
    assert!(matches!(
        correlations(&scores, &infinite, None),
        Err(Error::NonFinite { row: 4, column: 0, .. })
    ));
    assert!(matches!(correlations(&scores, &Matrix::zeros(9, 1), None), Err(Error::Shape { .. })));
    assert!(matches!(categories(&scores, &[Some(3); 10], 3, None), Err(Error::Degenerate { index: 0, .. })));
    let values = row_major(&gaussian(4, 2, 1));
    let x = Dense::row_major(&values, 4, 2).unwrap();
    assert!(matches!(samples(&model, &x), Err(Error::Shape { .. })));
    assert!(matches!(row_contributions(&model, &x, &Run::default()), Err(Error::Shape { .. })));
}
