//! The bytes of a file: mapped, or owned if the file is a pipe, compressed or small.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use tempfile::{SpooledData, spooled_tempfile_in};

use crate::format::{Format, is_safetensors, sniff};
use crate::mapped::{Mapped, Stamp};
pub(crate) use crate::packed::extension;
use crate::{Cause, Error, ReadOptions, Result, foreign, packed};

/// Number of bytes at the beginning of a content that are recognised before the rest is unpacked or read.
const ENOUGH_TO_RECOGNISE: u64 = 64 << 10;

/// The content of a file, and the path for messages.
#[derive(Debug)]
pub(crate) struct Input {
    /// The path as the user gave it; `-` for standard input.
    pub(crate) path: PathBuf,
    /// The content.
    pub(crate) bytes: Bytes,
}

/// The bytes of a file.
#[derive(Debug)]
pub(crate) enum Bytes {
    /// A file mapped into memory.
    Mapped(Mapped),
    /// Read from a pipe, or decompressed.
    Owned(Vec<u8>),
}

impl Bytes {
    /// The mapping of the file, if the content is not a copy.
    pub(crate) fn mapped(&self) -> Option<Mapped> {
        match self {
            Bytes::Mapped(map) => Some(map.clone()),
            Bytes::Owned(_) => None,
        }
    }

    /// Returns the content as an owned buffer.
    pub(crate) fn into_owned(self) -> Vec<u8> {
        match self {
            Bytes::Mapped(map) => map.to_vec(),
            Bytes::Owned(bytes) => bytes,
        }
    }
}

impl Input {
    /// Maps the file, or reads all of standard input (`-`) or of a file that cannot be mapped, such as a pipe. Use
    /// the content only within [`Input::through`].
    ///
    /// # Errors
    /// [`crate::Cause::Io`]; [`crate::Cause::Changed`].
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::open_within(path, u64::MAX)
    }

    /// As [`Input::open`], but reads at most `most` bytes of pipes and devices, which may never end.
    ///
    /// # Errors
    /// As [`Input::open`]; [`crate::Cause::Option`] beyond `most` bytes.
    pub(crate) fn open_within(path: &Path, most: u64) -> Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self { path: path.to_owned(), bytes: Bytes::Owned(read_standard_input(path, most)?) });
        }
        let file = open_file(path)?;
        let metadata = file.metadata().map_err(|source| Error::io(path, "reading", source))?;
        let reading = |source| reading_failed(path, source, metadata.len());
        if metadata.is_dir() {
            let message = foreign::of_folder(path).message(path);
            return Err(Error::new(path, Cause::format(message)));
        }
        if metadata.is_file() && metadata.len() > 0 {
            let again = file.try_clone().map_err(reading)?;
            if let Some(map) = Mapped::open(path, again).map_err(reading)? {
                return Ok(Self { path: path.to_owned(), bytes: Bytes::Mapped(map) });
            }
        }
        Ok(Self { path: path.to_owned(), bytes: Bytes::Owned(read_all(path, &file, most)?) })
    }

    /// Reads a model into memory: models are copied anyway, and the signal handlers of other programs must not be changed.
    /// Of a file that does not begin as a model the first bytes are read, of a pipe or device at most as many as
    /// a model that is not packed has.
    ///
    /// # Errors
    /// [`crate::Cause::Io`]; [`crate::Cause::Changed`]; [`crate::Cause::Option`] for a pipe or device without end.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let most = ReadOptions::default().most_unpacked();
        if path.as_os_str() == "-" {
            return Self::open_within(path, most);
        }
        let file = open_file(path)?;
        let mut begin = Vec::new();
        let reading = |source| Error::io(path, "reading", source);
        if file.metadata().map_err(reading)?.is_dir() {
            let message = "is a folder, not a model; give a file that `karhunen fit -o` wrote".to_owned();
            return Err(Error::new(path, Cause::format(message)));
        }
        (&file).take(ENOUGH_TO_RECOGNISE).read_to_end(&mut begin).map_err(reading)?;
        if !is_safetensors(&begin) {
            return Ok(Self { path: path.to_owned(), bytes: Bytes::Owned(begin) });
        }
        Ok(Self { path: path.to_owned(), bytes: Bytes::Owned(read_all_after(begin, path, &file, most)?) })
    }

    /// The content.
    pub(crate) fn as_slice(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
        }
    }

    /// Returns the result of `work` on the content, unless the file changed meanwhile.
    ///
    /// # Errors
    /// Same errors as [`Mapped::check_unchanged`], otherwise errors of `work`.
    pub(crate) fn through<R>(self, work: impl FnOnce(Self) -> Result<R>) -> Result<R> {
        let mapped = self.mapped();
        let result = work(self);
        if let Some(map) = mapped {
            map.check_unchanged()?;
        }
        result
    }

    /// The mapping of the file, if the content is not a copy.
    pub(crate) fn mapped(&self) -> Option<Mapped> {
        self.bytes.mapped()
    }
}

fn open_file(path: &Path) -> Result<File> {
    File::open(path).map_err(|source| Error::io(path, "opening", source))
}

/// The error of a failed read; a memory error if the system has no memory for `n_bytes`.
fn reading_failed(path: &Path, source: std::io::Error, n_bytes: u64) -> Error {
    if source.kind() != std::io::ErrorKind::OutOfMemory {
        return Error::io(path, "reading", source);
    }
    let cause = karhunen::Error::Memory {
        what: "the file".to_owned(),
        bytes: n_bytes as f64,
        available: None,
        advice: vec!["raise the limit of memory (ulimit -v)".into(), "take fewer rows or columns".into()],
    };
    Error::new(path, cause.into())
}

/// Reads a whole file, which must not change meanwhile; of a pipe or device at most `most` bytes.
fn read_all(path: &Path, file: &File, most: u64) -> Result<Vec<u8>> {
    read_all_after(Vec::new(), path, file, most)
}

/// As [`read_all`], for a file whose first bytes were read.
fn read_all_after(mut bytes: Vec<u8>, path: &Path, file: &File, most: u64) -> Result<Vec<u8>> {
    let metadata = file.metadata().map_err(|source| Error::io(path, "reading", source))?;
    let most = if metadata.is_file() { u64::MAX } else { most };
    let rest = most.saturating_add(1).saturating_sub(bytes.len() as u64);
    let read = file.take(rest).read_to_end(&mut bytes);
    read.map_err(|source| reading_failed(path, source, metadata.len().max(bytes.len() as u64)))?;
    if bytes.len() as u64 > most {
        return Err(Error::new(path, packed::endless(most)));
    }
    if metadata.is_file() {
        Stamp::of(&metadata).check(path, file)?;
    }
    Ok(bytes)
}

/// Reads all of standard input; a redirected file is treated like any other file.
#[cfg(unix)]
fn read_standard_input(path: &Path, most: u64) -> Result<Vec<u8>> {
    use std::os::fd::AsFd;
    let stdin = std::io::stdin().lock();
    let same = stdin.as_fd().try_clone_to_owned().map_err(|source| Error::io(path, "reading", source))?;
    read_all(path, &File::from(same), most)
}

#[cfg(not(unix))]
fn read_standard_input(path: &Path, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|source| reading_failed(path, source, bytes.len() as u64))?;
    if bytes.len() as u64 > most {
        return Err(Error::new(path, packed::endless(most)));
    }
    Ok(bytes)
}

/// The content of a packed file, or the file unchanged. A format that is not read is refused by its first bytes.
///
/// # Errors
/// Same errors as [`packed::Packing::unpacked`]; [`crate::Cause::Io`] for a temporary copy; [`crate::Cause::Format`].
pub(crate) fn decompressed(input: Input, options: &ReadOptions) -> Result<Input> {
    // An archive named .npz is one of arrays, or damaged.
    let is_npz = input.path.extension().is_some_and(|end| end.eq_ignore_ascii_case("npz"));
    let packing = packed::packing(input.as_slice()).filter(|_| !is_npz);
    let Some(packing) = packing else { return Ok(input) };
    input.through(|input| {
        let begin = packing.first_bytes(input.as_slice(), ENOUGH_TO_RECOGNISE);
        if let Format::Foreign(kind) = sniff(&begin, &input.path)
            && kind.is_of_first_bytes()
        {
            return Err(Error::new(&input.path, Cause::format(kind.message(&input.path))));
        }
        let Some(limit) = options.memory_limit else {
            let content = packing
                .unpacked(input.as_slice(), options.most_unpacked())
                .map_err(|cause| Error::new(&input.path, cause))?;
            return Ok(Input { path: input.path, bytes: Bytes::Owned(content) });
        };
        let (folder, mapped) = (options.copies(), input.mapped());
        let failed = |source| copying_failed(&input.path, &folder, source);
        let mut content = spooled_tempfile_in(usize::try_from(limit).unwrap_or(usize::MAX), &folder);
        let mut write = |part: &[u8]| {
            // The packed bytes that were read take no memory any more.
            mapped.iter().for_each(Mapped::release);
            content.write_all(part).map_err(|source| *failed(source).cause)
        };
        packing
            .unpack_to(input.as_slice(), options.most_unpacked(), &mut write)
            .map_err(|cause| Error::new(&input.path, cause))?;
        let bytes = match content.into_inner() {
            SpooledData::InMemory(content) => Bytes::Owned(content.into_inner()),
            SpooledData::OnDisk(file) => match Mapped::open(&input.path, file).map_err(failed)? {
                Some(map) => Bytes::Mapped(map),
                None => return Err(failed(std::io::ErrorKind::Unsupported.into())),
            },
        };
        Ok(Input { path: input.path, bytes })
    })
}

/// The error for a temporary copy of the content of a file.
pub(crate) fn copying_failed(path: &Path, folder: &Path, source: std::io::Error) -> Error {
    let message = format!("the temporary copy of its content in {}: {source}", folder.display());
    Error::io(path, "writing", std::io::Error::new(source.kind(), message))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_device_without_end_is_read_to_the_limit() {
        let error = Input::open_within(Path::new("/dev/zero"), 100_000).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        assert!(
            error.to_string().starts_with("/dev/zero: holds more than 100 kB: stopped there;"),
            "{error}"
        );
        // The limit does not apply to regular files, which have an end.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, "1,2\n3,4\n").unwrap();
        assert_eq!(Input::open_within(&path, 1).unwrap().as_slice().len(), 8);
    }

    #[test]
    fn a_file_without_room_is_an_error_of_memory() {
        let source = std::io::Error::from(std::io::ErrorKind::OutOfMemory);
        let error = reading_failed(Path::new("t.npy"), source, 2_500_000_000);
        assert_eq!(error.kind(), ErrorKind::Memory);
        assert!(error.to_string().starts_with("t.npy: the file needs 2.5 GB of memory, "), "{error}");
        let other = std::io::Error::other("no disk");
        assert_eq!(reading_failed(Path::new("t.npy"), other, 1).kind(), ErrorKind::Io);
    }
}

/// The line number, from one, of the byte at `offset`.
pub(crate) fn line_of(text: &[u8], offset: usize) -> u64 {
    memchr::memchr_iter(b'\n', &text[..offset.min(text.len())]).count() as u64 + 1
}
