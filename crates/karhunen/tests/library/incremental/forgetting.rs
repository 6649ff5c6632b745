//! Old rows weigh less: by batches, and with a half-life.

use karhunen::incremental::{IncrementalMethod, IncrementalPca};
use karhunen::pca::Route;
use karhunen::{Dense, NComponents, Pca, Run, Weighting, Weights};
use karhunen_testkit::{Tolerance, assert_close, gaussian, planted, power_law, row_major, uniform_weights};

use crate::incremental::fixtures::{Layout, assert_same, fitted, model, push};

const BOTH: [IncrementalMethod; 2] = [IncrementalMethod::Scatter, IncrementalMethod::Sketch];

fn within(norm: f64) -> Tolerance {
    Tolerance { multiple: 1.0, epsilon: 1e-14, norm }
}

/// The numbers of the specification, by hand.
#[test]
fn two_batches_with_and_without_forgetting() {
    let old = vec![vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0, 6.0]];
    let new = vec![vec![10.0, 1.0], vec![12.0, 5.0]];
    for method in BOTH {
        for (forget, sums, mean, products, variances) in [
            (
                1.0,
                [6.0, 8.0],
                [17.0 / 3.0, 11.0 / 3.0],
                [286.0 / 3.0, 4.0 / 3.0, 4.0 / 3.0, 52.0 / 3.0],
                [15.892_686_45, 2.885_091_33],
            ),
            (0.5, [4.0, 3.5], [7.0, 3.5], [70.0, 0.0, 0.0, 13.0], [17.5, 3.25]),
        ] {
            let weighting = Weighting::Population;
            let pca = IncrementalPca { forget, weighting, method, ..IncrementalPca::new(2) };
            let mut fit = pca.start(2).unwrap();
            let run = Run::threads(1);
            push::<f64>(&mut fit, &old, Some(&[1.0, 2.0, 1.0]), Layout::RowMajor, &run).unwrap();
            push::<f64>(&mut fit, &new, None, Layout::Csr, &run).unwrap();
            let moments = fit.moments(&run).unwrap();
            assert_close("sums", &[moments.weight, moments.weight_squared], &sums, within(sums[1]));
            assert_close("mean", &moments.mean, &mean, within(mean[0]));
            if method == IncrementalMethod::Scatter {
                let scatter = fit.scatter(&run).unwrap().unwrap();
                assert_close("products", scatter.matrix.as_slice(), &products, within(products[0]));
            } else {
                assert!(fit.scatter(&run).unwrap().is_none());
            }
            let found = model(&fit);
            let rounded = Tolerance { epsilon: if forget == 1.0 { 5e-9 } else { 1e-14 }, ..within(16.0) };
            assert_close("variances", found.pca().explained_variance(), &variances, rounded);
            let trace = (products[0] + products[3]) / sums[0];
            assert_close("total", &[found.pca().total_variance()], &[trace], within(trace));
            if forget < 1.0 {
                let unit = [1.0, 0.0, 0.0, 1.0];
                assert_close("components", found.pca().components().as_slice(), &unit, within(1.0));
            }
        }
    }
}

#[test]
fn forgetting_by_batches_equals_decayed_weights() {
    let rows = planted(400, 6, &power_law(6, 1.0), 2.0, 5).rows;
    let weights = uniform_weights(400, 6);
    let (forget, size) = (0.9, 70);
    let last = (400 - 1) / size;
    let decayed: Vec<f64> =
        weights.iter().enumerate().map(|(i, w)| w * f64::powi(forget, (last - i / size) as i32)).collect();
    for weighting in [Weighting::Frequency, Weighting::Importance, Weighting::Population] {
        let pca = Pca { weighting, solver: Some(Route::Svd), ..Pca::new(4) };
        let values = row_major(&rows);
        let x = Dense::row_major(&values, 400, 6).unwrap();
        let expected = pca.fit(&x, &Weights::of_samples(&decayed)).unwrap();
        for method in BOTH {
            for layout in [Layout::RowMajor, Layout::Csc] {
                let pca = IncrementalPca { forget, weighting, method, ..IncrementalPca::new(4) };
                let found = model(&fitted(&pca, &rows, Some(&weights), size, layout));
                assert_same(found.pca(), &expected, 1e-12);
            }
        }
    }
}

#[test]
fn a_half_life_equals_decayed_weights_whatever_the_batches() {
    let rows = planted(1500, 6, &power_law(6, 1.0), 2.0, 5).rows;
    let weights = uniform_weights(1500, 6);
    let half_life = 200.0;
    let mut later = 0.0;
    let mut decayed = vec![0.0; 1500];
    for i in (0..1500).rev() {
        decayed[i] = weights[i] * 0.5_f64.powf(later / half_life);
        later += weights[i];
    }
    let values = row_major(&rows);
    let x = Dense::row_major(&values, 1500, 6).unwrap();
    let pca = Pca { solver: Some(Route::Svd), ..Pca::new(4) };
    let expected = pca.fit(&x, &Weights::of_samples(&decayed)).unwrap();
    for method in BOTH {
        for layout in [Layout::RowMajor, Layout::Csr] {
            let pca = IncrementalPca { half_life: Some(half_life), method, ..IncrementalPca::new(4) };
            let of = |size| model(&fitted(&pca, &rows, Some(&weights), size, layout));
            let found = of(1);
            assert_same(found.pca(), &expected, 1e-12);
            for size in [7, 1000, 1500] {
                assert_eq!(of(size), found, "{method} {layout:?} {size}");
            }
        }
    }
}

/// Minka's estimate takes the effective number of weights that decay, as of the weights of a population.
#[test]
fn the_most_probable_dimension_counts_effective_rows() {
    let n_components = NComponents::Mle;
    let decayed: Vec<f64> = (0..600).map(|i| 0.5_f64.powf(f64::from(599 - i) / 30.0)).collect();
    let mut n_other = 0;
    for seed in 0..20 {
        let rows = planted(600, 8, &power_law(8, 1.0), 1.0, seed).rows;
        let values = row_major(&rows);
        let x = Dense::row_major(&values, 600, 8).unwrap();
        let of = |weighting| Pca { n_components, weighting, ..Pca::default() };
        let [counts, effective] = [Weighting::Frequency, Weighting::Population]
            .map(|weighting| of(weighting).fit(&x, &Weights::of_samples(&decayed)).unwrap().n_components());
        let stream = IncrementalPca { half_life: Some(30.0), n_components, ..IncrementalPca::default() };
        let found = model(&fitted(&stream, &rows, None, 50, Layout::RowMajor));
        assert_eq!(found.pca().n_components(), effective, "{seed}");
        n_other += usize::from(counts != effective);
    }
    assert!(n_other > 0);
}

/// Rows of weight zero and batches without rows leave the means.
#[test]
fn what_is_forgotten_altogether_leaves_the_rows_after_it() {
    let (old, new) = (gaussian(50, 3, 1), gaussian(50, 3, 2));
    for method in BOTH {
        let pca = IncrementalPca { forget: 1e-3, method, ..IncrementalPca::new(2) };
        let mut fit = pca.start(3).unwrap();
        let run = Run::threads(1);
        push::<f64>(&mut fit, &old, None, Layout::RowMajor, &run).unwrap();
        for _ in 0..200 {
            push::<f64>(&mut fit, &old[..1], Some(&[0.0]), Layout::RowMajor, &run).unwrap();
        }
        assert_eq!(fit.moments(&run).unwrap().weight, 0.0);
        push::<f64>(&mut fit, &new, None, Layout::RowMajor, &run).unwrap();
        let found = model(&fit);
        let alone = model(&fitted(&pca, &new, None, 50, Layout::RowMajor));
        assert_eq!(found.n_samples_seen(), 300);
        assert_eq!(found.pca().components(), alone.pca().components());
        assert_eq!(found.pca().explained_variance(), alone.pca().explained_variance());
    }
}
