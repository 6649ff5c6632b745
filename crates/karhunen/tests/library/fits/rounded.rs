//! Fits with a rounded copy in memory: passes over the rows, and the components beside those without a copy.

use karhunen::pca::{Rounding, Route};
use karhunen::{Dense, Error, Pca, Run, Weights};
use karhunen_testkit::{gaussian, largest, row_major};

use crate::fits::disk::Disk;
use crate::fits::one_visit::bits;

/// Normal rows with variances `1 / (j + 1)`, turned by a reflection so that every column has a part in every component.
fn rows(n: usize, p: usize) -> Vec<f64> {
    let mut rows = gaussian(n, p, 21);
    let axis = gaussian(1, p, 22).remove(0);
    let length: f64 = axis.iter().map(|a| a * a).sum();
    for row in &mut rows {
        row.iter_mut().enumerate().for_each(|(j, value)| *value /= ((j + 1) as f64).sqrt());
        let along = 2.0 * row.iter().zip(&axis).map(|(value, a)| value * a).sum::<f64>() / length;
        row.iter_mut().zip(&axis).for_each(|(value, a)| *value += 5.0 - along * a);
    }
    row_major(&rows)
}

fn pca(k: usize, tol: f64, rounding: Rounding) -> Pca {
    Pca { solver: Some(Route::BlockKrylov), tol: Some(tol), rounded_copy: Some(rounding), ..Pca::new(k) }
}

/// Section 4 of the specification of data beyond memory: residuals after each pass, of which three times as much is
/// accepted.
#[test]
fn few_passes_over_the_rows_reach_the_tolerance() {
    let (n, p, k) = (3_000, 500, 10);
    let values = rows(n, p);
    let array = Dense::row_major(&values, n, p).unwrap();
    let exact = Pca { solver: Some(Route::Covariance), ..Pca::new(k) };
    let exact = exact.fit(&array, &Weights::default()).unwrap();
    for (rounding, table) in [
        (Rounding::F16, &[(6e-4, 1), (3e-6, 2), (3e-8, 3)][..]),
        (Rounding::Int8, &[(1.5e-2, 1), (2e-4, 2), (2e-5, 3), (1e-6, 4)]),
    ] {
        for &(tol, n_products) in table {
            let disk = Disk::new(&values, n, p, 300);
            let model = pca(k, tol, rounding).fit(&disk, &Weights::default()).unwrap();
            let convergence = model.convergence();
            assert_eq!(convergence.n_passes, disk.visits(), "{rounding} to {tol}");
            assert!(convergence.n_passes <= 1 + n_products, "{rounding} to {tol}: {convergence:?}");
            assert_eq!(convergence.n_converged, k, "{rounding} to {tol}");
            assert!(
                convergence.reason.ends_with(&format!("over a copy of {rounding} values")),
                "{convergence:?}"
            );
            let largest = exact.explained_variance()[0];
            for (found, exact) in model.explained_variance().iter().zip(exact.explained_variance()) {
                assert!((found - exact).abs() <= tol * largest, "{rounding} to {tol}: {found} for {exact}");
            }
        }
    }
}

#[test]
fn the_bits_depend_on_neither_threads_nor_blocks_and_weights_and_scales_are_exact() {
    let (n, p, k) = (1_500, 80, 4);
    let values = rows(n, p);
    let single: Vec<f32> = values.iter().map(|&value| value as f32).collect();
    let weights: Vec<f64> = (0..n).map(|i| (i % 3) as f64).collect();
    let weights = Weights::of_samples(&weights);
    for rounding in Rounding::ALL {
        let pca = Pca { scale: true.into(), ..pca(k, 1e-9, rounding) };
        let fit = |n_threads, height| {
            let run = Run::threads(n_threads);
            pca.fit_with(&Disk::new(&values, n, p, height), &weights, &run).unwrap()
        };
        let model = fit(1, 500);
        assert_eq!(bits(&model), bits(&fit(3, 500)), "{rounding}");
        assert_eq!(bits(&model), bits(&fit(2, 77)), "{rounding}");
        assert_eq!(bits(&model), bits(&fit(1, 1_500)), "{rounding}");
        let exact = Pca { solver: Some(Route::Covariance), rounded_copy: None, ..pca.clone() };
        let exact = exact.fit(&Dense::row_major(&values, n, p).unwrap(), &weights).unwrap();
        let differences = |a: &[f64], b: &[f64]| largest(a.iter().zip(b).map(|(a, b)| (a - b).abs()));
        assert!(differences(model.explained_variance(), exact.explained_variance()) < 1e-9, "{rounding}");
        assert!(
            differences(model.components().as_slice(), exact.components().as_slice()) < 1e-5,
            "{rounding}"
        );
        let pca = Pca { tol: None, ..pca };
        let single = pca.fit(&Disk::new(&single, n, p, 500), &weights).unwrap();
        assert_eq!(single.convergence().n_converged, k);
    }
}

/// A first block that says little of the rest: constant columns, and outliers far beyond its range.
#[test]
fn outliers_that_the_copy_clips_cost_passes_and_no_accuracy() {
    let (n, p, k) = (2_000, 120, 5);
    let mut values = rows(n, p);
    values.iter_mut().step_by(p).take(1_024).for_each(|value| *value = 1.0);
    for i in 0..20 {
        values[(1_100 + 40 * i) * p + 7 * (i % 3)] += 1e6;
    }
    let array = Dense::row_major(&values, n, p).unwrap();
    let exact = Pca { solver: Some(Route::Covariance), ..Pca::new(k) };
    let exact = exact.fit(&array, &Weights::default()).unwrap();
    let disk = Disk::new(&values, n, p, 1_024);
    let model = pca(k, 1e-8, Rounding::Int8).fit(&disk, &Weights::default()).unwrap();
    assert_eq!(model.convergence().n_converged, k, "{:?}", model.convergence());
    for (found, exact) in model.explained_variance().iter().zip(exact.explained_variance()) {
        assert!((found - exact).abs() <= 1e-8 * model.explained_variance()[0], "{found} for {exact}");
    }
}

/// The copy holds next to nothing of the first column, which varies in rows that the units do not reflect, and the sample
/// correlation of that column with all others is zero.
#[test]
fn a_component_that_the_copy_clips_is_found() {
    let (n, p) = (4_000, 100);
    let mut values = vec![0.0; n * p];
    for i in 0..2_000 {
        // Orthogonal patterns of +-1, in the rows before those in which the first column varies.
        for j in 1..p {
            let sign = if (i & (j % 64 + 1)).count_ones() % 2 == 0 { 1.0 } else { -1.0 };
            values[i * p + j] = if j == 1 { 2.0 * sign } else { sign };
        }
        values[i * p] = if i % 2 == 0 { 1e-1 } else { -1e-1 };
    }
    for i in 0..20 {
        values[(2_500 + 50 * i) * p] = if i % 2 == 0 { 1e3 } else { -1e3 };
    }
    let disk = Disk::new(&values, n, p, 1_000);
    let model = pca(1, 1e-8, Rounding::Int8).fit(&disk, &Weights::default()).unwrap();
    assert!((model.explained_variance()[0] - 5_000.0).abs() < 10.0, "{:?}", model.explained_variance());
    assert!(model.components()[(0, 0)].abs() > 0.999);
}

#[test]
fn a_copy_is_made_only_where_it_serves() {
    let (n, p) = (400, 30);
    let values = rows(n, p);
    let disk = Disk::new(&values, n, p, 100);
    // One pass suffices.
    let one_pass = Pca { rounded_copy: Some(Rounding::F16), ..Pca::new(3) };
    let model = one_pass.fit(&disk, &Weights::default()).unwrap();
    assert!(!model.convergence().reason.contains("copy"), "{:?}", model.convergence());
    let refusal = |pca: &Pca, n: usize| {
        let wide = Disk::new(&values[..n * p], n, p, 100);
        match pca.fit(&wide, &Weights::default()) {
            Err(Error::Option { .. }) => {}
            other => panic!("{other:?}"),
        }
    };
    refusal(&one_pass, 20);
    refusal(&Pca { solver: Some(Route::Covariance), ..one_pass.clone() }, 400);
    // Rows in memory need none.
    let array = Dense::row_major(&values, n, p).unwrap();
    let in_memory = pca(3, 1e-8, Rounding::F16);
    let plain = Pca { rounded_copy: None, ..in_memory.clone() };
    let [found, expected] = [in_memory, plain].map(|pca| pca.fit(&array, &Weights::default()).unwrap());
    assert_eq!(found.components(), expected.components());
    refusal(&Pca { n_components: karhunen::NComponents::Variance(0.5), ..one_pass.clone() }, 400);
}

#[test]
fn a_copy_beyond_the_limit_is_refused_with_the_smallest_limit() {
    let (n, p) = (4_000, 1_000);
    let values = rows(n, p);
    let fit = |limit| {
        let disk = Disk::new(&values, n, p, 500);
        let pca = Pca { memory_limit: Some(limit), ..pca(3, 1e-4, Rounding::F16) };
        pca.fit(&disk, &Weights::default())
    };
    let Err(Error::Memory { advice, .. }) = fit(70_000_000) else { panic!("8 MB more are needed") };
    let least = advice.iter().find_map(|way| match way {
        karhunen::error::Advice::MemoryLimit { bytes } => Some(*bytes as u64 + 1),
        _ => None,
    });
    let least = least.expect("the smallest limit is named");
    assert!(fit(least).is_ok(), "{least}");
}
