//! One entry point for all formats: the content of a file determines its format, then its name.

use std::path::Path;

use karhunen::incomplete::Checkpoint;
use karhunen::record::Recorded;

use crate::columnar::{arrow, parquet};
use crate::counts::prepared;
use crate::format::{Format, sniff};
use crate::input::{Input, decompressed};
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

/// Reads a table or a sparse matrix in any supported format; `-` reads standard input. Files packed with gzip,
/// zstd, xz and bzip2, and zip archives of one file, are unpacked.
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
        .through(|input| named(path, read_input(input, options)?, options))
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
    named(path, table, options).map(Some)
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
/// Same errors as [`read`] and [`crate::load_any_model`].
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
        Ok(Content::Table(Box::new(named(path, read_input(input, options)?, options)?)))
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
            "this is a checkpoint, not data; continue its fit with `karhunen fit DATA --missing \
             --checkpoint {} --resume`, with the options that the fit had",
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
