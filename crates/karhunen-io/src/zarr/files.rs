//! The files of a store: the files of a folder, or the members of a zip archive.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{File, Metadata};
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use flate2::Crc;
use karhunen::memory;
use xxhash_rust::xxh3::xxh3_64;
use zip::{CompressionMethod, ZipArchive};

use crate::input::{self, Input};
use crate::mapped::{Mapped, Stamp};
use crate::zarr_marks::roots;
use crate::zip_archive::{MOST_INFLATED, zip_cause};
use crate::{Cause, Error, Place, Result};

/// The files of a store, by names as `X/data/0.0`.
pub(super) enum Files {
    Folder {
        root: PathBuf,
        /// The stamps of the files read so far, which must not change, by hashes of their names.
        seen: Mutex<HashMap<u64, u64>>,
    },
    Archive {
        path: PathBuf,
        /// The folder of the archive that is the store, with a slash at the end; empty if it is the archive.
        root: String,
        zip: Box<ZipArchive<Cursor<Bytes>>>,
        content: Bytes,
        mapped: Option<Mapped>,
        /// The members whose check sum was compared, by number: a shard is opened for each of its chunks.
        checked: Mutex<HashSet<usize>>,
    },
}

/// An open file of a store.
pub(super) enum Found {
    File { path: PathBuf, file: File, n_bytes: u64 },
    Bytes(Bytes),
}

impl Files {
    pub(super) fn of_folder(path: &Path) -> Self {
        Self::Folder { root: path.to_owned(), seen: Mutex::default() }
    }

    /// The store in an archive.
    ///
    /// # Errors
    /// [`Cause::Format`].
    pub(super) fn of_archive(input: Input) -> Result<Self> {
        let mapped = input.mapped();
        let path = input.path;
        let content = match input.bytes {
            input::Bytes::Mapped(map) => Bytes::from_owner(map),
            input::Bytes::Owned(bytes) => bytes.into(),
        };
        let refuse = |error| Error::new(&path, zip_cause(error));
        let zip = ZipArchive::new(Cursor::new(content.clone())).map_err(refuse)?;
        let mut roots = roots(zip.file_names().flatten());
        if let [first, second, ..] = &roots[..] {
            let message = format!(
                "holds {} stores, such as `{}` and `{}`; unpack it and give the folder of one",
                roots.len(),
                first.trim_end_matches('/'),
                second.trim_end_matches('/')
            );
            return Err(Error::new(&path, Cause::format(message)));
        }
        let root = roots.pop().unwrap_or_default();
        Ok(Self::Archive { path, root, zip: Box::new(zip), content, mapped, checked: Mutex::default() })
    }

    /// The map of the archive.
    pub(super) fn mapped(&self) -> Option<Mapped> {
        match self {
            Self::Folder { .. } => None,
            Self::Archive { mapped, .. } => mapped.clone(),
        }
    }

    /// The names in a folder of the store, in their order.
    ///
    /// # Errors
    /// [`Cause::Io`].
    pub(super) fn names(&self, folder: &str) -> Result<Vec<String>> {
        if !folder.is_empty() && !is_plain(folder) {
            return Ok(Vec::new());
        }
        let names: BTreeSet<String> = match self {
            Self::Folder { root, .. } => {
                let path = root.join(folder);
                let failed = |source| Error::io(&path, "reading", source);
                let entries = std::fs::read_dir(&path).map_err(failed)?;
                let names =
                    entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
                names.collect::<std::io::Result<_>>().map_err(failed)?
            }
            Self::Archive { root, zip, .. } => {
                let begin = if folder.is_empty() { root.clone() } else { format!("{root}{folder}/") };
                let names = zip.file_names().flatten();
                names
                    .filter_map(|name| name.strip_prefix(&begin)?.split('/').next().map(str::to_owned))
                    .filter(|name| !name.is_empty())
                    .collect()
            }
        };
        Ok(names.into_iter().collect())
    }

    /// Opens a file; `None` if there is none of this name. `of` is the array that errors name.
    ///
    /// # Errors
    /// [`Cause::Io`]; [`Cause::Changed`] for a file that differs from an earlier read; [`Cause::Format`] for a
    /// damaged archive.
    pub(super) fn open(&self, name: &str, of: &str) -> Result<Option<Found>> {
        if !is_plain(name) {
            return Ok(None);
        }
        match self {
            Self::Folder { root, seen } => {
                let path = root.join(name);
                // A pipe is never opened, which would wait for its other end.
                let metadata = match std::fs::metadata(&path) {
                    Ok(metadata) if metadata.is_file() => metadata,
                    Ok(_) => return Ok(None),
                    Err(error) if is_absent(&error) => {
                        see(seen, &path, None)?;
                        return Ok(None);
                    }
                    Err(source) => return Err(Error::io(&path, "reading", source)),
                };
                let file = File::open(&path).map_err(|source| Error::io(&path, "opening", source))?;
                see(seen, &path, Some(&metadata))?;
                Ok(Some(Found::File { n_bytes: metadata.len(), path, file }))
            }
            Self::Archive { path, root, zip, content, checked, .. } => {
                let place = || Place { name: (!of.is_empty()).then(|| of.to_owned()), ..Place::default() };
                let refuse = |cause| Error::at(path, place(), cause);
                let Some(index) = zip.index_for_name(&format!("{root}{name}")) else { return Ok(None) };
                // A clone shares the table of members.
                let mut zip = zip.clone();
                let member = zip.by_index(index).map_err(|error| refuse(zip_cause(error)))?;
                let (declared, packed) = (member.size(), member.compressed_size());
                let lying = || {
                    let message = format!(
                        "its file `{name}` declares {declared} bytes, which its {packed} packed bytes do not hold; the \
                         archive is damaged"
                    );
                    refuse(Cause::format(message))
                };
                if member.compression() == CompressionMethod::Stored && !member.encrypted() {
                    let range = member.data_start().and_then(|start| {
                        let begin = usize::try_from(start).ok()?;
                        Some(begin..begin.checked_add(usize::try_from(packed).ok()?)?)
                    });
                    let range = range.filter(|range| declared == packed && range.end <= content.len());
                    let bytes = content.slice(range.ok_or_else(lying)?);
                    let mut checked = checked.lock().unwrap_or_else(PoisonError::into_inner);
                    if checked.insert(index) {
                        let mut sum = Crc::new();
                        sum.update(&bytes);
                        if sum.sum() != member.crc32() {
                            checked.remove(&index);
                            let message = format!(
                                "its file `{name}` has another check sum; copy or write the archive again"
                            );
                            return Err(refuse(Cause::format(message)));
                        }
                    }
                    return Ok(Some(Found::Bytes(bytes)));
                }
                if declared > packed.saturating_mul(MOST_INFLATED) || packed > content.len() as u64 {
                    return Err(lying());
                }
                let mut bytes = Vec::new();
                ask(declared as f64).map_err(|error| refuse(error.into()))?;
                member.take(declared.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| {
                    refuse(Cause::format(format!("its file `{name}` cannot be unpacked ({error})")))
                })?;
                if bytes.len() as u64 != declared {
                    return Err(lying());
                }
                Ok(Some(Found::Bytes(bytes.into())))
            }
        }
    }

    /// Bytes of the files in a folder of the store, and in those within.
    pub(super) fn n_bytes(&self, folder: &str) -> u64 {
        match self {
            Self::Folder { root, .. } => size_of_folder(&root.join(folder), 0),
            Self::Archive { content, .. } => content.len() as u64,
        }
    }
}

/// Refuses a file that is not as it was when it was read before.
fn see(seen: &Mutex<HashMap<u64, u64>>, path: &Path, metadata: Option<&Metadata>) -> Result<()> {
    let stamp = metadata.map_or(0, |metadata| Stamp::of(metadata).fingerprint());
    let name = xxh3_64(path.as_os_str().as_encoded_bytes());
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    if *seen.entry(name).or_insert(stamp) == stamp {
        return Ok(());
    }
    let n_bytes = metadata.map_or(0, Metadata::len);
    Err(Error::new(path, Cause::Changed { before: n_bytes, after: n_bytes }))
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// Returns true for a name that stays within the store.
fn is_plain(name: &str) -> bool {
    !name.contains(['\\', '\0'])
        && name.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

/// Folders of a store are not nested deeper.
const DEEPEST: usize = 32;

fn size_of_folder(path: &Path, depth: usize) -> u64 {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let size = |entry: std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() && depth < DEEPEST => size_of_folder(&entry.path(), depth + 1),
        Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |metadata| metadata.len()),
        _ => 0,
    };
    entries.map(size).sum()
}

/// Asks for the memory of packed or decoded bytes.
pub(super) fn ask(bytes: f64) -> karhunen::Result<()> {
    memory::ask("an array of the Zarr store", bytes, || {
        vec![karhunen::error::Advice::RaiseLimit, "write the store with smaller chunks".into()]
    })
}

impl Found {
    /// Number of bytes.
    pub(super) fn n_bytes(&self) -> u64 {
        match self {
            Self::File { n_bytes, .. } => *n_bytes,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Reads a part, which lies within the file.
    ///
    /// # Errors
    /// [`Cause::Io`]; [`karhunen::Error::Memory`].
    pub(super) fn read(&self, part: Range<u64>) -> Result<Bytes> {
        match self {
            Self::File { path, file, .. } => {
                let n = part.end.saturating_sub(part.start);
                ask(n as f64).map_err(|error| Error::new(path, error.into()))?;
                let mut bytes = vec![0; usize::try_from(n).unwrap_or(usize::MAX)];
                let mut file = file;
                let read = file.seek(SeekFrom::Start(part.start)).and_then(|_| file.read_exact(&mut bytes));
                read.map_err(|source| Error::io(path, "reading", source))?;
                Ok(bytes.into())
            }
            Self::Bytes(bytes) => Ok(bytes.slice(part.start as usize..part.end as usize)),
        }
    }

    /// Reads all.
    ///
    /// # Errors
    /// As [`Found::read`].
    pub(super) fn all(&self) -> Result<Bytes> {
        self.read(0..self.n_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_within_the_store() {
        assert!(is_plain("X/data/0.0") && is_plain(".zgroup"));
        for name in ["", "..", "../x", "a/../b", "/etc/passwd", "a//b", "a/./b", "a\\b", "a/", "a\0"] {
            assert!(!is_plain(name), "{name}");
        }
    }
}
