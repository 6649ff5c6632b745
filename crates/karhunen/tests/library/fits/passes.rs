//! Visits of a source: the number that a fit makes and reports, and sources that can be visited once.

use std::sync::atomic::{AtomicUsize, Ordering};

use karhunen::moments::Scatter;
use karhunen::pca::Route;
use karhunen::source::{Block, Pass, Passes};
use karhunen::{Dense, Error, ErrorKind, NComponents, Pca, Run, Source, Weighting, Weights};
use karhunen_testkit::{gaussian, planted, power_law, row_major};

use crate::fits::sources::Layout;

/// A source of blocks of `height` rows, as of a file, that counts its visits.
struct File<'a> {
    rows: Dense<'a, f64>,
    height: usize,
    passes: Passes,
    n_blocks_known: bool,
    n_visits: AtomicUsize,
}

impl<'a> File<'a> {
    fn new(values: &'a [f64], n: usize, p: usize, height: usize) -> Self {
        let rows = Dense::row_major(values, n, p).unwrap();
        Self { rows, height, passes: Passes::Many, n_blocks_known: true, n_visits: AtomicUsize::new(0) }
    }

    fn visits(&self) -> usize {
        self.n_visits.load(Ordering::Relaxed)
    }
}

impl Source<f64> for File<'_> {
    fn shape(&self) -> (usize, usize) {
        self.rows.shape()
    }
    fn passes(&self) -> Passes {
        self.passes
    }
    fn n_blocks(&self) -> Option<usize> {
        self.n_blocks_known.then(|| self.rows.n_rows().div_ceil(self.height))
    }
    fn n_stored(&self) -> usize {
        Source::n_stored(&self.rows)
    }
    fn is_sparse(&self) -> bool {
        false
    }
    fn visit(
        &self,
        f: &mut dyn FnMut(usize, Block<'_, f64>) -> karhunen::Result<()>,
    ) -> karhunen::Result<()> {
        let earlier = self.n_visits.fetch_add(1, Ordering::Relaxed);
        assert!(self.passes == Passes::Many || earlier == 0, "rows that come once are asked for again");
        let n = self.rows.n_rows();
        (0..n)
            .step_by(self.height)
            .try_for_each(|first| f(first, Block::Dense(self.rows.rows(first..n.min(first + self.height)))))
    }
}

const ROUTES: [Route; 4] = [Route::Svd, Route::Covariance, Route::Gram, Route::BlockKrylov];

#[test]
fn a_fit_reports_the_visits_that_it_makes() {
    for (n, p) in [(90, 20), (20, 90)] {
        let values = row_major(&planted(n, p, &power_law(15, 0.7), 0.5, 3).rows);
        for solver in ROUTES.map(Some).into_iter().chain([None]) {
            for n_components in [NComponents::Count(3), NComponents::Variance(0.6)] {
                for height in [n, 7, 40] {
                    for n_blocks_known in [true, false] {
                        let file = File { n_blocks_known, ..File::new(&values, n, p, height) };
                        let pca = Pca { solver, n_components, ..Pca::default() };
                        let model = pca.fit(&file, &Weights::default()).unwrap();
                        let what = format!("{n} x {p}, {solver:?}, {n_components:?}, blocks of {height}");
                        assert_eq!(model.convergence().n_passes, file.visits(), "{what}");
                    }
                }
            }
        }
    }
}

/// One visit for the moments, then the visits of the route; no visit only tests whether the rows are in one block.
#[test]
fn routes_visit_no_more_than_they_must() {
    let visits = |(n, p): (usize, usize), route, height| {
        let values = row_major(&planted(n, p, &power_law(15, 0.7), 0.5, 3).rows);
        let file = File::new(&values, n, p, height);
        Pca { solver: Some(route), ..Pca::new(3) }.fit(&file, &Weights::default()).unwrap();
        file.visits()
    };
    let (tall, wide) = ((90, 20), (20, 90));
    // Narrow data: products and moments in one visit, also from several blocks.
    assert_eq!([90, 40].map(|height| visits(tall, Route::Covariance, height)), [1, 1]);
    assert_eq!([90, 40].map(|height| visits(tall, Route::Svd, height)), [2, 2]);
    // Moments, inner products, components.
    assert_eq!([20, 7].map(|height| visits(wide, Route::Gram, height)), [3, 3]);
    // A product with the matrix of inner products takes two visits where the rows come in several blocks.
    let [one, several] = [20, 7].map(|height| visits(wide, Route::BlockKrylov, height));
    assert_eq!(several - 2, 2 * (one - 2), "{one} and {several} visits");
}

#[test]
fn rows_that_come_once_are_fitted_in_one_visit() {
    let (n, p) = (80, 12);
    let values = row_major(&planted(n, p, &power_law(12, 0.8), 4.0, 5).rows);
    let weights: Vec<f64> = (0..n).map(|i| (i % 4) as f64).collect();
    for scale in [false, true] {
        for weighting in [Weighting::Frequency, Weighting::Importance] {
            let file = File { passes: Passes::Once, ..File::new(&values, n, p, 33) };
            let pca = Pca { scale: scale.into(), weighting, ..Pca::new(4) };
            let found = pca.fit(&file, &Weights::of_samples(&weights)).unwrap();
            assert_eq!((found.convergence().n_passes, file.visits()), (1, 1));
            assert_eq!(found.convergence().solver, Route::Covariance);
            let array = Dense::row_major(&values, n, p).unwrap();
            let expected = pca.fit(&array, &Weights::of_samples(&weights)).unwrap();
            let pairs = found.explained_variance().iter().zip(expected.explained_variance());
            for (found, expected) in pairs {
                assert!((found - expected).abs() <= 1e-12 * expected, "{found} for {expected}");
            }
            let (found, expected) = (found.components(), expected.components());
            for (found, expected) in found.as_slice().iter().zip(expected.as_slice()) {
                assert!((found - expected).abs() <= 1e-10, "{found} for {expected}");
            }
        }
    }
}

#[test]
fn work_that_needs_a_second_visit_refuses_rows_that_come_once() {
    let (n, p) = (30, 4);
    let values = row_major(&gaussian(n, p, 1));
    let once = || File { passes: Passes::Once, ..File::new(&values, n, p, 8) };
    for route in [Route::Svd, Route::Gram, Route::BlockKrylov] {
        let file = once();
        let error = Pca { solver: Some(route), ..Pca::new(2) }.fit(&file, &Weights::default()).unwrap_err();
        assert_eq!((error.kind(), file.visits()), (ErrorKind::Argument, 0));
        assert_eq!(
            error.to_string(),
            format!(
                "the {route} route reads the data more than once, and this source can be read once; leave the solver out or \
                 use covariance, which takes one pass, or give data that can be read again, such as a file or an array"
            )
        );
    }
    for (error, work) in [
        (karhunen::KernelPca::default().fit(&once(), &Weights::default()).unwrap_err(), "kernel PCA"),
        (
            karhunen::kernel::Nystrom::new(3).fit(&once(), &Weights::default()).unwrap_err(),
            "the choice of landmarks",
        ),
    ] {
        assert!(matches!(&error, Error::OnePass { work: found, .. } if found == work), "{error}");
    }
}

#[test]
fn one_visit_is_enough_for_sums_scores_and_the_place_of_a_bad_value() {
    let (n, p) = (50, 6);
    let mut rows = gaussian(n, p, 2);
    let values = row_major(&rows);
    let model = Pca::new(2).fit(&Dense::row_major(&values, n, p).unwrap(), &Weights::default()).unwrap();
    rows[37][4] = f64::NAN;
    rows[44][1] = f64::INFINITY;
    let bad = row_major(&rows);
    let once = |values| File { passes: Passes::Once, ..File::new(values, n, p, 8) };
    let expected = model.transform(&Dense::row_major(&values, n, p).unwrap()).unwrap();
    let found = model.transform(&once(&values)).unwrap();
    assert!(found.as_slice().iter().zip(expected.as_slice()).all(|(a, b)| (a - b).abs() <= 1e-13));
    let run = Run::threads(1);
    let errors = [
        model.transform(&once(&bad)).map(|_| ()).unwrap_err(),
        Pca::new(2).fit(&once(&bad), &Weights::default()).map(|_| ()).unwrap_err(),
        Scatter::of(&once(&bad), None, &run).map(|_| ()).unwrap_err(),
        karhunen::moments::Moments::of(&once(&bad), None, &run).map(|_| ()).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, Error::NonFinite { row: 37, column: 4, .. }), "{error}");
    }
}

#[test]
fn blocks_in_memory_are_known_without_a_visit() {
    let rows = gaussian(20, 3, 4);
    for (layout, n_blocks) in [(Layout::RowMajor, 1), (Layout::Csr32, 1), (Layout::Blocks, 3)] {
        layout.with::<f64, _>(&rows, |x| {
            assert_eq!(x.n_blocks(), Some(n_blocks), "{layout:?}");
            assert_eq!(x.pass(), Pass::Memory, "{layout:?}");
            let mut visited = 0;
            x.visit(&mut |_, _| {
                visited += 1;
                Ok(())
            })
            .unwrap();
            assert_eq!(visited, n_blocks, "{layout:?}");
        });
    }
}

/// The bits of all numbers of a model.
fn bits(model: &karhunen::PcaModel) -> Vec<u64> {
    let values = [
        model.components().as_slice(),
        model.explained_variance(),
        model.mean(),
        &model.convergence().residuals,
        &[model.noise_variance(), model.total_variance()],
    ];
    values.concat().iter().map(|value| value.to_bits()).collect()
}

/// A source of blocks whose heights repeat the given ones, row-major or column-major.
struct Cut<'a, T> {
    values: &'a [T],
    shape: (usize, usize),
    heights: &'a [usize],
    column_major: bool,
}

impl<T: karhunen::Scalar> Source<T> for Cut<'_, T> {
    fn shape(&self) -> (usize, usize) {
        self.shape
    }
    fn pass(&self) -> Pass {
        // Iteration takes the blocks of rows in memory.
        Pass::Memory
    }
    fn n_stored(&self) -> usize {
        self.values.len()
    }
    fn is_sparse(&self) -> bool {
        false
    }
    fn visit(&self, f: &mut dyn FnMut(usize, Block<'_, T>) -> karhunen::Result<()>) -> karhunen::Result<()> {
        let ((n, p), mut first) = (self.shape, 0);
        for height in self.heights.iter().cycle() {
            let end = n.min(first + height);
            // A copy that lives as long as its block, as in a reader.
            let place = |i: usize, j: usize| if self.column_major { j * n + i } else { i * p + j };
            let rows = end - first;
            let copy: Vec<T> = if self.column_major {
                (0..rows * p).map(|at| self.values[place(first + at % rows, at / rows)]).collect()
            } else {
                (0..rows * p).map(|at| self.values[place(first + at / p, at % p)]).collect()
            };
            let block = if self.column_major {
                Dense::column_major(&copy, rows, p)?
            } else {
                Dense::row_major(&copy, rows, p)?
            };
            f(first, Block::Dense(block))?;
            first = end;
            if first == n {
                break;
            }
        }
        Ok(())
    }
}

fn same_bits_in_blocks<T: karhunen::Scalar>((n, p): (usize, usize), routes: &[Route]) {
    let rows = planted(n, p, &power_law(p.min(12), 0.9), 3.0, 8).rows;
    let weights: Vec<f64> = (0..n).map(|i| 0.25 + (i % 5) as f64).collect();
    for column_major in [false, true] {
        let values = if column_major { karhunen_testkit::column_major(&rows) } else { row_major(&rows) };
        let values: Vec<T> = values.into_iter().map(T::from_f64).collect();
        let array = if column_major {
            Dense::column_major(&values, n, p).unwrap()
        } else {
            Dense::row_major(&values, n, p).unwrap()
        };
        for &route in routes {
            for weights in [None, Some(&weights[..])] {
                let pca = Pca { solver: Some(route), scale: true.into(), ..Pca::new(3) };
                let given = Weights { samples: weights, features: None };
                let expected = bits(&pca.fit(&array, &given).unwrap());
                for (heights, n_threads) in [(&[n / 2 + 1][..], 1), (&[4099], 2), (&[1, 900, 2500, 17], 3)] {
                    let run = Run::threads(n_threads);
                    let cut = Cut { values: &values, shape: (n, p), heights, column_major };
                    let what = format!("{} {n} x {p}, {route}, {heights:?}, {column_major}", T::NAME);
                    assert!(bits(&pca.fit_with(&cut, &given, &run).unwrap()) == expected, "{what}");
                }
            }
        }
    }
}

/// Pieces are cut from the first row of the source, not from the first row of a block: narrow sums have pieces of 4,216
/// rows, products of 256 and more, wide ones panels.
#[test]
fn blocks_give_the_bits_of_the_array() {
    same_bits_in_blocks::<f64>((9_001, 5), &[Route::Svd, Route::Covariance, Route::BlockKrylov]);
    same_bits_in_blocks::<f32>((9_001, 5), &[Route::Svd, Route::Covariance, Route::BlockKrylov]);
    same_bits_in_blocks::<f64>((1_500, 530), &[Route::Covariance, Route::BlockKrylov]);
}

#[test]
fn sums_in_blocks_have_the_bits_of_sums_of_the_array() {
    let (n, p) = (9_001, 5);
    let values = row_major(&planted(n, p, &power_law(5, 0.9), 3.0, 8).rows);
    let weights: Vec<f64> = (0..n).map(|i| (i % 3) as f64).collect();
    let array = Dense::row_major(&values, n, p).unwrap();
    let run = Run::threads(1);
    for weights in [None, Some(&weights[..])] {
        for heights in [&[4_000][..], &[13, 5_000], &[4_216]] {
            let cut = Cut { values: &values, shape: (n, p), heights, column_major: false };
            let scatter = Scatter::of(&cut, weights, &run).unwrap();
            assert_eq!(scatter, Scatter::of(&array, weights, &run).unwrap(), "{heights:?}");
            let moments = karhunen::moments::Moments::of(&cut, weights, &run).unwrap();
            assert_eq!(
                moments,
                karhunen::moments::Moments::of(&array, weights, &run).unwrap(),
                "{heights:?}"
            );
            let mut stream = Rows { values: &values, weights, p, next: 0, heights };
            assert_eq!(scatter, Scatter::of_stream(&mut stream, &run).unwrap(), "stream of {heights:?}");
        }
    }
}

/// A stream of batches whose heights repeat the given ones.
struct Rows<'a> {
    values: &'a [f64],
    weights: Option<&'a [f64]>,
    p: usize,
    next: usize,
    heights: &'a [usize],
}

impl karhunen::Stream<f64> for Rows<'_> {
    fn n_features(&self) -> usize {
        self.p
    }
    fn next(&mut self) -> karhunen::Result<Option<karhunen::source::Batch<'_, f64>>> {
        let (first, n) = (self.next, self.values.len() / self.p);
        if first == n {
            return Ok(None);
        }
        self.heights = if self.heights.len() > 1 { &self.heights[1..] } else { self.heights };
        self.next = n.min(first + self.heights[0]);
        let rows =
            Dense::row_major(&self.values[first * self.p..self.next * self.p], self.next - first, self.p)?;
        let weights = self.weights.map(|w| &w[first..self.next]);
        Ok(Some(karhunen::source::Batch { rows: Block::Dense(rows), weights }))
    }
}

#[test]
fn a_stream_is_fitted_in_one_pass_with_the_weights_that_it_carries() {
    let (n, p) = (500, 6);
    let rows = planted(n, p, &power_law(6, 0.9), 3.0, 9).rows;
    let values = row_major(&rows);
    let weights: Vec<f64> = (0..n).map(|i| (i % 3) as f64).collect();
    let stream = |weights| Rows { values: &values, weights, p, next: 0, heights: &[70] };
    let pca = Pca { scale: true.into(), ..Pca::new(3) };
    let array = Dense::row_major(&values, n, p).unwrap();
    for weights in [None, Some(&weights[..])] {
        let found = pca.fit_stream(&mut stream(weights), None).unwrap();
        assert_eq!((found.n_samples(), found.convergence().n_passes), (n, 1));
        let expected = pca.fit(&array, &Weights { samples: weights, features: None }).unwrap();
        for (found, expected) in found.explained_variance().iter().zip(expected.explained_variance()) {
            assert!((found - expected).abs() <= 1e-12 * expected, "{found} for {expected}");
        }
    }
    let refused = Pca { solver: Some(Route::Svd), ..pca.clone() };
    let error = refused.fit_stream(&mut stream(None), None).unwrap_err();
    assert!(matches!(error, Error::OnePass { .. }), "{error}");
    // Before the first row.
    for pca in [Pca::new(7), Pca { tol: Some(2.0), ..Pca::new(1) }] {
        let mut rows = stream(None);
        let error = pca.fit_stream(&mut rows, None).unwrap_err();
        assert!(matches!(error, Error::Option { .. }), "{error}");
        assert_eq!(rows.next, 0, "no row was read");
    }
    let mut wrong = weights.clone();
    wrong[333] = -1.0;
    let error = pca.fit_stream(&mut stream(Some(&wrong)), None).unwrap_err();
    assert!(matches!(error, Error::WeightValue { index: 333, .. }), "{error}");
    let mut bad = values.clone();
    bad[301 * p + 2] = f64::NAN;
    let mut stream = Rows { values: &bad, weights: None, p, next: 0, heights: &[70] };
    let error = pca.fit_stream(&mut stream, None).unwrap_err();
    assert!(matches!(error, Error::NonFinite { row: 301, column: 2, .. }), "{error}");
}
