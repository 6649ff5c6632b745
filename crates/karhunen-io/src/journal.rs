//! Publishes several files together, even if the process dies in between.
//!
//! A journal in the folder lists the renames before the first and is removed after the last. The next process that
//! reads or writes in that folder and finds the journal of a dead process completes its renames: so all files come
//! from one run. The folders are locked meanwhile, so that runs writing the same files take turns.
//!
//! If the outputs are in several folders, the first holds the journal and each of the others a note that points to
//! it; the set is published as soon as the journal is complete.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::{Cause, Error, Result, temporaries};

const JOURNAL: &str = ".karhunen-journal";
const FIRST: &str = "karhunen journal 2";
const LAST: &str = "end";
/// Maximum number of bytes of a journal.
const LONGEST: u64 = 1 << 20;
/// Maximum time to wait for another run.
const PATIENCE: Duration = Duration::from_secs(10);

/// A file and its destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rename {
    pub(crate) from: PathBuf,
    pub(crate) to: PathBuf,
}

/// A rename listed in a journal, and the previous [`state`] of its target.
#[derive(Debug, PartialEq, Eq)]
struct Listed {
    rename: Rename,
    before: String,
}

/// The content of a journal.
#[derive(Debug, PartialEq, Eq)]
enum Journal {
    /// The renames of a set.
    Renames(Vec<Listed>),
    /// The folder that contains the journal.
    Elsewhere(PathBuf),
}

/// Folders locked for publishing while this value exists.
#[derive(Debug)]
pub(crate) struct Folders {
    folders: Vec<PathBuf>,
    /// The locks obtained; not all file systems support them.
    locks: Vec<File>,
}

impl Folders {
    /// Locks the folders of `targets`, always in the same order, and completes the sets of dead processes there.
    pub(crate) fn of<'a>(targets: impl Iterator<Item = &'a Path>) -> Self {
        let folders: BTreeSet<PathBuf> = targets.map(folder_of).collect();
        let mut held = Self { folders: folders.into_iter().collect(), locks: Vec::new() };
        for folder in &held.folders {
            if let Some(lock) = lock(folder) {
                held.locks.push(lock);
                // Readers report a set that cannot be completed.
                let _ = complete(folder);
            }
        }
        held
    }

    /// Makes the renames, all or none as seen by later runs. `rename` makes one.
    ///
    /// # Errors
    /// An error of the journal, before any rename; or the first error of `rename`, after the renames before it.
    pub(crate) fn publish(
        &self,
        renames: &[Rename],
        mut rename: impl FnMut(usize) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        if renames.len() < 2 {
            return (0..renames.len()).try_for_each(rename);
        }
        let begun = self.begin(renames);
        let outcome = begun.and_then(|()| (0..renames.len()).try_for_each(&mut rename));
        self.folders.iter().for_each(|folder| sync(folder));
        // The journal is removed first: a note without a journal means that nothing is left to do.
        for folder in &self.folders {
            let _ = std::fs::remove_file(folder.join(JOURNAL));
        }
        outcome
    }

    fn begin(&self, renames: &[Rename]) -> std::io::Result<()> {
        let Some((first, others)) = self.folders.split_first() else { return Ok(()) };
        for other in others {
            write_journal(other, &Journal::Elsewhere(std::path::absolute(first)?))?;
        }
        let near = |path: &Path| match path.parent().is_some_and(|folder| folder == first) {
            true => Ok(path.file_name().map(PathBuf::from).unwrap_or_default()),
            false => std::path::absolute(path),
        };
        let renames = renames.iter().map(|Rename { from, to }| {
            let rename = Rename { from: near(from)?, to: near(to)? };
            Ok::<_, std::io::Error>(Listed { rename, before: state(to) })
        });
        write_journal(first, &Journal::Renames(renames.collect::<std::io::Result<_>>()?))
    }
}

/// Size and modification time of a file, which reveal later writes.
fn state(file: &Path) -> String {
    let of = |metadata: std::fs::Metadata| {
        let changed = metadata.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Some(format!("{} {}", metadata.len(), changed.as_nanos()))
    };
    file.metadata().ok().and_then(of).unwrap_or_else(|| "none".to_owned())
}

/// The canonical folder of a file.
pub(crate) fn folder_of(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned())
}

/// Returns true if a set still has files to be renamed.
pub(crate) fn is_pending(folder: &Path) -> bool {
    folder.join(JOURNAL).symlink_metadata().is_ok()
}

/// Completes the set that contains `path` if its process died, or waits for a live process.
///
/// # Errors
/// [`Cause::Format`] if it cannot be completed here.
pub(crate) fn before_reading(path: &Path) -> Result<()> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = folder_of(&target);
    let journal = folder.join(JOURNAL);
    if journal.symlink_metadata().is_err() {
        return Ok(());
    }
    let lock = lock(&folder);
    let left = match lock {
        Some(_) => complete(&folder),
        None => Err(std::io::Error::other("the folder cannot be locked")),
    };
    let unfinished = journal.symlink_metadata().is_ok() && is_listed(&journal, &target);
    if !unfinished {
        return Ok(());
    }
    let why = left.err().map_or_else(|| "the run was another user's".to_owned(), |error| error.to_string());
    let message = format!(
        "belongs to a set of outputs that a run which was ended did not put in place to the end, and the rest cannot be \
         put there now ({why}); run the command that wrote them again, or remove {}",
        journal.display()
    );
    Err(Error::new(path, Cause::format(message)))
}

/// Tests whether an incomplete set contains this file.
fn is_listed(journal: &Path, target: &Path) -> bool {
    let folder = folder_of(journal);
    match parse(&folder, &content(journal).unwrap_or_default()) {
        Some(Journal::Renames(renames)) => {
            let mut renames = renames.iter().map(|listed| &listed.rename);
            renames.any(|Rename { from, to }| from.exists() && to.file_name() == target.file_name())
        }
        // Reading that folder's files checks its journal.
        Some(Journal::Elsewhere(_)) | None => false,
    }
}

/// Makes the remaining renames of a journal. The folder is locked, so the process that wrote the journal is dead.
fn complete(folder: &Path) -> std::io::Result<()> {
    let path = folder.join(JOURNAL);
    if !is_own(&path) {
        return Ok(());
    }
    match parse(folder, &content(&path)?) {
        Some(Journal::Renames(renames)) => {
            for Listed { rename: Rename { from, to }, before } in renames {
                if !may_rename(folder, &from, &to) {
                    continue;
                }
                if state(&to) != before && from.exists() {
                    // The target was written after the process died and is newer.
                    std::fs::remove_file(from)?;
                    continue;
                }
                match std::fs::rename(from, to) {
                    // This rename was made before.
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                    outcome => outcome?,
                }
            }
        }
        Some(Journal::Elsewhere(first)) if first != folder => {
            let _lock = lock(&first);
            if matches!(
                content(&first.join(JOURNAL)).map(|content| parse(&first, &content)),
                Ok(Some(Journal::Renames(_)))
            ) {
                complete(&first)?;
            }
        }
        // A truncated journal: no rename was made yet.
        _ => {}
    }
    std::fs::remove_file(path)
}

/// Returns whether the journal of `folder` may rename `from` to `to`: `from` must be a temporary file of karhunen
/// beside its target, in this folder or in one whose own note points here. A journal unpacked from an archive
/// cannot rename files elsewhere.
fn may_rename(folder: &Path, from: &Path, to: &Path) -> bool {
    let beside = from.parent().is_some() && from.parent() == to.parent();
    let ours = from.file_name().is_some_and(temporaries::is_ours);
    let agrees = |there: &Path| {
        let note = there.join(JOURNAL);
        let said = content(&note).ok().filter(|_| is_own(&note));
        said.and_then(|said| parse(there, &said)) == Some(Journal::Elsewhere(folder.to_owned()))
    };
    beside && ours && from.parent().is_some_and(|there| there == folder || agrees(there))
}

/// The content of a regular file no larger than a journal.
fn content(journal: &Path) -> std::io::Result<Vec<u8>> {
    let metadata = journal.symlink_metadata()?;
    if metadata.is_file() && metadata.len() <= LONGEST {
        std::fs::read(journal)
    } else {
        Err(std::io::Error::other("this is no journal"))
    }
}

/// Returns true if there is a journal that this user wrote; journals of other users are ignored.
#[cfg(unix)]
fn is_own(journal: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(metadata) = journal.symlink_metadata() else { return false };
    let me = || std::fs::metadata("/proc/self").or_else(|_| tempfile::tempfile()?.metadata());
    metadata.is_file() && me().is_ok_and(|me| me.uid() == metadata.uid())
}

#[cfg(not(unix))]
fn is_own(journal: &Path) -> bool {
    journal.symlink_metadata().is_ok_and(|metadata| metadata.is_file())
}

fn write_journal(folder: &Path, journal: &Journal) -> std::io::Result<()> {
    let mut words: Vec<&std::ffi::OsStr> = vec![FIRST.as_ref()];
    match journal {
        Journal::Renames(renames) => {
            words.push("renames".as_ref());
            words.extend(renames.iter().flat_map(|Listed { rename: Rename { from, to }, before }| {
                [from.as_os_str(), to.as_os_str(), before.as_ref()]
            }));
        }
        Journal::Elsewhere(folder) => words.extend([std::ffi::OsStr::new("elsewhere"), folder.as_os_str()]),
    }
    words.push(LAST.as_ref());
    let mut content = Vec::new();
    for word in words {
        content.extend(word.as_encoded_bytes());
        content.push(0);
    }
    let path = folder.join(JOURNAL);
    if path.symlink_metadata().is_ok() && !is_own(&path) {
        let message = "a run of another user ended before its outputs in this folder were in place; that user's next run \
                       ends it, or remove .karhunen-journal";
        return Err(std::io::Error::other(message));
    }
    // The file is not a journal, or a truncated one.
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = File::create_new(&path)?;
    let written = file.write_all(&content).and_then(|()| file.sync_all());
    if written.is_err() {
        let _ = std::fs::remove_file(&path);
    }
    sync(folder);
    written
}

/// Parses a complete journal; paths are relative to its folder.
fn parse(folder: &Path, content: &[u8]) -> Option<Journal> {
    let words: Vec<&[u8]> = content.strip_suffix(b"\0")?.split(|byte| *byte == 0).collect();
    let [first, kind, rest @ .., last] = words.as_slice() else { return None };
    if *first != FIRST.as_bytes() || *last != LAST.as_bytes() {
        return None;
    }
    let path = |word: &[u8]| Some(folder.join(path_of(word)?));
    match (*kind, rest) {
        (b"elsewhere", [other]) => Some(Journal::Elsewhere(path(other)?)),
        (b"renames", renames) if renames.len() % 3 == 0 => {
            let listed = |words: &[&[u8]]| {
                let rename = Rename { from: path(words[0])?, to: path(words[1])? };
                Some(Listed { rename, before: std::str::from_utf8(words[2]).ok()?.to_owned() })
            };
            renames.chunks_exact(3).map(listed).collect::<Option<_>>().map(Journal::Renames)
        }
        _ => None,
    }
}

#[cfg(unix)]
fn path_of(word: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(word)))
}

#[cfg(not(unix))]
fn path_of(word: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(word).ok().map(PathBuf::from)
}

/// Locks a folder until the file is dropped; `None` without locks in the file system, or after a timeout.
fn lock(folder: &Path) -> Option<File> {
    let file = File::open(folder).ok()?;
    let begin = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Some(file),
            Err(TryLockError::WouldBlock) if begin.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(_) => return None,
        }
    }
}

/// Flushes the names of a folder to the disk, if the system can.
fn sync(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three files that hold `old`, two of them in one folder, and their replacements.
    fn set(root: &Path) -> Vec<Rename> {
        let renames: Vec<Rename> = ["a/m", "a/s.csv", "b/l\u{e9} \n.csv"]
            .iter()
            .enumerate()
            .map(|(at, name)| {
                let to = root.join(name);
                std::fs::create_dir_all(to.parent().unwrap()).unwrap();
                Rename { from: to.with_file_name(format!(".karhunen-0-1-{at}.tmp")), to }
            })
            .collect();
        for Rename { from, to } in &renames {
            std::fs::write(to, b"old").unwrap();
            std::fs::write(from, b"new").unwrap();
        }
        renames
    }

    fn contents(renames: &[Rename]) -> Vec<String> {
        renames.iter().map(|rename| std::fs::read_to_string(&rename.to).unwrap()).collect()
    }

    /// Number of files in the folders of a set.
    fn n_files(renames: &[Rename]) -> usize {
        let folders: BTreeSet<PathBuf> = renames.iter().map(|rename| folder_of(&rename.to)).collect();
        folders.iter().map(|folder| std::fs::read_dir(folder).unwrap().count()).sum()
    }

    fn of(renames: &[Rename]) -> Folders {
        Folders::of(renames.iter().map(|rename| rename.to.as_path()))
    }

    /// A journal as an archive may contain it.
    #[test]
    fn a_journal_has_no_say_elsewhere_or_over_other_files() {
        let root = tempfile::tempdir().unwrap();
        let (here, there) = (root.path().join("here"), root.path().join("there"));
        for folder in [&here, &there] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("mine.txt"), b"mine").unwrap();
        }
        let ours = ".karhunen-0-1-abcdef.tmp";
        for (from, to) in [
            (here.join(ours), there.join("mine.txt")),
            (here.join(ours), here.join("../there/mine.txt")),
            (here.join("payload.txt"), here.join("mine.txt")),
            (there.join(ours), there.join("mine.txt")),
        ] {
            std::fs::write(&from, b"theirs").unwrap();
            let before = state(&to);
            write_journal(&here, &Journal::Renames(vec![Listed { rename: Rename { from, to }, before }]))
                .unwrap();
            before_reading(&here.join("mine.txt")).unwrap();
            for folder in [&here, &there] {
                assert_eq!(std::fs::read(folder.join("mine.txt")).unwrap(), b"mine");
            }
            assert!(!is_pending(&here));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_journal_that_never_ends_is_none() {
        let root = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/zero", root.path().join(JOURNAL)).unwrap();
        before_reading(&root.path().join("data.csv")).unwrap();
    }

    #[test]
    fn what_was_written_after_the_death_of_a_process_stays() {
        let root = tempfile::tempdir().unwrap();
        let renames = set(root.path());
        let folders = of(&renames);
        folders.begin(&renames).unwrap();
        drop(folders);
        std::fs::write(&renames[1].to, b"by hand").unwrap();
        before_reading(&renames[0].to).unwrap();
        assert_eq!(contents(&renames), ["new", "by hand", "new"]);
        // The note in the other folder stays until a process reads there.
        before_reading(&renames[2].to).unwrap();
        assert_eq!(n_files(&renames), 3);
    }

    #[test]
    fn whoever_reads_next_ends_what_a_dead_process_began() {
        for n_made in 0..=3 {
            for reader in 0..3 {
                let root = tempfile::tempdir().unwrap();
                let renames = set(root.path());
                let folders = of(&renames);
                folders.begin(&renames).unwrap();
                for Rename { from, to } in &renames[..n_made] {
                    std::fs::rename(from, to).unwrap();
                }
                // The process dies here and releases its locks.
                drop(folders);
                before_reading(&renames[reader].to).unwrap();
                assert_eq!(contents(&renames), ["new"; 3], "{n_made} renames made, {reader} read");
                // A note in the other folder may stay until a process reads there.
                before_reading(&renames[2].to).unwrap();
                assert_eq!(n_files(&renames), 3);
            }
        }
    }

    #[test]
    fn a_set_is_published_from_the_moment_that_its_journal_is_whole() {
        let root = tempfile::tempdir().unwrap();
        let renames = set(root.path());
        of(&renames).begin(&renames).unwrap();
        let journal = root.path().join("a").join(JOURNAL);
        let whole = std::fs::read(&journal).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&journal, &whole[..length]).unwrap();
            let note = root.path().join("b").join(JOURNAL);
            let elsewhere = std::fs::read(&note);
            before_reading(&renames[length % 3].to).unwrap();
            assert_eq!(contents(&renames), ["old"; 3], "{length} bytes of the journal");
            if let Ok(elsewhere) = elsewhere {
                std::fs::write(note, elsewhere).unwrap();
            }
        }
        std::fs::write(&journal, &whole).unwrap();
        // A writer completes the set as a reader does.
        drop(Folders::of(std::iter::once(renames[2].to.as_path())));
        assert_eq!(contents(&renames), ["new"; 3]);
    }

    #[test]
    fn nothing_is_left_of_a_set_that_was_published_and_a_later_file_is_not_replaced() {
        let root = tempfile::tempdir().unwrap();
        let renames = set(root.path());
        let make = |at: usize| std::fs::rename(&renames[at].from, &renames[at].to);
        of(&renames).publish(&renames, make).unwrap();
        assert_eq!((contents(&renames), n_files(&renames)), (vec!["new".to_owned(); 3], 3));
        // A process dies, then another run writes one of the files alone: its content stays.
        let renames = set(root.path());
        of(&renames).begin(&renames).unwrap();
        let later = [Rename { from: root.path().join("later"), to: renames[1].to.clone() }];
        std::fs::write(&later[0].from, b"later").unwrap();
        of(&later).publish(&later, |_| std::fs::rename(&later[0].from, &later[0].to)).unwrap();
        before_reading(&renames[1].to).unwrap();
        assert_eq!(contents(&renames), ["new", "later", "new"]);
    }

    #[test]
    fn a_failed_rename_ends_the_set_and_leaves_no_journal() {
        let root = tempfile::tempdir().unwrap();
        let renames = set(root.path());
        let fail = |at: usize| match at {
            0 => std::fs::rename(&renames[0].from, &renames[0].to),
            _ => Err(std::io::Error::other("no")),
        };
        assert!(of(&renames).publish(&renames, fail).is_err());
        before_reading(&renames[1].to).unwrap();
        assert_eq!(contents(&renames), ["new", "old", "old"]);
    }

    #[cfg(unix)]
    #[test]
    fn the_journal_of_another_user_renames_nothing_and_its_files_are_not_read() {
        let root = tempfile::tempdir().unwrap();
        let renames = set(root.path());
        of(&renames).begin(&renames).unwrap();
        let journal = root.path().join("a").join(JOURNAL);
        if std::os::unix::fs::chown(&journal, Some(4711), None).is_err() {
            // Only the superuser can create such a file.
            return;
        }
        let message = before_reading(&renames[0].to).unwrap_err().to_string();
        assert!(message.contains("belongs to a set of outputs that a run which was ended"), "{message}");
        assert_eq!(contents(&renames), ["old"; 3]);
        std::fs::write(root.path().join("a/other.csv"), b"1").unwrap();
        before_reading(&root.path().join("a/other.csv")).unwrap();
    }

    #[test]
    fn writers_of_the_same_files_leave_the_files_of_one() {
        let root = tempfile::tempdir().unwrap();
        let targets: Vec<PathBuf> = (0..3).map(|at| root.path().join(format!("t{at}"))).collect();
        for _ in 0..20 {
            std::thread::scope(|scope| {
                for writer in 0..3 {
                    let targets = &targets;
                    scope.spawn(move || {
                        let renames: Vec<Rename> = targets
                            .iter()
                            .enumerate()
                            .map(|(at, to)| Rename {
                                from: to.with_file_name(format!("w{writer}-{at}")),
                                to: to.clone(),
                            })
                            .collect();
                        for rename in &renames {
                            std::fs::write(&rename.from, writer.to_string()).unwrap();
                        }
                        let make = |at: usize| {
                            std::thread::yield_now();
                            std::fs::rename(&renames[at].from, &renames[at].to)
                        };
                        of(&renames).publish(&renames, make).unwrap();
                    });
                }
            });
            let found: BTreeSet<Vec<u8>> = targets.iter().map(|to| std::fs::read(to).unwrap()).collect();
            assert_eq!(found.len(), 1, "{found:?}");
        }
    }
}
