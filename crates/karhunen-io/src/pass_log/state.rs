//! The state of a log during a fit: the places of the records in its file, the passes stored, and the lock of the file.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::path::Path;

use crate::model_file::refused;
use crate::pass_log::records::{KIND, PASS, find_record, record_at};
use crate::{Cause, Error, Result};

/// Names and values of the facts of a fit.
pub(super) type Facts = Vec<(String, String)>;

/// The state of a log.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The version that made the file, and the facts of its fit; `None` before the file exists.
    pub(super) fit: Option<(String, Facts)>,
    /// Byte offsets of the start and end of each record that was not taken yet.
    pub(super) ahead: VecDeque<(u64, u64)>,
    /// End of the last complete record.
    pub(super) end: u64,
    pub(super) n_kept: usize,
    /// The file, locked against other processes from the begin of the fit.
    pub(super) file: Option<LockedFile>,
    /// The write error after which no pass is stored.
    pub(super) failure: Option<String>,
}

/// A file whose lock ends with it. Closing the file is not enough: a process that was forked meanwhile holds a copy of
/// the open file, and with it the lock.
#[derive(Debug)]
pub(super) struct LockedFile(pub(super) File);

impl Drop for LockedFile {
    fn drop(&mut self) {
        // Nothing is locked if the file system has no locks.
        let _ = self.0.unlock();
    }
}

impl State {
    /// Finds the records of a file.
    pub(super) fn read(&mut self, path: &Path, file: &mut File) -> Result<()> {
        let io = |error| Error::io(path, "reading", error);
        let length = file.metadata().map_err(io)?.len();
        let mut begin = 0;
        while let Some((_, end)) = find_record(file, begin, length).map_err(io)? {
            match (record_at(path, file, begin, end), self.fit.is_some()) {
                (Ok(record), false) => {
                    record.check_kind(KIND).map_err(|error| refused(path, error))?;
                    let facts = record.json("fit").map_err(|error| refused(path, error))?;
                    self.fit = Some((record.version, facts));
                }
                (Ok(record), true) => {
                    record.check_kind(PASS).map_err(|error| refused(path, error))?;
                    self.ahead.push_back((begin, end));
                }
                // The last record may be incomplete behind its length.
                (Err(_), true) if end == length => break,
                (Err(error), _) => return Err(error),
            }
            begin = end;
        }
        if self.fit.is_none() {
            let message = "is not a checkpoint of passes; give one written by --checkpoint, or a new name";
            return Err(Error::new(path, Cause::format(message.to_owned())));
        }
        (self.end, self.n_kept) = (begin, self.ahead.len());
        Ok(())
    }

    /// Opens and locks the file for the time of the fit.
    ///
    /// # Errors
    /// [`karhunen::Error::Read`] if another process holds the lock, or has written another fit or another pass into it.
    pub(super) fn lock(&mut self, path: &Path) -> karhunen::Result<()> {
        if self.file.is_some() {
            return Ok(());
        }
        let opened = OpenOptions::new().read(true).write(true).open(path);
        let mut file = match opened {
            Ok(file) => LockedFile(file),
            Err(error) => {
                self.failure = Some(Error::io(path, "writing", error).to_string());
                return Ok(());
            }
        };
        let mut found = Self::default();
        // File systems without locks are used without.
        let is_locked = matches!(file.0.try_lock(), Err(std::fs::TryLockError::WouldBlock));
        let is_other = is_locked
            || found.read(path, &mut file.0).is_err()
            || (&found.fit, found.end) != (&self.fit, self.end);
        if is_other {
            let message = "is in use by another fit; wait for its end, or give another checkpoint";
            return Err(as_library(Error::new(path, Cause::format(message.to_owned()))));
        }
        self.file = Some(file);
        Ok(())
    }
}

/// Converts an error of the file to an error of the fit.
pub(super) fn as_library(error: Error) -> karhunen::Error {
    karhunen::Error::Read { row: None, source: Box::new(error) }
}

#[cfg(test)]
mod tests {
    use karhunen::exec::PassLog;

    use crate::PassLogFile;
    use crate::pass_log::tests::{begun, facts, first_values, three_passes};

    #[test]
    fn two_fits_do_not_share_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        let first = begun(&path, false);
        let second = PassLogFile::new(&path, true).unwrap();
        let error = second.begin(&facts(0)).unwrap_err().to_string();
        assert!(error.contains("is in use by another fit"), "{error}");
        assert_eq!(first.take("product").unwrap(), None);
        first.keep("product", &[1.0]).unwrap();
        drop(first);
        // It has grown since it was read.
        let error = second.begin(&facts(0)).unwrap_err().to_string();
        assert!(error.contains("is in use by another fit"), "{error}");
        assert_eq!(first_values(&begun(&path, true)), [1.0]);
    }

    #[test]
    fn a_copy_of_the_open_file_does_not_keep_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        let first = begun(&path, false);
        // As in a process that was forked during the fit.
        let copy = first.state().file.as_ref().unwrap().0.try_clone().unwrap();
        drop(first);
        begun(&path, true);
        drop(copy);
    }

    #[test]
    fn a_file_that_ends_anywhere_gives_the_passes_that_are_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        let ends = three_passes(&path);
        let bytes = std::fs::read(&path).unwrap();
        for length in (ends[0]..=ends[3]).step_by(7).chain(ends.clone()) {
            std::fs::write(&path, &bytes[..length as usize]).unwrap();
            let complete = ends[1..].iter().filter(|end| **end <= length).count();
            let log = begun(&path, true);
            assert_eq!(first_values(&log), [0.0, 1.0, 2.0][..complete], "{length}");
            log.keep("product", &[9.0]).unwrap();
            let log = PassLogFile::new(&path, true).unwrap();
            assert_eq!(first_values(&log).last(), Some(&9.0), "{length}");
        }
        // A last record whose end was not written.
        let mut zeros = bytes[..ends[2] as usize].to_vec();
        zeros.resize(ends[3] as usize, 0);
        std::fs::write(&path, &zeros).unwrap();
        assert_eq!(first_values(&begun(&path, true)), [0.0, 1.0]);
        for end in [0, ends[0] / 2] {
            std::fs::write(&path, &bytes[..end as usize]).unwrap();
            let message = PassLogFile::new(&path, true).unwrap_err().to_string();
            assert!(message.contains("is not a checkpoint of passes"), "{message}");
        }
    }

    #[test]
    fn a_damaged_byte_is_an_error_or_ends_the_passes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        let ends = three_passes(&path);
        let bytes = std::fs::read(&path).unwrap();
        for at in (0..bytes.len()).step_by(11) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            std::fs::write(&path, &damaged).unwrap();
            if let Ok(log) = PassLogFile::new(&path, true) {
                let n_whole = ends[1..].iter().filter(|end| **end <= at as u64).count();
                assert_eq!(log.n_kept(), n_whole, "byte {at}");
            }
        }
    }
}
