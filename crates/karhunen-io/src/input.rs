//! The bytes of a file: mapped, or owned where they come from a pipe or out of a compressed file.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use crate::{Error, Result};

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
    Mapped(Mmap),
    /// Read from a pipe, or decompressed.
    Owned(Vec<u8>),
}

impl Input {
    /// Maps the file, or reads all of standard input (`-`) or of what cannot be mapped, such as a pipe.
    ///
    /// # Errors
    /// [`crate::Cause::Io`].
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let reading = |source| Error::io(path, "reading", source);
        let mut owned = Vec::new();
        if path.as_os_str() == "-" {
            std::io::stdin().lock().read_to_end(&mut owned).map_err(reading)?;
            return Ok(Self { path: path.to_owned(), bytes: Bytes::Owned(owned) });
        }
        crate::journal::before_reading(path)?;
        let mut file = File::open(path).map_err(|source| Error::io(path, "opening", source))?;
        let metadata = file.metadata().map_err(reading)?;
        if metadata.is_file() && metadata.len() > 0 {
            let map = map(&file).map_err(reading)?;
            return Ok(Self { path: path.to_owned(), bytes: Bytes::Mapped(map) });
        }
        file.read_to_end(&mut owned).map_err(reading)?;
        Ok(Self { path: path.to_owned(), bytes: Bytes::Owned(owned) })
    }

    /// The content.
    pub(crate) fn as_slice(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
        }
    }
}

/// The line of a text on which the byte at `offset` stands, from one.
pub(crate) fn line_of(text: &[u8], offset: usize) -> u64 {
    memchr::memchr_iter(b'\n', &text[..offset.min(text.len())]).count() as u64 + 1
}

#[allow(unsafe_code)]
fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the map is only read, and as bytes or plain numbers, for which every pattern of bits is valid. The
    // documentation of `read` asks that nobody shortens or rewrites a file while it is being read.
    unsafe { Mmap::map(file) }
}
