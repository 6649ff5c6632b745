//! Scaled and weighted columns.

use karhunen::incomplete::{MeanMode, Method, Regularization};
use karhunen::{Error, IncompletePca, Run};

use crate::incomplete::fixtures::observed;
use crate::incomplete::parts::engine::Parts;
use crate::incomplete::parts::equality::assert_equal;
use crate::incomplete::parts::{SIZES, options, problem};

#[test]
fn scaled_and_weighted_columns_of_parts_match_all_rows() {
    let mut table = problem();
    for (i, (row, seen)) in table.complete.iter_mut().zip(&mut table.observed).enumerate() {
        row.iter_mut().enumerate().for_each(|(j, x)| *x = 100.0 + *x * 10f64.powi(j as i32 % 5 - 2));
        // A constant column keeps its unit, and so do one with a single entry and one without any.
        row[3] = 0.1;
        seen[4] = i == 50;
        seen[5] = false;
    }
    let weights: Vec<f64> = (0..80).map(|i| f64::from(i % 4)).collect();
    let features: Vec<f64> = (0..12).map(|j| 0.5 + f64::from(j % 3)).collect();
    for (method, regularization) in
        [(Method::Em, None), (Method::Als, Some(Regularization::Ridge(0.7))), (Method::VbFull, None)]
    {
        for (scale, weighted, mean, repeated) in [
            (true, false, MeanMode::Joint, false),
            (true, false, MeanMode::None, false),
            (false, true, MeanMode::Joint, false),
            (true, true, MeanMode::Fixed, true),
        ] {
            let pca = IncompletePca { scale: scale.into(), mean, ..options(method, regularization) };
            let mut data = observed(&table);
            let mut parts = Parts::new(&table, &SIZES);
            if repeated {
                data = data.with_sample_weights(&weights).unwrap();
                parts.weights = Some(weights.clone());
            }
            if weighted {
                data = data.with_feature_weights(&features).unwrap();
            }
            let whole = pca.fit(&data).unwrap();
            let given = weighted.then_some(&features[..]);
            let found = pca.fit_parts_with(&parts, given, None, &Run::default()).unwrap();
            let what = format!("{method} {scale} {weighted} {mean:?} {repeated}");
            // Without means the entries of a column are a thousand times their deviation.
            assert_equal(&what, &found, &whole, if mean == MeanMode::None { 1e-6 } else { 1e-9 });
            let (found, expected) = (found.parts(), whole.parts());
            assert_eq!(found.scales.weights, expected.scales.weights, "{what}");
            let scales =
                |of: &karhunen::incomplete::IncompleteParts| of.scales.scale.clone().unwrap_or_default();
            for (j, (x, y)) in scales(found).iter().zip(&scales(expected)).enumerate() {
                assert!((x / y - 1.0).abs() < 1e-12, "{what}, scale {j}: {x} {y}");
            }
            if scale && mean != MeanMode::None {
                assert_eq!(scales(found)[3..6], [1.0; 3], "{what}");
            }
            for (j, (x, y)) in found.mean_variance.iter().zip(&expected.mean_variance).enumerate() {
                assert!((x - y).abs() <= 1e-9 * y.abs(), "{what}, variance of mean {j}: {x} {y}");
            }
        }
    }
    let refused = |features: &[f64]| {
        let em = options(Method::Em, None);
        em.fit_parts_with(&Parts::new(&table, &SIZES), Some(features), None, &Run::default()).unwrap_err()
    };
    assert!(matches!(refused(&[1.0; 3]), Error::WeightLength { .. }));
    let zero: Vec<f64> = (0..12).map(|j| f64::from(j != 4)).collect();
    assert!(matches!(refused(&zero), Error::Option { option, .. } if option.field() == "feature_weights"));
}
