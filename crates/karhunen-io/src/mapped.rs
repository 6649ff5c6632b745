//! A file mapped into memory. A change of the file during use is an error and does not end the process.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use memmap2::Mmap;

use crate::{Cause, Error, Result};

/// A mapped file. If the file is truncated or becomes unreadable, the map holds zeros and
/// [`Mapped::check_unchanged`] reports it. Clones share the map.
#[derive(Clone, Debug)]
pub struct Mapped(Arc<Map>);

/// Fields are dropped in this order: the range is unregistered before its addresses are unmapped.
#[derive(Debug)]
struct Map {
    #[cfg(unix)]
    guard: crate::bus_error::Guard,
    bytes: Mmap,
    file: File,
    path: PathBuf,
    stamp: Stamp,
}

impl Mapped {
    /// Maps a file that is not empty; `None` if the map cannot be guarded.
    ///
    /// # Errors
    /// Errors of the system.
    #[allow(unsafe_code)]
    pub(crate) fn open(path: &Path, file: File) -> std::io::Result<Option<Self>> {
        let stamp = Stamp::of(&file.metadata()?);
        // SAFETY: the map is only read, as bytes or plain numbers, for which every bit pattern is valid. A
        // truncated file raises a signal, which the guard handles. A rewritten file changes borrowed bytes:
        // readers check every index and length that they take from them, and `check_unchanged` fails.
        let bytes = unsafe { Mmap::map(&file)? };
        #[cfg(unix)]
        let Some(guard) = crate::bus_error::Guard::new(&bytes) else { return Ok(None) };
        let map = Map {
            #[cfg(unix)]
            guard,
            bytes,
            file,
            path: path.to_owned(),
            stamp,
        };
        Ok(Some(Self(Arc::new(map))))
    }

    /// Gives the pages of the map that are in memory back to the system, which reads them again from its cache or
    /// from the disk when they are used.
    #[allow(unsafe_code)]
    pub(crate) fn release(&self) {
        // SAFETY: the map is a read-only view of a file, and its pages hold nothing that the file does not. An error
        // leaves the pages in memory.
        #[cfg(unix)]
        let _ = unsafe { self.0.bytes.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
    }

    /// A number that changes when the file is written to.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.0.stamp.fingerprint()
    }

    /// Checks that the file is unchanged since it was opened: same length, not written to, and readable. Call it
    /// after the last use of the content, and before using any result.
    ///
    /// # Errors
    /// [`Cause::Changed`]; [`Cause::Io`] if a part could not be read.
    pub fn check_unchanged(&self) -> Result<()> {
        let Map { file, path, stamp, .. } = &*self.0;
        stamp.check(path, file)?;
        #[cfg(unix)]
        if self.0.guard.is_broken() {
            let source =
                std::io::Error::other("the system could not read a part of the file; copy it and try again");
            return Err(Error::io(path, "reading", source));
        }
        Ok(())
    }
}

impl std::ops::Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0.bytes
    }
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// The properties of a file that change when it is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self { len: metadata.len(), modified: metadata.modified().ok() }
    }

    /// A number that differs for other stamps.
    pub(crate) fn fingerprint(&self) -> u64 {
        xxhash_rust::xxh3::xxh3_64(format!("{self:?}").as_bytes())
    }

    /// Checks that `file` still has this stamp.
    ///
    /// # Errors
    /// [`Cause::Changed`]; [`Cause::Io`].
    pub(crate) fn check(&self, path: &Path, file: &File) -> Result<()> {
        let now = Self::of(&file.metadata().map_err(|source| Error::io(path, "reading", source))?);
        if now == *self {
            return Ok(());
        }
        Err(Error::new(path, Cause::Changed { before: self.len, after: now.len }))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::OpenOptions;
    use std::io::{Seek, SeekFrom, Write};
    use std::time::Duration;

    use super::*;

    /// A file of `len` ones, mapped.
    fn mapped(len: usize) -> (tempfile::TempDir, PathBuf, Mapped) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ones");
        std::fs::write(&path, vec![1; len]).unwrap();
        let map = Mapped::open(&path, File::open(&path).unwrap()).unwrap().unwrap();
        (folder, path, map)
    }

    fn writing(path: &Path) -> File {
        OpenOptions::new().write(true).open(path).unwrap()
    }

    fn message(map: &Mapped) -> String {
        map.check_unchanged().unwrap_err().to_string()
    }

    #[test]
    fn what_a_shorter_file_lacks_reads_as_zeros_and_is_an_error() {
        let (_folder, path, map) = mapped(100_000);
        assert!(map.check_unchanged().is_ok());
        writing(&path).set_len(40_000).unwrap();
        assert_eq!((map[0], map[39_999], map[99_999], map[70_000]), (1, 1, 0, 0));
        assert_eq!(map.iter().map(|&byte| u64::from(byte)).sum::<u64>(), 40_000);
        let advice = "while it was read; try again when no other program writes to it";
        let expected =
            format!("{}: the file became shorter, from 100000 bytes to 40000, {advice}", path.display());
        assert_eq!(message(&map), expected);
        // The file is refused even if it grows back.
        writing(&path).set_len(100_000).unwrap();
        assert!(message(&map).contains("ones: "), "{}", message(&map));
    }

    #[test]
    fn every_thread_survives_a_file_that_is_emptied() {
        let (_folder, path, map) = mapped(1 << 22);
        writing(&path).set_len(0).unwrap();
        let sums: Vec<u64> = std::thread::scope(|scope| {
            let read = || map.iter().map(|&byte| u64::from(byte)).sum();
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(read)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(sums, [0; 8]);
        assert!(message(&map).contains("became shorter, from 4194304 bytes to 0,"));
    }

    #[test]
    fn files_that_are_written_to_or_grow_are_errors_and_files_that_are_replaced_are_not() {
        let (_folder, path, map) = mapped(5000);
        std::fs::rename(&path, path.with_extension("old")).unwrap();
        std::fs::write(&path, b"another").unwrap();
        std::fs::remove_file(path.with_extension("old")).unwrap();
        assert!(map.check_unchanged().is_ok());
        assert_eq!(map.len(), 5000);

        let (_folder, path, map) = mapped(5000);
        // File systems record times in milliseconds.
        std::thread::sleep(Duration::from_millis(50));
        let mut file = writing(&path);
        file.seek(SeekFrom::Start(100)).unwrap();
        file.write_all(b"x").unwrap();
        assert!(
            message(&map).contains("ones: the file was written to while it was read; "),
            "{}",
            message(&map)
        );

        let (_folder, path, map) = mapped(5000);
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"x").unwrap();
        assert!(message(&map).contains("became longer, from 5000 bytes to 5001,"));
    }
}

#[cfg(all(test, unix))]
mod formats {
    use std::fs::OpenOptions;

    use super::*;
    use crate::input::{Input, decompressed};
    use crate::read::read_input;
    use crate::{ErrorKind, ReadOptions};

    /// Reads a copy of a file that is truncated to `len` bytes after it was opened.
    fn read_cut(name: &str, len: Option<u64>) -> Result<crate::Table> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(source.file_name().unwrap());
        std::fs::copy(source, &path).unwrap();
        let input = Input::open(&path).unwrap();
        if let Some(len) = len {
            OpenOptions::new().write(true).open(&path).unwrap().set_len(len).unwrap();
        }
        let read = |input| read_input(input, &ReadOptions::default());
        let table = if name.ends_with(".gz") {
            decompressed(input, &crate::ReadOptions::default()).and_then(|input| input.through(read))
        } else {
            input.through(read)
        };
        table.and_then(|table| table.data.check_unchanged().map(|()| table))
    }

    #[test]
    fn every_format_says_that_its_file_became_shorter() {
        for name in [
            "text/iris.csv",
            "text/propack_1850x712.mtx.gz",
            "binary/float32.npy",
            "binary/big_endian.npy",
            "binary/one.npz",
            "binary/csr.npz",
            "binary/snappy.parquet",
            "binary/zstd.parquet",
            "binary/kinds_uncompressed.arrow",
            "binary/kinds.arrows",
        ] {
            assert!(!matches!(read_cut(name, None), Err(error) if error.kind() == ErrorKind::Io), "{name}");
            for len in [0, 1, 64] {
                let error = read_cut(name, Some(len)).expect_err(name);
                assert_eq!(error.kind(), ErrorKind::Io, "{name}: {error}");
                assert!(error.to_string().contains("the file became shorter, from "), "{name}: {error}");
                let file = Path::new(name).file_name().unwrap().to_string_lossy().into_owned();
                assert!(error.path.ends_with(&file), "{error}");
            }
        }
    }
}
