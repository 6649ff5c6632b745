//! Intervals by the bootstrap: their coverage, and routes that must agree.

use karhunen::pca::Centring;
use karhunen::resampling::{Bootstrap, Intervals};
use karhunen::{Dense, Error, NComponents, Pca, Run, Sparse, Weighting, Weights};
use karhunen_testkit::{SparseArrays, gaussian, repeat_rows, row_major, uniform_weights};

type Table = Vec<Vec<f64>>;

/// Standard deviations of independent columns.
const DEVIATIONS: [f64; 5] = [3.0, 1.6, 0.9, 0.6, 0.4];

fn table(n: usize, seed: u64) -> Table {
    let mut rows = gaussian(n, DEVIATIONS.len(), seed);
    for row in &mut rows {
        row.iter_mut().zip(DEVIATIONS).for_each(|(x, deviation)| *x *= deviation);
    }
    rows
}

fn bootstrap(k: usize, n_draws: usize) -> Bootstrap {
    Bootstrap { pca: Pca::new(k), n_draws, ..Bootstrap::default() }
}

fn run(options: &Bootstrap, rows: &Table, weights: &Weights<'_>) -> Intervals {
    let values = row_major(rows);
    let x = Dense::row_major(&values, rows.len(), rows[0].len()).unwrap();
    options.run(&x, weights, &Run::default()).unwrap()
}

#[test]
fn intervals_hold_the_values_of_the_population() {
    let (repetitions, n) = (400, 100);
    let mut held = [0.0; 6];
    for seed in 0..repetitions {
        let found =
            run(&Bootstrap { seed, ..bootstrap(2, 400) }, &table(n, 7000 + seed), &Weights::default());
        let total: f64 = DEVIATIONS.iter().map(|d| d * d).sum();
        let holds =
            |lower: f64, upper: f64, truth: f64| f64::from(u8::from(lower <= truth && truth <= upper));
        for c in 0..2 {
            let truth = DEVIATIONS[c].powi(2);
            held[c] += holds(found.variances.lower[(0, c)], found.variances.upper[(0, c)], truth);
        }
        let share = DEVIATIONS[0].powi(2) / total;
        held[2] += holds(found.ratios.lower[(0, 0)], found.ratios.upper[(0, 0)], share);
        // Axes are columns of the data. Of both, the loading on the own column and the mean of all.
        for c in 0..2 {
            let sign = found.loadings.estimate[(c, c)].signum();
            for j in 0..5 {
                let truth = if j == c { sign * DEVIATIONS[c] } else { 0.0 };
                let inside = holds(found.loadings.lower[(j, c)], found.loadings.upper[(j, c)], truth);
                held[4 + c] += inside / 5.0;
                held[3] += if (j, c) == (0, 0) { inside } else { 0.0 };
            }
        }
    }
    for share in held.map(|count| count / repetitions as f64) {
        assert!((0.92..=0.975).contains(&share), "{held:?}");
    }
}

#[test]
fn standard_errors_are_those_of_normal_data() {
    let n = 2000;
    let found = run(&bootstrap(2, 600), &table(n, 3), &Weights::default());
    for c in 0..2 {
        let expected = found.variances.estimate[(0, c)] * (2.0 / n as f64).sqrt();
        let error = found.variances.standard_error[(0, c)];
        assert!((error / expected - 1.0).abs() < 0.15, "{error} {expected}");
    }
}

#[track_caller]
fn same(a: &Intervals, b: &Intervals, features: usize, tolerance: f64) {
    for (a, b) in [(&a.variances, &b.variances), (&a.ratios, &b.ratios), (&a.loadings, &b.loadings)] {
        for (a, b) in [
            (&a.estimate, &b.estimate),
            (&a.standard_error, &b.standard_error),
            (&a.lower, &b.lower),
            (&a.upper, &b.upper),
        ] {
            for i in 0..a.n_rows().min(features) {
                for j in 0..a.n_cols() {
                    assert!(
                        (a[(i, j)] - b[(i, j)]).abs() <= tolerance,
                        "({i}, {j}): {} {}",
                        a[(i, j)],
                        b[(i, j)]
                    );
                }
            }
        }
    }
}

#[test]
fn wide_and_tall_dense_and_sparse_agree() {
    let rows = table(40, 5);
    let wide: Table = rows.iter().map(|row| [&row[..], &[0.0; 50]].concat()).collect();
    let weights = uniform_weights(40, 2);
    for (weighting, center) in [
        (Weighting::Frequency, Centring::Mean),
        (Weighting::Importance, Centring::Mean),
        (Weighting::Population, Centring::None),
        (Weighting::Frequency, Centring::Given(Vec::new())),
    ] {
        let options = bootstrap(2, 60);
        let samples = (weighting != Weighting::Frequency).then_some(&weights[..]);
        let features: Vec<f64> = (0..55).map(|j| 1.0 + (j % 3) as f64).collect();
        let of = |p: usize| Weights { samples, features: Some(&features[..p]) };
        // The columns of zeros are centred at zero.
        let centred = |p: usize| {
            let center = match &center {
                Centring::Given(_) => {
                    (0..p).map(|j| if j < 5 { j as f64 } else { 0.0 }).collect::<Vec<_>>().into()
                }
                center => center.clone(),
            };
            Bootstrap { pca: Pca { weighting, center, ..options.pca.clone() }, ..options.clone() }
        };
        let tall = run(&centred(5), &rows, &of(5));
        same(&tall, &run(&centred(55), &wide, &of(55)), 5, 1e-9);
        let options = centred(5);
        let arrays = SparseArrays::of_rows(&rows);
        let x = Sparse::csr(40, 5, &arrays.indptr, &arrays.indices, &arrays.values).unwrap();
        same(&tall, &options.run(&x, &of(5), &Run::threads(1)).unwrap(), 5, 1e-9);
    }
}

#[test]
fn frequency_weights_count_as_repeated_rows() {
    let rows = table(60, 8);
    let counts: Vec<u32> = (0..60).map(|i| i % 4).collect();
    let samples: Vec<f64> = counts.iter().map(|count| f64::from(*count)).collect();
    let weighted = run(&bootstrap(2, 3000), &rows, &Weights::of_samples(&samples));
    let repeated = run(&bootstrap(2, 3000), &repeat_rows(&rows, &counts), &Weights::default());
    for (a, b) in [(&weighted.variances, &repeated.variances), (&weighted.loadings, &repeated.loadings)] {
        for (x, y) in a.standard_error.as_slice().iter().zip(b.standard_error.as_slice()) {
            assert!((x / y - 1.0).abs() < 0.1, "{x} {y}");
        }
    }
}

#[test]
fn unsuitable_options_are_named() {
    let rows = table(20, 1);
    let values = row_major(&rows);
    let x = Dense::row_major(&values, 20, 5).unwrap();
    let refused = |options: Bootstrap, weights: &Weights<'_>| {
        options.run(&x, weights, &Run::default()).unwrap_err().to_string()
    };
    let none = Weights::default();
    let said = refused(Bootstrap { level: 1.5, ..bootstrap(2, 100) }, &none);
    assert!(said.contains("level"), "{said}");
    let said = refused(bootstrap(2, 39), &none);
    assert!(said.contains("n_draws") && said.contains("at least 40 draws"), "{said}");
    let said = refused(bootstrap(2, usize::MAX), &none);
    assert!(said.contains("memory") || said.contains("draws"), "{said}");
    let mut two = vec![0.0; 20];
    two[3..5].fill(2.0);
    assert!(matches!(
        bootstrap(1, 100).run(&x, &Weights::of_samples(&two), &Run::default()),
        Err(Error::Shape { found: 2, expected: 3, .. })
    ));
    // All components if their number is left open.
    let pca = Pca { n_components: NComponents::All, ..Pca::default() };
    let all = Bootstrap { pca, ..bootstrap(1, 50) }.run(&x, &none, &Run::default()).unwrap();
    assert_eq!(all.variances.estimate.shape(), (1, 5));
}
