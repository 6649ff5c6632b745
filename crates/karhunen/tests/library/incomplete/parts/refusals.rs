//! Options and data that a fit of parts refuses.

use karhunen::incomplete::Method;
use karhunen::{Error, IncompletePca};

use crate::incomplete::parts::engine::Parts;
use crate::incomplete::parts::{SIZES, options, problem};

#[test]
fn what_parts_cannot_do_is_refused_before_the_first_pass() {
    let table = problem();
    let em = options(Method::Em, None);
    for (what, pca) in [
        ("method", IncompletePca { method: Method::Vb, ..em.clone() }),
        ("row_offsets", IncompletePca { row_offsets: true, ..em.clone() }),
        ("early_stopping", IncompletePca { early_stopping: Some(0.1), ..em.clone() }),
        ("gradient_tol", IncompletePca { gradient_tol: Some(0.1), ..em.clone() }),
    ] {
        let parts = Parts::new(&table, &SIZES);
        let error = pca.fit_parts(&parts).unwrap_err();
        assert!(matches!(&error, Error::Option { option, .. } if option.field() == what), "{what}: {error}");
        assert_eq!(*parts.n_tasks.lock().unwrap(), 0);
    }
    let small = IncompletePca { memory_limit: Some(10_000), ..em.clone() };
    assert!(matches!(small.fit_parts(&Parts::new(&table, &SIZES)), Err(Error::Memory { .. })));
    let small = IncompletePca { method: Method::VbFull, ..small };
    assert!(matches!(small.fit_parts(&Parts::new(&table, &SIZES)), Err(Error::Memory { .. })));
    let many = IncompletePca { n_components: 13, ..em.clone() };
    assert!(matches!(many.fit_parts(&Parts::new(&table, &SIZES)), Err(Error::NComponents { .. })));
    let drifting = Parts { drift: 0.1, ..Parts::new(&table, &SIZES) };
    let error = em.fit_parts(&drifting).unwrap_err();
    assert!(matches!(error, Error::PartChanged { part: 0, .. }), "{error}");
    let mut infinite = Parts::new(&table, &SIZES);
    infinite.values[12 * 41 + 5] = f64::INFINITY;
    match em.fit_parts(&infinite).unwrap_err() {
        Error::Part { part: 4, source } => {
            assert!(matches!(*source, Error::NonFinite { row: 1, column: 5, .. }), "{source}");
        }
        error => panic!("{error}"),
    }
    let nothing = Parts { values: vec![f64::NAN; 80 * 12], ..Parts::new(&table, &SIZES) };
    assert!(matches!(em.fit_parts(&nothing), Err(Error::NothingObserved { .. })));
}

#[test]
fn samples_and_values_that_no_fit_has_are_refused() {
    let table = problem();
    let em = options(Method::Em, None);
    for weight in [0.001, 0.0] {
        let parts = Parts { weights: Some(vec![weight; 80]), ..Parts::new(&table, &SIZES) };
        let error = em.fit_parts(&parts).unwrap_err();
        assert!(
            matches!(&error, Error::Option { option, .. } if option.field() == "sample_weights"),
            "{error}"
        );
    }
    let huge = |at: usize, value: f64| {
        let mut parts = Parts::new(&table, &SIZES);
        parts.values[at] = value;
        em.fit_parts(&parts).unwrap_err()
    };
    match huge(12 * 41 + 5, 1e160) {
        Error::Part { part: 4, source } => {
            assert!(matches!(*source, Error::Overflow { column: 5, .. }), "{source}");
        }
        error => panic!("{error}"),
    }
    // Rows of weight zero are read.
    let mut parts = Parts { weights: Some(vec![1.0; 80]), ..Parts::new(&table, &SIZES) };
    if let Some(weights) = &mut parts.weights {
        weights[20] = 0.0;
    }
    parts.values[12 * 20 + 3] = f64::INFINITY;
    assert!(matches!(em.fit_parts(&parts), Err(Error::Part { part: 2, .. })));
}
