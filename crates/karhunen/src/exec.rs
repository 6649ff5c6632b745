//! How work is spread over threads, reported and stopped.
//!
//! Everything parallel goes through [`Exec`]. Work is cut into pieces whose number depends on the data alone, and
//! partial sums are added in the order of the pieces, so a result has the same bits for every number of threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crate::error::{Error, Result};

/// What an observer answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// Stop as soon as possible; the work returns [`Error::Stopped`].
    Stop,
}

/// Is told how far long work has come, and may stop it. Called from any thread, many times a second.
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
    /// `phase` names what is being done, `fraction` (0 to 1) how much of it is done.
    fn update(&self, phase: &'static str, fraction: f64) -> Flow;

    /// Called after every iteration of an iterative fit, on the thread that fits. Nothing is done unless it is implemented.
    ///
    /// ```
    /// use karhunen::{Flow, Iteration, Observer};
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

/// Where an iterative fit stands after one iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Iteration {
    /// What is being done: the name of the method.
    pub phase: &'static str,
    /// Number of the start, from zero, of `n_starts`.
    pub start: usize,
    /// How many starts there are.
    pub n_starts: usize,
    /// Number of the iteration, from one.
    pub iteration: usize,
    /// The cost that the method minimises.
    pub cost: f64,
    /// Root mean squared error of the entries fitted.
    pub rmse: f64,
    /// Root mean squared error of the entries set aside, as it was last computed.
    pub held_out_rmse: Option<f64>,
    /// Time since the first iteration of the first start.
    pub elapsed: Duration,
    /// An estimate of the time that the iterations to come will take; `None` until there is something to go by.
    pub remaining: Option<Duration>,
}

/// An observer that watches nothing and never stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn update(&self, _: &'static str, _: f64) -> Flow {
        Flow::Continue
    }
}

/// A partial result that pieces of work add to.
pub(crate) trait Accumulate: Send {
    /// Back to the empty sum.
    fn reset(&mut self);
    /// Adds `other`.
    fn merge(&mut self, other: &Self);
}

/// The threads to use, the observer to tell, the phase to name.
#[derive(Clone, Copy)]
pub struct Exec<'a> {
    n_threads: usize,
    observer: &'a dyn Observer,
    phase: &'static str,
    span: (f64, f64),
}

impl<'a> Exec<'a> {
    /// On the calling thread alone, unobserved.
    pub fn sequential() -> Exec<'static> {
        Exec { n_threads: 1, observer: &Unobserved, phase: "work", span: (0.0, 1.0) }
    }

    /// Runs `f` with `n_threads` threads: the current rayon pool where `None`, otherwise a pool of that size.
    ///
    /// # Errors
    /// [`Error::Option`] for zero threads; [`Error::Threads`] if they cannot be started; what `f` returns.
    pub fn run<R: Send>(
        n_threads: Option<usize>,
        observer: &dyn Observer,
        f: impl FnOnce(&Exec<'_>) -> Result<R> + Send,
    ) -> Result<R> {
        /// More would take longer to start than any work takes.
        const MOST: usize = 1024;
        let exec = |n_threads| Exec { n_threads, observer, phase: "work", span: (0.0, 1.0) };
        match n_threads {
            Some(0) => Err(Error::Option {
                option: "n_threads",
                value: "0".to_owned(),
                rule: "at least one thread is needed",
            }),
            Some(n) if n > MOST => Err(Error::Option {
                option: "n_threads",
                value: n.to_string(),
                rule: "at most 1024 threads can be asked for",
            }),
            Some(1) => f(&exec(1)),
            #[cfg(feature = "parallel")]
            Some(n) => rayon::ThreadPoolBuilder::new()
                .num_threads(n)
                .build()
                .map_err(|e| Error::Threads { threads: n, reason: e.to_string() })?
                .install(|| f(&exec(n))),
            #[cfg(feature = "parallel")]
            None => match rayon::current_num_threads() {
                1 => f(&exec(1)),
                // Into the pool once, not for every product.
                n => rayon::scope(|_| f(&exec(n))),
            },
            #[cfg(not(feature = "parallel"))]
            _ => f(&exec(1)),
        }
    }

    /// Number of threads.
    pub fn n_threads(&self) -> usize {
        self.n_threads
    }

    /// The same with at most `n` threads, where each needs much memory.
    #[must_use]
    pub(crate) fn at_most(&self, n: usize) -> Self {
        Self { n_threads: self.n_threads.min(n.max(1)), ..*self }
    }

    /// The same, reporting as `phase` from 0 to 1.
    #[must_use]
    pub fn phase(&self, phase: &'static str) -> Self {
        Self { phase, span: (0.0, 1.0), ..*self }
    }

    /// The same, where the work to come is the part `from..to` of the present work.
    #[must_use]
    pub fn part(&self, from: f64, to: f64) -> Self {
        let (start, end) = self.span;
        let at = |fraction: f64| start + (end - start) * fraction;
        Self { span: (at(from), at(to)), ..*self }
    }

    /// Tells the observer that `fraction` of the present span is done.
    ///
    /// # Errors
    /// [`Error::Stopped`] if it asks to stop.
    pub fn report(&self, fraction: f64) -> Result<()> {
        let (from, to) = self.span;
        match self.observer.update(self.phase, from + (to - from) * fraction) {
            Flow::Continue => Ok(()),
            Flow::Stop => Err(Error::Stopped { phase: self.phase }),
        }
    }

    /// What the work returns that was asked to stop.
    pub(crate) fn stopped(&self) -> Error {
        Error::Stopped { phase: self.phase }
    }

    /// Tells the observer where an iterative fit stands.
    ///
    /// # Errors
    /// [`Error::Stopped`] if it asks to stop.
    pub(crate) fn report_iteration(&self, at: Iteration) -> Result<()> {
        match self.observer.iteration(&Iteration { phase: self.phase, ..at }) {
            Flow::Continue => Ok(()),
            Flow::Stop => Err(Error::Stopped { phase: self.phase }),
        }
    }

    /// Sums the pieces `0..n_pieces`. Each is added up by `work` in a sum of its own, starting from `zero()`, and the
    /// sums are merged in the order of the pieces: the same bits for every number of threads. At most
    /// `n_threads + 1` sums exist at a time. `work` must not itself use the pool: a worker that waits for its turn
    /// could have been started from within the piece that it waits for.
    pub(crate) fn fold<A: Accumulate>(
        &self,
        n_pieces: usize,
        zero: impl Fn() -> A + Sync,
        work: impl Fn(usize, &mut A) -> Result<()> + Sync,
    ) -> Result<A> {
        let mut total = zero();
        if n_pieces == 0 {
            return Ok(total);
        }
        let n_workers = self.n_threads.min(n_pieces);
        if n_workers == 1 {
            work(0, &mut total)?;
            self.report(1.0 / n_pieces as f64)?;
            if n_pieces > 1 {
                let mut part = zero();
                for piece in 1..n_pieces {
                    part.reset();
                    work(piece, &mut part)?;
                    total.merge(&part);
                    self.report((piece + 1) as f64 / n_pieces as f64)?;
                }
            }
            return Ok(total);
        }
        total.reset();
        let state = Mutex::new(Ordered { next: 0, total, error: None });
        let turn = Condvar::new();
        let taken = AtomicUsize::new(0);
        self.workers(n_workers, || {
            let mut part = zero();
            loop {
                let piece = taken.fetch_add(1, Ordering::Relaxed);
                if piece >= n_pieces {
                    return;
                }
                // A panic in `work` must not leave the other workers waiting for this piece.
                let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    part.reset();
                    work(piece, &mut part)
                }));
                let mut state = lock(&state);
                while state.next != piece && state.error.is_none() {
                    state = turn.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
                }
                if state.error.is_some() {
                    return;
                }
                let outcome = match done {
                    Ok(outcome) => outcome,
                    Err(panic) => {
                        state.error = Some(Error::Stopped { phase: self.phase });
                        turn.notify_all();
                        drop(state);
                        std::panic::resume_unwind(panic);
                    }
                };
                if outcome.is_ok() {
                    if piece == 0 {
                        std::mem::swap(&mut state.total, &mut part);
                    } else {
                        state.total.merge(&part);
                    }
                }
                state.next += 1;
                let outcome = outcome.and_then(|()| self.report((piece + 1) as f64 / n_pieces as f64));
                state.error = outcome.err();
                turn.notify_all();
            }
        });
        let state = state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        match state.error {
            Some(error) => Err(error),
            None => Ok(state.total),
        }
    }

    /// Cuts `out` into pieces of `piece_len` values (the last may be shorter) and fills each by `work`.
    pub(crate) fn fill<U: Send>(
        &self,
        out: &mut [U],
        piece_len: usize,
        work: impl Fn(usize, &mut [U]) -> Result<()> + Sync,
    ) -> Result<()> {
        self.each(out.chunks_mut(piece_len.max(1)), work)
    }

    /// Does `work` on every item, several at a time. What it writes must not depend on who does it when.
    pub(crate) fn each<W: Send>(
        &self,
        items: impl ExactSizeIterator<Item = W> + Send,
        work: impl Fn(usize, W) -> Result<()> + Sync,
    ) -> Result<()> {
        let n_items = items.len();
        let items = Mutex::new(items.enumerate());
        let n_workers = self.n_threads.min(n_items);
        let failed = AtomicBool::new(false);
        let done = AtomicUsize::new(0);
        let error = Mutex::new(None);
        let worker = || {
            loop {
                if failed.load(Ordering::Relaxed) {
                    return;
                }
                let Some((index, item)) = lock(&items).next() else { return };
                let outcome = work(index, item).and_then(|()| {
                    self.report((done.fetch_add(1, Ordering::Relaxed) + 1) as f64 / n_items as f64)
                });
                if let Err(e) = outcome {
                    failed.store(true, Ordering::Relaxed);
                    lock(&error).get_or_insert(e);
                    return;
                }
            }
        };
        if n_workers <= 1 {
            worker();
        } else {
            self.workers(n_workers, worker);
        }
        match error.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    #[cfg(feature = "parallel")]
    fn workers(&self, n: usize, worker: impl Fn() + Sync) {
        rayon::scope(|scope| {
            for _ in 0..n {
                scope.spawn(|_| worker());
            }
        });
    }

    #[cfg(not(feature = "parallel"))]
    fn workers(&self, _: usize, worker: impl Fn() + Sync) {
        worker();
    }
}

struct Ordered<A> {
    next: usize,
    total: A,
    error: Option<Error>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
