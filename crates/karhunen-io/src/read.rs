//! One entry point for all formats: the content of a file determines its format, then its name.

use std::path::Path;

use karhunen::incomplete::Checkpoint;
use karhunen::record::Recorded;

use crate::columnar::{arrow, parquet};
use crate::counts::prepared;
use crate::foreign::{self, Foreign};
use crate::input::{Input, decompressed, extension};
use crate::model_file;
use crate::name_list::named;
use crate::names::shell_word;
use crate::saved::any_model;
use crate::single_cell;
use crate::zarr::Zarr;
use crate::zarr_marks;
use crate::{
    AnyModel, Cause, Error, ReadOptions, Result, Saved, SavedScatter, Table, checkpoint_file, csv, genotypes,
    matrix_market, npy, npz,
};

/// The message for a Matrix Market file without its first line.
pub(crate) const NO_BANNER: &str = "named .mtx, but the first line does not begin with %%MatrixMarket";

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

/// Reads a table or a sparse matrix in any supported format; `-` reads standard input. Files compressed with gzip
/// are decompressed.
///
/// A file that is written to during the read is refused. If the values stay in the file
/// ([`crate::Buffer::Mapped`]), call [`crate::Data::check_unchanged`] after their last use. If another file
/// replaces it under the same name, the old content is read.
///
/// # Errors
/// [`Cause::Io`] if the file cannot be opened or read; [`Cause::Changed`]; [`Cause::Option`] for options that the
/// format does not use or that name absent parts of the file; [`Cause::Format`] and [`Cause::Value`] for invalid
/// content, with line and column if there are any.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Table> {
    if let Some(table) = read_folder(path, options)? {
        return Ok(table);
    }
    decompressed(Input::open_within(path, options.most_unpacked())?, options)?
        .through(|input| named(read_input(input, options)?, options))
}

/// Reads a folder that is one table: of Cell Ranger, or a Zarr store. Returns `None` for files and other folders.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_folder(path: &Path, options: &ReadOptions) -> Result<Option<Table>> {
    let table = if single_cell::is_folder(path) {
        single_cell::read_folder(path, options)?
    } else if zarr_marks::is_folder(path) {
        single_cell::read_zarr(Zarr::of_folder(path)?, options)?
    } else {
        return Ok(None);
    };
    named(table, options).map(Some)
}

/// The content of a file.
#[derive(Debug)]
pub enum Content {
    /// Data.
    Table(Box<Table>),
    /// A fitted model.
    Model {
        /// The model.
        saved: AnyModel,
        /// The version of karhunen that wrote it.
        version: String,
    },
    /// The moments of rows.
    Moments {
        /// The moments, with the names of the columns.
        saved: Box<SavedScatter>,
        /// The version of karhunen that wrote them.
        version: String,
    },
    /// The state of a fit.
    Checkpoint(Box<Checkpoint>),
}

/// Reads a table as [`read`] does, but with NaN for missing values; a model as [`crate::load_any_model`] does; or
/// a checkpoint, depending on the content.
///
/// # Errors
/// Those of [`read`] and [`crate::load_any_model`].
pub fn read_any(path: &Path, options: &ReadOptions) -> Result<Content> {
    if let Some(table) = read_folder(path, options)? {
        return Ok(Content::Table(Box::new(table)));
    }
    decompressed(Input::open_within(path, options.most_unpacked())?, options)?.through(|input| {
        if sniff(input.as_slice(), path) == Format::Model {
            options.allow_none(path, "model")?;
            let record = model_file::read(&input)?;
            if record.kind == Checkpoint::KIND {
                return Ok(Content::Checkpoint(Box::new(checkpoint_file::of_record(path, record)?)));
            }
            let version = record.version.clone();
            if record.kind == SavedScatter::KIND {
                return Ok(Content::Moments { saved: Box::new(Saved::of(path, record)?), version });
            }
            return Ok(Content::Model { saved: any_model(path, record)?, version });
        }
        // Entries that a sparse matrix does not store usually are zeros: no missing values are reported.
        let missing =
            !matches!(sniff(input.as_slice(), path), Format::MatrixMarket | Format::Npz | Format::Hdf5);
        let options = &ReadOptions { missing, ..options.clone() };
        Ok(Content::Table(Box::new(named(read_input(input, options)?, options)?)))
    })
}

/// Passes the content to the reader of its format.
pub(crate) fn read_input(input: Input, options: &ReadOptions) -> Result<Table> {
    let refuse =
        |input: Input, message: &str| Err(Error::new(&input.path, Cause::format(message.to_owned())));
    let path = input.path.clone();
    let table = match sniff(input.as_slice(), &input.path) {
        // Masks follow the normalisation.
        Format::Hdf5 => return single_cell::read(input, options),
        Format::Npz if zarr_marks::is_archive(input.as_slice()) => {
            return single_cell::read_zarr(Zarr::of_archive(input)?, options);
        }
        Format::Npy => npy::read(input, options),
        Format::Npz => npz::read(input, options),
        Format::Parquet => parquet::read(input, options),
        Format::Arrow => arrow::read(input, options),
        Format::MatrixMarket => matrix_market::read(input, options),
        Format::Bed => genotypes::read(input, options),
        Format::Text => csv::read(input, options),
        Format::Model => Err(no_data(&input)),
        Format::Foreign(kind) => {
            let message = kind.message(&input.path);
            refuse(input, &message)
        }
        Format::NoBanner => refuse(input, NO_BANNER),
    }?;
    prepared(table, &path, None, options)
}

/// The error for a model or a checkpoint given as data.
pub(crate) fn no_data(input: &Input) -> Error {
    let is_pass_log = model_file::is_pass_log(input.as_slice());
    let kind = model_file::read(input).map(|record| record.kind).unwrap_or_default();
    let file = input.path.to_string_lossy();
    let message = match kind.as_str() {
        _ if is_pass_log => model_file::PASSES.to_owned(),
        Checkpoint::KIND => format!(
            "this is a checkpoint, not data; go on with its fit by `karhunen fit DATA --missing --checkpoint {} --resume`, with the \
             options that the fit had",
            shell_word(&file)
        ),
        SavedScatter::KIND => format!(
            "these are moments, not data; fit them by `karhunen fit --from-moments {}`",
            shell_word(&file)
        ),
        _ => "this is a model file, not data; use it with `karhunen transform`".to_owned(),
    };
    Error::new(&input.path, Cause::format(message))
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
    let after_bed_magic = bytes.strip_prefix(&genotypes::layout::MAGIC);
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
fn is_safetensors(bytes: &[u8]) -> bool {
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
    fn the_length_of_a_header_is_no_mark_of_another_format() {
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
