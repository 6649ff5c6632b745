//! The memory limit of a fit.

use crate::memory::total;

/// Limit in bytes if the system does not report its memory.
const FALLBACK: f64 = 4e9;

/// The limit in bytes: the option, or half of the memory that the machine or a process limit allows.
pub(super) fn limit(asked: Option<u64>) -> f64 {
    asked.map_or_else(|| 0.5 * total().unwrap_or(2.0 * FALLBACK), |bytes| bytes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_limit_is_half_of_the_memory() {
        assert_eq!(limit(Some(1000)), 1000.0);
        assert!(limit(None) > 1e8);
    }
}
