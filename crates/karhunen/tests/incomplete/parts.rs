//! Fits of incomplete rows in parts: equal to the fit of all rows, iteration by iteration.

use std::sync::Mutex;

use karhunen::cluster::{Engine, Partial, Task};
use karhunen::exec::{Fact, PassLog};
use karhunen::incomplete::{MeanMode, MeanPrior, Method, Regularization, StopReason};
use karhunen::record::Recorded;
use karhunen::{Dense, Error, IncompleteModel, IncompletePca, Observed, Result, Run, Sparse};
use karhunen_testkit::{Holes, largest};

use crate::fixtures::observed;

/// The rows of `values` (row-major, NaN is missing) in parts of given sizes.
struct Parts {
    values: Vec<f64>,
    n_features: usize,
    weights: Option<Vec<f64>>,
    sizes: Vec<usize>,
    single: bool,
    sparse: bool,
    n_tasks: Mutex<usize>,
    drift: f64,
    /// Of parts of even and of odd number.
    n_threads: [usize; 2],
}

impl Parts {
    fn new(holes: &Holes, sizes: &[usize]) -> Self {
        let (n, p) = holes.shape();
        assert_eq!(sizes.iter().sum::<usize>(), n);
        Self {
            values: holes.with_nan(),
            n_features: p,
            weights: None,
            sizes: sizes.to_vec(),
            single: false,
            sparse: false,
            n_tasks: Mutex::default(),
            drift: 0.0,
            n_threads: [1, 2],
        }
    }

    fn part(&self, task: &Task, number: usize, first: usize) -> Result<Partial> {
        let (n, p) = (self.sizes[number], self.n_features);
        let mut values = self.values[first * p..(first + n) * p].to_vec();
        if let Some(value) = values.first_mut() {
            *value += self.drift * task.pass() as f64;
        }
        let weights = self.weights.as_ref().map(|weights| &weights[first..first + n]);
        let run = Run::threads(self.n_threads[number % 2]);
        if self.single {
            let values: Vec<f32> = values.iter().map(|x| *x as f32).collect();
            return Partial::of(task, number, &Dense::row_major(&values, n, p)?, weights, &run);
        }
        if !self.sparse {
            return Partial::of(task, number, &Dense::row_major(&values, n, p)?, weights, &run);
        }
        let (mut pointers, mut indices, mut stored) = (vec![0], Vec::new(), Vec::new());
        for row in values.chunks_exact(p) {
            for (j, value) in row.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
                indices.push(j);
                stored.push(*value);
            }
            pointers.push(indices.len());
        }
        Partial::of(task, number, &Sparse::csr(n, p, &pointers, &indices, &stored)?, weights, &run)
    }
}

fn travelled<M: Recorded>(content: &M) -> Result<M> {
    M::from_record(&mut content.to_record()?.clone())
}

impl Engine for Parts {
    fn reduce(&self, task: &Task) -> Result<Partial> {
        *self.n_tasks.lock().unwrap() += 1;
        let task = travelled(task)?;
        let mut first = 0;
        let mut partials = Vec::new();
        for number in 0..self.sizes.len() {
            partials.push(travelled(&self.part(&task, number, first)?)?);
            first += self.sizes[number];
        }
        Partial::merge_all(partials)
    }
}

const SIZES: [usize; 6] = [20, 0, 1, 19, 30, 10];

fn problem() -> Holes {
    Holes::planted(80, 12, &[3.0, 2.0], 0.5, 0.3, 8)
}

fn options(method: Method, regularization: Option<Regularization>) -> IncompletePca {
    IncompletePca { method, regularization, tol: 0.0, max_iter: 15, ..IncompletePca::new(2) }
}

#[track_caller]
fn assert_equal(what: &str, found: &IncompleteModel, expected: &IncompleteModel, tol: f64) {
    let (x, y) = (found.parts(), expected.parts());
    let close = |name: &str, a: &[f64], b: &[f64]| {
        assert_eq!(a.len(), b.len(), "{what}, {name}");
        let size = largest(b.iter().map(|b| b.abs())).max(1.0);
        for (at, (a, b)) in a.iter().zip(b).enumerate() {
            assert!((a - b).abs() <= tol * size, "{what}, {name} {at}: {a} {b}");
        }
    };
    close("components", x.components.as_slice(), y.components.as_slice());
    close("mean", &x.mean, &y.mean);
    close("variance", &x.explained_variance, &y.explained_variance);
    close("ratio", &x.explained_variance_ratio, &y.explained_variance_ratio);
    close("singular values", &x.singular_values, &y.singular_values);
    close("total", &[x.total_variance], &[y.total_variance]);
    close("prior", x.prior.precision.as_slice(), y.prior.precision.as_slice());
    close("prior mean", &x.prior.mean, &y.prior.mean);
    let costs = |x: &IncompleteModel| x.convergence().trace.iter().map(|e| e.cost).collect::<Vec<_>>();
    close("costs", &costs(found), &costs(expected));
    let errors = |x: &IncompleteModel| x.convergence().trace.iter().map(|e| e.rmse).collect::<Vec<_>>();
    close("errors", &errors(found), &errors(expected));
    assert_eq!(x.n_observed, y.n_observed, "{what}");
    assert_eq!(found.n_samples(), expected.n_samples(), "{what}");
    assert_eq!(x.dtype, y.dtype, "{what}");
}

/// As [`assert_equal`], with noise and error bars. Those of penalised fits count the parameters of the scores that the
/// last loadings have.
#[track_caller]
fn assert_equal_bars(what: &str, found: &IncompleteModel, expected: &IncompleteModel, tol: f64) {
    let (x, y) = (found.parts(), expected.parts());
    let close = |name: &str, a: &[f64], b: &[f64]| {
        assert_eq!(a.len(), b.len(), "{what}, {name}");
        let size = largest(b.iter().map(|b| b.abs())).max(1e-300);
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tol * size), "{what}, {name}: {a:?} {b:?}");
    };
    close("noise", &[x.noise_variance], &[y.noise_variance]);
    close("variance of the means", &x.mean_variance, &y.mean_variance);
    let packed = |x: &karhunen::incomplete::IncompleteParts| {
        let covariances = x.loading_covariances.as_ref().unwrap();
        covariances.packed.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>()
    };
    close("covariances of the loadings", &packed(x), &packed(y));
}

#[test]
fn parts_give_the_fit_of_all_rows_iteration_by_iteration() {
    let holes = problem();
    let weights: Vec<f64> = (0..80).map(|i| [1.0, 3.0, 0.0, 2.0, 0.5][i % 5]).collect();
    let cases = [
        (Method::Em, None),
        (Method::Als, None),
        (Method::Als, Some(Regularization::Ridge(0.7))),
        (Method::Als, Some(Regularization::Weighted(0.05))),
    ];
    for (method, regularization) in cases {
        for mean in [MeanMode::Joint, MeanMode::Fixed, MeanMode::None] {
            for weights in [None, Some(&weights)] {
                for sparse in [false, true] {
                    let what = format!("{method} {regularization:?} {mean:?} {} {sparse}", weights.is_some());
                    let pca = IncompletePca { mean, ..options(method, regularization) };
                    let all = observed(&holes);
                    let all = match weights {
                        Some(weights) => all.with_sample_weights(weights).unwrap(),
                        None => all,
                    };
                    let whole = pca.fit(&all).unwrap();
                    let parts = Parts { weights: weights.cloned(), sparse, ..Parts::new(&holes, &SIZES) };
                    let found = pca.fit_parts(&parts).unwrap();
                    assert_equal(&what, &found, &whole, 1e-11);
                    assert_equal_bars(&what, &found, &whole, 1e-5);
                    // One pass for the means, four sweeps after the start, the iterations, one for the noise of
                    // penalised fits.
                    let n_passes = 1 + 4 + 15 + usize::from(method == Method::Als);
                    assert_eq!(*parts.n_tasks.lock().unwrap(), n_passes, "{what}");
                    // Scores of rows come from the model.
                    let scores = found.row_scores(&observed(&holes)).unwrap();
                    let expected = whole.row_scores(&observed(&holes)).unwrap();
                    let size = largest(expected.scores.as_slice().iter().map(|x| x.abs()));
                    for (a, b) in scores.scores.as_slice().iter().zip(expected.scores.as_slice()) {
                        assert!((a - b).abs() < 1e-10 * size, "{what}: {a} {b}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_converged_fit_is_that_of_all_rows() {
    let holes = problem();
    let prior = MeanPrior { count: 3.0, value: None };
    let pca = IncompletePca { mean_prior: prior, max_iter: 500, tol: 1e-9, ..options(Method::Em, None) };
    let whole = pca.fit(&observed(&holes)).unwrap();
    let found = pca.fit_parts(&Parts::new(&holes, &SIZES)).unwrap();
    assert_equal("em", &found, &whole, 1e-10);
    assert_equal_bars("em", &found, &whole, 1e-6);
    assert_eq!(found.convergence().stop, StopReason::Tolerance);
    // The automatic choice is `als`.
    let auto = IncompletePca { method: Method::Auto, ..pca.clone() };
    let whole = IncompletePca { method: Method::Als, ..pca.clone() }.fit(&observed(&holes)).unwrap();
    let found = auto.fit_parts(&Parts::new(&holes, &SIZES)).unwrap();
    assert_equal("auto", &found, &whole, 1e-9);
    assert_eq!(found.parts().options, auto);
    // Several starts: the best of each.
    let pca = IncompletePca { n_starts: 3, ..pca };
    let whole = pca.fit(&observed(&holes)).unwrap();
    let found = pca.fit_parts(&Parts::new(&holes, &SIZES)).unwrap();
    assert_eq!(found.convergence().runs.len(), 3);
    assert_equal("three starts", &found, &whole, 1e-9);
}

#[test]
fn parts_of_single_precision_give_a_model_of_single_precision() {
    let holes = problem();
    let pca = options(Method::Em, None);
    let single: Vec<f32> = holes.with_nan().iter().map(|x| *x as f32).collect();
    let whole = pca.fit(&Observed::from_dense(&Dense::row_major(&single, 80, 12).unwrap()).unwrap()).unwrap();
    let found = pca.fit_parts(&Parts { single: true, ..Parts::new(&holes, &SIZES) }).unwrap();
    assert_equal("f32", &found, &whole, 2e-5);
}

#[test]
fn bits_depend_on_the_parts_alone() {
    let holes = problem();
    for pca in [options(Method::Als, Some(Regularization::Weighted(0.05))), variational(4, 25)] {
        let fit = |n_threads: [usize; 2], sparse: bool| {
            let parts = Parts { n_threads, sparse, ..Parts::new(&holes, &SIZES) };
            pca.fit_parts(&parts).unwrap().parts().components.clone()
        };
        let expected = fit([1, 2], false);
        assert_eq!(fit([3, 1], false), expected);
        assert_eq!(fit([1, 1], true), expected);
    }
}

#[test]
fn columns_and_rows_without_entries_are_kept() {
    let mut holes = problem();
    for (i, row) in holes.observed.iter_mut().enumerate() {
        row[4] = false;
        if i % 7 == 3 {
            row.fill(false);
        }
    }
    for (method, regularization) in [(Method::Em, None), (Method::Als, Some(Regularization::Ridge(0.7)))] {
        let pca = options(method, regularization);
        let whole = pca.fit(&observed(&holes)).unwrap();
        let found = pca.fit_parts(&Parts::new(&holes, &SIZES)).unwrap();
        assert_equal(&format!("{method}"), &found, &whole, 1e-10);
        assert_eq!(found.parts().n_observed[4], 0);
    }
}

#[test]
fn what_parts_cannot_do_is_refused_before_the_first_pass() {
    let holes = problem();
    let em = options(Method::Em, None);
    for (what, pca) in [
        ("method", IncompletePca { method: Method::Vb, ..em.clone() }),
        ("row_offsets", IncompletePca { row_offsets: true, ..em.clone() }),
        ("early_stopping", IncompletePca { early_stopping: Some(0.1), ..em.clone() }),
        ("gradient_tol", IncompletePca { gradient_tol: Some(0.1), ..em.clone() }),
    ] {
        let parts = Parts::new(&holes, &SIZES);
        let error = pca.fit_parts(&parts).unwrap_err();
        assert!(matches!(&error, Error::Option { option, .. } if option.field() == what), "{what}: {error}");
        assert_eq!(*parts.n_tasks.lock().unwrap(), 0);
    }
    let small = IncompletePca { memory_limit: Some(10_000), ..em.clone() };
    assert!(matches!(small.fit_parts(&Parts::new(&holes, &SIZES)), Err(Error::Memory { .. })));
    let small = IncompletePca { method: Method::VbFull, ..small };
    assert!(matches!(small.fit_parts(&Parts::new(&holes, &SIZES)), Err(Error::Memory { .. })));
    let many = IncompletePca { n_components: 13, ..em.clone() };
    assert!(matches!(many.fit_parts(&Parts::new(&holes, &SIZES)), Err(Error::NComponents { .. })));
    let drifting = Parts { drift: 0.1, ..Parts::new(&holes, &SIZES) };
    let error = em.fit_parts(&drifting).unwrap_err();
    assert!(matches!(error, Error::PartChanged { part: 0, .. }), "{error}");
    let mut infinite = Parts::new(&holes, &SIZES);
    infinite.values[12 * 41 + 5] = f64::INFINITY;
    match em.fit_parts(&infinite).unwrap_err() {
        Error::Part { part: 4, source } => {
            assert!(matches!(*source, Error::NonFinite { row: 1, column: 5, .. }), "{source}");
        }
        error => panic!("{error}"),
    }
    let nothing = Parts { values: vec![f64::NAN; 80 * 12], ..Parts::new(&holes, &SIZES) };
    assert!(matches!(em.fit_parts(&nothing), Err(Error::NothingObserved { .. })));
}

#[test]
fn scaled_and_weighted_columns_of_parts_are_those_of_all_rows() {
    let mut holes = problem();
    for (i, (row, seen)) in holes.complete.iter_mut().zip(&mut holes.observed).enumerate() {
        row.iter_mut().enumerate().for_each(|(j, x)| *x = 100.0 + *x * 10f64.powi(j as i32 % 5 - 2));
        // A constant column keeps its unit, and so do one with a single entry and one without any.
        row[3] = 0.1;
        seen[4] = i == 50;
        seen[5] = false;
    }
    let weights: Vec<f64> = (0..80).map(|i| f64::from(i % 4)).collect();
    let features: Vec<f64> = (0..12).map(|j| 0.5 + f64::from(j % 3)).collect();
    for (method, regularization) in
        [(Method::Em, None), (Method::Als, Some(Regularization::Ridge(0.7))), (Method::VbFull, None)]
    {
        for (scale, weighted, mean, repeated) in [
            (true, false, MeanMode::Joint, false),
            (true, false, MeanMode::None, false),
            (false, true, MeanMode::Joint, false),
            (true, true, MeanMode::Fixed, true),
        ] {
            let pca = IncompletePca { scale: scale.into(), mean, ..options(method, regularization) };
            let mut data = observed(&holes);
            let mut parts = Parts::new(&holes, &SIZES);
            if repeated {
                data = data.with_sample_weights(&weights).unwrap();
                parts.weights = Some(weights.clone());
            }
            if weighted {
                data = data.with_feature_weights(&features).unwrap();
            }
            let whole = pca.fit(&data).unwrap();
            let given = weighted.then_some(&features[..]);
            let found = pca.fit_parts_with(&parts, given, None, &Run::default()).unwrap();
            let what = format!("{method} {scale} {weighted} {mean:?} {repeated}");
            // Without means the entries of a column are a thousand times their deviation.
            assert_equal(&what, &found, &whole, if mean == MeanMode::None { 1e-6 } else { 1e-9 });
            let (found, expected) = (found.parts(), whole.parts());
            assert_eq!(found.scales.weights, expected.scales.weights, "{what}");
            let scales =
                |of: &karhunen::incomplete::IncompleteParts| of.scales.scale.clone().unwrap_or_default();
            for (j, (x, y)) in scales(found).iter().zip(&scales(expected)).enumerate() {
                assert!((x / y - 1.0).abs() < 1e-12, "{what}, scale {j}: {x} {y}");
            }
            if scale && mean != MeanMode::None {
                assert_eq!(scales(found)[3..6], [1.0; 3], "{what}");
            }
            for (j, (x, y)) in found.mean_variance.iter().zip(&expected.mean_variance).enumerate() {
                assert!((x - y).abs() <= 1e-9 * y.abs(), "{what}, variance of mean {j}: {x} {y}");
            }
        }
    }
    let refused = |features: &[f64]| {
        let em = options(Method::Em, None);
        em.fit_parts_with(&Parts::new(&holes, &SIZES), Some(features), None, &Run::default()).unwrap_err()
    };
    assert!(matches!(refused(&[1.0; 3]), Error::WeightLength { .. }));
    let zero: Vec<f64> = (0..12).map(|j| f64::from(j != 4)).collect();
    assert!(matches!(refused(&zero), Error::Option { option, .. } if option.field() == "feature_weights"));
}

/// Variational Bayes of data of two components, with more components than the data have.
fn variational(n_components: usize, max_iter: usize) -> IncompletePca {
    IncompletePca { n_components, max_iter, ..options(Method::VbFull, None) }
}

/// Compares the scores of rows, predictions of all their entries, and error bars.
#[track_caller]
fn assert_equal_predictions(what: &str, found: &IncompleteModel, expected: &IncompleteModel, tol: f64) {
    let (rows, run) = (observed(&problem()), Run::default());
    let of = |model: &IncompleteModel| {
        let (rows, covariances) = model.rows_with_covariances(&rows, &run).unwrap();
        let (mut values, mut bars) = (vec![0.0; 80 * 12], vec![0.0; 80 * 12]);
        model.values_into(&rows, &mut values, &run).unwrap();
        model.deviations_into((&rows.scores, &covariances), true, &mut bars, &run).unwrap();
        [rows.scores.as_slice().to_vec(), values, bars]
    };
    let names = ["scores", "predictions", "error bars"];
    for (name, (a, b)) in names.into_iter().zip(of(found).into_iter().zip(of(expected))) {
        assert_eq!(a.len(), b.len(), "{what}, {name}");
        // Covariances are of single precision.
        let tol = if name == "error bars" { tol.max(1e-6) } else { tol };
        let size = largest(b.iter().map(|x| x.abs()));
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= tol * size), "{what}, {name}");
    }
}

#[test]
fn variational_bayes_in_parts_is_that_of_all_rows_iteration_by_iteration() {
    let holes = problem();
    let weights: Vec<f64> = (0..80).map(|i| [1.0, 3.0, 0.0, 2.0, 0.5][i % 5]).collect();
    let mut n_pruned = 0;
    for mean in [MeanMode::Joint, MeanMode::Fixed, MeanMode::None] {
        for weights in [None, Some(&weights)] {
            for (sparse, max_iter) in [(false, 1), (true, 2), (false, 9), (true, 45), (false, 80)] {
                let what = format!("{mean:?} {} {sparse} {max_iter}", weights.is_some());
                let pca = IncompletePca { mean, ..variational(5, max_iter) };
                let all = observed(&holes);
                let all = match weights {
                    Some(weights) => all.with_sample_weights(weights).unwrap(),
                    None => all,
                };
                let whole = pca.fit(&all).unwrap();
                let parts = Parts { weights: weights.cloned(), sparse, ..Parts::new(&holes, &SIZES) };
                let found = pca.fit_parts(&parts).unwrap();
                assert_equal(&what, &found, &whole, 1e-9);
                assert_equal_bars(&what, &found, &whole, 1e-5);
                assert_equal_predictions(&what, &found, &whole, 1e-9);
                assert_eq!(found.convergence().reason, whole.convergence().reason);
                assert_eq!(found.parts().scores.n_rows(), 0);
                let n_left = whole.parts().components.n_rows();
                n_pruned += 5 - n_left;
                // One pass for the means, four sweeps after the start, the iterations, one for the final scores, and
                // one for every attempt to prune.
                let n_passes = *parts.n_tasks.lock().unwrap();
                assert!(n_passes >= 6 + max_iter + 5 - n_left, "{what}: {n_passes}");
                assert!(max_iter >= 10 || n_passes == 6 + max_iter, "{what}: {n_passes}");
            }
        }
    }
    assert!(n_pruned > 10, "{n_pruned}");
}

#[test]
fn variational_bayes_in_parts_obeys_its_options() {
    let holes = problem();
    for (what, pca) in [
        ("prior of the mean", {
            let mean_prior = MeanPrior { count: 3.0, value: Some(1.0) };
            IncompletePca { mean_prior, ..variational(4, 60) }
        }),
        ("learned priors", IncompletePca { learn_mean_prior: true, hyperprior: 0.1, ..variational(3, 60) }),
        ("converged", IncompletePca { tol: 1e-7, ..variational(3, 400) }),
        ("settled errors", IncompletePca { rmse_tol: Some(1e-4), ..variational(2, 400) }),
        ("settled loadings", IncompletePca { angle_tol: Some(1e-4), ..variational(3, 400) }),
        ("several starts", IncompletePca { n_starts: 3, ..variational(3, 9) }),
        ("no error bars", IncompletePca { error_bars: false, ..variational(3, 30) }),
    ] {
        let whole = pca.fit(&observed(&holes)).unwrap();
        let found = pca.fit_parts(&Parts::new(&holes, &SIZES)).unwrap();
        assert_equal(what, &found, &whole, 1e-9);
        assert_equal_bars(what, &found, &whole, 1e-5);
        assert_eq!(found.convergence().stop, whole.convergence().stop, "{what}");
        assert_eq!(found.parts().score_covariances.is_some(), pca.error_bars);
    }
}

#[test]
fn variational_bayes_in_parts_of_single_precision() {
    let holes = problem();
    let pca = variational(4, 40);
    let single: Vec<f32> = holes.with_nan().iter().map(|x| *x as f32).collect();
    let whole = pca.fit(&Observed::from_dense(&Dense::row_major(&single, 80, 12).unwrap()).unwrap()).unwrap();
    let found = pca.fit_parts(&Parts { single: true, ..Parts::new(&holes, &SIZES) }).unwrap();
    assert_equal("f32", &found, &whole, 2e-4);
}

#[test]
fn variational_bayes_in_parts_keeps_columns_and_rows_without_entries() {
    let mut holes = problem();
    for (i, row) in holes.observed.iter_mut().enumerate() {
        row[4] = false;
        if i % 7 == 3 {
            row.fill(false);
        }
    }
    let pca = variational(3, 30);
    let whole = pca.fit(&observed(&holes)).unwrap();
    let found = pca.fit_parts(&Parts::new(&holes, &SIZES)).unwrap();
    assert_equal("without entries", &found, &whole, 1e-9);
    assert_eq!(found.parts().n_observed[4], 0);
}

#[test]
fn variational_bayes_in_parts_of_constant_columns_has_no_components() {
    let mut holes = problem();
    for row in &mut holes.complete {
        row.iter_mut().enumerate().for_each(|(j, x)| *x = j as f64);
    }
    for mean in [MeanMode::Joint, MeanMode::Fixed] {
        let pca = IncompletePca { mean, ..variational(2, 30) };
        let whole = pca.fit(&observed(&holes)).unwrap();
        let found = pca.fit_parts(&Parts::new(&holes, &SIZES)).unwrap();
        let (x, y) = (found.parts(), whole.parts());
        assert_eq!((x.noise_variance, &x.explained_variance), (y.noise_variance, &y.explained_variance));
        assert_eq!(x.mean, y.mean);
        assert_eq!(found.convergence().reason, whole.convergence().reason);
        assert!(found.convergence().reason.contains("collapsed"));
        assert_equal_predictions("constant", &found, &whole, 1e-12);
    }
}

/// Keeps the results of passes, and fails after some of them.
#[derive(Default)]
struct Log {
    kept: Mutex<Vec<Vec<f64>>>,
    n_taken: Mutex<usize>,
    facts: Mutex<Vec<Fact>>,
    left: Mutex<usize>,
}

impl PassLog for Log {
    fn begin(&self, facts: &[Fact]) -> Result<()> {
        *self.n_taken.lock().unwrap() = 0;
        let mut before = self.facts.lock().unwrap();
        if before.is_empty() {
            *before = facts.to_vec();
        }
        assert_eq!(*before, facts);
        Ok(())
    }
    fn take(&self, _: &'static str) -> Result<Option<Vec<f64>>> {
        let mut at = self.n_taken.lock().unwrap();
        let found = self.kept.lock().unwrap().get(*at).cloned();
        *at += usize::from(found.is_some());
        Ok(found)
    }
    fn keep(&self, _: &'static str, values: &[f64]) -> Result<()> {
        let mut left = self.left.lock().unwrap();
        if *left == 0 {
            return Err(Error::Stopped { phase: "a test" });
        }
        *left -= 1;
        self.kept.lock().unwrap().push(values.to_vec());
        *self.n_taken.lock().unwrap() += 1;
        Ok(())
    }
}

#[test]
fn a_fit_that_is_resumed_has_the_same_bits() {
    let holes = problem();
    for pca in [options(Method::Als, Some(Regularization::Weighted(0.05))), variational(4, 25)] {
        let parts = Parts::new(&holes, &SIZES);
        let whole = pca.fit_parts(&parts).unwrap();
        let n_all = *parts.n_tasks.lock().unwrap();
        for n_passes in [1, 3, 9, n_all] {
            let log = Log { left: Mutex::new(n_passes), ..Log::default() };
            let first = pca.fit_parts_with(&Parts::new(&holes, &SIZES), None, Some(&log), &Run::default());
            assert_eq!(first.is_err(), n_passes < n_all);
            *log.left.lock().unwrap() = 100;
            let parts = Parts::new(&holes, &SIZES);
            let found = pca.fit_parts_with(&parts, None, Some(&log), &Run::default()).unwrap();
            assert_eq!(found.parts().components, whole.parts().components, "{n_passes}");
            assert_eq!(found.noise_variance(), whole.noise_variance());
            // A complete log is compared with the parts in one pass.
            assert_eq!(*parts.n_tasks.lock().unwrap(), (n_all - n_passes).max(1));
        }
    }
}

/// Checks that no record from which a value or a row of an array was lost is read.
#[track_caller]
fn assert_damage_is_found<M: Recorded>(content: &M) {
    let record = content.to_record().unwrap();
    for at in 0..record.arrays.len() {
        let mut without = record.clone();
        let array = without.arrays.remove(at);
        assert!(M::from_record(&mut without).is_err(), "{} is lost", array.name);
        // The number of features of a task is compared with the columns of each part.
        let first = usize::from(array.name == "table");
        for axis in first..array.shape.len() {
            let mut shape = array.shape.clone();
            shape[axis] -= 1;
            let mut shorter = record.clone();
            shorter.arrays.remove(at);
            shorter.put(&array.name, &shape, vec![0.5; shape.iter().product()]);
            assert!(M::from_record(&mut shorter).is_err(), "{} of shape {shape:?}", array.name);
        }
        let mut infinite = record.clone();
        infinite.arrays.remove(at);
        infinite.put(&array.name, &array.shape, vec![f64::NEG_INFINITY; array.shape.iter().product()]);
        assert!(M::from_record(&mut infinite).is_err(), "{} is infinite", array.name);
    }
}

/// Checks what travels in passes over the posteriors of scores.
struct Checked {
    parts: Parts,
    n_checked: Mutex<usize>,
}

impl Engine for Checked {
    fn reduce(&self, task: &Task) -> Result<Partial> {
        let of_task = task.to_record()?;
        let partial = self.parts.reduce(task)?;
        if of_task.arrays.iter().any(|array| array.name == "table") {
            assert_eq!(travelled(task)?, *task);
            assert_eq!(travelled(&partial)?, partial);
            assert_damage_is_found(task);
            assert_damage_is_found(&partial);
            *self.n_checked.lock().unwrap() += 1;
        }
        Ok(partial)
    }
}

#[test]
fn what_travels_is_read_as_it_was_written_or_refused() {
    let checked = Checked { parts: Parts::new(&problem(), &SIZES), n_checked: Mutex::default() };
    variational(2, 3).fit_parts(&checked).unwrap();
    assert_eq!(*checked.n_checked.lock().unwrap(), 4);
}

#[test]
fn samples_and_values_that_no_fit_has_are_refused() {
    let holes = problem();
    let em = options(Method::Em, None);
    for weight in [0.001, 0.0] {
        let parts = Parts { weights: Some(vec![weight; 80]), ..Parts::new(&holes, &SIZES) };
        let error = em.fit_parts(&parts).unwrap_err();
        assert!(
            matches!(&error, Error::Option { option, .. } if option.field() == "sample_weights"),
            "{error}"
        );
    }
    let huge = |at: usize, value: f64| {
        let mut parts = Parts::new(&holes, &SIZES);
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
    let mut parts = Parts { weights: Some(vec![1.0; 80]), ..Parts::new(&holes, &SIZES) };
    if let Some(weights) = &mut parts.weights {
        weights[20] = 0.0;
    }
    parts.values[12 * 20 + 3] = f64::INFINITY;
    assert!(matches!(em.fit_parts(&parts), Err(Error::Part { part: 2, .. })));
}
