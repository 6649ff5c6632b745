//! Handles SIGBUS, which the system raises if a mapped file was truncated or cannot be read.
//!
//! Each map registers its range of addresses. The handler, installed with the first map, replaces the unreadable
//! pages up to the end of the map by zeros and marks the map as broken; the reader continues and checks the mark
//! later. Signals from other addresses are forwarded to the previous handler.

#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use libc::{c_int, c_void, sigaction, siginfo_t};

/// Number of slots. Files beyond it are read into memory.
const MOST: usize = 64;

/// The address range of a map. A slot is free while `taken` is false and `end` is zero.
struct Slot {
    taken: AtomicBool,
    start: AtomicUsize,
    end: AtomicUsize,
    broken: AtomicBool,
}

static SLOTS: [Slot; MOST] = [const {
    Slot {
        taken: AtomicBool::new(false),
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        broken: AtomicBool::new(false),
    }
}; MOST];

/// The previous handler and the page size, written once before the handler is installed.
static BEFORE: OnceLock<(sigaction, usize)> = OnceLock::new();
/// True if the handler was installed.
static INSTALLED: OnceLock<bool> = OnceLock::new();

/// A registered range. Drop it before the addresses are unmapped.
#[derive(Debug)]
pub(crate) struct Guard(usize);

impl Guard {
    /// Registers a map until the guard is dropped. Returns `None` if the handler cannot be installed or no slot is
    /// free: then the map must not be used.
    pub(crate) fn new(map: &[u8]) -> Option<Self> {
        if !*INSTALLED.get_or_init(install) {
            return None;
        }
        let free = |slot: &Slot| {
            slot.taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let at = SLOTS.iter().position(free)?;
        let start = map.as_ptr() as usize;
        SLOTS[at].broken.store(false, Ordering::Relaxed);
        SLOTS[at].start.store(start, Ordering::Relaxed);
        // `end` is stored last: the handler reads `start` only of slots with an end.
        SLOTS[at].end.store(start + map.len(), Ordering::Release);
        Some(Self(at))
    }

    /// Returns true if a part of the map could not be read and now holds zeros.
    pub(crate) fn is_broken(&self) -> bool {
        SLOTS[self.0].broken.load(Ordering::Acquire)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let slot = &SLOTS[self.0];
        slot.end.store(0, Ordering::Release);
        slot.taken.store(false, Ordering::Release);
    }
}

/// Installs the handler permanently: a handler installed later may call it at any time.
fn install() -> bool {
    // SAFETY: `sysconf` has no preconditions. A `sigaction` of zeros is valid: no flags, an empty mask, the
    // default action. The pointers to it are valid during the calls, and the handler only makes calls that are safe
    // there.
    unsafe {
        let Ok(page) = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)) else { return false };
        let mut before: sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGBUS, std::ptr::null(), &mut before) != 0 {
            return false;
        }
        if page == 0 || BEFORE.set((before, page)).is_err() {
            return false;
        }
        let mut action: sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut()) == 0
    }
}

/// Handles the signal, using only atomics, `mmap`, and the calls of [`hand_on`].
extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes a valid `info` to a handler installed with SA_SIGINFO. A code above zero means
    // that the system raised the signal and that the address is the address of the failed access.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    if code <= 0 || !replace(address) {
        hand_on(signal, info, context);
    }
}

/// Maps zeros from the page of `address` to the end of the map that contains it; returns false if no map does.
fn replace(address: usize) -> bool {
    let Some((_, page)) = BEFORE.get() else { return false };
    for slot in &SLOTS {
        let end = slot.end.load(Ordering::Acquire);
        let start = slot.start.load(Ordering::Relaxed);
        if end == 0 || !(start..end.next_multiple_of(*page)).contains(&address) {
            continue;
        }
        slot.broken.store(true, Ordering::Release);
        let first = address - address % page;
        // SAFETY: the pages belong to a map whose guard exists, since it is being read. The owner reads them as
        // plain bytes, for which zeros are valid, and unmaps the whole range whatever is mapped there.
        let zeros = unsafe {
            libc::mmap(
                first as *mut c_void,
                end - first,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        return zeros != libc::MAP_FAILED;
    }
    false
}

/// Forwards the signal to the previous handler.
fn hand_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let Some((before, _)) = BEFORE.get() else { return };
    // SAFETY: `before` is the previous `sigaction` as the system returned it: the default, ignore, or a function
    // with the signature that its flags state. `sigaction` and `raise` are async-signal-safe.
    unsafe {
        match before.sa_sigaction {
            libc::SIG_IGN if (*info).si_code <= 0 => {}
            libc::SIG_DFL | libc::SIG_IGN => {
                let mut default: sigaction = std::mem::zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &default, std::ptr::null_mut());
                // The signal is delivered when this handler returns.
                libc::raise(signal);
            }
            function if before.sa_flags & libc::SA_SIGINFO != 0 => {
                let function: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                    std::mem::transmute(function);
                function(signal, info, context);
            }
            function => {
                let function: extern "C" fn(c_int) = std::mem::transmute(function);
                function(signal);
            }
        }
    }
}
