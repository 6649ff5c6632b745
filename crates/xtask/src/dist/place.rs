//! Folders of packages and of their builds, the version, and the time that archives bear.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python::Environment;
use crate::workspace::root;

/// The version of every package: `workspace.package.version` of `Cargo.toml`.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Variables that change the code which compilers make.
const FLAGS: [&str; 9] = [
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CFLAGS",
    "HOST_CFLAGS",
    "TARGET_CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
];

/// The folders that the parts share.
pub(super) struct Place {
    /// `target/dist`, which holds packages only.
    pub(super) out: PathBuf,
    /// `target/dist-build`, which holds what builds leave.
    pub(super) work: PathBuf,
    /// Environment of maturin and zig.
    tools: Environment,
}

impl Place {
    /// Makes the folders and the environment; empties the folder of packages if `empty`.
    pub(super) fn new(empty: bool) -> Result<Self, String> {
        let out = root().join("target/dist");
        let work = root().join("target/dist-build");
        if empty {
            remove(&out)?;
        }
        for folder in [&out, &work] {
            fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let tools = Environment::new("dist");
        tools.prepare()?;
        Ok(Self { out, work, tools })
    }

    /// A program of the environment of tools, in the folder `python`. Its folder comes first in the search path, as zig
    /// is found through it.
    pub(super) fn tool(&self, program: &str) -> Result<Command, String> {
        let mut command = self.tools.command(program);
        let bin = Path::new(command.get_program()).parent().map(Path::to_owned).unwrap_or_default();
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(bin).chain(std::env::split_paths(&rest));
        command.env("PATH", std::env::join_paths(path).map_err(|error| error.to_string())?);
        Ok(command)
    }

    /// An emptied folder for the builds of a part.
    pub(super) fn emptied(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.work.join(name);
        remove(&folder)?;
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(folder)
    }
}

/// Lets nothing but `rustflags` decide which code a command compiles to. These flags also replace the flags of cargo's
/// configuration files.
pub(super) fn plain<'a>(command: &'a mut Command, rustflags: &str) -> &'a mut Command {
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        let of_profile = name_text.starts_with("CARGO_PROFILE_") || name_text.ends_with("_RUSTFLAGS");
        if of_profile || name_text.starts_with("CFLAGS_") || FLAGS.contains(&&*name_text) {
            command.env_remove(&name);
        }
    }
    command.env("RUSTFLAGS", rustflags).env("CARGO_INCREMENTAL", "0")
}

/// Removes a folder, if there is one.
pub(super) fn remove(folder: &Path) -> Result<(), String> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    Ok(())
}

/// The only file of a folder.
pub(super) fn only_file(folder: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    match files.as_slice() {
        [file] => Ok(file.clone()),
        _ => Err(format!("{} holds {} files, not 1", folder.display(), files.len())),
    }
}

/// Copies a file into a folder; returns its name and size.
pub(super) fn publish(file: &Path, folder: &Path) -> Result<(String, u64), String> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let size = fs::copy(file, folder.join(&name)).map_err(|error| format!("{name}: {error}"))?;
    Ok((name, size))
}

/// Seconds since 1970 that all files of archives bear: `SOURCE_DATE_EPOCH`, else the time of the last commit, or 1980.
pub(super) fn epoch() -> u64 {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok();
    let committed = || {
        let mut git = Command::new("git");
        let output = git.current_dir(root()).args(["log", "-1", "--format=%ct"]).output().ok()?;
        String::from_utf8(output.stdout).ok()
    };
    given.or_else(committed).and_then(|text| text.trim().parse().ok()).unwrap_or(315_532_800)
}

/// A size as people read it.
pub(super) fn megabytes(bytes: u64) -> String {
    #[allow(clippy::cast_precision_loss)]
    let size = bytes as f64 / 1e6;
    format!("{size:.1} MB")
}
