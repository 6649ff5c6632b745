//! The licences of everything that a binary holds, as one text: the packages it was compiled from, and what the
//! repository brings along.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::place::VERSION;
use super::trial::output;
use crate::workspace::{Package, cargo, packages, root};

/// Programs of others in the repository that reports hold.
const BUNDLED: [&str; 3] = ["LICENSE", "NOTICE", "licenses/LICENSE-d3"];

/// First letters of the names of files with licences, in lower case.
const BEGINNINGS: [&str; 6] = ["license", "licence", "copying", "copyright", "notice", "unlicense"];

/// Texts of licences for packages that bring none: the expression of one licence, and its text at the root.
const STANDARD: [(&str, &str); 2] = [("MIT", "LICENSE-MIT"), ("Apache-2.0", "LICENSE-APACHE")];

/// The licences of what a package of the workspace links on a system.
pub(super) fn notices(package: &str, triple: &str) -> Result<String, String> {
    let arguments = ["tree", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}"];
    let tree = output(cargo(&arguments).args(["--package", package, "--target", triple]))?;
    let linked = linked(&String::from_utf8_lossy(&tree.stdout));
    let all = packages()?;
    let is_linked =
        |p: &&Package| p.source.is_some() && linked.contains(&(p.name.clone(), p.version.clone()));
    let linked: Vec<&Package> = all.iter().filter(is_linked).collect();
    text(&linked, bundled()?)
}

/// Names and versions in the output of `cargo tree`, such as `libm v0.2.16` and `syn v2.0.1 (proc-macro) (*)`.
fn linked(tree: &str) -> BTreeSet<(String, String)> {
    let pair = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
    };
    tree.lines().filter_map(pair).collect()
}

/// Texts, each with those it belongs to.
type Texts = BTreeMap<String, BTreeSet<String>>;

/// The list of packages, and each text once.
fn text(linked: &[&Package], mut texts: Texts) -> Result<String, String> {
    let mut list = format!(
        "karhunen {VERSION} holds the following packages, and the standard library of Rust (MIT OR Apache-2.0; the\n\
         file COPYRIGHT-library.html or LICENSE-RUST-LIBRARY.html next to this one names its authors and licences).\n\n"
    );
    for package in linked {
        let Package { name, version, license, .. } = package;
        list.push_str(&format!("{name} {version}: {}\n", license.as_deref().unwrap_or_default()));
        for text in texts_of(package, linked)? {
            texts.entry(text).or_default().insert(format!("{name} {version}"));
        }
    }
    let line = "-".repeat(100);
    for (text, packages) in &texts {
        let packages: Vec<_> = packages.iter().map(String::as_str).collect();
        list.push_str(&format!("\n{line}\nOf {}:\n{line}\n\n{}\n", packages.join(", "), text.trim_end()));
    }
    Ok(list)
}

/// The texts that a package brings; else the texts of a package of the same authors under the same licence; else the
/// standard text of its licence, with its authors.
fn texts_of(package: &Package, linked: &[&Package]) -> Result<Vec<String>, String> {
    let own = own_texts(&package.folder)?;
    if !own.is_empty() {
        return Ok(own);
    }
    let license = package.license.as_deref().unwrap_or_default();
    let related = |other: &&&Package| {
        !package.authors.is_empty() && other.authors == package.authors && other.license == package.license
    };
    for other in linked.iter().filter(related) {
        let texts = own_texts(&other.folder)?;
        if !texts.is_empty() {
            return Ok(texts);
        }
    }
    let (_, file) =
        STANDARD.iter().find(|(name, _)| license.split([' ', '/']).any(|word| word == *name)).ok_or_else(
            || format!("{} {} is under `{license}` and brings no text", package.name, package.version),
        )?;
    let standard = fs::read_to_string(root().join(file)).map_err(|error| format!("{file}: {error}"))?;
    // The first lines of LICENSE-MIT name the authors of karhunen.
    let (_, terms) = standard.split_once("Permission is hereby").unwrap_or(("", &standard));
    let terms = if terms.len() < standard.len() { format!("Permission is hereby{terms}") } else { standard };
    let authors = match package.authors.as_slice() {
        [] => format!("the authors of {}", package.name),
        authors => authors.join(", "),
    };
    Ok(vec![format!("Copyright {authors}\n\n{terms}")])
}

/// The licences in a folder of a package and in the folders directly below, which hold libraries in C.
fn own_texts(folder: &Path) -> Result<Vec<String>, String> {
    let mut files = licences_in(folder)?;
    for entry in entries(folder)?.into_iter().filter(|entry| entry.is_dir()) {
        files.extend(licences_in(&entry)?);
    }
    let read = |file: &PathBuf| {
        let bytes = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(String::from_utf8_lossy(&bytes).replace("\r\n", "\n").trim().to_owned())
    };
    files.iter().map(read).collect()
}

fn licences_in(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let is_licence = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let is_code = [".rs", ".toml", ".c", ".h", ".py"].iter().any(|end| name.ends_with(end));
        path.is_file() && !is_code && BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
    };
    Ok(entries(folder)?.into_iter().filter(is_licence).collect())
}

/// The paths in a folder, sorted.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

fn bundled() -> Result<Texts, String> {
    let folder = root().join("crates/karhunen-report/assets/echarts");
    let mut texts = Texts::new();
    for name in BUNDLED {
        let text = fs::read_to_string(folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
        texts.entry(text).or_default().insert("Apache ECharts, in reports".to_owned());
    }
    Ok(texts)
}

/// The licences of the standard library of Rust, which the compiler brings.
pub(super) fn of_rust() -> Result<PathBuf, String> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let sysroot = PathBuf::from(String::from_utf8_lossy(&sysroot.stdout).trim());
    let file = sysroot.join("share/doc/rust/COPYRIGHT-library.html");
    if file.is_file() { Ok(file) } else { Err(format!("rustc brings no {}", file.display())) }
}

/// Licences in the folder `python`, from where maturin takes them; removed when dropped.
pub(super) struct PythonLicences([PathBuf; 2]);

impl PythonLicences {
    /// Writes the licences of the extension module.
    pub(super) fn python(triple: &str) -> Result<Self, String> {
        let paths = ["LICENSE-DEPENDENCIES", "LICENSE-RUST-LIBRARY.html"]
            .map(|name| root().join("python").join(name));
        let licences = Self(paths);
        let [dependencies, rust] = &licences.0;
        let failed = |error: std::io::Error| format!("{}: {error}", dependencies.display());
        fs::write(dependencies, notices("karhunen-python", triple)?).map_err(failed)?;
        fs::copy(of_rust()?, rust).map_err(failed)?;
        Ok(licences)
    }
}

impl Drop for PythonLicences {
    fn drop(&mut self) {
        for path in &self.0 {
            // It may not have been written.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_versions_are_read_from_trees() {
        let tree =
            "karhunen-cli v0.2.0 (/somewhere)\nlibm v0.2.16\nsyn v2.0.1 (proc-macro)\nlibm v0.2.16 (*)\n\n";
        let found: Vec<_> =
            linked(tree).into_iter().map(|(name, version)| format!("{name}={version}")).collect();
        assert_eq!(found, ["karhunen-cli=0.2.0", "libm=0.2.16", "syn=2.0.1"]);
    }

    fn package(folder: &Path, name: &str, license: &str) -> Package {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).unwrap();
        Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            folder,
            authors: vec!["Ada".to_owned()],
            license: Some(license.to_owned()),
            source: Some("registry".to_owned()),
            features: Vec::new(),
            benches: Vec::new(),
        }
    }

    #[test]
    fn each_text_stands_once_with_its_packages() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| package(folder.path(), name, "MIT"));
        fs::write(a.folder.join("LICENSE-MIT"), "the terms\r\n").unwrap();
        fs::write(b.folder.join("license.rs"), "fn main() {}").unwrap();
        fs::create_dir(b.folder.join("c")).unwrap();
        fs::write(b.folder.join("c/COPYING"), "the terms\n").unwrap();
        let found = text(&[&a, &b], Texts::new()).unwrap();
        assert!(found.contains("a 1.0.0: MIT\nb 1.0.0: MIT\n"), "{found}");
        assert!(found.contains("Of a 1.0.0, b 1.0.0:"), "{found}");
        assert_eq!(found.matches("the terms").count(), 1, "{found}");
        assert!(!found.contains("fn main"), "{found}");
    }

    #[test]
    fn packages_without_a_text_get_one() {
        let folder = tempfile::tempdir().unwrap();
        let alone = package(folder.path(), "alone", "MIT");
        let texts = texts_of(&alone, &[&alone]).unwrap();
        assert!(texts[0].starts_with("Copyright Ada\n\nPermission is hereby granted"), "{texts:?}");

        let [one, other] = ["one", "other"].map(|name| package(folder.path(), name, "BSD-3-Clause"));
        assert!(texts_of(&one, &[&one]).unwrap_err().contains("brings no text"));
        fs::write(other.folder.join("LICENSE"), "three clauses").unwrap();
        assert_eq!(texts_of(&one, &[&one, &other]).unwrap(), ["three clauses"]);
    }
}
