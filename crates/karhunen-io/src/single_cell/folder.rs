//! Folders of Cell Ranger: `matrix.mtx` with genes in rows, `barcodes.tsv`, and `features.tsv` or, before version 3,
//! `genes.tsv`; each may be packed.

use std::path::{Path, PathBuf};

use super::Genes;
use crate::input::{Input, decompressed};
use crate::{Cause, Error, Place, ReadOptions, Result, Table};
use crate::{matrix_market, packed};

/// Returns true for a folder that holds `matrix.mtx`.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.is_dir() && part(path, "matrix.mtx").is_some()
}

/// Reads a folder; cells become rows.
///
/// # Errors
/// [`Cause::Format`] for a file that is absent, damaged, or of another length than the matrix.
pub(crate) fn read_folder(path: &Path, options: &ReadOptions) -> Result<Table> {
    options.allow_only(path, "a folder of Cell Ranger", &[])?;
    let found = |names: &[&str]| {
        names.iter().find_map(|name| part(path, name)).ok_or_else(|| {
            let message = format!("the folder holds matrix.mtx, but no {}", names.join(" or "));
            Error::new(path, Cause::format(message))
        })
    };
    let (matrix, cells) = (found(&["matrix.mtx"])?, found(&["barcodes.tsv"])?);
    let genes = found(&["features.tsv", "genes.tsv"])?;
    let of_matrix = ReadOptions { transpose: true, log1p: None, fitted: None, ..options.clone() };
    let table = open(&matrix, options)?.through(|input| matrix_market::read(input, &of_matrix))?;
    let (n, p) = table.data.shape();
    let cells = columns(&cells, (n, "columns"), &matrix, options)?;
    let mut genes = columns(&genes, (p, "rows"), &matrix, options)?;
    let kinds = (genes.len() > 2).then(|| std::mem::take(&mut genes[2]));
    let names = if genes.len() > 1 { std::mem::take(&mut genes[1]) } else { genes[0].clone() };
    let genes = Genes { ids: std::mem::take(&mut genes[0]), names, kinds };
    let cells = cells.into_iter().next();
    genes.table(Table { sample_names: cells, format: "Cell Ranger folder", ..table }, path, options)
}

/// A file of the folder, packed or not.
fn part(folder: &Path, name: &str) -> Option<PathBuf> {
    let endings = std::iter::once("").chain(packed::ENDINGS);
    endings.map(|ending| folder.join(format!("{name}{ending}"))).find(|path| path.is_file())
}

fn open(path: &Path, options: &ReadOptions) -> Result<Input> {
    decompressed(Input::open_within(path, options.most_unpacked())?, options)
}

/// The columns of a text without a header whose fields are separated by tabs, at least one.
fn columns(
    path: &Path,
    (n_expected, axis): (usize, &str),
    matrix: &Path,
    options: &ReadOptions,
) -> Result<Vec<Vec<String>>> {
    open(path, options)?.through(|input| {
        let text = std::str::from_utf8(input.as_slice())
            .map_err(|_| Error::new(path, Cause::format("is not UTF-8 text".to_owned())))?;
        let mut columns: Vec<Vec<String>> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let fields: Vec<&str> = line.split('\t').collect();
            if number == 0 {
                columns = vec![Vec::with_capacity(n_expected); fields.len()];
            }
            if fields.len() != columns.len() {
                let message =
                    format!("has {} fields, but the first line has {}", fields.len(), columns.len());
                let place = Place { line: Some(number as u64 + 1), ..Place::default() };
                return Err(Error::at(path, place, Cause::format(message)));
            }
            columns.iter_mut().zip(fields).for_each(|(column, field)| column.push(field.to_owned()));
        }
        let n = columns.first().map_or(0, Vec::len);
        if n != n_expected || columns.is_empty() {
            let message = format!("has {n} lines, but {} has {n_expected} {axis}", matrix.display());
            return Err(Error::new(path, Cause::format(message)));
        }
        Ok(columns)
    })
}
