//! Refused options and data, and their messages.

use karhunen::incomplete::{
    Duplicates, FitContext, MeanMode, MeanPrior, Method, OnlineRule, Regularization, Start, Triples,
};
use karhunen::{Dense, Error, IncompletePca, Matrix, Observed, Run, Sparse};
use karhunen_testkit::Incomplete;

use crate::incomplete::fixtures::observed;

#[track_caller]
fn refused(pca: IncompletePca, message: &str) {
    let error = pca.fit(&observed(&Incomplete::problem_q())).unwrap_err();
    assert!(error.to_string().contains(message), "{error}");
}

#[test]
fn options_outside_their_rules_are_refused() {
    let ok = IncompletePca::new(2);
    refused(IncompletePca { n_components: 0, ..ok.clone() }, "n_components = 0");
    refused(IncompletePca { n_components: 13, ..ok.clone() }, "outside 1..=12");
    refused(IncompletePca { alpha: 1.5, ..ok.clone() }, "alpha = 1.5");
    refused(IncompletePca { alpha: f64::NAN, ..ok.clone() }, "alpha = NaN");
    refused(IncompletePca { tol: -1.0, ..ok.clone() }, "tol = -1");
    refused(IncompletePca { max_iter: 0, ..ok.clone() }, "max_iter = 0");
    for huge in [1 << 32, i64::MAX as usize, usize::MAX] {
        refused(IncompletePca { n_starts: Some(huge), ..ok.clone() }, "more than a million starts");
        let ccd = IncompletePca { method: Method::Ccd, inner_iterations: huge, ..ok.clone() };
        refused(ccd, "more than 1000 change nothing");
        refused(IncompletePca { n_components: huge, ..ok.clone() }, "ask for at most");
    }
    refused(IncompletePca { early_stopping: Some(1.0), ..ok.clone() }, "early_stopping");
    refused(IncompletePca { gradient_tol: Some(0.0), ..ok.clone() }, "gradient_tol = 0 ");
    refused(IncompletePca { angle_tol: Some(1.0), ..ok.clone() }, "angle_tol = 1 ");
    refused(IncompletePca { rmse_tol: Some(f64::NAN), ..ok.clone() }, "rmse_tol = NaN ");
    refused(IncompletePca { n_starts: Some(0), ..ok.clone() }, "n_starts = 0");
    let data = observed(&Incomplete::problem_q());
    let error = ok.fit_with(&data, &FitContext::default(), &Run::threads(0)).unwrap_err();
    assert!(error.to_string().contains("n_threads = 0"), "{error}");
    refused(IncompletePca { regularization: Some(Regularization::Ridge(-1.0)), ..ok.clone() }, "positive");
    let prior = MeanPrior { count: -1.0, value: None };
    refused(IncompletePca { mean_prior: prior, ..ok.clone() }, "mean_prior = -1");
    let prior = MeanPrior { count: 1.0, value: Some(f64::NAN) };
    refused(IncompletePca { mean_prior: prior, ..ok }, "mean_prior = ");
}

#[test]
fn options_without_use_are_refused() {
    let of = |method| IncompletePca { method, ..IncompletePca::new(2) };
    refused(IncompletePca { alpha: 0.5, ..of(Method::Em) }, "only the methods newton, cg and ridge");
    refused(IncompletePca { step: Some(0.1), ..of(Method::Cg) }, "only gradient, natural and newton");
    refused(IncompletePca { inner_iterations: 1, ..of(Method::Als) }, "only the method ccd");
    let ridge = Some(Regularization::Ridge(1.0));
    refused(
        IncompletePca { regularization: ridge, ..of(Method::Em) },
        "em, imputation and online have no penalties",
    );
    let none = Some(Regularization::None);
    refused(IncompletePca { regularization: none, ..of(Method::Ridge) }, "need a penalty");
    let weighted = Some(Regularization::Weighted(1.0));
    refused(IncompletePca { regularization: weighted, ..of(Method::Soft) }, "shrinks all rows alike");
    for method in [Method::Map, Method::Ppca, Method::Vb, Method::VbFixed, Method::VbFull] {
        for regularization in [ridge, none] {
            refused(IncompletePca { regularization, ..of(method) }, "instead of penalties");
        }
    }
    let path = Some(Regularization::Path);
    let early_stopping = Some(0.1);
    refused(IncompletePca { regularization: path, ..of(Method::Als) }, "give `early_stopping`");
    let judged = |method| IncompletePca { regularization: path, early_stopping, ..of(method) };
    refused(judged(Method::Em), "have no penalties");
    refused(judged(Method::VbFull), "instead of penalties");
    refused(IncompletePca { n_starts: Some(2), ..judged(Method::Als) }, "one random start");
    refused(IncompletePca { refit: true, ..of(Method::Em) }, "all entries were fitted");
    for method in [Method::Map, Method::Vb, Method::Auto, Method::Online] {
        refused(IncompletePca { gradient_tol: Some(1e-3), ..of(method) }, "do not follow the gradient");
    }
    refused(IncompletePca { online_rule: OnlineRule::Rls, ..of(Method::Em) }, "only the method online");
    refused(IncompletePca { prior_variance: Some(1.0), ..of(Method::Vb) }, "only the method vb-fixed");
    refused(IncompletePca { prior_variance: Some(0.0), ..of(Method::VbFixed) }, "prior_variance");
    let mean_prior = MeanPrior { count: 1.0, value: None };
    refused(IncompletePca { mean: MeanMode::None, mean_prior, ..of(Method::Cg) }, "no use for pseudo");
}

#[test]
fn starts_of_the_wrong_shape_are_refused() {
    let data = observed(&Incomplete::problem_q());
    let start = Start { loadings: Matrix::zeros(12, 2), scores: Matrix::zeros(40, 2), mean: None };
    let fit = |start: &Start| {
        let context = FitContext { start: Some(start), ..FitContext::default() };
        IncompletePca::new(2).fit_with(&data, &context, &Run::default()).map(|_| ())
    };
    let wrong = Start { scores: Matrix::zeros(39, 2), ..start.clone() };
    assert!(matches!(fit(&wrong), Err(Error::Shape { found: 39, expected: 40, .. })));
    let wrong = Start { mean: Some(vec![0.0; 3]), ..start.clone() };
    assert!(matches!(fit(&wrong), Err(Error::Shape { found: 3, expected: 12, .. })));
    let mut wrong = start;
    wrong.scores[(4, 1)] = f64::NAN;
    assert!(matches!(fit(&wrong), Err(Error::NonFinite { row: 4, column: 1, .. })));
}

#[test]
fn data_that_cannot_be_fitted_are_refused() {
    let x = [1.0, f64::INFINITY];
    let error = Observed::from_dense(&Dense::row_major(&x, 1, 2).unwrap()).unwrap_err();
    assert!(matches!(error, Error::NonFinite { row: 0, column: 1, .. }));
    let nothing = [f64::NAN; 4];
    let data = Observed::from_dense(&Dense::row_major(&nothing, 2, 2).unwrap()).unwrap();
    let error = IncompletePca::new(1).fit(&data).unwrap_err();
    assert_eq!(error.to_string(), "none of the 2 x 2 entries is observed; at least one is needed");
    let data = Observed::from_dense(&Dense::row_major(&nothing, 0, 4).unwrap()).unwrap();
    assert!(matches!(IncompletePca::new(1).fit(&data), Err(Error::Empty { .. })));
    let huge = [1e200, -1e200, 1e200, 1.0];
    let data = Observed::from_dense(&Dense::row_major(&huge, 2, 2).unwrap()).unwrap();
    assert!(matches!(IncompletePca::new(1).fit(&data), Err(Error::SpreadTooLarge { column: 1, .. })));
}

fn triples<'a>(
    rows: &'a [i64],
    columns: &'a [i64],
    values: &'a [f64],
    weights: Option<&'a [f64]>,
) -> Triples<'a, i64, f64> {
    Triples { rows, columns, values, weights }
}

#[test]
fn triples_that_cannot_be_used_are_refused() {
    let build = |t: Triples<'_, i64, f64>| {
        Observed::from_triples(&t, (2, 3), Duplicates::Refuse).map(|_| ()).unwrap_err().to_string()
    };
    let one = [1.0, 1.0];
    assert_eq!(build(triples(&[0, 2], &[0, 1], &one, None)), "entry 1: row 2 is outside 0..2");
    assert_eq!(build(triples(&[0, 1], &[0, -1], &one, None)), "entry 1: column -1 is outside 0..3");
    assert!(build(triples(&[0], &[0, 1], &one, None)).contains("row ids: 1 value, but 2 are needed"));
    assert!(
        build(triples(&[0, 0], &[1, 1], &one, None)).starts_with("row 0, column 1 is given more than once")
    );
    assert!(build(triples(&[0, 1], &[1, 1], &one, Some(&[1.0, -1.0]))).contains("entry 1 is -1"));
    assert!(
        build(triples(&[0, 1], &[1, 1], &one, Some(&[1.0])))
            .contains("there is 1 entry weight for 2 entries")
    );
    assert!(build(triples(&[0, 1], &[1, 1], &[1.0, f64::INFINITY], None)).contains("row 1, column 1 is inf"));
}

#[test]
fn every_source_gives_the_same_entries() {
    let x = [0.0, f64::NAN, 3.0, f64::NAN, 5.0, f64::NAN];
    let dense = Observed::from_dense_with(&Dense::row_major(&x, 2, 3).unwrap(), &Run::threads(1)).unwrap();
    let by_columns = [0.0, f64::NAN, f64::NAN, 5.0, 3.0, f64::NAN];
    let of_columns = Observed::from_dense(&Dense::column_major(&by_columns, 2, 3).unwrap()).unwrap();
    let csr = Sparse::csr(2, 3, &[0u32, 2, 3], &[0u32, 2, 1], &[0.0, 3.0, 5.0]).unwrap();
    let csc = Sparse::csc(2, 3, &[0u64, 1, 2, 3], &[0i64, 1, 0], &[0.0, 5.0, 3.0]).unwrap();
    let shuffled = triples(&[1, 0, 0, 1], &[1, 2, 0, 0], &[5.0, 3.0, 0.0, f64::NAN], None);
    let doubled = triples(&[1, 0, 0, 1], &[1, 2, 0, 1], &[4.0, 3.0, 0.0, 6.0], None);
    let weighted = [1.0, 0.0, 2.0, 1.0];
    let with_weights = triples(&[1, 0, 0, 0], &[1, 1, 2, 0], &[5.0, 7.0, 3.0, 0.0], Some(&weighted));
    let all = [
        dense,
        of_columns,
        Observed::from_sparse(&csr, None).unwrap(),
        Observed::from_sparse_with(&csc, None, &Run::threads(3)).unwrap(),
        Observed::from_triples_with(&shuffled, (2, 3), Duplicates::Refuse, &Run::threads(2)).unwrap(),
        Observed::from_triples(&doubled, (2, 3), Duplicates::Average).unwrap(),
        Observed::from_triples(&with_weights, (2, 3), Duplicates::Refuse).unwrap(),
    ];
    for data in &all {
        assert_eq!((data.shape(), data.n_observed()), ((2, 3), 3));
        assert_eq!(data.row(0), ([0, 2].as_slice(), [0.0, 3.0].as_slice()));
        assert_eq!(data.row(1), ([1].as_slice(), [5.0].as_slice()));
        assert_eq!(data.column(1), ([1].as_slice(), [5.0].as_slice()));
        assert_eq!(data.column(2), ([0].as_slice(), [3.0].as_slice()));
    }
    assert!(all[6].is_weighted() && !all[0].is_weighted());
}
