//! The covariance route in one visit: the bits of the array, for every number of columns.

use karhunen::moments::Scatter;
use karhunen::pca::Route;
use karhunen::{Dense, Error, Pca, Run, Scalar, Weights};
use karhunen_testkit::{gaussian, planted, power_law, row_major};

use crate::fits::disk::{Batches, Disk};

/// The bits of all numbers of a model.
pub(crate) fn bits(model: &karhunen::PcaModel) -> Vec<u64> {
    let values = [
        model.components().as_slice(),
        model.explained_variance(),
        model.mean(),
        model.scale(),
        &model.convergence().residuals,
        &[model.noise_variance(), model.total_variance()],
    ];
    values.concat().iter().map(|value| value.to_bits()).collect()
}

fn one_visit_gives_the_bits_of_the_array<T: Scalar>() {
    for (n, p) in [(9_000, 40), (760, 513), (760, 700)] {
        let rows = planted(n, p, &power_law(12, 0.9), 3.0, 8).rows;
        let values: Vec<T> = row_major(&rows).into_iter().map(T::from_f64).collect();
        let weights: Vec<f64> = (0..n).map(|i| 0.25 + (i % 5) as f64).collect();
        let array = Dense::row_major(&values, n, p).unwrap();
        for (weights, scale) in [(None, false), (Some(&weights[..]), true)] {
            let pca = Pca { solver: Some(Route::Covariance), scale: scale.into(), ..Pca::new(3) };
            let given = Weights { samples: weights, features: None };
            let expected = pca.fit(&array, &given).unwrap();
            assert_eq!(expected.convergence().n_passes, 1);
            for (height, memory_limit, n_threads) in
                [(n / 2 + 1, None, 1), (100, Some(400_000_000), 2), (1, Some(900_000_000), 7)]
            {
                let disk = Disk::new(&values, n, p, height);
                let pca = Pca { memory_limit, ..pca.clone() };
                let found = pca.fit_with(&disk, &given, &Run::threads(n_threads)).unwrap();
                let what = format!("{} {n} x {p}, blocks of {height}, scale {scale}", T::NAME);
                assert!(bits(&found) == bits(&expected), "{what}");
                assert_eq!((disk.visits(), found.convergence().n_passes), (1, 1), "{what}");
            }
            let run = Run::threads(2);
            let scatter = Scatter::of(&array, weights, &run).unwrap();
            let mut stream = Batches::weighted(&values, weights, p, 130);
            let streamed = Scatter::of_stream(&mut stream, &run).unwrap();
            assert!(scatter == streamed, "{} {n} x {p}: stream and array differ", T::NAME);
        }
    }
}

#[test]
fn one_visit_gives_the_bits_of_the_array_in_f64() {
    one_visit_gives_the_bits_of_the_array::<f64>();
}

#[test]
fn one_visit_gives_the_bits_of_the_array_in_f32() {
    one_visit_gives_the_bits_of_the_array::<f32>();
}

/// Compares a scatter with the definition, in the corner of the first `corner` columns.
fn assert_by_definition(scatter: &Scatter, rows: &[Vec<f64>], weights: &[f64], corner: usize, what: &str) {
    let total: f64 = weights.iter().sum();
    assert!((scatter.moments.weight - total).abs() <= 1e-12 * total, "{what}");
    let sum = |of: &dyn Fn(usize) -> f64| (0..rows.len()).map(|i| weights[i] * of(i)).sum::<f64>();
    let mean: Vec<f64> = (0..corner).map(|j| sum(&|i| rows[i][j]) / total).collect();
    // A second sum about the first mean removes its rounding.
    let mean: Vec<f64> = (0..corner).map(|j| mean[j] + sum(&|i| rows[i][j] - mean[j]) / total).collect();
    let product = |a: usize, b: usize| sum(&|i| (rows[i][a] - mean[a]) * (rows[i][b] - mean[b]));
    for (a, expected) in mean.iter().enumerate() {
        for b in 0..corner {
            let size = (product(a, a) * product(b, b)).sqrt();
            let error = (scatter.matrix[(a, b)] - product(a, b)).abs();
            assert!(error <= 1e-11 * size, "{what}: entry ({a}, {b}) is off by {error:e} of {size:e}");
        }
        let error = (scatter.moments.mean[a] - expected).abs();
        assert!(error <= 1e-12 * (1.0 + expected.abs()), "{what}: mean {a} is off by {error:e}");
    }
}

/// The pivot is the mean of the first rows with weight. Here these lie a billion deviations out and have hardly any.
#[test]
fn outlying_first_rows_take_a_second_visit_and_cost_no_digits() {
    let (n, p) = (900, 520);
    let mut rows = gaussian(n, p, 7);
    for row in &mut rows[..300] {
        row[1] += 1e9;
        row[3] -= 1e9;
    }
    let values = row_major(&rows);
    let run = Run::threads(2);
    for (light, visits) in [(1e-30, 2), (0.0, 1), (1.0, 1)] {
        let weights: Vec<f64> = (0..n).map(|i| if i < 300 { light } else { 1.0 + (i % 3) as f64 }).collect();
        let disk = Disk::new(&values, n, p, 170);
        let scatter = Scatter::of(&disk, Some(&weights), &run).unwrap();
        assert_by_definition(&scatter, &rows, &weights, 6, &format!("first rows of weight {light}"));
        assert_eq!(disk.visits(), visits, "first rows of weight {light}");
        let model = Pca { solver: Some(Route::Covariance), ..Pca::new(2) };
        let disk = Disk::new(&values, n, p, 170);
        let model = model.fit(&disk, &Weights::of_samples(&weights)).unwrap();
        assert_eq!((disk.visits(), model.convergence().n_passes), (visits, visits));
        // Rows that come once are tested before they are added.
        let mut stream = Batches::weighted(&values, Some(&weights), p, 170);
        let streamed = Scatter::of_stream(&mut stream, &run).unwrap();
        assert_by_definition(&streamed, &rows, &weights, 6, &format!("stream, first rows of weight {light}"));
        if visits == 1 {
            assert!(streamed == scatter, "the pivot is near");
        }
    }
}

#[test]
fn bad_values_of_wide_rows_are_named_by_their_place_in_the_first_visit() {
    let (n, p) = (600, 530);
    let mut rows = gaussian(n, p, 2);
    for (row, bad) in [(3, f64::NAN), (437, f64::INFINITY)] {
        rows[row][4] = bad;
        let values = row_major(&rows);
        let disk = Disk::new(&values, n, p, 70);
        let run = Run::threads(2);
        for error in [
            Scatter::of(&disk, None, &run).unwrap_err(),
            Scatter::of_stream(&mut Batches::new(&values, p, 70), &run).unwrap_err(),
        ] {
            assert!(
                matches!(error, Error::NonFinite { row: found, column: 4, .. } if found == row),
                "{error}"
            );
        }
        assert_eq!(disk.visits(), 1);
        rows[row][4] = 0.0;
    }
    rows[5][7] = 1e200;
    let values = row_major(&rows);
    let error = Scatter::of(&Disk::new(&values, n, p, 70), None, &Run::threads(1)).unwrap_err();
    assert!(matches!(error, Error::Overflow { column: 7, .. }), "{error}");
}
