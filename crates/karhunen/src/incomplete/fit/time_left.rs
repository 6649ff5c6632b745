//! Remaining time of a fit, estimated from the decrease of its cost.

use std::time::Duration;

use crate::incomplete::fit::stopping::{Rules, Stopping};
use crate::incomplete::model::convergence::TraceEntry;

/// Windows over which the rate of decrease is measured.
const LOOK_BACK: usize = 5;

/// Estimated seconds to the end of the current start: the decreases of the cost shrink geometrically to the
/// tolerance, unless a limit on iterations or time comes first. `None` after too few iterations.
pub(crate) fn seconds_left(stopping: &Stopping, trace: &[TraceEntry]) -> Option<f64> {
    let [first, .., last] = trace else { return None };
    let iterations = (last.iteration - first.iteration) as f64;
    let each = (last.seconds - first.seconds) / iterations;
    let most = stopping.rules.max_iter.saturating_sub(last.iteration) as f64;
    let Rules { window, tol, .. } = stopping.rules;
    let by_tolerance = iterations_left(&stopping.costs, |cost| stopping.size(cost), window, tol)?;
    let left_of_limit = stopping.rules.time_limit.map(|limit| (limit - last.seconds).max(0.0));
    Some((by_tolerance.min(most) * each).min(left_of_limit.unwrap_or(f64::INFINITY)))
}

/// Iterations until the mean decrease over `window` iterations, relative to the `size` of a cost, is below `tol`;
/// `None` after too few iterations.
fn iterations_left(costs: &[f64], size: impl Fn(f64) -> f64, window: usize, tol: f64) -> Option<f64> {
    let n = costs.len();
    let apart = LOOK_BACK * window;
    let fall = |end: usize| (costs[end - window] - costs[end]) / (window as f64 * size(costs[end]));
    if n < window + apart + 1 {
        return None;
    }
    let (early, late) = (fall(n - 1 - apart), fall(n - 1));
    if late <= tol {
        return Some(0.0);
    }
    let rate = (early / late).ln() / apart as f64;
    // Infinite unless the decreases shrink towards a positive tolerance.
    Some(if rate > 0.0 && tol > 0.0 { (late / tol).ln() / rate } else { f64::INFINITY })
}

/// Remaining time of this start and of later starts, assumed to last as long.
pub(crate) fn remaining(left: Option<f64>, seconds_of_start: f64, starts_to_come: usize) -> Option<Duration> {
    let left = left?;
    Duration::try_from_secs_f64(left + (seconds_of_start + left) * starts_to_come as f64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_geometric_fall_is_foreseen() {
        // Decreases of 0.5^t: below 1e-6 after 20 iterations in all.
        let costs: Vec<f64> = (0..11).map(|t| 1.0 + 0.5f64.powi(t)).collect();
        let left = iterations_left(&costs, f64::abs, 1, 1e-6).unwrap();
        assert!((left - 10.0).abs() < 0.5, "{left}");
        assert_eq!(iterations_left(&costs, f64::abs, 1, 0.1), Some(0.0));
        assert_eq!(iterations_left(&costs[..6], f64::abs, 1, 1e-6), None);
        // Decreases that do not shrink permit no estimate.
        let steady: Vec<f64> = (0..20).map(|t| 100.0 - f64::from(t)).collect();
        assert_eq!(iterations_left(&steady, f64::abs, 1, 1e-6), Some(f64::INFINITY));
        assert_eq!(iterations_left(&costs, f64::abs, 1, 0.0), Some(f64::INFINITY));
    }

    #[test]
    fn starts_to_come_take_as_long() {
        assert_eq!(remaining(Some(2.0), 3.0, 2), Some(Duration::from_secs(12)));
        assert_eq!(remaining(Some(f64::INFINITY), 3.0, 0), None);
        assert_eq!(remaining(None, 3.0, 1), None);
    }
}
