//! Learning from one row at a time.

use karhunen::{Error, IncompletePca, IncompleteStream, Method, OnlineRule};
use karhunen_testkit::Holes;

use crate::fixtures::{observed, test_rmse};

fn problem() -> Holes {
    Holes::planted(400, 20, &[2.0, 1.5], 0.3, 0.4, 21)
}

fn best() -> f64 {
    let model = IncompletePca { method: Method::Em, tol: 1e-10, ..IncompletePca::new(2) };
    test_rmse(&model.fit(&observed(&problem())).unwrap(), &problem())
}

#[test]
fn passes_come_near_the_optimum_of_all_rows_together() {
    let (holes, data) = (problem(), observed(&problem()));
    let rules =
        [(OnlineRule::Diagonal, 1.15, 1.01), (OnlineRule::Rls, 1.15, 1.01), (OnlineRule::Oja, 1.5, 1.1)];
    for (rule, after_one, after_twenty) in rules {
        let mut stream = IncompleteStream::new(2, 20, rule, 1).unwrap();
        for pass in 1..=20 {
            stream.partial_fit(&data).unwrap();
            let error = test_rmse(&stream.finish(&data, &IncompletePca::new(2)).unwrap(), &holes) / best();
            assert!(pass > 1 || error < after_one, "{rule:?}: {error} after one pass");
            assert!(pass < 20 || error < after_twenty, "{rule:?}: {error} after twenty");
        }
    }
}

#[test]
fn the_method_is_a_number_of_passes() {
    let (holes, data) = (problem(), observed(&problem()));
    let pca = IncompletePca { method: Method::Online, max_iter: 20, tol: 0.0, ..IncompletePca::new(2) };
    let error = test_rmse(&pca.fit(&data).unwrap(), &holes) / best();
    assert!(error < 1.01, "{error}");
}

#[test]
fn rows_may_come_in_any_number_of_parts() {
    let holes = problem();
    let part = |rows: std::ops::Range<usize>| {
        let (complete, noise_free) =
            (holes.complete[rows.clone()].to_vec(), holes.noise_free[rows.clone()].to_vec());
        observed(&Holes { complete, noise_free, observed: holes.observed[rows].to_vec() })
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

#[test]
fn refusals() {
    let error = IncompleteStream::new(4, 3, OnlineRule::Oja, 0).unwrap_err();
    assert!(error.to_string().starts_with("n_components = 4 is not allowed"));
    let mut stream = IncompleteStream::new(2, 3, OnlineRule::Oja, 0).unwrap();
    let error = stream.partial_fit(&observed(&problem())).unwrap_err();
    assert!(matches!(error, Error::Shape { found: 20, expected: 3, .. }));
}
