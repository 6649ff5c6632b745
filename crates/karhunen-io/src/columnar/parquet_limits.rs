//! Checks that the sizes declared in a Parquet file are possible for its bytes, before a decoder relies on them.
//!
//! The decoder recurses on the nesting of columns, and allocates memory for every declared child of a column and
//! every declared byte of a page: a damaged or hostile file would end the process.

use parquet::basic::Compression;
use parquet::file::metadata::ParquetMetaData;

use super::thrift::{Kind, Reader};

/// Maximum depth of nested columns; a table for karhunen has depth 1, and the Arrow metadata reach 64.
const MAX_DEPTH: usize = 64;
/// Length of the footer length and the mark at the end of the file.
const TRAILER: usize = 8;

/// Refuses a footer whose columns are nested too deeply or declare more children than exist.
///
/// # Errors
/// A message that states the fault.
pub(crate) fn check_schema(file: &[u8]) -> Result<(), String> {
    // The decoder refuses a file without a footer in its own words.
    let Some((content, trailer)) = file.split_last_chunk::<TRAILER>() else { return Ok(()) };
    let length = u32::from_le_bytes([trailer[0], trailer[1], trailer[2], trailer[3]]) as usize;
    let Some(begin) = content.len().checked_sub(length) else { return Ok(()) };
    let mut found = Ok(());
    let read = Reader::new(&content[begin..]).structure(&mut |id, kind, reader| {
        // The second field is the list of columns, each followed by its children.
        if (id, kind) != (2, Kind::List) {
            return Some(false);
        }
        found = schema(reader)?;
        if found.is_ok() { Some(true) } else { None }
    });
    match (found, read) {
        (Ok(()), None) => Err("the footer cannot be read".to_owned()),
        (found, _) => found,
    }
}

/// `None` if the list is truncated or not Thrift.
fn schema(reader: &mut Reader<'_>) -> Option<Result<(), String>> {
    let (kind, n) = reader.list()?;
    if kind != Kind::Struct {
        return None;
    }
    // For each column that contains the next one, the number of children still to come.
    let mut open: Vec<usize> = Vec::new();
    for index in 0..n {
        let mut n_children = 0;
        reader.structure(&mut |id, kind, reader| match (id, kind) {
            (5, Kind::Integer) => {
                n_children = reader.integer()?;
                Some(true)
            }
            _ => Some(false),
        })?;
        while open.last() == Some(&0) {
            open.pop();
        }
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        let n_children = usize::try_from(n_children).unwrap_or(0);
        if n_children > n - index - 1 {
            return Some(Err(format!("column {index} declares {n_children} children, which are not there")));
        }
        if n_children > 0 {
            open.push(n_children);
        }
        // The root is not a level of nesting.
        if open.len() > MAX_DEPTH + 1 {
            return Some(Err(format!("columns are nested over {MAX_DEPTH} levels deep")));
        }
    }
    Some(Ok(()))
}

/// Refuses columns that lie outside the file, and pages that declare more than their bytes can hold. Calls `release`, which
/// gives the memory of the file back, after each group of rows. Returns the most bytes of unpacked pages that a reader of
/// each column holds at a time: a page and a dictionary.
///
/// # Errors
/// A message that states the fault.
pub(crate) fn check_pages(
    metadata: &ParquetMetaData,
    file: &[u8],
    release: &dyn Fn(),
) -> Result<Vec<u64>, &'static str> {
    let mut held = Vec::new();
    for group in metadata.row_groups() {
        held.resize(held.len().max(group.num_columns()), 0);
        for (column, held) in group.columns().iter().zip(&mut held) {
            let begin = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let end = begin.checked_add(column.compressed_size());
            let range = usize::try_from(begin).ok().zip(end.and_then(|end| usize::try_from(end).ok()));
            let chunk = range.and_then(|(begin, end)| file.get(begin..end));
            let chunk = chunk.ok_or("the footer points outside of the file")?;
            *held = check_chunk(chunk, most_from_one(column.compression()))?.max(*held);
        }
        // The headers of pages lie in all parts of the file.
        release();
    }
    Ok(held)
}

/// Maximum number of bytes that a codec expands one byte to.
fn most_from_one(codec: Compression) -> u64 {
    match codec {
        Compression::UNCOMPRESSED => 1,
        Compression::SNAPPY => 64,
        Compression::LZ4 | Compression::LZ4_RAW => 255,
        Compression::GZIP(_) => 1032,
        Compression::ZSTD(_) => 1 << 15,
        // A block of brotli holds up to 16 MiB, and may take four bytes.
        _ => 1 << 22,
    }
}

/// The bytes of the largest dictionary and the largest other page, unpacked.
fn check_chunk(chunk: &[u8], most: u64) -> Result<u64, &'static str> {
    /// The number of a dictionary among the kinds of pages.
    const DICTIONARY: i64 = 2;
    let (mut dictionary, mut page) = (0, 0);
    let mut rest = chunk;
    while !rest.is_empty() {
        let mut reader = Reader::new(rest);
        let (mut of_kind, mut unpacked, mut packed) = (0, 0, 0);
        let read = reader.structure(&mut |id, kind, reader| {
            let field = match (id, kind) {
                (1, Kind::Integer) => &mut of_kind,
                (2, Kind::Integer) => &mut unpacked,
                (3, Kind::Integer) => &mut packed,
                _ => return Some(false),
            };
            *field = reader.integer()?;
            Some(true)
        });
        // The decoder refuses invalid pages if it reads them.
        let (Some(()), Ok(unpacked), Ok(packed)) = (read, u64::try_from(unpacked), u64::try_from(packed))
        else {
            break;
        };
        if unpacked > packed.saturating_mul(most) {
            return Err("a page declares more bytes than it holds");
        }
        let largest = if of_kind == DICTIONARY { &mut dictionary } else { &mut page };
        *largest = unpacked.max(*largest);
        let body = usize::try_from(packed).ok().and_then(|n| rest[rest.len() - reader.n_left()..].get(n..));
        let Some(next) = body else { break };
        rest = next;
    }
    Ok(dictionary.saturating_add(page))
}

#[cfg(test)]
mod tests {
    use super::super::parquet;
    use super::*;
    use crate::ReadOptions;
    use crate::input::{Bytes, Input};

    /// A footer of these columns, each with its number of children, and no rows.
    fn file(columns: &[u8]) -> Vec<u8> {
        // Version 2, and the list of columns.
        let mut footer = b"\x15\x04\x19\xfc".to_vec();
        let mut n = columns.len();
        while n > 0x7f {
            footer.push(n as u8 | 0x80);
            n >>= 7;
        }
        footer.push(n as u8);
        for &n_children in columns {
            // For a leaf: the type INT32, optional, the name x, no children, end of structure.
            footer.extend(if n_children == 0 {
                &b"\x15\x02\x25\x02\x18\x01x\x00"[..]
            } else {
                b"\x35\x02\x18\x01x\x15"
            });
            if n_children > 0 {
                footer.extend([n_children << 1, 0]);
            }
        }
        // No rows, no row groups, end of structure.
        footer.extend(b"\x16\x00\x19\x0c\x00");
        let length = (footer.len() as u32).to_le_bytes();
        [b"PAR1", &footer[..], &length, b"PAR1"].concat()
    }

    fn nested(depth: usize) -> Vec<u8> {
        let mut columns = vec![1; depth + 1];
        columns.push(0);
        file(&columns)
    }

    fn read(bytes: Vec<u8>) -> String {
        let input = Input { path: "x.parquet".into(), bytes: Bytes::Owned(bytes) };
        parquet::read(input, &ReadOptions::default()).unwrap_err().to_string()
    }

    #[test]
    fn columns_may_be_nested_but_not_without_end() {
        assert_eq!(check_schema(&nested(MAX_DEPTH)), Ok(()));
        // The decoder accepts the files that pass the check.
        assert!(read(nested(MAX_DEPTH)).contains("holds"), "{}", read(nested(MAX_DEPTH)));
        for depth in [MAX_DEPTH + 1, 5_000, 1_000_000] {
            assert_eq!(
                read(nested(depth)),
                "x.parquet: is damaged or not supported (columns are nested over 64 levels deep); copy or write it again"
            );
        }
        // Many columns side by side are not nested.
        let mut wide = vec![100];
        wide.extend([2, 0, 0].repeat(100));
        wide[0] = 0x3f;
        wide.truncate(1 + 0x3f * 3);
        assert_eq!(check_schema(&file(&wide)), Ok(()));
    }

    #[test]
    fn children_that_are_not_there_are_not_asked_for() {
        assert_eq!(
            read(file(&[60, 0])),
            "x.parquet: is damaged or not supported (column 0 declares 60 children, which are not there); copy or write \
             it again"
        );
        let mut cut = file(&[1, 0]);
        cut[7] = 0xfd;
        assert!(check_schema(&cut).is_err());
    }

    #[test]
    fn pages_hold_what_they_declare() {
        // Page type 0, uncompressed and compressed size, end of the header, and the bytes.
        let of_kind = |kind: u8, unpacked: u8, packed: u8| {
            [&[0x15, kind << 1, 0x15, unpacked << 1, 0x15, packed << 1, 0], &vec![0; packed.into()][..]]
                .concat()
        };
        let page = |unpacked, packed| of_kind(0, unpacked, packed);
        assert_eq!(check_chunk(&[page(9, 9), page(4, 5)].concat(), 1), Ok(9));
        // A dictionary is held with the largest page.
        assert_eq!(check_chunk(&[of_kind(2, 7, 7), page(4, 5), page(5, 5)].concat(), 1), Ok(12));
        assert!(check_chunk(&[page(9, 9), page(6, 5)].concat(), 1).is_err());
        assert_eq!(check_chunk(&[page(9, 9), page(6, 5)].concat(), 2), Ok(9));
        // Truncated or invalid pages are left to the decoder.
        assert_eq!(check_chunk(&page(9, 9)[..12], 1), Ok(9));
        assert_eq!(check_chunk(b"\xff\xff", 1), Ok(0));
    }
}
