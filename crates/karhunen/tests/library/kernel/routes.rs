//! Routes agree, threads change nothing, and known nonlinear structures are found.

use karhunen::kernel::{Gamma, Kernel, KernelRoute};
use karhunen::{Dense, KernelModel, KernelPca, Matrix, Run, Weights};
use karhunen_testkit::{Rows, SplitMix64, largest_difference};

use crate::kernel::fixtures::{EXACT, assert_same, cloud, fit, rbf, scores, total};

#[test]
fn every_exact_route_gives_the_same_result() {
    let rows = cloud(700, 6, 1);
    let pca =
        |solver| KernelPca { kernel: rbf(0.15), solver: Some(solver), tol: Some(1e-12), ..KernelPca::new(6) };
    let full = fit(&pca(KernelRoute::Full), &rows, None);
    for route in EXACT {
        let model = fit(&pca(route), &rows, None);
        assert_same(route.name(), &model, &full, &rows, 1e-11);
        assert_eq!(model.convergence().solver, route);
        assert!(model.convergence().converged());
        assert!((total(&model) - total(&full)).abs() < 1e-11 * total(&full));
    }
    let (stored, tiles) =
        (fit(&pca(KernelRoute::Stored), &rows, None), fit(&pca(KernelRoute::Tiles), &rows, None));
    assert_eq!(stored.eigenvectors(), tiles.eigenvectors(), "the same bits");
}

/// Values of f32, so that fits of either type have the same data.
fn single(rows: &Rows) -> Rows {
    rows.iter().map(|row| row.iter().map(|x| f64::from(*x as f32)).collect()).collect()
}

/// The centred matrix of the rbf kernel by its definition.
fn centred(rows: &Rows, gamma: f64) -> Matrix {
    let n = rows.len();
    let distance =
        |i: usize, j: usize| rows[i].iter().zip(&rows[j]).map(|(x, y)| (x - y).powi(2)).sum::<f64>();
    let mut matrix = Matrix::from_fn(n, n, |i, j| (-gamma * distance(i, j)).exp());
    let means: Vec<f64> = (0..n).map(|i| matrix.row(i).iter().sum::<f64>() / n as f64).collect();
    let of_all = means.iter().sum::<f64>() / n as f64;
    for i in 0..n {
        matrix.row_mut(i).iter_mut().zip(&means).for_each(|(k, mean)| *k += of_all - mean - means[i]);
    }
    matrix
}

#[test]
fn a_fit_that_begins_in_f32_has_values_and_residuals_of_f64() {
    const TOL: f64 = 1e-5;
    let mut random = SplitMix64::new(7);
    let mut row = |_| (0..6).map(|j| 2.0 * random.uniform() / f64::from(j + 1)).collect();
    let rows = single(&(0..800).map(&mut row).collect());
    let pca =
        |solver| KernelPca { kernel: rbf(1.0), solver: Some(solver), tol: Some(TOL), ..KernelPca::new(5) };
    let full = fit(&pca(KernelRoute::Full), &rows, None);
    let largest = full.eigenvalues()[0];
    let values: Vec<f32> = rows.concat().iter().map(|x| *x as f32).collect();
    let in_f32 = pca(KernelRoute::Tiles)
        .fit(&Dense::row_major(&values, 800, 6).unwrap(), &Weights::default())
        .unwrap();
    let tiles = fit(&pca(KernelRoute::Tiles), &rows, None);
    // Of the size of the square of a residual; a gap between eigenvalues may be a tenth of the largest.
    let off = largest_difference(tiles.eigenvalues(), full.eigenvalues()) / largest;
    assert!(off <= 10.0 * TOL * TOL, "{off:e}");
    // Kernel values of f32 would be seen in the sum and in the Rayleigh quotients of the eigenvectors.
    let of_full = total(&full);
    assert!((total(&tiles) - of_full).abs() <= 1e-13 * of_full);
    assert!((total(&in_f32) - of_full).abs() > 1e-11 * of_full);
    let matrix = centred(&rows, 1.0);
    let product = |u: &Matrix, c: usize| -> Vec<f64> {
        (0..800).map(|i| matrix.row(i).iter().enumerate().map(|(j, k)| k * u[(j, c)]).sum()).collect()
    };
    let off_quotient = |model: &KernelModel, c: usize| {
        let u = model.eigenvectors();
        let quotient: f64 = product(u, c).iter().enumerate().map(|(i, y)| y * u[(i, c)]).sum();
        (quotient - model.eigenvalues()[c]).abs() / largest
    };
    let u = tiles.eigenvectors();
    for (c, (value, reported)) in tiles.eigenvalues().iter().zip(&tiles.convergence().residuals).enumerate() {
        assert!(off_quotient(&tiles, c) <= 1e-13, "{c}: {:e}", off_quotient(&tiles, c));
        let squares: f64 =
            product(u, c).iter().enumerate().map(|(i, y)| (y - value * u[(i, c)]).powi(2)).sum();
        let residual = squares.sqrt() / largest;
        assert!(*reported <= TOL && (residual - reported).abs() <= 1e-13, "{c}: {residual:e} {reported:e}");
    }
    assert!(off_quotient(&in_f32, 0) > 1e-11, "{:e}", off_quotient(&in_f32, 0));
    assert_eq!(fit(&pca(KernelRoute::Stored), &rows, None).eigenvectors(), u, "the same bits");
    // With few passes allowed, all are made in f64.
    let in_f64 = KernelPca { max_iter: 150, ..pca(KernelRoute::Tiles) };
    assert_ne!(fit(&in_f64, &rows, None).eigenvectors(), u, "another iteration");
}

#[test]
fn rows_far_from_the_mean_keep_their_digits() {
    // In f32 the distances within a group would be noise.
    let near = cloud(500, 3, 8);
    let rows: Rows =
        (0..500).map(|i| near[i].iter().map(|x| x + if i % 2 == 0 { 3e4 } else { -3e4 }).collect()).collect();
    let pca =
        |solver| KernelPca { kernel: rbf(0.5), solver: Some(solver), tol: Some(1e-5), ..KernelPca::new(6) };
    let (full, tiles) =
        (fit(&pca(KernelRoute::Full), &rows, None), fit(&pca(KernelRoute::Tiles), &rows, None));
    let off = largest_difference(tiles.eigenvalues(), full.eigenvalues());
    assert!(off <= 1e-9 * full.eigenvalues()[0], "{off:e}");
}

fn same_bits<T: karhunen::Scalar>(values: &[T], n: usize, p: usize, tol: Option<f64>) {
    let x = Dense::row_major(values, n, p).unwrap();
    for solver in EXACT {
        let on = |threads| -> KernelModel {
            let pca = KernelPca { kernel: rbf(0.2), solver: Some(solver), tol, ..KernelPca::new(4) };
            pca.fit_with(&x, &Weights::default(), &Run::threads(threads)).unwrap()
        };
        let one = on(1);
        for threads in [2, 3] {
            let several = on(threads);
            assert_eq!(one.eigenvectors(), several.eigenvectors(), "{solver} {threads}");
            assert_eq!(one.parts().coefficients, several.parts().coefficients, "{solver} {threads}");
        }
        let how = karhunen::pca::Transform::default();
        let scores = |threads| one.transform_with(&x, how, &Run::threads(threads)).unwrap();
        assert_eq!(scores(1), scores(3));
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let values = cloud(1100, 5, 2).concat();
    // The larger tolerance is one for which an iteration begins in f32.
    same_bits(&values, 1100, 5, None);
    same_bits(&values, 1100, 5, Some(1e-4));
    let single: Vec<f32> = values.iter().map(|x| *x as f32).collect();
    same_bits(&single, 1100, 5, None);
}

#[test]
fn the_route_is_chosen_by_size_and_memory() {
    let rows = cloud(900, 3, 3);
    let chosen = |pca: KernelPca| {
        let model = fit(&pca, &rows, None);
        (model.convergence().solver, model.convergence().reason.clone())
    };
    assert_eq!(chosen(KernelPca::new(3)).0, KernelRoute::Stored);
    let small = KernelPca { memory_limit: Some(1_500_000), ..KernelPca::new(3) };
    let (route, reason) = chosen(small);
    assert_eq!(route, KernelRoute::Tiles);
    assert!(reason.starts_with("the kernel matrix would take"), "{reason}");
    assert_eq!(chosen(KernelPca::new(300)).0, KernelRoute::Full);
    assert_eq!(chosen(KernelPca::default()).0, KernelRoute::Full);
    let few: Rows = rows[..100].to_vec();
    assert_eq!(fit(&KernelPca::new(3), &few, None).convergence().reason, "100 rows are few");
}

#[test]
fn two_moons_are_separated() {
    let mut random = SplitMix64::new(6);
    let rows: Rows = (0..600)
        .map(|i| {
            let angle = std::f64::consts::PI * f64::from(i / 2) / 300.0;
            let (x, y) =
                if i % 2 == 0 { (angle.cos(), angle.sin()) } else { (1.0 - angle.cos(), 0.5 - angle.sin()) };
            vec![x + 0.04 * random.normal(), y + 0.04 * random.normal()]
        })
        .collect();
    for solver in EXACT {
        let pca = KernelPca { kernel: rbf(15.0), solver: Some(solver), ..KernelPca::new(1) };
        let z = scores(&fit(&pca, &rows, None), &rows);
        let sign = z[(0, 0)].signum();
        let right = (0..600).filter(|&i| (z[(i, 0)] * sign > 0.0) == (i % 2 == 0)).count();
        assert!(right >= 590, "{solver}: {right} of 600 on the right side");
    }
}

/// The share of the variance of `t` explained linearly by the scores, whose columns are orthogonal with mean zero.
fn explained(scores: &Matrix, t: &[f64]) -> f64 {
    let mean = t.iter().sum::<f64>() / t.len() as f64;
    let total: f64 = t.iter().map(|t| (t - mean).powi(2)).sum();
    let along = |c: usize| {
        let (mut product, mut square) = (0.0, 0.0);
        for (i, t) in t.iter().enumerate() {
            product += scores[(i, c)] * (t - mean);
            square += scores[(i, c)].powi(2);
        }
        product * product / square
    };
    (0..scores.n_cols()).map(along).sum::<f64>() / total
}

#[test]
fn a_swiss_roll_is_unrolled() {
    let mut random = SplitMix64::new(7);
    let angles: Vec<f64> =
        (0..600).map(|_| 1.5 * std::f64::consts::PI * (1.0 + 2.0 * random.uniform())).collect();
    let rows: Rows = angles.iter().map(|t| vec![t * t.cos(), 21.0 * random.uniform(), t * t.sin()]).collect();
    let linear = KernelPca { kernel: Kernel::Linear, ..KernelPca::new(3) };
    let flat = explained(&scores(&fit(&linear, &rows, None), &rows), &angles);
    assert!(flat < 0.2, "{flat}");
    for solver in EXACT {
        let kernel = Kernel::Rbf { gamma: Gamma::Median };
        let pca = KernelPca { kernel, solver: Some(solver), ..KernelPca::new(10) };
        let unrolled = explained(&scores(&fit(&pca, &rows, None), &rows), &angles);
        assert!(unrolled > 0.97, "{solver}: {unrolled}");
    }
}
