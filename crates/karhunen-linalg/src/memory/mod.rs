//! Available memory, and the check that a memory estimate fits into it.
//!
//! A program that runs out of memory in the middle of its work aborts without a result, and often without a
//! message. Work that needs much memory therefore first calls [`ask`] with a memory estimate, computed by a formula
//! next to the code that allocates. [`ask`] returns [`Error::Memory`], with advice, if the estimate exceeds the
//! available memory.
//!
//! Available memory is the least memory left by process limits, control groups and the machine (Linux), if they can
//! be read; otherwise only the allocator decides. No other module of the library reads the system.

pub mod huge_pages;

use std::cell::Cell;
use std::collections::TryReserveError;
use std::path::Path;

pub use crate::error::{Advice, Available, MemoryLimit, size};
use crate::error::{Error, Result, rounded_up};
pub use huge_pages::HugePages;

/// Smaller estimates are checked with the allocator alone, without reading the limits of the system.
pub const SMALL: f64 = (4u64 << 20) as f64;
/// Bytes of the program itself and of memory too small to be counted, for work within a limit.
pub const PROGRAM: f64 = (64u64 << 20) as f64;

/// Refuses work that needs more memory than is available. `what` names the work in the error, `advice` returns the
/// way out; both may name options in backticks.
///
/// ```
/// let error = karhunen::memory::ask("a table of the world", 1e18, || vec!["take a smaller one".into()]).unwrap_err();
/// assert_eq!(error.kind(), karhunen::ErrorKind::Memory);
/// assert!(error.to_string().starts_with("a table of the world needs 1000000000.0 GB of memory"));
/// ```
///
/// # Errors
/// [`Error::Memory`].
pub fn ask(what: &str, bytes: f64, advice: impl FnOnce() -> Vec<Advice>) -> Result<()> {
    let refused = !allocates(bytes);
    if !refused && bytes < SMALL {
        return Ok(());
    }
    let available = available();
    if !refused && available.is_none_or(|available| bytes <= available.bytes) {
        return Ok(());
    }
    // The allocator may refuse memory that the limits allow, if it is fragmented. No limit is given for sizes
    // beyond the address space.
    let available = available.filter(|available| available.bytes < bytes && bytes < isize::MAX as f64);
    Err(Error::Memory { what: what.to_owned(), bytes, available, advice: advice() })
}

/// The smallest limit found that is as large as `need`, which depends on the limit: a larger one leads to larger blocks of
/// rows, or to a faster route. The limit `given` does not suffice; the one returned does, as it is and as errors round it up.
pub fn least_limit(given: f64, need: impl Fn(f64) -> f64) -> f64 {
    /// Every round raises the limit by a fraction of the round before, below 15/16, or to the need of another route.
    const ROUNDS: usize = 512;
    let from = |mut limit: f64| {
        for _ in 0..ROUNDS {
            let (enough, shown) = (need(limit).ceil(), rounded_up(limit));
            if enough > limit {
                limit = enough;
            } else if need(shown) > shown {
                limit = shown;
            } else {
                break;
            }
        }
        limit
    };
    let least = from(0.0);
    if least > given { least } else { from(given) }
}

/// Tests whether the allocator can provide `bytes`, without touching them.
pub fn allocates(bytes: f64) -> bool {
    let before = ASKING.replace(true);
    let mut allocation = Vec::<u8>::new();
    // A conversion beyond the range of the integer saturates.
    let given = allocation.try_reserve_exact(bytes as usize).is_ok();
    // Keeps the compiler from removing the unused allocation.
    std::hint::black_box(&mut allocation);
    drop(allocation);
    ASKING.set(before);
    given
}

/// Reserves memory for exactly `n` more values.
///
/// # Errors
/// The error of [`Vec::try_reserve_exact`].
pub fn reserve<T>(values: &mut Vec<T>, n: usize) -> std::result::Result<(), TryReserveError> {
    let before = ASKING.replace(true);
    let outcome = values.try_reserve_exact(n);
    ASKING.set(before);
    outcome
}

/// Refuses to start `n` threads without memory for their stacks. A thread that lacks memory for its first steps
/// aborts the process by a signal, in the C library or in Rust's start-up code.
///
/// # Errors
/// [`Error::Memory`].
pub fn ask_for_threads(n: usize) -> Result<()> {
    // The limits are read only if the allocator refuses: a pool may be started for a fit of a millisecond.
    if allocates(need_of_threads(n)) { Ok(()) } else { look_for_threads(n) }
}

/// As [`ask_for_threads`], but reads the limits of the process: memory of the allocator may be unusable for
/// stacks.
pub fn look_for_threads(n: usize) -> Result<()> {
    let (what, advice) = match n {
        1 => ("starting a thread".to_owned(), vec![Advice::RaiseLimit]),
        n => (format!("starting {n} threads"), vec![Advice::FewerThreads, Advice::RaiseLimit]),
    };
    ask(&what, need_of_threads(n), || advice)
}

/// Bytes that `n` threads need to start.
fn need_of_threads(n: usize) -> f64 {
    /// Default stack of a Rust thread.
    const STACK: f64 = (2u64 << 20) as f64;
    /// Signal stack, stack guard, and the first arena of the allocator, which is at least 1 MiB.
    const START: f64 = (4u64 << 20) as f64;
    n as f64 * STACK + START
}

thread_local! {
    static ASKING: Cell<bool> = const { Cell::new(false) };
}

/// True while this thread makes a trial allocation, whose failure is harmless. An allocator that ends the process
/// when memory runs out, as the allocator of the command line does, must return a null pointer instead.
pub fn asking() -> bool {
    // The thread-local value is gone while a thread ends; such a thread makes no trial allocation.
    ASKING.try_with(Cell::get).unwrap_or(false)
}

/// Memory that this process can still allocate; `None` if the system does not report it.
pub fn available() -> Option<Available> {
    left(machine("SwapFree:").unwrap_or(0.0))
}

/// The least memory left by the limits of the process, its control groups, and the machine with `swap` bytes of swap space.
fn left(swap: f64) -> Option<Available> {
    let of = |limit, bytes: Option<f64>| bytes.map(|bytes| Available { bytes: bytes.max(0.0), limit });
    [
        of(MemoryLimit::Process, process_left()),
        of(MemoryLimit::ControlGroup, control_groups(Group::left)),
        of(MemoryLimit::Machine, machine("MemAvailable:").map(|bytes| bytes + swap)),
    ]
    .into_iter()
    .flatten()
    .min_by(|a, b| a.bytes.total_cmp(&b.bytes))
}

/// Tests whether a copy of `bytes` that only saves time may be made during work that needs `work` bytes: both must fit
/// into the memory left without swap space, of which the copy may take the fraction `share`.
pub fn spares(bytes: f64, work: f64, share: f64) -> bool {
    /// The memory left if the system does not report it.
    const UNKNOWN: f64 = 4e9;
    if !allocates(bytes + work) {
        return false;
    }
    if bytes + work < SMALL {
        return true;
    }
    let left = left(0.0).map_or(UNKNOWN, |left| left.bytes);
    bytes <= share * left && bytes + work <= left
}

/// The memory that work may take: the option `memory_limit`, or half of the memory that the machine or a process limit
/// allows.
pub fn limit(asked: Option<u64>) -> Available {
    /// Half of it is the limit if the system does not report its memory.
    const UNKNOWN: f64 = 8e9;
    match asked {
        Some(bytes) => Available { bytes: bytes as f64, limit: MemoryLimit::Option },
        None => Available { bytes: 0.5 * total().unwrap_or(UNKNOWN), limit: MemoryLimit::Half },
    }
}

/// Memory limit of the process, free or in use; `None` if the system does not report it.
fn total() -> Option<f64> {
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

/// Address space and data segment left below the limits of the process, in bytes.
fn process_left() -> Option<f64> {
    let (limits, status) = (read("/proc/self/limits")?, read("/proc/self/status")?);
    let left = |limit, used| Some(soft_limit(&limits, limit)? - kilobytes(&status, used)?);
    [left("Max address space", "VmSize:"), left("Max data size", "VmData:")]
        .into_iter()
        .flatten()
        .min_by(f64::total_cmp)
}

/// A soft limit in the table of limits, in bytes; `None` if unlimited.
fn soft_limit(limits: &str, name: &str) -> Option<f64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// A field of the machine's memory table, in bytes.
fn machine(name: &str) -> Option<f64> {
    kilobytes(&read("/proc/meminfo")?, name)
}

fn kilobytes(table: &str, name: &str) -> Option<f64> {
    let line = table.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024.0)
}

/// Memory usage of a control group, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Group {
    max: f64,
    used: f64,
    /// The part of the usage that is cached files, which the system releases when memory is short.
    cached: f64,
}

impl Group {
    fn left(self) -> f64 {
        self.max - (self.used - self.cached).max(0.0)
    }

    /// Reads a group of version 2 or 1; `file` returns the content of a named file. `None` if the group has no
    /// limit.
    fn of(file: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name| file(name)?.trim().parse::<f64>().ok();
        // Cached pages of files, active and inactive: the system can release both.
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
        // Version 1 writes a huge number for no limit.
        let max = number("memory.limit_in_bytes").filter(|max| *max < 1e18)?;
        let cached = cached("total_");
        Some(Self { max, used: number("memory.usage_in_bytes")?, cached })
    }
}

/// The minimum of `of` over the control groups of the process and their ancestors.
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
    fn a_memory_estimate_beyond_the_limit_is_refused_with_advice() {
        ask("nothing", 0.0, Vec::new).unwrap();
        ask("little", 1e5, Vec::new).unwrap();
        let error = ask("too much", 1e17, || vec!["ask for less".into()]).unwrap_err();
        let Error::Memory { what, bytes, advice, .. } = &error else { panic!("{error}") };
        assert_eq!((what.as_str(), *bytes), ("too much", 1e17));
        assert_eq!(*advice, ["ask for less".into()]);
        let text = error.to_string();
        assert!(text.starts_with("too much needs 100000000.0 GB of memory"), "{text}");
        assert!(text.ends_with("ask for less"), "{text}");
    }

    #[test]
    fn the_least_limit_suffices_as_it_is_written() {
        // Blocks take a tenth of the limit, a faster route more from 3 MB on, and from 4 MB on less.
        let need = |limit: f64| 0.1 * limit + if (3e6..4e6).contains(&limit) { 3.5e6 } else { 2.61e6 };
        for given in [1.0, 1e6, 2.8e6, 2.899e6] {
            assert_eq!(least_limit(given, need), 2.9e6, "{given}");
        }
        // Limits up to 3.8 MB do not suffice.
        assert_eq!(least_limit(3.1e6, need), 3_888_889.0);
        // Blocks take nine tenths.
        let need = |limit: f64| 0.9 * limit + 20.1e6;
        let least = least_limit(1e6, need);
        assert!(need(least) <= least && (201e6..202e6).contains(&least), "{least}");
        assert_eq!(least_limit(10.0, |_| 999.5), 1000.0);
    }

    #[test]
    fn asking_is_true_only_during_a_trial_allocation() {
        assert!(!asking());
        let mut values = Vec::<u64>::new();
        reserve(&mut values, 10).unwrap();
        assert!(values.capacity() >= 10);
        assert!(reserve(&mut values, usize::MAX).is_err());
        assert!(!asking());
    }

    #[test]
    fn limits_and_tables_of_the_system_are_parsed() {
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
    fn control_groups_of_both_versions_are_parsed() {
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

    #[test]
    fn the_default_limit_is_half_of_the_memory() {
        assert_eq!(limit(Some(1000)), Available { bytes: 1000.0, limit: MemoryLimit::Option });
        let half = limit(None);
        assert_eq!(half.limit, MemoryLimit::Half);
        assert!(half.bytes > 1e8, "{half}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn available_memory_is_positive() {
        let available = available().unwrap();
        assert!(available.bytes > 1e6, "{available}");
        assert!(total().unwrap() > 1e7);
    }
}
