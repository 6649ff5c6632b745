//! Available memory in error messages.

use crate::error::option::options;
use crate::error::phrase::{Fields, Surface};

/// The origin of a memory limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryLimit {
    /// The option `memory_limit` of the work.
    Option,
    /// Half of the memory that the process may use, if the option `memory_limit` is not given.
    Half,
    /// The limit on the address space or the data of the process (`ulimit -v`, `ulimit -d`).
    Process,
    /// The limit of a control group of the process, such as a container or a batch job.
    ControlGroup,
    /// The free memory of the machine, swap space included.
    Machine,
}

/// Available memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Available {
    /// Number of bytes.
    pub bytes: f64,
    /// The limit that determines the number of bytes.
    pub limit: MemoryLimit,
}

impl Available {
    /// Formats the available memory and its limit for a surface.
    pub fn text_for(&self, surface: &dyn Surface) -> String {
        let bytes = size(self.bytes);
        match self.limit {
            MemoryLimit::Option => format!("{} is {bytes}", surface.option(options::MEMORY_LIMIT)),
            MemoryLimit::Half => format!("half of what the process may have is {bytes}"),
            MemoryLimit::Process => format!("the limits of the process (ulimit) leave {bytes}"),
            MemoryLimit::ControlGroup => format!("the limit of its control group leaves {bytes}"),
            MemoryLimit::Machine => format!("the machine has {bytes} left"),
        }
    }
}

impl std::fmt::Display for Available {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text_for(&Fields))
    }
}

/// Rounds a number of bytes up to the next number that [`size`] formats without rounding.
pub fn rounded_up(bytes: f64) -> f64 {
    let unit = match bytes {
        b if b < 1e3 => 1.0,
        b if b < 1e6 => 1e3,
        b if b < 1e9 => 1e5,
        _ => 1e8,
    };
    (bytes / unit).ceil() * unit
}

/// Formats a number of bytes with a decimal unit: `12 bytes`, `2 kB`, `1.1 MB`, `1.3 GB`.
pub fn size(bytes: f64) -> String {
    match bytes {
        b if (0.5..1.5).contains(&b) => "1 byte".to_owned(),
        b if b < 1e3 => format!("{b:.0} bytes"),
        b if b < 1e6 => format!("{:.0} kB", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.1} GB", b / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_rounded_up_is_written_as_it_is() {
        for (bytes, up, text) in [
            (12.2, 13.0, "13 bytes"),
            (1001.0, 2000.0, "2 kB"),
            (1_010_000.0, 1_100_000.0, "1.1 MB"),
            (1_200_000.0, 1_200_000.0, "1.2 MB"),
            (1.21e9, 1.3e9, "1.3 GB"),
        ] {
            assert_eq!((rounded_up(bytes), size(rounded_up(bytes)).as_str()), (up, text));
        }
    }
}
