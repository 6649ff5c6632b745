//! Matrix Market exchange files: <https://math.nist.gov/MatrixMarket/formats.html>.

use karhunen::SparseMatrix;
use memchr::memchr;

use crate::input::{Input, line_of};
use crate::options::OptionName;
use crate::{Buffer, Cause, Data, Error, Place, ReadOptions, Result, Table, Values};

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

/// What is wrong, and where in bytes.
struct Refusal {
    offset: usize,
    cause: Cause,
}

type Parsed<T> = std::result::Result<T, Refusal>;

fn refuse<T>(offset: usize, message: impl Into<String>) -> Parsed<T> {
    Err(Refusal { offset, cause: Cause::Format(message.into()) })
}

/// Reads a matrix: coordinates become compressed rows, an array stays one dense buffer by columns. Entries given more
/// than once are added up, and counted in the notes.
///
/// # Errors
/// [`Cause::Format`] and [`Cause::Value`] with the line of what cannot be read.
pub(crate) fn read(input: Input, options: &ReadOptions) -> Result<Table> {
    options.allow_only(&input.path, "Matrix Market", &[OptionName::Transpose])?;
    let bytes = input.as_slice();
    let (values, notes) = parse(bytes, options.transpose).map_err(|refusal| {
        let place = Place { line: Some(line_of(bytes, refusal.offset)), ..Place::default() };
        Error::at(&input.path, place, refusal.cause)
    })?;
    Ok(Table {
        data: Data::F64(values),
        sample_names: None,
        feature_names: None,
        labels: Vec::new(),
        weights: None,
        format: "Matrix Market",
        notes,
    })
}

fn parse(bytes: &[u8], transpose: bool) -> Parsed<(Values<f64>, Vec<String>)> {
    let banner = banner(bytes)?;
    let mut cursor = Cursor { bytes, at: memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1) };
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
    let [n_rows, n_cols, n_entries] = size;
    if n_rows == 0 || n_cols == 0 {
        return refuse(size_line, format!("a matrix of {n_rows} x {n_cols} holds no values"));
    }
    if banner.symmetry != Symmetry::General && n_rows != n_cols {
        return refuse(size_line, format!("a symmetric matrix must be square, not {n_rows} x {n_cols}"));
    }
    if !banner.coordinate {
        return Ok((array(cursor, banner, n_rows, n_cols, transpose)?, Vec::new()));
    }
    coordinates(cursor, banner, (n_rows, n_cols, n_entries), transpose)
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
        _ => return refuse(0, format!("the format must be coordinate or array, not `{format}`")),
    };
    let field = match field {
        "real" | "double" => Field::Real,
        "integer" | "unsigned-integer" => Field::Integer,
        "pattern" if coordinate => Field::Pattern,
        "complex" => return refuse(0, "complex entries are not supported; give real ones"),
        _ => {
            return refuse(
                0,
                format!("the field must be real, integer or (coordinate) pattern, not `{field}`"),
            );
        }
    };
    let symmetry = match symmetry {
        "general" => Symmetry::General,
        "symmetric" => Symmetry::Symmetric,
        "skew-symmetric" => Symmetry::Skew,
        "hermitian" => return refuse(0, "hermitian matrices are not supported; give real ones"),
        _ => {
            let message =
                format!("the symmetry must be general, symmetric or skew-symmetric, not `{symmetry}`");
            return refuse(0, message);
        }
    };
    Ok(Banner { coordinate, field, symmetry })
}

fn coordinates(
    mut cursor: Cursor,
    banner: Banner,
    (n_rows, n_cols, n_entries): (usize, usize, usize),
    transpose: bool,
) -> Parsed<(Values<f64>, Vec<String>)> {
    let size_line = cursor.at;
    if u32::try_from(n_rows.max(n_cols)).is_err() {
        let message =
            format!("{n_rows} x {n_cols} is too large; at most {} rows or columns are read", u32::MAX);
        return refuse(size_line.saturating_sub(1), message);
    }
    // An entry takes four bytes at least, whatever the size line promises.
    let capacity = n_entries.min(cursor.bytes.len() / 4 + 1);
    let mut rows: Vec<u32> = Vec::with_capacity(capacity);
    let mut columns: Vec<u32> = Vec::with_capacity(capacity);
    let mut values: Vec<f64> = Vec::with_capacity(capacity);
    let mut n_read = 0;
    while cursor.next_line() {
        let line = cursor.at;
        if n_read == n_entries {
            return refuse(line, format!("the size line promises {n_entries} entries, but here is another"));
        }
        let row = cursor.index("row", n_rows)?;
        let column = cursor.index("column", n_cols)?;
        let value = if banner.field == Field::Pattern { 1.0 } else { cursor.value(banner.field)? };
        cursor.end_of_line()?;
        if banner.symmetry != Symmetry::General {
            check_triangle(line, banner.symmetry, row, column)?;
        }
        rows.push(row);
        columns.push(column);
        values.push(value);
        if banner.symmetry != Symmetry::General && row != column {
            rows.push(column);
            columns.push(row);
            values.push(if banner.symmetry == Symmetry::Skew { -value } else { value });
        }
        n_read += 1;
    }
    if n_read < n_entries {
        let message = format!("the size line promises {n_entries} entries, but the file ends after {n_read}");
        return refuse(cursor.bytes.len(), message);
    }
    let matrix = if transpose {
        SparseMatrix::from_triples(n_cols, n_rows, &columns, &rows, &values)
    } else {
        SparseMatrix::from_triples(n_rows, n_cols, &rows, &columns, &values)
    };
    let matrix = matrix.map_err(|error| Refusal { offset: size_line, cause: error.into() })?;
    let n_repeated = values.len() - matrix.view().n_stored();
    let note = format!("{n_repeated} entries repeat the place of another and were added to it");
    Ok((Values::Sparse(matrix), if n_repeated > 0 { vec![note] } else { Vec::new() }))
}

/// Of a symmetric matrix the file holds the lower triangle; the diagonal of a skew-symmetric one is zero.
fn check_triangle(line: usize, symmetry: Symmetry, row: u32, column: u32) -> Parsed<()> {
    if row < column {
        let place = format!("({}, {})", row + 1, column + 1);
        return refuse(line, format!("{place} lies above the diagonal, which a symmetric file leaves out"));
    }
    if row == column && symmetry == Symmetry::Skew {
        return refuse(line, "a skew-symmetric file leaves out the diagonal, which is zero");
    }
    Ok(())
}

fn array(
    mut cursor: Cursor,
    banner: Banner,
    n_rows: usize,
    n_cols: usize,
    transpose: bool,
) -> Parsed<Values<f64>> {
    let size_line = cursor.at.saturating_sub(1);
    let n_values = match banner.symmetry {
        Symmetry::General => n_rows.checked_mul(n_cols),
        Symmetry::Symmetric => n_rows.checked_add(1).and_then(|n| n.checked_mul(n_rows)).map(|n| n / 2),
        Symmetry::Skew => (n_rows - 1).checked_mul(n_rows).map(|n| n / 2),
    };
    // A value takes two bytes at least (but for the last), whatever the size line promises.
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
    Ok(Values::Dense { buffer: Buffer::Owned(values), n_rows, n_cols, column_major })
}

/// The whole matrix from its lower triangle, by columns.
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

/// Walks through the numbers of the file.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn skip_blanks(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    /// At the start of a line: passes over comments and empty lines, and tells whether another line follows.
    fn next_line(&mut self) -> bool {
        loop {
            self.skip_blanks();
            match self.bytes.get(self.at) {
                None => return false,
                Some(b'\n') => self.at += 1,
                Some(b'%') => {
                    let rest = &self.bytes[self.at..];
                    self.at += memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
                }
                Some(_) => return true,
            }
        }
    }

    fn integer(&mut self) -> Option<usize> {
        self.skip_blanks();
        let mut number: usize = 0;
        let start = self.at;
        while let Some(digit) =
            self.bytes.get(self.at).map(|byte| byte.wrapping_sub(b'0')).filter(|&d| d < 10)
        {
            number = number.checked_mul(10)?.checked_add(usize::from(digit))?;
            self.at += 1;
        }
        let ends = matches!(self.bytes.get(self.at), None | Some(b' ' | b'\t' | b'\r' | b'\n'));
        (ends && self.at > start).then_some(number)
    }

    /// A row or column, from zero.
    fn index(&mut self, axis: &str, bound: usize) -> Parsed<u32> {
        self.skip_blanks();
        let start = self.at;
        match self.integer() {
            Some(number) if (1..=bound).contains(&number) => Ok((number - 1) as u32),
            Some(number) => {
                refuse(start, format!("{axis} {number} is outside 1..={bound}, which the size line allows"))
            }
            None => refuse(start, format!("`{}` is not a {axis} number", self.word(start))),
        }
    }

    fn value(&mut self, field: Field) -> Parsed<f64> {
        self.skip_blanks();
        let start = self.at;
        let rest = &self.bytes[start..];
        let parsed = fast_float2::parse_partial::<f64, _>(rest)
            .ok()
            .filter(|&(_, length)| matches!(rest.get(length), None | Some(b' ' | b'\t' | b'\r' | b'\n')));
        let refuse_value = |message: String| Err(Refusal { offset: start, cause: Cause::Value(message) });
        let Some((value, length)) = parsed else {
            let word = self.word(start);
            return refuse_value(if word.is_empty() {
                "the value is missing".to_owned()
            } else {
                format!("`{word}` is not a number")
            });
        };
        if !value.is_finite() {
            let word = self.word(start);
            return refuse_value(format!("`{word}` is not a finite number; remove or replace the entry"));
        }
        if field == Field::Integer && value.fract() != 0.0 {
            return refuse_value(format!("`{}` is not an integer, as the first line says", self.word(start)));
        }
        self.at += length;
        Ok(value)
    }

    fn end_of_line(&mut self) -> Parsed<()> {
        self.skip_blanks();
        match self.bytes.get(self.at) {
            None => Ok(()),
            Some(b'\n') => {
                self.at += 1;
                Ok(())
            }
            Some(_) => refuse(self.at, format!("`{}` is more than the line should hold", self.word(self.at))),
        }
    }

    fn word(&self, start: usize) -> String {
        let rest = &self.bytes[start..];
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        String::from_utf8_lossy(&rest[..end.min(40)]).into_owned()
    }
}
