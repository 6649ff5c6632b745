//! Refusals and cancellation of fits: the exact errors.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use karhunen::pca::{Centring, Route, Scaling, Transform};
use karhunen::source::Block;
use karhunen::{
    Dense, Error, ErrorKind, Flow, NComponents, Observer, Pca, Run, Scalar, Source, Weighting, Weights,
};
use karhunen_testkit::{gaussian, planted, power_law, row_major};

use crate::fits::expect::SOLVERS;
use crate::fits::sources::Layout;

/// The first bad value in the order of the rows is named, in every memory order.
fn bad_values_are_named<T: Scalar>() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut rows = gaussian(300, 7, 1);
        rows[170][5] = bad;
        rows[170][6] = f64::NAN;
        rows[250][0] = f64::INFINITY;
        for layout in Layout::ALL {
            for solver in SOLVERS {
                for (center, scale) in [
                    (Centring::Mean, Scaling::None),
                    (Centring::None, Scaling::None),
                    (Centring::Mean, Scaling::Deviation),
                    (Centring::Given(vec![1.0; 7]), Scaling::Range),
                ] {
                    let pca = Pca { solver, center, scale, ..Pca::new(2) };
                    let error = layout.with::<T, _>(&rows, |x| pca.fit(x, &Weights::default())).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Data);
                    let Error::NonFinite { row, column, value } = error else {
                        panic!("{layout:?} {solver:?}: {error}");
                    };
                    assert_eq!((row, column), (170, 5), "{layout:?} {solver:?}");
                    assert!(value.is_nan() == bad.is_nan() && (value == bad || bad.is_nan()));
                }
            }
        }
    }
}

#[test]
fn bad_values_are_named_f64() {
    bad_values_are_named::<f64>();
}

#[test]
fn bad_values_are_named_f32() {
    bad_values_are_named::<f32>();
}

#[test]
fn bad_values_are_refused_in_rows_of_weight_zero_and_in_a_transform() {
    let good = gaussian(9, 3, 2);
    let mut rows = good.clone();
    rows[4][1] = f64::NAN;
    let mut weights = [1.0; 9];
    weights[4] = 0.0;
    let model = Layout::RowMajor.with::<f64, _>(&good, |x| Pca::new(2).fit(x, &Weights::default())).unwrap();
    for layout in Layout::ALL {
        let fitted = layout.with::<f64, _>(&rows, |x| Pca::new(2).fit(x, &Weights::of_samples(&weights)));
        let transformed = layout.with::<f64, _>(&rows, |x| model.transform(x));
        let (fitted, transformed) = (fitted.unwrap_err(), transformed.unwrap_err());
        assert!(
            matches!(fitted, Error::NonFiniteUnweighted { row: 4, column: 1, .. }),
            "{layout:?}: {fitted}"
        );
        assert!(
            matches!(transformed, Error::NonFinite { row: 4, column: 1, .. }),
            "{layout:?}: {transformed}"
        );
        let text = transformed.to_string();
        assert!(text.contains("fit an `IncompletePca`, which takes missing values"), "{text}");
    }
}

fn refusal(pca: &Pca, weights: &Weights<'_>) -> String {
    let rows = gaussian(4, 3, 3);
    let error = Layout::RowMajor.with::<f64, _>(&rows, |x| pca.fit(x, weights)).unwrap_err();
    let message = error.to_string();
    // Errors of weights are of the kind `Data`, errors of their meaning of the kind `Argument`.
    let is_data =
        ["sample weights", "feature weights", "there are"].iter().any(|start| message.starts_with(start));
    assert_eq!(error.kind(), if is_data { ErrorKind::Data } else { ErrorKind::Argument }, "{error}");
    message
}

#[test]
fn arguments_outside_their_rule_are_refused() {
    let none = Weights::default();
    let count = "n_components = 4 is outside 0..=3 for data of shape (4, 3); ask for at most 3, or add samples or features";
    assert_eq!(refusal(&Pca::new(4), &none), count);
    let iterated = Pca { solver: Some(karhunen::pca::Route::BlockKrylov), ..Pca::new(0) };
    assert!(refusal(&iterated, &none).starts_with("n_components = 0 is outside 1..=3"));
    for fraction in [0.0, -0.5, 1.5, f64::NAN] {
        let pca = Pca { n_components: NComponents::Variance(fraction), ..Pca::default() };
        assert_eq!(
            refusal(&pca, &none),
            format!("the fraction of variance {fraction} is outside 0 < fraction <= 1")
        );
    }
    for tol in [0.0, -1.0, 1.0, f64::NAN] {
        let pca = Pca { tol: Some(tol), ..Pca::default() };
        assert!(refusal(&pca, &none).starts_with(&format!("tol = {tol} is not allowed")));
    }
    assert!(
        refusal(&Pca { max_iter: 0, ..Pca::default() }, &none).starts_with("max_iter = 0 is not allowed")
    );
    assert!(refusal(&Pca { block_size: Some(0), ..Pca::default() }, &none).starts_with("block_size = 0"));
    let block_size = Some(4);
    let direct = Pca { block_size, solver: Some(karhunen::pca::Route::Covariance), ..Pca::default() };
    assert_eq!(
        refusal(&direct, &none),
        "block_size = 4 is not allowed: only the solver block-krylov works in blocks"
    );
    for n_threads in [0, 100_000] {
        let rows = gaussian(4, 3, 3);
        let fit = |x: &dyn Source<f64>| Pca::default().fit_with(x, &none, &Run::threads(n_threads));
        let error = Layout::RowMajor.with::<f64, _>(&rows, fit).unwrap_err();
        assert!(error.to_string().starts_with(&format!("n_threads = {n_threads} is not allowed")));
    }
}

#[test]
fn a_shape_beyond_memory_is_refused() {
    let huge = usize::MAX / 4;
    let (indices, values) = ([0_u64, 5], [1.0_f64, 2.0]);
    let x = karhunen::Sparse::csr(2, huge, &[0_u64, 1, 2], &indices, &values).unwrap();
    for error in [
        Pca::new(1).fit(&x, &Weights::default()).unwrap_err(),
        Pca::new(1).fit(&x.t(), &Weights::default()).unwrap_err(),
        karhunen::moments::Moments::of(&x, None, &Run::threads(1)).unwrap_err(),
    ] {
        assert!(matches!(error, Error::Memory { .. }), "{error}");
        assert_eq!(error.kind(), ErrorKind::Memory);
    }
    let error = karhunen::matrix::SparseMatrix::<f64>::from_triples(huge, 2, &[0], &[1], &[1.0]).unwrap_err();
    assert!(matches!(error, Error::Memory { .. }), "{error}");
}

#[test]
fn weights_outside_their_rule_are_refused() {
    let pca = Pca::default();
    let samples = |w: &[f64]| refusal(&pca, &Weights::of_samples(w));
    let features = |w: &[f64]| refusal(&pca, &Weights { samples: None, features: Some(w) });
    assert_eq!(samples(&[1.0; 3]), "there are 3 sample weights for 4 rows; give one weight for each row");
    assert_eq!(
        features(&[1.0; 4]),
        "there are 4 feature weights for 3 columns; give one weight for each column"
    );
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let rule = format!("entry 2 is {bad}; a weight must be finite and not negative");
        assert_eq!(samples(&[1.0, 0.0, bad, bad]), format!("sample weights: {rule}"));
        assert_eq!(features(&[1.0, 0.0, bad]), format!("feature weights: {rule}"));
    }
    assert!(samples(&[0.0; 4]).starts_with("sample weights: all 4 entries are zero"));
    assert!(features(&[0.0; 3]).starts_with("feature weights: all 3 entries are zero"));
    assert!(samples(&[0.5, 0.25, 0.0, 0.25]).contains("use weighting = "));
    let importance = Pca { weighting: Weighting::Importance, ..Pca::default() };
    let one = refusal(&importance, &Weights::of_samples(&[0.0, 0.0, 2.0, 0.0]));
    assert!(one.starts_with("one row (row 2) holds all the importance weight"), "{one}");
}

#[test]
fn empty_data_are_refused() {
    for (n, p) in [(0, 3), (3, 0), (0, 0)] {
        let error = Pca::default()
            .fit(&Dense::<f64>::row_major(&[], n, p).unwrap(), &Weights::default())
            .unwrap_err();
        assert!(matches!(error, Error::Empty { .. }), "{error}");
    }
}

#[test]
fn a_model_refuses_rows_of_another_width() {
    let model = Layout::RowMajor
        .with::<f64, _>(&gaussian(9, 3, 4), |x| Pca::new(2).fit(x, &Weights::default()))
        .unwrap();
    let error = Layout::RowMajor.with::<f64, _>(&gaussian(5, 4, 4), |x| model.transform(x)).unwrap_err();
    assert_eq!(error.to_string(), "data to transform: 4 columns, but 3 are needed");
    let scores = karhunen::Matrix::<f64>::zeros(5, 3);
    assert_eq!(
        model.inverse_transform(&scores).unwrap_err().to_string(),
        "scores: 3 columns, but 2 are needed"
    );
}

/// A variance beyond f64 is an error that names the column, not an infinity in the model.
#[test]
fn overflow_names_the_column() {
    let mut rows = gaussian(6, 3, 5);
    rows.iter_mut().for_each(|row| row[1] *= 1e200);
    for layout in Layout::ALL {
        for solver in SOLVERS {
            let pca = Pca { solver, ..Pca::new(2) };
            let error = layout.with::<f64, _>(&rows, |x| pca.fit(x, &Weights::default())).unwrap_err();
            assert!(matches!(error, Error::Overflow { column: 1, .. }), "{layout:?} {solver:?}: {error}");
        }
    }
}

/// A source that fails in the middle of a chosen visit.
struct Failing<'a> {
    inner: Dense<'a, f64>,
    visits_left: AtomicUsize,
}

impl Source<f64> for Failing<'_> {
    fn shape(&self) -> (usize, usize) {
        self.inner.shape()
    }
    fn n_stored(&self) -> usize {
        Source::n_stored(&self.inner)
    }
    fn is_sparse(&self) -> bool {
        false
    }
    fn visit(
        &self,
        f: &mut dyn FnMut(usize, Block<'_, f64>) -> karhunen::Result<()>,
    ) -> karhunen::Result<()> {
        let half = self.inner.n_rows() / 2;
        f(0, Block::Dense(self.inner.rows(0..half)))?;
        if self.visits_left.fetch_sub(1, Ordering::Relaxed) == 1 {
            return Err(Error::Read { row: Some(half), source: "the disk is gone".into() });
        }
        f(half, Block::Dense(self.inner.rows(half..self.inner.n_rows())))
    }
}

#[test]
fn a_source_that_fails_in_any_pass_ends_the_fit_with_its_error() {
    let rows = planted(60, 40, &power_law(30, 0.5), 1.0, 6).rows;
    let values = row_major(&rows);
    let failing = |visits: usize| Failing {
        inner: Dense::row_major(&values, 60, 40).unwrap(),
        visits_left: AtomicUsize::new(visits),
    };
    for solver in SOLVERS {
        let pca = Pca { solver, ..Pca::new(4) };
        let untroubled = failing(usize::MAX);
        pca.fit(&untroubled, &Weights::default()).unwrap();
        let n_visits = usize::MAX - untroubled.visits_left.load(Ordering::Relaxed);
        for visit in 1..=n_visits {
            let error = pca.fit(&failing(visit), &Weights::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io);
            assert_eq!(
                error.to_string(),
                "reading the data failed at row 30: the disk is gone",
                "{solver:?}"
            );
        }
    }
}

/// Cancels at its n-th call, and records the reports.
struct Stopper {
    calls_left: AtomicUsize,
    reports: Mutex<Vec<(&'static str, f64)>>,
}

impl Stopper {
    fn after(calls: usize) -> Self {
        Self { calls_left: AtomicUsize::new(calls), reports: Mutex::new(Vec::new()) }
    }
}

impl Observer for Stopper {
    fn update(&self, phase: &'static str, fraction: f64) -> Flow {
        self.reports.lock().unwrap().push((phase, fraction));
        if self.calls_left.fetch_sub(1, Ordering::Relaxed) == 1 { Flow::Stop } else { Flow::Continue }
    }
}

/// Checks that the fractions of a phase do not fall.
fn assert_forward(reports: &[(&'static str, f64)], what: &str) {
    for pair in reports.windows(2) {
        let ((before, from), (phase, to)) = (pair[0], pair[1]);
        let forward = before != phase || to >= from - 1e-9;
        assert!(forward, "{what}: {phase} went from {from} back to {to}");
    }
}

/// Values of several megabytes are packed in rounds before the first product.
#[test]
fn packing_does_not_set_the_progress_back() {
    let rows = gaussian(2_600, 400, 9);
    let watcher = Stopper::after(usize::MAX);
    let run = Run { n_threads: Some(1), observer: &watcher, ..Run::default() };
    let pca = Pca { solver: Some(Route::BlockKrylov), max_iter: 3, ..Pca::new(4) };
    Layout::RowMajor.with::<f64, _>(&rows, |x| pca.fit_with(x, &Weights::default(), &run)).unwrap();
    assert_forward(&watcher.reports.into_inner().unwrap(), "block Krylov");
}

#[test]
#[ignore = "seconds: cargo xtask test slow"]
fn an_observer_receives_the_progress_and_may_cancel_anywhere() {
    let rows = planted(700, 60, &power_law(50, 0.5), 1.0, 7).rows;
    for layout in Layout::FEW {
        for solver in SOLVERS {
            layout.with::<f64, _>(&rows, |x| {
                let pca = Pca { solver, ..Pca::new(4) };
                let watcher = Stopper::after(usize::MAX);
                let run = Run { n_threads: Some(1), observer: &watcher, ..Run::default() };
                pca.fit_with(x, &Weights::default(), &run).unwrap();
                let reports = watcher.reports.into_inner().unwrap();
                assert!(reports.len() > 1, "{layout:?} {solver:?} said nothing");
                for (phase, fraction) in &reports {
                    assert!(
                        (0.0..=1.0 + 1e-9).contains(fraction),
                        "{layout:?} {solver:?}: {phase} {fraction}"
                    );
                }
                assert_forward(&reports, &format!("{layout:?} {solver:?}"));
                for call in 1..=reports.len() {
                    let stopper = Stopper::after(call);
                    let run = Run { n_threads: Some(1), observer: &stopper, ..Run::default() };
                    let error = pca.fit_with(x, &Weights::default(), &run).unwrap_err();
                    assert_eq!(
                        error.kind(),
                        ErrorKind::Stopped,
                        "{layout:?} {solver:?} call {call}: {error}"
                    );
                    let message =
                        format!("stopped on request during {}; nothing was fitted", reports[call - 1].0);
                    assert_eq!(error.to_string(), message);
                }
            });
        }
    }
}

#[test]
fn a_transform_can_be_cancelled() {
    let rows = gaussian(700, 5, 8);
    let model = Layout::RowMajor.with::<f64, _>(&rows, |x| Pca::new(2).fit(x, &Weights::default())).unwrap();
    for layout in Layout::FEW {
        let observer = Stopper::after(1);
        let (how, run) = (Transform::default(), Run::observed(&observer));
        let error = layout.with::<f64, _>(&rows, |x| model.transform_with(x, how, &run)).unwrap_err();
        assert_eq!(error.to_string(), "stopped on request during scores; nothing was fitted");
    }
    let observer = Stopper::after(1);
    let scores = karhunen::Matrix::<f64>::zeros(700, 2);
    let (how, run) = (Transform::default(), Run::observed(&observer));
    assert_eq!(model.inverse_transform_with(&scores, how, &run).unwrap_err().kind(), ErrorKind::Stopped);
}

/// Previous contents of the buffer do not matter, and a buffer of the wrong size is refused.
#[test]
fn a_transform_fills_the_given_buffer() {
    let rows = gaussian(700, 5, 8);
    let model = Layout::RowMajor.with::<f64, _>(&rows, |x| Pca::new(2).fit(x, &Weights::default())).unwrap();
    let (how, run) = (Transform::default(), Run::default());
    for layout in Layout::FEW {
        layout.with::<f64, _>(&rows, |x| {
            let (expected, mut scores) = (model.transform(x).unwrap(), vec![f64::NAN; 1400]);
            model.transform_into(x, how, &mut scores, &run).unwrap();
            assert_eq!(scores, expected.as_slice(), "{layout:?}");
            let (expected, mut rebuilt) = (model.inverse_transform(&expected).unwrap(), vec![f64::NAN; 3500]);
            let scores = karhunen::Matrix::from_vec(700, 2, scores).unwrap();
            model.inverse_transform_into(&scores, how, &mut rebuilt, &run).unwrap();
            assert_eq!(rebuilt, expected.as_slice(), "{layout:?}");
            let error = model.transform_into(x, how, &mut rebuilt, &run).unwrap_err();
            assert_eq!(error.to_string(), "the output: 3500 values, but 1400 are needed");
            let error = model.inverse_transform_into(&scores, how, &mut [0.0; 1400], &run).unwrap_err();
            assert_eq!(error.to_string(), "the output: 1400 values, but 3500 are needed");
        });
    }
}

/// An iteration that stops early reports it, and is an error only with `strict`.
#[test]
fn missing_the_tolerance_is_reported_and_with_strict_refused() {
    let rows = planted(500, 300, &power_law(250, 0.1), 1.0, 9).rows;
    let pca = Pca {
        solver: Some(Route::BlockKrylov),
        tol: Some(1e-15),
        max_iter: 1,
        block_size: Some(2),
        ..Pca::new(20)
    };
    let fit = |pca: &Pca| Layout::RowMajor.with::<f64, _>(&rows, |x| pca.fit(x, &Weights::default()));
    let model = fit(&pca).unwrap();
    let convergence = model.convergence();
    assert!(!convergence.converged() && convergence.n_converged < 20);
    assert!(convergence.residuals.iter().any(|&r| r > 1e-15));
    let error = fit(&Pca { strict: true, ..pca.clone() }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotConverged);
    let expected = format!("solver block-krylov: {} of 20 components converged in", convergence.n_converged);
    assert!(error.to_string().starts_with(&expected), "{error}");
    let patient = Pca { strict: true, tol: None, max_iter: Pca::default().max_iter, block_size: None, ..pca };
    assert!(fit(&patient).is_ok());
}
