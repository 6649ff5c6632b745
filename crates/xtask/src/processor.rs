//! Processor time of the programs that a step runs.

use std::time::Duration;

/// Processor time, of user and system, of all programs that this process has started and that have ended.
#[cfg(unix)]
pub(crate) fn time_of_children() -> Duration {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike;
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return Duration::ZERO };
    let microseconds = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Duration::from_micros(microseconds.max(0) as u64)
}

/// Zero: not known here.
#[cfg(not(unix))]
pub(crate) fn time_of_children() -> Duration {
    Duration::ZERO
}
