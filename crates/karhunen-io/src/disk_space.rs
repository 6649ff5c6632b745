//! The free space of a disk, asked for before a temporary copy is written.

use std::path::Path;

use karhunen::memory::size;

use crate::input::copying_failed;
use crate::{Error, Result};

/// Refuses a temporary copy of the content of `path` that `folder` has no space for. On other systems than Unix, nothing
/// is refused before the disk is full.
///
/// # Errors
/// [`crate::Cause::Io`].
pub(crate) fn ask(path: &Path, folder: &Path, bytes: f64) -> Result<()> {
    match free(folder) {
        Some(free) if bytes > free => Err(refused(path, folder, bytes, free)),
        _ => Ok(()),
    }
}

fn refused(path: &Path, folder: &Path, bytes: f64, free: f64) -> Error {
    let message = format!(
        "it needs about {}, and {} are free; give another folder for temporary copies",
        size(bytes),
        size(free)
    );
    copying_failed(path, folder, std::io::Error::new(std::io::ErrorKind::StorageFull, message))
}

/// Bytes that a program may still write to the disk of a folder; `None` if unknown.
#[cfg(unix)]
fn free(folder: &Path) -> Option<f64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail as f64 * disk.f_frsize as f64)
}

#[cfg(not(unix))]
fn free(_: &Path) -> Option<f64> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_copy_beyond_the_free_space_is_refused_with_both() {
        let folder = tempfile::tempdir().unwrap();
        let (path, folder) = (Path::new("x.csv"), folder.path());
        ask(path, folder, 1.0).unwrap();
        let text = ask(path, folder, 1e30).unwrap_err().to_string();
        assert!(text.starts_with("x.csv: writing failed: the temporary copy of its content in "), "{text}");
        assert!(text.contains(": it needs about 1000000000000000000000.0 GB, and "), "{text}");
        assert!(text.ends_with(" are free; give another folder for temporary copies"), "{text}");
        let text = refused(path, folder, 3e9, 1e9).to_string();
        assert!(text.contains("it needs about 3.0 GB, and 1.0 GB are free; "), "{text}");
    }
}
