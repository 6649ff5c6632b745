//! Detects a closed standard output.
//!
//! Before `main`, Rust opens /dev/null instead of a closed standard stream, so that output is lost without an
//! error. Only code that runs earlier can see that it was closed.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Returns true if standard output was closed when the process started.
pub(crate) fn was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

// SAFETY: the function runs before `main` and before Rust's runtime, and uses none of it: it makes one system call
// on a number, without pointers, and stores into an atomic with a constant initial value.
#[cfg(unix)]
#[allow(unsafe_code)]
#[ctor::ctor(unsafe)]
fn look() {
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags == -1, Ordering::Relaxed);
}
