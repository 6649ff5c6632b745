//! The bytes of a file: mapped, or owned where they come from a pipe, out of a compressed file, or are few.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::mapped::{Mapped, Stamp};
use crate::{Cause, Error, Result, foreign};

/// A whole file, and the path that messages about it name.
#[derive(Debug)]
pub(crate) struct Input {
    /// The path as the user gave it; `-` for standard input.
    pub(crate) path: PathBuf,
    /// The content.
    pub(crate) bytes: Bytes,
}

/// Where the content lies.
#[derive(Debug)]
pub(crate) enum Bytes {
    /// A file mapped into memory.
    Mapped(Mapped),
    /// Read from a pipe, or decompressed.
    Owned(Vec<u8>),
}

impl Bytes {
    /// The content in memory of its own.
    pub(crate) fn into_owned(self) -> Vec<u8> {
        match self {
            Bytes::Mapped(map) => map.to_vec(),
            Bytes::Owned(bytes) => bytes,
        }
    }
}

impl Input {
    /// Maps the file, or reads all of standard input (`-`) or of what cannot be mapped, such as a pipe. What is made of the
    /// content goes through [`Input::through`].
    ///
    /// # Errors
    /// [`crate::Cause::Io`]; [`crate::Cause::Changed`].
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self { path: path.to_owned(), bytes: Bytes::Owned(read_standard_input(path)?) });
        }
        let reading = |source| Error::io(path, "reading", source);
        let file = open_file(path)?;
        let metadata = file.metadata().map_err(reading)?;
        if metadata.is_dir() {
            let message = foreign::of_folder(path).message(path);
            return Err(Error::new(path, Cause::Format(message)));
        }
        if metadata.is_file() && metadata.len() > 0 {
            let again = file.try_clone().map_err(reading)?;
            if let Some(map) = Mapped::open(path, again).map_err(reading)? {
                return Ok(Self { path: path.to_owned(), bytes: Bytes::Mapped(map) });
            }
        }
        Ok(Self { path: path.to_owned(), bytes: Bytes::Owned(read_all(path, &file)?) })
    }

    /// Reads the whole file into memory: for models, which are copied anyway, and in programs whose handlers of signals are
    /// not ours to touch.
    ///
    /// # Errors
    /// [`crate::Cause::Io`]; [`crate::Cause::Changed`].
    pub(crate) fn load(path: &Path) -> Result<Self> {
        if path.as_os_str() == "-" {
            return Self::open(path);
        }
        Ok(Self { path: path.to_owned(), bytes: Bytes::Owned(read_all(path, &open_file(path)?)?) })
    }

    /// The content.
    pub(crate) fn as_slice(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
        }
    }

    /// What `work` makes of the content, unless the file changed meanwhile: whatever came of it is of no use then.
    ///
    /// # Errors
    /// Those of [`Mapped::check_unchanged`], and else those of `work`.
    pub(crate) fn through<R>(self, work: impl FnOnce(Self) -> Result<R>) -> Result<R> {
        let mapped = match &self.bytes {
            Bytes::Mapped(map) => Some(map.clone()),
            Bytes::Owned(_) => None,
        };
        let result = work(self);
        if let Some(map) = mapped {
            map.check_unchanged()?;
        }
        result
    }
}

fn open_file(path: &Path) -> Result<File> {
    crate::journal::before_reading(path)?;
    File::open(path).map_err(|source| Error::io(path, "opening", source))
}

/// All of a file, which must not change while it is read.
fn read_all(path: &Path, mut file: &File) -> Result<Vec<u8>> {
    let reading = |source| Error::io(path, "reading", source);
    let metadata = file.metadata().map_err(reading)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(reading)?;
    if metadata.is_file() {
        Stamp::of(&metadata).check(path, file)?;
    }
    Ok(bytes)
}

/// All of the standard input: of a file that is redirected to it, as of any other.
#[cfg(unix)]
fn read_standard_input(path: &Path) -> Result<Vec<u8>> {
    use std::os::fd::AsFd;
    let stdin = std::io::stdin().lock();
    let same = stdin.as_fd().try_clone_to_owned().map_err(|source| Error::io(path, "reading", source))?;
    read_all(path, &File::from(same))
}

#[cfg(not(unix))]
fn read_standard_input(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).map_err(|source| Error::io(path, "reading", source))?;
    Ok(bytes)
}

/// The line of a text on which the byte at `offset` stands, from one.
pub(crate) fn line_of(text: &[u8], offset: usize) -> u64 {
    memchr::memchr_iter(b'\n', &text[..offset.min(text.len())]).count() as u64 + 1
}
