//! The codecs from bytes to bytes.

use std::io::Read;

use bytes::Bytes;
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use karhunen::memory;
use serde_json::Value;

use super::blosc;
use super::metadata::unknown_codec;

/// A codec, with the settings that decoding needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    Gzip,
    Zlib,
    Zstd,
    Lz4,
    Blosc,
    Crc32c,
    /// The bytes of elements of this size, bytes of the same place together.
    Shuffle(usize),
}

/// Bytes of CRC-32C.
pub(super) const CHECKSUM: usize = 4;

impl Codec {
    /// The codec of a name in the metadata of either version.
    ///
    /// # Errors
    /// The name of a codec that is not read.
    pub(super) fn read(name: &str, settings: &Value) -> Result<Self, String> {
        Ok(match name {
            "gzip" => Self::Gzip,
            "zlib" => Self::Zlib,
            "zstd" => Self::Zstd,
            "lz4" => Self::Lz4,
            "blosc" => Self::Blosc,
            // The checksum of numcodecs may stand at the beginning.
            "crc32c" if settings.get("location").is_none_or(|place| place == "end") => Self::Crc32c,
            "shuffle" => {
                let size = settings.get("elementsize").and_then(Value::as_u64).unwrap_or(4);
                Self::Shuffle(usize::try_from(size).unwrap_or(usize::MAX).max(1))
            }
            other => return Err(unknown_codec(other)),
        })
    }

    /// Decodes to at most `most` bytes.
    fn decode(self, bytes: Bytes, most: usize) -> Result<Bytes, String> {
        match self {
            Self::Gzip => read_at_most(MultiGzDecoder::new(&bytes[..]), "gzip", bytes.len(), most),
            Self::Zlib => read_at_most(ZlibDecoder::new(&bytes[..]), "zlib", bytes.len(), most),
            Self::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(&bytes[..]);
                read_at_most(decoder.map_err(|error| error.to_string())?, "Zstandard", bytes.len(), most)
            }
            Self::Lz4 => lz4(&bytes, most),
            Self::Blosc => blosc::unpack(&bytes, most).map(Bytes::from),
            Self::Crc32c => {
                let (content, expected) =
                    bytes.split_last_chunk::<CHECKSUM>().ok_or("its checksum is cut off")?;
                if crc32c(content) != u32::from_le_bytes(*expected) {
                    return Err("its checksum is another".to_owned());
                }
                Ok(bytes.slice(..content.len()))
            }
            Self::Shuffle(size) => {
                let mut out = vec![0; bytes.len()];
                blosc::unshuffle_bytes(&bytes, size, &mut out);
                Ok(out.into())
            }
        }
    }
}

/// Decodes bytes by the codecs of their writing, the last first, to at most `most` bytes.
///
/// # Errors
/// The fault of the bytes.
pub(super) fn decode(codecs: &[Codec], bytes: Bytes, most: usize) -> Result<Bytes, String> {
    // A codec that packs may lengthen bytes that were packed before.
    let between = most.saturating_add(most / 8).saturating_add(4096);
    codecs
        .iter()
        .enumerate()
        .rev()
        .try_fold(bytes, |bytes, (place, codec)| codec.decode(bytes, if place == 0 { most } else { between }))
}

fn read_at_most(decoder: impl Read, what: &str, n_packed: usize, most: usize) -> Result<Bytes, String> {
    let mut out = Vec::new();
    memory::reserve(&mut out, most.min(n_packed.saturating_mul(64))).map_err(|error| error.to_string())?;
    let read = decoder.take((most as u64).saturating_add(1)).read_to_end(&mut out);
    read.map_err(|error| format!("bytes are not {what} ({error})"))?;
    if out.len() > most {
        return Err(format!("unpacks to more than {most} bytes"));
    }
    Ok(out.into())
}

/// LZ4 of numcodecs: the number of bytes, then one block.
fn lz4(bytes: &[u8], most: usize) -> Result<Bytes, String> {
    /// A byte of a block unpacks to at most so many.
    const MOST_UNPACKED: usize = 256;
    let (n, packed) = bytes.split_first_chunk().ok_or("bytes are not LZ4")?;
    let n = u32::from_le_bytes(*n) as usize;
    if n > most || n > packed.len().saturating_mul(MOST_UNPACKED) {
        return Err(format!("declares {n} bytes, which it does not hold"));
    }
    let mut out = vec![0; n];
    let found = lz4_flex::block::decompress_into(packed, &mut out).map_err(|error| error.to_string())?;
    out.truncate(found);
    Ok(out.into())
}

/// The remainder of each byte, of the polynomial of Castagnoli, reversed.
const REMAINDERS: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            remainder = (remainder >> 1) ^ (if remainder & 1 == 1 { 0x82f6_3b78 } else { 0 });
            bit += 1;
        }
        table[byte] = remainder;
        byte += 1;
    }
    table
};

/// CRC-32C, RFC 3720, appendix B.4.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| REMAINDERS[(sum as u8 ^ byte) as usize] ^ (sum >> 8);
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_agree_with_the_standard() {
        // RFC 3720, appendix B.4, and the check value of the catalogue of CRC algorithms.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn bytes_that_lie_are_refused() {
        let error =
            |codec: Codec, bytes: &'static [u8]| codec.decode(Bytes::from_static(bytes), 100).unwrap_err();
        assert!(error(Codec::Lz4, &[0xff, 0xff, 0, 0, 1]).contains("declares 65535 bytes"));
        assert!(error(Codec::Lz4, &[1]).contains("not LZ4"));
        assert!(error(Codec::Gzip, b"abc").contains("not gzip"));
        assert!(error(Codec::Zstd, b"abcdefgh").contains("not Zstandard"));
        assert!(error(Codec::Crc32c, b"abcdefgh").contains("checksum"));
        let zeros = zstd::stream::encode_all(&[0_u8; 101][..], 1).unwrap();
        let error = Codec::Zstd.decode(zeros.into(), 100).unwrap_err();
        assert_eq!(error, "unpacks to more than 100 bytes");
    }
}
