//! Packed files: gzip (RFC 1952), zstd, xz, bzip2, and zip archives that hold one file other than an array.

use std::io::{Cursor, ErrorKind, Read};
use std::path::Path;

use flate2::bufread::GzDecoder;
use karhunen::error::Phrase;
use karhunen::memory;
use zip::ZipArchive;

use crate::Cause;
use crate::option_names;
use crate::zarr_marks;
use crate::zip_archive::zip_cause;

/// The ends of the names of packed files.
pub(crate) const ENDINGS: [&str; 5] = [".gz", ".zst", ".xz", ".bz2", ".zip"];

/// A name without the extension of its compression.
pub(crate) fn unpacked_name(name: &str) -> &str {
    ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

/// The extension in lower case, without the extension of the compression.
pub(crate) fn extension(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    Some(unpacked_name(&name).rsplit_once('.')?.1.to_owned())
}

/// The memory that an unpacker may take for itself: what `xz -9` and `zstd --ultra -22` need, and no more.
#[cfg(feature = "compression")]
const MOST_KIB: u32 = 128 << 10;

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Gzip,
    Zstd,
    Xz,
    Bzip2,
    /// The only file of a zip archive, by its number.
    Zip(usize),
}

/// How the file is packed, by its content; `None` for other files, archives of arrays and Zarr stores among them.
pub(crate) fn packing(bytes: &[u8]) -> Option<Packing> {
    let is_bzip2 =
        |rest: &[u8]| [&b"1AY&SY"[..], b"\x17rE8P\x90"].iter().any(|block| rest.get(1..7) == Some(block));
    if bytes.starts_with(b"\x1f\x8b") {
        Some(Packing::Gzip)
    } else if bytes.starts_with(b"\x28\xb5\x2f\xfd") {
        Some(Packing::Zstd)
    } else if bytes.starts_with(b"\xfd7zXZ\0") {
        Some(Packing::Xz)
    } else if bytes.strip_prefix(b"BZh").is_some_and(is_bzip2) {
        Some(Packing::Bzip2)
    } else if bytes.starts_with(b"PK\x03\x04") {
        only_file(bytes).map(Packing::Zip)
    } else {
        None
    }
}

/// The number of the only file of a zip archive, if it is neither an array nor a part of a Zarr store. Folders, and what
/// macOS adds, do not count.
fn only_file(bytes: &[u8]) -> Option<usize> {
    let zip = ZipArchive::new(Cursor::new(bytes)).ok()?;
    let names: Vec<_> = zip.file_names().flatten().collect();
    let is_file = |name: &str| !name.ends_with('/') && !name.starts_with("__MACOSX/");
    let mut files = (0..names.len()).filter(|&index| is_file(&names[index]));
    let index = files.next().filter(|_| files.next().is_none() && names.len() == zip.len())?;
    let is_array = names[index].ends_with(".npy") || !zarr_marks::roots(names.iter()).is_empty();
    (!is_array).then_some(index)
}

impl Packing {
    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
            Self::Zip(_) => "zip",
        }
    }

    /// Decompresses the whole content.
    ///
    /// # Errors
    /// [`Cause::Format`] for damaged or truncated files; [`Cause::Option`] for more than `most` bytes;
    /// [`Cause::Library`] for too little memory; [`Cause::LeftOut`].
    pub(crate) fn unpacked(self, packed: &[u8], most: u64) -> Result<Vec<u8>, Cause> {
        let mut content = Vec::new();
        self.read(packed, &mut |reader| self.fill(reader, &mut content, most))?;
        Ok(content)
    }

    /// As [`Packing::unpacked`], but passes the content to `write` in parts.
    ///
    /// # Errors
    /// As [`Packing::unpacked`]; errors of `write`.
    pub(crate) fn unpack_to(
        self,
        packed: &[u8],
        most: u64,
        write: &mut dyn FnMut(&[u8]) -> Result<(), Cause>,
    ) -> Result<(), Cause> {
        let (mut buffer, mut n_bytes) = (vec![0; 1 << 20], 0);
        self.read(packed, &mut |reader| {
            loop {
                let read = self.some(reader, &mut buffer)?;
                n_bytes += read as u64;
                match read {
                    0 => return Ok(()),
                    _ if n_bytes > most => return Err(too_much(most)),
                    _ => write(&buffer[..read])?,
                }
            }
        })
    }

    /// The first bytes of the content, at most `n`; fewer where it is damaged.
    pub(crate) fn first_bytes(self, packed: &[u8], n: u64) -> Vec<u8> {
        let mut first = Vec::new();
        let _ = self.read(packed, &mut |reader| {
            let _ = reader.take(n).read_to_end(&mut first);
            Ok(())
        });
        first
    }

    /// Calls `f` with a reader of the content.
    fn read(self, packed: &[u8], f: &mut dyn FnMut(&mut dyn Read) -> Result<(), Cause>) -> Result<(), Cause> {
        match self {
            Self::Gzip => f(&mut Members { packed, member: GzDecoder::new(packed) }),
            Self::Zip(index) => {
                let mut zip = ZipArchive::new(Cursor::new(packed)).map_err(zip_cause)?;
                let mut file = zip.by_index(index).map_err(zip_cause)?;
                f(&mut file)
            }
            #[cfg(feature = "compression")]
            Self::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(packed);
                f(&mut decoder.map_err(|error| self.damaged(&error))?)
            }
            #[cfg(feature = "compression")]
            Self::Xz => f(&mut lzma_rust2::XzReader::new_mem_limit(packed, true, MOST_KIB)),
            #[cfg(feature = "compression")]
            Self::Bzip2 => f(&mut bzip2::bufread::MultiBzDecoder::new(packed)),
            #[cfg(not(feature = "compression"))]
            Self::Zstd | Self::Xz | Self::Bzip2 => {
                Err(Cause::LeftOut { what: self.name(), feature: "compression" })
            }
        }
    }

    fn damaged(self, error: &std::io::Error) -> Cause {
        let name = self.name();
        if error.kind() == ErrorKind::OutOfMemory || error.to_string().contains("too much memory") {
            let message =
                format!("the {name} file needs more than 128 MiB to be unpacked; unpack it elsewhere");
            return Cause::format(message);
        }
        Cause::format(format!(
            "the {name} file is damaged or cut short ({error}); fetch or compress it again"
        ))
    }

    /// Reads some bytes; none at the end.
    fn some(self, reader: &mut dyn Read, buffer: &mut [u8]) -> Result<usize, Cause> {
        loop {
            match reader.read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => return read.map_err(|error| self.damaged(&error)),
            }
        }
    }

    /// Appends what `reader` holds to `content`.
    fn fill(self, reader: &mut dyn Read, content: &mut Vec<u8>, most: u64) -> Result<(), Cause> {
        /// The first buffer size, doubled as needed.
        const FIRST: usize = 1 << 20;
        loop {
            if content.len() == content.capacity() {
                // One byte beyond the limit reveals that the content exceeds it.
                let room = (2 * content.len())
                    .max(FIRST)
                    .min(usize::try_from(most).unwrap_or(usize::MAX).saturating_add(1));
                if content.len() >= room {
                    return Err(too_much(most));
                }
                reserve(content, room - content.len())?;
            }
            let (start, room) = (content.len(), content.capacity() - content.len());
            content.resize(start + room.min(FIRST), 0);
            let read = self.some(reader, &mut content[start..])?;
            content.truncate(start + read);
            if read == 0 {
                return Ok(());
            }
            if content.len() as u64 > most {
                return Err(too_much(most));
            }
        }
    }
}

/// The members of a gzip file. Zeros after the last are padding, as on tapes; other bytes there are an error.
struct Members<'a> {
    packed: &'a [u8],
    member: GzDecoder<&'a [u8]>,
}

impl Read for Members<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let read = self.member.read(buffer)?;
            let rest = *self.member.get_ref();
            if read > 0 || buffer.is_empty() || rest.iter().all(|&byte| byte == 0) {
                return Ok(read);
            }
            if !rest.starts_with(b"\x1f\x8b") {
                let at = self.packed.len() - rest.len() + 1;
                return Err(std::io::Error::other(format!("unexpected data after its end, at byte {at}")));
            }
            self.member = GzDecoder::new(rest);
        }
    }
}

/// The error for content beyond the limit.
pub(crate) fn too_much(most: u64) -> Cause {
    beyond(most, " once it is unpacked")
}

/// The error for a pipe or a device that exceeds the limit.
pub(crate) fn endless(most: u64) -> Cause {
    beyond(most, "")
}

fn beyond(most: u64, when: &str) -> Cause {
    let most = memory::size(most as f64);
    let problem =
        format!("holds more than {most}{when}: stopped there; if that is right, raise the limit with ");
    let advice = Phrase::new(problem).option(option_names::MAX_UNPACKED).text(", such as ");
    Cause::option(advice.setting(option_names::MAX_UNPACKED, 64_u64 << 30))
}

/// Reserves `more` bytes.
///
/// # Errors
/// [`Cause::Library`] with [`karhunen::Error::Memory`].
fn reserve(content: &mut Vec<u8>, more: usize) -> Result<(), Cause> {
    let what = format!("unpacking, {} so far,", memory::size(content.len() as f64));
    let advice = || {
        vec!["unpack it elsewhere and take fewer rows or columns".into(), karhunen::error::Advice::RaiseLimit]
    };
    memory::ask(&what, more as f64, advice)?;
    // The probe succeeded, but another process may have taken the memory since.
    memory::reserve(content, more).map_err(|_| {
        Cause::from(karhunen::Error::Memory { what, bytes: more as f64, available: None, advice: advice() })
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in files {
            zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(content).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    /// What `tests/data/packed/pattern.xz` holds, 4 MiB.
    fn pattern() -> Vec<u8> {
        (0..4 << 20).map(|i: u32| (i / 7 % 251) as u8).collect()
    }

    /// The pattern in each packing that this build reads, with the name of the packing.
    fn each() -> Vec<(&'static str, Vec<u8>)> {
        let content = pattern();
        vec![
            ("gzip", packed(&content)),
            ("zip", zipped(&[("x/", b""), ("x/a.csv", &content), ("__MACOSX/a", b"x")])),
            #[cfg(feature = "compression")]
            ("zstd", zstd::encode_all(&content[..], 1).unwrap()),
            #[cfg(feature = "compression")]
            ("xz", include_bytes!("../tests/data/packed/pattern.xz").to_vec()),
            #[cfg(feature = "compression")]
            ("bzip2", {
                let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                encoder.write_all(&content).unwrap();
                encoder.finish().unwrap()
            }),
        ]
    }

    fn unpacked(packed: &[u8], most: u64) -> Result<Vec<u8>, Cause> {
        packing(packed).unwrap().unpacked(packed, most)
    }

    #[test]
    fn members_are_joined_and_padding_is_passed_over() {
        let (one, two) = (packed(b"1,2\n"), packed(b"3,4\n"));
        assert_eq!(unpacked(&one, 100).unwrap(), b"1,2\n");
        let both = [&one[..], &packed(b""), &two, &[0; 600]].concat();
        assert_eq!(unpacked(&both, 8).unwrap(), b"1,2\n3,4\n");
        assert_eq!(unpacked(&packed(b""), 0).unwrap(), b"");
        let twice = [pattern(), pattern()].concat();
        for (name, part) in each().into_iter().filter(|(name, _)| *name != "zip") {
            assert!(unpacked(&[&part[..], &part].concat(), 8 << 20).unwrap() == twice, "{name}");
        }
    }

    #[test]
    fn each_kind_is_unpacked_at_once_in_parts_and_at_its_beginning() {
        let content = pattern();
        for (name, packed) in each() {
            let kind = packing(&packed).unwrap();
            assert!(kind.unpacked(&packed, 4 << 20).unwrap() == content, "{name}");
            let mut parts = Vec::new();
            let mut write = |part: &[u8]| {
                parts.extend_from_slice(part);
                Ok(())
            };
            kind.unpack_to(&packed, 4 << 20, &mut write).unwrap();
            assert!(parts == content, "{name}");
            assert_eq!(kind.first_bytes(&packed, 100), content[..100], "{name}");
        }
    }

    #[test]
    fn other_bytes_behind_and_damage_are_refused() {
        let one = packed(b"1,2\n");
        let text = |packed: &[u8]| {
            unpacked(packed, 4 << 20).map_or_else(|cause| cause.to_string(), |_| "not refused".to_owned())
        };
        let error = text(&[&one[..], b"\0\0x"].concat());
        let at = one.len() + 1;
        let expected = format!(
            "the gzip file is damaged or cut short (unexpected data after its end, at byte {at}); fetch or compress it again"
        );
        assert_eq!(error, expected);
        for (name, packed) in each() {
            let begin = format!("the {name} file is damaged or cut short (");
            // The names of an archive stand at its end: without it nothing is unpacked.
            if name != "zip" {
                assert!(text(&packed[..packed.len() - 3]).starts_with(&begin), "{name}");
            }
            if name == "zstd" {
                // This file has no checksum.
                continue;
            }
            let mut changed = packed.clone();
            changed[packed.len() / 2] ^= 0x10;
            assert!(text(&changed).starts_with(&begin), "{name}: {}", text(&changed));
        }
    }

    #[test]
    fn archives_of_arrays_of_stores_and_of_several_files_are_left_to_their_readers() {
        for files in [&["a.npy"][..], &["a.csv", "b.csv"], &["x/.zgroup"], &[], &["x/"]] {
            let files: Vec<(&str, &[u8])> = files.iter().map(|name| (*name, &b"1"[..])).collect();
            assert_eq!(packing(&zipped(&files)), None, "{files:?}");
        }
        assert_eq!(packing(b"BZh9,a\n1,2\n"), None);
    }

    #[test]
    fn content_beyond_the_limit_is_refused_with_the_option() {
        for (_, packed) in each() {
            for most in [0, 1, 999_999, (4 << 20) - 1] {
                let error = unpacked(&packed, most).unwrap_err();
                assert!(matches!(error, Cause::Option(_)), "{error}");
                let error = error.to_string();
                let begin = format!("holds more than {}", memory::size(most as f64));
                assert!(error.starts_with(&begin), "{error}");
                assert!(error.contains("max_unpacked = 68719476736"), "{error}");
                let parts = packing(&packed).unwrap().unpack_to(&packed, most, &mut |_| Ok(()));
                assert!(matches!(parts, Err(Cause::Option(_))), "{parts:?}");
            }
        }
        // The limit applies to the sum of two members.
        let two = [packed(&[0; 60]), packed(&[0; 60])].concat();
        assert!(unpacked(&two, 119).is_err());
        assert_eq!(unpacked(&two, 120).unwrap().len(), 120);
    }
}
