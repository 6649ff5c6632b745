//! Files that appear whole or not at all: written beside the target, then renamed into its place.

use std::fs::{File, Permissions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

use crate::{Error, Result};

/// Files that are not in their places yet.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the files that were being written or wait for [`Staged::commit`]: for a process that is about to end without
/// returning from what it was doing.
pub fn discard_unfinished() {
    for path in unfinished().drain(..) {
        // Where it cannot be removed there is nobody left to tell.
        let _ = std::fs::remove_file(path);
    }
}

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that is complete and waits beside its place. Dropped without [`Staged::commit`], it is removed.
#[derive(Debug)]
#[must_use = "the file is removed unless it is committed"]
pub struct Staged {
    /// The path as the user gave it.
    path: PathBuf,
    /// Nothing where the target is no ordinary file and was written directly.
    beside: Option<Beside>,
}

impl Staged {
    /// Puts the file in its place.
    ///
    /// # Errors
    /// [`crate::Cause::Io`]; the target is then as it was.
    pub fn commit(self) -> Result<()> {
        match self.beside {
            Some(beside) => beside.persist().map_err(|source| Error::io(&self.path, "writing", source)),
            None => Ok(()),
        }
    }
}

/// A file beside its target, on the list of unfinished ones while it exists.
#[derive(Debug)]
struct Beside {
    file: Option<NamedTempFile>,
    target: PathBuf,
}

impl Beside {
    /// A new file with the permissions of the target, or those of any new file.
    fn new(target: PathBuf, permissions: Option<Permissions>) -> std::io::Result<Self> {
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        // The list is locked until the file is on it.
        let mut unfinished = unfinished();
        let file = temporary_file(folder)?;
        unfinished.push(file.path().to_owned());
        drop(unfinished);
        if let Some(permissions) = permissions {
            file.as_file().set_permissions(permissions)?;
        }
        Ok(Self { file: Some(file), target })
    }

    fn persist(mut self) -> std::io::Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let path = file.path().to_owned();
        let outcome = file.persist(&self.target).map(drop).map_err(|error| error.error);
        unfinished().retain(|other| *other != path);
        outcome
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            unfinished().retain(|other| other != file.path());
        }
    }
}

/// Writes a file through `content`, beside the target, which keeps its old content until [`Staged::commit`] and its
/// permissions if it exists. `-` is the standard output; it, and what is no ordinary file, such as a pipe, is written
/// directly.
///
/// # Errors
/// [`crate::Cause::Io`].
pub(crate) fn stage(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<Staged> {
    let writing = |source| Error::io(path, "writing", source);
    let staged = |beside| Staged { path: path.to_owned(), beside };
    if path.as_os_str() == "-" {
        return write_all(std::io::stdout().lock(), content).map(|()| staged(None)).map_err(writing);
    }
    // A link stays a link: its target is replaced.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let existing = std::fs::metadata(&target).ok();
    if existing.as_ref().is_some_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        let file = File::options().write(true).open(&target).map_err(writing)?;
        return write_all(file, content).map(|()| staged(None)).map_err(writing);
    }
    if existing.as_ref().is_some_and(|metadata| metadata.is_dir()) {
        return Err(writing(std::io::ErrorKind::IsADirectory.into()));
    }
    let beside = Beside::new(target, existing.map(|metadata| metadata.permissions())).map_err(writing)?;
    if let Some(file) = &beside.file {
        write_all(file.as_file(), content).map_err(writing)?;
        // The name must not reach the disk before the content does.
        file.as_file().sync_all().map_err(writing)?;
    }
    Ok(staged(Some(beside)))
}

fn write_all(
    sink: impl Write,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut sink = BufWriter::with_capacity(1 << 16, sink);
    content(&mut sink)?;
    sink.flush()
}

/// A new file in `folder`, under a name that no other file has.
fn temporary_file(folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".karhunen-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Less what the user's mask takes away.
        builder.permissions(Permissions::from_mode(0o666));
    }
    std::fs::metadata(folder)?;
    // The kind alone: the error itself shows a name that the user never gave.
    builder.tempfile_in(folder).map_err(|error| std::io::Error::from(error.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_file(path: &Path, content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
        stage(path, content)?.commit()
    }

    #[test]
    fn a_staged_file_waits_and_is_removed_if_nobody_commits_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scores.csv");
        std::fs::write(&path, b"old").unwrap();
        let staged = stage(&path, |sink| sink.write_all(b"new")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        drop(staged);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        stage(&path, |sink| sink.write_all(b"new")).unwrap().commit().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scores.csv");
        write_file(&path, |sink| sink.write_all(b"old")).unwrap();
        let error = write_file(&path, |sink| {
            sink.write_all(&[0; 1 << 17])?;
            Err(std::io::Error::other("disk full"))
        });
        let message = format!("{}: writing failed: disk full", path.display());
        assert_eq!(error.unwrap_err().to_string(), message);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_those_of_a_new_file_or_of_the_old_one() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (plain, written) = (folder.path().join("plain"), folder.path().join("written"));
        File::create(&plain).unwrap();
        write_file(&written, |sink| sink.write_all(b"1")).unwrap();
        assert_eq!(mode(&written), mode(&plain));
        std::fs::set_permissions(&written, Permissions::from_mode(0o640)).unwrap();
        write_file(&written, |sink| sink.write_all(b"2")).unwrap();
        assert_eq!(mode(&written), 0o640);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_special_files_stay_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        std::fs::write(&target, b"old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        write_file(&link, |sink| sink.write_all(b"new")).unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&target).unwrap(), b"new");
        write_file(Path::new("/dev/null"), |sink| sink.write_all(b"gone")).unwrap();
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn a_folder_that_does_not_exist_is_an_error() {
        let path = Path::new("no/such/folder/scores.csv");
        let message = write_file(path, |_| Ok(())).unwrap_err().to_string();
        assert!(message.starts_with("no/such/folder/scores.csv: writing failed: "), "{message}");
        assert!(!message.contains(".karhunen-"), "{message}");
    }
}
