//! Licences of dependencies: all come from crates.io under a licence compatible with MIT or Apache-2.0.

use spdx::{Expression, LicenseReq, ParseMode};

use crate::workspace::Package;

const ALLOWED: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "bzip2-1.0.6",
];

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Checks every package outside the workspace; returns their number.
pub(crate) fn check(packages: &[Package]) -> Result<usize, String> {
    let foreign: Vec<&Package> = packages.iter().filter(|p| p.source.is_some()).collect();
    let problems: Vec<String> = foreign.iter().filter_map(|package| problem(package)).collect();
    if problems.is_empty() { Ok(foreign.len()) } else { Err(problems.join("\n")) }
}

fn problem(package: &Package) -> Option<String> {
    let Package { name, version, license, source, .. } = package;
    if source.as_deref() != Some(REGISTRY) {
        return Some(format!("{name} {version} comes from {source:?}, not from crates.io"));
    }
    match license {
        None => Some(format!("{name} {version} states no licence")),
        Some(expression) if !is_allowed(expression) => {
            Some(format!("{name} {version} is under `{expression}`, which is not allowed"))
        }
        Some(_) => None,
    }
}

/// Tests whether every part of some alternative of an SPDX expression is allowed; `MIT/Apache-2.0` is an old form. An exception
/// only extends the permissions of its licence.
fn is_allowed(expression: &str) -> bool {
    let allowed = |wanted: &LicenseReq| wanted.license.id().is_some_and(|id| ALLOWED.contains(&id.name));
    Expression::parse_mode(expression, ParseMode::LAX).is_ok_and(|parsed| parsed.evaluate(allowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_allowed_choice_is_enough() {
        for expression in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0 OR Apache-2.0 WITH LLVM-exception",
            "Unlicense/MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "MIT AND (GPL-2.0 OR BSD-3-Clause)",
        ] {
            assert!(is_allowed(expression), "{expression}");
        }
    }

    #[test]
    fn no_allowed_choice_fails() {
        for expression in
            ["GPL-3.0", "MIT AND GPL-3.0", "(MIT", "MIT)", "", "MIT MIT", "(GPL-2.0 OR AGPL-3.0) AND MIT"]
        {
            assert!(!is_allowed(expression), "{expression}");
        }
    }

    #[test]
    fn foreign_sources_and_missing_licences_are_named() {
        let package = |license: Option<&str>, source: Option<&str>| Package {
            name: "thing".to_owned(),
            version: "1.0.0".to_owned(),
            folder: "thing".into(),
            authors: Vec::new(),
            license: license.map(str::to_owned),
            source: source.map(str::to_owned),
            features: Vec::new(),
            benches: Vec::new(),
        };
        assert_eq!(check(&[package(Some("MIT"), Some(REGISTRY)), package(None, None)]), Ok(1));
        assert_eq!(check(&[package(None, Some(REGISTRY))]), Err("thing 1.0.0 states no licence".to_owned()));
        let elsewhere = check(&[package(Some("MIT"), Some("git+https://example.org"))]).unwrap_err();
        assert!(elsewhere.contains("not from crates.io"), "{elsewhere}");
        let forbidden = check(&[package(Some("AGPL-3.0"), Some(REGISTRY))]).unwrap_err();
        assert!(forbidden.contains("`AGPL-3.0`, which is not allowed"), "{forbidden}");
    }
}
