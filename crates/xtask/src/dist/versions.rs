//! The version stands in `workspace.package` of `Cargo.toml`. cargo wants it again next to the path of each published
//! package of the workspace, and R in the description of its package; these copies must agree.

use std::fs;

use super::place::VERSION;
use crate::workspace::root;

/// Fails if a copy of the version differs.
pub(super) fn agree() -> Result<(), String> {
    let read = |name: &str| {
        let path = root().join(name);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let (manifest, description) = (read("Cargo.toml")?, read("r/DESCRIPTION")?);
    let mut stale = stale(&manifest, VERSION);
    stale.extend(stale_description(&description, VERSION));
    if stale.is_empty() { Ok(()) } else { Err(format!("not version {VERSION}: {}", stale.join("; "))) }
}

/// The line of the version in the description of the R package, if it is another.
fn stale_description<'a>(description: &'a str, version: &str) -> Option<&'a str> {
    description.lines().find(|line| line.strip_prefix("Version: ").is_some_and(|found| found != version))
}

/// Lines of dependencies with a path whose version is another.
fn stale<'a>(manifest: &'a str, version: &str) -> Vec<&'a str> {
    let wanted = [format!("version = \"{version}\""), format!("version = \"={version}\"")];
    let is_copy = |line: &&str| line.contains("path = ") && line.contains("version = ");
    manifest
        .lines()
        .filter(is_copy)
        .filter(|line| !wanted.iter().any(|wanted| line.contains(wanted)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_the_version_agree() {
        assert_eq!(agree(), Ok(()));
    }

    #[test]
    fn other_versions_are_found() {
        let manifest = "version = \"1.0.0\"\na = { path = \"a\", version = \"1.0.0\" }\nb = { path = \"b\", version = \"=1.0.0\" }\n\
                        c = { path = \"c\", version = \"0.9.0\" }\nd = { version = \"2\" }";
        assert_eq!(stale(manifest, "1.0.0"), ["c = { path = \"c\", version = \"0.9.0\" }"]);
        let description = "Package: a\nVersion: 0.9.0\nEncoding: UTF-8\n";
        assert_eq!(stale_description(description, "1.0.0"), Some("Version: 0.9.0"));
        assert_eq!(stale_description(description, "0.9.0"), None);
    }
}
