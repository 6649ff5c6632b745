//! Pre-images: rows from scores.

use karhunen::error::options;
use karhunen::kernel::{Gamma, Kernel, KernelRoute, PreImage, PreImageParts};
use karhunen::pca::Transform;
use karhunen::{
    Dense, Error, Flow, KernelModel, KernelPca, Matrix, NComponents, Observer, Run, Source, Sparse, Weights,
};
use karhunen_testkit::{Rows, SplitMix64, largest_difference, repeat_rows};

use crate::kernel::fixtures::{cloud, fit, rbf, scores};
use crate::kernel::golden::{golden, iris, rows as golden_rows};

fn with(pre_image: PreImage, k: usize) -> KernelPca {
    KernelPca { kernel: rbf(0.4), pre_image: Some(pre_image), ..KernelPca::new(k) }
}

#[test]
fn ridge_pre_images_agree_with_scikit_learn() {
    let golden = golden();
    let model = fit(&with(PreImage::Ridge { alpha: 0.1 }, 3), &iris(), None);
    let new = golden_rows(&golden["new_rows"]);
    let found = model.inverse_transform(&scores(&model, &new)).unwrap();
    let apart = largest_difference(found.as_slice(), &golden_rows(&golden["inverse_rows"]).concat());
    assert!(apart < 1e-8, "{apart:e}");
}

/// A noisy circle, and the circle without noise.
fn circle(n: usize, noise: f64) -> (Rows, Rows) {
    let mut random = SplitMix64::new(8);
    let clean: Rows = (0..n)
        .map(|i| {
            let angle = 2.0 * std::f64::consts::PI * i as f64 / n as f64;
            vec![3.0 + 2.0 * angle.cos(), 2.0 * angle.sin(), 1.0]
        })
        .collect();
    let noisy = clean.iter().map(|r| r.iter().map(|x| x + noise * random.normal()).collect()).collect();
    (clean, noisy)
}

#[test]
fn both_methods_remove_noise() {
    let (clean, noisy) = circle(600, 0.15);
    let error = |x: &[f64]| x.iter().zip(clean.concat()).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / 600.0;
    let before = error(&noisy.concat());
    for pre_image in [PreImage::Ridge { alpha: 0.01 }, PreImage::FixedPoint] {
        let model = fit(&with(pre_image, 6), &noisy, None);
        let after = error(model.inverse_transform(&scores(&model, &noisy)).unwrap().as_slice());
        assert!(after < 0.6 * before, "{pre_image:?}: {after} of {before}");
    }
    let pca = KernelPca {
        solver: Some(KernelRoute::Nystrom),
        n_features: Some(60),
        ..with(PreImage::Ridge { alpha: 0.01 }, 6)
    };
    let model = fit(&pca, &noisy, None);
    let after = error(model.inverse_transform(&scores(&model, &noisy)).unwrap().as_slice());
    assert!(after < 0.7 * before, "landmarks: {after} of {before}");
}

#[test]
fn the_fixed_point_of_all_components_is_the_row_itself() {
    let rows = cloud(60, 3, 9);
    let model =
        fit(&KernelPca { n_components: NComponents::All, ..with(PreImage::FixedPoint, 1) }, &rows, None);
    let found = model.inverse_transform(&model.fitted_scores()).unwrap();
    let apart = largest_difference(found.as_slice(), &rows.concat());
    assert!(apart < 1e-4, "{apart:e}");
}

#[test]
fn integer_weights_equal_repeated_rows() {
    let rows = cloud(80, 3, 10);
    let counts: Vec<u32> = (0..80).map(|i| i % 3).collect();
    let weights: Vec<f64> = counts.iter().map(|w| f64::from(*w)).collect();
    let repeated = repeat_rows(&rows, &counts);
    for pre_image in [PreImage::Ridge { alpha: 0.1 }, PreImage::FixedPoint] {
        let (weighted, copied) =
            (fit(&with(pre_image, 4), &rows, Some(&weights)), fit(&with(pre_image, 4), &repeated, None));
        let z = scores(&copied, &rows[..20].to_vec());
        let (a, b) = (weighted.inverse_transform(&z).unwrap(), copied.inverse_transform(&z).unwrap());
        let apart = largest_difference(a.as_slice(), b.as_slice());
        assert!(apart < 1e-6, "{pre_image:?}: {apart:e}");
    }
}

#[test]
fn whitened_scores_and_threads_change_no_pre_image() {
    let rows = cloud(300, 3, 11);
    let values = rows.concat();
    let x = Dense::row_major(&values, 300, 3).unwrap();
    for pre_image in [PreImage::Ridge { alpha: 0.1 }, PreImage::FixedPoint] {
        let model = with(pre_image, 3).fit(&x, &Weights::default()).unwrap();
        let (whiten, one, three) =
            (Transform { whiten: true, ..Default::default() }, Run::threads(1), Run::threads(3));
        let z = model.transform_with(&x, whiten, &one).unwrap();
        let plain = model.inverse_transform(&model.transform(&x).unwrap()).unwrap();
        let whitened = model.inverse_transform_with(&z, whiten, &one).unwrap();
        assert!(largest_difference(plain.as_slice(), whitened.as_slice()) < 1e-6);
        assert_eq!(model.inverse_transform_with(&z, whiten, &three).unwrap(), whitened);
    }
}

#[test]
fn invalid_pre_image_options_are_refused() {
    let rows = cloud(40, 2, 12);
    let values = rows.concat();
    let x = Dense::row_major(&values, 40, 2).unwrap();
    let refused = |pca: KernelPca| pca.fit(&x, &Weights::default()).unwrap_err().to_string();
    let base = with(PreImage::FixedPoint, 2);
    assert!(refused(with(PreImage::Ridge { alpha: 0.0 }, 2)).starts_with("alpha = 0 is not allowed"));
    let kernel = Kernel::Laplacian { gamma: Gamma::Value(1.0) };
    assert!(refused(KernelPca { kernel, ..base }).starts_with("pre_image = fixed-point is not allowed"));
    let given = KernelPca { kernel: Kernel::Precomputed, ..with(PreImage::Ridge { alpha: 1.0 }, 2) };
    assert!(refused(given).starts_with("pre_image = ridge is not allowed"));
    let fourier = KernelPca { solver: Some(KernelRoute::Fourier), ..with(PreImage::Ridge { alpha: 1.0 }, 2) };
    assert!(refused(fourier).contains("pre-images need the rows"));
    let model: KernelModel = KernelPca::new(2).fit(&x, &Weights::default()).unwrap();
    let z = model.transform(&x).unwrap();
    assert!(matches!(model.inverse_transform(&z), Err(Error::Option { option: options::PRE_IMAGE, .. })));
    assert!(matches!(model.inverse_transform(&z.columns(0..1)), Err(Error::Shape { what: "scores", .. })));
}

#[test]
fn the_default_is_the_fixed_point_iteration_if_it_is_defined() {
    let rows = cloud(80, 3, 11);
    let cases = [
        (rbf(0.4), None, true),
        (rbf(0.4), Some(KernelRoute::Nystrom), false),
        (Kernel::Laplacian { gamma: Gamma::Value(0.4) }, None, false),
    ];
    for (kernel, solver, is_fixed_point) in cases {
        let pca = KernelPca { kernel, solver, ..with(PreImage::Auto { alpha: 0.1 }, 4) };
        let way = if is_fixed_point { PreImage::FixedPoint } else { PreImage::Ridge { alpha: 0.1 } };
        let found = fit(&pca, &rows, None);
        let asked = fit(&KernelPca { pre_image: Some(way), ..pca }, &rows, None);
        let (found_parts, asked_parts) = (&found.parts().pre_image, &asked.parts().pre_image);
        if is_fixed_point {
            assert_eq!(found_parts, asked_parts);
        } else {
            let of = |parts: &Option<PreImageParts>| match parts {
                Some(PreImageParts::Ridge { scores, centre, .. }) => (scores.clone(), centre.len()),
                _ => panic!("a ridge regression"),
            };
            let ((scores, centred), (same, not_centred)) = (of(found_parts), of(asked_parts));
            assert_eq!((scores, centred, not_centred), (same, 3, 0));
        }
        assert_eq!(found.parts().options.pre_image, Some(PreImage::Auto { alpha: 0.1 }));
    }
    let custom = KernelPca { kernel: Kernel::AdditiveChi2, ..with(PreImage::Auto { alpha: 0.1 }, 2) };
    let values = rows.concat();
    let x = Dense::row_major(&values, 80, 3).unwrap();
    let error = custom.fit(&x, &Weights::default()).unwrap_err();
    assert!(error.to_string().contains("the regression compares scores by the kernel"), "{error}");
}

#[test]
fn a_too_small_ridge_is_refused() {
    let values = [1.0, 2.0, 1.0, 2.0, 3.0, 1.0, 0.0, 5.0];
    let x = Dense::row_major(&values, 4, 2).unwrap();
    let pca = KernelPca {
        kernel: rbf(0.1),
        pre_image: Some(PreImage::Ridge { alpha: 1e-300 }),
        ..KernelPca::new(2)
    };
    let error = pca.fit(&x, &Weights::default()).unwrap_err().to_string();
    assert!(error.starts_with("alpha = 1e-300 is") && error.ends_with("give a larger ridge"), "{error}");
}

#[test]
fn dropping_zero_eigenvalues_changes_no_score_and_no_pre_image() {
    let rows = cloud(50, 3, 12);
    let pca = KernelPca { kernel: Kernel::Linear, ..with(PreImage::Ridge { alpha: 0.1 }, 6) };
    let model = fit(&pca, &rows, None);
    let left = model.clone().without_zeros();
    assert_eq!((model.n_components(), left.n_components()), (6, 3));
    assert_eq!(left.eigenvalues(), &model.eigenvalues()[..3]);
    assert_eq!(scores(&left, &rows), scores(&model, &rows).columns(0..3));
    assert!(left.convergence().converged());
    let (few, all) = (scores(&left, &rows), scores(&model, &rows));
    let (found, expected) = (left.inverse_transform(&few).unwrap(), model.inverse_transform(&all).unwrap());
    assert!(largest_difference(found.as_slice(), expected.as_slice()) < 1e-9);
    assert!(KernelModel::try_from(left.parts().clone()).is_ok());
}

/// Panics at the first progress report.
struct NoWork;

impl Observer for NoWork {
    fn update(&self, phase: &'static str, _: f64) -> Flow {
        panic!("{phase} was begun");
    }
}

#[test]
fn kernels_without_pre_images_are_refused_before_any_work() {
    let refused = |pca: KernelPca, x: &dyn Source<f64>| {
        pca.fit_with(x, &Weights::default(), &Run::observed(&NoWork)).unwrap_err().to_string()
    };
    let no_rows = "pre_image is not allowed: pre-images need the rows";
    let ridge = with(PreImage::Ridge { alpha: 1.0 }, 2);
    let small = Matrix::from_fn(5, 2, |i, j| (i + j) as f64);
    let fourier = KernelPca { solver: Some(KernelRoute::Fourier), ..ridge.clone() };
    assert!(refused(fourier, &Dense::from(&small)).starts_with(no_rows));
    let sparse = Sparse::csr(3, 2, &[0_u64, 1, 1, 2], &[0_u32, 1], &[1.0, 2.0]).unwrap();
    assert!(refused(ridge, &sparse).starts_with(no_rows));
    // So many rows that the automatic route is an approximation.
    let many = Matrix::zeros(400_000, 1);
    let chosen = KernelPca { memory_limit: Some(1 << 30), ..with(PreImage::FixedPoint, 50) };
    assert!(refused(chosen, &Dense::from(&many)).starts_with("pre_image = fixed-point is not allowed"));
}

#[test]
fn the_default_of_other_kernels_keeps_the_mean() {
    let rows: Rows = cloud(100, 3, 13).iter().map(|row| row.iter().map(|x| x + 10.0).collect()).collect();
    let weights: Vec<f64> = (0..100).map(|i| f64::from(i % 3)).collect();
    let counts: Vec<u32> = (0..100).map(|i| i % 3).collect();
    let linear = KernelPca { kernel: Kernel::Linear, ..with(PreImage::Auto { alpha: 1.0 }, 3) };
    for solver in [None, Some(KernelRoute::Nystrom)] {
        let pca = KernelPca { solver, ..linear.clone() };
        for weights in [None, Some(&weights[..])] {
            let model = fit(&pca, &rows, weights);
            let mean: Vec<f64> = (0..3)
                .map(|j| {
                    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
                    let sum: f64 = (0..100).map(weight).sum();
                    (0..100).map(|i| weight(i) * rows[i][j]).sum::<f64>() / sum
                })
                .collect();
            // A row with scores of zero is rebuilt as the mean.
            let found = model.inverse_transform(&Matrix::<f64>::zeros(1, 3)).unwrap();
            assert!(largest_difference(found.as_slice(), &mean) < 1e-10, "{found:?} {mean:?}");
            let again = model.inverse_transform(&scores(&model, &rows)).unwrap();
            let apart = largest_difference(again.as_slice(), &rows.concat());
            assert!(apart < 0.5, "{solver:?}: {apart}");
        }
    }
    let (weighted, copied) =
        (fit(&linear, &rows, Some(&weights)), fit(&linear, &repeat_rows(&rows, &counts), None));
    let z = scores(&copied, &rows);
    let (a, b) = (weighted.inverse_transform(&z).unwrap(), copied.inverse_transform(&z).unwrap());
    assert!(largest_difference(a.as_slice(), b.as_slice()) < 1e-8);
}
