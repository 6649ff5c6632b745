//! Pools of threads: started within limits, and refused with the reason.

#[cfg(feature = "parallel")]
use std::ops::Deref;
#[cfg(feature = "parallel")]
use std::sync::{Mutex, OnceLock};

use crate::error::{Error, Result, options};
#[cfg(feature = "parallel")]
use crate::memory;

/// Upper limit of [`super::Run::n_threads`].
const MOST_THREADS: usize = 1024;

/// Refuses a number of threads before any is started.
pub(super) fn check_threads(n_threads: Option<usize>) -> Result<()> {
    let rule = match n_threads {
        Some(0) => "at least one thread is needed",
        Some(n) if n > MOST_THREADS => "at most 1024 threads can be asked for",
        _ => return Ok(()),
    };
    Err(Error::option(options::N_THREADS, n_threads, rule))
}

/// The largest number of threads up to `n` that saves more time than its start takes.
#[cfg(feature = "parallel")]
pub(super) fn worth_starting(n: usize) -> usize {
    // The count reads several files.
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    let processors = PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(4, usize::from));
    n.min((4 * processors).max(16))
}

/// A pool that one call uses alone. Its threads wait for the next call of the same size when it is dropped.
#[cfg(feature = "parallel")]
pub(super) struct Pool {
    /// `Some` until the drop.
    threads: Option<rayon::ThreadPool>,
    /// The process that started them.
    owner: u32,
}

/// The pool that was used last, and the process that started it.
#[cfg(feature = "parallel")]
static IDLE: Mutex<Option<(u32, rayon::ThreadPool)>> = Mutex::new(None);

/// A pool of `n_threads` threads. Calls that follow each other share a pool, because starting two threads takes 70
/// microseconds, half as long as the scatter of 1,000 x 100 values; calls at the same time do not.
///
/// # Errors
/// [`Error::Threads`] or [`Error::Memory`] if threads cannot be started.
#[cfg(feature = "parallel")]
pub(super) fn pool(n_threads: usize) -> Result<Pool> {
    let owner = std::process::id();
    if let Some(threads) = taken(owner).filter(|threads| threads.current_num_threads() == n_threads) {
        return Ok(Pool { threads: Some(threads), owner });
    }
    memory::ask_for_threads(n_threads)?;
    let threads = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build();
    let threads = threads.map_err(|error| not_started(n_threads, error.to_string()))?;
    // Run every thread once, so that each has allocated its first memory before the work takes more: without that memory
    // the C library ends the process.
    threads.broadcast(|_| ());
    Ok(Pool { threads: Some(threads), owner })
}

/// Takes the idle pool, if process `me` has one and no other call looks for it at this moment: after a fork the lock may
/// belong to a thread that does not exist.
#[cfg(feature = "parallel")]
fn taken(me: u32) -> Option<rayon::ThreadPool> {
    let (owner, threads) = IDLE.try_lock().ok()?.take()?;
    if owner == me {
        return Some(threads);
    }
    // The threads of the parent do not exist here: nothing can be sent to them.
    std::mem::forget(threads);
    None
}

#[cfg(feature = "parallel")]
impl Deref for Pool {
    type Target = rayon::ThreadPool;
    fn deref(&self) -> &rayon::ThreadPool {
        self.threads.as_ref().unwrap_or_else(|| unreachable!("the threads stay until the drop"))
    }
}

#[cfg(feature = "parallel")]
impl Drop for Pool {
    fn drop(&mut self) {
        let Some(threads) = self.threads.take() else { return };
        if self.owner != std::process::id() {
            // A fork within the call: see `taken`.
            std::mem::forget(threads);
            return;
        }
        // The pool of another size ends here, after the lock.
        let _before = IDLE.try_lock().ok().map(|mut idle| idle.replace((self.owner, threads)));
    }
}

/// Number of threads of the caller's pool, or of rayon's global pool, which this function starts if necessary.
#[cfg(feature = "parallel")]
pub(super) fn current_pool() -> Result<usize> {
    use std::error::Error as _;
    // Rayon panics if its global pool did not start, and returns the cause only once.
    static FAILED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    if rayon::current_thread_index().is_none() {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        if FAILED.get().is_none() {
            memory::ask_for_threads(threads)?;
        }
        let start = || {
            let outcome = rayon::ThreadPoolBuilder::new().build_global();
            if outcome.is_ok() {
                // As in `pool`.
                rayon::broadcast(|_| ());
            }
            // An error without a cause means that the pool was already running.
            outcome.err().filter(|error| error.source().is_some()).map(|error| error.to_string())
        };
        if let Some(reason) = FAILED.get_or_init(start) {
            return Err(not_started(threads, reason.clone()));
        }
    }
    Ok(rayon::current_num_threads())
}

/// The error for threads that could not be started, usually for lack of memory for their stacks.
#[cfg(feature = "parallel")]
fn not_started(threads: usize, reason: String) -> Error {
    memory::look_for_threads(threads).err().unwrap_or(Error::Threads { threads, reason })
}
