//! NPY: one array. Little-endian `float32` and `float64` are used in place in the mapped file; integers, booleans,
//! half precision and big-endian numbers become `f64`.

use std::fs::File;
use std::io::Write;

use karhunen::Scalar;
use karhunen::error::Phrase;

use crate::file_rows::{rows_of_array, rows_of_file};
use crate::input::{Bytes, Input};
use crate::npy_elements::{first_rounded, is_single, native, to_f64};
use crate::npy_header::{self, Header, Kind};
use crate::option_names;
use crate::rounded::Rounded;
use crate::{Buffer, Cause, Data, Error, Place, ReadOptions, Result, RowsToWrite, Table, Values};

/// Reads an array of one or two axes; one axis is one column.
///
/// # Errors
/// [`Cause::Format`] unless it is a complete array of numbers, [`Cause::Option`] for options about named
/// columns.
pub(crate) fn read(input: Input, options: &ReadOptions) -> Result<Table> {
    options.allow_only(&input.path, "NPY", &[option_names::TRANSPOSE])?;
    let path = input.path.clone();
    let refuse = |cause| Error::new(&path, cause);
    let header = npy_header::parse(input.as_slice()).map_err(refuse)?;
    let (shape, column_major) = table_shape(&header, options.transpose).map_err(refuse)?;
    let value_bytes = if is_single(&header) { 4 } else { 8 };
    if options.stay_in_file(shape, value_bytes) && !matches!(header.dtype.kind, Kind::Bytes | Kind::Unicode) {
        elements(input.as_slice(), &header).map_err(refuse)?;
        let notes = notes(&header, options.transpose);
        if let Some(data) = rows_of_array(&input, header, shape, column_major, options.most_held())? {
            return Ok(table(data.into(), "NPY", notes, Vec::new()));
        }
    }
    array_table(input, options.transpose, "NPY").map_err(refuse)
}

/// Makes a table of an array in an open temporary file, whose values stay there if they are numbers.
///
/// # Errors
/// As [`read`].
pub(crate) fn spooled_table(
    input: &Input,
    file: File,
    options: &ReadOptions,
    format: &'static str,
) -> Result<Table> {
    let refuse = |cause| Error::new(&input.path, cause);
    let header = npy_header::parse(input.as_slice()).map_err(refuse)?;
    let (shape, column_major) = table_shape(&header, options.transpose).map_err(refuse)?;
    elements(input.as_slice(), &header).map_err(refuse)?;
    if matches!(header.dtype.kind, Kind::Bytes | Kind::Unicode) {
        to_f64(&[], &header).map_err(refuse)?;
    }
    let notes = notes(&header, options.transpose);
    let rows = rows_of_file(&input.path, file, header, (shape, column_major), options.most_held())?;
    Ok(table(rows.into(), format, notes, Vec::new()))
}

/// Makes a table of an NPY file or of a decompressed member of an archive.
pub(crate) fn array_table(
    input: Input,
    transpose: bool,
    format: &'static str,
) -> std::result::Result<Table, Cause> {
    let header = npy_header::parse(input.as_slice())?;
    let ((n_rows, n_cols), column_major) = table_shape(&header, transpose)?;
    let rounded = first_rounded(elements(input.as_slice(), &header)?, &header);
    let warnings = rounded.map(|(element, text)| {
        let (row, column) = match column_major {
            true => (element % n_rows, element / n_rows),
            false => (element / n_cols, element % n_cols),
        };
        let place = Place { row: Some(row as u64 + 1), column: Some(column as u64 + 1), ..Place::default() };
        Rounded { text, place }.warning::<f64>()
    });
    let data = match (header.dtype.kind, header.dtype.size) {
        _ if is_single(&header) => {
            Data::F32(Values::Dense { buffer: buffer(input, &header), n_rows, n_cols, column_major })
        }
        (Kind::Float, 8) if native(&header) => {
            Data::F64(Values::Dense { buffer: buffer(input, &header), n_rows, n_cols, column_major })
        }
        _ => {
            let buffer = Buffer::Owned(to_f64(elements(input.as_slice(), &header)?, &header)?);
            Data::F64(Values::Dense { buffer, n_rows, n_cols, column_major })
        }
    };
    Ok(table(data, format, notes(&header, transpose), warnings.into_iter().collect()))
}

/// A note about an array of one axis.
fn notes(header: &Header, transpose: bool) -> Vec<String> {
    let line = if transpose { "row" } else { "column" };
    let is_vector = header.shape.len() == 1;
    is_vector.then(|| format!("the array has one axis: read as one {line}")).into_iter().collect()
}

/// A table without names.
fn table(data: Data, format: &'static str, notes: Vec<String>, warnings: Vec<Phrase>) -> Table {
    Table {
        data,
        sample_names: None,
        id_name: None,
        feature_names: None,
        labels: Vec::new(),
        weights: None,
        left_out: Vec::new(),
        log1p: None,
        format,
        notes,
        warnings,
    }
}

/// The shape of an array as a table, and whether it is stored column by column.
///
/// # Errors
/// [`Cause::Format`] unless it has one or two axes.
pub(crate) fn table_shape(
    header: &Header,
    transpose: bool,
) -> std::result::Result<((usize, usize), bool), Cause> {
    let (n_rows, n_cols) = match header.shape[..] {
        [n_rows, n_cols] => (n_rows, n_cols),
        [n_rows] => (n_rows, 1),
        _ => {
            return Err(Cause::format(format!(
                "holds an array of shape {}, and a table has rows and columns; reshape it to two axes",
                header.shape_text()
            )));
        }
    };
    let column_major = header.fortran_order;
    Ok(if transpose { ((n_cols, n_rows), !column_major) } else { ((n_rows, n_cols), column_major) })
}

/// The bytes of the elements, exactly as many as the shape requires.
pub(crate) fn elements<'a>(bytes: &'a [u8], header: &Header) -> std::result::Result<&'a [u8], Cause> {
    let found = &bytes[header.data_offset..];
    match header.n_bytes() {
        Some(expected) if expected == found.len() => Ok(found),
        Some(expected) if expected < found.len() => Err(Cause::format(format!(
            "has {} bytes after its array of shape {}; it is damaged, or several arrays were saved to one file \
             (numpy.savez does that)",
            found.len() - expected,
            header.shape_text()
        ))),
        expected => Err(Cause::format(format!(
            "is truncated: shape {} needs {} bytes, {} are there; copy or save it again",
            header.shape_text(),
            expected.map_or_else(|| format!("over {}", usize::MAX), |n| n.to_string()),
            found.len()
        ))),
    }
}

/// The elements in place, or copied if they are not aligned.
fn buffer<T: Scalar>(input: Input, header: &Header) -> Buffer<T> {
    let offset = header.data_offset;
    match input.bytes {
        Bytes::Mapped(map) if bytemuck::try_cast_slice::<u8, T>(&map[offset..]).is_ok() => {
            let len = (map.len() - offset) / size_of::<T>();
            Buffer::Mapped { map, offset, len }
        }
        Bytes::Mapped(map) => Buffer::Owned(bytemuck::pod_collect_to_vec(&map[offset..])),
        Bytes::Owned(bytes) => Buffer::Owned(bytemuck::pod_collect_to_vec(&bytes[offset..])),
    }
}

/// Writes a matrix in C order, in its own precision, as NPY version 1.0. NPY has no place for names.
///
/// # Errors
/// Errors of `sink`.
pub(crate) fn write<T: Scalar>(
    sink: &mut (impl Write + Send),
    rows: &dyn RowsToWrite<T>,
) -> std::io::Result<()> {
    let (n_rows, n_cols) = rows.shape();
    let order = if cfg!(target_endian = "big") { '>' } else { '<' };
    let dictionary = format!(
        "{{'descr': '{order}f{}', 'fortran_order': False, 'shape': ({n_rows}, {n_cols}), }}",
        size_of::<T>()
    );
    // The elements begin at a multiple of 64 bytes, after padding blanks and a newline.
    let unpadded = npy_header::MAGIC.len() + 4 + dictionary.len() + 1;
    let padding = unpadded.next_multiple_of(64) - unpadded;
    sink.write_all(npy_header::MAGIC)?;
    sink.write_all(&[1, 0])?;
    sink.write_all(&((dictionary.len() + padding + 1) as u16).to_le_bytes())?;
    writeln!(sink, "{dictionary}{:padding$}", "")?;
    rows.each(&mut |block| sink.write_all(bytemuck::cast_slice(block.as_slice())))
}

#[cfg(test)]
mod tests {
    use karhunen::Matrix;
    use proptest::prelude::*;

    use super::*;
    use crate::input::Input;

    fn owned(bytes: Vec<u8>) -> Input {
        Input { path: "x.npy".into(), bytes: Bytes::Owned(bytes) }
    }

    fn file(descr: &str, fortran_order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let text = format!("{{'descr': '{descr}', 'fortran_order': {fortran_order}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn values(table: &Table) -> (Vec<f64>, usize, usize, bool) {
        let Data::F64(Values::Dense { buffer, n_rows, n_cols, column_major }) = &table.data else {
            panic!("not dense f64: {table:?}")
        };
        (buffer.as_slice().to_vec(), *n_rows, *n_cols, *column_major)
    }

    #[test]
    fn every_type_of_number() {
        let cases: [(&str, &[u8], [f64; 2]); 14] = [
            ("<f2", &[0, 0x3c, 0, 0xb8], [1.0, -0.5]),
            (">f2", &[0x3c, 0, 0xb8, 0], [1.0, -0.5]),
            (">f4", &[0x3f, 0x80, 0, 0, 0xbf, 0, 0, 0], [1.0, -0.5]),
            ("<f8", &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0xe0, 0xbf], [1.0, -0.5]),
            (">f8", &[0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0xbf, 0xe0, 0, 0, 0, 0, 0, 0], [1.0, -0.5]),
            ("|i1", &[0xff, 2], [-1.0, 2.0]),
            ("|u1", &[0xff, 2], [255.0, 2.0]),
            ("|b1", &[0, 1], [0.0, 1.0]),
            ("<i2", &[0xff, 0xff, 2, 0], [-1.0, 2.0]),
            (">u2", &[0xff, 0xff, 0, 2], [65535.0, 2.0]),
            (">i4", &[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 2], [-1.0, 2.0]),
            ("<u4", &[0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0], [4294967295.0, 2.0]),
            ("<i8", &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 0, 0, 0], [-1.0, 2.0]),
            (">u8", &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2], [4294967296.0, 2.0]),
        ];
        for (descr, data, expected) in cases {
            let table = read(owned(file(descr, "False", "(2, 1)", data)), &ReadOptions::default()).unwrap();
            assert_eq!(values(&table), (expected.to_vec(), 2, 1, false), "{descr}");
        }
    }

    #[test]
    fn orders_axes_and_transposition() {
        let data = [1, 2, 3, 4, 5, 6];
        for (fortran_order, shape, transpose, expected) in [
            ("False", "(2, 3)", false, (2, 3, false)),
            ("True", "(2, 3)", false, (2, 3, true)),
            ("False", "(2, 3)", true, (3, 2, true)),
            ("True", "(2, 3)", true, (3, 2, false)),
            ("False", "(6,)", false, (6, 1, false)),
            ("False", "(6,)", true, (1, 6, true)),
        ] {
            let options = ReadOptions { transpose, ..Default::default() };
            let table = read(owned(file("|u1", fortran_order, shape, &data)), &options).unwrap();
            let (found, n_rows, n_cols, column_major) = values(&table);
            assert_eq!((n_rows, n_cols, column_major), expected);
            assert_eq!(found, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
            assert_eq!(table.notes.len(), usize::from(shape == "(6,)"));
        }
    }

    #[test]
    fn malformed_files_and_their_errors() {
        let cases: [(Vec<u8>, &str); 7] = [
            (b"\x93NUMPY".to_vec(), "x.npy: the NPY header is cut off; copy the file again"),
            (
                file("<f8", "False", "(2, 3)", &[0; 40]),
                "x.npy: is truncated: shape (2, 3) needs 48 bytes, 40 are there; copy or save it again",
            ),
            (
                file("<f4", "False", "(2, 3)", &[0; 25]),
                "x.npy: has 1 bytes after its array of shape (2, 3); it is damaged, or several arrays were saved to \
                 one file (numpy.savez does that)",
            ),
            (
                file("<f8", "False", "(4294967296, 4294967296)", &[]),
                "x.npy: is truncated: shape (4294967296, 4294967296) needs over 18446744073709551615 bytes, 0 are \
                 there; copy or save it again",
            ),
            (
                file("<f8", "False", "(1, 1, 1)", &[0; 8]),
                "x.npy: holds an array of shape (1, 1, 1), and a table has rows and columns; reshape it to two axes",
            ),
            (
                file("<f8", "False", "()", &[0; 8]),
                "x.npy: holds an array of shape (), and a table has rows and columns; reshape it to two axes",
            ),
            (
                file("<U2", "False", "(1, 1)", &[0; 8]),
                "x.npy: holds text; PCA needs numbers: save the columns that are numbers",
            ),
        ];
        for (bytes, expected) in cases {
            assert_eq!(read(owned(bytes), &ReadOptions::default()).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn options_of_tables_with_names_are_refused() {
        let bytes = file("|u1", "False", "(1, 1)", &[0]);
        let options = [
            ReadOptions { delimiter: Some(",".into()), ..Default::default() },
            ReadOptions { header: Some(true), ..Default::default() },
            ReadOptions { decimal: Some('.'), ..Default::default() },
            ReadOptions { row_names: crate::RowNames::Column("a".into()), ..Default::default() },
            ReadOptions { labels: vec!["a".into()], ..Default::default() },
            ReadOptions { weights_column: Some("a".into()), ..Default::default() },
            ReadOptions { array: Some("a".into()), ..Default::default() },
        ];
        for options in options {
            let error = read(owned(bytes.clone()), &options).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Argument, "{error}");
        }
    }

    #[test]
    fn a_mapped_file_is_not_copied() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let matrix = Matrix::from_fn(5, 3, |i, j| (i * 3 + j) as f32);
        let mut bytes = Vec::new();
        write(&mut bytes, &matrix).unwrap();
        std::fs::write(&path, &bytes).unwrap();
        let table = read(Input::open(&path).unwrap(), &ReadOptions::default()).unwrap();
        let Data::F32(Values::Dense { buffer: Buffer::Mapped { offset, len: 15, .. }, .. }) = &table.data
        else {
            panic!("not mapped: {table:?}")
        };
        assert_eq!(offset % 64, 0);
    }

    proptest! {
        #[test]
        fn bits_survive_a_round_trip(n_rows in 0usize..9, n_cols in 0usize..9, seed: [u64; 81]) {
            let matrix = Matrix::from_fn(n_rows, n_cols, |i, j| f64::from_bits(seed[i * 9 + j]));
            let mut bytes = Vec::new();
            write(&mut bytes, &matrix).unwrap();
            prop_assert_eq!(bytes.len() % 8, 0);
            let (found, rows, columns, column_major) = values(&read(owned(bytes), &ReadOptions::default()).unwrap());
            prop_assert_eq!((rows, columns, column_major), (n_rows, n_cols, false));
            let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&found), bits(matrix.as_slice()));
        }

        #[test]
        fn damaged_files_never_panic(at in 0usize..200, byte: u8, cut in 0usize..200) {
            let mut bytes = file("<i4", "False", "(3, 4)", &[7; 48]);
            if let Some(target) = bytes.get_mut(at) {
                *target = byte;
            }
            bytes.truncate(bytes.len().saturating_sub(cut));
            let _ = read(owned(bytes), &ReadOptions::default());
        }
    }
}
