//! Runs work of the engine: long work on a thread of its own, while R's thread listens for interrupts.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use karhunen::exec::{Iteration, Unobserved};
use karhunen::{Flow, Observer, Result, Run};
use savvy::savvy_err;

use crate::call::Call;

/// Interval of the checks for interrupts.
const TICK: Duration = Duration::from_millis(50);
/// Multiplications of work too short to be interrupted: some ten milliseconds.
const SMALL: f64 = 2e7;

/// A request to stop.
#[derive(Default)]
struct Stop(AtomicBool);

impl Stop {
    fn flow(&self) -> Flow {
        if self.0.load(Ordering::Relaxed) { Flow::Stop } else { Flow::Continue }
    }
}

impl Observer for Stop {
    fn update(&self, _: &'static str, _: f64) -> Flow {
        self.flow()
    }

    fn iteration(&self, _: &Iteration) -> Flow {
        self.flow()
    }
}

/// The message of the last panic.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Runs `work` of about `cost` multiplications. An interrupt of R stops it, and the call returns once it has stopped,
/// because it borrows R's vectors. No panic leaves this function.
///
/// # Errors
/// As `work`, with R's names; the interrupt; a panic, which is a bug of the engine.
pub(crate) fn run<R: Send>(
    call: &Call,
    cost: f64,
    work: impl FnOnce(&Run<'_>) -> Result<R> + Send,
) -> savvy::Result<R> {
    // The hook of savvy prints by a function of R, which only R's thread may call. It is back after this call.
    std::panic::set_hook(Box::new(|panic| {
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
    }));
    let n_threads = n_threads(cost, call.threads);
    if cost <= SMALL {
        let run = Run { n_threads, observer: &Unobserved, ..Run::default() };
        return match catch_unwind(AssertUnwindSafe(|| work(&run))) {
            Ok(outcome) => outcome.map_err(|error| call.error(&error)),
            Err(_) => Err(panicked()),
        };
    }
    let stop = Stop::default();
    thread::scope(|scope| {
        let (sender, receiver) = channel();
        let stop = &stop;
        let task = move || {
            let run = Run { n_threads, observer: stop, ..Run::default() };
            // After an interrupt there is no receiver.
            drop(sender.send(work(&run)));
        };
        let worker = thread::Builder::new().name("karhunen".to_owned()).spawn_scoped(scope, task);
        let worker = worker.map_err(|error| savvy_err!("a thread could not be started: {error}"))?;
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(outcome) => return outcome.map_err(|error| call.error(&error)),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(interrupt) = check_interrupt() {
                        stop.0.store(true, Ordering::Relaxed);
                        drop(worker.join());
                        return Err(interrupt);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    drop(worker.join());
                    return Err(panicked());
                }
            }
        }
    })
}

fn panicked() -> savvy::Error {
    let message = std::mem::take(&mut *PANIC.lock().unwrap_or_else(PoisonError::into_inner));
    savvy_err!("the engine panicked, which is a bug of karhunen: {message}")
}

/// Number of threads: as many as requested; one for small work, because waking a pool takes longer; otherwise the
/// shared pool's, or a new pool's in a forked child (as of `parallel::mclapply`), where the parent's threads are gone.
fn n_threads(cost: f64, requested: Option<usize>) -> Option<usize> {
    /// Number of multiplications in a millisecond.
    const ONE_THREAD: f64 = 2e6;
    /// The process that owns the pool; zero before its first use.
    static POOL_OWNER: AtomicU32 = AtomicU32::new(0);
    if requested.is_some() {
        return requested;
    }
    if cost <= ONE_THREAD {
        return Some(1);
    }
    let me = std::process::id();
    match POOL_OWNER.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed) {
        Err(owner) if owner != me => Some(thread::available_parallelism().map_or(1, usize::from)),
        _ => None,
    }
}

/// Returns the interrupt of the user, if there is one.
///
/// # Errors
/// The interrupt, which the C function of the call hands on to R.
fn check_interrupt() -> savvy::Result<()> {
    unsafe extern "C" {
        fn R_CheckUserInterrupt();
    }
    let check = || {
        // SAFETY: this is R's thread; `unwind_protect` catches the jump of an interrupt before it leaves C.
        unsafe {
            R_CheckUserInterrupt();
            savvy::sexp::null::null()
        }
    };
    // SAFETY: the closure has nothing to drop, so that a jump out of it loses nothing.
    unsafe { savvy::unwind_protect(check) }.map(drop)
}
