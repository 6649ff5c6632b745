//! Fits of data in parts: equal to the fit of all rows, with bits that depend on the parts alone, and errors that name
//! the part.

use std::sync::Mutex;

use karhunen::cluster::{Engine, Partial, Task, Tree};
use karhunen::pca::{Centring, Route, Scaling};
use karhunen::record::Recorded;
use karhunen::{Error, NComponents, Pca, PcaModel, Result, Run, Weights};
use karhunen_testkit::{
    Rows, Tolerance, assert_close, assert_components, gaussian, planted, power_law, uniform_weights,
};

use crate::fits::expect::components;
use crate::fits::sources::Layout;

/// A part: its rows, their weights, and the change of its first value in each pass.
struct Part {
    rows: Rows,
    weights: Option<Vec<f64>>,
    drift: f64,
}

/// Computes parts in this process, in the order `order`, by results and tasks that travelled as records.
struct Workers {
    parts: Vec<Part>,
    layouts: Vec<Layout>,
    order: Vec<usize>,
    n_threads: usize,
    n_tasks: Mutex<usize>,
}

fn travelled<M: Recorded>(content: &M) -> Result<M> {
    let record = content.to_record()?;
    M::from_record(&mut record.clone())
}

impl Engine for Workers {
    fn reduce(&self, task: &Task) -> Result<Partial> {
        *self.n_tasks.lock().unwrap() += 1;
        let task = travelled(task)?;
        let mut results: Vec<Option<Partial>> = (0..self.parts.len()).map(|_| None).collect();
        for &number in &self.order {
            let Part { rows, weights, drift } = &self.parts[number];
            let mut rows = rows.clone();
            if let Some(value) = rows.first_mut().and_then(|row| row.first_mut()) {
                *value += drift * task.pass() as f64;
            }
            let run = Run::threads(self.n_threads);
            let weights = weights.as_deref();
            let partial = match rows.len() {
                0 => {
                    let none = karhunen::Dense::<f64>::row_major(&[], 0, self.width())?;
                    Partial::of(&task, number, &none, weights, &run)?
                }
                _ => self.layouts[number % self.layouts.len()]
                    .with::<f64, _>(&rows, |x| Partial::of(&task, number, x, weights, &run))?,
            };
            results[number] = Some(travelled(&partial)?);
        }
        let mut tree = Tree::default();
        results.into_iter().flatten().try_for_each(|partial| tree.push(partial))?;
        tree.finish()
    }
}

impl Workers {
    /// Rows in parts of the given sizes.
    fn new(rows: &[Vec<f64>], weights: Option<&[f64]>, sizes: &[usize]) -> Self {
        let mut first = 0;
        let mut parts = Vec::new();
        for &size in sizes {
            let range = first..first + size;
            first += size;
            let weights = weights.map(|w| w[range.clone()].to_vec());
            parts.push(Part { rows: rows[range].to_vec(), weights, drift: 0.0 });
        }
        assert_eq!(first, rows.len());
        let order = (0..parts.len()).collect();
        Self { parts, layouts: vec![Layout::RowMajor], order, n_threads: 1, n_tasks: Mutex::default() }
    }

    fn width(&self) -> usize {
        self.parts.iter().find_map(|part| part.rows.first()).map_or(0, Vec::len)
    }
}

fn assert_equal(found: &PcaModel, expected: &PcaModel, tol: f64, what: &str) {
    let within = |norm: f64| Tolerance { multiple: 1.0, epsilon: tol, norm };
    let largest = expected.explained_variance()[0];
    assert_close(what, found.explained_variance(), expected.explained_variance(), within(largest));
    assert_close(what, found.mean(), expected.mean(), within(1.0));
    assert_close(what, found.scale(), expected.scale(), within(1.0));
    assert_close(what, &[found.total_variance()], &[expected.total_variance()], within(largest));
    assert_close(what, &[found.noise_variance()], &[expected.noise_variance()], within(largest));
    let variances = expected.explained_variance().to_vec();
    let (found, expected) = (components(found), components(expected));
    assert_components(what, &found, &expected, &variances, within(largest));
}

#[test]
fn parts_give_the_fit_of_all_rows() {
    let data = planted(300, 40, &power_law(8, 1.0), 3.0, 7).rows;
    let weights = uniform_weights(300, 5);
    let sizes = [7, 0, 50, 1, 100, 90, 0, 30, 5, 17];
    let given = Centring::Given((0..40).map(|j| f64::from(j) / 4.0 - 3.0).collect());
    let scales = Scaling::Given((0..40).map(|j| 1.0 + f64::from(j % 5)).collect());
    let weights = Some(&weights[..]);
    for (weights, scale, center) in [
        (None, Scaling::None, Centring::Mean),
        (weights, Scaling::Deviation, Centring::Mean),
        (weights, Scaling::None, Centring::None),
        (weights, Scaling::Pareto, given),
        (None, scales, Centring::Mean),
    ] {
        for route in [Route::Covariance, Route::BlockKrylov] {
            for layouts in
                [vec![Layout::RowMajor], vec![Layout::Csr32, Layout::ColumnMajor], vec![Layout::Csc64]]
            {
                let what = format!("{route} {layouts:?} scale {scale:?}, center {center:?}");
                let pca = Pca {
                    scale: scale.clone(),
                    center: center.clone(),
                    solver: Some(route),
                    tol: Some(1e-11),
                    ..Pca::new(4)
                };
                let given = Weights { samples: weights, features: None };
                let whole = Layout::RowMajor.with::<f64, _>(&data, |x| pca.fit(x, &given)).unwrap();
                let workers = Workers { layouts, ..Workers::new(&data, weights, &sizes) };
                let found = pca.fit_parts(&workers, None).unwrap();
                assert_equal(&found, &whole, 1e-9, &what);
                assert_eq!(found.n_samples(), 300, "{what}");
                assert_eq!(found.convergence().n_passes, *workers.n_tasks.lock().unwrap(), "{what}");
                if route == Route::Covariance {
                    assert_eq!(found.convergence().n_passes, 1, "{what}");
                }
            }
        }
    }
}

#[test]
fn bits_depend_on_the_parts_alone() {
    let data = gaussian(230, 12, 3);
    let sizes: Vec<usize> = std::iter::repeat_n(10, 23).collect();
    for solver in [Route::Covariance, Route::BlockKrylov] {
        let pca = Pca { solver: Some(solver), ..Pca::new(3) };
        let expected = pca.fit_parts(&Workers::new(&data, None, &sizes), None).unwrap();
        let backwards = (0..23).rev().collect();
        let shuffled = (0..23).map(|i| i * 7 % 23).collect();
        for (order, n_threads) in [(backwards, 1), (shuffled, 4)] {
            let workers = Workers { order, n_threads, ..Workers::new(&data, None, &sizes) };
            assert_eq!(pca.fit_parts(&workers, None).unwrap(), expected);
        }
    }
}

#[test]
fn fewer_rows_than_columns_are_fitted_on_the_side_of_the_columns() {
    let data = planted(30, 90, &power_law(10, 1.0), 1.0, 2).rows;
    let pca = Pca { solver: Some(Route::BlockKrylov), tol: Some(1e-11), ..Pca::new(5) };
    let whole = Layout::RowMajor.with::<f64, _>(&data, |x| pca.fit(x, &Weights::default())).unwrap();
    let found = pca.fit_parts(&Workers::new(&data, None, &[12, 18]), None).unwrap();
    assert_equal(&found, &whole, 1e-8, "wide");
}

#[test]
fn few_columns_take_one_pass_and_a_share_of_the_variance_is_reached() {
    let data = planted(200, 20, &power_law(6, 1.0), 0.0, 4).rows;
    let pca = Pca { n_components: NComponents::Variance(0.8), ..Pca::default() };
    let workers = Workers::new(&data, None, &[100, 100]);
    let found = pca.fit_parts(&workers, None).unwrap();
    let whole = Layout::RowMajor.with::<f64, _>(&data, |x| pca.fit(x, &Weights::default())).unwrap();
    assert_eq!(found.n_components(), whole.n_components());
    assert_eq!((found.convergence().solver, *workers.n_tasks.lock().unwrap()), (Route::Covariance, 1));
}

#[test]
fn errors_name_the_part() {
    let data = gaussian(40, 5, 1);
    let fit = |change: &dyn Fn(&mut Workers), pca: Pca| {
        let mut workers = Workers::new(&data, None, &[10, 10, 20]);
        change(&mut workers);
        pca.fit_parts(&workers, None).unwrap_err().to_string()
    };
    let krylov = Pca { solver: Some(Route::BlockKrylov), ..Pca::new(2) };
    let message = fit(&|workers| workers.parts[1].rows[3][2] = f64::NAN, Pca::new(2));
    assert!(message.starts_with("part 1: ") && message.contains("row 3, column 2"), "{message}");
    let narrow = |workers: &mut Workers| {
        workers.parts[2].rows.iter_mut().for_each(|row| row.truncate(4));
    };
    assert_eq!(
        fit(&narrow, Pca::new(2)),
        "part 2 has 4 columns, part 0 has 5; give all parts the same columns"
    );
    let message = fit(&|workers| workers.parts[2].drift = 0.5, krylov.clone());
    assert!(message.starts_with("the values of part 2 differ between passes"), "{message}");
    let message = fit(&|workers| workers.order = vec![0, 2], krylov);
    assert!(message.contains("the result of part 2 came where that of part 1 is expected"), "{message}");
    let message = fit(&|workers| workers.parts[0].weights = Some(vec![-1.0; 10]), Pca::new(2));
    assert!(message.starts_with("part 0: ") && message.contains("-1"), "{message}");
    let message = fit(&|_| (), Pca { solver: Some(Route::Svd), ..Pca::new(2) });
    assert!(message.contains("covariance and block-krylov"), "{message}");
    let message = fit(&|_| (), Pca::new(6));
    assert!(message.contains("1..=5") || message.contains("0..=5"), "{message}");
}

#[test]
fn results_of_another_fit_are_refused() {
    /// Returns the result of the first task for ever.
    struct Stale(Workers, Mutex<Option<Partial>>);
    impl Engine for Stale {
        fn reduce(&self, task: &Task) -> Result<Partial> {
            let mut first = self.1.lock().unwrap();
            if first.is_none() {
                *first = Some(self.0.reduce(task)?);
            }
            Ok(first.clone().unwrap())
        }
    }
    let data = gaussian(40, 5, 1);
    let stale = Stale(Workers::new(&data, None, &[20, 20]), Mutex::default());
    let pca = Pca { solver: Some(Route::BlockKrylov), ..Pca::new(2) };
    let error = pca.fit_parts(&stale, None).unwrap_err();
    assert!(matches!(error, Error::Parts { .. }) && error.to_string().contains("another task"), "{error}");
}

#[test]
fn parts_measure_no_ranges() {
    let workers = Workers::new(&gaussian(20, 3, 1), None, &[10, 10]);
    let error = Pca::new(2).scale(Scaling::Range).fit_parts(&workers, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "scale = range is not allowed: tasks of parts measure no ranges: give the ranges as scales"
    );
}

#[test]
fn a_column_that_is_constant_within_parts_is_found() {
    let mut data = gaussian(120, 60, 9);
    for (i, row) in data.iter_mut().enumerate() {
        row[7] = 100.0 * (i / 30) as f64;
    }
    let sizes = [30, 30, 30, 30];
    for center in [Centring::Mean, Centring::None, Centring::Given(vec![1.0; 60])] {
        let pca = Pca { solver: Some(Route::BlockKrylov), center, tol: Some(1e-11), ..Pca::new(2) };
        let whole = Layout::RowMajor.with::<f64, _>(&data, |x| pca.fit(x, &Weights::default())).unwrap();
        let workers = Workers::new(&data, None, &sizes);
        let found = pca.fit_parts(&workers, None).unwrap();
        assert_equal(&found, &whole, 1e-9, "constant within parts");
        assert!(found.components()[(0, 7)] > 0.99);
    }
}

#[test]
fn the_first_pass_saves_a_product() {
    let data = planted(400, 150, &power_law(20, 1.0), 3.0, 7).rows;
    let pca = Pca { solver: Some(Route::BlockKrylov), tol: Some(1e-6), ..Pca::new(5) };
    let found = pca.fit_parts(&Workers::new(&data, None, &[100; 4]), None).unwrap();
    // The pass of the moments, and blocks of 32 vectors.
    assert!(found.convergence().n_passes <= 6, "{} passes", found.convergence().n_passes);
}
