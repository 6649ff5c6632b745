//! How much memory can be had, and the question that work asks before it takes much of it.
//!
//! A program that runs out of memory in the middle of its work ends without a result, and often without a word. Work that
//! needs much memory therefore states its need first, by a formula that stands beside the code that allocates, and [`ask`]
//! turns a need that cannot be met into [`Error::Memory`], which says what would do.
//!
//! What can be had is the least of what the limits of the process, its control groups and the machine leave (Linux), as far as
//! they can be read; elsewhere the allocator alone is asked. This is the one place of the library that reads the system.

use std::cell::Cell;
use std::collections::TryReserveError;
use std::path::Path;

pub use crate::error::{Available, MemoryLimit, size};
use crate::error::{Error, Result};

/// Needs below this are not worth a look at the system: the allocator alone is asked.
pub(crate) const SMALL: f64 = (4u64 << 20) as f64;

/// Refuses work that needs more memory than can be had. `what` needs it, `advice` says what would do; both may name options in
/// backticks.
///
/// ```
/// let error = karhunen::memory::ask("a table of the world", 1e18, || "take a smaller one".to_owned()).unwrap_err();
/// assert_eq!(error.kind(), karhunen::ErrorKind::Memory);
/// assert!(error.to_string().starts_with("a table of the world needs 1000000000.0 GB of memory"));
/// ```
///
/// # Errors
/// [`Error::Memory`].
pub fn ask(what: &str, bytes: f64, advice: impl FnOnce() -> String) -> Result<()> {
    let refused = !allocates(bytes);
    if !refused && bytes < SMALL {
        return Ok(());
    }
    let available = available();
    if !refused && available.is_none_or(|available| bytes <= available.bytes) {
        return Ok(());
    }
    // The allocator may refuse what the figures allow: memory in pieces. What no address reaches is told without them.
    let available = available.filter(|available| available.bytes < bytes && bytes < isize::MAX as f64);
    Err(Error::Memory { what: what.to_owned(), bytes, available, advice: advice() })
}

/// Whether the allocator gives this much memory, which it gets back untouched.
fn allocates(bytes: f64) -> bool {
    let before = ASKING.replace(true);
    let mut room = Vec::<u8>::new();
    // A conversion beyond the range of the integer saturates.
    let given = room.try_reserve_exact(bytes as usize).is_ok();
    // The compiler leaves out an allocation that nobody looks at.
    std::hint::black_box(&mut room);
    drop(room);
    ASKING.set(before);
    given
}

/// Reserves room for exactly `n` more values, or says that it cannot be had.
///
/// # Errors
/// That of [`Vec::try_reserve_exact`].
pub fn reserve<T>(values: &mut Vec<T>, n: usize) -> std::result::Result<(), TryReserveError> {
    let before = ASKING.replace(true);
    let outcome = values.try_reserve_exact(n);
    ASKING.set(before);
    outcome
}

/// Refuses to start `n` threads where their stacks find no room. A thread that lacks the memory for its first steps ends the
/// process by a signal, in the C library or in Rust's own code before that of the thread.
///
/// # Errors
/// [`Error::Memory`].
pub fn ask_for_threads(n: usize) -> Result<()> {
    // The system is not looked at where the allocator has the room: a pool may be started for a fit of a millisecond.
    if allocates(need_of_threads(n)) { Ok(()) } else { look_for_threads(n) }
}

/// As [`ask_for_threads`], with a look at the limits of the process: an allocator may have room that no stack can take.
pub(crate) fn look_for_threads(n: usize) -> Result<()> {
    let (what, advice) = match n {
        1 => ("starting a thread".to_owned(), "raise the limit of memory"),
        n => (format!("starting {n} threads"), "ask for fewer (`n_threads`), or raise the limit of memory"),
    };
    ask(&what, need_of_threads(n), || advice.to_owned())
}

/// Bytes that `n` threads take to start.
fn need_of_threads(n: usize) -> f64 {
    /// What Rust gives a thread, unless the environment says otherwise.
    const STACK: f64 = (2u64 << 20) as f64;
    /// Stacks for signals, guards of the stacks, and the first piece of the allocator, which is at least 1 MiB.
    const START: f64 = (4u64 << 20) as f64;
    n as f64 * STACK + START
}

thread_local! {
    static ASKING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is asking for memory that it can do without. An allocator that ends the process where memory cannot be
/// had, as that of the command line does, must not do so meanwhile.
pub fn asking() -> bool {
    // A thread that ends asks for nothing.
    ASKING.try_with(Cell::get).unwrap_or(false)
}

/// How much memory this process can still have; `None` where the system does not say.
pub fn available() -> Option<Available> {
    let of = |limit, bytes: Option<f64>| bytes.map(|bytes| Available { bytes: bytes.max(0.0), limit });
    [
        of(MemoryLimit::Process, process_left()),
        of(MemoryLimit::ControlGroup, control_groups(Group::left)),
        of(MemoryLimit::Machine, machine("MemAvailable:").map(|b| b + machine("SwapFree:").unwrap_or(0.0))),
    ]
    .into_iter()
    .flatten()
    .min_by(|a, b| a.bytes.total_cmp(&b.bytes))
}

/// How much memory the process may have in all, whatever is in use now; `None` where the system does not say.
pub(crate) fn total() -> Option<f64> {
    let address_space =
        read("/proc/self/limits").as_deref().and_then(|limits| soft_limit(limits, "Max address space"));
    [address_space, control_groups(|group| group.max), machine("MemTotal:")]
        .into_iter()
        .flatten()
        .min_by(f64::total_cmp)
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// What the limits of the process leave of address space and data.
fn process_left() -> Option<f64> {
    let (limits, status) = (read("/proc/self/limits")?, read("/proc/self/status")?);
    let left = |limit, used| Some(soft_limit(&limits, limit)? - kilobytes(&status, used)?);
    [left("Max address space", "VmSize:"), left("Max data size", "VmData:")]
        .into_iter()
        .flatten()
        .min_by(f64::total_cmp)
}

/// A soft limit of the table of limits, in bytes; `None` where there is none.
fn soft_limit(limits: &str, name: &str) -> Option<f64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// A figure of the machine's memory, in bytes.
fn machine(name: &str) -> Option<f64> {
    kilobytes(&read("/proc/meminfo")?, name)
}

fn kilobytes(table: &str, name: &str) -> Option<f64> {
    let line = table.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024.0)
}

/// The memory of a control group, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Group {
    max: f64,
    used: f64,
    /// Part of what is used: cached files, given back when memory is short.
    cached: f64,
}

impl Group {
    fn left(self) -> f64 {
        self.max - (self.used - self.cached).max(0.0)
    }

    /// Reads a group of version 2 or of version 1, whose files `file` gives by name; `None` where it has no limit.
    fn of(file: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name| file(name)?.trim().parse::<f64>().ok();
        // Pages of files, which the system gives up for other uses, whether they were read once or often.
        let cached = |prefix: &str| -> f64 {
            let stat = file("memory.stat").unwrap_or_default();
            let number = |name: &str| {
                let line = stat.lines().find_map(|line| line.strip_prefix(prefix)?.strip_prefix(name))?;
                line.trim().parse::<f64>().ok()
            };
            number("inactive_file ").unwrap_or(0.0) + number("active_file ").unwrap_or(0.0)
        };
        if let Some(max) = number("memory.max") {
            let cached = cached("");
            return Some(Self { max, used: number("memory.current")?, cached });
        }
        // Version 1 writes a number beyond any machine where there is no limit.
        let max = number("memory.limit_in_bytes").filter(|max| *max < 1e18)?;
        let cached = cached("total_");
        Some(Self { max, used: number("memory.usage_in_bytes")?, cached })
    }
}

/// The least `of` a control group that the process is in, or of one above it.
fn control_groups(of: impl Fn(Group) -> f64) -> Option<f64> {
    let table = read("/proc/self/cgroup")?;
    let mut least: Option<f64> = None;
    for line in table.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next(), parts.next()?, parts.next()?);
        let root = match controllers {
            "" => Path::new("/sys/fs/cgroup"),
            names if names.split(',').any(|name| name == "memory") => Path::new("/sys/fs/cgroup/memory"),
            _ => continue,
        };
        let inner = root.join(path.trim_start_matches('/'));
        for folder in inner.ancestors().take_while(|folder| folder.starts_with(root)) {
            if let Some(group) = Group::of(|name| read(folder.join(name))) {
                least = Some(least.map_or(of(group), |least| least.min(of(group))));
            }
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_that_cannot_be_met_are_refused_with_what_would_do() {
        ask("nothing", 0.0, String::new).unwrap();
        ask("little", 1e5, String::new).unwrap();
        let error = ask("too much", 1e17, || "ask for less".to_owned()).unwrap_err();
        let Error::Memory { what, bytes, advice, .. } = &error else { panic!("{error}") };
        assert_eq!((what.as_str(), *bytes, advice.as_str()), ("too much", 1e17, "ask for less"));
        let text = error.to_string();
        assert!(text.starts_with("too much needs 100000000.0 GB of memory"), "{text}");
        assert!(text.ends_with("ask for less"), "{text}");
    }

    #[test]
    fn asking_is_known_only_meanwhile() {
        assert!(!asking());
        let mut values = Vec::<u64>::new();
        reserve(&mut values, 10).unwrap();
        assert!(values.capacity() >= 10);
        assert!(reserve(&mut values, usize::MAX).is_err());
        assert!(!asking());
    }

    #[test]
    fn tables_of_the_system_are_read() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max data size             unlimited            unlimited            bytes\n\
                      Max address space         153600000            unlimited            bytes\n";
        assert_eq!(soft_limit(limits, "Max address space"), Some(153_600_000.0));
        assert_eq!(soft_limit(limits, "Max data size"), None);
        assert_eq!(kilobytes("Name:\tx\nVmSize:\t    2000 kB\n", "VmSize:"), Some(2_048_000.0));
        let group = Group { max: 100.0, used: 60.0, cached: 20.0 };
        assert_eq!(group.left(), 60.0);
    }

    #[test]
    fn groups_of_both_versions_are_read() {
        let left = |files: &[(&str, &str)]| {
            let file = |name: &str| files.iter().find(|file| file.0 == name).map(|file| file.1.to_owned());
            Group::of(file).map(Group::left)
        };
        assert_eq!(left(&[]), None);
        let stat = ("memory.stat", "cache 9\ninactive_file 5\ntotal_inactive_file 20\n");
        let first = |max| [("memory.limit_in_bytes", max), ("memory.usage_in_bytes", "70\n"), stat];
        assert_eq!(left(&first("9223372036854771712\n")), None);
        assert_eq!(left(&first("100\n")), Some(50.0));
        let second = |max| [("memory.max", max), ("memory.current", "50\n"), stat];
        assert_eq!(left(&second("max\n")), None);
        assert_eq!(left(&second("200\n")), Some(155.0));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_says_how_much_there_is() {
        let available = available().unwrap();
        assert!(available.bytes > 1e6, "{available}");
        assert!(total().unwrap() > 1e7);
    }
}
