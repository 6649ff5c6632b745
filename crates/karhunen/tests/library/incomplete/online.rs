//! Online learning.

use karhunen::incomplete::{IncompleteStream, Method, OnlineRule};
use karhunen::source::Block;
use karhunen::{Dense, Error, Flow, IncompletePca, Observed, Observer, RowBlocks, Run};
use karhunen_testkit::Incomplete;

use crate::incomplete::fixtures::{observed, test_rmse};

fn problem() -> Incomplete {
    Incomplete::planted(400, 20, &[2.0, 1.5], 0.3, 0.4, 21)
}

fn best() -> f64 {
    let model = IncompletePca { method: Method::Em, tol: 1e-10, ..IncompletePca::new(2) };
    test_rmse(&model.fit(&observed(&problem())).unwrap(), &problem())
}

#[test]
fn passes_approach_the_optimum_of_a_batch_fit() {
    let (table, data) = (problem(), observed(&problem()));
    let rules =
        [(OnlineRule::Diagonal, 1.15, 1.01), (OnlineRule::Rls, 1.15, 1.01), (OnlineRule::Oja, 1.5, 1.1)];
    for (rule, after_one, after_twenty) in rules {
        let mut stream = IncompleteStream::new(2, 20, rule, 1).unwrap();
        for pass in 1..=20 {
            stream.partial_fit(&data).unwrap();
            let error = test_rmse(&stream.finish(&data, &IncompletePca::new(2)).unwrap(), &table) / best();
            assert!(pass > 1 || error < after_one, "{rule:?}: {error} after one pass");
            assert!(pass < 20 || error < after_twenty, "{rule:?}: {error} after twenty");
        }
    }
}

#[test]
fn a_fit_makes_the_requested_number_of_passes() {
    let (table, data) = (problem(), observed(&problem()));
    let pca = IncompletePca { method: Method::Online, max_iter: 20, tol: 0.0, ..IncompletePca::new(2) };
    let error = test_rmse(&pca.fit(&data).unwrap(), &table) / best();
    assert!(error < 1.01, "{error}");
}

#[test]
fn the_division_of_rows_into_parts_does_not_matter() {
    let table = problem();
    let part = |rows: std::ops::Range<usize>| {
        let (complete, noise_free) =
            (table.complete[rows.clone()].to_vec(), table.noise_free[rows.clone()].to_vec());
        observed(&Incomplete { complete, noise_free, observed: table.observed[rows].to_vec() })
    };
    let mut once = IncompleteStream::new(2, 20, OnlineRule::Diagonal, 1).unwrap();
    once.partial_fit(&part(0..100)).unwrap();
    once.partial_fit(&part(100..400)).unwrap();
    let mut often = IncompleteStream::new(2, 20, OnlineRule::Diagonal, 1).unwrap();
    often.partial_fit(&part(0..100)).unwrap();
    for first in (100..400).step_by(50) {
        often.partial_fit(&part(first..first + 50)).unwrap();
    }
    assert_eq!(once, often);
    assert_eq!(once.n_samples_seen(), 400);
}

/// Rows of the planted problem, NaN where nothing is observed.
fn with_nan(table: &Incomplete) -> Vec<f64> {
    let rows = table.complete.iter().zip(&table.observed);
    rows.flat_map(|(row, seen)| row.iter().zip(seen).map(|(x, seen)| if *seen { *x } else { f64::NAN }))
        .collect()
}

#[test]
fn a_source_is_learned_block_by_block_or_not_at_all() {
    let values = with_nan(&problem());
    let block = |rows: std::ops::Range<usize>| {
        Dense::row_major(&values[rows.start * 20..rows.end * 20], rows.len(), 20).unwrap()
    };
    let parts = [block(0..150), block(150..390), block(390..400)];
    let source = RowBlocks::new(parts.map(Block::Dense).to_vec()).unwrap();
    let start = IncompleteStream::new(2, 20, OnlineRule::Diagonal, 1).unwrap();
    let (mut by_parts, mut found) = (start.clone(), start.clone());
    for part in &parts {
        by_parts.partial_fit(&Observed::from_dense(part).unwrap()).unwrap();
    }
    let last = found.partial_fit_source(&source, &Run::threads(2)).unwrap();
    assert_eq!(found, by_parts);
    let expected = Observed::from_dense(&parts[2]).unwrap();
    assert_eq!((last.n_samples(), last.row(0)), (10, expected.row(0)));

    /// Cancels in the second block.
    struct Impatient;
    impl Observer for Impatient {
        fn update(&self, _: &'static str, done: f64) -> Flow {
            if done > 0.5 { Flow::Stop } else { Flow::Continue }
        }
    }
    let mut cancelled = start.clone();
    let outcome = cancelled.partial_fit_source(&source, &Run::observed(&Impatient));
    assert!(matches!(outcome, Err(Error::Stopped { .. })));
    assert_eq!(cancelled, start);
    let mut bad = values.clone();
    bad[200 * 20 + 3] = f64::INFINITY;
    let bad =
        [Dense::row_major(&bad[..3000], 150, 20).unwrap(), Dense::row_major(&bad[3000..], 250, 20).unwrap()];
    let outcome = cancelled
        .partial_fit_source(&RowBlocks::new(bad.map(Block::Dense).to_vec()).unwrap(), &Run::default());
    assert!(matches!(outcome, Err(Error::NonFinite { row: 200, column: 3, .. })), "{outcome:?}");
    assert_eq!(cancelled, start);
}

#[test]
fn invalid_streams_are_refused() {
    let error = IncompleteStream::new(4, 3, OnlineRule::Oja, 0).unwrap_err();
    assert!(error.to_string().starts_with("n_components = 4 is not allowed"));
    let error = IncompleteStream::new(1, usize::MAX, OnlineRule::Oja, 0).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    let mut stream = IncompleteStream::new(2, 3, OnlineRule::Oja, 0).unwrap();
    let error = stream.partial_fit(&observed(&problem())).unwrap_err();
    assert!(matches!(error, Error::Shape { found: 20, expected: 3, .. }));
}

#[test]
fn rows_may_come_one_at_a_time() {
    let table = Incomplete::planted(400, 12, &[3.0, 2.0, 1.5], 0.3, 0.3, 8);
    let (n, p) = table.shape();
    let x = table.with_nan();
    let some = |from: usize, to: usize| {
        Observed::from_dense(&Dense::row_major(&x[from * p..to * p], to - from, p).unwrap()).unwrap()
    };
    let options = IncompletePca::new(3);
    let mut stream = IncompleteStream::new(3, p, OnlineRule::Diagonal, 0).unwrap();
    let mut last = None;
    for j in 0..n {
        stream.partial_fit(&some(j, j + 1)).unwrap();
        let model = stream.finish(&some(j, j + 1), &options).unwrap();
        assert_eq!((model.n_components(), model.n_samples()), (3, 1));
        assert!(model.scores().as_slice().iter().all(|x| x.is_finite()), "{j}");
        last = Some(model);
    }
    let one = last.unwrap();
    // The state equals that after the rows together; the result depends on the last row alone.
    let mut together = IncompleteStream::new(3, p, OnlineRule::Diagonal, 0).unwrap();
    together.partial_fit(&some(0, 1)).unwrap();
    together.partial_fit(&some(1, n)).unwrap();
    assert_eq!(together.loadings(), stream.loadings());
    let model = together.finish(&some(n - 64, n), &options).unwrap();
    assert_eq!(one.components(), model.components());
    assert_eq!(one.explained_variance(), model.explained_variance());
    assert_eq!(one.noise_variance(), model.noise_variance());
    for (x, y) in one.scores().row(0).iter().zip(model.scores().row(63)) {
        assert!((x - y).abs() < 1e-9, "{x} {y}");
    }
}

#[test]
fn a_fit_can_be_continued_with_one_row() {
    let table = Incomplete::planted(400, 12, &[3.0, 2.0, 1.5], 0.3, 0.3, 8);
    let data = observed(&table);
    for row_offsets in [false, true] {
        let model = IncompletePca { row_offsets, ..IncompletePca::new(3) }.fit(&data).unwrap();
        let mut stream = IncompleteStream::resume(&model);
        let x = &table.with_nan()[..12];
        let row = Observed::from_dense(&Dense::row_major(x, 1, 12).unwrap()).unwrap();
        stream.partial_fit(&row).unwrap();
        let next = stream.finish(&row, &IncompletePca::new(3)).unwrap();
        for (found, expected) in next.explained_variance().iter().zip(model.explained_variance()) {
            assert!((found / expected - 1.0).abs() < 0.3, "{found} {expected}");
        }
        let noise = next.noise_variance() / model.noise_variance();
        assert!((0.5..1.5).contains(&noise), "{noise}");
        // The axes come from 64 random rows, and scores rotate with them; predictions hardly change.
        for column in 0..12 {
            let [found, expected] = [&next, &model].map(|model| model.predict(0, column).unwrap().value);
            assert!((found - expected).abs() < 0.5, "{column}: {found} {expected}");
        }
    }
}

/// The random start of a feature without entries says nothing about it.
#[test]
fn features_that_were_never_seen_have_no_loadings() {
    let table = problem();
    let x: Vec<f64> =
        with_nan(&table).iter().enumerate().map(|(e, x)| if e % 20 == 7 { f64::NAN } else { *x }).collect();
    let data = Observed::from_dense(&Dense::row_major(&x, 400, 20).unwrap()).unwrap();
    for rule in [OnlineRule::Diagonal, OnlineRule::Rls, OnlineRule::Oja] {
        let mut stream = IncompleteStream::new(2, 20, rule, 1).unwrap();
        stream.partial_fit(&data).unwrap();
        let pca =
            IncompletePca { method: Method::Online, online_rule: rule, max_iter: 2, ..IncompletePca::new(2) };
        for model in [stream.finish(&data, &pca).unwrap(), pca.fit(&data).unwrap()] {
            let components = model.components();
            assert!((0..2).all(|k| components[(k, 7)] == 0.0 && components[(k, 8)] != 0.0), "{rule:?}");
            assert!(model.predict(0, 7).unwrap().value == model.predict(9, 7).unwrap().value);
        }
    }
}

/// A model of the last rows says nothing of the entries of earlier rows, but has the loadings they left.
#[test]
fn a_stream_that_continues_a_model_keeps_features_that_its_rows_lack() {
    let table = problem();
    let x = with_nan(&table);
    let lacking: Vec<f64> =
        x.iter().enumerate().map(|(e, x)| if e % 20 == 7 { f64::NAN } else { *x }).collect();
    let rows = |x: &[f64]| Observed::from_dense(&Dense::row_major(x, x.len() / 20, 20).unwrap()).unwrap();
    let (first, last) = (rows(&x[..200 * 20]), rows(&lacking[200 * 20..]));
    let mut stream = IncompleteStream::new(2, 20, OnlineRule::Diagonal, 1).unwrap();
    stream.partial_fit(&first).unwrap();
    let model = stream.finish(&last, &IncompletePca::new(2)).unwrap();
    let mut next = IncompleteStream::resume(&model);
    next.partial_fit(&last).unwrap();
    let continued = next.finish(&last, &IncompletePca::new(2)).unwrap();
    for row in 0..200 {
        let [found, expected] = [&continued, &model].map(|model| model.predict(row, 7).unwrap().value);
        assert!((found - expected).abs() < 0.5, "{row}: {found} {expected}");
    }
}

/// The one entry of a feature is its mean: its loadings would keep the random start.
#[test]
fn features_that_were_seen_once_have_no_loadings() {
    let mut x = problem().with_nan();
    for i in 0..400 {
        x[20 * i + 3] = f64::NAN;
    }
    (x[20 * 200 + 3], x[20 * 7 + 3]) = (5.0, f64::NAN);
    let rows = Observed::from_dense(&Dense::row_major(&x, 400, 20).unwrap()).unwrap();
    for rule in [OnlineRule::Diagonal, OnlineRule::Rls, OnlineRule::Oja] {
        let mut stream = IncompleteStream::new(2, 20, rule, 1).unwrap();
        stream.partial_fit(&rows).unwrap();
        let model = stream.finish(&rows, &IncompletePca::new(2)).unwrap();
        let loadings = [model.components()[(0, 3)], model.components()[(1, 3)]];
        assert_eq!((loadings, model.mean()[3]), ([0.0; 2], 5.0), "{rule:?}");
        // A second pass sees the entry again.
        stream.partial_fit(&rows).unwrap();
        assert!(stream.loadings()[(3, 0)] != 0.0, "{rule:?}");
    }
}
