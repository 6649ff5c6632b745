//! Several files as one table, one below the other.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use karhunen::error::Phrase;

use crate::foreign;
use crate::genotypes::layout;
use crate::names::shortened;
use crate::option_names;
use crate::options::Log1p;
use crate::packed::extension;
use crate::single_cell;
use crate::stacked::stack_values;
use crate::zarr_marks;
use crate::{Cause, Data, Error, Label, ReadOptions, Result, Table, Values, read};

/// Extensions of the files of a folder that are read.
const EXTENSIONS: [&str; 9] = ["parquet", "arrow", "feather", "ipc", "npy", "csv", "tsv", "tab", "txt"];

/// Reads files as one table, in the order given, as [`read`] reads one. Of a folder, the files whose extensions are
/// extensions of tables are read in the order of their names, except names that begin with a point or an underscore.
/// Columns are matched by name if the files have names; the names of the first file give their order.
///
/// # Errors
/// Same errors as [`read`]; [`Cause::Format`] for other columns than in the first file, for row names in some files
/// only, for sparse matrices, and for a folder without tables.
pub fn read_tables(paths: &[PathBuf], options: &ReadOptions) -> Result<Table> {
    let mut files = Vec::new();
    for path in paths {
        if single_cell::is_folder(path) || zarr_marks::is_folder(path) {
            files.push(path.clone());
            continue;
        }
        match tables_in(path)? {
            Some(inside) => files.extend(inside),
            None => files.push(path.clone()),
        }
    }
    if let [file] = &files[..] {
        return read(file, options);
    }
    if options.log1p == Some(Log1p::Median) {
        let message = Phrase::default().option(option_names::LOG1P);
        let message =
            message.text(" takes the median of one file; for several, give the sum of each row as a number");
        return Err(Error::new(&paths[0], Cause::option(message)));
    }
    let share = options.memory_limit.map(|limit| limit / files.len().max(1) as u64);
    let of_part = ReadOptions { memory_limit: share, ..options.clone() };
    let mut stack: Option<Stack> = None;
    for file in files {
        let table = read(&file, &of_part)?;
        match &mut stack {
            None => stack = Some(Stack::new(file, table)?),
            Some(stack) => stack.push(&file, table)?,
        }
    }
    let Some(stack) = stack else {
        let message = "no file is given".to_owned();
        return Err(Error::new(Path::new("-"), Cause::format(message)));
    };
    Ok(stack.finish(options))
}

/// The tables in a folder, by name; `None` for a file.
fn tables_in(path: &Path) -> Result<Option<Vec<PathBuf>>> {
    if !path.is_dir() {
        return Ok(None);
    }
    let reading = |source| Error::io(path, "reading", source);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(reading)? {
        let file = entry.map_err(reading)?.path();
        let is_hidden = file.file_name().is_some_and(|name| {
            name.as_encoded_bytes().starts_with(b".") || name.as_encoded_bytes().starts_with(b"_")
        });
        let is_table = extension(&file).is_some_and(|found| EXTENSIONS.contains(&found.as_str()));
        if is_table && !is_hidden && file.is_file() {
            files.push(file);
        }
    }
    if files.is_empty() {
        return Err(Error::new(path, Cause::format(no_table(path))));
    }
    files.sort();
    Ok(Some(files))
}

/// Returns true if a reader of `input` may read `file`: a file of a folder of parts or of Cell Ranger, any file of a Zarr
/// store, or the .bim or .fam that belongs to a .bed file. Both paths are without links and dots.
#[must_use]
pub fn is_read_through(input: &Path, file: &Path) -> bool {
    if zarr_marks::is_folder(input) {
        return file.starts_with(input);
    }
    if single_cell::is_folder(input) {
        return file.parent() == Some(input) && file.is_file();
    }
    if input.is_dir() {
        return tables_in(input)
            .is_ok_and(|files| files.is_some_and(|files| files.iter().any(|part| part == file)));
    }
    let is_bed = extension(input).as_deref() == Some("bed");
    is_bed && ["bim", "fam"].iter().any(|end| layout::companion(input, end) == file)
}

/// The message for a folder without tables.
fn no_table(path: &Path) -> String {
    match foreign::of_folder(path) {
        foreign::FOLDER => {
            let endings = EXTENSIONS.join(", .");
            format!("is a folder that holds no file whose name ends in .{endings}; give files of data")
        }
        kind => kind.message(path),
    }
}

/// Tables with the same columns.
struct Stack {
    /// The first file, which errors name.
    first: PathBuf,
    n_files: usize,
    /// The first table, without its values, with the names, labels, weights and notes of all.
    table: Table,
    parts: Vec<(Data, Option<Vec<usize>>)>,
}

impl Stack {
    fn new(first: PathBuf, mut table: Table) -> Result<Self> {
        let data = std::mem::replace(&mut table.data, Data::F64(Values::Blocks(Vec::new())));
        refuse_sparse(&first, &data)?;
        Ok(Self { first, n_files: 1, table, parts: vec![(data, None)] })
    }

    fn push(&mut self, path: &Path, part: Table) -> Result<()> {
        let refuse = |message: String| Err(Error::new(path, Cause::format(message)));
        let first = self.first.display();
        refuse_sparse(path, &part.data)?;
        let (found, expected) = (part.data.shape().1, self.parts[0].0.shape().1);
        if found != expected {
            return refuse(format!("has {found} columns of numbers, but {first} has {expected}"));
        }
        let names = (self.table.feature_names.as_deref(), part.feature_names.as_deref());
        let places = places(&self.first, path, names)?;
        match (&mut self.table.sample_names, part.sample_names) {
            (Some(all), Some(more)) => all.extend(more),
            (None, None) => {}
            (Some(_), None) => {
                return refuse(format!("its rows have no names, but the rows of {first} do"));
            }
            (None, Some(_)) => return refuse(format!("its rows have names, but the rows of {first} do not")),
        }
        // The options name the labels, in the same order for every file.
        for (all, more) in self.table.labels.iter_mut().zip(part.labels) {
            let Label { values, .. } = more;
            all.values.extend(values);
        }
        if let (Some(all), Some(more)) = (&mut self.table.weights, part.weights) {
            all.extend(more);
        }
        for note in part.notes {
            if !self.table.notes.contains(&note) {
                self.table.notes.push(note);
            }
        }
        self.table.warnings.extend(part.warnings);
        self.parts.push((part.data, places));
        self.n_files += 1;
        Ok(())
    }

    fn finish(mut self, options: &ReadOptions) -> Table {
        self.table.data = stack_values(self.parts, options.memory_limit.unwrap_or(u64::MAX));
        self.table.notes.push(format!("{} files, one below the other", self.n_files));
        self.table
    }
}

fn refuse_sparse(path: &Path, data: &Data) -> Result<()> {
    if data.n_stored().is_none() {
        return Ok(());
    }
    let message = "a sparse matrix cannot be stacked with other files; make one file of them";
    Err(Error::new(path, Cause::format(message)))
}

/// For each column of a file, its place among the columns of the `first` file, by name; `None` if all stand at the same
/// place. The files have the same number of columns. `names` are (of the first file, of this one).
///
/// # Errors
/// [`Cause::Format`] for a name that only one of the files has, and if only one of them has names.
pub(crate) fn places(
    first: &Path,
    path: &Path,
    names: (Option<&[String]>, Option<&[String]>),
) -> Result<Option<Vec<usize>>> {
    let refuse = |message: String| Err(Error::new(path, Cause::format(message)));
    let first = first.display();
    let (expected, found) = match names {
        (Some(expected), Some(found)) if expected != found => (expected, found),
        (Some(_), Some(_)) | (None, None) => return Ok(None),
        (Some(_), None) => {
            return refuse(format!("its columns have no names, but the columns of {first} do"));
        }
        (None, Some(_)) => {
            return refuse(format!("its columns have names, but the columns of {first} do not"));
        }
    };
    let mut known: HashMap<&str, usize> =
        expected.iter().enumerate().map(|(j, name)| (name.as_str(), j)).collect();
    let mut places = Vec::with_capacity(found.len());
    for name in found {
        match known.remove(name.as_str()) {
            Some(place) => places.push(place),
            None => return refuse(format!("has another column `{}` than {first}", shortened(name))),
        }
    }
    Ok(Some(places))
}
