//! The systems that packages are made for.

use std::process::Command;

/// A C library, with the oldest version that a package may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Libc {
    Glibc(u32, u32),
    Musl(u32, u32),
}

/// A system.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) triple: &'static str,
    /// The libc that a wheel needs.
    pub(super) libc: Libc,
    /// The processor that all code outside run-time dispatch is compiled for: the lowest of its architecture.
    pub(super) cpu: &'static str,
    /// The name of the archive of the program, if one is made.
    pub(super) program: Option<&'static str>,
}

/// A static program for x86-64 runs on every Linux; its libc is glibc, whose static library is on most machines with a
/// C compiler. For musl and for other processors zig links.
pub(super) const TARGETS: [Target; 4] = [
    Target {
        triple: "x86_64-unknown-linux-gnu",
        libc: Libc::Glibc(2, 17),
        cpu: "x86-64",
        program: Some("x86_64-linux"),
    },
    Target {
        triple: "x86_64-unknown-linux-musl",
        libc: Libc::Musl(1, 2),
        cpu: "x86-64",
        program: Some("x86_64-linux-musl"),
    },
    Target { triple: "aarch64-unknown-linux-gnu", libc: Libc::Glibc(2, 17), cpu: "generic", program: None },
    Target {
        triple: "aarch64-unknown-linux-musl",
        libc: Libc::Musl(1, 2),
        cpu: "generic",
        program: Some("aarch64-linux-musl"),
    },
];

impl Target {
    /// The reason why nothing can be built for this system here, if there is one.
    pub(super) fn missing(&self) -> Option<String> {
        let mut rustc = Command::new("rustc");
        let output = rustc.args(["--print", "target-libdir", "--target", self.triple]).output();
        let folder = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        match folder {
            Ok(folder) if std::path::Path::new(&folder).is_dir() => None,
            _ => Some(format!(
                "the standard library of {0} is not installed; `rustup target add {0}` gets it",
                self.triple
            )),
        }
    }

    /// Returns true if this machine runs programs of the target.
    pub(super) fn runs_here(&self) -> bool {
        self.triple.starts_with("x86_64-")
    }

    /// Returns true if a wheel of the target can be installed here.
    pub(super) fn installs_here(&self) -> bool {
        self.runs_here() && matches!(self.libc, Libc::Glibc(..))
    }
}

impl Libc {
    /// The tag of wheels, as maturin takes it.
    pub(super) fn tag(self) -> String {
        match self {
            Libc::Glibc(major, minor) => format!("manylinux_{major}_{minor}"),
            Libc::Musl(major, minor) => format!("musllinux_{major}_{minor}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_name_the_oldest_libc() {
        assert_eq!(Libc::Glibc(2, 17).tag(), "manylinux_2_17");
        assert_eq!(Libc::Musl(1, 2).tag(), "musllinux_1_2");
    }

    #[test]
    fn unknown_systems_are_missing() {
        let target = Target { triple: "pdp11-unknown-unix", ..TARGETS[0] };
        assert!(target.missing().unwrap().contains("`rustup target add pdp11-unknown-unix`"));
    }
}
