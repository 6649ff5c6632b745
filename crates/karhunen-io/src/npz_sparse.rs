//! Sparse matrices in NPZ archives as `scipy.sparse.save_npz` writes them: `format`, `shape` and `data`, and the
//! arrays with the positions of the values.

use std::ops::Range;
use std::path::Path;

use karhunen::error::Phrase;
use karhunen::incomplete::{Duplicates, Triples};
use karhunen::matrix::{IndexInt, Major, SparseMatrix};
use karhunen::{Observed, Scalar, Sparse, memory};

use crate::file_rows::{FileRows, SparseCopy};
use crate::input::Input;
use crate::npy;
use crate::npy_elements;
use crate::npy_header::{self, Header, Kind};
use crate::npz::Archive;
use crate::option_names;
use crate::rounded::Rounded;
use crate::{Cause, Data, Error, ObservedData, Place, ReadOptions, Result, Table, Values};

/// Reads the matrix of an archive that has a `format` and a `shape`.
///
/// # Errors
/// [`Cause::Format`] for arrays that are missing, of another type, of an unsupported layout, or that contradict
/// each other.
pub(crate) fn read(mut archive: Archive<'_>, options: &ReadOptions) -> Result<Table> {
    let format = Array::of(&mut archive, "format")?.text();
    let (n_rows, n_cols) = shape(&mut archive)?;
    let layout = Layout::of(&mut archive, &format)?;
    let data = Array::of(&mut archive, "data")?;
    let n_entries = data.header.shape.iter().product();
    let value_bytes = if is_f32(&data.header) { 4 } else { 8 };
    if options.stay_in_copy(if options.transpose { n_cols } else { n_rows }, n_entries, value_bytes) {
        return copied(&archive, &layout, &data, (n_rows, n_cols), options);
    }
    let mut notes = Vec::new();
    let refuse = |refusal: Refusal| refusal.into_error(&archive.input.path);
    let places =
        Places { n_rows, n_cols, layout, transpose: options.transpose, may_repeat: !options.missing };
    let warnings = npy_elements::first_rounded(data.elements(), &data.header)
        .map(|(_, text)| Rounded { text, place: Place::default() }.warning::<f64>());
    let data = if is_f32(&data.header) {
        let values: Vec<f32> =
            npy_elements::convert(data.elements(), data.header.dtype.big_endian, f32::from_le_bytes);
        Data::F32(Values::Sparse(places.fill(&values, &mut notes).map_err(refuse)?))
    } else {
        let values = npy_elements::to_f64(data.elements(), &data.header)
            .map_err(|cause| archive.error("data", cause))?;
        Data::F64(Values::Sparse(places.fill(&values, &mut notes).map_err(refuse)?))
    };
    Ok(table(data, notes, warnings.into_iter().collect()))
}

fn table(data: Data, notes: Vec<String>, warnings: Vec<Phrase>) -> Table {
    Table {
        data,
        sample_names: None,
        id_name: None,
        feature_names: None,
        labels: Vec::new(),
        weights: None,
        left_out: Vec::new(),
        log1p: None,
        format: "NPZ (sparse)",
        notes,
        warnings,
    }
}

/// The matrix as rows of a temporary copy.
fn copied(
    archive: &Archive<'_>,
    layout: &Layout,
    data: &Array,
    shape: (usize, usize),
    options: &ReadOptions,
) -> Result<Table> {
    let single = is_f32(&data.header);
    let (data, notes) = if single {
        let (rows, notes) = copied_as::<f32>(archive, layout, data, shape, options)?;
        (Data::F32(Values::InFile(rows)), notes)
    } else {
        let (rows, notes) = copied_as::<f64>(archive, layout, data, shape, options)?;
        (Data::F64(Values::InFile(rows)), notes)
    };
    Ok(table(data, notes, Vec::new()))
}

fn copied_as<T: Scalar>(
    archive: &Archive<'_>,
    layout: &Layout,
    data: &Array,
    (n_rows, n_cols): (usize, usize),
    options: &ReadOptions,
) -> Result<(FileRows<T>, Vec<String>)> {
    let path = &archive.input.path;
    let shape = if options.transpose { (n_cols, n_rows) } else { (n_rows, n_cols) };
    let n_entries = data.header.shape.iter().product();
    let refuse = |refusal: Refusal| refusal.into_error(path);
    for ordered in [true, false] {
        let mut copy = SparseCopy::new(path, shape, n_entries, ordered, options)?;
        let mut chunks = layout.chunks(n_entries).map_err(refuse)?;
        let mut is_ordered = true;
        while let Some((first, rows, columns)) = chunks.next((n_rows, n_cols)).map_err(refuse)? {
            let values = data.values::<T>(first..first + rows.len()).map_err(refuse)?;
            let (rows, columns) = if options.transpose { (columns, rows) } else { (rows, columns) };
            is_ordered = copy.push(&rows, &columns, &values)?;
            if !is_ordered {
                break;
            }
        }
        if is_ordered {
            let (rows, n_repeated) = copy.finish(options)?;
            let mut notes = Vec::new();
            tell_repeated(n_repeated, !options.missing, &mut notes).map_err(refuse)?;
            return Ok((rows, notes));
        }
    }
    unreachable!("entries in any order are taken")
}

/// The stored entries of such an archive as observed entries, with repeated entries averaged.
///
/// # Errors
/// Same errors as [`read`] and [`Observed::from_triples`].
pub(crate) fn averaged(mut archive: Archive<'_>, options: &ReadOptions) -> Result<ObservedData> {
    let format = Array::of(&mut archive, "format")?.text();
    let mut shape = shape(&mut archive)?;
    let layout = Layout::of(&mut archive, &format)?;
    let data = Array::of(&mut archive, "data")?;
    let path = &archive.input.path;
    let refuse = |refusal: Refusal| refusal.into_error(path);
    check_room("rows", shape.0).and_then(|()| check_room("columns", shape.1)).map_err(refuse)?;
    let (mut rows, mut columns) = layout.entries().map_err(refuse)?;
    if options.transpose {
        (rows, columns, shape) = (columns, rows, (shape.1, shape.0));
    }
    let places = (&rows[..], &columns[..], shape);
    if is_f32(&data.header) {
        let values: Vec<f32> =
            npy_elements::convert(data.elements(), data.header.dtype.big_endian, f32::from_le_bytes);
        return average(path, places, &values, options).map(ObservedData::F32);
    }
    let values =
        npy_elements::to_f64(data.elements(), &data.header).map_err(|cause| archive.error("data", cause))?;
    average(path, places, &values, options).map(ObservedData::F64)
}

fn average<T: Scalar>(
    path: &Path,
    (rows, columns, shape): (&[u32], &[u32], (usize, usize)),
    values: &[T],
    options: &ReadOptions,
) -> Result<Observed<T>> {
    let triples = Triples { rows, columns, values, weights: None };
    let averaged = Observed::from_triples_with(&triples, shape, Duplicates::Average, &options.run());
    averaged.map_err(|error| Refusal::from(error).into_error(path))
}

fn shape(archive: &mut Archive<'_>) -> Result<(usize, usize)> {
    let lengths = Array::of(archive, "shape")?.integers().map_err(|cause| archive.error("shape", cause))?;
    match lengths.widened()[..] {
        [n_rows, n_cols] if n_rows >= 0 && n_cols >= 0 => Ok((n_rows as usize, n_cols as usize)),
        _ => {
            let message =
                "is not two lengths, the rows and the columns; write it again with scipy.sparse.save_npz";
            Err(archive.error("shape", Cause::format(message.to_owned())))
        }
    }
}

/// One decompressed array.
struct Array {
    name: &'static str,
    input: Input,
    header: Header,
}

/// The arrays that hold the positions of the values.
enum Layout {
    Compressed { major: Major, indptr: Array, indices: Array },
    Triples { rows: Array, columns: Array },
}

impl Layout {
    fn of(archive: &mut Archive<'_>, format: &str) -> Result<Self> {
        let major = match format {
            "csr" => Major::Rows,
            "csc" => Major::Columns,
            "coo" => {
                return Ok(Self::Triples {
                    rows: Array::of(archive, "row")?,
                    columns: Array::of(archive, "col")?,
                });
            }
            other => {
                let shown: String = other.chars().take(20).flat_map(char::escape_debug).collect();
                let message =
                    format!("is `{shown}`, which is not read (csr, csc and coo are); save x.tocsr() instead");
                return Err(archive.error("format", Cause::format(message)));
            }
        };
        let (indptr, indices) = (Array::of(archive, "indptr")?, Array::of(archive, "indices")?);
        Ok(Self::Compressed { major, indptr, indices })
    }

    /// The places of `n_entries` stored entries, some at a time.
    fn chunks(&self, n_entries: usize) -> std::result::Result<Chunks<'_>, Refusal> {
        let pointers = match self {
            Layout::Triples { rows, columns } => {
                for array in [rows, columns] {
                    array.expect_length(n_entries)?;
                }
                Vec::new()
            }
            Layout::Compressed { indptr, indices, .. } => {
                indices.expect_length(n_entries)?;
                let pointers = indptr.named_integers()?.widened();
                let rises = pointers.windows(2).all(|pair| pair[0] <= pair[1]);
                if pointers.first() != Some(&0) || pointers.last() != Some(&(n_entries as i64)) || !rises {
                    let cause = "does not rise from 0 to the number of entries; the archive is damaged";
                    return Err(Refusal { name: Some("indptr"), cause: Cause::format(cause) });
                }
                pointers
            }
        };
        Ok(Chunks { layout: self, pointers, line: 0, next: 0, n_entries })
    }

    /// The row and the column of each stored entry.
    fn entries(&self) -> std::result::Result<(Vec<u32>, Vec<u32>), Refusal> {
        let (major, indptr, indices) = match self {
            Layout::Triples { rows, columns } => return Ok((rows.unsigned()?, columns.unsigned()?)),
            Layout::Compressed { major, indptr, indices } => (major, indptr, indices),
        };
        let (pointers, minor) = (indptr.named_integers()?.widened(), indices.unsigned()?);
        let damaged = || Refusal {
            name: Some("indptr"),
            cause: Cause::format("does not rise from 0 to the number of entries; the archive is damaged"),
        };
        let begins = pointers.first() == Some(&0);
        if !begins || pointers.last() != Some(&(minor.len() as i64)) || pointers.len() > u32::MAX as usize {
            return Err(damaged());
        }
        let mut lines = Vec::with_capacity(minor.len());
        for (line, pair) in pointers.windows(2).enumerate() {
            let n = pair[1].checked_sub(pair[0]).and_then(|n| usize::try_from(n).ok()).ok_or_else(damaged)?;
            if n > minor.len() - lines.len() {
                return Err(damaged());
            }
            lines.extend(std::iter::repeat_n(line as u32, n));
        }
        Ok(if *major == Major::Rows { (lines, minor) } else { (minor, lines) })
    }
}

/// Rows and columns of the entries, some at a time.
struct Chunks<'a> {
    layout: &'a Layout,
    /// Begin of each line, and the line of the next entry; empty for triples.
    pointers: Vec<i64>,
    line: usize,
    next: usize,
    n_entries: usize,
}

/// Number of the first entry, rows and columns.
type Chunk = (usize, Vec<u32>, Vec<u32>);

impl Chunks<'_> {
    fn next(&mut self, (n_rows, n_cols): (usize, usize)) -> std::result::Result<Option<Chunk>, Refusal> {
        /// Number of entries.
        const AT_ONCE: usize = 1 << 20;
        if self.next == self.n_entries {
            return Ok(None);
        }
        let first = self.next;
        let here = first..self.n_entries.min(first + AT_ONCE);
        self.next = here.end;
        let (major, indices) = match self.layout {
            Layout::Triples { rows, columns } => {
                let (rows, columns) = (rows.bounded(here.clone(), n_rows)?, columns.bounded(here, n_cols)?);
                return Ok(Some((first, rows, columns)));
            }
            Layout::Compressed { major, indices, .. } => (major, indices),
        };
        let mut lines = Vec::with_capacity(here.len());
        while lines.len() < here.len() {
            let end = (self.pointers[self.line + 1] as usize).min(here.end);
            lines.resize(end - first, self.line as u32);
            if end < here.end {
                self.line += 1;
            }
        }
        Ok(Some(match major {
            Major::Rows => (first, lines, indices.bounded(here, n_cols)?),
            Major::Columns => (first, indices.bounded(here, n_rows)?, lines),
        }))
    }
}

/// Notes or refuses repeated entries.
fn tell_repeated(
    n_repeated: usize,
    may_repeat: bool,
    notes: &mut Vec<String>,
) -> std::result::Result<(), Refusal> {
    if n_repeated > 0 && !may_repeat {
        let stand = match n_repeated {
            1 => "1 entry stands".to_owned(),
            n => format!("{n} entries stand"),
        };
        let message = Phrase::new(format!(
            "{stand} in the same place as another; give each place one observed value, or average them with "
        ))
        .then(option_names::average());
        return Err(Refusal { name: None, cause: Cause::value(message) });
    }
    if n_repeated > 0 {
        let entries = match n_repeated {
            1 => "1 entry".to_owned(),
            n => format!("{n} entries"),
        };
        notes.push(format!("{entries} stood in the same place as another: added up"));
    }
    Ok(())
}

/// The shape of a sparse matrix and the positions of its values.
struct Places {
    n_rows: usize,
    n_cols: usize,
    layout: Layout,
    transpose: bool,
    may_repeat: bool,
}

/// A fault, and the array that has it, if it is in one.
struct Refusal {
    name: Option<&'static str>,
    cause: Cause,
}

impl Refusal {
    fn into_error(self, path: &Path) -> Error {
        Error::at(path, Place { name: self.name.map(str::to_owned), ..Place::default() }, self.cause)
    }
}

impl From<karhunen::Error> for Refusal {
    fn from(error: karhunen::Error) -> Self {
        let is_shortage = error.kind() == karhunen::ErrorKind::Memory;
        let cause = if is_shortage { error.into() } else { Cause::format(error.to_string()) };
        Self { name: None, cause }
    }
}

impl Places {
    /// Puts the values in their positions, sorted, with repeated entries summed.
    fn fill<T: Scalar>(
        &self,
        values: &[T],
        notes: &mut Vec<String>,
    ) -> std::result::Result<SparseMatrix<T>, Refusal> {
        let (n_rows, n_cols) =
            if self.transpose { (self.n_cols, self.n_rows) } else { (self.n_rows, self.n_cols) };
        let matrix = match &self.layout {
            Layout::Compressed { major, indptr, indices } => {
                let major = match (major, self.transpose) {
                    (Major::Rows, false) | (Major::Columns, true) => Major::Rows,
                    _ => Major::Columns,
                };
                let shape = (n_rows, n_cols);
                match (indptr.named_integers()?, indices.named_integers()?) {
                    (Integers::I32(p), Integers::I32(i)) => compressed(major, shape, &p, &i, values, notes)?,
                    (Integers::I32(p), Integers::I64(i)) => compressed(major, shape, &p, &i, values, notes)?,
                    (Integers::I64(p), Integers::I32(i)) => compressed(major, shape, &p, &i, values, notes)?,
                    (Integers::I64(p), Integers::I64(i)) => compressed(major, shape, &p, &i, values, notes)?,
                }
            }
            Layout::Triples { rows, columns } => {
                let (mut rows, mut columns) = (rows.unsigned()?, columns.unsigned()?);
                if self.transpose {
                    (rows, columns) = (columns, rows);
                }
                check_room("rows", n_rows)?;
                SparseMatrix::from_triples(n_rows, n_cols, &rows, &columns, values)?
            }
        };
        tell_repeated(values.len() - matrix.view().n_stored(), self.may_repeat, notes)?;
        Ok(matrix)
    }
}

/// Checks for the memory of one pointer per row, which is needed before any entry is read.
fn check_room(lines: &str, n: usize) -> std::result::Result<(), Refusal> {
    let advice = || vec!["check the shape".into(), "leave out what holds no entries".into()];
    memory::ask(&format!("a matrix of {n} {lines}"), 8.0 * (n as f64 + 1.0), advice)
        .map_err(|error| Refusal { name: Some("shape"), cause: error.into() })
}

/// Checks compressed rows or columns and sorts them.
fn compressed<T: Scalar, P: IndexInt, I: IndexInt>(
    major: Major,
    (n_rows, n_cols): (usize, usize),
    indptr: &[P],
    indices: &[I],
    values: &[T],
    notes: &mut Vec<String>,
) -> karhunen::Result<SparseMatrix<T>> {
    let checked = match major {
        Major::Rows => Sparse::csr(n_rows, n_cols, indptr, indices, values),
        Major::Columns => Sparse::csc(n_rows, n_cols, indptr, indices, values),
    };
    match checked {
        Err(karhunen::Error::SparseOrder { .. }) => {
            notes.push("the indices were unsorted or repeated: sorted".to_owned());
        }
        other => drop(other?),
    }
    SparseMatrix::canonical(major, n_rows, n_cols, indptr, indices, values)
}

/// Integers in the type of the file.
enum Integers {
    I32(Vec<i32>),
    I64(Vec<i64>),
}

impl Integers {
    fn widened(self) -> Vec<i64> {
        match self {
            Integers::I32(values) => values.into_iter().map(i64::from).collect(),
            Integers::I64(values) => values,
        }
    }
}

/// Tests whether the elements are `f32`, in any byte order.
fn is_f32(header: &Header) -> bool {
    header.dtype.kind == Kind::Float && header.dtype.size == 4
}

/// The integers of an array, or of a part of it.
fn integers(elements: &[u8], header: &Header) -> std::result::Result<Integers, Cause> {
    let big = header.dtype.big_endian;
    match (header.dtype.kind, header.dtype.size) {
        (Kind::Int, 4) => Ok(Integers::I32(npy_elements::convert(elements, big, i32::from_le_bytes))),
        (Kind::Int, 8) => Ok(Integers::I64(npy_elements::convert(elements, big, i64::from_le_bytes))),
        _ => Err(Cause::format(
            "does not hold integers of 32 or 64 bits; write it again with scipy.sparse.save_npz".to_owned(),
        )),
    }
}

impl Array {
    fn of(archive: &mut Archive<'_>, name: &'static str) -> Result<Self> {
        if !archive.names.iter().any(|known| known == name) {
            let message = "is missing from the sparse matrix; write it again with scipy.sparse.save_npz";
            return Err(archive.error(name, Cause::format(message.to_owned())));
        }
        let input = archive.unpack(name)?.input;
        let header = npy_header::parse(input.as_slice()).map_err(|cause| archive.error(name, cause))?;
        npy::elements(input.as_slice(), &header).map_err(|cause| archive.error(name, cause))?;
        Ok(Self { name, input, header })
    }

    fn elements(&self) -> &[u8] {
        &self.input.as_slice()[self.header.data_offset..]
    }

    fn integers(&self) -> std::result::Result<Integers, Cause> {
        integers(self.elements(), &self.header)
    }

    /// Refuses an array of another length.
    fn expect_length(&self, n: usize) -> std::result::Result<(), Refusal> {
        let found: usize = self.header.shape.iter().product();
        if found == n {
            return Ok(());
        }
        let message = format!("has {found} entries, but data has {n}; the archive is damaged");
        Err(Refusal { name: Some(self.name), cause: Cause::format(message) })
    }

    /// Some of the elements.
    fn part(&self, range: Range<usize>) -> &[u8] {
        let size = self.header.dtype.size;
        &self.elements()[range.start * size..range.end * size]
    }

    /// Some of the indices, which are below `bound`.
    fn bounded(&self, range: Range<usize>, bound: usize) -> std::result::Result<Vec<u32>, Refusal> {
        let bound = bound.min(1 << 32) as u64;
        let refuse = |value: i64| Refusal {
            name: Some(self.name),
            cause: Cause::format(format!("{value} is outside 0..{bound}; the archive is damaged")),
        };
        let values = integers(self.part(range), &self.header)
            .map_err(|cause| Refusal { name: Some(self.name), cause })?
            .widened();
        let index =
            |value: i64| u64::try_from(value).ok().filter(|&value| value < bound).map(|value| value as u32);
        values.into_iter().map(|value| index(value).ok_or_else(|| refuse(value))).collect()
    }

    /// Some of the values.
    fn values<T: Scalar>(&self, range: Range<usize>) -> std::result::Result<Vec<T>, Refusal> {
        let part = self.part(range);
        let refuse = |cause| Refusal { name: Some(self.name), cause };
        if is_f32(&self.header) {
            let values = npy_elements::convert(part, self.header.dtype.big_endian, f32::from_le_bytes);
            return Ok(values.into_iter().map(|value| T::from_f64(f64::from(value))).collect());
        }
        if let Some((_, text)) = npy_elements::first_rounded(part, &self.header) {
            let message = format!("{text} is not a number of double precision; convert the array");
            return Err(refuse(Cause::value(message)));
        }
        let values = npy_elements::to_f64(part, &self.header).map_err(refuse)?;
        Ok(values.into_iter().map(T::from_f64).collect())
    }

    fn named_integers(&self) -> std::result::Result<Integers, Refusal> {
        self.integers().map_err(|cause| Refusal { name: Some(self.name), cause })
    }

    /// The indices of triples.
    fn unsigned(&self) -> std::result::Result<Vec<u32>, Refusal> {
        let values = self.named_integers()?.widened();
        let refuse = |value| Refusal {
            name: Some(self.name),
            cause: Cause::format(format!(
                "{value} is outside 0..=4294967295, the indices that a coo matrix may have"
            )),
        };
        values.into_iter().map(|value| u32::try_from(value).map_err(|_| refuse(value))).collect()
    }

    /// The text of a byte or unicode string, without trailing zeros.
    fn text(&self) -> String {
        let bytes = self.elements();
        match self.header.dtype.kind {
            Kind::Unicode => {
                let points = npy_elements::convert(bytes, self.header.dtype.big_endian, u32::from_le_bytes);
                points.into_iter().take_while(|&point| point != 0).filter_map(char::from_u32).collect()
            }
            _ => String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned(),
        }
    }
}
