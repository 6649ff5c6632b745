//! The format of a content.

use std::path::Path;

use crate::foreign::{self, Foreign};
use crate::genotypes::layout;
use crate::packed::extension;

/// The format of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Npy,
    Npz,
    Parquet,
    Arrow,
    Hdf5,
    MatrixMarket,
    /// PLINK 1 genotypes, or another file that is named so.
    Bed,
    Text,
    /// A model or checkpoint, not data.
    Model,
    /// A known format that is not read.
    Foreign(Foreign),
    /// A file named .mtx without the first line of that format.
    NoBanner,
}

/// The format by the first bytes, or by the name of the file if they do not decide.
pub(crate) fn sniff(bytes: &[u8], path: &Path) -> Format {
    const FIRST_BYTES: [(&[u8], Format); 7] = [
        (b"\x93NUMPY", Format::Npy),
        (b"PK\x03\x04", Format::Npz),
        // An empty archive.
        (b"PK\x05\x06", Format::Npz),
        (b"\x89HDF\r\n\x1a\n", Format::Hdf5),
        (b"ARROW1\0", Format::Arrow),
        (b"\xff\xff\xff\xff", Format::Arrow),
        // The following bytes distinguish the file from a text whose first column is called so.
        (b"PAR1", Format::Parquet),
    ];
    let is_text =
        |rest: &[u8]| rest.first().is_some_and(|byte| byte.is_ascii_graphic() || b" \t\r\n".contains(byte));
    for (first, format) in FIRST_BYTES {
        if bytes.strip_prefix(first).is_some_and(|rest| format != Format::Parquet || !is_text(rest)) {
            return format;
        }
    }
    let named_bed = extension(path).as_deref() == Some("bed");
    let after_bed_magic = bytes.strip_prefix(&layout::MAGIC);
    if after_bed_magic.is_some() && named_bed {
        return Format::Bed;
    }
    // The length of a header of safetensors may look like the first bytes of the formats below, 640 like a pickle.
    if is_safetensors(bytes) {
        return Format::Model;
    }
    if matches!(after_bed_magic, Some([0 | 1, ..])) {
        return Format::Bed;
    }
    if let Some(kind) = foreign::recognise(bytes, path) {
        return Format::Foreign(kind);
    }
    if bytes.get(..14).is_some_and(|banner| banner.eq_ignore_ascii_case(b"%%MatrixMarket")) {
        return Format::MatrixMarket;
    }
    if named_bed {
        return Format::Bed;
    }
    if extension(path).as_deref() == Some("mtx") {
        return Format::NoBanner;
    }
    Format::Text
}

/// Tests for safetensors: the length of a JSON header in eight bytes, and the header.
pub(crate) fn is_safetensors(bytes: &[u8]) -> bool {
    bytes.get(5..9).is_some_and(|rest| rest == b"\0\0\0{")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides_before_the_name() {
        let cases: [(&[u8], &str, Format); 24] = [
            (b"\x93NUMPY\x01\x00", "x.csv", Format::Npy),
            (b"PK\x03\x04", "x.csv", Format::Npz),
            (b"PAR1", "x.csv", Format::Parquet),
            (b"ARROW1\0\0", "x.csv", Format::Arrow),
            (b"\xff\xff\xff\xff\x10\0\0\0", "x.csv", Format::Arrow),
            (b"%%MatrixMarket matrix", "x.csv", Format::MatrixMarket),
            (b"%%matrixmarket matrix", "x", Format::MatrixMarket),
            (b"\x10\0\0\0\0\0\0\0{\"", "x.csv", Format::Model),
            (b"1,2\n3,4\n", "x.npy", Format::Text),
            (b"1,2\n3,4\n", "x", Format::Text),
            (b"", "x.csv", Format::Text),
            (b"BZhello,FEA1\n1,2\n", "x.csv", Format::Text),
            (b"PAR1,PAR2\n1,2\n", "x.csv", Format::Text),
            (b"ARROW1,ARROW2\n1,2\n", "x.csv", Format::Text),
            (b"ORC\n1\n2\n", "x.csv", Format::Text),
            (b"[1],[2]\n1,2\n", "x.csv", Format::Text),
            (b"A\n2\n3\n", "x.csv", Format::Text),
            (b"PK\x05\x06", "x.npz", Format::Npz),
            (b"PARIS,LYON\n1,2\n", "x.csv", Format::Text),
            (b"1 1 1\n", "x.MTX.gz", Format::NoBanner),
            (b"\x6c\x1b\x01", "x", Format::Bed),
            (b"\x6c\x1b\x10", "x.bed", Format::Bed),
            (b"", "x.bed", Format::Bed),
            (b"%%MatrixMarket matrix", "x.bed", Format::MatrixMarket),
        ];
        for (bytes, name, format) in cases {
            assert_eq!(sniff(bytes, Path::new(name)), format, "{name}: {bytes:?}");
        }
    }

    #[test]
    fn the_length_of_a_header_is_not_a_mark_of_another_format() {
        // As pickles (0x80 and 2 or 3), .pgen, .bed, R and TIFF files begin.
        for length in [640_u64, 896, 66_176, 7_020, 72_556, 2_648, 2_771_273] {
            let bytes = [&length.to_le_bytes()[..], b"{\"__metadata__\":"].concat();
            assert_eq!(sniff(&bytes, Path::new("x.model")), Format::Model, "{length}");
        }
        let pickles: [&[u8]; 3] = [
            b"\x80\x02]q\0(K\x01K\x02e.",
            b"\x80\x03]q\0(K\x01K\x02e.",
            b"\x80\x04\x95\x0b\0\0\0\0\0\0\0]\x94.",
        ];
        for bytes in pickles {
            assert!(matches!(sniff(bytes, Path::new("x.pkl")), Format::Foreign(_)), "{bytes:?}");
        }
        assert_eq!(sniff(b"\x6c\x1b\x01\0\0\0\0\0{", Path::new("x.bed")), Format::Bed);
    }
}
