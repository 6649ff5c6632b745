//! When an iterative solver computes residuals, when it gives up, and the progress it reports.

use crate::scalar::largest;

/// Decides when to compute residuals, which takes a small eigendecomposition.
#[derive(Debug)]
pub(crate) struct Schedule {
    block: usize,
    /// Number of columns multiplied and worst residual at the last check.
    last: Option<(usize, f64)>,
    due: usize,
}

impl Schedule {
    /// The first check is due once `first` columns have been multiplied.
    pub(crate) fn new(first: usize, block: usize) -> Self {
        Self { block, last: None, due: first }
    }

    /// Tests whether a check is due.
    pub(crate) fn due(&self, n_columns: usize) -> bool {
        n_columns >= self.due
    }

    /// Records the worst residual for a basis of `len` columns, and predicts from the rate since the last check
    /// when the tolerance will be met. The wait is a sixteenth to a quarter of the basis, because the cost of a
    /// check grows with its cube: convergence accelerates, and products after it are wasted.
    pub(crate) fn checked(&mut self, n_columns: usize, len: usize, worst: f64, tol: f64) {
        let wait = match self.last {
            Some((before, residual)) if worst < residual && worst > tol && n_columns > before => {
                let rate = (residual / worst).ln() / (n_columns - before) as f64;
                (0.7 * (worst / tol).ln() / rate) as usize
            }
            _ => 0,
        };
        self.last = Some((n_columns, worst));
        let least = self.block.max(len / 16);
        self.due = n_columns + wait.clamp(least, least.max(len / 4));
    }
}

/// Recognises that residuals have reached the noise of the products.
#[derive(Debug)]
pub(crate) struct Stagnation {
    best: f64,
    in_vain: usize,
}

impl Stagnation {
    /// Number of restarts without progress after which the search may be given up.
    const RESTARTS: usize = 6;

    pub(crate) fn new() -> Self {
        Self { best: f64::INFINITY, in_vain: 0 }
    }

    /// Called at every restart; true if the search should be given up. Requires a worst residual near `noise`,
    /// which is relative to the largest eigenvalue like the residuals: slow convergence far above the noise is no
    /// reason.
    pub(crate) fn detected(&mut self, residuals: &[f64], tol: f64, noise: f64) -> bool {
        let worst = largest(residuals.iter().copied());
        let level = residuals.iter().map(|r| r.max(tol).ln()).sum::<f64>() / residuals.len().max(1) as f64;
        if level < self.best - 0.02 {
            self.best = level;
            self.in_vain = 0;
        } else {
            self.in_vain += 1;
        }
        self.in_vain >= Self::RESTARTS && worst < 100.0 * noise
    }
}

/// Fraction of the work that is done, never decreasing: the first half by columns, the second by the logarithm of
/// the worst residual.
#[derive(Debug)]
pub(crate) struct Progress {
    tol: f64,
    first: Option<f64>,
    fraction: f64,
}

impl Progress {
    pub(crate) fn new(tol: f64) -> Self {
        Self { tol, first: None, fraction: 0.0 }
    }

    pub(crate) fn fraction(&self) -> f64 {
        self.fraction
    }

    /// Records a product that completes `n` of the first `of` columns.
    pub(crate) fn columns(&mut self, n: usize, of: usize) {
        if self.first.is_none() {
            self.fraction = self.fraction.max(0.5 * n as f64 / of.max(n) as f64);
        }
    }

    /// Records the worst residual.
    pub(crate) fn residual(&mut self, worst: f64) {
        let first = *self.first.get_or_insert(worst);
        let done = if worst <= self.tol { 1.0 } else { (first / worst).ln() / (first / self.tol).ln() };
        if done.is_finite() {
            self.fraction = self.fraction.max(0.5 + 0.5 * done.clamp(0.0, 0.99));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_due_when_the_tolerance_should_be_met() {
        let mut schedule = Schedule::new(50, 8);
        assert!(!schedule.due(49) && schedule.due(50));
        schedule.checked(50, 50, 1e-1, 1e-6);
        assert!(!schedule.due(57) && schedule.due(58));
        schedule.checked(66, 66, 1e-5, 1e-6);
        // Four digits in 16 columns, one to go.
        assert!(!schedule.due(66 + 7) && schedule.due(66 + 8), "a block at least");
        schedule.checked(300, 300, 1e-5, 1e-6);
        assert!(!schedule.due(317) && schedule.due(318), "no rate: a sixteenth of the basis");
        schedule.checked(332, 332, 2e-6, 1e-6);
        // 0.7 ln(2) / ln(5) of 32 columns are fewer than a sixteenth.
        assert!(!schedule.due(351) && schedule.due(352), "a sixteenth at least");
        schedule.checked(400, 400, 1.9e-6, 1e-6);
        assert!(!schedule.due(499) && schedule.due(500), "a quarter of the basis at most");
        schedule.checked(500, 800, 1e-1, 1e-6);
        assert!(!schedule.due(549) && schedule.due(550), "a step back is not a rate");
    }

    #[test]
    fn stagnation_is_detected_only_at_the_noise() {
        let mut far = Stagnation::new();
        assert!((0..20).all(|_| !far.detected(&[1e-2, 1e-9], 1e-8, 1e-7)));
        let mut near = Stagnation::new();
        assert!((0..6).all(|_| !near.detected(&[1e-6, 1e-9], 1e-8, 1e-7)));
        assert!(near.detected(&[1e-6, 1e-9], 1e-8, 1e-7));
        let mut better = Stagnation::new();
        assert!((0..40).all(|i| !better.detected(&[1e-6 * 0.9f64.powi(i)], 1e-12, 1e-7)));
    }

    #[test]
    fn the_progress_fraction_never_falls() {
        let mut progress = Progress::new(1e-6);
        let mut seen = vec![0.0];
        progress.columns(8, 16);
        seen.push(progress.fraction());
        for worst in [1e-2, 1e-1, 1e-4, 1e-6, f64::NAN] {
            progress.residual(worst);
            progress.columns(8, 100);
            seen.push(progress.fraction());
        }
        assert_eq!(seen[1], 0.25);
        assert!((seen[4] - 0.75).abs() < 1e-12, "{seen:?}");
        assert!(seen.windows(2).all(|w| w[0] <= w[1] && w[1] <= 1.0));
    }
}
