//! The version stands in `workspace.package` of `Cargo.toml`. cargo wants it again beside the path of each published
//! package of the workspace; these copies must agree.

use std::fs;

use super::place::VERSION;
use crate::workspace::root;

/// Fails if a copy of the version differs.
pub(super) fn agree() -> Result<(), String> {
    let manifest = root().join("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(|error| format!("{}: {error}", manifest.display()))?;
    let stale = stale(&text, VERSION);
    if stale.is_empty() { Ok(()) } else { Err(format!("not version {VERSION}: {}", stale.join("; "))) }
}

/// Lines of dependencies with a path whose version is another.
fn stale<'a>(manifest: &'a str, version: &str) -> Vec<&'a str> {
    let wanted = format!("version = \"{version}\"");
    let is_copy = |line: &&str| line.contains("path = ") && line.contains("version = ");
    manifest.lines().filter(is_copy).filter(|line| !line.contains(&wanted)).collect()
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
        let manifest = "version = \"1.0.0\"\na = { path = \"a\", version = \"1.0.0\" }\nb = { path = \"b\" }\n\
                        c = { path = \"c\", version = \"0.9.0\" }\nd = { version = \"2\" }";
        assert_eq!(stale(manifest, "1.0.0"), ["c = { path = \"c\", version = \"0.9.0\" }"]);
    }
}
