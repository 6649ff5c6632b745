//! Archives of the static program, with manual pages, completions and licences, laid out as below `/usr/local`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::elf::Needs;
use super::limits::not_static;
use super::outcome::{Line, Outcome};
use super::place::{Place, VERSION, epoch, megabytes, plain};
use super::targets::{Libc, TARGETS, Target};
use super::trial::{self, Bare};
use super::{archive, notices};
use crate::python::run;
use crate::workspace::{cargo, root};

/// Shells with completions, and the files where they look for them.
const COMPLETIONS: [(&str, &str); 5] = [
    ("bash", "share/bash-completion/completions/karhunen"),
    ("zsh", "share/zsh/site-functions/_karhunen"),
    ("fish", "share/fish/vendor_completions.d/karhunen.fish"),
    ("elvish", "share/elvish/lib/karhunen.elv"),
    ("powershell", "share/powershell/karhunen.ps1"),
];

const DOCUMENTS: &str = "share/doc/karhunen";

/// An emulator, and a processor of the lowest level of x86-64, which knows neither SSSE3 nor AVX.
const OLDEST: [&str; 3] = ["qemu-x86_64", "-cpu", "Opteron_G1"];

/// Builds an archive for every system whose standard library is installed; tries the one for this machine, unpacked.
pub(super) fn make(place: &Place) -> Vec<Line> {
    let mut lines = Vec::new();
    for target in &TARGETS {
        let Some(name) = target.program else { continue };
        let name = format!("karhunen-{VERSION}-{name}");
        let outcome =
            target.missing().map_or_else(|| build(place, target, &name), |why| Ok(Outcome::Skipped(why)));
        let made = matches!(outcome, Ok(Outcome::Made(_)));
        lines.push(Line::of(&format!("{name}.tar.gz"), outcome));
        if made && target.runs_here() {
            lines.push(Line::of(&format!("{name} on the oldest x86-64"), on_oldest(place, &name)));
        }
    }
    lines
}

/// The folder that an archive holds, as it was packed.
pub(super) fn contents(place: &Place, target: &Target) -> Option<PathBuf> {
    Some(place.work.join("archives").join(format!("karhunen-{VERSION}-{}", target.program?)))
}

fn build(place: &Place, target: &Target, name: &str) -> Result<Outcome, String> {
    let program = compile(place, target)?;
    let bytes = fs::read(&program).map_err(|error| format!("{}: {error}", program.display()))?;
    let problems = not_static(&Needs::of(&bytes)?);
    if !problems.is_empty() {
        return Err(format!("the program {}", problems.join("; it ")));
    }
    let folder = place.emptied(&format!("archives/{name}"))?;
    copy(&program, &folder.join("bin/karhunen"))?;
    documents(&folder, target)?;
    // Pages and completions come from the program itself; one for another processor cannot be asked.
    if target.runs_here() {
        let bare = Bare::new(&program, &[])?;
        let pages = folder.join("share/man/man1");
        fs::create_dir_all(&pages).map_err(|error| format!("{}: {error}", pages.display()))?;
        bare.prints(&["man", &pages.to_string_lossy()])?;
        for (shell, file) in COMPLETIONS {
            write(&folder.join(file), bare.prints(&["completions", shell])?.as_bytes())?;
        }
    }
    let packed = place.out.join(format!("{name}.tar.gz"));
    archive::pack(&folder, &packed, epoch())?;
    let tried = if target.runs_here() {
        unpacked(place, name, &[])?;
        "no dynamic section; tried, unpacked, with an empty environment"
    } else {
        "no dynamic section; not tried, without manual pages and completions: this machine cannot run it"
    };
    let size = fs::metadata(&packed).map_err(|error| error.to_string())?.len();
    let whole = megabytes(bytes.len() as u64);
    Ok(Outcome::Made(format!("{}, program {whole}; {tried}", megabytes(size))))
}

/// Compiles the static program: with glibc's static library by the linker of this machine, else by zig.
fn compile(place: &Place, target: &Target) -> Result<PathBuf, String> {
    let flags =
        format!("-C target-cpu={} -C target-feature=+crt-static -C relocation-model=static", target.cpu);
    let options =
        ["--release", "--locked", "--quiet", "--package", "karhunen-cli", "--target", target.triple];
    let folder = place.work.join("program");
    let mut command = match target.libc {
        Libc::Glibc(..) => cargo(&["build"]),
        Libc::Musl(..) => {
            let mut zigbuild = place.tool("cargo-zigbuild")?;
            zigbuild.arg("zigbuild").current_dir(root());
            zigbuild
        }
    };
    run(plain(command.args(options), &flags).env("CARGO_TARGET_DIR", &folder))?;
    Ok(folder.join(target.triple).join("release/karhunen"))
}

/// The README and all licences.
fn documents(folder: &Path, target: &Target) -> Result<(), String> {
    let documents = folder.join(DOCUMENTS);
    for name in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&root().join(name), &documents.join(name))?;
    }
    let notices = notices::notices("karhunen-cli", target.triple)?;
    write(&documents.join("LICENSE-DEPENDENCIES"), notices.as_bytes())?;
    copy(&notices::of_rust()?, &documents.join("COPYRIGHT-library.html"))?;
    if matches!(target.libc, Libc::Glibc(..)) {
        for name in ["glibc.md", "LGPL-2.1.txt"] {
            copy(&root().join("packaging/licences").join(name), &documents.join(name))?;
        }
    }
    Ok(())
}

/// Tries the program of an archive, unpacked in a temporary folder.
fn unpacked(place: &Place, name: &str, before: &[&OsStr]) -> Result<(), String> {
    let folder = trial::folder()?;
    archive::unpack(&place.out.join(format!("{name}.tar.gz")), folder.path())?;
    Bare::new(&folder.path().join(name).join("bin/karhunen"), before)?.try_all()
}

/// Tries the program where an emulator refuses the instructions of newer processors.
fn on_oldest(place: &Place, name: &str) -> Result<Outcome, String> {
    let [emulator, ..] = OLDEST;
    let Some(path) = on_path(emulator) else {
        return Ok(Outcome::Skipped(format!(
            "{emulator} is not installed (the package qemu-user of Debian)"
        )));
    };
    let before = [path.as_os_str(), OsStr::new(OLDEST[1]), OsStr::new(OLDEST[2])];
    unpacked(place, name, &before)?;
    Ok(Outcome::Made(format!("tried with `{}`", OLDEST.join(" "))))
}

/// The path of a program that is installed here.
pub(super) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found =
        std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())?;
    Command::new(&found).arg("--version").output().is_ok().then_some(found)
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    write(to, &fs::read(from).map_err(|error| format!("{}: {error}", from.display()))?)?;
    let permissions = fs::metadata(from).map_err(|error| error.to_string())?.permissions();
    fs::set_permissions(to, permissions).map_err(|error| format!("{}: {error}", to.display()))
}

fn write(to: &Path, bytes: &[u8]) -> Result<(), String> {
    let written = || {
        fs::create_dir_all(to.parent().unwrap_or(to))?;
        fs::write(to, bytes)
    };
    written().map_err(|error: std::io::Error| format!("{}: {error}", to.display()))
}
