//! Temporary files next to their targets: locked while their process lives, removed by a later run once it is dead.
//!
//! The name identifies the running system, the process, and karhunen: `.karhunen-1f0c2a9b-4711-x8Kq2D.tmp`. A file
//! without a lock belongs to a dead process; this also holds for a folder shared by several machines, if the file
//! system shares locks. If it does not, locks of another machine are invisible, so files of another running system
//! are kept for a day.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tempfile::NamedTempFile;

const PREFIX: &str = ".karhunen-";
const SUFFIX: &str = ".tmp";
/// Time since the last change after which files of another running system are removed.
const FOREIGN: Duration = Duration::from_hours(24);
/// Maximum number of attempts to create a file while other runs remove dead files.
const ATTEMPTS: usize = 16;

/// Identifies this running system among others and among its own restarts.
static SYSTEM: LazyLock<String> = LazyLock::new(|| {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let id: String = id.chars().filter(char::is_ascii_hexdigit).take(8).collect();
    if id.is_empty() { "0".to_owned() } else { id }
});

/// A new file in `folder`, locked, under a name that no other file has.
///
/// # Errors
/// Errors of the system.
pub(crate) fn create(folder: &Path) -> std::io::Result<NamedTempFile> {
    std::fs::metadata(folder)?;
    let prefix = format!("{PREFIX}{}-{}-", *SYSTEM, std::process::id());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The system subtracts the user's umask.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    for _ in 0..ATTEMPTS {
        // Only the kind: the error itself shows a name that the user did not give.
        let file = builder.tempfile_in(folder).map_err(|error| std::io::Error::from(error.kind()))?;
        match file.as_file().try_lock() {
            // Another run may have removed the file before it was locked.
            Ok(()) if file.path().exists() => return Ok(file),
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            // A file system without locks.
            Err(TryLockError::Error(_)) => return Ok(file),
        }
    }
    Err(std::io::Error::other("other runs take every temporary file for one of a dead process"))
}

/// Removes the files of dead processes from a folder, once per process; `own` are the files of this process.
pub(crate) fn sweep_once(folder: &Path, own: &[PathBuf]) {
    static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if SWEPT.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned()) {
        sweep(folder, own);
    }
}

fn sweep(folder: &Path, own: &[PathBuf]) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some((system, _)) = owner(&name) else { continue };
        let (ours, path) = (system == *SYSTEM, entry.path());
        // On some file systems, locks do not protect a process from itself, and in a container every process may
        // have the same number.
        if own.contains(&path) || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let Ok(file) = File::options().read(true).write(true).open(&path) else { continue };
        if file.try_lock().is_ok() && (ours || untouched(&file)) {
            // If the file cannot be removed, a later run may be able to.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The system and the process in the name of a temporary file.
fn owner(name: &OsStr) -> Option<(String, u32)> {
    let name = name.to_str()?.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let mut parts = name.splitn(3, '-');
    let (system, process, _) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?);
    Some((system.to_owned(), process))
}

fn untouched(file: &File) -> bool {
    let modified = file.metadata().and_then(|metadata| metadata.modified()).ok();
    modified.and_then(|then| SystemTime::now().duration_since(then).ok()).is_some_and(|age| age > FOREIGN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn files_of_the_dead_go_and_files_of_the_living_and_of_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let own = create(folder.path()).unwrap();
        let (dead, living) =
            (format!(".karhunen-{}-1-dead00.tmp", *SYSTEM), format!(".karhunen-{}-1-alive0.tmp", *SYSTEM));
        let others =
            [".karhunen-x8Kq2D", ".karhunen-ffffffff-1-other0.tmp", ".karhunen-notes.tmp", "data.csv"];
        for name in [dead.as_str(), &living].into_iter().chain(others) {
            std::fs::write(at(name), b"x").unwrap();
        }
        let held = File::options().write(true).open(at(&living)).unwrap();
        held.try_lock().unwrap();
        let namesake = at(&format!(".karhunen-{}-{}-dead01.tmp", *SYSTEM, std::process::id()));
        std::fs::write(&namesake, b"x").unwrap();
        sweep(folder.path(), &[own.path().to_owned()]);
        assert!(!at(&dead).exists() && !namesake.exists());
        assert!(own.path().exists() && at(&living).exists());
        assert!(others.iter().all(|name| at(name).exists()), "{:?}", names(folder.path()));
        // Files of another machine, or of this one before a restart, after a day.
        let old = File::options().write(true).open(at(others[1])).unwrap();
        old.set_modified(SystemTime::now() - Duration::from_hours(25)).unwrap();
        drop((old, held));
        sweep(folder.path(), &[own.path().to_owned()]);
        assert!(!at(others[1]).exists() && !at(&living).exists());
        drop(own);
        assert_eq!(names(folder.path()), [".karhunen-notes.tmp", ".karhunen-x8Kq2D", "data.csv"]);
    }
}
