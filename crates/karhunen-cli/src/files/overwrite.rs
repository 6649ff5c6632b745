//! Decides which files a command may overwrite: without `--force`, none that holds something.

use std::path::Path;

use karhunen_io::{Cause, Existing, SavedIncremental, check_writable};

use crate::error::{Failure, Result};
use crate::files::outputs::check_standard_output;

/// The help of `--force`.
pub(crate) const FORCE: &str = "Overwrite existing files, even protected ones";

/// An output: the option and its path.
pub(crate) type Output<'a> = (&'a str, Option<&'a Path>);

/// Refuses, before any work, outputs that cannot be written, and, without `force`, files that exist. Empty files,
/// streams and devices hold nothing that could be lost.
///
/// # Errors
/// [`Failure::Usage`] for an existing file, [`Failure::Protected`] for a protected file,
/// [`Failure::File`] for a file that cannot be written, [`Failure::StandardOutput`] if standard output is closed.
pub(crate) fn check(outputs: &[Output<'_>], force: bool) -> Result<()> {
    for &(option, path) in outputs {
        let Some(path) = path else { continue };
        if path.as_os_str() == "-" {
            check_standard_output()?;
            continue;
        }
        writable(path, force)?;
        if !force && std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0) {
            return Err(exists(option, path));
        }
    }
    Ok(())
}

fn exists(option: &str, path: &Path) -> Failure {
    let path = path.display();
    let advice = "the file exists; give another name, or use --force to overwrite it";
    Failure::Usage(format!("{option} {path}: {advice}"))
}

/// Refuses a file that cannot be written or, without `force`, is protected.
///
/// # Errors
/// [`Failure::Protected`], [`Failure::File`].
fn writable(path: &Path, force: bool) -> Result<()> {
    check_writable(path, force).map_err(|error| match &*error.cause {
        Cause::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied && !force => {
            Failure::Protected(error)
        }
        _ => error.into(),
    })
}

/// Refuses an existing file for checkpoints from which the fit would not resume.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_checkpoint(path: &Path, resume: bool, force: bool) -> Result<()> {
    // Every checkpoint replaces the previous one, so `force` cannot lift a protection.
    check_writable(path, false)?;
    if resume || force {
        return Ok(());
    }
    match Existing::of(path)? {
        Existing::Nothing => Ok(()),
        Existing::Checkpoint => Err(Failure::Usage(format!(
            "--checkpoint {}: the file exists and holds the checkpoint of a fit; continue it with --resume, start again \
             and overwrite it with --force, or give another name",
            path.display()
        ))),
        Existing::Model(_) | Existing::Other => Err(exists("--checkpoint", path)),
    }
}

/// Tests whether a file holds a state that `update` continues; false if there is no such file.
///
/// # Errors
/// [`Failure::Usage`] for other content; [`Failure::File`] for a file that cannot be read or replaced.
pub(crate) fn holds_state(path: &Path) -> Result<bool> {
    check_writable(path, false)?;
    match Existing::of(path)? {
        Existing::Nothing => Ok(false),
        Existing::Model(kind) if kind == SavedIncremental::KIND => Ok(true),
        _ => Err(Failure::Usage(format!(
            "{}: the file is not a state of `karhunen update`; give the name of a state, or of a new file",
            path.display()
        ))),
    }
}
