//! The peak memory of the process.

/// Peak memory of the process in bytes, as reported by the system (Linux).
pub(crate) fn peak_memory() -> Option<u64> {
    let table = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = table.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_is_counted() {
        if !cfg!(target_os = "linux") {
            return;
        }
        let before = peak_memory().unwrap();
        let block = vec![1_u8; before as usize + (64 << 20)];
        assert!(peak_memory().unwrap() >= block.len() as u64);
    }
}
