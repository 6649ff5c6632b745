//! How much memory a fit may take.

use crate::memory::total;

/// Where the system does not say how much it has.
const FALLBACK: f64 = 4e9;

/// The limit in bytes: what was asked for, or half of what the process may have: of the machine's memory, or of a limit.
pub(super) fn limit(asked: Option<u64>) -> f64 {
    asked.map_or_else(|| 0.5 * total().unwrap_or(2.0 * FALLBACK), |bytes| bytes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_machine_unless_asked() {
        assert_eq!(limit(Some(1000)), 1000.0);
        assert!(limit(None) > 1e8);
    }
}
