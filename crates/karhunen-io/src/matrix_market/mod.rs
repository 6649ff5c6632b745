//! Matrix Market exchange files: <https://math.nist.gov/MatrixMarket/formats.html>.

mod coordinates;
mod cursor;

use crate::option_names;
use karhunen::Scalar;
use karhunen::error::Phrase;
use memchr::memchr;

use crate::csv::in_pool;
use crate::input::{Input, line_of};
use crate::mapped::Mapped;
use crate::names::shortened;
use crate::rounded::{Rounded, rounded_text};
use crate::triples::Entries;
use crate::{Buffer, Cause, Data, Error, Place, ReadOptions, Result, Table, Values};
use coordinates::Stop;
use cursor::Cursor;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Real,
    Integer,
    Pattern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Symmetry {
    General,
    Symmetric,
    Skew,
}

#[derive(Clone, Copy, Debug)]
struct Banner {
    coordinate: bool,
    field: Field,
    symmetry: Symmetry,
}

/// A fault, and its byte offset.
struct Refusal {
    offset: usize,
    cause: Cause,
}

impl Refusal {
    fn into_error(self, input: &Input) -> Error {
        let place = Place { line: Some(line_of(input.as_slice(), self.offset)), ..Place::default() };
        Error::at(&input.path, place, self.cause)
    }
}

/// A matrix, its notes and its warnings.
struct Found {
    values: Values<f64>,
    notes: Vec<String>,
    warnings: Vec<Phrase>,
}

/// A warning about an integer that was rounded, at a byte offset.
fn rounded_warning(bytes: &[u8], offset: usize) -> Phrase {
    let place = Place { line: Some(line_of(bytes, offset)), ..Place::default() };
    let text = rounded_text::<f64>(&bytes[offset..]).unwrap_or_default();
    Rounded { text, place }.warning::<f64>()
}

type Parsed<T> = std::result::Result<T, Refusal>;

fn refuse<T>(offset: usize, message: impl Into<String>) -> Parsed<T> {
    Err(Refusal { offset, cause: Cause::format(message.into()) })
}

/// Reads a matrix: coordinates become compressed rows, an array one dense column-major buffer. Repeated entries
/// are summed, and a note states their number. Coordinates beyond the memory limit go to a temporary copy, ordered by
/// rows.
///
/// # Errors
/// [`Cause::Format`] and [`Cause::Value`] with the line that cannot be read.
pub(crate) fn read(input: Input, options: &ReadOptions) -> Result<Table> {
    options.allow_only(&input.path, "Matrix Market", &[option_names::TRANSPOSE])?;
    let bytes = input.as_slice();
    let parsed = in_pool(&input.path, options, || parse(&input, bytes, options))?;
    let Found { values, notes, warnings } = parsed.map_err(|stop| match stop {
        Stop::Refusal(refusal) => refusal.into_error(&input),
        Stop::Copy(error) => error,
    })?;
    if let Some(repeated) = notes.first().filter(|_| options.missing) {
        let message = format!("{repeated}; give each place one observed value");
        return Err(Error::new(&input.path, Cause::value(message)));
    }
    Ok(Table {
        data: Data::F64(values),
        sample_names: None,
        id_name: None,
        feature_names: None,
        labels: Vec::new(),
        weights: None,
        left_out: Vec::new(),
        log1p: None,
        format: "Matrix Market",
        notes,
        warnings,
    })
}

/// Reads coordinates as entries, repeated or not; `None` for an array.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_entries<T: Scalar>(input: &Input, options: &ReadOptions) -> Result<Option<Entries<T>>> {
    options.allow_only(&input.path, "Matrix Market", &[option_names::TRANSPOSE])?;
    let bytes = input.as_slice();
    let work = || {
        let (banner, _, size, cursor) = header(bytes)?;
        if !banner.coordinate {
            return Ok(None);
        }
        coordinates::entries(cursor, banner, size, options.transpose).map(Some)
    };
    in_pool(&input.path, options, work)?.map_err(|refusal: Refusal| refusal.into_error(input))
}

fn parse(input: &Input, bytes: &[u8], options: &ReadOptions) -> std::result::Result<Found, Stop> {
    let (banner, size_line, size, cursor) = header(bytes)?;
    let ([n_rows, n_cols, n_entries], transpose) = (size, options.transpose);
    if banner.coordinate {
        let n_stored = n_entries.saturating_mul(if banner.symmetry == Symmetry::General { 1 } else { 2 });
        // A line takes two bytes at least, whatever the size line declares.
        if n_stored <= bytes.len()
            && options.stay_in_copy(if transpose { n_cols } else { n_rows }, n_stored, size_of::<f64>())
        {
            let release = || input.mapped().iter().for_each(Mapped::release);
            return coordinates::copied(&input.path, &cursor, banner, size, options, &release);
        }
        return Ok(coordinates::matrix(cursor, banner, size, transpose)?);
    }
    let (values, warnings) = array(cursor, size_line, banner, n_rows, n_cols, transpose)?;
    Ok(Found { values, notes: Vec::new(), warnings })
}

/// The banner, the offset of the size line, the size, and a cursor at the first entry.
fn header(bytes: &[u8]) -> Parsed<(Banner, usize, [usize; 3], Cursor<'_>)> {
    let banner = banner(bytes)?;
    let mut cursor =
        Cursor { bytes, at: memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1), rounded: None };
    if !cursor.next_line() {
        return refuse(bytes.len(), "the size line is missing; the file is cut short");
    }
    let size_line = cursor.at;
    let names: &[&str] =
        if banner.coordinate { &["rows", "columns", "entries"] } else { &["rows", "columns"] };
    let mut size = [0; 3];
    for (size, name) in size.iter_mut().zip(names) {
        let Some(number) = cursor.integer() else {
            return refuse(
                size_line,
                format!("the size line must hold {}; no {name} found", names.join(", ")),
            );
        };
        *size = number;
    }
    cursor.end_of_line()?;
    let [n_rows, n_cols, _] = size;
    if banner.symmetry != Symmetry::General && n_rows != n_cols {
        return refuse(size_line, format!("a symmetric matrix must be square, not {n_rows} x {n_cols}"));
    }
    Ok((banner, size_line, size, cursor))
}

fn banner(bytes: &[u8]) -> Parsed<Banner> {
    let line = &bytes[..memchr(b'\n', bytes).unwrap_or(bytes.len())];
    let line = String::from_utf8_lossy(line).to_ascii_lowercase();
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let &[_, "matrix", format, field, symmetry] = words.as_slice() else {
        return refuse(0, "the first line must read %%MatrixMarket matrix, a format, a field and a symmetry");
    };
    let coordinate = match format {
        "coordinate" => true,
        "array" => false,
        _ => {
            return refuse(0, format!("the format must be coordinate or array, not `{}`", shortened(format)));
        }
    };
    let field = match field {
        "real" | "double" => Field::Real,
        "integer" | "unsigned-integer" => Field::Integer,
        "pattern" if coordinate => Field::Pattern,
        "complex" => return refuse(0, "complex entries are not supported; give real ones"),
        _ => {
            return refuse(
                0,
                format!(
                    "the field must be real, integer or (coordinate) pattern, not `{}`",
                    shortened(field)
                ),
            );
        }
    };
    let symmetry = match symmetry {
        "general" => Symmetry::General,
        "symmetric" => Symmetry::Symmetric,
        "skew-symmetric" => Symmetry::Skew,
        "hermitian" => return refuse(0, "hermitian matrices are not supported; give real ones"),
        _ => {
            let symmetry = shortened(symmetry);
            let message =
                format!("the symmetry must be general, symmetric or skew-symmetric, not `{symmetry}`");
            return refuse(0, message);
        }
    };
    Ok(Banner { coordinate, field, symmetry })
}

fn array(
    mut cursor: Cursor,
    size_line: usize,
    banner: Banner,
    n_rows: usize,
    n_cols: usize,
    transpose: bool,
) -> Parsed<(Values<f64>, Vec<Phrase>)> {
    let n_values = match banner.symmetry {
        Symmetry::General => n_rows.checked_mul(n_cols),
        Symmetry::Symmetric => n_rows.checked_add(1).and_then(|n| n.checked_mul(n_rows)).map(|n| n / 2),
        Symmetry::Skew => n_rows.saturating_sub(1).checked_mul(n_rows).map(|n| n / 2),
    };
    // A value takes at least two bytes, except the last, whatever the size line declares.
    let fits = |&n: &usize| n <= cursor.bytes.len();
    let Some(n_values) = n_values.filter(fits) else {
        return refuse(size_line, format!("the file is too short for an array of {n_rows} x {n_cols}"));
    };
    let mut values: Vec<f64> = Vec::with_capacity(n_values);
    while cursor.next_line() {
        if values.len() == n_values {
            return refuse(cursor.at, format!("the array has {n_values} values, but here is another"));
        }
        values.push(cursor.value(banner.field)?);
        cursor.end_of_line()?;
    }
    if values.len() < n_values {
        let message = format!("the array has {n_values} values, but the file ends after {}", values.len());
        return refuse(cursor.bytes.len(), message);
    }
    if banner.symmetry != Symmetry::General {
        values = unfold(&values, n_rows, banner.symmetry);
    }
    let (n_rows, n_cols, column_major) =
        if transpose { (n_cols, n_rows, false) } else { (n_rows, n_cols, true) };
    let warnings = cursor.rounded.map(|offset| rounded_warning(cursor.bytes, offset)).into_iter().collect();
    Ok((Values::Dense { buffer: Buffer::Owned(values), n_rows, n_cols, column_major }, warnings))
}

/// Unfolds a lower triangle, by columns, into the whole matrix.
fn unfold(triangle: &[f64], n: usize, symmetry: Symmetry) -> Vec<f64> {
    let mut full = vec![0.0; n * n];
    let (skip, sign) = if symmetry == Symmetry::Skew { (1, -1.0) } else { (0, 1.0) };
    let places = (0..n).flat_map(|column| (column + skip..n).map(move |row| (row, column)));
    for ((row, column), &value) in places.zip(triangle) {
        full[row * n + column] = sign * value;
        full[column * n + row] = value;
    }
    full
}
