//! Ends the program when memory runs out: one line and an exit code.
//!
//! Fits and readers check for the memory they need before they start, and refuse with the amount and a remedy.
//! Allocations too small for a check, or after another program took the memory, fail here: Rust would abort the
//! process by a signal, and inside a panic this may hang.

use std::alloc::{GlobalAlloc, Layout};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use karhunen::memory::HugePages;

use crate::error::OUT_OF_MEMORY;

#[global_allocator]
static ALLOCATOR: OrEnd = OrEnd;

/// [`HugePages`], except that a failed allocation ends the process; the probes of [`karhunen::memory`] fail normally.
struct OrEnd;

// SAFETY: every call is forwarded to an allocator that fulfils the contract. Nothing here allocates or unwinds.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for OrEnd {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller fulfils the contract of the callee, here and below.
        or_end(unsafe { HugePages.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        or_end(unsafe { HugePages.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        or_end(unsafe { HugePages.realloc(memory, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        unsafe { HugePages.dealloc(memory, layout) }
    }
}

#[inline]
fn or_end(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() && !karhunen::memory::asking() {
        end(bytes);
    }
    memory
}

/// Set by the first thread that ends the process.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Writes a line, removes unfinished outputs and ends the process, without allocating: other threads may hold any
/// lock.
#[cold]
#[allow(unsafe_code)]
fn end(bytes: usize) -> ! {
    let mut line = [0u8; 160];
    let mut rest = &mut line[..];
    // A longer line is truncated.
    let _ = writeln!(
        rest,
        "error: not enough memory: {bytes} bytes more cannot be had; use smaller data or raise the limit of memory"
    );
    let n_left = rest.len();
    let text = &line[..line.len() - n_left];
    if ENDING.swap(true, Ordering::SeqCst) {
        // Another thread is ending the process and needs time; or the removal below failed to allocate.
        std::thread::sleep(Duration::from_secs(1));
    } else {
        // SAFETY: the pointer and the length come from `text`.
        unsafe { libc::write(2, text.as_ptr().cast(), text.len() as _) };
        karhunen_io::discard_unfinished_at_once();
    }
    // SAFETY: `_exit` runs no code of this program.
    unsafe { libc::_exit(i32::from(OUT_OF_MEMORY)) }
}
