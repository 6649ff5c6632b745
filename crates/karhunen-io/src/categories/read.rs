//! The entry point for all formats.

use std::path::Path;

use super::table::{CategoryTable, ColumnKinds};
use crate::columnar::{arrow, parquet};
use crate::format::{Format, sniff};
use crate::input::{Input, decompressed};
use crate::name_list::listed;
use crate::read::{NO_BANNER, no_data};
use crate::{Cause, Error, ReadOptions, Result, csv, single_cell, zarr_marks};

/// Reads a table of categories and numbers: CSV and other text tables, Parquet or Arrow; `-` reads standard input.
/// Packed files are unpacked. The table is held in memory.
///
/// The first column names the rows if it has no name below a header, or holds texts that all differ.
///
/// # Errors
/// [`Cause::Io`] if the file cannot be opened or read; [`Cause::Changed`]; [`Cause::Option`] for options that the
/// format does not use or that name absent columns; [`Cause::Format`] and [`Cause::Value`] for other formats and
/// invalid content, with line and column if there are any.
pub fn read_categories(path: &Path, kinds: ColumnKinds<'_>, options: &ReadOptions) -> Result<CategoryTable> {
    let refuse = |message: String| Err(Error::new(path, Cause::format(message)));
    let of_numbers = || {
        "holds numbers alone; tables of categories are read from CSV, TSV, Parquet or Arrow files".to_owned()
    };
    if single_cell::is_folder(path) || zarr_marks::is_folder(path) {
        return refuse(of_numbers());
    }
    if path.is_dir() {
        return refuse(
            "is a folder; a table of categories is read from one file: make one of its parts".to_owned(),
        );
    }
    decompressed(Input::open_within(path, options.most_unpacked())?, options)?.through(|input| {
        let table = match sniff(input.as_slice(), path) {
            Format::Text => csv::read_categories(&input, kinds, options),
            Format::Parquet => parquet::read_categories(input, kinds, options),
            Format::Arrow => arrow::read_categories(input, kinds, options),
            Format::Model => Err(no_data(&input)),
            Format::Foreign(kind) => refuse(kind.message(path)),
            Format::NoBanner => refuse(NO_BANNER.to_owned()),
            Format::Npy | Format::Npz | Format::Hdf5 | Format::MatrixMarket | Format::Bed => {
                refuse(of_numbers())
            }
        }?;
        named(table, options)
    })
}

/// Adds the names that the options take from separate files.
fn named(mut table: CategoryTable, options: &ReadOptions) -> Result<CategoryTable> {
    let (samples, features) = listed(options, table.n_rows, table.columns.len())?;
    if let Some(names) = samples {
        table.sample_names = Some(names);
    }
    if let Some(names) = features {
        table.columns.iter_mut().zip(names).for_each(|(column, name)| column.name = name);
        table.has_names = true;
    }
    Ok(table)
}
