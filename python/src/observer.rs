//! Runs long work without the interpreter lock, reports progress and handles signals.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use karhunen::exec::{Iteration, Unobserved};
use karhunen::{Flow, Observer, Result, Run};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors::to_python;

/// Interval of signal checks and progress reports.
pub(crate) const TICK: Duration = Duration::from_millis(100);
/// Time allowed for a requested stop, after which the work is left to end by itself.
pub(crate) const GRACE: Duration = Duration::from_millis(400);

/// State shared by the working and the calling thread.
#[derive(Default)]
pub(crate) struct Shared {
    stop: AtomicBool,
    progress: Mutex<(&'static str, f64)>,
    iteration: Mutex<Option<Iteration>>,
}

impl Shared {
    /// Requests the work to stop.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Observer for Shared {
    fn update(&self, phase: &'static str, fraction: f64) -> Flow {
        if self.stop.load(Ordering::Relaxed) {
            return Flow::Stop;
        }
        // Another worker is already updating the progress.
        if let Ok(mut progress) = self.progress.try_lock() {
            *progress = (phase, fraction);
        }
        Flow::Continue
    }

    fn iteration(&self, at: &Iteration) -> Flow {
        *self.iteration.lock().unwrap_or_else(PoisonError::into_inner) = Some(*at);
        if self.stop.load(Ordering::Relaxed) { Flow::Stop } else { Flow::Continue }
    }
}

/// Messages of the working thread for the user.
#[derive(Default)]
pub(crate) struct News(Mutex<Vec<String>>);

impl News {
    /// Adds a message.
    pub(crate) fn add(&self, message: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }

    /// Calls `warn(message)` once for each message.
    fn tell(&self, warn: &Bound<'_, PyAny>) -> PyResult<()> {
        let messages = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        in_function(|| messages.into_iter().try_for_each(|message| warn.call1((message,)).map(drop)))
    }
}

thread_local! {
    /// True while this thread runs a function of Python for the engine.
    static IN_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

/// True once the interpreter ends.
static ENDING: AtomicBool = AtomicBool::new(false);
/// Number of functions of Python that run for the engine.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Runs a function of Python for the engine: what it asks of the engine gets one thread, unless it asks for more.
///
/// # Errors
/// As `f`; `RuntimeError` once the interpreter ends.
pub(crate) fn in_function<R>(f: impl FnOnce() -> PyResult<R>) -> PyResult<R> {
    let _running = Running::new();
    if ENDING.load(Ordering::SeqCst) {
        return Err(PyRuntimeError::new_err(
            "the interpreter ends: no function of Python is called any more",
        ));
    }
    f()
}

/// A function that runs. Counted before it looks whether the interpreter ends, so that either [`end`] waits for the function
/// or the function does not begin.
struct Running {
    /// The value of [`IN_FUNCTION`] before.
    before: bool,
}

impl Running {
    fn new() -> Self {
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Self { before: IN_FUNCTION.replace(true) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        IN_FUNCTION.set(self.before);
        // None are left to count in the child of a fork.
        let _ = RUNNING.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
    }
}

/// Forgets the functions that ran in other threads when the process was forked: they do not run in the child.
#[pyfunction]
pub(crate) fn forked() {
    RUNNING.store(0, Ordering::SeqCst);
}

/// Lets the functions of Python that run for the engine end, and no other begin, for at most five seconds. Called before
/// the interpreter ends: it would take their threads away while they run, which ends the process.
#[pyfunction]
pub(crate) fn end(py: Python<'_>) {
    const PATIENCE: Duration = Duration::from_secs(5);
    ENDING.store(true, Ordering::SeqCst);
    py.detach(|| {
        let start = Instant::now();
        while RUNNING.load(Ordering::SeqCst) > 0 && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
}

/// Multiplications of work too short to be interrupted: some ten milliseconds.
const SMALL: f64 = 2e7;

/// The size of work, and the threads that it gets.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// Approximate number of multiplications.
    pub(crate) cost: f64,
    /// Number of threads to request from the engine.
    n_threads: Option<usize>,
}

impl Effort {
    /// Multiplications of a second, for reading, which may take long and is interrupted by signals.
    pub(crate) const LONG: f64 = 1e10;

    /// Work of at most `most` passes over the data, each of about `pass` multiplications.
    pub(crate) fn of_passes(pass: f64, most: usize, requested: Option<usize>) -> Self {
        /// A fit makes at least as many passes.
        const PASSES: f64 = 20.0;
        Self { cost: pass * most as f64, ..Self::new(PASSES * pass, requested) }
    }

    /// Work of about `cost` multiplications on as many threads as requested. Without a request, small work gets one
    /// thread, because waking a pool takes longer, and other work the shared pool. Threads of the shared pool do not
    /// survive a fork, so a forked child asks for a pool of its own.
    pub(crate) fn new(cost: f64, requested: Option<usize>) -> Self {
        /// Number of multiplications in a millisecond.
        const ONE_THREAD: f64 = 2e6;
        /// The process that owns the pool; zero before its first use.
        static POOL_OWNER: AtomicU32 = AtomicU32::new(0);
        if requested.is_some() {
            return Self { cost, n_threads: requested };
        }
        // A worker of the shared pool waits for a kernel function, which must not wait for the pool.
        if cost <= ONE_THREAD || IN_FUNCTION.get() {
            return Self { cost, n_threads: Some(1) };
        }
        let me = std::process::id();
        let n_threads = match POOL_OWNER.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed) {
            Err(owner) if owner != me => Some(std::thread::available_parallelism().map_or(1, usize::from)),
            _ => None,
        };
        Self { cost, n_threads }
    }

    /// Runs on these threads and reports to `observer`.
    pub(crate) fn run(self, observer: &dyn Observer) -> Run<'_> {
        Run { n_threads: self.n_threads, observer, ..Run::default() }
    }
}

/// Runs `work` without the interpreter lock: directly if it is small and reports no progress, otherwise as
/// [`on_thread`] does.
///
/// # Errors
/// As [`on_thread`].
pub(crate) fn run<R: Send + 'static>(
    py: Python<'_>,
    effort: Effort,
    on_progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Run<'_>) -> Result<R> + Send + 'static,
) -> PyResult<R> {
    if effort.cost <= SMALL && on_progress.is_none() {
        return py.detach(|| work(&effort.run(&Unobserved))).map_err(to_python);
    }
    on_thread(py, effort, on_progress, None, work)
}

/// As [`run`], for work that writes a checkpoint after a request to stop: the call waits for it, until a second
/// signal. Its messages are passed to `warn(message)`.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_keeping<R: Send + 'static>(
    py: Python<'_>,
    effort: Effort,
    on_progress: Option<&Bound<'_, PyAny>>,
    news: (&News, &Bound<'_, PyAny>),
    work: impl FnOnce(&Run<'_>) -> Result<R> + Send + 'static,
) -> PyResult<R> {
    on_thread(py, effort, on_progress, Some(news), work)
}

/// Runs `work` on a separate thread, without the interpreter lock. Ten times a second the calling thread, which
/// alone may run signal handlers, checks signals and calls `on_progress(phase, fraction)`. If either raises, the
/// work is requested to stop. Work inside a long step (an eigendecomposition) is left to end by itself and its
/// result dropped, unless `keeping` provides checkpoints.
///
/// # Errors
/// As `work`; exceptions of signal handlers, `on_progress` or `warn`.
fn on_thread<R: Send + 'static>(
    py: Python<'_>,
    effort: Effort,
    on_progress: Option<&Bound<'_, PyAny>>,
    keeping: Option<(&News, &Bound<'_, PyAny>)>,
    work: impl FnOnce(&Run<'_>) -> Result<R> + Send + 'static,
) -> PyResult<R> {
    let shared = Arc::new(Shared::default());
    let (sender, mut receiver) = channel();
    let theirs = Arc::clone(&shared);
    // If the calling thread was interrupted, there is no receiver.
    start(move || drop(sender.send(work(&effort.run(&*theirs)))))?;
    let warn = || keeping.map_or(Ok(()), |(news, warn)| news.tell(warn));
    loop {
        match py.detach(|| wait(&mut receiver, TICK)) {
            Ok(outcome) => {
                warn()?;
                return outcome.map_err(to_python);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the engine panicked: this is a bug of karhunen"));
            }
        }
        if let Err(exception) =
            py.check_signals().and_then(|()| warn()).and_then(|()| tell(on_progress, &shared))
        {
            shared.stop();
            // The result is discarded.
            let mut answer = py.detach(|| wait(&mut receiver, GRACE));
            while keeping.is_some() && matches!(answer, Err(RecvTimeoutError::Timeout)) {
                py.check_signals()?;
                answer = py.detach(|| wait(&mut receiver, TICK));
            }
            // The interruption takes precedence over a warning turned into an error.
            let _ = warn();
            return Err(exception);
        }
    }
}

/// Starts `work` on a thread of its own.
///
/// # Errors
/// `RuntimeError` if the system has no thread.
pub(crate) fn start(work: impl FnOnce() + Send + 'static) -> PyResult<()> {
    let started = std::thread::Builder::new().name("karhunen".to_owned()).spawn(work);
    started
        .map(drop)
        .map_err(|error| PyRuntimeError::new_err(format!("a thread could not be started: {error}")))
}

/// Waits for a message, at most for `timeout`.
///
/// # Errors
/// As [`Receiver::recv_timeout`].
pub(crate) fn wait<R: Send>(
    receiver: &mut Receiver<R>,
    timeout: Duration,
) -> std::result::Result<R, RecvTimeoutError> {
    receiver.recv_timeout(timeout)
}

/// Calls `on_progress(phase, fraction)`; iterative fits add iteration, RMSE, held-out RMSE, elapsed and remaining
/// seconds.
pub(crate) fn tell(on_progress: Option<&Bound<'_, PyAny>>, shared: &Shared) -> PyResult<()> {
    let Some(on_progress) = on_progress else { return Ok(()) };
    let (phase, fraction) = *shared.progress.lock().unwrap_or_else(PoisonError::into_inner);
    let iteration = *shared.iteration.lock().unwrap_or_else(PoisonError::into_inner);
    in_function(|| match iteration.filter(|at| at.phase == phase) {
        None => on_progress.call1((phase, fraction)),
        Some(at) => {
            let remaining = at.remaining.map(|remaining| remaining.as_secs_f64());
            let numbers = (at.iteration, at.rmse, at.held_out_rmse, at.elapsed.as_secs_f64(), remaining);
            on_progress.call1((phase, fraction, numbers))
        }
    })
    .map(drop)
}
