//! Fits of parts become the fit of all rows.

use karhunen::incremental::{IncrementalFit, IncrementalMethod, IncrementalPca};
use karhunen::{Dense, Pca, Run, Weights};
use karhunen_testkit::{
    Rows, Tolerance, assert_close, extreme_weights, gaussian, largest, planted, power_law, row_major,
};
use proptest::prelude::*;

use crate::incremental::fixtures::{LAYOUTS, Layout, assert_same, fitted, model, push};

fn run() -> Run<'static> {
    Run::threads(1)
}

/// Adds the fits from left to right.
fn left_fold(mut parts: Vec<IncrementalFit>) -> IncrementalFit {
    let mut total = parts.remove(0);
    parts.iter().for_each(|part| total.merge(part, &run()).unwrap());
    total
}

/// Adds the fits in a balanced tree.
fn balanced(parts: &[IncrementalFit]) -> IncrementalFit {
    if let [one] = parts {
        return one.clone();
    }
    let (left, right) = parts.split_at(parts.len() / 2);
    let mut total = balanced(left);
    total.merge(&balanced(right), &run()).unwrap();
    total
}

/// The matrix of a fit, and its means.
fn sums(fit: &IncrementalFit) -> (Vec<f64>, Vec<f64>) {
    let scatter = fit.scatter(&run()).unwrap().unwrap();
    (scatter.matrix.into_vec(), scatter.moments.mean)
}

#[test]
fn an_offset_of_1e8_costs_eight_digits_of_sums_in_any_order() {
    let mut rows = gaussian(600, 5, 3);
    let weights = extreme_weights(600, 3.0, 4);
    let pca = IncrementalPca::new(2);
    // Without the offset, by the definition.
    let total: f64 = weights.iter().sum();
    let mean: Vec<f64> =
        (0..5).map(|j| rows.iter().zip(&weights).map(|(row, w)| w * row[j]).sum::<f64>() / total).collect();
    let product = |a: usize, b: usize| -> f64 {
        rows.iter().zip(&weights).map(|(row, w)| w * (row[a] - mean[a]) * (row[b] - mean[b])).sum()
    };
    let expected: Vec<f64> = (0..25).map(|at| product(at / 5, at % 5)).collect();
    rows.iter_mut().flatten().for_each(|value| *value += 1e8);
    let parts: Vec<IncrementalFit> = (0..30)
        .map(|part| {
            let range = part * 20..(part + 1) * 20;
            fitted(&pca, &rows[range.clone()], Some(&weights[range]), 7, Layout::RowMajor)
        })
        .collect();
    let size = largest(expected.iter().copied());
    let tolerance = Tolerance { multiple: 1.0, epsilon: 2e-8, norm: size };
    for merged in [left_fold(parts.clone()), balanced(&parts)] {
        assert_close("products", &sums(&merged).0, &expected, tolerance);
    }
    let near = Tolerance { epsilon: 1e-8, ..tolerance };
    assert_close("orders", &sums(&left_fold(parts.clone())).0, &sums(&balanced(&parts)).0, near);
}

fn batches() -> impl Strategy<Value = (Rows, Vec<usize>)> {
    (1usize..5).prop_flat_map(|p| {
        let rows = proptest::collection::vec(proptest::collection::vec(-10.0..10.0f64, p), 2..30);
        (rows, proptest::collection::vec(0usize..4, 30))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn merging_is_commutative_and_associative_with_a_fit_of_no_rows_as_neutral_element(
        (rows, part_of) in batches(),
        sketch in any::<bool>(),
    ) {
        let p = rows[0].len();
        let method = if sketch { IncrementalMethod::Sketch } else { IncrementalMethod::Scatter };
        let pca = IncrementalPca { method, ..IncrementalPca::new(p) };
        let parts: Vec<IncrementalFit> = (0..4)
            .map(|part| {
                let chosen: Rows = (0..rows.len()).filter(|&i| part_of[i] == part).map(|i| rows[i].clone()).collect();
                if chosen.is_empty() {
                    return pca.start(p).unwrap();
                }
                fitted(&pca, &chosen, None, 3, LAYOUTS[part])
            })
            .collect();
        let values = row_major(&rows);
        let x = Dense::row_major(&values, rows.len(), p).unwrap();
        let expected = Pca::new(p.min(rows.len())).fit(&x, &Weights::default()).unwrap();
        let reversed: Vec<IncrementalFit> = parts.iter().rev().cloned().collect();
        for merged in [left_fold(parts.clone()), balanced(&parts), left_fold(reversed)] {
            let found = model(&merged);
            prop_assert_eq!(found.n_samples_seen(), rows.len());
            let k = found.n_components();
            let tolerance = Tolerance { multiple: 1.0, epsilon: 1e-11, norm: expected.total_variance() };
            let mut variances = found.pca().explained_variance().to_vec();
            variances.resize(expected.n_components(), 0.0);
            prop_assert!(k <= expected.n_components());
            assert_close("variances", &variances, expected.explained_variance(), tolerance);
        }
        let mut neutral = pca.start(p).unwrap();
        neutral.merge(&parts[0], &run()).unwrap();
        let mut same = parts[0].clone();
        same.merge(&pca.start(p).unwrap(), &run()).unwrap();
        prop_assert_eq!(neutral.n_samples_seen(), same.n_samples_seen());
        if parts[0].n_samples_seen() > 1 {
            assert_eq!(model(&neutral).pca().explained_variance(), model(&same).pca().explained_variance());
        }
    }
}

#[test]
fn sketches_of_low_rank_merge_exactly_and_others_with_a_measured_error() {
    let rows = planted(400, 90, &[9.0, 4.0, 2.0, 1.0, 0.5], 3.0, 7).rows;
    let pca = IncrementalPca {
        method: IncrementalMethod::Sketch,
        n_oversamples: Some(3),
        batch_size: Some(12),
        ..IncrementalPca::new(5)
    };
    let values = row_major(&rows);
    let x = Dense::row_major(&values, 400, 90).unwrap();
    let expected = Pca::new(5).fit(&x, &Weights::default()).unwrap();
    let parts: Vec<IncrementalFit> =
        rows.chunks(100).zip(LAYOUTS).map(|(part, layout)| fitted(&pca, part, None, 9, layout)).collect();
    assert_same(model(&left_fold(parts.clone())).pca(), &expected, 1e-12);
    assert_same(model(&balanced(&parts)).pca(), &expected, 1e-12);
    // A flat spectrum.
    let rows = planted(400, 90, &power_law(90, 0.5), 3.0, 8).rows;
    let parts: Vec<IncrementalFit> =
        rows.chunks(100).map(|part| fitted(&pca, part, None, 9, Layout::RowMajor)).collect();
    let merged = model(&balanced(&parts));
    let values = row_major(&rows);
    let x = Dense::row_major(&values, 400, 90).unwrap();
    let expected = Pca::new(5).fit(&x, &Weights::default()).unwrap();
    for (theta, lambda) in merged.pca().explained_variance().iter().zip(expected.explained_variance()) {
        assert!(theta <= lambda && *theta > 0.3 * lambda, "{theta} {lambda}");
    }
    assert!((merged.pca().total_variance() / expected.total_variance() - 1.0).abs() < 1e-12);
    assert!(merged.residuals()[0] > 1e-4);
}

#[test]
fn fits_that_differ_do_not_merge_and_stay_as_they_were() {
    let rows = gaussian(40, 6, 1);
    let method = IncrementalMethod::Sketch;
    let pca = IncrementalPca { method, ..IncrementalPca::new(2) };
    let mut fit = fitted(&pca, &rows, None, 9, Layout::RowMajor);
    let before = model(&fit);
    let other = |pca: &IncrementalPca| fitted(pca, &rows, None, 40, Layout::RowMajor);
    let cases = [
        (IncrementalPca { center: false, ..pca.clone() }, "center = false is not allowed: "),
        (IncrementalPca { scale: true, ..pca.clone() }, "scale = true is not allowed: "),
        (IncrementalPca { forget: 0.5, ..pca.clone() }, "forget = 0.5 is not allowed: "),
        (IncrementalPca { half_life: Some(3.0), ..pca.clone() }, "half_life = 3 is not allowed: "),
        (IncrementalPca { seed: 1, ..pca.clone() }, "seed = 1 is not allowed: "),
        (
            IncrementalPca { method: IncrementalMethod::Scatter, ..pca.clone() },
            "method = scatter is not allowed: ",
        ),
    ];
    for (options, begins) in cases {
        let message = fit.merge(&other(&options), &run()).unwrap_err().to_string();
        assert!(message.starts_with(begins), "{message}");
        assert!(
            message.contains("fits that are merged have the same options, and this one has "),
            "{message}"
        );
        assert_eq!(model(&fit), before);
    }
    let narrow = fitted(&pca, &gaussian(9, 5, 1), None, 9, Layout::Csr);
    let message = fit.merge(&narrow, &run()).unwrap_err().to_string();
    assert_eq!(message, "the other fit: 5 columns, but 6 are needed");
    // Scales of their own.
    let scaled = IncrementalPca { scale: true, warm_rows: 20, ..pca };
    let mut fit = other(&scaled);
    let part = fitted(&scaled, &rows[10..], None, 9, Layout::RowMajor);
    let message = fit.merge(&part, &run()).unwrap_err().to_string();
    assert!(message.contains("took their scales from their own first rows"), "{message}");
    let mut empty = scaled.start(6).unwrap();
    empty.merge(&part, &run()).unwrap();
    assert_eq!(model(&empty).pca().scale(), model(&part).pca().scale());
    // Its rows continue to wait for others that give the scales with them.
    let mut apart = part;
    for fit in [&mut empty, &mut apart] {
        push::<f64>(fit, &rows[..10], None, Layout::Csr, &run()).unwrap();
    }
    assert_eq!(model(&empty), model(&apart));
}
