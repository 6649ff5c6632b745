//! Fits that are interrupted and resumed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use karhunen::exec::Iteration;
use karhunen::incomplete::{Checkpoint, Checkpoints, Every, FitContext, Method, OnlineRule, Regularization};
use karhunen::{Dense, Error, Flow, IncompleteModel, IncompletePca, Observed, Observer, Run};
use karhunen_testkit::Incomplete;

use crate::incomplete::fixtures::{observed, start_of_traces};

/// Fits, and returns the checkpoints of every `every` iterations.
fn fit_and_keep<T: karhunen::Scalar>(
    pca: &IncompletePca,
    data: &Observed<T>,
    context: &FitContext<'_>,
    every: usize,
) -> (IncompleteModel, Vec<Checkpoint>) {
    let all = Mutex::new(Vec::new());
    let keep = |checkpoint: Checkpoint| {
        all.lock().unwrap().push(checkpoint);
        Ok(())
    };
    let checkpoints = Some(Checkpoints { every: Every::Iterations(every), keep: &keep });
    let model = pca.fit_with(data, &FitContext { checkpoints, ..*context }, &Run::default()).unwrap();
    let all = std::mem::take(&mut *all.lock().unwrap());
    (model, all)
}

/// A model without the fields that a clock determines.
fn timeless(model: &IncompleteModel) -> karhunen::incomplete::IncompleteParts {
    let mut parts = model.parts().clone();
    parts.convergence.trace.iter_mut().for_each(|entry| entry.seconds = 0.0);
    parts
}

/// Interrupts a fit at up to seven checkpoints and compares the resumed fits.
#[track_caller]
fn resumes_everywhere<T: karhunen::Scalar>(pca: &IncompletePca, data: &Observed<T>) {
    let (whole, all) = fit_and_keep(pca, data, &FitContext::default(), 1);
    assert!(all.len() >= 3, "{}: {} checkpoints", pca.method.name(), all.len());
    let every = all.len().div_ceil(7);
    let checkpoints: Vec<&Checkpoint> = all.iter().skip(every - 1).step_by(every).collect();
    for (at, checkpoint) in checkpoints.iter().enumerate() {
        let context = FitContext { resume: Some(*checkpoint), ..FitContext::default() };
        let (again, later) = fit_and_keep(pca, data, &context, every);
        let place = (pca.method.name(), checkpoint.iteration);
        assert!(timeless(&again) == timeless(&whole), "{place:?}");
        // Later checkpoints are equal as well.
        let expected = checkpoints[at + 1..].iter().map(|c| c.iteration);
        assert!(later.iter().map(|c| c.iteration).eq(expected), "{place:?}: checkpoints");
    }
}

#[test]
fn every_method_resumes_to_the_same_bits() {
    let table = Incomplete::planted(60, 20, &[3.0, 2.0, 1.0], 0.5, 0.5, 3);
    let data = observed(&table);
    for method in Method::ALL {
        for row_offsets in [false, true] {
            let pca = IncompletePca { method, row_offsets, max_iter: 47, tol: 1e-7, ..IncompletePca::new(4) };
            resumes_everywhere(&pca, &data);
        }
    }
}

#[test]
fn fits_of_f32_data_with_held_out_entries_resume_to_the_same_bits() {
    let table = Incomplete::planted(80, 30, &[2.0, 1.0], 0.5, 0.6, 9);
    let (n, p) = table.shape();
    let single: Vec<f32> = table.with_nan().iter().map(|x| *x as f32).collect();
    let data = Observed::from_dense(&Dense::row_major(&single, n, p).unwrap()).unwrap();
    for method in Method::ALL {
        let early_stopping = Some(0.05);
        let pca =
            IncompletePca { method, max_iter: 48, early_stopping, refit: true, ..IncompletePca::new(5) };
        resumes_everywhere(&pca, &data);
    }
}

#[test]
fn starts_paths_and_online_rules_resume_to_the_same_bits() {
    let data = observed(&Incomplete::planted(60, 20, &[3.0, 2.0, 1.0], 0.8, 0.6, 4));
    let of = |method| IncompletePca { method, ..IncompletePca::new(4) };
    let starts = IncompletePca { n_starts: Some(3), max_iter: 15, ..of(Method::Em) };
    resumes_everywhere(&starts, &data);
    for method in [Method::Ridge, Method::Soft, Method::Als] {
        let (regularization, early_stopping) = (Some(Regularization::Path), Some(0.1));
        for row_offsets in [false, true] {
            let path = IncompletePca { regularization, early_stopping, row_offsets, ..of(method) };
            let path = IncompletePca { refit: true, max_iter: 40, ..path };
            resumes_everywhere(&path, &data);
        }
    }
    let ruled = IncompletePca { tol: 0.0, angle_tol: Some(1e-6), ..of(Method::Cg) };
    resumes_everywhere(&ruled, &data);
    let ruled = IncompletePca { tol: 0.0, rmse_tol: Some(1e-6), ..of(Method::Em) };
    resumes_everywhere(&ruled, &data);
    for online_rule in [OnlineRule::Rls, OnlineRule::Oja] {
        let online = IncompletePca { online_rule, max_iter: 20, tol: 0.0, ..of(Method::Online) };
        resumes_everywhere(&online, &data);
    }
}

#[test]
fn a_resumed_fit_needs_no_given_start() {
    let data = observed(&Incomplete::problem_q());
    let start = start_of_traces();
    let newton = IncompletePca { method: Method::Newton, max_iter: 20, ..IncompletePca::new(2) };
    let context = FitContext { start: Some(&start), ..FitContext::default() };
    let (whole, checkpoints) = fit_and_keep(&newton, &data, &context, 7);
    let resume = FitContext { resume: Some(&checkpoints[1]), ..FitContext::default() };
    assert_eq!(timeless(&newton.fit_with(&data, &resume, &Run::default()).unwrap()), timeless(&whole));
    let both = FitContext { start: Some(&start), ..resume };
    let error = newton.fit_with(&data, &both, &Run::default()).unwrap_err().to_string();
    assert!(error.contains("has no other start"), "{error}");
}

#[test]
fn limits_and_threads_may_change_on_resumption() {
    let data = observed(&Incomplete::problem_q());
    let em = IncompletePca { method: Method::Em, max_iter: 5, ..IncompletePca::new(2) };
    let (_, checkpoints) = fit_and_keep(&em, &data, &FitContext::default(), 2);
    let longer = IncompletePca { max_iter: 50, ..em };
    let resume = FitContext { resume: checkpoints.last(), ..FitContext::default() };
    let again = longer.fit_with(&data, &resume, &Run::threads(3)).unwrap();
    let whole = longer.fit_with(&data, &FitContext::default(), &Run::threads(1)).unwrap();
    assert_eq!(timeless(&again), timeless(&whole));
}

/// Cancels in the middle of an iteration.
struct StopWithin {
    iteration: usize,
    seen: AtomicUsize,
}

impl Observer for StopWithin {
    fn update(&self, _: &'static str, fraction: f64) -> Flow {
        let within = self.seen.load(Ordering::Relaxed) >= self.iteration && fraction > 0.0;
        if within { Flow::Stop } else { Flow::Continue }
    }
    fn iteration(&self, at: &Iteration) -> Flow {
        self.seen.store(at.iteration, Ordering::Relaxed);
        Flow::Continue
    }
}

#[test]
fn a_cancelled_fit_writes_a_last_checkpoint() {
    let data = observed(&Incomplete::planted(60, 20, &[3.0, 2.0, 1.0], 0.5, 0.5, 3));
    for method in [Method::VbFull, Method::Vb, Method::Em, Method::Newton, Method::Ridge] {
        let pca = IncompletePca { method, tol: 1e-9, ..IncompletePca::new(3) };
        let kept = Mutex::new(Vec::new());
        let keep = |checkpoint: Checkpoint| {
            kept.lock().unwrap().push(checkpoint);
            Ok(())
        };
        // No checkpoint is due for a thousand iterations.
        let checkpoints = Some(Checkpoints { every: Every::Iterations(1000), keep: &keep });
        let observer = StopWithin { iteration: 4, seen: AtomicUsize::new(0) };
        let context = FitContext { checkpoints, ..FitContext::default() };
        let error = pca.fit_with(&data, &context, &Run::observed(&observer)).unwrap_err();
        assert!(matches!(error, Error::Stopped { .. }), "{error}");
        let kept = kept.lock().unwrap();
        // The fit finished the current iteration.
        assert_eq!(kept.iter().map(|c| c.iteration).collect::<Vec<_>>(), [5], "{}", method.name());
        let resume = FitContext { resume: kept.last(), ..FitContext::default() };
        let (again, whole) =
            (pca.fit_with(&data, &resume, &Run::default()).unwrap(), pca.fit(&data).unwrap());
        assert_eq!(timeless(&again), timeless(&whole), "{}", method.name());
    }
}

#[test]
fn other_data_and_options_are_refused() {
    let table = Incomplete::problem_q();
    let data = observed(&table);
    let em = IncompletePca { method: Method::Em, ..IncompletePca::new(2) };
    let (_, checkpoints) = fit_and_keep(&em, &data, &FitContext::default(), 3);
    let first = &checkpoints[0];
    let error = |pca: &IncompletePca, data: &Observed<f64>, checkpoint: &Checkpoint| {
        let context = FitContext { resume: Some(checkpoint), ..FitContext::default() };
        pca.fit_with(data, &context, &Run::default()).unwrap_err()
    };
    let other = IncompletePca { seed: 7, ..em.clone() };
    assert_eq!(
        error(&other, &data, first).to_string(),
        "the checkpoint was made with seed = 0, now there is seed = 7; resume with the same, or fit again"
    );
    let mut values = table.with_nan();
    let at = values.iter().position(|x| !x.is_nan()).unwrap();
    values[at] += 1e-9;
    let (n, p) = table.shape();
    let moved = Observed::from_dense(&Dense::row_major(&values, n, p).unwrap()).unwrap();
    let message = error(&em, &moved, first).to_string();
    assert!(message.contains("other data (314 entries of 40 x 12, f64, checksum"), "{message}");
    let old = Checkpoint { version: "0.0.1".to_owned(), ..first.clone() };
    let message = error(&em, &data, &old).to_string();
    assert!(message.contains("other versions of karhunen (0.0.1"), "{message}");
    // Version 0.1.0 drew other random numbers: only a fit that draws no more of them can be resumed.
    let of_0_1_0 = |checkpoint: &Checkpoint| Checkpoint { version: "0.1.0".to_owned(), ..checkpoint.clone() };
    let context = FitContext { resume: Some(&of_0_1_0(first)), ..FitContext::default() };
    assert_eq!(
        timeless(&em.fit_with(&data, &context, &Run::default()).unwrap()),
        timeless(&em.fit(&data).unwrap())
    );
    let stops_early = IncompletePca { early_stopping: Some(0.1), ..em.clone() };
    for draws in [stops_early, IncompletePca { n_starts: Some(2), ..em.clone() }] {
        let (_, checkpoints) = fit_and_keep(&draws, &data, &FitContext::default(), 3);
        let message = error(&draws, &data, &of_0_1_0(&checkpoints[0])).to_string();
        assert!(message.contains("other versions of karhunen (0.1.0"), "{message}");
    }
    // Every array that is missing, too long or not a count is an error, never a panic.
    for name in first.arrays.keys() {
        let mut damaged = first.clone();
        damaged.arrays.remove(name);
        let e = error(&em, &data, &damaged);
        assert!(matches!(e, Error::CheckpointDamaged { .. }), "{name}: {e}");
        let mut damaged = first.clone();
        damaged.arrays.get_mut(name).unwrap().push(0.5);
        if !name.ends_with("costs") {
            let e = error(&em, &data, &damaged);
            assert!(matches!(e, Error::CheckpointDamaged { .. }), "{name}: {e}");
        }
    }
    let mut damaged = first.clone();
    damaged.arrays.insert("what".to_owned(), vec![1.0]);
    assert!(error(&em, &data, &damaged).to_string().contains("`what` belongs to nothing"));
}

#[test]
fn an_error_of_the_checkpoint_writer_ends_the_fit() {
    let data = observed(&Incomplete::problem_q());
    let keep = |_: Checkpoint| Err("the disk is full".into());
    let checkpoints = Some(Checkpoints { every: Every::Time(std::time::Duration::ZERO), keep: &keep });
    let context = FitContext { checkpoints, ..FitContext::default() };
    let error = IncompletePca::new(2).fit_with(&data, &context, &Run::default()).unwrap_err();
    assert_eq!(error.to_string(), "keeping a checkpoint failed: the disk is full");
}

/// A copy of a checkpoint with one number changed.
fn changed(checkpoint: &Checkpoint, name: &str, at: usize, value: f64) -> Checkpoint {
    let mut changed = checkpoint.clone();
    changed.arrays.get_mut(name).unwrap()[at] = value;
    changed
}

/// In version 0.1.0 a negative time in a checkpoint caused a panic, and a number of components an unbounded
/// allocation.
#[test]
fn numbers_outside_their_rules_are_refused_as_damage() {
    let data = observed(&Incomplete::problem_q());
    let vb = IncompletePca { method: Method::Vb, max_iter: 12, n_starts: Some(2), ..IncompletePca::new(2) };
    let (_, checkpoints) = fit_and_keep(&vb, &data, &FitContext::default(), 1);
    let last = checkpoints.last().unwrap();
    let nan = f64::NAN;
    let times = [nan, -1.0, f64::INFINITY, 1e13, 1e300];
    let counts = [nan, -1.0, 0.5, 1e15, 1e300];
    let sizes = [nan, -1.0, f64::INFINITY];
    for (name, at, values) in [
        ("leg", 0, &[nan, -1.0, 1.0, 2.0, 7.0][..]),
        ("leg", 1, &[nan, -1.0, 0.0, 2.0, 1e15]),
        ("leg", 2, &times),
        ("runs", 1, &[nan, f64::INFINITY]),
        ("runs", 2, &sizes),
        ("runs", 4, &counts[..3]),
        ("best_leg", 1, &counts),
        ("best.numbers", 0, &[nan, -1.0, 0.0, 0.5, 3.0, 1e15]),
        ("best.numbers", 1, &counts[..3]),
        ("best.numbers", 2, &[nan, f64::INFINITY]),
        ("best.numbers", 3, &sizes),
        ("best.end", 0, &[nan, -1.0, 99.0]),
        ("best.end", 1, &[nan, -1.0, 0.5]),
        ("best.trace", 0, &counts),
        ("best.trace", 2, &sizes),
        ("best.trace", 5, &times),
        ("best.loadings", 0, &[nan, f64::INFINITY]),
        ("running.numbers", 0, &[nan, -1.0, 0.0, 0.5, 3.0, 1e15]),
        ("running.numbers", 1, &counts[..3]),
        ("running.numbers", 2, &times),
        ("running.scores", 0, &[nan, f64::INFINITY]),
        // With two components: the constant score of the mean, and the padding of the line.
        ("running.scores", 2, &[0.0, 2.0]),
        ("running.scores", 3, &[1.0]),
        ("running.loadings", 3, &[1.0]),
        ("running.penalty_loadings", 1, &[nan, -1.0]),
        ("running.method.noise", 0, &sizes),
        ("running.method.prior", 0, &sizes),
        ("running.best.trace", 5, &times),
    ] {
        for value in values {
            let damaged = changed(last, name, at, *value);
            let context = FitContext { resume: Some(&damaged), ..FitContext::default() };
            let error = vb.fit_with(&data, &context, &Run::default()).unwrap_err();
            assert!(matches!(error, Error::CheckpointDamaged { .. }), "{name} {at} {value}: {error}");
        }
    }
    let em = IncompletePca { method: Method::Em, max_iter: 12, ..IncompletePca::new(2) };
    let (_, checkpoints) = fit_and_keep(&em, &data, &FitContext::default(), 1);
    for (name, value) in [("costs", nan), ("costs", f64::INFINITY), ("best", nan)] {
        let mut damaged = checkpoints[3].clone();
        damaged.arrays.insert(format!("running.stopping.{name}"), vec![value, 1.0]);
        let context = FitContext { resume: Some(&damaged), ..FitContext::default() };
        let error = em.fit_with(&data, &context, &Run::default()).unwrap_err();
        assert!(matches!(error, Error::CheckpointDamaged { .. }), "{name} {value}: {error}");
    }
}

#[test]
fn no_number_in_a_checkpoint_makes_a_fit_panic() {
    let data = observed(&Incomplete::problem_q());
    let of = |method| IncompletePca { method, max_iter: 9, ..IncompletePca::new(2) };
    let path = Some(Regularization::Path);
    let fits = Method::ALL.map(of).into_iter().chain([
        IncompletePca { row_offsets: true, early_stopping: Some(0.1), refit: true, ..of(Method::Em) },
        IncompletePca { row_offsets: true, ..of(Method::VbFull) },
        IncompletePca { regularization: path, early_stopping: Some(0.1), max_iter: 4, ..of(Method::Als) },
    ]);
    for pca in fits {
        let (_, checkpoints) = fit_and_keep(&pca, &data, &FitContext::default(), 1);
        let checkpoint = &checkpoints[checkpoints.len() * 2 / 3];
        for (name, values) in &checkpoint.arrays {
            for at in [0, values.len() / 2, values.len().saturating_sub(1)] {
                for value in [f64::NAN, f64::INFINITY, -1.0, 0.0, 0.5, 3.0, 1e15, 1e300, -1e300] {
                    if values.is_empty() {
                        continue;
                    }
                    let damaged = changed(checkpoint, name, at, value);
                    let context = FitContext { resume: Some(&damaged), ..FitContext::default() };
                    // A valid number continues to a finite model; any other is an error.
                    if let Ok(model) = pca.fit_with(&data, &context, &Run::default()) {
                        let finite = |x: &[f64]| x.iter().all(|x| x.is_finite());
                        let method = pca.method.name();
                        assert!(finite(model.components().as_slice()), "{method} {name} {at} {value}");
                        assert!(finite(model.scores().as_slice()), "{method} {name} {at} {value}");
                    }
                }
            }
        }
    }
}
