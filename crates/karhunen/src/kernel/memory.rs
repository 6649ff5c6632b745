//! How much memory a fit may take.

/// Where the system does not say how much it has.
const FALLBACK: f64 = 4e9;

/// The limit in bytes: what was asked for, or half of the machine's memory.
pub(super) fn limit(asked: Option<u64>) -> f64 {
    asked.map_or_else(|| 0.5 * total().unwrap_or(2.0 * FALLBACK), |bytes| bytes as f64)
}

/// The machine's memory in bytes, from the system's own table (Linux).
fn total() -> Option<f64> {
    let table = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = table.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024.0)
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
