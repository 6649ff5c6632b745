//! Wheels: one for each system, for every Python from 3.10 on (the stable ABI). zig links them for an older libc.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use zip::ZipArchive;

use super::elf::Needs;
use super::limits::{beyond, described};
use super::notices;
use super::outcome::{Line, Outcome};
use super::place::{Place, VERSION, megabytes, only_file, plain, publish};
use super::targets::{TARGETS, Target};
use super::trial;
use crate::python::run;

/// Files that a wheel holds in addition to its modules, below `karhunen-VERSION.dist-info`.
const METADATA: [&str; 4] =
    ["METADATA", "licenses/LICENSE-MIT", "licenses/LICENSE-APACHE", "licenses/LICENSE-DEPENDENCIES"];

/// The extension module within a wheel.
const MODULE: &str = "karhunen/_core.abi3.so";

/// Builds a wheel for every system whose standard library is installed; tries the one for this machine.
pub(super) fn make(place: &Place) -> Vec<Line> {
    let one = |target: &Target| match target.missing() {
        Some(why) => Ok(Outcome::Skipped(why)),
        None => build(place, target),
    };
    TARGETS.iter().map(|target| Line::of(&format!("wheel for {}", target.triple), one(target))).collect()
}

fn build(place: &Place, target: &Target) -> Result<Outcome, String> {
    let folder = place.emptied("wheels")?;
    let notices = notices::PythonLicences::python(target.triple)?;
    let mut maturin = place.tool("maturin")?;
    maturin
        .args(["build", "--release", "--locked", "--quiet", "--zig", "--strip"])
        .args(["--target", target.triple, "--compatibility", &target.libc.tag(), "--out"])
        .arg(&folder)
        .env("CARGO_TARGET_DIR", place.work.join("wheel"));
    run(plain(&mut maturin, &format!("-C target-cpu={}", target.cpu)))?;
    drop(notices);
    let wheel = only_file(&folder)?;
    let needs = Needs::of(&contents(&wheel)?)?;
    let problems = beyond(&needs, target.libc);
    if !problems.is_empty() {
        return Err(format!("its module {}", problems.join("; it ")));
    }
    run(place.tool("abi3audit")?.args(["--strict", "--summary"]).arg(&wheel))?;
    let tried = if target.installs_here() {
        trial::python_package(&wheel, None)?
    } else {
        "not tried: this machine cannot install it".to_owned()
    };
    let (name, size) = publish(&wheel, &place.out)?;
    let needs = described(&needs);
    Ok(Outcome::Made(format!("{name}, {}; needs {needs}; abi3audit agrees; {tried}", megabytes(size))))
}

/// Checks that the wheel holds its metadata; returns its extension module.
fn contents(wheel: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: zip::result::ZipError| format!("{}: {error}", wheel.display());
    let file = File::open(wheel).map_err(|error| format!("{}: {error}", wheel.display()))?;
    let mut archive = ZipArchive::new(file).map_err(failed)?;
    for name in METADATA {
        archive
            .by_name(&format!("karhunen-{VERSION}.dist-info/{name}"))
            .map_err(|error| format!("the wheel lacks {name}: {error}"))?;
    }
    let mut module = Vec::new();
    let mut entry = archive.by_name(MODULE).map_err(failed)?;
    entry.read_to_end(&mut module).map_err(|error| format!("{MODULE}: {error}"))?;
    Ok(module)
}
