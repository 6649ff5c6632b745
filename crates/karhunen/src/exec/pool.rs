//! Pools of threads: started within limits, and refused with the reason.

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
    let processors = std::thread::available_parallelism().map_or(4, usize::from);
    n.min((4 * processors).max(16))
}

/// A pool of at most `n` threads, see [`worth_starting`].
#[cfg(feature = "parallel")]
pub(super) fn pool(n: usize) -> Result<rayon::ThreadPool> {
    let threads = worth_starting(n);
    memory::ask_for_threads(threads)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| not_started(threads, error.to_string()))?;
    // Run every thread once, so that each has allocated its first memory before the work takes more: without that memory
    // the C library ends the process.
    pool.broadcast(|_| ());
    Ok(pool)
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
