//! Threads, progress reports and cancellation.
//!
//! A [`Run`] holds the threads and the observer of a call; all parallel work inside runs through [`Exec`]. The
//! number of pieces depends on the data alone, and partial sums are added in the order of the pieces, so a result
//! has the same bits for every number of threads.

pub mod pass_log;
pub mod pool;
pub mod resume;
pub mod run;

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

pub use pass_log::{Fact, PassLog};
pub use resume::{Resumable, State};
pub use run::{Flow, Iteration, Observer, Run, Unobserved, Visit};

use crate::error::{Error, Result};
use crate::exec::pool::check_threads;
#[cfg(feature = "parallel")]
use crate::exec::pool::{Pool, current_pool, pool, worth_starting};

/// A partial result that pieces of work add to.
pub trait Accumulate: Send {
    /// Resets to the empty sum.
    fn reset(&mut self);
    /// Adds `other`.
    fn merge(&mut self, other: &Self);
}

/// The context of running work: its threads, its observer and the name of its phase. [`Exec::run`] makes one from a
/// [`Run`].
#[derive(Clone, Copy)]
pub struct Exec<'a> {
    n_threads: usize,
    observer: &'a dyn Observer,
    phase: &'static str,
    span: (f64, f64),
    reports_residuals: bool,
    log: Option<&'a dyn PassLog>,
    /// The pool whose threads share the work of the calling thread; the current rayon pool if `None`.
    #[cfg(feature = "parallel")]
    pool: Option<&'a Pool>,
}

impl<'a> Exec<'a> {
    /// Runs on the calling thread alone, without an observer.
    pub fn sequential() -> Exec<'static> {
        Exec {
            n_threads: 1,
            observer: &Unobserved,
            phase: "work",
            span: (0.0, 1.0),
            reports_residuals: true,
            log: None,
            #[cfg(feature = "parallel")]
            pool: None,
        }
    }

    /// Calls `f` with the threads of `run`: in the current rayon pool; or, with a number of threads, on the calling
    /// thread, whose parallel work other threads share. Rayon's own calls within `f` then use its global pool.
    ///
    /// # Errors
    /// [`Error::Option`] for no thread or more than 1024; [`Error::Threads`] or [`Error::Memory`] if threads
    /// cannot be started; errors of `f`.
    pub fn run<R: Send>(run: &Run<'_>, f: impl FnOnce(&Exec<'_>) -> Result<R> + Send) -> Result<R> {
        let (mut f, mut outcome) = (Some(f), None);
        Self::enter(run, &mut |exec| outcome = f.take().map(|f| f(exec)))?;
        outcome.unwrap_or_else(|| unreachable!("the work is called once"))
    }

    /// Calls `work` once, on the threads of [`Exec::run`]. It is compiled once, because it is not generic.
    fn enter(run: &Run<'_>, work: &mut (dyn FnMut(&Exec<'_>) + Send)) -> Result<()> {
        let Run { n_threads, observer, .. } = *run;
        check_threads(n_threads)?;
        let exec = |n_threads| Exec { n_threads, observer, ..Exec::sequential() };
        match n_threads {
            Some(1) => work(&exec(1)),
            #[cfg(feature = "parallel")]
            Some(n) => {
                let pool = pool(worth_starting(n) - 1)?;
                work(&Exec { pool: Some(&pool), ..exec(worth_starting(n)) });
            }
            #[cfg(feature = "parallel")]
            None => match current_pool()? {
                1 => work(&exec(1)),
                // Enter the pool once, not for every product.
                n => rayon::scope(|_| work(&exec(n))),
            },
            #[cfg(not(feature = "parallel"))]
            _ => work(&exec(1)),
        }
        Ok(())
    }

    /// This `Exec` for work whose passes `log` keeps.
    pub fn logged<'b>(&self, log: Option<&'b dyn PassLog>) -> Exec<'b>
    where
        'a: 'b,
    {
        Exec { log, ..*self }
    }

    /// Returns the result of a pass over the data: from the log, if it holds it, and otherwise from `make`, whose
    /// result is then kept. `empty` returns a result of the same shape.
    ///
    /// # Errors
    /// [`Error::OtherFit`] if the log holds a result of another size; errors of the log and of `make`.
    pub fn pass<A: Resumable>(
        &self,
        name: &'static str,
        empty: impl FnOnce() -> A,
        make: impl FnOnce(&Exec<'_>) -> Result<A>,
    ) -> Result<A> {
        let Some(log) = self.log else { return make(self) };
        if let Some(values) = log.take(name)? {
            let mut result = empty();
            State::read(values, &mut result)?;
            return Ok(result);
        }
        let mut result = make(self)?;
        log.keep(name, &State::written(&mut result)?)?;
        Ok(result)
    }

    /// Returns true if a log keeps the results of passes.
    pub fn is_logged(&self) -> bool {
        self.log.is_some()
    }

    /// This `Exec` for a step of work whose progress is `fraction`: the step can be cancelled, but reports neither
    /// progress nor residuals of its own.
    #[must_use]
    pub fn step(&self, fraction: f64) -> Self {
        Self { reports_residuals: false, ..self.part(fraction, fraction) }
    }

    /// This `Exec` without an observer: short work, which is not reported and cannot be cancelled.
    #[must_use]
    pub fn unobserved(&self) -> Self {
        Self { observer: &Unobserved, ..*self }
    }

    /// Number of threads.
    pub fn n_threads(&self) -> usize {
        self.n_threads
    }

    /// This `Exec` with at most `n` threads, for work whose threads need much memory each.
    #[must_use]
    pub fn at_most(&self, n: usize) -> Self {
        Self { n_threads: self.n_threads.min(n.max(1)), ..*self }
    }

    /// This `Exec` with the phase `phase`, reported from 0 to 1.
    #[must_use]
    pub fn phase(&self, phase: &'static str) -> Self {
        Self { phase, span: (0.0, 1.0), ..*self }
    }

    /// This `Exec` for work that is the part `from..to` of the present work.
    #[must_use]
    pub fn part(&self, from: f64, to: f64) -> Self {
        let (start, end) = self.span;
        let at = |fraction: f64| start + (end - start) * fraction;
        Self { span: (at(from), at(to)), ..*self }
    }

    /// Reports that `fraction` of the present span is done.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the observer cancels.
    pub fn report(&self, fraction: f64) -> Result<()> {
        let (from, to) = self.span;
        match self.observer.update(self.phase, from + (to - from) * fraction) {
            Flow::Continue => Ok(()),
            Flow::Stop => Err(Error::Stopped { phase: self.phase }),
        }
    }

    /// Reports the largest residual of the pairs wanted, and the tolerance.
    pub fn report_residual(&self, worst: f64, tol: f64) {
        if self.reports_residuals {
            self.observer.residual(worst, tol);
        }
    }

    /// The error of cancelled work.
    pub fn stopped(&self) -> Error {
        Error::Stopped { phase: self.phase }
    }

    /// Reports one iteration of an iterative fit.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the observer cancels.
    pub fn report_iteration(&self, at: Iteration) -> Result<()> {
        match self.observer.iteration(&Iteration { phase: self.phase, ..at }) {
            Flow::Continue => Ok(()),
            Flow::Stop => Err(Error::Stopped { phase: self.phase }),
        }
    }

    /// Sums the pieces `0..n_pieces`. `work` adds each piece to a partial sum that starts from `zero()`, and the
    /// partial sums are merged in the order of the pieces: the bits do not depend on the number of threads. At
    /// most `n_threads + 1` partial sums exist at a time. `work` must not use the pool: a worker that waits for
    /// its turn to merge could run inside the piece that it waits for.
    pub fn fold<A: Accumulate>(
        &self,
        n_pieces: usize,
        zero: impl Fn() -> A + Sync,
        work: impl Fn(usize, &mut A) -> Result<()> + Sync,
    ) -> Result<A> {
        let mut total = None;
        self.fold_into(&mut total, n_pieces, &zero, work)?;
        Ok(total.unwrap_or_else(zero))
    }

    /// As [`Exec::fold`], added to `total`, the sum of earlier pieces, if any. Pieces passed in several calls give the
    /// same bits as in one call. After an error the value of `total` is unspecified.
    pub fn fold_into<A: Accumulate>(
        &self,
        total: &mut Option<A>,
        n_pieces: usize,
        zero: impl Fn() -> A + Sync,
        work: impl Fn(usize, &mut A) -> Result<()> + Sync,
    ) -> Result<()> {
        let n_workers = self.n_threads.min(n_pieces);
        if n_workers <= 1 {
            let mut part = None;
            for piece in 0..n_pieces {
                match total {
                    None => work(piece, total.insert(zero()))?,
                    Some(total) => {
                        let part = part.get_or_insert_with(&zero);
                        part.reset();
                        work(piece, part)?;
                        total.merge(part);
                    }
                }
                self.report((piece + 1) as f64 / n_pieces as f64)?;
            }
            return Ok(());
        }
        let sum = Mutex::new(total.take());
        self.in_order(n_workers, n_pieces, &|share| {
            let mut part = zero();
            share(&mut |step| match step {
                Step::Work(piece) => {
                    part.reset();
                    work(piece, &mut part)
                }
                Step::Add => {
                    match &mut *lock(&sum) {
                        Some(sum) => sum.merge(&part),
                        none => *none = Some(std::mem::replace(&mut part, zero())),
                    }
                    Ok(())
                }
            });
        })?;
        *total = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(())
    }

    /// Runs the threads of [`Exec::fold`]. Each calls `worker` with a function that takes pieces, does the first step of
    /// each at once and the second in the order of the pieces. It is compiled once, because it is not generic.
    fn in_order(
        &self,
        n_workers: usize,
        n_pieces: usize,
        worker: &(dyn Fn(&Pieces<'_>) + Sync),
    ) -> Result<()> {
        /// Number of looks at a turn before a thread sleeps: about ten microseconds, as long as waking it takes. Pieces
        /// take about as long as each other, so the turn is near.
        const LOOKS: usize = 400;
        let state = Mutex::new(Turns { next: 0, error: None });
        let turn = Condvar::new();
        let (taken, added) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let share = |steps: &mut Steps<'_>| {
            loop {
                let piece = taken.fetch_add(1, Ordering::Relaxed);
                if piece >= n_pieces {
                    return;
                }
                // A panic must not leave the other workers waiting for this piece.
                let done = caught(|| steps(Step::Work(piece)));
                (0..LOOKS).take_while(|_| added.load(Ordering::Acquire) != piece).for_each(|_| spin_loop());
                let mut state = lock(&state);
                while state.next != piece && state.error.is_none() {
                    state = turn.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                if state.error.is_some() {
                    return;
                }
                let done = done.and_then(|outcome| {
                    caught(|| {
                        outcome?;
                        steps(Step::Add)?;
                        self.report((piece + 1) as f64 / n_pieces as f64)
                    })
                });
                state.next += 1;
                let (error, panic) = match done {
                    Ok(outcome) => (outcome.err(), None),
                    Err(panic) => (Some(self.stopped()), Some(panic)),
                };
                state.error = error;
                turn.notify_all();
                drop(state);
                // Only a hint, which may arrive late.
                added.store(piece + 1, Ordering::Release);
                if let Some(panic) = panic {
                    std::panic::resume_unwind(panic);
                }
            }
        };
        self.workers(n_workers, &|| worker(&share));
        let state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.error.map_or(Ok(()), Err)
    }

    /// Cuts `out` into pieces of `piece_len` values (the last may be shorter) and fills each by `work`.
    pub fn fill<U: Send>(
        &self,
        out: &mut [U],
        piece_len: usize,
        work: impl Fn(usize, &mut [U]) -> Result<()> + Sync,
    ) -> Result<()> {
        self.each(out.chunks_mut(piece_len.max(1)), work)
    }

    /// Calls `work` on every item, several at a time. The output must not depend on the thread or on the order.
    pub fn each<W: Send>(
        &self,
        items: impl ExactSizeIterator<Item = W> + Send,
        work: impl Fn(usize, W) -> Result<()> + Sync,
    ) -> Result<()> {
        let n_items = items.len();
        let items = Mutex::new(items.enumerate());
        self.until_done(n_items, &|| {
            let (index, item) = lock(&items).next()?;
            Some(work(index, item))
        })
    }

    /// Runs the threads of [`Exec::each`]. Each calls `step`, which does the work of one item, until no item is left. It
    /// is compiled once, because it is not generic.
    fn until_done(&self, n_items: usize, step: &(dyn Fn() -> Option<Result<()>> + Sync)) -> Result<()> {
        let n_workers = self.n_threads.min(n_items);
        let failed = AtomicBool::new(false);
        let done = AtomicUsize::new(0);
        let error = Mutex::new(None);
        let worker = || {
            while !failed.load(Ordering::Relaxed)
                && let Some(outcome) = step()
            {
                let outcome = outcome.and_then(|()| {
                    self.report((done.fetch_add(1, Ordering::Relaxed) + 1) as f64 / n_items as f64)
                });
                if let Err(e) = outcome {
                    failed.store(true, Ordering::Relaxed);
                    lock(&error).get_or_insert(e);
                }
            }
        };
        if n_workers <= 1 {
            worker();
        } else {
            self.workers(n_workers, &worker);
        }
        error.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// Calls `worker` on the calling thread and on `n - 1` threads of the pool at the same time.
    #[cfg(feature = "parallel")]
    fn workers(&self, n: usize, worker: &(dyn Fn() + Sync)) {
        fn call<'s>(scope: &rayon::Scope<'s>, n: usize, worker: &'s (dyn Fn() + Sync)) {
            (1..n).for_each(|_| scope.spawn(|_| worker()));
            worker();
        }
        match self.pool {
            Some(pool) => pool.in_place_scope(|scope| call(scope, n, worker)),
            None => rayon::in_place_scope(|scope| call(scope, n, worker)),
        }
    }

    #[cfg(not(feature = "parallel"))]
    fn workers(&self, _: usize, worker: &(dyn Fn() + Sync)) {
        worker();
    }
}

/// The two steps of a piece of a sum.
enum Step {
    /// Computes the piece of this number.
    Work(usize),
    /// Adds the result to the total.
    Add,
}

/// Does one step of a piece.
type Steps<'a> = dyn FnMut(Step) -> Result<()> + 'a;
/// Takes pieces until none is left, and does their steps.
type Pieces<'a> = dyn Fn(&mut Steps<'_>) + 'a;

/// The piece to be added next, and the error that ended the sum.
struct Turns {
    next: usize,
    error: Option<Error>,
}

/// The result of `f`, or the payload of its panic.
fn caught<R>(f: impl FnOnce() -> R) -> std::thread::Result<R> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sum(usize);

    impl Accumulate for Sum {
        fn reset(&mut self) {
            self.0 = 0;
        }
        fn merge(&mut self, other: &Self) {
            self.0 += other.0;
        }
    }

    struct Panics;

    impl Observer for Panics {
        fn update(&self, _: &'static str, fraction: f64) -> Flow {
            assert!(fraction < 0.4, "no further");
            Flow::Continue
        }
    }

    #[test]
    fn a_panic_ends_the_work_of_all_threads() {
        let fold = |observer: &dyn Observer, panics: bool| {
            Exec::run(&Run { n_threads: Some(3), observer, ..Run::default() }, |exec| {
                exec.fold(
                    50,
                    || Sum(0),
                    |piece, sum| {
                        assert!(!(panics && piece == 7), "in the work");
                        sum.0 += piece;
                        Ok(())
                    },
                )
            })
        };
        assert_eq!(fold(&Unobserved, false).unwrap().0, 1225);
        for (observer, panics) in [(&Panics as &dyn Observer, false), (&Unobserved, true)] {
            assert!(caught(|| fold(observer, panics).map(|sum| sum.0)).is_err());
        }
    }

    #[test]
    fn absurd_numbers_are_refused() {
        for (n_threads, rule) in [(0, "at least one"), (1025, "at most 1024"), (usize::MAX, "at most 1024")] {
            let error = check_threads(Some(n_threads)).unwrap_err().to_string();
            assert!(error.starts_with(&format!("n_threads = {n_threads} is not allowed: {rule}")), "{error}");
        }
        check_threads(Some(1024)).unwrap();
        check_threads(None).unwrap();
    }

    #[cfg(feature = "parallel")]
    #[test]
    fn no_more_are_started_than_are_of_use() {
        assert_eq!(Run::threads(3).expected_threads(), 3);
        let most = Run::threads(1024).expected_threads();
        assert!(most < 1024 || std::thread::available_parallelism().is_ok_and(|n| n.get() >= 256));
        assert_eq!(worth_starting(1024), most);
    }

    /// The threads that two pieces of work run on, which wait for each other.
    #[cfg(feature = "parallel")]
    fn threads_of_two(within: &(dyn Fn() + Sync)) -> Vec<std::thread::ThreadId> {
        let (both, threads) = (std::sync::Barrier::new(2), Mutex::new(Vec::new()));
        Exec::run(&Run::threads(2), |exec| {
            exec.each(0..2, |piece, _| {
                both.wait();
                if piece == 0 {
                    within();
                }
                lock(&threads).push(std::thread::current().id());
                Ok(())
            })
        })
        .unwrap();
        threads.into_inner().unwrap()
    }

    #[cfg(feature = "parallel")]
    #[test]
    fn calls_share_threads_one_after_another_and_not_at_the_same_time() {
        let me = std::thread::current().id();
        let other = |within: &(dyn Fn() + Sync)| {
            let threads = threads_of_two(within);
            assert!(threads.contains(&me), "the calling thread works too");
            threads.into_iter().find(|&thread| thread != me).unwrap()
        };
        // Tests run at the same time, and may take the idle pool.
        assert!((0..50).any(|_| other(&|| ()) == other(&|| ())));
        let inner = Mutex::new(Vec::new());
        let outer = threads_of_two(&|| *lock(&inner) = threads_of_two(&|| ()));
        let shared = inner.into_inner().unwrap().into_iter().filter(|thread| outer.contains(thread)).count();
        assert_eq!(shared, 1, "the thread that makes the inner call");
    }
}
