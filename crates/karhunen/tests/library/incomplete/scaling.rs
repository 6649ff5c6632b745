//! Scaled columns and feature weights, compared with fits of entries multiplied beforehand.

use karhunen::incomplete::{
    CrossValidation, FitContext, IncompleteStream, MeanMode, MeanPrior, Method, Start, Triples,
};
use karhunen::pca::Scaling;
use karhunen::{Dense, Error, IncompleteModel, IncompletePca, NComponents, Observed, Pca, Run, Weights};
use karhunen_testkit::{Incomplete, largest, largest_difference, row_major, uniform_weights};

use crate::incomplete::fixtures::observed;

const SHAPE: (usize, usize) = (60, 8);

/// Entries whose columns have units from 1e-3 to 1e4, and are far from zero.
fn problem() -> Incomplete {
    let mut table = Incomplete::planted(SHAPE.0, SHAPE.1, &[3.0, 2.0], 0.5, 0.3, 21);
    let unit = |j: usize| 10_f64.powi(j as i32 - 3);
    for rows in [&mut table.complete, &mut table.noise_free] {
        for row in rows {
            row.iter_mut().enumerate().for_each(|(j, x)| *x = (*x + 5.0) * unit(j));
        }
    }
    table
}

/// Standard deviations of the observed entries, by their definition.
fn deviations(table: &Incomplete, about_mean: bool) -> Vec<f64> {
    let mut found = Vec::new();
    for j in 0..SHAPE.1 {
        let seen = table.entries(true).into_iter().filter(|(_, column, _)| *column == j);
        let values: Vec<f64> = seen.map(|(_, _, value)| value).collect();
        let n = values.len() as f64;
        let mean = if about_mean { values.iter().sum::<f64>() / n } else { 0.0 };
        found.push((values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt());
    }
    found
}

/// The entries times a factor of each column.
fn multiplied(table: &Incomplete, factors: &[f64]) -> Incomplete {
    let mut table = table.clone();
    for row in &mut table.complete {
        row.iter_mut().zip(factors).for_each(|(x, factor)| *x *= factor);
    }
    table
}

fn feature_weights() -> Vec<f64> {
    (0..SHAPE.1).map(|j| [1.0, 4.0, 0.25, 2.0][j % 4]).collect()
}

#[track_caller]
fn same(what: &str, found: &[f64], expected: &[f64]) {
    let size = largest(expected.iter().map(|x| x.abs()));
    let away = largest_difference(found, expected);
    assert!(away <= 1e-6 * size || away <= 1e-300, "{what}: {away} of {size}");
}

/// Compares a scaled model with the model of entries times `factors`.
fn same_in_units(what: &str, scaled: &IncompleteModel, multiplied: &IncompleteModel, factors: &[f64]) {
    let (a, b) = (scaled.parts(), multiplied.parts());
    same(&format!("{what}, components"), a.components.as_slice(), b.components.as_slice());
    same(&format!("{what}, scores"), a.scores.as_slice(), b.scores.as_slice());
    same(&format!("{what}, variances"), &a.explained_variance, &b.explained_variance);
    same(&format!("{what}, noise"), &[a.noise_variance], &[b.noise_variance]);
    for row in [0, 7, 31] {
        for (column, factor) in factors.iter().enumerate() {
            let (x, y) = (scaled.predict(row, column).unwrap(), multiplied.predict(row, column).unwrap());
            let here = format!("{what}, prediction of ({row}, {column})");
            same(&here, &[x.value * factor], &[y.value]);
            same(&here, &[x.std().unwrap() * factor], &[y.std().unwrap()]);
            same(&here, &[x.noise_free_std().unwrap() * factor], &[y.noise_free_std().unwrap()]);
        }
    }
}

#[test]
fn every_method_fits_the_entries_over_their_deviations() {
    let table = problem();
    let (data, weights) = (observed(&table), feature_weights());
    for method in Method::ALL {
        for (scale, weighted) in [(true, false), (false, true), (true, true)] {
            let d = if scale { deviations(&table, true) } else { vec![1.0; SHAPE.1] };
            let weight = |j: usize| if weighted { weights[j] } else { 1.0 };
            let factors: Vec<f64> = (0..SHAPE.1).map(|j| weight(j).sqrt() / d[j]).collect();
            let pca = IncompletePca { method, scale: scale.into(), max_iter: 15, ..IncompletePca::new(2) };
            let data =
                if weighted { data.clone().with_feature_weights(&weights).unwrap() } else { data.clone() };
            let found = pca.fit(&data).unwrap();
            let plain = IncompletePca { scale: false.into(), ..pca };
            let expected = plain.fit(&observed(&multiplied(&table, &factors))).unwrap();
            same_in_units(&format!("{method:?} {scale} {weighted}"), &found, &expected, &factors);
            assert_eq!(found.scale().is_some(), scale);
            assert_eq!(found.feature_weights().is_some(), weighted);
        }
    }
}

#[test]
fn complete_data_have_the_components_of_complete_pca() {
    let table = Incomplete { observed: vec![vec![true; SHAPE.1]; SHAPE.0], ..problem() };
    let values = row_major(&table.complete);
    let dense = Dense::row_major(&values, SHAPE.0, SHAPE.1).unwrap();
    let (features, counts) = (feature_weights(), (0..SHAPE.0).map(|i| (i % 3) as f64).collect::<Vec<_>>());
    for center in [true, false] {
        let mean = if center { MeanMode::Joint } else { MeanMode::None };
        let weights = Weights { samples: Some(&counts), features: Some(&features) };
        let expected = Pca {
            center: center.into(),
            scale: true.into(),
            n_components: NComponents::Count(2),
            ..Pca::default()
        }
        .fit(&dense, &weights)
        .unwrap();
        let data = observed(&table).with_sample_weights(&counts).unwrap();
        let data = data.with_feature_weights(&features).unwrap();
        let method = Method::Em;
        let pca = IncompletePca {
            method,
            mean,
            scale: true.into(),
            tol: 1e-14,
            max_iter: 5000,
            ..IncompletePca::new(2)
        };
        let found = pca.fit(&data).unwrap();
        same("scale", found.scale().unwrap(), expected.scale());
        same("components", found.components().as_slice(), expected.components().as_slice());
        same("ratios", found.explained_variance_ratio(), expected.explained_variance_ratio());
        if center {
            same("variances", found.explained_variance(), expected.explained_variance());
            let (a, b) = (found.mean(), expected.mean());
            (0..SHAPE.1).for_each(|j| same("mean", &[a[j]], &[b[j]]));
        }
        let scores = expected.transform(&dense).unwrap();
        let reconstructed = expected.inverse_transform(&scores).unwrap();
        for (j, deviation) in expected.scale().iter().enumerate() {
            let away = found.predict(5, j).unwrap().value - reconstructed[(5, j)];
            assert!(away.abs() < 1e-5 * deviation, "column {j}: {away}");
        }
    }
}

#[test]
fn units_of_the_columns_change_nothing() {
    let table = problem();
    let unit: Vec<f64> = (0..SHAPE.1).map(|j| [1e-100, 1.0, 1e150, -3.0][j % 4]).collect();
    let pca =
        IncompletePca { method: Method::VbFull, scale: true.into(), max_iter: 30, ..IncompletePca::new(2) };
    let one = pca.fit(&observed(&table)).unwrap();
    let other = pca.fit(&observed(&multiplied(&table, &unit))).unwrap();
    same("variances", other.explained_variance(), one.explained_variance());
    for (j, unit) in unit.iter().enumerate() {
        let (a, b) = (one.predict(3, j).unwrap(), other.predict(3, j).unwrap());
        same("value", &[b.value / unit], &[a.value]);
        same("deviation", &[b.std().unwrap() / unit.abs()], &[a.std().unwrap()]);
    }
    // Errors of held-out entries are in the units of scaled entries.
    let cross = CrossValidation { n_components: vec![1, 2], ..CrossValidation::default() };
    let validated = |table: &Incomplete| cross.run(&pca, &observed(table), &Run::default()).unwrap();
    let (a, b) = (validated(&table), validated(&multiplied(&table, &unit)));
    for (a, b) in a.choices().iter().zip(b.choices()) {
        // The start is random, and the sign of a column changes its path.
        assert!((a.mean / b.mean - 1.0).abs() < 0.01 && a.mean < 1.5, "{} {}", a.mean, b.mean);
    }
}

#[test]
fn new_rows_likelihoods_and_fills_are_in_the_units_of_the_data() {
    let table = problem();
    let d = deviations(&table, true);
    let factors: Vec<f64> = d.iter().map(|d| 1.0 / d).collect();
    let pca =
        IncompletePca { method: Method::Ppca, scale: true.into(), max_iter: 40, ..IncompletePca::new(2) };
    let (data, inner) = (observed(&table), observed(&multiplied(&table, &factors)));
    let found = pca.fit(&data).unwrap();
    let expected = IncompletePca { scale: false.into(), ..pca }.fit(&inner).unwrap();
    same(
        "scores",
        found.transform(&data).unwrap().as_slice(),
        expected.transform(&inner).unwrap().as_slice(),
    );
    let ((a, of_a), (b, of_b)) = (
        found.transform_with_covariances(&data, &Run::default()).unwrap(),
        expected.transform_with_covariances(&inner, &Run::default()).unwrap(),
    );
    same("scores", a.as_slice(), b.as_slice());
    let wide = |packed: &[f32]| packed.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
    same("covariances", &wide(&of_a.packed), &wide(&of_b.packed));
    // Densities of the data: densities of scaled entries times the factors.
    let likelihoods = expected.score_samples(&inner).unwrap();
    let volumes = (0..SHAPE.0).map(|i| inner.row(i).0.iter().map(|j| factors[*j as usize].ln()).sum::<f64>());
    let of_data: Vec<f64> = likelihoods.iter().zip(volumes).map(|(x, volume)| x + volume).collect();
    same("likelihoods", &found.score_samples(&data).unwrap(), &of_data);
    let (filled, inner_filled) = (found.impute(&data).unwrap(), expected.impute(&inner).unwrap());
    for i in 0..SHAPE.0 {
        for j in 0..SHAPE.1 {
            if table.observed[i][j] {
                assert_eq!(filled[(i, j)], table.complete[i][j]);
            }
            same("fill", &[filled[(i, j)] / d[j]], &[inner_filled[(i, j)]]);
        }
    }
    let (mut bars, mut of_inner) = (vec![0.0; SHAPE.0 * SHAPE.1], vec![0.0; SHAPE.0 * SHAPE.1]);
    found.deviations_into((&a, &of_a), true, &mut bars, &Run::default()).unwrap();
    expected.deviations_into((&b, &of_b), true, &mut of_inner, &Run::default()).unwrap();
    bars.iter_mut().enumerate().for_each(|(at, bar)| *bar /= d[at % SHAPE.1]);
    same("error bars", &bars, &of_inner);
}

#[test]
fn a_stream_continues_in_the_units_of_its_model() {
    let table = problem();
    let factors: Vec<f64> = deviations(&table, true).iter().map(|d| 1.0 / d).collect();
    let pca = IncompletePca { method: Method::Em, scale: true.into(), max_iter: 30, ..IncompletePca::new(2) };
    let (data, inner) = (observed(&table), observed(&multiplied(&table, &factors)));
    let plain = IncompletePca { scale: false.into(), ..pca.clone() };
    let mut stream = IncompleteStream::resume(&pca.fit(&data).unwrap());
    let mut expected = IncompleteStream::resume(&plain.fit(&inner).unwrap());
    stream.partial_fit(&data).unwrap();
    expected.partial_fit(&inner).unwrap();
    let means: Vec<f64> = stream.mean().iter().zip(&factors).map(|(mean, factor)| mean * factor).collect();
    same("means", &means, &expected.mean());
    let (a, b) = (stream.finish(&data, &pca).unwrap(), expected.finish(&inner, &plain).unwrap());
    same_in_units("stream", &a, &b, &factors);
    let fresh = IncompleteStream::new(2, SHAPE.1, karhunen::incomplete::OnlineRule::Diagonal, 0).unwrap();
    assert!(
        matches!(fresh.finish(&data, &pca), Err(Error::Option { option, .. }) if option.field() == "scale")
    );
}

#[test]
fn starts_have_means_in_the_units_of_the_data() {
    let table = problem();
    let data = observed(&table);
    let pca = IncompletePca { method: Method::Em, scale: true.into(), tol: 1e-12, ..IncompletePca::new(2) };
    let model = pca.fit(&data).unwrap();
    let start = Start {
        loadings: model.components().transposed(),
        scores: model.scores().clone(),
        mean: Some(model.mean().to_vec()),
    };
    let context = FitContext { start: Some(&start), ..FitContext::default() };
    let again = pca.fit_with(&data, &context, &Run::default()).unwrap();
    assert!(again.convergence().trace.len() <= 12, "{}", again.convergence().trace.len());
    let first = again.convergence().trace[0].rmse;
    assert!((first / model.convergence().rmse - 1.0).abs() < 1e-6, "{first}");
}

#[test]
fn columns_without_a_deviation_keep_their_units() {
    let mut table = problem();
    for (i, row) in table.complete.iter_mut().enumerate() {
        row[2] = 0.1;
        table.observed[i][5] = i == 4;
    }
    let pca = IncompletePca { method: Method::VbFull, scale: true.into(), ..IncompletePca::new(2) };
    let model = pca.fit(&observed(&table)).unwrap();
    assert_eq!(model.scale().unwrap()[2], 1.0);
    assert_eq!(model.scale().unwrap()[5], 1.0);
    assert!((model.predict(7, 2).unwrap().value - 0.1).abs() < 1e-6);
    // About zero a constant has a deviation.
    let model = IncompletePca { mean: MeanMode::None, ..pca }.fit(&observed(&table)).unwrap();
    let n = table.observed.iter().filter(|row| row[2]).count() as f64;
    same("deviation about zero", &model.scale().unwrap()[2..3], &[0.1 * (n / (n - 1.0)).sqrt()]);
}

#[test]
fn rows_of_weight_zero_and_entry_weights_count_as_they_say() {
    let table = problem();
    let data = observed(&table);
    let mut counts = vec![1.0; SHAPE.0];
    counts[..20].fill(0.0);
    let pca = IncompletePca { method: Method::Em, scale: true.into(), max_iter: 40, ..IncompletePca::new(2) };
    let weighted = pca.fit(&data.clone().with_sample_weights(&counts).unwrap()).unwrap();
    let fewer = Incomplete {
        complete: table.complete[20..].to_vec(),
        noise_free: table.noise_free[20..].to_vec(),
        observed: table.observed[20..].to_vec(),
    };
    let expected = pca.fit(&observed(&fewer)).unwrap();
    same("scale", weighted.scale().unwrap(), expected.scale().unwrap());
    same("variances", weighted.explained_variance(), expected.explained_variance());
    assert_eq!(weighted.n_samples(), SHAPE.0);
    // A common factor of all entry weights does not change the deviations.
    let entries = table.entries(true);
    let rows: Vec<u32> = entries.iter().map(|(i, ..)| *i as u32).collect();
    let columns: Vec<u32> = entries.iter().map(|(_, j, _)| *j as u32).collect();
    let values: Vec<f64> = entries.iter().map(|(.., x)| *x).collect();
    let with = |unit: f64| {
        let weights: Vec<f64> = uniform_weights(values.len(), 3).iter().map(|w| w * unit).collect();
        let triples = Triples { rows: &rows, columns: &columns, values: &values, weights: Some(&weights) };
        let data = Observed::from_triples_with(
            &triples,
            SHAPE,
            karhunen::incomplete::Duplicates::Refuse,
            &Run::default(),
        );
        pca.fit(&data.unwrap()).unwrap().scale().unwrap().to_vec()
    };
    same("scale", &with(1e-3), &with(1.0));
}

#[test]
fn unsuitable_options_are_named() {
    let data = observed(&problem());
    let field = |result: Result<IncompleteModel, Error>| match result {
        Err(Error::Option { option, .. }) => option.field(),
        other => panic!("{other:?}"),
    };
    let mean_prior = MeanPrior { count: 2.0, value: Some(3.0) };
    let pca = IncompletePca { scale: true.into(), mean_prior, ..IncompletePca::new(2) };
    assert_eq!(field(pca.fit(&data)), "mean_prior");
    let zero = data.clone().with_feature_weights(&[1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    assert!(matches!(&zero, Err(error) if error.to_string().contains("column 2")), "{zero:?}");
    assert!(matches!(data.clone().with_feature_weights(&[1.0]), Err(Error::WeightLength { .. })));
    assert!(matches!(data.with_feature_weights(&[-1.0; 8]), Err(Error::WeightValue { .. })));
}

/// Counts 0, 1, 2 of alleles of several frequencies, a fifth of them missing.
fn genotypes() -> Incomplete {
    let mut table = Incomplete::planted(SHAPE.0, SHAPE.1, &[3.0, 2.0], 0.5, 0.2, 22);
    for row in &mut table.complete {
        row.iter_mut()
            .enumerate()
            .for_each(|(j, x)| *x = (1.0 + *x / 3.0 - j as f64 / 8.0).round().clamp(0.0, 2.0));
    }
    table
}

/// The divisors of other rules, by their definitions.
fn divisors(table: &Incomplete, scaling: &Scaling) -> Vec<f64> {
    let column = |j: usize| -> Vec<f64> {
        table
            .entries(true)
            .into_iter()
            .filter(|(_, column, _)| *column == j)
            .map(|(.., value)| value)
            .collect()
    };
    (0..SHAPE.1)
        .map(|j| {
            let values = column(j);
            let f = values.iter().sum::<f64>() / values.len() as f64 / 2.0;
            match scaling {
                Scaling::Pareto => deviations(table, true)[j].sqrt(),
                Scaling::Range => {
                    largest(values.iter().copied()) + largest(values.iter().map(|x| 100.0 - x)) - 100.0
                }
                Scaling::Binomial => (2.0 * f * (1.0 - f)).sqrt(),
                Scaling::Given(values) => values[j],
                Scaling::None | Scaling::Deviation => unreachable!("tested above"),
            }
        })
        .collect()
}

#[test]
fn other_rules_divide_by_their_measure_of_the_observed_entries() {
    let table = genotypes();
    let data = observed(&table);
    let given = Scaling::Given((0..SHAPE.1).map(|j| 0.5 + j as f64).collect());
    for scaling in [Scaling::Pareto, Scaling::Range, Scaling::Binomial, given] {
        let d = divisors(&table, &scaling);
        let factors = d.iter().map(|d| 1.0 / d).collect::<Vec<_>>();
        for method in [Method::VbFull, Method::Em] {
            let what = format!("{scaling:?} {method:?}");
            let pca = IncompletePca { method, scale: scaling.clone(), max_iter: 15, ..IncompletePca::new(2) };
            let found = pca.fit(&data).unwrap();
            same(&what, found.scale().unwrap(), &d);
            let plain = IncompletePca { scale: Scaling::None, ..pca };
            same_in_units(
                &what,
                &found,
                &plain.fit(&observed(&multiplied(&table, &factors))).unwrap(),
                &factors,
            );
        }
    }
}

#[test]
fn complete_genotypes_have_the_scales_of_complete_pca() {
    let table = Incomplete { observed: vec![vec![true; SHAPE.1]; SHAPE.0], ..genotypes() };
    let values = row_major(&table.complete);
    let dense = Dense::row_major(&values, SHAPE.0, SHAPE.1).unwrap();
    for scaling in [Scaling::Pareto, Scaling::Range, Scaling::Binomial] {
        let expected =
            Pca { scale: scaling.clone(), ..Pca::new(2) }.fit(&dense, &Weights::default()).unwrap();
        let pca = IncompletePca { method: Method::Em, scale: scaling, tol: 1e-14, ..IncompletePca::new(2) };
        let found = pca.fit(&observed(&table)).unwrap();
        same("scale", found.scale().unwrap(), expected.scale());
        same("ratios", found.explained_variance_ratio(), expected.explained_variance_ratio());
    }
}

#[test]
fn scales_that_the_data_do_not_have_are_named() {
    let data = observed(&problem());
    let with = |scale: Scaling| IncompletePca { scale, ..IncompletePca::new(2) }.fit(&data);
    let beyond = with(Scaling::Binomial).unwrap_err();
    assert!(matches!(&beyond, Error::NoCount { row: 0, column: 4, .. }), "{beyond:?}");
    assert!(matches!(with(Scaling::Given(vec![1.0])), Err(Error::Shape { found: 1, expected: 8, .. })));
    let negative = with(Scaling::Given(vec![1.0, 1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0]));
    assert!(matches!(negative, Err(Error::ColumnValue { column: 2, .. })));
}
