//! Metadata of the workspace from cargo.

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
