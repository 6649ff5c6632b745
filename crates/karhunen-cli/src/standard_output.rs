//! Whether there is a standard output at all.
//!
//! Before `main` Rust opens /dev/null in the place of a standard stream that is closed, so that what is printed is lost without
//! an error. That it was closed can only be seen earlier.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether the standard output was closed when the process began.
pub(crate) fn was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

// SAFETY: the function runs before `main` and before Rust's own preparations, and uses nothing of them: it makes one system call
// on a number, without pointers, and stores into an atomic that is constant before.
#[cfg(unix)]
#[allow(unsafe_code)]
#[ctor::ctor(unsafe)]
fn look() {
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags == -1, Ordering::Relaxed);
}
