//! Checksums of all packages, in the form that `sha256sum --check` reads.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::place::VERSION;

const NAME: &str = "SHA256SUMS";

/// Writes the checksums of the files of a folder, but for packages of other versions; returns what was written.
pub(super) fn write(folder: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        names.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
    }
    names.retain(|name| name != NAME);
    names.sort();
    let (names, others): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| !is_of_other_version(name));
    let mut text = String::new();
    for name in &names {
        text.push_str(&line(name, &fs::read(folder.join(name)).map_err(failed)?));
    }
    fs::write(folder.join(NAME), text).map_err(failed)?;
    let left_out = if others.is_empty() {
        String::new()
    } else {
        format!("; left out, of other versions: {}", others.join(", "))
    };
    Ok(format!("{} files{left_out}", names.len()))
}

/// Tests whether a name belongs to a package of another version: `cargo xtask dist PART` keeps what is there.
fn is_of_other_version(name: &str) -> bool {
    let version =
        name.strip_prefix("karhunen-").filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    version.is_some_and(|rest| rest.strip_prefix(VERSION).is_none_or(|end| !end.starts_with(['-', '.'])))
}

/// The checksum of bytes, in hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

fn line(name: &str, bytes: &[u8]) -> String {
    format!("{}  {name}\n", sha256(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first example of FIPS 180-4.
    #[test]
    fn a_line_has_the_checksum_and_the_name() {
        let digits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(line("a.whl", b"abc"), format!("{digits}  a.whl\n"));
    }

    #[test]
    fn packages_of_other_versions_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let (own, other) =
            (format!("karhunen-{VERSION}.tar.gz"), format!("karhunen-{VERSION}1-linux.tar.gz"));
        for name in [&own, &other] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        assert_eq!(write(folder.path()).unwrap(), format!("1 files; left out, of other versions: {other}"));
        let text = fs::read_to_string(folder.path().join(NAME)).unwrap();
        assert!(text.ends_with(&format!("  {own}\n")) && text.lines().count() == 1, "{text}");
    }

    #[test]
    fn every_file_but_the_checksums_is_listed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b", "a", NAME] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        assert_eq!(write(folder.path()).unwrap(), "2 files");
        let text = fs::read_to_string(folder.path().join(NAME)).unwrap();
        let names: Vec<&str> = text.lines().filter_map(|line| line.split("  ").nth(1)).collect();
        assert_eq!(names, ["a", "b"]);
    }
}
