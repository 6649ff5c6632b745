//! `cargo xtask dist [PART …]`: packages for those without a compiler, into `target/dist`, each tried in a clean
//! environment. Nothing is skipped silently: the last lines of the output list every package with its size and what was
//! tried, or the reason why it was not made.

mod archive;
mod checksums;
mod conda;
mod container;
mod elf;
mod limits;
mod notices;
mod outcome;
mod place;
mod program;
mod sdist;
mod targets;
mod trial;
mod versions;
mod wheel;

use std::process::ExitCode;

use outcome::{Line, Outcome};
use place::Place;

type Part = (&'static str, fn(&Place) -> Vec<Line>);

/// The container and the conda recipe are made from the program and the source distribution.
const PARTS: [Part; 5] = [
    ("wheels", wheel::make),
    ("sdist", sdist::make),
    ("programs", program::make),
    ("container", container::make),
    ("conda", conda::make),
];

/// The names of the parts.
pub(crate) fn names() -> Vec<&'static str> {
    PARTS.iter().map(|(name, _)| *name).collect()
}

/// Makes the named parts, or all if none is named, which empties `target/dist` first.
pub(crate) fn main(only: &[String]) -> ExitCode {
    if let Some(unknown) = only.iter().find(|name| !names().contains(&name.as_str())) {
        eprintln!("there is no part `{unknown}`; the parts are {}", names().join(", "));
        return ExitCode::from(2);
    }
    match make(only) {
        Ok(lines) => {
            println!();
            for line in &lines {
                println!("{line}");
            }
            let failed = lines.iter().any(|line| matches!(line.outcome, Outcome::Failed(_)));
            if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn make(only: &[String]) -> Result<Vec<Line>, String> {
    if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) {
        return Err(
            "packages are made on Linux on x86-64; elsewhere `maturin build --release` in the folder python \
                    makes a wheel for this machine"
                .to_owned(),
        );
    }
    versions::agree()?;
    let place = Place::new(only.is_empty())?;
    let mut lines = Vec::new();
    for (name, part) in PARTS {
        if only.is_empty() || only.iter().any(|o| o == name) {
            println!("\n==> {name}");
            lines.extend(part(&place));
        }
    }
    lines.push(Line::of("SHA256SUMS", checksums::write(&place.out).map(Outcome::Made)));
    Ok(lines)
}
