//! Reliability of approximations: uneven weights, bounds at the level of rounding, components without variance.

use karhunen::kernel::{Kernel, KernelBasis, KernelRoute, Landmarks};
use karhunen::{Dense, KernelModel, KernelPca, Matrix, Weights};
use karhunen_testkit::{Rows, SplitMix64, largest_difference};

use crate::kernel::fixtures::{cloud, fit, rbf, scores};

const RULES: [Landmarks; 3] = [Landmarks::Uniform, Landmarks::KMeansPlusPlus, Landmarks::LeverageScores];

fn approximate(kernel: Kernel, solver: KernelRoute, m: usize, k: usize) -> KernelPca {
    KernelPca { kernel, solver: Some(solver), n_features: Some(m), ..KernelPca::new(k) }
}

/// `n_far` rows far from the origin and from one another, then rows near the origin with deviation `spread`.
fn outliers(n_far: usize, n_near: usize, spread: f64, seed: u64) -> Rows {
    let far = (0..n_far).map(|i| {
        let angle = i as f64 * std::f64::consts::TAU / n_far as f64;
        vec![50.0 * angle.cos(), 50.0 * angle.sin()]
    });
    let near = SplitMix64::new(seed).normals(n_near, 2);
    far.chain(near.into_iter().map(|row| row.iter().map(|x| spread * x).collect())).collect()
}

/// `weight` for each row far from the origin, one for all others.
fn heavy(n_far: usize, weight: f64, n_near: usize) -> Vec<f64> {
    (0..n_far + n_near).map(|i| if i < n_far { weight } else { 1.0 }).collect()
}

#[test]
fn rows_of_large_weight_are_landmarks() {
    // The second has more rows than the rules consider.
    for n_near in [2_000, 12_000] {
        let rows = outliers(3, n_near, 0.1, 1);
        let weights = heavy(3, 1000.0, n_near);
        for landmarks in RULES {
            let pca = KernelPca { landmarks, ..approximate(rbf(0.1), KernelRoute::Nystrom, 100, 3) };
            let model = fit(&pca, &rows, Some(&weights));
            // Four clusters far apart: their weighted, centred indicators have these eigenvalues, up to the
            // spread.
            assert!((model.eigenvalues()[1] - 1000.0).abs() < 1.0, "{landmarks:?} {:?}", model.eigenvalues());
            assert!((model.eigenvalues()[2] - 1000.0).abs() < 1.0, "{landmarks:?} {:?}", model.eigenvalues());
            let approximation = model.convergence().approximation.unwrap();
            assert!(approximation.bound.unwrap() < 0.05, "{landmarks:?} {approximation:?}");
        }
    }
}

#[test]
fn equal_weights_change_no_draw() {
    let rows = cloud(6_000, 3, 2);
    let weights = vec![3.0; 6_000];
    for landmarks in RULES {
        let pca = KernelPca { landmarks, ..approximate(rbf(0.1), KernelRoute::Nystrom, 20, 3) };
        let (plain, weighted) = (fit(&pca, &rows, None), fit(&pca, &rows, Some(&weights)));
        assert_eq!(plain.parts().basis, weighted.parts().basis);
    }
}

#[test]
fn rows_of_weight_zero_are_not_landmarks() {
    let rows = cloud(400, 2, 3);
    let weights: Vec<f64> = (0..400).map(|i| f64::from(i % 4)).collect();
    let model = fit(&approximate(rbf(0.1), KernelRoute::Nystrom, 50, 3), &rows, Some(&weights));
    let KernelBasis::Landmarks(landmarks) = &model.parts().basis else { panic!() };
    let z = |rows: &Rows| rows.iter().map(|row| row[0]).collect::<Vec<_>>();
    let karhunen::kernel::KernelRows::Dense(landmarks) = landmarks else { panic!() };
    assert_eq!(landmarks.n_rows(), 50);
    for row in 0..50 {
        let at = z(&rows).iter().position(|x| *x == landmarks[(row, 0)]).unwrap();
        assert!(weights[at] > 0.0, "row {at}");
    }
}

/// The same data with all rows near the origin replaced by one: few enough for the estimate to use all of them.
#[test]
fn the_estimate_includes_rows_of_large_weight() {
    for seed in 0..4 {
        let rows = outliers(8, 20_000, 1e-3, seed);
        let weights = heavy(8, 5000.0, 20_000);
        let waves = KernelPca { seed, ..approximate(rbf(0.2), KernelRoute::Fourier, 64, 3) };
        let found = fit(&waves, &rows, Some(&weights)).convergence().approximation.unwrap().estimate;
        let few: Rows = rows[..8].iter().cloned().chain([vec![0.0, 0.0]]).collect();
        let together: Vec<f64> = [vec![5000.0; 8], vec![20_000.0]].concat();
        let exact = fit(&waves, &few, Some(&together)).convergence().approximation.unwrap().estimate;
        assert!((found / exact - 1.0).abs() < 0.1, "fourier {seed}: {found:e} for {exact:e}");

        let landmarks = KernelPca { seed, ..approximate(rbf(0.2), KernelRoute::Nystrom, 4, 2) };
        let model = fit(&landmarks, &rows, Some(&weights));
        // Four of eight rows of weight 5,000 are not landmarks, which determines the spectral norm of the
        // difference.
        let norm = 5000.0 / model.eigenvalues()[0];
        let found = model.convergence().approximation.unwrap().estimate;
        assert!(found > 0.9 * norm && found < 4.1 * norm, "nystrom {seed}: {found:e} for {norm:e}");
    }
}

#[test]
fn the_estimate_is_within_the_bound() {
    // One row represents three in the sample of the estimate.
    for seed in 0..12 {
        let rows = outliers(1, 1_500, 1e-3, 5);
        let pca = KernelPca { seed, ..approximate(rbf(0.2), KernelRoute::Nystrom, 2, 1) };
        let approximation = fit(&pca, &rows, None).convergence().approximation.unwrap();
        assert!(approximation.estimate <= approximation.bound.unwrap(), "{seed}: {approximation:?}");
    }
}

fn off(model: &KernelModel, exact: &KernelModel) -> f64 {
    largest_difference(model.eigenvalues(), exact.eigenvalues()) / exact.eigenvalues()[0]
}

#[test]
fn the_bound_includes_rounding() {
    // Columns of different scales, as in measurements; 20 landmarks span all of them.
    for (seed, decades) in (0..20).flat_map(|seed| [(seed, 1.0), (seed, 2.0), (seed, 3.0), (seed, 4.0)]) {
        let mut rows = SplitMix64::new(seed).normals(178, 13);
        let scale = |j: usize| 10f64.powf(2.0 - decades * j as f64 / 12.0);
        rows.iter_mut()
            .for_each(|row| row.iter_mut().enumerate().for_each(|(j, x)| *x = (*x + 3.0) * scale(j)));
        let pca = |solver, n_features| KernelPca {
            kernel: Kernel::Linear,
            solver: Some(solver),
            n_features,
            seed,
            ..KernelPca::new(10)
        };
        let exact = fit(&pca(KernelRoute::Full, None), &rows, None);
        let model = fit(&pca(KernelRoute::Nystrom, Some(20)), &rows, None);
        let approximation = model.convergence().approximation.unwrap();
        let off = off(&model, &exact);
        assert!(off <= approximation.bound.unwrap(), "{seed} {decades}: {off:e} over {approximation:?}");
        assert!(off <= approximation.estimate, "{seed} {decades}: {off:e} over {approximation:?}");
        assert!(approximation.bound.unwrap() < 1e-6, "{seed} {decades}: {approximation:?}");
    }
}

#[test]
fn the_bound_includes_rounding_of_f32() {
    for seed in 0..10 {
        let values: Vec<f32> =
            SplitMix64::new(seed).normals(200, 4).concat().iter().map(|x| x.powi(5) as f32).collect();
        let x = Dense::row_major(&values, 200, 4).unwrap();
        let kernel =
            Kernel::Polynomial { degree: 2.0, gamma: karhunen::kernel::Gamma::Value(0.1), coef0: 1.0 };
        let fit = |pca: KernelPca| pca.fit(&x, &Weights::default()).unwrap();
        let exact =
            KernelPca { kernel, solver: Some(KernelRoute::Stored), tol: Some(1e-7), ..KernelPca::new(3) };
        let (exact, model) = (fit(exact), fit(approximate(kernel, KernelRoute::Nystrom, 200, 3)));
        let approximation = model.convergence().approximation.unwrap();
        let off = off(&model, &exact);
        assert!(off <= approximation.bound.unwrap(), "{seed}: {off:e} over {approximation:?}");
        assert!(approximation.bound.unwrap() < 1e-4, "{seed}: {approximation:?}");
    }
}

#[test]
fn components_without_variance_have_zero_scores() {
    let distinct = cloud(3, 4, 9);
    let rows: Rows = distinct.iter().flat_map(|row| std::iter::repeat_n(row.clone(), 20)).collect();
    let new = cloud(30, 4, 10);
    let zero = |solver, m| {
        for (kernel, seed) in [(rbf(0.2), 0), (rbf(0.2), 1), (rbf(1.0), 2)] {
            let model = fit(&KernelPca { seed, ..approximate(kernel, solver, m, 4) }, &rows, None);
            assert!(model.eigenvalues()[1] > 0.1);
            assert_eq!(model.eigenvalues()[2..], [0.0, 0.0], "{solver:?}");
            let z: Matrix = scores(&model, &new);
            assert!((0..30).all(|i| z[(i, 2)] == 0.0 && z[(i, 3)] == 0.0), "{solver:?}");
            assert!((0..30).any(|i| z[(i, 1)].abs() > 0.01), "{solver:?}");
        }
    };
    zero(KernelRoute::Nystrom, 20);
    zero(KernelRoute::Fourier, 64);
}
