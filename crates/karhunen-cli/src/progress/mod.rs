//! Progress on the terminal, and handling of SIGINT (Ctrl-C), SIGTERM and SIGHUP.

pub(crate) mod passes;

use std::io::IsTerminal;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use karhunen::exec::{Iteration, Visit};
use karhunen::{Flow, Observer};

use crate::error::{Failure, Result};
use crate::figures::{duration, significant};
use crate::files::outputs::{print_aside, print_failure};
use crate::progress::passes::PassProgress;

/// Shorter work shows no bar.
const PATIENCE: Duration = Duration::from_millis(500);
/// Time after Ctrl-C within which the work may stop by itself.
const GRACE: Duration = Duration::from_millis(500);
/// Interval at which a bar is redrawn without news from the work.
const TICK: Duration = Duration::from_millis(120);
/// Steps of the bar.
const STEPS: u64 = 1000;

/// The signal of Ctrl-C.
const SIGINT: i32 = 2;

/// The first signal that requested a stop; zero before.
static STOP: AtomicI32 = AtomicI32::new(0);
/// True if the work writes a checkpoint after a request to stop, and is given time for it.
static KEEPING: AtomicBool = AtomicBool::new(false);
/// Locked while finished files are renamed to their targets, so that the process does not end between two renames.
static COMMIT: Mutex<()> = Mutex::new(());

/// Installs the handler of signals: the work is requested to stop, and the process ends shortly after if it does
/// not. If the work has a checkpoint to write, the process ends at the second signal.
///
/// # Errors
/// [`Failure::Signals`] if the system refuses; [`Failure::Memory`] if there is no memory for the handler.
#[cfg(unix)]
pub(crate) fn watch_for_stop() -> Result<()> {
    use nix::sys::signal::{SigSet, Signal};
    let mut wanted = SigSet::empty();
    wanted.add(Signal::SIGINT);
    wanted.add(Signal::SIGTERM);
    // A fit under nohup is meant to outlive the terminal.
    if !is_ignored(Signal::SIGHUP as i32) {
        wanted.add(Signal::SIGHUP);
    }
    // A write beyond the size that files may have (`ulimit -f`) is an error like others.
    let mut too_large = SigSet::empty();
    too_large.add(Signal::SIGXFSZ);
    // Threads started later inherit the block, so that signals wait for the handler thread.
    for signals in [&wanted, &too_large] {
        signals.thread_block().map_err(|error| Failure::Signals(error.into()))?;
    }
    let (started, begin) = std::sync::mpsc::channel();
    let watch = move || {
        let _ = started.send(());
        while let Ok(signal) = wanted.wait() {
            stop(signal as i32);
        }
    };
    karhunen::memory::ask_for_threads(1).map_err(|error| Failure::Memory(error.to_string()))?;
    let watcher = std::thread::Builder::new().name("signals".to_owned()).spawn(watch);
    watcher.map_err(Failure::Signals)?;
    // Waits until the thread has allocated, before the command can exhaust the memory.
    let _ = begin.recv();
    Ok(())
}

/// Installs the handler of Ctrl-C.
///
/// # Errors
/// [`Failure::Signals`] if the system refuses.
#[cfg(not(unix))]
pub(crate) fn watch_for_stop() -> Result<()> {
    let handled = ctrlc::set_handler(|| stop(SIGINT));
    handled.map_err(|error| Failure::Signals(std::io::Error::other(error)))
}

/// Tests whether the process started with a signal ignored, if the system reports it.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Requests the work to stop, and ends the process if it does not.
fn stop(signal: i32) {
    let again = STOP.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_err();
    if !(again && KEEPING.load(Ordering::SeqCst)) {
        std::thread::sleep(GRACE);
    }
    if !again && KEEPING.load(Ordering::SeqCst) {
        print_aside(
            "stopping at the end of the iteration, for the checkpoint; Ctrl-C again to stop at once\n",
        );
        return;
    }
    let _commit = hold_commit();
    karhunen_io::discard_unfinished();
    // Clears a bar; if that fails, the message follows it.
    let terminal = console::Term::stderr();
    if terminal.is_term() {
        let _ = terminal.clear_line();
    }
    print_failure(&Failure::Stopped);
    process::exit(Failure::Stopped.exit_code().into());
}

/// The exit code of a stopped process: 128 plus the number of the signal, as in shells.
pub(crate) fn stop_code() -> u8 {
    let signal = match STOP.load(Ordering::SeqCst) {
        0 => SIGINT,
        signal => signal,
    };
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// Fails if a stop was requested.
///
/// # Errors
/// [`Failure::Stopped`].
pub(crate) fn check_stop() -> Result<()> {
    if is_stopping() { Err(Failure::Stopped) } else { Ok(()) }
}

fn is_stopping() -> bool {
    STOP.load(Ordering::Relaxed) != 0
}

/// Runs `work`, which writes a checkpoint after a request to stop.
pub(crate) fn keeping<R>(work: impl FnOnce() -> R) -> R {
    KEEPING.store(true, Ordering::SeqCst);
    let result = work();
    KEEPING.store(false, Ordering::SeqCst);
    result
}

/// Prevents signals from ending the process until the guard is dropped.
pub(crate) fn hold_commit() -> MutexGuard<'static, ()> {
    COMMIT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A bar on standard error, shown if that is a terminal and the work takes long.
pub(crate) struct Progress {
    bar: ProgressBar,
    wanted: bool,
    shown: AtomicBool,
    phase: Mutex<&'static str>,
    /// The passes over rows that every pass reads again.
    passes: Mutex<PassProgress>,
    /// True if the bar shows iterations.
    iterating: AtomicBool,
    started: Instant,
}

impl Progress {
    /// A bar that is not shown yet; never shown if `quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            bar: ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::hidden()),
            wanted: !quiet && std::io::stderr().is_terminal(),
            shown: AtomicBool::new(false),
            phase: Mutex::new(""),
            passes: Mutex::default(),
            iterating: AtomicBool::new(false),
            started: Instant::now(),
        }
    }

    /// Runs `work`, whose progress is unknown, under a spinner with `message`.
    pub(crate) fn spin<R>(&self, message: String, work: impl FnOnce() -> R) -> R {
        if !self.wanted {
            return work();
        }
        let spinner = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        spinner.set_style(style("{spinner} {msg} {elapsed}"));
        spinner.set_message(message);
        let done = Mutex::new(false);
        let turn = std::sync::Condvar::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let guard = done.lock().unwrap_or_else(PoisonError::into_inner);
                let waited = turn.wait_timeout_while(guard, PATIENCE, |done| !*done);
                if waited.is_ok_and(|(_, timeout)| timeout.timed_out()) {
                    spinner.set_draw_target(ProgressDrawTarget::stderr());
                    spinner.enable_steady_tick(TICK);
                }
            });
            let result = work();
            *done.lock().unwrap_or_else(PoisonError::into_inner) = true;
            turn.notify_all();
            spinner.finish_and_clear();
            result
        })
    }

    /// Prints a line on standard error, above the progress bar.
    pub(crate) fn say(&self, line: &str) {
        self.bar.suspend(|| print_aside(line));
    }

    fn passes(&self) -> MutexGuard<'_, PassProgress> {
        self.passes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Shows the errors of an iterative fit and its own estimate of progress.
    fn draw_iteration(&self, at: &Iteration) {
        self.iterating.store(true, Ordering::Relaxed);
        self.bar.set_style(style("{msg} {bar:20} {elapsed}"));
        self.bar.set_message(numbers(at));
        let elapsed = at.elapsed.as_secs_f64();
        let whole = at.remaining.map(|left| elapsed + left.as_secs_f64()).filter(|whole| *whole > 0.0);
        self.bar.set_position((whole.map_or(0.0, |whole| elapsed / whole) * STEPS as f64) as u64);
    }

    fn draw(&self, phase: &'static str, fraction: f64) {
        if !self.shown.load(Ordering::Relaxed) {
            if self.started.elapsed() < PATIENCE || self.shown.swap(true, Ordering::SeqCst) {
                return;
            }
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.enable_steady_tick(TICK);
        }
        // Another worker is already updating the bar.
        if let Ok(mut current) = self.phase.try_lock() {
            if *current != phase {
                *current = phase;
                self.iterating.store(false, Ordering::Relaxed);
                self.bar.set_style(style("{msg:22} {bar:32} {percent:>3}% {elapsed}"));
                self.bar.set_message(phase);
            }
            let line = self.passes().line(Instant::now());
            if let Some(line) = line {
                self.bar.set_style(style("{bar:8} {wide_msg}"));
                self.bar.set_message(line);
            }
            if !self.iterating.load(Ordering::Relaxed) {
                self.bar.set_position((fraction * STEPS as f64) as u64);
            }
        }
    }
}

/// The method, its iteration and errors, and the remaining time.
fn numbers(at: &Iteration) -> String {
    let start = if at.n_starts > 1 { format!(" start {}", at.start + 1) } else { String::new() };
    let held_out =
        at.held_out_rmse.map_or_else(String::new, |rmse| format!(", held out {}", significant(rmse)));
    let left =
        at.remaining.map_or_else(String::new, |left| format!(", {} left", duration(left.as_secs_f64())));
    format!("{}{start} {}: RMSE {}{held_out}{left}", at.phase, at.iteration, significant(at.rmse))
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Observer for Progress {
    fn update(&self, phase: &'static str, fraction: f64) -> Flow {
        if is_stopping() {
            return Flow::Stop;
        }
        if self.wanted {
            self.draw(phase, fraction);
        }
        Flow::Continue
    }

    fn visit(&self, at: &Visit) {
        self.passes().visit(at, Instant::now());
    }

    fn residual(&self, worst: f64, tol: f64) {
        self.passes().residual(worst, tol);
    }

    fn iteration(&self, at: &Iteration) -> Flow {
        if is_stopping() {
            return Flow::Stop;
        }
        if self.wanted {
            self.draw_iteration(at);
        }
        Flow::Continue
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
