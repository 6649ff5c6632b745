//! The threads and the observer of a call.

use std::time::Duration;

#[cfg(feature = "parallel")]
use crate::error::Result;
#[cfg(feature = "parallel")]
use crate::exec::pool::{check_threads, current_pool, pool, worth_starting};
use crate::growth::More;

/// The reply of an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Continue the work.
    Continue,
    /// Cancel as soon as possible: the work returns [`crate::Error::Stopped`].
    Stop,
}

/// Receives progress updates and may request cancellation. Called from any thread, many times a second.
///
/// ```
/// use karhunen::{Flow, Observer};
/// struct Impatient;
/// impl Observer for Impatient {
///     fn update(&self, phase: &'static str, fraction: f64) -> Flow {
///         if phase == "covariance" && fraction > 0.5 { Flow::Stop } else { Flow::Continue }
///     }
/// }
/// ```
pub trait Observer: Sync {
    /// `phase` names the current work; `fraction`, from 0 to 1, is the part of it that is done.
    fn update(&self, phase: &'static str, fraction: f64) -> Flow;

    /// Called before every visit of a source whose visits read the rows again, and after each of its blocks. The default
    /// does nothing.
    fn visit(&self, _at: &Visit) {}

    /// Called when an iteration has computed residuals, with the largest of those wanted and the tolerance, both relative
    /// to the largest eigenvalue. The default does nothing.
    fn residual(&self, _worst: f64, _tol: f64) {}

    /// Called after every iteration of an iterative fit, on the fitting thread. The default does nothing.
    ///
    /// ```
    /// use karhunen::exec::Iteration;
    /// use karhunen::{Flow, Observer};
    /// struct Printer;
    /// impl Observer for Printer {
    ///     fn update(&self, _: &'static str, _: f64) -> Flow {
    ///         Flow::Continue
    ///     }
    ///     fn iteration(&self, at: &Iteration) -> Flow {
    ///         let left = at.remaining.map_or("?".to_owned(), |left| format!("{:.0} s", left.as_secs_f64()));
    ///         println!("{} {}: RMSE {:.4}, {left} left", at.phase, at.iteration, at.rmse);
    ///         Flow::Continue
    ///     }
    /// }
    /// ```
    fn iteration(&self, _: &Iteration) -> Flow {
        Flow::Continue
    }
}

/// Progress of a visit of the rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visit {
    /// Number of the visit, from one.
    pub number: usize,
    /// Number of visits predicted before the first, if it is known; never less than `number`.
    pub predicted: Option<usize>,
    /// Bytes that a whole visit reads.
    pub bytes: f64,
    /// Share of the rows that were visited, from 0 to 1.
    pub done: f64,
    #[doc(hidden)]
    pub more: More,
}

/// Progress of an iterative fit after one iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iteration {
    /// Name of the method.
    pub phase: &'static str,
    /// Index of the start, from zero.
    pub start: usize,
    /// Number of starts.
    pub n_starts: usize,
    /// Number of the iteration, from one.
    pub iteration: usize,
    /// The cost that the method minimises.
    pub cost: f64,
    /// Root mean squared error of the entries fitted.
    pub rmse: f64,
    /// Latest root mean squared error of the held-out entries.
    pub held_out_rmse: Option<f64>,
    /// Time since the first iteration of the first start.
    pub elapsed: Duration,
    /// Estimated time of the remaining iterations; `None` before an estimate exists.
    pub remaining: Option<Duration>,
    #[doc(hidden)]
    pub more: More,
}

/// An observer that ignores progress and never cancels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn update(&self, _: &'static str, _: f64) -> Flow {
        Flow::Continue
    }
}

/// The threads and the observer of a call. Results have the same bits for every `Run`.
///
/// It is the last argument of every function that may take long, or of a second form of the function, whose name ends
/// in `_with`. The default is the current rayon pool, without an observer.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use karhunen::{Dense, Error, Flow, Observer, Pca, Run, Weights};
/// /// Counts the reports, and cancels after the last one allowed.
/// struct Budget {
///     n_reports: AtomicUsize,
///     most: usize,
/// }
/// impl Observer for Budget {
///     fn update(&self, phase: &'static str, fraction: f64) -> Flow {
///         println!("{phase}: {:.0} %", 100.0 * fraction);
///         let seen = self.n_reports.fetch_add(1, Ordering::Relaxed) + 1;
///         if seen > self.most { Flow::Stop } else { Flow::Continue }
///     }
/// }
/// let x = [1.0, 2.0, 3.0, 4.0, 5.0, 7.0];
/// let (x, weights) = (Dense::row_major(&x, 3, 2)?, Weights::default());
/// // Threads: two, whatever the current rayon pool has.
/// let model = Pca::new(1).fit_with(&x, &weights, &Run::threads(2))?;
/// // Progress: the model has the same bits.
/// let patient = Budget { n_reports: AtomicUsize::new(0), most: usize::MAX };
/// let run = Run { n_threads: Some(1), observer: &patient, ..Run::default() };
/// assert_eq!(Pca::new(1).fit_with(&x, &weights, &run)?.components(), model.components());
/// assert!(patient.n_reports.into_inner() > 0);
/// // Cancellation.
/// let impatient = Budget { n_reports: AtomicUsize::new(0), most: 0 };
/// let cancelled = Pca::new(1).fit_with(&x, &weights, &Run::observed(&impatient));
/// assert!(matches!(cancelled, Err(Error::Stopped { .. })));
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// Number of threads, from 1 to 1024; as in the current rayon pool if `None`. At most the larger of sixteen and
    /// four per processor are started, because starting more takes longer than they save. Checked when the work
    /// starts.
    pub n_threads: Option<usize>,
    /// Receives progress, and may cancel.
    pub observer: &'a dyn Observer,
    #[doc(hidden)]
    pub more: More,
}

impl Default for Run<'_> {
    fn default() -> Self {
        Self { n_threads: None, observer: &Unobserved, more: More }
    }
}

impl<'a> Run<'a> {
    /// Runs on `n_threads` threads, without an observer.
    pub fn threads(n_threads: usize) -> Self {
        Self { n_threads: Some(n_threads), ..Self::default() }
    }

    /// Runs on the current rayon pool and reports to `observer`.
    pub fn observed(observer: &'a dyn Observer) -> Self {
        Self { observer, ..Self::default() }
    }

    /// Runs `work`, which calls rayon directly and reports no progress, on these threads.
    ///
    /// # Errors
    /// As [`crate::exec::Exec::run`].
    #[cfg(feature = "parallel")]
    pub fn in_pool<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R> {
        check_threads(self.n_threads)?;
        match self.n_threads {
            Some(n) => Ok(pool(worth_starting(n))?.install(work)),
            None => {
                current_pool()?;
                Ok(work())
            }
        }
    }

    /// Number of threads that [`crate::exec::Exec::run`] would use.
    #[cfg(feature = "parallel")]
    pub fn expected_threads(&self) -> usize {
        match self.n_threads {
            Some(n) => worth_starting(n),
            None if rayon::current_thread_index().is_some() => rayon::current_num_threads(),
            None => std::thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// Number of threads that [`crate::exec::Exec::run`] would use.
    #[cfg(not(feature = "parallel"))]
    pub fn expected_threads(&self) -> usize {
        1
    }
}
