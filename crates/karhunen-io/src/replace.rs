//! Files that appear whole or not at all: written next to the target, then renamed to it.

use std::fs::{File, Metadata};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

use crate::{Error, Result, temporaries};

/// Files not yet renamed.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the files that are being written or wait for [`Staged::commit`]: for a process that ends without
/// returning from its work.
pub fn discard_unfinished() {
    for path in unfinished().drain(..) {
        // If the file cannot be removed, nothing can report it.
        let _ = std::fs::remove_file(path);
    }
}

/// As [`discard_unfinished`], but allocates nothing and does not wait for other threads: for a process without
/// memory. If another thread is changing the list, the files stay, for the next run to remove.
pub fn discard_unfinished_at_once() {
    if let Ok(unfinished) = UNFINISHED.try_lock() {
        for path in unfinished.iter() {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A complete file next to its target. It is removed if dropped without [`Staged::commit`].
#[derive(Debug)]
#[must_use = "the file is removed unless it is committed"]
pub struct Staged {
    /// The path as the user gave it.
    path: PathBuf,
    /// `None` if the target is not a regular file and was written directly.
    temporary: Option<Temporary>,
}

impl Staged {
    /// Renames the file to its target.
    ///
    /// # Errors
    /// As [`publish`]; the target is then unchanged.
    pub fn commit(self) -> Result<()> {
        publish(vec![self], false)
    }
}

/// Renames files to their targets, one after the other in the order given. Files that are write-protected or belong
/// to another user are replaced only with `force`.
///
/// # Errors
/// [`crate::Cause::Io`]: if a file must not be replaced, all targets are unchanged; the system may also refuse a
/// rename, after those before it.
pub fn publish(staged: Vec<Staged>, force: bool) -> Result<()> {
    let files: Vec<(PathBuf, Temporary)> =
        staged.into_iter().filter_map(|Staged { path, temporary }| Some((path, temporary?))).collect();
    let writing = |path: &Path, source| Error::io(path, "writing", source);
    for (path, temporary) in files.iter().filter(|_| !force) {
        check_target(&temporary.target, temporary.keeps_owner).map_err(|source| writing(path, source))?;
    }
    files
        .into_iter()
        .try_for_each(|(path, temporary)| temporary.persist().map_err(|source| writing(&path, source)))
}

/// Checks, before any work, that a file can be written and may be replaced, as [`publish`] does without `force`,
/// and that its folder accepts new files. Standard streams and devices pass.
///
/// # Errors
/// [`crate::Cause::Io`]; with kind `PermissionDenied` if `force` would help.
pub fn check_writable(path: &Path, force: bool) -> Result<()> {
    let writing = |source| Error::io(path, "writing", source);
    match target_of(path).map_err(writing)? {
        Target::Direct(_) | Target::StandardOutput => Ok(()),
        Target::File(target, existing) => {
            let temporary = Temporary::new(target, existing.as_ref()).map_err(|source| {
                // No option makes the folder writable.
                writing(std::io::Error::other(source))
            })?;
            if force {
                Ok(())
            } else {
                check_target(&temporary.target, temporary.keeps_owner).map_err(writing)
            }
        }
    }
}

/// Refuses to replace a write-protected file or a file of another user.
fn check_target(target: &Path, keeps_owner: bool) -> std::io::Result<()> {
    let refuse = |message: &str| Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, message));
    let Ok(metadata) = std::fs::metadata(target) else { return Ok(()) };
    // The superuser could write it, which the protection is meant to prevent.
    if metadata.permissions().readonly() {
        return refuse("the file is write-protected");
    }
    if File::options().write(true).open(target).is_err() {
        return refuse("the file may not be written by this user");
    }
    if keeps_owner {
        Ok(())
    } else {
        refuse("the file belongs to another user or group, and its replacement would not")
    }
}

/// A file next to its target, listed in [`UNFINISHED`] while it exists.
#[derive(Debug)]
struct Temporary {
    file: Option<NamedTempFile>,
    target: PathBuf,
    /// True if it has the owner and the group of the target.
    keeps_owner: bool,
}

impl Temporary {
    /// Creates a file with the permissions, owner and group of the target as far as possible, or with the
    /// defaults.
    fn new(target: PathBuf, existing: Option<&Metadata>) -> std::io::Result<Self> {
        let folder = folder_of(&target);
        let own = unfinished().clone();
        temporaries::sweep_once(&folder, &own);
        // The list stays locked until the file is on it.
        let mut unfinished = unfinished();
        let file = temporaries::create(&folder)?;
        unfinished.push(file.path().to_owned());
        drop(unfinished);
        let keeps_owner = existing.is_none_or(|existing| keep_owner(file.as_file(), existing));
        if let Some(existing) = existing {
            file.as_file().set_permissions(existing.permissions())?;
        }
        Ok(Self { file: Some(file), target, keeps_owner })
    }

    /// Renames the file to the target; the name reaches the disk before the next file takes its place.
    fn persist(mut self) -> std::io::Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let path = file.path().to_owned();
        let outcome = file.persist(&self.target).map(drop).map_err(|error| error.error);
        unfinished().retain(|other| *other != path);
        sync(&folder_of(&self.target));
        outcome
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            unfinished().retain(|other| other != file.path());
        }
    }
}

/// The canonical folder of a file.
fn folder_of(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned())
}

/// Flushes the names of a folder to the disk, if the system can.
fn sync(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// Gives a file the owner and the group of another; returns whether that succeeded.
#[cfg(unix)]
fn keep_owner(file: &File, existing: &Metadata) -> bool {
    use std::os::unix::fs::{MetadataExt, fchown};
    let Ok(new) = file.metadata() else { return false };
    (new.uid(), new.gid()) == (existing.uid(), existing.gid())
        || fchown(file, Some(existing.uid()), Some(existing.gid())).is_ok()
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) -> bool {
    true
}

/// The target of an output path.
enum Target {
    StandardOutput,
    /// A pipe or a device, which is written directly.
    Direct(PathBuf),
    /// A regular file with links resolved, and its metadata if it exists.
    File(PathBuf, Option<Metadata>),
}

/// Follows links, of which the last may point to a file that does not exist yet; `None` for a loop.
fn followed(path: &Path) -> Option<PathBuf> {
    /// The limit of Linux.
    const LINKS: usize = 40;
    let mut target = path.to_owned();
    for _ in 0..LINKS {
        let Ok(next) = std::fs::read_link(&target) else { return Some(target) };
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    None
}

fn target_of(path: &Path) -> std::io::Result<Target> {
    if path.as_os_str() == "-" {
        return Ok(Target::StandardOutput);
    }
    // A link is kept: its target is replaced.
    let target = std::fs::canonicalize(path).or_else(|error| followed(path).ok_or(error))?;
    match std::fs::metadata(&target) {
        Ok(metadata) if metadata.is_dir() => Err(std::io::ErrorKind::IsADirectory.into()),
        Ok(metadata) if !metadata.is_file() => Ok(Target::Direct(target)),
        existing => Ok(Target::File(target, existing.ok())),
    }
}

/// Writes a file through `content` next to the target, which keeps its old content until [`Staged::commit`], and
/// its permissions and owner if it exists. `-` is standard output; standard output and files that are not regular,
/// such as pipes, are written directly.
///
/// # Errors
/// [`crate::Cause::Io`].
pub(crate) fn stage(
    path: &Path,
    content: impl FnOnce(&mut (dyn Write + Send)) -> std::io::Result<()>,
) -> Result<Staged> {
    let writing = |source| Error::io(path, "writing", source);
    let staged = |temporary| Staged { path: path.to_owned(), temporary };
    match target_of(path).map_err(writing)? {
        Target::StandardOutput => {
            write_all(std::io::stdout(), content).map(|()| staged(None)).map_err(writing)
        }
        Target::Direct(target) => {
            let file = File::options().write(true).open(&target).map_err(writing)?;
            write_all(file, content).map(|()| staged(None)).map_err(writing)
        }
        Target::File(target, existing) => {
            let temporary = Temporary::new(target, existing.as_ref()).map_err(writing)?;
            if let Some(file) = &temporary.file {
                write_all(file.as_file(), content).map_err(writing)?;
                // The content must reach the disk before the name does.
                file.as_file().sync_all().map_err(writing)?;
            }
            Ok(staged(Some(temporary)))
        }
    }
}

fn write_all(
    sink: impl Write + Send,
    content: impl FnOnce(&mut (dyn Write + Send)) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut sink = BufWriter::with_capacity(1 << 16, sink);
    content(&mut sink)?;
    sink.flush()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    fn write_file(
        path: &Path,
        content: impl FnOnce(&mut (dyn Write + Send)) -> std::io::Result<()>,
    ) -> Result<()> {
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
    fn permissions_come_from_a_new_file_or_the_old_one() {
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

    #[test]
    fn what_is_write_protected_is_replaced_only_by_force() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("m"), folder.path().join("s.csv"));
        std::fs::write(&path, b"old").unwrap();
        let mut permissions = std::fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&path, permissions).unwrap();
        let message = format!("{}: writing failed: the file is write-protected", path.display());
        assert_eq!(check_writable(&path, false).unwrap_err().to_string(), message);
        assert_eq!(write_file(&path, |sink| sink.write_all(b"new")).unwrap_err().to_string(), message);
        // With standard output in the set, no file is replaced.
        let both = || {
            [&other, &path]
                .map(|path| stage(path, |sink| sink.write_all(b"new")).unwrap())
                .into_iter()
                .collect()
        };
        assert_eq!(publish(both(), false).unwrap_err().to_string(), message);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert!(!other.exists());
        check_writable(&path, true).unwrap();
        publish(both(), true).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert!(std::fs::metadata(&path).unwrap().permissions().readonly());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn the_owner_stays_where_it_can() {
        use std::os::unix::fs::{MetadataExt, chown};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m");
        std::fs::write(&path, b"old").unwrap();
        // Only the superuser can change the owner of files.
        if chown(&path, Some(4711), Some(4712)).is_ok() {
            write_file(&path, |sink| sink.write_all(b"new")).unwrap();
            let metadata = std::fs::metadata(&path).unwrap();
            assert_eq!((metadata.uid(), metadata.gid()), (4711, 4712));
        }
        let message = check_target(&path, false).unwrap_err().to_string();
        assert_eq!(message, "the file belongs to another user or group, and its replacement would not");
    }

    #[test]
    fn what_cannot_be_written_is_known_before_the_work() {
        let folder = tempfile::tempdir().unwrap();
        check_writable(&folder.path().join("new"), false).unwrap();
        check_writable(Path::new("-"), false).unwrap();
        check_writable(Path::new("/dev/null"), false).unwrap();
        assert!(check_writable(folder.path(), true).is_err());
        assert!(check_writable(&folder.path().join("no/m"), true).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
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
