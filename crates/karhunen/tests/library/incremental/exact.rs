//! The method scatter equals a fit of all rows at once, whatever the batches.

use karhunen::incremental::{IncrementalMethod, IncrementalPca, Note};
use karhunen::pca::Route;
use karhunen::{Dense, NComponents, Pca, Run, Weighting, Weights};
use karhunen_testkit::{
    Rows, gaussian, integer_weights, planted, power_law, repeat_rows, row_major, uniform_weights,
};

use crate::incremental::fixtures::{LAYOUTS, Layout, assert_same, fitted, model, push};

fn pca(k: usize) -> Pca {
    Pca { solver: Some(Route::Svd), ..Pca::new(k) }
}

fn all_at_once(pca: &Pca, rows: &[Vec<f64>], weights: Option<&[f64]>) -> karhunen::PcaModel {
    let values = row_major(rows);
    let x = Dense::row_major(&values, rows.len(), rows[0].len()).unwrap();
    pca.fit(&x, &Weights { samples: weights, features: None }).unwrap()
}

/// Rows of which half the values are zero.
fn with_zeros(n: usize, p: usize) -> Rows {
    let mut rows = planted(n, p, &power_law(p.min(n - 1), 1.0), 3.0, 7).rows;
    for (i, row) in rows.iter_mut().enumerate() {
        row.iter_mut().enumerate().filter(|(j, _)| (i + j) % 2 == 0).for_each(|(_, value)| *value = 0.0);
    }
    rows
}

#[test]
fn batches_of_any_size_and_storage_equal_the_fit_of_all_rows() {
    let rows = with_zeros(2500, 7);
    let expected = all_at_once(&pca(3), &rows, None);
    for layout in LAYOUTS {
        let of = |size| model(&fitted(&IncrementalPca::new(3), &rows, None, size, layout));
        let found = of(1);
        assert_same(found.pca(), &expected, 1e-12);
        assert_eq!((found.method(), found.n_samples_seen()), (IncrementalMethod::Scatter, 2500));
        assert!(found.notes().is_empty());
        for size in [7, 1000, 2500] {
            assert_eq!(of(size), found, "{layout:?} {size}");
        }
    }
    let of = |layout| model(&fitted(&IncrementalPca::new(3), &rows, None, 300, layout));
    assert_eq!(of(Layout::RowMajor), of(Layout::ColumnMajor));
    assert_eq!(of(Layout::Csr), of(Layout::Csc));
}

#[test]
fn dense_and_sparse_batches_of_both_types_are_mixed() {
    // Values that f32 holds exactly.
    let mut rows = with_zeros(1200, 9);
    rows.iter_mut().flatten().for_each(|value| *value = f64::from(*value as f32));
    let weights = uniform_weights(1200, 3);
    let mut fit =
        IncrementalPca { weighting: Weighting::Importance, ..IncrementalPca::new(4) }.start(9).unwrap();
    let sizes = [1, 7, 500, 1, 1, 300, 2, 388];
    let (mut start, run) = (0, Run::threads(2));
    for (batch, size) in sizes.into_iter().enumerate() {
        let (part, weights) = (&rows[start..start + size], Some(&weights[start..start + size]));
        let layout = LAYOUTS[batch % 4];
        if batch % 3 == 0 {
            push::<f32>(&mut fit, part, weights, layout, &run).unwrap();
        } else {
            push::<f64>(&mut fit, part, weights, layout, &run).unwrap();
        }
        start += size;
    }
    assert_eq!(start, 1200);
    let pca = Pca { weighting: Weighting::Importance, ..pca(4) };
    assert_same(model(&fit).pca(), &all_at_once(&pca, &rows, Some(&weights)), 1e-12);
}

#[test]
fn weights_are_repetitions() {
    let rows = planted(300, 5, &power_law(5, 1.0), 1.0, 4).rows;
    let counts = integer_weights(300, 4, 5);
    let weights: Vec<f64> = counts.iter().map(|&count| f64::from(count)).collect();
    let repeated = repeat_rows(&rows, &counts);
    let expected = all_at_once(&pca(5), &repeated, None);
    let found = model(&fitted(&IncrementalPca::new(5), &rows, Some(&weights), 11, Layout::RowMajor));
    assert_eq!(found.n_samples_seen(), 300);
    let variances = (found.pca().explained_variance(), expected.explained_variance());
    let error = karhunen_testkit::largest_difference(variances.0, variances.1);
    assert!(error <= 1e-12 * variances.1[0], "{error:e}");
    let repeated = model(&fitted(&IncrementalPca::new(5), &repeated, None, 100, Layout::Csr));
    assert_same(repeated.pca(), &expected, 1e-12);
}

#[test]
fn wide_rows_have_the_same_bits_for_every_division_and_number_of_threads() {
    let rows = planted(2300, 530, &power_law(530, 1.0), 1.0, 2).rows;
    let of = |sizes: &[usize], threads, layout| {
        let mut fit = IncrementalPca::new(3).start(530).unwrap();
        let mut start = 0;
        for &size in sizes {
            push::<f64>(&mut fit, &rows[start..start + size], None, layout, &Run::threads(threads)).unwrap();
            start += size;
        }
        fit.model(&Run::threads(threads)).unwrap()
    };
    let whole = of(&[2300], 1, Layout::RowMajor);
    assert_eq!(of(&[900, 100, 1300], 2, Layout::RowMajor), whole);
    assert_eq!(of(&[1, 2298, 1], 7, Layout::ColumnMajor), whole);
    // Few eigenvectors of a wide matrix are iterated to residuals of 1e-11.
    assert_same(whole.pca(), &all_at_once(&pca(3), &rows, None), 5e-11);
}

#[test]
fn narrow_rows_have_the_same_bits_for_every_number_of_threads() {
    let rows = gaussian(9000, 12, 3);
    let pca = IncrementalPca { half_life: Some(4000.0), ..IncrementalPca::new(3) };
    let of = |threads, layout| {
        let mut fit = pca.start(12).unwrap();
        for part in [&rows[..4321], &rows[4321..4322], &rows[4322..]] {
            push::<f64>(&mut fit, part, None, layout, &Run::threads(threads)).unwrap();
        }
        fit.model(&Run::threads(threads)).unwrap()
    };
    for layout in LAYOUTS {
        let one = of(1, layout);
        assert_eq!(of(2, layout), one, "{layout:?}");
        assert_eq!(of(7, layout), one, "{layout:?}");
    }
}

#[test]
fn every_option_of_the_fit_is_obeyed() {
    let rows = with_zeros(60, 6);
    let weights = uniform_weights(60, 3);
    for (center, scale, n_components, weighting) in [
        (true, true, NComponents::Count(2), Weighting::Frequency),
        (false, false, NComponents::Variance(0.9), Weighting::Importance),
        (false, true, NComponents::All, Weighting::Population),
        (true, false, NComponents::Mle, Weighting::Population),
    ] {
        let options = IncrementalPca { n_components, center, scale, weighting, ..IncrementalPca::default() };
        let found = model(&fitted(&options, &rows, Some(&weights), 7, Layout::RowMajor));
        let all = Pca { n_components, center: center.into(), scale: scale.into(), weighting, ..pca(1) };
        assert_same(found.pca(), &all_at_once(&all, &rows, Some(&weights)), 1e-12);
        assert_eq!(found.residual_bounds(), found.residuals());
    }
}

#[test]
fn few_rows_have_as_many_components_as_there_are_rows() {
    let rows = gaussian(9, 5, 1);
    let options = IncrementalPca { weighting: Weighting::Population, ..IncrementalPca::new(4) };
    for n in 1..=9 {
        let found = model(&fitted(&options, &rows[..n], None, 2, Layout::RowMajor));
        let k = n.min(4);
        assert_eq!(found.n_components(), k, "{n} rows");
        assert_eq!((found.residuals().len(), found.residual_bounds().len()), (k, k));
        let expected = (k < 4).then_some(Note::FewerComponents { found: k, requested: 4 });
        assert_eq!(found.notes().first().copied(), expected);
        if n > 1 {
            let all = Pca { weighting: Weighting::Population, ..pca(k) };
            assert_same(found.pca(), &all_at_once(&all, &rows[..n], None), 1e-12);
        }
    }
}

#[test]
fn the_scatter_and_the_variances_match_the_rows() {
    let rows = vec![vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0, 6.0]];
    let fit = fitted(&IncrementalPca::new(1), &rows, Some(&[1.0, 2.0, 1.0]), 2, Layout::Csc);
    let scatter = fit.scatter(&Run::default()).unwrap().unwrap();
    assert_eq!(scatter.matrix.as_slice(), [8.0; 4]);
    assert_eq!(model(&fit).variances(), [2.0, 2.0]);
    assert_eq!(fit.moments(&Run::default()).unwrap(), scatter.moments);
}
