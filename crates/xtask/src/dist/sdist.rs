//! The source distribution: all that `pip install` needs to build the package, with cargo and a C compiler.

use super::outcome::{Line, Outcome};
use super::place::{Place, VERSION, megabytes, only_file, publish};
use super::{archive, trial};
use crate::python::run;
use crate::workspace::root;

/// Files without which a build is not a build of the repository.
const NEEDED: [&str; 6] = [
    "Cargo.lock",
    "PKG-INFO",
    "pyproject.toml",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "py_src/karhunen/__init__.py",
];

/// Makes the source distribution, and tries it: unpacked elsewhere, built and installed.
pub(super) fn make(place: &Place) -> Vec<Line> {
    vec![Line::of("source distribution", build(place))]
}

fn build(place: &Place) -> Result<Outcome, String> {
    let folder = place.emptied("sdist")?;
    run(place.tool("maturin")?.args(["sdist", "--out"]).arg(&folder))?;
    let sdist = only_file(&folder)?;
    let unpacked = trial::folder()?;
    archive::unpack(&sdist, unpacked.path())?;
    let source = unpacked.path().join(format!("karhunen-{VERSION}"));
    let missing: Vec<_> = NEEDED.iter().filter(|name| !holds(&source, name)).collect();
    if !missing.is_empty() {
        return Err(format!("it lacks {missing:?}"));
    }
    // Dependencies that the tests have compiled are not compiled again.
    let tried = trial::python_package(&source, Some(&root().join("target")))?;
    let (name, size) = publish(&sdist, &place.out)?;
    Ok(Outcome::Made(format!("{name}, {}; built from its unpacked self, {tried}", megabytes(size))))
}

/// Returns true if a file is there, at the top or in the folder of the package.
fn holds(source: &std::path::Path, name: &str) -> bool {
    source.join(name).is_file() || source.join("python").join(name).is_file()
}
