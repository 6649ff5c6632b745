//! Updates of one state take turns.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use crate::error::{Failure, Result};
use crate::progress::{Progress, check_stop};

/// Time between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until no other update has the state, and keeps others from it while the returned file is open. `None` for a state that
/// does not exist yet, or cannot be opened or locked: reading and writing say why.
///
/// # Errors
/// [`Failure::Stopped`] for an interrupt.
pub(crate) fn turn(state: &Path, progress: &Progress) -> Result<Option<File>> {
    let wait = || {
        loop {
            let Ok(file) = File::open(state) else { return Ok(None) };
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => {
                    check_stop()?;
                    std::thread::sleep(PAUSE);
                }
                // An update replaces the file, and what was locked may be the one before.
                Ok(()) if !is_at(&file, state) => {}
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::Error(_)) => return Ok(None),
            }
        }
    };
    progress.spin(format!("waiting for another update of {}", state.display()), wait)
}

/// Refuses to begin a state that another update has begun meanwhile.
///
/// # Errors
/// [`Failure::Data`].
pub(crate) fn check_new(state: &Path) -> Result<()> {
    if fs::exists(state).unwrap_or(false) {
        return Err(Failure::Data(format!(
            "{}: another update began the state meanwhile; repeat this one, which adds its rows",
            state.display()
        )));
    }
    Ok(())
}

/// True if the path leads to this file.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(file), Ok(there)) => is_same(&file, &there),
        (_, Err(error)) => error.kind() != ErrorKind::NotFound,
        (Err(_), _) => true,
    }
}

#[cfg(unix)]
fn is_same(a: &fs::Metadata, b: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same(_: &fs::Metadata, _: &fs::Metadata) -> bool {
    true
}
