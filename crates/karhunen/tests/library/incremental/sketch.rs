//! The sketch: exact where it may be, otherwise below the exact variances and with errors that were measured.

use karhunen::incremental::{IncrementalFit, IncrementalMethod, IncrementalModel, IncrementalPca, Note};
use karhunen::pca::Route;
use karhunen::{Dense, Pca, PcaModel, Run, Weighting, Weights};
use karhunen_testkit::{
    Options, Rows, SplitMix64, Tolerance, assert_close, assert_components, gaussian, largest, planted,
    power_law, row_major, svd, uniform_weights, weighted_pca,
};

use crate::incremental::fixtures::{LAYOUTS, Layout, assert_same, components, fitted, model, push};

fn sketch(k: usize) -> IncrementalPca {
    IncrementalPca { method: IncrementalMethod::Sketch, ..IncrementalPca::new(k) }
}

fn all_at_once(pca: &Pca, rows: &[Vec<f64>], weights: Option<&[f64]>) -> PcaModel {
    let values = row_major(rows);
    let x = Dense::row_major(&values, rows.len(), rows[0].len()).unwrap();
    let pca = Pca { solver: Some(Route::Svd), ..pca.clone() };
    pca.fit(&x, &Weights { samples: weights, features: None }).unwrap()
}

/// Rows of rank 5 in 90 columns: fewer than directions.
fn low_rank() -> Rows {
    planted(500, 90, &[9.0, 4.0, 2.0, 1.0, 0.5], 3.0, 7).rows
}

#[test]
fn a_sketch_of_more_directions_than_the_rank_is_exact() {
    let rows = low_rank();
    let weights = uniform_weights(500, 3);
    for (center, weighting) in [(true, Weighting::Importance), (false, Weighting::Population)] {
        let pca = Pca { center: center.into(), weighting, ..Pca::new(5) };
        let expected = all_at_once(&pca, &rows, Some(&weights));
        // Without centring the mean is one direction more.
        let options =
            IncrementalPca { center, weighting, n_oversamples: Some(3), batch_size: Some(12), ..sketch(5) };
        for layout in LAYOUTS {
            let found = model(&fitted(&options, &rows, Some(&weights), 33, layout));
            assert_same(found.pca(), &expected, 1e-12);
            assert_eq!(found.method(), IncrementalMethod::Sketch);
            assert!(largest(found.residual_bounds().iter().copied()) <= 1e-13);
        }
    }
}

/// Sparse batches are centred by a correction, which leaves directions of rounding errors.
#[test]
fn sparse_batches_far_from_zero_keep_the_variances() {
    let p = 60;
    for seed in 0..60 {
        let offset = if seed % 2 == 0 { 1e3 } else { 1e4 };
        let means = &gaussian(1, p, 100 + seed)[0];
        let mut rows = gaussian(40, p, seed);
        rows.iter_mut().for_each(|row| row.iter_mut().zip(means).for_each(|(x, m)| *x += offset * m));
        let expected = all_at_once(&Pca::new(2), &rows, None);
        let options = IncrementalPca { n_oversamples: Some(p), batch_size: Some(5), ..sketch(2) };
        let mut fit = options.start(p).unwrap();
        for (part, layout) in [(0..10, Layout::RowMajor), (10..25, Layout::Csr), (25..40, Layout::Csc)] {
            push::<f64>(&mut fit, &rows[part], None, layout, &Run::threads(2)).unwrap();
        }
        let found = model(&fit);
        let variances = found.pca().explained_variance().iter().zip(expected.explained_variance());
        let error = largest(variances.map(|(a, b)| a / b - 1.0));
        assert!(error <= 1e-4, "{seed}: {error:e}");
    }
}

/// Small directions are kept orthonormal where the squares of the singular values differ by ten orders and
/// more.
#[test]
fn steep_spectra_are_exact_to_rounding_of_the_largest_variance() {
    let variances: Vec<f64> = (0..8).map(|i| f64::powi(1e-2, i)).collect();
    let rows = planted(400, 80, &variances, 0.0, 3).rows;
    let options = IncrementalPca { n_oversamples: Some(4), batch_size: Some(10), ..sketch(8) };
    let found = model(&fitted(&options, &rows, None, 57, Layout::RowMajor));
    let k = found.n_components();
    assert!((7..=8).contains(&k), "{k}");
    let expected: Vec<f64> = variances[..k].iter().map(|variance| variance * 400.0 / 399.0).collect();
    let tolerance = Tolerance { multiple: 1.0, epsilon: 1e-14, norm: 1.0 };
    assert_close("variance", found.pca().explained_variance(), &expected, tolerance);
    let rows = components(found.pca().components());
    for (i, a) in rows.iter().enumerate() {
        let products: Vec<f64> = rows.iter().map(|b| a.iter().zip(b).map(|(a, b)| a * b).sum()).collect();
        let unit: Vec<f64> = (0..k).map(|j| f64::from(u8::from(i == j))).collect();
        assert_close("orthonormal", &products, &unit, tolerance);
    }
}

#[test]
fn the_division_into_batches_and_the_threads_change_no_bit() {
    let rows = gaussian(700, 120, 4);
    let options = IncrementalPca { batch_size: Some(16), n_oversamples: Some(8), ..sketch(4) };
    for layout in LAYOUTS {
        let of = |size, threads| {
            let mut fit = options.start(120).unwrap();
            for part in rows.chunks(size) {
                push::<f64>(&mut fit, part, None, layout, &Run::threads(threads)).unwrap();
            }
            fit.model(&Run::threads(threads)).unwrap()
        };
        let whole = of(700, 1);
        for (size, threads) in [(1, 1), (7, 2), (64, 7), (699, 2)] {
            assert_eq!(of(size, threads), whole, "{layout:?} {size} {threads}");
        }
    }
}

/// Ross, Lim, Lin & Yang (2008) as scikit-learn's `IncrementalPCA` writes it, on plain rows.
struct Reference {
    n_samples: f64,
    mean: Vec<f64>,
    singular_values: Vec<f64>,
    components: Rows,
}

impl Reference {
    fn partial_fit(&mut self, batch: &[Vec<f64>], k: usize) {
        let p = batch[0].len();
        let n = batch.len() as f64;
        let batch_mean: Vec<f64> = (0..p).map(|j| batch.iter().map(|row| row[j]).sum::<f64>() / n).collect();
        let centred = |row: &Vec<f64>| row.iter().zip(&batch_mean).map(|(x, mean)| x - mean).collect();
        let total = self.n_samples + n;
        let mut stack: Rows = Vec::new();
        for (value, component) in self.singular_values.iter().zip(&self.components) {
            stack.push(component.iter().map(|x| x * value).collect());
        }
        stack.extend(batch.iter().map(centred));
        if self.n_samples > 0.0 {
            let factor = (self.n_samples / total * n).sqrt();
            stack.push(self.mean.iter().zip(&batch_mean).map(|(a, b)| factor * (a - b)).collect());
        }
        for (mean, new) in self.mean.iter_mut().zip(&batch_mean) {
            *mean = (*mean * self.n_samples + new * n) / total;
        }
        let found = svd(&stack);
        self.n_samples = total;
        self.singular_values = found.values[..k].to_vec();
        self.components = found.right[..k].to_vec();
    }
}

#[test]
fn without_oversampling_the_same_batches_give_the_numbers_of_scikit_learn() {
    let (n, p, k) = (240, 40, 6);
    let rows = planted(n, p, &power_law(40, 1.5), 5.0, 9).rows;
    for size in [20, 30] {
        let none = Vec::new();
        let mut reference =
            Reference { n_samples: 0.0, mean: vec![0.0; p], singular_values: none, components: Vec::new() };
        rows.chunks(size).for_each(|batch| reference.partial_fit(batch, k));
        for layout in [Layout::RowMajor, Layout::Csr] {
            let options = IncrementalPca { n_oversamples: Some(0), batch_size: Some(size), ..sketch(k) };
            let found = model(&fitted(&options, &rows, None, size, layout));
            let values = &reference.singular_values;
            let tolerance = Tolerance { multiple: 1.0, epsilon: 1e-10, norm: values[0] };
            assert_close("singular", found.pca().singular_values(), values, tolerance);
            assert_close("mean", found.pca().mean(), &reference.mean, tolerance);
            let variances: Vec<f64> = values.iter().map(|value| value * value).collect();
            let tolerance = Tolerance { norm: variances[0], ..tolerance };
            let rows = components(found.pca().components());
            assert_components("components", &rows, &reference.components, &variances, tolerance);
        }
    }
}

/// `||S w - theta w|| / theta_1` of every component, from the rows.
fn true_residuals(rows: &[Vec<f64>], model: &IncrementalModel) -> Vec<f64> {
    let (n, p) = (rows.len() as f64, rows[0].len());
    let mean: Vec<f64> = (0..p).map(|j| rows.iter().map(|row| row[j]).sum::<f64>() / n).collect();
    let pca = model.pca();
    // The divisor is n.
    let values = pca.explained_variance();
    (0..values.len())
        .map(|c| {
            let w = pca.components().row(c);
            let mut product = vec![0.0; p];
            for row in rows {
                let score: f64 = (0..p).map(|j| (row[j] - mean[j]) * w[j]).sum();
                (0..p).for_each(|j| product[j] += (row[j] - mean[j]) * score / n);
            }
            let squares = (0..p).map(|j| (product[j] - values[c] * w[j]).powi(2));
            squares.sum::<f64>().sqrt() / values[0]
        })
        .collect()
}

#[test]
fn measured_bounds_hold_and_variances_are_never_too_large() {
    let (n, p, k) = (60, 30, 3);
    let mut random = SplitMix64::new(11);
    let (mut n_components, mut n_held, mut ratios) = (0, 0, Vec::new());
    for case in 0..1000 {
        let slope = 2.0 * random.uniform();
        let rows: Rows = (0..n)
            .map(|_| (0..p).map(|j| random.normal() * f64::powf((j + 1) as f64, -slope)).collect())
            .collect();
        let options = IncrementalPca {
            n_oversamples: Some(3),
            batch_size: Some(10),
            weighting: Weighting::Population,
            seed: case,
            ..sketch(k)
        };
        let found = model(&fitted(&options, &rows, None, n, Layout::RowMajor));
        let exact = true_residuals(&rows, &found);
        for ((exact, bound), estimate) in exact.iter().zip(found.residual_bounds()).zip(found.residuals()) {
            n_components += 1;
            n_held += usize::from(exact <= bound);
            ratios.push(estimate / exact);
        }
        if case < 40 {
            let weighting = karhunen_testkit::Weighting::Population;
            let oracle = weighted_pca(&rows, &Options { weighting, ..Options::default() });
            for (theta, lambda) in found.pca().explained_variance().iter().zip(&oracle.explained_variance) {
                assert!(*theta <= lambda * (1.0 + 1e-13), "{theta} {lambda}");
            }
            let total = oracle.total_variance;
            assert!((found.pca().total_variance() / total - 1.0).abs() < 1e-12);
            let kept: f64 = found.pca().explained_variance().iter().sum();
            let noise = (total - kept) / (p - k) as f64;
            assert!((found.pca().noise_variance() / noise - 1.0).abs() < 1e-10);
        }
    }
    let coverage = n_held as f64 / n_components as f64;
    assert!(n_components == 3000 && coverage >= 0.97, "{n_held} of {n_components} bounds hold");
    // The estimate is neither far too large nor far too small.
    ratios.sort_by(f64::total_cmp);
    let (low, median, high) = (ratios[30], ratios[1500], ratios[2969]);
    assert!(low > 0.55 && high < 1.5 && (0.9..1.1).contains(&median), "{low} {median} {high}");
}

#[test]
fn fewer_components_while_there_are_fewer_rows() {
    let rows = gaussian(9, 50, 1);
    let options = IncrementalPca { weighting: Weighting::Population, ..sketch(4) };
    for (n, layout) in (1..=9).flat_map(|n| [(n, Layout::Csr), (n, Layout::RowMajor)]) {
        let found = model(&fitted(&options, &rows[..n], None, 1, layout));
        let rank = (n - 1).min(4);
        assert_eq!((found.n_components(), found.residual_bounds().len()), (rank, rank));
        let expected = (rank < 4).then_some(Note::FewerComponents { found: rank, requested: 4 });
        assert_eq!(found.notes().first().copied(), expected);
    }
    let text = Note::FewerComponents { found: 1, requested: 4 }.to_string();
    assert_eq!(text, "the model has 1 of 4 components: the rows so far allow no more");
}

#[test]
fn scales_are_given_or_follow_from_the_first_rows() {
    let rows = low_rank();
    let pca = Pca { scale: true.into(), ..Pca::new(4) };
    // All rows within the first: exact, and the batches do not matter.
    let options = IncrementalPca { scale: true, ..sketch(4) };
    let expected = all_at_once(&pca, &rows, None);
    for (layout, size) in [(Layout::RowMajor, 500), (Layout::Csr, 33)] {
        let found = model(&fitted(&options, &rows, None, size, layout));
        assert_same(found.pca(), &expected, 1e-12);
        assert_eq!(found.notes(), [Note::ScaleFrozen { n_samples: 500 }]);
    }
    // Frozen after 200 rows: the scales of those.
    let options = IncrementalPca { warm_rows: 200, ..options };
    let first = all_at_once(&pca, &rows[..200], None);
    let of = |size| model(&fitted(&options, &rows, None, size, Layout::ColumnMajor));
    let frozen = of(500);
    let size = Tolerance { multiple: 1.0, epsilon: 1e-12, norm: 5.0 };
    assert_close("scale", frozen.pca().scale(), first.scale(), size);
    assert_eq!(frozen.notes(), [Note::ScaleFrozen { n_samples: 200 }]);
    assert_eq!(of(1), frozen);
    assert_eq!(of(199), frozen);
    // A fit to which the same scales are given.
    let given = IncrementalPca { column_scale: Some(frozen.pca().scale().to_vec()), ..options };
    let found = model(&fitted(&given, &rows, None, 100, Layout::RowMajor));
    assert!(found.notes().is_empty());
    assert_same(found.pca(), frozen.pca(), 1e-12);
    let scaled: Rows = rows
        .iter()
        .map(|row| row.iter().zip(frozen.pca().scale()).map(|(x, scale)| x / scale).collect())
        .collect();
    let expected = all_at_once(&Pca::new(4), &scaled, None);
    let variances = (found.pca().explained_variance(), expected.explained_variance());
    assert_close("variance", variances.0, variances.1, Tolerance { norm: variances.1[0], ..size });
    let text = Note::ScaleFrozen { n_samples: 200 }.to_string();
    assert!(text.starts_with("the columns are scaled by the standard deviations of the first 200 rows"));
}

/// Batches of at most `size` rows, each in the next layout.
fn alternating(
    pca: &IncrementalPca,
    rows: &[Vec<f64>],
    weights: Option<&[f64]>,
    size: usize,
    layouts: &[Layout],
) -> IncrementalFit {
    let mut fit = pca.start(rows[0].len()).unwrap();
    for (batch, start) in (0..rows.len()).step_by(size).enumerate() {
        let range = start..rows.len().min(start + size);
        let weights = weights.map(|weights| &weights[range.clone()]);
        let layout = layouts[batch % layouts.len()];
        push::<f64>(&mut fit, &rows[range], weights, layout, &Run::threads(1)).unwrap();
    }
    fit
}

#[test]
fn the_first_rows_give_the_scales_however_batches_are_stored() {
    let mut rows = low_rank();
    // One value in five is stored.
    for (i, row) in rows.iter_mut().enumerate() {
        row.iter_mut().enumerate().filter(|(j, _)| (7 * i + j) % 5 > 0).for_each(|(_, value)| *value = 0.0);
    }
    let plenty = IncrementalPca { scale: true, warm_rows: 200, ..sketch(4) };
    // Half of the limit holds 190 dense rows: all wait as sparse ones.
    let p = rows[0].len() as u64;
    let little = IncrementalPca { memory_limit: 2 * 8 * p * 190, warm_rows: 300, ..plenty.clone() };
    for (options, n_warm) in [(plenty, 200), (little, 300)] {
        let first = all_at_once(&Pca { scale: true.into(), ..Pca::new(4) }, &rows[..n_warm], None);
        let mixes = [
            [Layout::RowMajor, Layout::Csr],
            [Layout::Csr, Layout::RowMajor],
            [Layout::Csc, Layout::ColumnMajor],
        ];
        for (layouts, size) in mixes.iter().flat_map(|layouts| [(layouts, 33), (layouts, 1), (layouts, 150)])
        {
            let found = model(&alternating(&options, &rows, None, size, layouts));
            assert_eq!(found.notes(), [Note::ScaleFrozen { n_samples: n_warm }], "{layouts:?} {size}");
            let close = Tolerance { multiple: 1.0, epsilon: 1e-12, norm: 5.0 };
            assert_close("scale", found.pca().scale(), first.scale(), close);
            assert_eq!(found.pca().n_samples(), rows.len());
        }
    }
}

#[test]
fn light_rows_do_not_end_the_choice_of_scales() {
    let rows = low_rank();
    let scaled = Pca { scale: true.into(), ..Pca::new(4) };
    let options = IncrementalPca { scale: true, warm_rows: 60, ..sketch(4) };
    let close = Tolerance { multiple: 1.0, epsilon: 1e-12, norm: 5.0 };
    for layouts in [[Layout::RowMajor; 2], [Layout::Csr; 2], [Layout::Csr, Layout::ColumnMajor]] {
        // Two hundred rows of weight zero but one.
        let weights: Vec<f64> = (0..rows.len()).map(|i| f64::from(u8::from(i >= 200 || i == 7))).collect();
        let kept: Rows = [&rows[7..8], &rows[200..259]].concat();
        let first = all_at_once(&scaled, &kept, None);
        let fits = [1, 45, 500].map(|size| alternating(&options, &rows, Some(&weights), size, &layouts));
        for fit in &fits {
            let found = model(fit);
            assert_eq!(found.notes(), [Note::ScaleFrozen { n_samples: 60 }]);
            assert_close("scale", found.pca().scale(), first.scale(), close);
            assert_eq!((found.pca().n_samples(), found.pca().sum_of_weights()), (500, 301.0));
        }
        // The first rows weigh less than one observation together, all rows five of them: the same directions as with
        // the divisor of a population.
        let light = vec![0.01; rows.len()];
        let found = model(&alternating(&options, &rows, Some(&light), 50, &layouts));
        let population = IncrementalPca { weighting: Weighting::Population, ..options.clone() };
        let expected = model(&alternating(&population, &rows, None, 50, &layouts));
        assert_close("scale", found.pca().scale(), expected.pca().scale(), close);
        assert!((found.pca().sum_of_weights() - 5.0).abs() < 1e-12);
    }
}
