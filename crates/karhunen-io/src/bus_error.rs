//! The signal SIGBUS, which the system sends where a mapped file has become shorter than its map or cannot be read.
//!
//! Maps register their range of addresses. The handler, installed with the first of them, replaces the pages from the one that
//! cannot be read to the end of its map by zeros and marks the map as broken, so that the work goes on to where the mark is
//! looked at. All other signals go to the handler that was there before.

#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use libc::{c_int, c_void, sigaction, siginfo_t};

/// Maps alive at the same time; what is beyond is read into memory instead.
const MOST: usize = 64;

/// The range of addresses of a map. A slot is free while `end` is zero and it is not taken.
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

/// What handled the signal before, and the size of a page: written once, before the handler is installed.
static BEFORE: OnceLock<(sigaction, usize)> = OnceLock::new();
/// Whether the handler could be installed.
static INSTALLED: OnceLock<bool> = OnceLock::new();

/// A registered range. It must be dropped before its addresses are given back to the system.
#[derive(Debug)]
pub(crate) struct Guard(usize);

impl Guard {
    /// Guards the bytes of a map until the guard is dropped. `None` where the handler cannot be installed, or for want of a slot:
    /// the map must not be used then.
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
        // Last: the handler looks at the start of what has an end.
        SLOTS[at].end.store(start + map.len(), Ordering::Release);
        Some(Self(at))
    }

    /// Whether a part of the map could not be read, and holds zeros now.
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

/// Puts the handler in its place, for good: another handler that is installed on top of it may call it at any time.
fn install() -> bool {
    // SAFETY: `sysconf` has no preconditions. A `sigaction` of zeros is valid: no flags, an empty mask, the default action. The
    // pointers to it are valid for the calls, and the handler keeps to what is safe in one (see there).
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

/// Handles the signal: only with atomics, `mmap`, and what ends or hands on.
extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the system calls a handler that was installed with SA_SIGINFO with a valid `info`. A code above zero says that the
    // signal is of the system, of which the address is that of the access that failed.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    if code <= 0 || !replace(address) {
        hand_on(signal, info, context);
    }
}

/// Puts zeros from the page of `address` to the end of the map that holds it; false if no map does.
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
        // SAFETY: the pages belong to a map that is alive, for its guard is: it is being read at this moment. Its owner reads
        // plain bytes from it, for which zeros are as good as any, and gives the whole range back, whatever is mapped there.
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

/// What would have happened without this handler.
fn hand_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let Some((before, _)) = BEFORE.get() else { return };
    // SAFETY: `before` is what the system said of the handler that was there: the default, nothing, or a function of the form
    // that its flags say. `sigaction` and `raise` may be called from a handler.
    unsafe {
        match before.sa_sigaction {
            libc::SIG_IGN if (*info).si_code <= 0 => {}
            libc::SIG_DFL | libc::SIG_IGN => {
                let mut default: sigaction = std::mem::zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &default, std::ptr::null_mut());
                // Delivered once this handler returns.
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
