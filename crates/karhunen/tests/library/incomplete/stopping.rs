//! Stopping rules of fits, and the iterates that they keep.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use karhunen::error::options;
use karhunen::exec::Iteration;
use karhunen::incomplete::{FitContext, Method, Regularization, StopReason};
use karhunen::{Dense, Error, Flow, IncompleteModel, IncompletePca, Observed, Observer, Run};
use karhunen_testkit::Incomplete;

use crate::incomplete::fixtures::{entries, hold_out, in_random_order, observed, rmse_of, test_rmse};

#[test]
fn held_out_entries_stop_a_fit_and_the_best_iterate_is_kept() {
    // Many components and few data: least squares overfits.
    let data = observed(&Incomplete::planted(80, 30, &[2.0, 1.0], 0.5, 0.6, 9));
    for method in [Method::Em, Method::Cg, Method::Newton, Method::Ccd] {
        let pca = IncompletePca { method, early_stopping: Some(0.05), seed: 4, ..IncompletePca::new(8) };
        let model = pca.fit(&data).unwrap();
        let convergence = model.convergence();
        assert_eq!(convergence.stop, StopReason::HeldOut, "{}", method.name());
        let lowest = convergence.trace.iter().filter_map(|e| e.held_out_rmse).fold(f64::MAX, f64::min);
        let kept = convergence.runs[0].held_out_rmse.unwrap();
        assert!(kept <= lowest * (1.0 + 2e-5), "{}: {kept}, but {lowest} was seen", method.name());
        let last = convergence.trace.iter().rev().find_map(|e| e.held_out_rmse).unwrap();
        assert!(last > kept, "{}", method.name());
        // The reported error is the error of the model.
        let held_out = in_random_order(&data, 4, "early-stopping");
        let again = rmse_of(&model, &held_out[..(0.05 * data.n_observed() as f64).round() as usize]);
        let reported = convergence.held_out_rmse.unwrap();
        assert!((again - reported).abs() < 1e-10, "{}: {again} {reported}", method.name());
    }
}

#[test]
fn a_split_leaves_an_entry_in_every_row_and_column() {
    let data = observed(&Incomplete::planted(50, 20, &[1.0], 0.5, 0.8, 2));
    let (kept, held_out) = data.split(0.9, 0).unwrap();
    assert_eq!(kept.n_observed() + held_out.n_observed(), data.n_observed());
    assert!(held_out.n_observed() > data.n_observed() / 2);
    for row in 0..50 {
        assert_eq!(kept.n_observed_in_row(row) == 0, data.n_observed_in_row(row) == 0);
    }
    for column in 0..20 {
        assert_eq!(kept.n_observed_in_column(column) == 0, data.n_observed_in_column(column) == 0);
    }
}

#[test]
fn a_split_holds_out_the_requested_share_of_the_entries() {
    let data = observed(&Incomplete::planted(100, 50, &[1.0], 0.5, 0.3, 2));
    let held_out = |data: &Observed<f64>, share, seed| data.split(share, seed).unwrap().1.n_observed();
    let n = data.n_observed();
    let of = |share: f64, n: usize| (share * n as f64).round() as usize;
    for share in [0.001, 0.02, 0.1, 0.5] {
        for seed in [0, 1, u64::MAX] {
            assert_eq!(held_out(&data, share, seed), of(share, n));
            // A second split with the same seed, of the kept entries.
            let (kept, first) = data.split(share, seed).unwrap();
            let (_, second) = kept.split(share, seed).unwrap();
            assert_eq!(second.n_observed(), of(share, kept.n_observed()));
            assert!(entries(&second).iter().all(|entry| !entries(&first).contains(entry)));
        }
    }
    // A larger share holds out a superset of a smaller one.
    let (less, more) = (data.split(0.1, 3).unwrap().1, data.split(0.3, 3).unwrap().1);
    assert!(entries(&less).iter().all(|entry| entries(&more).contains(entry)));
    // The held-out entries depend neither on values nor on threads.
    let other: Vec<f64> =
        (0..5000).map(|e| if data_at(&data, e).is_nan() { f64::NAN } else { 1.0 }).collect();
    let other = Observed::from_dense(&Dense::row_major(&other, 100, 50).unwrap()).unwrap();
    let places = |(row, column, _): &(usize, usize, f64)| (*row, *column);
    let of = |data: &Observed<f64>, threads| {
        entries(&data.split_with(0.1, 3, &Run::threads(threads)).unwrap().1)
            .iter()
            .map(places)
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&data, 1), of(&other, 2));
}

fn data_at(data: &Observed<f64>, e: usize) -> f64 {
    let (columns, values) = data.row(e / 50);
    columns.iter().position(|column| *column as usize == e % 50).map_or(f64::NAN, |at| values[at])
}

/// In version 0.1.0 a split, early stopping and the folds of cross-validation with equal seeds drew the same
/// entries.
#[test]
fn early_stopping_after_a_split_with_the_same_seed_finds_entries() {
    let table = Incomplete::planted(400, 50, &[1.5, 1.0, 0.5], 1.0, 0.0, 1);
    let (train, _) = observed(&table).split(0.1, 0).unwrap();
    for share in [0.1, 0.05] {
        let path = IncompletePca {
            method: Method::Ridge,
            regularization: Some(Regularization::Path),
            early_stopping: Some(share),
            ..IncompletePca::new(10)
        };
        let model = path.fit(&train).unwrap();
        let runs = &model.convergence().runs;
        assert!(runs.iter().all(|run| run.held_out_rmse.is_some()));
        assert!(runs.len() < 40, "the path went to its end");
        // Neither end of the path is the best.
        let best = model.convergence().held_out_rmse.unwrap();
        assert!(runs.first().zip(runs.last()).is_some_and(|(first, last)| {
            Some(best) < first.held_out_rmse && Some(best) < last.held_out_rmse
        }));
    }
}

#[test]
fn shares_that_hold_out_nothing_are_refused() {
    let small: Vec<f64> = (0..12).map(f64::from).collect();
    let small = Observed::from_dense(&Dense::row_major(&small, 4, 3).unwrap()).unwrap();
    let diagonal: Vec<f64> = (0..16).map(|e| if e % 5 == 0 { 1.0 } else { f64::NAN }).collect();
    let diagonal = Observed::from_dense(&Dense::row_major(&diagonal, 4, 4).unwrap()).unwrap();
    let fit = |data: &Observed<f64>, share, regularization, refit| {
        let method = if regularization == Some(Regularization::Path) { Method::Als } else { Method::Em };
        let early_stopping = Some(share);
        let pca = IncompletePca { method, regularization, early_stopping, refit, ..IncompletePca::new(1) };
        pca.fit(data).map(|_| ()).unwrap_err().to_string()
    };
    let few = "early_stopping = 0.02 holds out none of the 12 observed entries: 0.02 of them is 0.24, less \
               than half an entry; ask for at least 4.17e-2 of them";
    let alone = "early_stopping = 0.5 holds out none of the 4 observed entries: each is alone in its row or \
                 column, which would have none left; give more entries, or hold none out";
    for (regularization, refit) in [(None, false), (None, true), (Some(Regularization::Path), true)] {
        assert_eq!(fit(&small, 0.02, regularization, refit), few);
        assert_eq!(fit(&diagonal, 0.5, regularization, refit), alone);
    }
    assert_eq!(
        small.split(0.01, 0).unwrap_err().to_string(),
        "share = 0.01 holds out none of the 12 observed entries: 0.01 of them is 0.12, less than half an entry; \
         ask for at least 4.17e-2 of them"
    );
    for share in [0.0, 1.0, -0.5, 2.0, f64::NAN] {
        let error = small.split(share, 0).unwrap_err();
        assert!(matches!(error, Error::Option { option: options::SHARE, .. }), "{error}");
    }
    assert_eq!(small.split(4.17e-2, 0).unwrap().1.n_observed(), 1);
    // The default share holds out an entry of small tables too.
    let share = IncompletePca::held_out_of(small.n_observed());
    let early = IncompletePca { method: Method::Em, early_stopping: Some(share), ..IncompletePca::new(1) };
    assert!(early.fit(&small).unwrap().convergence().held_out_rmse.is_some());
}

#[test]
fn tolerance_iterations_and_time_stop_a_fit() {
    let data = observed(&Incomplete::problem_q());
    let em = IncompletePca { method: Method::Em, ..IncompletePca::new(2) };
    let model = em.fit(&data).unwrap();
    assert_eq!(model.convergence().stop, StopReason::Tolerance);
    assert!(model.convergence().converged());
    let few = IncompletePca { max_iter: 3, ..em.clone() }.fit(&data).unwrap();
    assert_eq!((few.convergence().stop, few.convergence().trace.len()), (StopReason::Iterations, 4));
    assert!(!few.convergence().converged());
    let hasty = IncompletePca { time_limit: Some(Duration::ZERO), ..em }.fit(&data).unwrap();
    assert_eq!((hasty.convergence().stop, hasty.convergence().trace.len()), (StopReason::TimeLimit, 2));
}

#[test]
fn the_best_of_several_starts_is_kept() {
    let data = observed(&Incomplete::planted(40, 15, &[2.0, 1.0, 1.0], 0.3, 0.75, 1));
    let em = IncompletePca { method: Method::Em, tol: 1e-9, max_iter: 300, ..IncompletePca::new(3) };
    let cost = |pca: &IncompletePca| pca.fit(&data).unwrap().convergence().cost;
    let model = IncompletePca { n_starts: Some(5), ..em.clone() }.fit(&data).unwrap();
    let runs: Vec<f64> = model.convergence().runs.iter().map(|run| run.cost).collect();
    let best = model.convergence().cost;
    assert_eq!(runs.len(), 5);
    assert!(runs.iter().all(|cost| *cost >= best) && runs.contains(&best));
    assert!(runs.iter().any(|cost| *cost > best), "{runs:?}");
    assert_eq!(runs[0], cost(&IncompletePca { n_starts: Some(1), ..em }));
}

struct StopAfter(usize, AtomicUsize);

impl Observer for StopAfter {
    fn update(&self, phase: &'static str, _: f64) -> Flow {
        let n = if phase == "em" { self.1.fetch_add(1, Ordering::Relaxed) } else { 0 };
        if n >= self.0 { Flow::Stop } else { Flow::Continue }
    }
}

#[test]
fn an_observer_may_cancel_a_fit() {
    let data = observed(&Incomplete::problem_q());
    let em = IncompletePca { method: Method::Em, ..IncompletePca::new(2) };
    let observer = StopAfter(7, AtomicUsize::new(0));
    let error = em.fit_with(&data, &FitContext::default(), &Run::observed(&observer)).unwrap_err();
    assert!(matches!(error, Error::Stopped { phase: "em" }));
}

/// Records the report of every iteration.
#[derive(Default)]
struct Diary(Mutex<Vec<Iteration>>);

impl Observer for Diary {
    fn update(&self, _: &'static str, _: f64) -> Flow {
        Flow::Continue
    }
    fn iteration(&self, at: &Iteration) -> Flow {
        self.0.lock().unwrap().push(*at);
        Flow::Continue
    }
}

#[test]
fn an_observer_receives_every_iteration() {
    let data = observed(&Incomplete::planted(80, 30, &[2.0, 1.0], 0.5, 0.4, 9));
    let share = Some(0.05);
    for (method, early_stopping) in [(Method::VbFull, None), (Method::Em, share), (Method::Ridge, share)] {
        let pca = IncompletePca { method, n_starts: Some(2), early_stopping, ..IncompletePca::new(3) };
        let diary = Diary::default();
        let model = pca.fit_with(&data, &FitContext::default(), &Run::observed(&diary)).unwrap();
        let reports = diary.0.into_inner().unwrap();
        let trace = &model.convergence().trace;
        let same = |start: usize| {
            let of_start: Vec<_> = reports.iter().filter(|at| at.start == start).collect();
            let iterations = trace.iter().filter(|entry| entry.iteration > 0);
            of_start.len() == iterations.clone().count()
                && of_start.iter().zip(iterations).enumerate().all(|(i, (at, entry))| {
                    (at.phase, at.iteration, at.n_starts) == (method.name(), i + 1, 2)
                        && (at.cost, at.rmse) == (entry.cost, entry.rmse)
                        && entry.held_out_rmse.is_none_or(|error| at.held_out_rmse == Some(error))
                })
        };
        assert!(same(0) || same(1), "{}", method.name());
        assert!(reports.windows(2).all(|pair| pair[0].elapsed <= pair[1].elapsed));
        assert_eq!(reports.iter().all(|at| at.held_out_rmse.is_some()), early_stopping.is_some());
    }
}

#[test]
fn the_remaining_time_is_estimated() {
    let data = observed(&Incomplete::planted(200, 40, &[2.0, 1.5, 1.0], 0.3, 0.7, 3));
    let diary = Diary::default();
    let em = IncompletePca { method: Method::Em, tol: 1e-13, n_starts: Some(1), ..IncompletePca::new(3) };
    em.fit_with(&data, &FitContext::default(), &Run::observed(&diary)).unwrap();
    let reports = diary.0.into_inner().unwrap();
    let (n, half) = (reports.len(), reports[reports.len() / 2]);
    assert!(n > 20 && reports[0].remaining.is_none());
    // Measured in iterations, independent of the load of the machine.
    let each = half.elapsed.as_secs_f64() / (n / 2) as f64;
    let foreseen = half.remaining.unwrap().as_secs_f64() / each;
    assert!((0.2..5.0).contains(&(foreseen / (n / 2) as f64)), "{foreseen} of {n}");
    assert_eq!(reports[n - 1].remaining, Some(Duration::ZERO));
}

/// Cancels a fit after an iteration.
struct StopAfterIteration(usize);

impl Observer for StopAfterIteration {
    fn update(&self, _: &'static str, _: f64) -> Flow {
        Flow::Continue
    }
    fn iteration(&self, at: &Iteration) -> Flow {
        if at.iteration == self.0 { Flow::Stop } else { Flow::Continue }
    }
}

#[test]
fn an_observer_may_cancel_a_fit_between_iterations() {
    let data = observed(&Incomplete::problem_q());
    let em = IncompletePca { method: Method::Em, ..IncompletePca::new(2) };
    let error =
        em.fit_with(&data, &FitContext::default(), &Run::observed(&StopAfterIteration(3))).unwrap_err();
    assert!(matches!(error, Error::Stopped { phase: "em" }));
}

/// The largest principal angle between the components of two models.
fn angle(x: &IncompleteModel, y: &IncompleteModel) -> f64 {
    let (x, y) = (x.components(), y.components());
    let (c, p) = x.shape();
    let mut worst = 0.0f64;
    // The residual of each axis outside the other space bounds the sine of the angle from below, and times sqrt(c)
    // from above.
    for k in 0..c {
        let inside = |l: usize| (0..p).map(|i| y[(k, i)] * x[(l, i)]).sum::<f64>();
        let weights: Vec<f64> = (0..c).map(inside).collect();
        let outside = |i: usize| y[(k, i)] - (0..c).map(|l| weights[l] * x[(l, i)]).sum::<f64>();
        worst = worst.max((0..p).map(|i| outside(i).powi(2)).sum::<f64>().sqrt());
    }
    worst
}

#[test]
fn a_small_change_of_the_loadings_stops_a_fit() {
    let data = observed(&Incomplete::problem_q());
    for method in [Method::Em, Method::Cg, Method::VbFull, Method::Map] {
        let pca = IncompletePca { method, tol: 0.0, angle_tol: Some(1e-8), ..IncompletePca::new(2) };
        let model = pca.fit(&data).unwrap();
        assert_eq!(model.convergence().stop, StopReason::Angle, "{}", method.name());
        let n = model.convergence().trace.last().unwrap().iteration;
        let at = |max_iter| IncompletePca { max_iter, angle_tol: None, ..pca.clone() }.fit(&data).unwrap();
        assert!(angle(&at(n), &at(n - 1)) < 1e-8, "{}", method.name());
        assert!(angle(&at(n - 1), &at(n - 2)) > 0.5e-8, "{}", method.name());
    }
}

#[test]
fn a_small_change_of_the_error_stops_a_fit() {
    let data = observed(&Incomplete::problem_q());
    for (method, apart) in [(Method::Em, 10), (Method::Newton, 100), (Method::Vb, 10)] {
        let pca = IncompletePca { method, tol: 0.0, rmse_tol: Some(1e-3), seed: 1, ..IncompletePca::new(2) };
        let model = pca.fit(&data).unwrap();
        assert_eq!(model.convergence().stop, StopReason::Rmse, "{}", method.name());
        let trace = &model.convergence().trace;
        let moved = |at: usize| (trace[at - apart].rmse - trace[at].rmse).abs() / trace[at].rmse;
        assert!(moved(trace.len() - 1) < 1e-3, "{}", method.name());
    }
}

#[test]
fn a_small_gradient_stops_a_fit() {
    let data = observed(&Incomplete::problem_q());
    let best = IncompletePca { method: Method::Als, tol: 1e-14, ..IncompletePca::new(2) };
    let best = best.fit(&data).unwrap().convergence().cost;
    for method in [Method::Als, Method::Cg, Method::Ridge, Method::Newton, Method::Ccd, Method::Soft] {
        let gap = |gradient_tol: f64| {
            let ridge = Some(Regularization::Ridge(1.0));
            let regularization = if method == Method::Cg { None } else { ridge };
            let gradient_tol = Some(gradient_tol);
            let pca = IncompletePca {
                method,
                tol: 0.0,
                gradient_tol,
                regularization,
                max_iter: 20_000,
                seed: 1,
                n_starts: Some(1),
                ..IncompletePca::new(2)
            };
            let model = pca.fit(&data).unwrap();
            assert_eq!(model.convergence().stop, StopReason::Gradient, "{}", method.name());
            model.convergence().cost
        };
        let (rough, fine) = (gap(1e-2), gap(1e-6));
        assert!(rough > fine, "{}", method.name());
        // The remaining decrease of the cost is of the order of the squared gradient.
        assert!((rough - fine) / fine < 0.05, "{}: {rough} {fine}", method.name());
    }
    assert!(best > 0.0);
}

/// Weak components with much noise, for which the penalty matters.
fn noisy() -> (Incomplete, Observed<f64>) {
    let table = Incomplete::planted(120, 40, &[2.0, 1.5, 1.0, 0.7], 1.0, 0.6, 12);
    let data = observed(&table);
    (table, data)
}

#[test]
fn a_path_ends_after_two_rises_and_keeps_the_best_penalty() {
    let (table, data) = noisy();
    for method in [Method::Als, Method::Ridge, Method::Soft, Method::Auto] {
        let path = IncompletePca {
            method,
            regularization: Some(Regularization::Path),
            early_stopping: Some(0.1),
            ..IncompletePca::new(8)
        };
        let model = path.fit(&data).unwrap();
        let convergence = model.convergence();
        let errors: Vec<f64> = convergence.runs.iter().filter_map(|run| run.held_out_rmse).collect();
        let lambdas: Vec<f64> = convergence.runs.iter().filter_map(|run| run.lambda).collect();
        assert!(errors.len() > 4 && errors.len() == lambdas.len());
        assert!(lambdas.windows(2).all(|pair| (pair[1] / pair[0] - 0.7).abs() < 1e-12));
        let best = (0..errors.len()).min_by(|i, j| errors[*i].total_cmp(&errors[*j])).unwrap();
        assert_eq!(best, errors.len() - 3, "{}: {errors:?}", method.name());
        assert_eq!(convergence.held_out_rmse, Some(errors[best]));
        // Each path step ends like a fit with that penalty alone.
        let held_out = in_random_order(&data, 0, "early-stopping");
        let kept = hold_out(&data, &held_out[..(0.1 * data.n_observed() as f64).round() as usize]);
        let method = if method == Method::Auto { Method::Ridge } else { method };
        let regularization = Some(Regularization::Ridge(lambdas[best]));
        let alone = IncompletePca { method, regularization, tol: 1e-9, ..IncompletePca::new(8) };
        let alone = alone.fit(&kept).unwrap().convergence().cost;
        let gap = (convergence.cost - alone) / alone;
        assert!(gap.abs() < 2e-3, "{}: {gap}", method.name());
        // Better than the default penalty.
        let default = IncompletePca { method, ..IncompletePca::new(8) }.fit(&data).unwrap();
        let all = IncompletePca { refit: true, ..path }.fit(&data).unwrap();
        let (found, expected) = (test_rmse(&all, &table), test_rmse(&default, &table));
        assert!(found < expected, "{}: {found} {expected}", method.name());
        assert!(all.convergence().refitted && all.convergence().held_out_rmse == Some(errors[best]));
    }
}

#[test]
fn a_refit_uses_all_entries_and_the_same_number_of_iterations() {
    let (_, data) = noisy();
    for method in [Method::Cg, Method::VbFull] {
        // From this start every method improves before it overfits.
        let seed = 4;
        let one = IncompletePca { method, seed, n_starts: Some(1), ..IncompletePca::new(6) };
        let early = IncompletePca { early_stopping: Some(0.1), ..one.clone() };
        let refit = IncompletePca { refit: true, ..early.clone() }.fit(&data).unwrap();
        let early = early.fit(&data).unwrap();
        let errors = early.convergence().trace.iter().filter(|e| e.held_out_rmse.is_some());
        let best =
            errors.min_by(|x, y| x.held_out_rmse.unwrap().total_cmp(&y.held_out_rmse.unwrap())).unwrap();
        let same = |max_iter| IncompletePca { max_iter, tol: 0.0, ..one.clone() }.fit(&data).unwrap();
        // Improvements below 1e-5 do not count.
        let found = (1..=best.iteration).find(|n| same(*n).components() == refit.components());
        let within = found.and_then(|n| early.convergence().trace.iter().find(|e| e.iteration == n));
        let error = within.unwrap().held_out_rmse.unwrap();
        assert!(error <= best.held_out_rmse.unwrap() * (1.0 + 2e-5), "{}", method.name());
        let of_iterate = early.convergence().runs[0].held_out_rmse;
        assert_eq!(refit.convergence().held_out_rmse, of_iterate);
        assert_eq!(refit.parts().n_observed.iter().sum::<usize>(), data.n_observed());
        assert!(refit.convergence().refitted && !early.convergence().refitted);
    }
}

#[test]
fn every_start_is_reported() {
    let data = observed(&Incomplete::planted(40, 15, &[2.0, 1.0, 1.0], 0.3, 0.75, 1));
    let em = IncompletePca { method: Method::Em, ..IncompletePca::new(3) };
    let runs = |n_starts, seed| {
        let pca = IncompletePca { n_starts: Some(n_starts), seed, ..em.clone() };
        pca.fit(&data).unwrap().convergence().runs.clone()
    };
    let all = runs(4, 0);
    assert_eq!(all.len(), 4);
    for n in 1..4 {
        assert_eq!(runs(n, 0), all[..n]);
    }
    let single = IncompletePca { n_starts: Some(1), ..em.clone() }.fit(&data).unwrap();
    let single = single.convergence();
    assert_eq!((all[0].cost, all[0].rmse, all[0].lambda), (single.cost, single.rmse, None));
    assert_eq!(all[0].n_iterations, single.trace.last().unwrap().iteration);
    // Starts of different numbers or seeds differ.
    let other = runs(4, 1);
    for (i, run) in all.iter().enumerate() {
        assert!(!all[..i].contains(run) && !other.contains(run));
    }
}
