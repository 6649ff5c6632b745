//! Metadata of the workspace from cargo.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).unwrap_or(manifest).to_owned()
}

/// A `cargo` command at the root, without standard input.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments).stdin(Stdio::null());
    command
}

/// A package of the workspace or of its dependencies.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The folder of its manifest.
    pub(crate) folder: PathBuf,
    pub(crate) authors: Vec<String>,
    /// The licence expression, if its manifest has one.
    pub(crate) license: Option<String>,
    /// `None` for packages of the workspace.
    pub(crate) source: Option<String>,
    /// Names of the features, without `default`.
    pub(crate) features: Vec<String>,
    pub(crate) benches: Vec<String>,
}

/// All packages, dependencies included.
pub(crate) fn packages() -> Result<Vec<Package>, String> {
    let output = cargo(&["metadata", "--format-version", "1", "--all-features"])
        .output()
        .map_err(|error| format!("cargo metadata cannot be run: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    Ok(elements(&metadata["packages"]).map(package).collect())
}

fn package(value: &Value) -> Package {
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    let features = value["features"].as_object().into_iter().flat_map(|features| features.keys());
    let is_bench = |target: &&Value| elements(&target["kind"]).any(|kind| kind == "bench");
    let benches = elements(&value["targets"]).filter(is_bench);
    let manifest = PathBuf::from(text("manifest_path").unwrap_or_default());
    let authors = elements(&value["authors"]).filter_map(|author| author.as_str().map(str::to_owned));
    Package {
        name: text("name").unwrap_or_default(),
        version: text("version").unwrap_or_default(),
        folder: manifest.parent().unwrap_or(&manifest).to_owned(),
        authors: authors.collect(),
        license: text("license"),
        source: text("source"),
        features: features.filter(|name| *name != "default").cloned().collect(),
        benches: benches.filter_map(|target| target["name"].as_str().map(str::to_owned)).collect(),
    }
}

fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The features with which each dependency of a program is compiled, from lines such as `libc v0.2.191 default,std`.
pub(crate) fn features_of(program: &str) -> Result<BTreeMap<String, BTreeSet<String>>, String> {
    let tree = ["tree", "-p", program, "-e", "normal,no-proc-macro", "--prefix", "none", "-f", "{p} {f}"];
    let output = cargo(&tree).output().map_err(|error| format!("cargo tree cannot be run: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo tree failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(by_package(&String::from_utf8_lossy(&output.stdout)))
}

/// The texts of features of each package in the output of `cargo tree`, without the packages of the workspace.
fn by_package(tree: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in tree.lines().map(|line| line.trim_end_matches(" (*)")).filter(|line| !line.contains('(')) {
        let mut words = line.splitn(3, ' ');
        if let (Some(name), Some(version)) = (words.next(), words.next()) {
            let features = words.next().unwrap_or("").trim().to_owned();
            found.entry(format!("{name} {version}")).or_default().insert(features);
        }
    }
    found
}

/// One message for each dependency that two programs compile with other features.
pub(crate) fn compiled_twice(programs: &[&str]) -> Result<Vec<String>, String> {
    let all = programs.iter().map(|program| features_of(program)).collect::<Result<Vec<_>, _>>()?;
    let mut messages = Vec::new();
    for (i, (first, own)) in programs.iter().zip(&all).enumerate() {
        for (second, others) in programs.iter().zip(&all).skip(i + 1) {
            let differ = own.iter().filter_map(|(package, features)| {
                let other = others.get(package).filter(|other| *other != features)?;
                Some(format!("{package}: {first} has {features:?}, {second} {other:?}"))
            });
            messages.extend(differ);
        }
    }
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_read_from_a_tree() {
        let tree = "karhunen-cli v0.2.0 (/somewhere) default\nlibc v0.2.1 std,default\nlibc v0.2.1 std,default (*)\nmatches v0.1.0 \n";
        let found = by_package(tree);
        assert_eq!(found.len(), 2);
        assert_eq!(found["libc v0.2.1"], BTreeSet::from(["std,default".to_owned()]));
        assert_eq!(found["matches v0.1.0"], BTreeSet::from([String::new()]));
    }
}
