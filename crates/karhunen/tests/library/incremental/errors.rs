//! Refused batches and options, and unchanged state after each refusal.

use std::sync::atomic::{AtomicUsize, Ordering};

use karhunen::incremental::{IncrementalFit, IncrementalMethod, IncrementalPca};
use karhunen::source::Block;
use karhunen::{Dense, Error, Flow, NComponents, Observer, Run};
use karhunen_testkit::gaussian;

use crate::incremental::fixtures::{LAYOUTS, Layout, fitted, model, push};

fn refusal(pca: &IncrementalPca) -> String {
    pca.start(4).unwrap_err().to_string()
}

#[test]
fn options_outside_their_rules_are_refused() {
    let pca = IncrementalPca::new(2);
    let sketch = IncrementalPca { method: IncrementalMethod::Sketch, ..pca.clone() };
    let cases = [
        (
            IncrementalPca { forget: 0.0, ..pca.clone() },
            "forget = 0 is not allowed: it lies above 0 and is at most 1",
        ),
        (
            IncrementalPca { forget: 1.5, ..pca.clone() },
            "forget = 1.5 is not allowed: it lies above 0 and is at most 1",
        ),
        (
            IncrementalPca { forget: f64::NAN, ..pca.clone() },
            "forget = NaN is not allowed: it lies above 0 and is at most 1",
        ),
        (
            IncrementalPca { half_life: Some(0.0), ..pca.clone() },
            "half_life = 0 is not allowed: it is a positive number of rows",
        ),
        (
            IncrementalPca { half_life: Some(9.0), forget: 0.9, ..pca.clone() },
            "half_life = 9 is not allowed: old rows are forgotten by one rule: leave out the half-life, or `forget`",
        ),
        (
            IncrementalPca { batch_size: Some(0), ..pca.clone() },
            "batch_size = 0 is not allowed: an update takes at least one row",
        ),
        (
            IncrementalPca { warm_rows: 1, ..pca.clone() },
            "warm_rows = 1 is not allowed: one row has no standard deviation",
        ),
        (
            IncrementalPca::new(5),
            "n_components = 5 is not allowed: there are 4 columns, and no more components than columns",
        ),
        (
            IncrementalPca { n_components: NComponents::All, ..sketch.clone() },
            "n_components = none is not allowed: a sketch needs the number of components",
        ),
        (
            IncrementalPca { column_scale: Some(vec![1.0; 4]), ..sketch.clone() },
            "column_scale is not allowed: columns are scaled with `scale`",
        ),
        (
            IncrementalPca { column_scale: Some(vec![1.0; 3]), scale: true, ..pca.clone() },
            "the column scales: 3 values, but 4 are needed",
        ),
        (
            IncrementalPca { column_scale: Some(vec![1.0, 0.0, 1.0, 1.0]), scale: true, ..pca.clone() },
            "column_scale = 0 is not allowed: a scale lies between 1e-50 and 1e50",
        ),
        (
            IncrementalPca { scale: true, forget: 0.9, ..sketch },
            "forget = 0.9 is not allowed: a sketch that forgets by batches needs fixed scales: give `column_scale`, or a half-life",
        ),
    ];
    for (options, message) in cases {
        assert_eq!(refusal(&options), message);
    }
    let exact = IncrementalPca { method: IncrementalMethod::Scatter, scale: true, ..pca.clone() };
    let given = IncrementalPca { column_scale: Some(vec![1.0; 4]), ..exact };
    assert_eq!(
        refusal(&given),
        "column_scale is not allowed: the method scatter takes the scales from all rows"
    );
    assert!(matches!(IncrementalPca::default().start(0), Err(Error::Empty { .. })));
    let share = IncrementalPca { n_components: NComponents::Variance(1.5), ..pca };
    assert!(matches!(share.start(4), Err(Error::VarianceFraction { .. })));
}

/// Fits of each kind, with rows that wait.
fn fits() -> Vec<IncrementalFit> {
    let sketch =
        IncrementalPca { method: IncrementalMethod::Sketch, batch_size: Some(8), ..IncrementalPca::new(2) };
    let kinds = [
        IncrementalPca::new(2),
        IncrementalPca { forget: 0.9, ..IncrementalPca::new(2) },
        IncrementalPca { half_life: Some(10.0), ..IncrementalPca::new(2) },
        IncrementalPca { scale: true, warm_rows: 1200, ..sketch.clone() },
        IncrementalPca { n_oversamples: Some(3), ..sketch.clone() },
        IncrementalPca { half_life: Some(10.0), ..sketch },
    ];
    let rows = gaussian(1005, 30, 5);
    let layouts = [Layout::RowMajor, Layout::Csr];
    kinds.iter().flat_map(|pca| layouts.map(|layout| fitted(pca, &rows, None, 335, layout))).collect()
}

#[test]
fn rows_are_named_from_the_first_of_the_fit_and_the_state_stays() {
    let run = Run::threads(2);
    for mut fit in fits() {
        let before = model(&fit);
        for layout in LAYOUTS {
            let mut rows = gaussian(2000, 30, 6);
            rows[1500][7] = f64::INFINITY;
            let error = push::<f32>(&mut fit, &rows, None, layout, &run).unwrap_err();
            assert!(matches!(error, Error::NonFinite { row: 2505, column: 7, .. }), "{error}");
            rows[1500][7] = 1.0;
            let mut weights = vec![1.0; 2000];
            weights[3] = -1.0;
            let error = push::<f64>(&mut fit, &rows, Some(&weights), layout, &run).unwrap_err();
            assert!(matches!(error, Error::WeightValue { index: 1008, .. }), "{error}");
            let error = push::<f64>(&mut fit, &rows, Some(&weights[..9]), layout, &run).unwrap_err();
            assert!(matches!(error, Error::WeightLength { found: 9, expected: 2000, .. }), "{error}");
            let error = push::<f64>(&mut fit, &gaussian(3, 29, 1), None, layout, &run).unwrap_err();
            assert!(matches!(error, Error::BlockColumns { block: 3, found: 29, expected: 30 }), "{error}");
            // Finite values whose squares are not.
            rows[1999][2] = 1e200;
            let error = push::<f64>(&mut fit, &rows, None, layout, &run).unwrap_err();
            assert!(matches!(error, Error::Overflow { column: 2, .. }), "{error}");
        }
        assert_eq!(model(&fit), before);
        assert_eq!(fit.n_samples_seen(), 1005);
    }
}

/// Cancels after a number of reports.
struct Budget(AtomicUsize);

impl Observer for Budget {
    fn update(&self, _: &'static str, _: f64) -> Flow {
        match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) {
            Ok(_) => Flow::Continue,
            Err(_) => Flow::Stop,
        }
    }
}

#[test]
fn a_cancelled_push_leaves_the_state() {
    let rows = gaussian(5000, 30, 7);
    for (kind, mut fit) in fits().into_iter().enumerate() {
        let (before, layout) = (model(&fit), LAYOUTS[kind % 4]);
        let mut whole = fit.clone();
        push::<f64>(&mut whole, &rows, None, layout, &Run::threads(1)).unwrap();
        let mut n_cancelled = 0;
        for n_reports in [0, 1, 3, 20, usize::MAX] {
            let budget = Budget(AtomicUsize::new(n_reports));
            let run = Run { n_threads: Some(2), observer: &budget, ..Run::default() };
            match push::<f64>(&mut fit, &rows, None, layout, &run) {
                Ok(()) => assert_eq!(model(&fit), model(&whole), "{kind} {n_reports}"),
                Err(error) => {
                    assert!(matches!(error, Error::Stopped { .. }), "{error}");
                    assert_eq!(model(&fit), before, "{kind} {n_reports}");
                    n_cancelled += 1;
                    continue;
                }
            }
            break;
        }
        assert!(n_cancelled >= 1, "{kind}");
    }
}

#[test]
fn models_need_rows_and_weight() {
    let run = Run::default();
    for method in [IncrementalMethod::Scatter, IncrementalMethod::Sketch] {
        let mut fit = IncrementalPca { method, ..IncrementalPca::new(1) }.start(2).unwrap();
        assert!(matches!(fit.model(&run), Err(Error::Empty { n_samples: 0, n_features: 2 })));
        let none = Dense::row_major(&[0.0_f64; 0], 0, 2).unwrap();
        fit.push(&Block::Dense(none), None, &run).unwrap();
        assert_eq!(fit.n_samples_seen(), 0);
        let row = Dense::row_major(&[1.0, 2.0], 1, 2).unwrap();
        fit.push(&Block::Dense(row), Some(&[0.0]), &run).unwrap();
        assert!(matches!(fit.model(&run), Err(Error::WeightsAllZero { n: 1, .. })));
        let mut fit = IncrementalPca { method, ..IncrementalPca::new(1) }.start(2).unwrap();
        fit.push(&Block::Dense(row), None, &run).unwrap();
        assert!(matches!(fit.model(&run), Err(Error::OneSample)));
    }
}
