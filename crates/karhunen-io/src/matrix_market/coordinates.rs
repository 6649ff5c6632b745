//! Reads the entries of coordinate files, in blocks of lines parsed by several threads.

use std::ops::Range;
use std::path::Path;

use karhunen::Scalar;
use karhunen::matrix::SparseMatrix;
use memchr::{memchr, memchr_iter};
use rayon::prelude::*;

use super::cursor::Cursor;
use super::{Banner, Field, Found, Parsed, Refusal, Symmetry, refuse, rounded_warning};
use crate::file_rows::SparseCopy;
use crate::input::line_of;
use crate::triples::Entries;
use crate::triples::infinite;
use crate::triples::lines::LineNumbers;
use crate::{ReadOptions, Values};

/// Number of bytes that a thread parses at a time.
const BLOCK_BYTES: usize = 4 << 20;

/// The entries as compressed rows; repeated entries are summed, and a note states their number.
pub(super) fn matrix(cursor: Cursor, banner: Banner, size: [usize; 3], transpose: bool) -> Parsed<Found> {
    let size_line = cursor.at;
    let Entries { rows, columns, values, shape, warnings, .. } =
        entries::<f64>(cursor, banner, size, transpose)?;
    let matrix = SparseMatrix::from_triples(shape.0, shape.1, &rows, &columns, &values);
    let matrix = matrix.map_err(|error| Refusal { offset: size_line, cause: error.into() })?;
    let notes = notes(values.len() - matrix.view().n_stored());
    Ok(Found { values: Values::Sparse(matrix), notes, warnings })
}

/// A note about repeated entries.
fn notes(n_repeated: usize) -> Vec<String> {
    match n_repeated {
        0 => Vec::new(),
        1 => vec!["1 entry repeats the place of another and was added to it".to_owned()],
        n => vec![format!("{n} entries repeat the place of another and were added to it")],
    }
}

/// The entries as rows of a temporary copy. `release` gives the memory of the parsed text back.
pub(super) fn copied(
    path: &Path,
    cursor: &Cursor,
    banner: Banner,
    [n_rows, n_cols, n_entries]: [usize; 3],
    options: &ReadOptions,
    release: &(dyn Fn() + Sync),
) -> std::result::Result<Found, Stop> {
    check_size(cursor.at, n_rows, n_cols)?;
    let reading = Reading { bytes: cursor.bytes, banner, shape: (n_rows, n_cols), n_entries };
    let shape = if options.transpose { (n_cols, n_rows) } else { (n_rows, n_cols) };
    let most = n_entries * if banner.symmetry == Symmetry::General { 1 } else { 2 };
    // Most files are ordered by rows, or by columns; the text of others is parsed once more.
    for ordered in [true, false] {
        let mut copy = SparseCopy::new(path, shape, most, ordered, options)?;
        let mut rounded = None;
        let is_ordered = reading.each_block(cursor.at, &mut |block: Block<f64>| {
            rounded = rounded.or(block.rounded);
            let (mut rows, mut columns) = (block.rows, block.columns);
            if options.transpose {
                (rows, columns) = (columns, rows);
            }
            release();
            Ok(copy.push(&rows, &columns, &block.values)?)
        })?;
        if is_ordered {
            let (rows, n_repeated) = copy.finish(options)?;
            let warnings = rounded.map(|offset| rounded_warning(cursor.bytes, offset)).into_iter().collect();
            return Ok(Found { values: Values::InFile(rows), notes: notes(n_repeated), warnings });
        }
    }
    unreachable!("entries in any order are taken")
}

/// Reason for the early end of a copy.
pub(super) enum Stop {
    /// A line cannot be read.
    Refusal(Refusal),
    /// The entries cannot be copied.
    Copy(crate::Error),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refusal(refusal)
    }
}

impl From<crate::Error> for Stop {
    fn from(error: crate::Error) -> Self {
        Self::Copy(error)
    }
}

fn check_size(after: usize, n_rows: usize, n_cols: usize) -> Parsed<()> {
    if u32::try_from(n_rows.max(n_cols)).is_ok() {
        return Ok(());
    }
    let message = format!("{n_rows} x {n_cols} is too large; at most {} rows or columns are read", u32::MAX);
    refuse(after.saturating_sub(1), message)
}

/// Entries in the order of the file.
pub(super) fn entries<T: Scalar>(
    cursor: Cursor,
    banner: Banner,
    size: [usize; 3],
    transpose: bool,
) -> Parsed<Entries<T>> {
    in_blocks(cursor, banner, size, transpose, BLOCK_BYTES)
}

fn in_blocks<T: Scalar>(
    cursor: Cursor,
    banner: Banner,
    [n_rows, n_cols, n_entries]: [usize; 3],
    transpose: bool,
    block_bytes: usize,
) -> Parsed<Entries<T>> {
    check_size(cursor.at, n_rows, n_cols)?;
    let reading = Reading { bytes: cursor.bytes, banner, shape: (n_rows, n_cols), n_entries };
    let ranges = reading.cut(cursor.at, block_bytes);
    let parsed: Vec<Block<T>> = ranges.par_iter().map(|range| reading.block(range)).collect();
    let mut n_read = 0;
    let admitted =
        ranges.iter().zip(parsed).map(|(range, block)| reading.admitted(range, block, &mut n_read));
    let blocks: Vec<Block<T>> = admitted.collect::<Parsed<_>>()?;
    reading.check_end(n_read)?;
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let rounded = blocks.iter().find_map(|block| block.rounded);
    let warnings = rounded.map(|offset| rounded_warning(cursor.bytes, offset)).into_iter().collect();
    let (mut lines, mut line) = (LineNumbers::default(), line_of(cursor.bytes, cursor.at));
    let n: usize = blocks.iter().map(|block| block.rows.len()).sum();
    rows.reserve_exact(n);
    columns.reserve_exact(n);
    values.reserve_exact(n);
    for block in blocks {
        lines.push(block.rows.len(), line, block.offsets);
        line += block.n_newlines as u64;
        rows.extend(block.rows);
        columns.extend(block.columns);
        values.extend(block.values);
    }
    let (mut shape, weights, ids) = ((n_rows, n_cols), None, None);
    if transpose {
        (rows, columns, shape) = (columns, rows, (n_cols, n_rows));
    }
    let axes = ["row", "column"].map(str::to_owned);
    let unit = "line";
    Ok(Entries { rows, columns, values, weights, shape, ids, axes, unit, lines, warnings })
}

/// The entries of a block, up to its first fault.
struct Block<T> {
    rows: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<T>,
    /// Number of lines that hold an entry.
    n_lines: usize,
    n_newlines: usize,
    /// The line of each entry, relative to the first line of the block.
    offsets: Option<Vec<u32>>,
    refusal: Option<Refusal>,
    /// Byte offset of the first integer that was rounded.
    rounded: Option<usize>,
}

struct Reading<'a> {
    bytes: &'a [u8],
    banner: Banner,
    shape: (usize, usize),
    /// Number of entries in the size line.
    n_entries: usize,
}

impl Reading<'_> {
    /// Cuts the text into ranges of whole lines.
    fn cut(&self, from: usize, block_bytes: usize) -> Vec<Range<usize>> {
        let (mut ranges, mut start) = (Vec::new(), from);
        while start < self.bytes.len() {
            let target = (start + block_bytes).min(self.bytes.len());
            let end =
                memchr(b'\n', &self.bytes[target..]).map_or(self.bytes.len(), |newline| target + newline + 1);
            ranges.push(start..end);
            start = end;
        }
        ranges
    }

    /// Parses a few blocks at a time, and calls `f` with each in order until it returns false, which is also the
    /// result.
    fn each_block<T: Scalar>(
        &self,
        from: usize,
        f: &mut dyn FnMut(Block<T>) -> std::result::Result<bool, Stop>,
    ) -> std::result::Result<bool, Stop> {
        let mut n_read = 0;
        for ranges in self.cut(from, BLOCK_BYTES).chunks(2 * rayon::current_num_threads()) {
            let blocks: Vec<Block<T>> = ranges.par_iter().map(|range| self.block(range)).collect();
            for (range, block) in ranges.iter().zip(blocks) {
                if !f(self.admitted(range, block, &mut n_read)?)? {
                    return Ok(false);
                }
            }
        }
        self.check_end(n_read)?;
        Ok(true)
    }

    fn block<T: Scalar>(&self, range: &Range<usize>) -> Block<T> {
        let text = &self.bytes[range.clone()];
        let n_newlines = memchr_iter(b'\n', text).count();
        let n_expected = n_newlines + usize::from(text.last() != Some(&b'\n'));
        let general = self.banner.symmetry == Symmetry::General;
        let room = if general { n_expected } else { 2 * n_expected };
        let mut block = Block {
            rows: Vec::with_capacity(room),
            columns: Vec::with_capacity(room),
            values: Vec::with_capacity(room),
            n_lines: 0,
            n_newlines,
            offsets: None,
            refusal: None,
            rounded: None,
        };
        let mut cursor = Cursor { bytes: &self.bytes[..range.end], at: range.start, rounded: None };
        while block.refusal.is_none() && cursor.next_line() {
            block.refusal = self.line(&mut cursor, &mut block).err();
        }
        block.rounded = cursor.rounded;
        if block.n_lines < n_expected || !general {
            block.offsets = Some(self.offsets(range, &block));
        }
        block
    }

    #[inline]
    fn line<T: Scalar>(&self, cursor: &mut Cursor, block: &mut Block<T>) -> Parsed<()> {
        let Banner { field, symmetry, .. } = self.banner;
        let line = cursor.at;
        let row = cursor.index("row", self.shape.0)?;
        let column = cursor.index("column", self.shape.1)?;
        let value_at = cursor.at;
        let value = if field == Field::Pattern { 1.0 } else { cursor.value(field)? };
        let converted = T::from_f64(value);
        if converted.to_f64().is_infinite() {
            return Err(Refusal { offset: value_at, cause: infinite(value) });
        }
        cursor.end_of_line()?;
        if symmetry != Symmetry::General {
            check_triangle(line, symmetry, row, column)?;
        }
        block.rows.push(row);
        block.columns.push(column);
        block.values.push(converted);
        if symmetry != Symmetry::General && row != column {
            block.rows.push(column);
            block.columns.push(row);
            block.values.push(if symmetry == Symmetry::Skew { T::from_f64(-value) } else { converted });
        }
        block.n_lines += 1;
        Ok(())
    }

    /// The line of each entry of a block, if it contains other lines, or lines that represent two entries.
    fn offsets<T>(&self, range: &Range<usize>, block: &Block<T>) -> Vec<u32> {
        let mut offsets = Vec::with_capacity(block.rows.len());
        let mut starts = self.starts(range);
        while offsets.len() < block.rows.len() {
            let Some(start) = starts.next() else { break };
            let line = memchr_iter(b'\n', &self.bytes[range.start..start]).count() as u32;
            let entry = offsets.len();
            let mirrored =
                self.banner.symmetry != Symmetry::General && block.rows[entry] != block.columns[entry];
            offsets.extend(std::iter::repeat_n(line, if mirrored { 2 } else { 1 }));
        }
        offsets
    }

    /// Start offsets of the lines of a block that hold entries.
    fn starts(&self, range: &Range<usize>) -> impl Iterator<Item = usize> {
        let mut cursor = Cursor { bytes: &self.bytes[..range.end], at: range.start, rounded: None };
        std::iter::from_fn(move || {
            let start = cursor.next_line().then_some(cursor.at)?;
            let rest = &cursor.bytes[start..];
            cursor.at = start + memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1);
            Some(start)
        })
    }

    /// Refuses the first fault of a block after `n_read` lines: a line beyond the number in the size line, or one
    /// that cannot be read.
    fn admitted<T>(&self, range: &Range<usize>, mut block: Block<T>, n_read: &mut usize) -> Parsed<Block<T>> {
        let left = self.n_entries - *n_read;
        if block.n_lines > left || (block.refusal.is_some() && block.n_lines == left) {
            let line = self.starts(range).nth(left).unwrap_or(range.start);
            return refuse(line, format!("the size line promises {}, but here is another", self.promised()));
        }
        *n_read += block.n_lines;
        block.refusal.take().map_or(Ok(block), Err)
    }

    /// Refuses fewer lines than the size line states.
    fn check_end(&self, n_read: usize) -> Parsed<()> {
        if n_read == self.n_entries {
            return Ok(());
        }
        let message = format!("the size line promises {}, but the file ends after {n_read}", self.promised());
        refuse(self.bytes.len(), message)
    }

    fn promised(&self) -> String {
        if self.n_entries == 1 { "1 entry".to_owned() } else { format!("{} entries", self.n_entries) }
    }
}

/// The file of a symmetric matrix holds the lower triangle; the diagonal of a skew-symmetric one is zero.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(
        body: &str,
        symmetry: Symmetry,
        n_entries: usize,
        block_bytes: usize,
    ) -> Result<Entries<f32>, (u64, String)> {
        let banner = Banner { coordinate: true, field: Field::Real, symmetry };
        let cursor = Cursor { bytes: body.as_bytes(), at: 0, rounded: None };
        in_blocks(cursor, banner, [9, 9, n_entries], false, block_bytes)
            .map_err(|refusal| (line_of(body.as_bytes(), refusal.offset), refusal.cause.to_string()))
    }

    #[test]
    fn blocks_make_no_difference() {
        let body = "1 1 2\n% remark\n2 1 0\n\n 9 9 -1.5\n3 2 4";
        let whole = read(body, Symmetry::General, 4, 1 << 20).unwrap();
        assert_eq!((&whole.rows[..], &whole.columns[..]), (&[0, 1, 8, 2][..], &[0, 0, 8, 1][..]));
        assert_eq!(whole.values, [2.0, 0.0, -1.5, 4.0]);
        for block_bytes in 1..body.len() {
            let cut = read(body, Symmetry::General, 4, block_bytes).unwrap();
            assert_eq!((&cut.rows, &cut.columns, &cut.values), (&whole.rows, &whole.columns, &whole.values));
            assert_eq!([0, 1, 2, 3].map(|entry| cut.lines.line(entry)), [1, 3, 5, 6], "{block_bytes}");
        }
    }

    #[test]
    fn mirrored_entries_stand_on_the_line_of_the_first() {
        for block_bytes in [1, 8, 100] {
            let read = read("1 1 2\n2 1 3\n3 3 4\n", Symmetry::Symmetric, 3, block_bytes).unwrap();
            assert_eq!(read.rows, [0, 1, 0, 2]);
            assert_eq!([0, 1, 2, 3].map(|entry| read.lines.line(entry)), [1, 2, 2, 3]);
        }
    }

    #[test]
    fn what_is_wrong_first_is_told_whatever_the_blocks() {
        let cases = [
            ("1 1 1\n2 2 x\n3 3 y\n", 3, 2, "`x` is not a number"),
            ("1 1 1\n2 2 2\n3 3 y\n", 2, 3, "the size line promises 2 entries, but here is another"),
            ("1 1 1\n2 2 2\n3 3 3\n10 1 1", 2, 3, "the size line promises 2 entries, but here is another"),
            ("1 1 1\n2 2 2\n", 5, 3, "the size line promises 5 entries, but the file ends after 2"),
            (
                "1 1 1e39\n",
                1,
                1,
                "`1e39`: values are finite, and within the range of their type (double = true has the larger)",
            ),
        ];
        for (body, n_entries, line, message) in cases {
            for block_bytes in [1, 7, 100] {
                let found = read(body, Symmetry::General, n_entries, block_bytes).unwrap_err();
                assert_eq!(found, (line, message.to_owned()), "{body} {block_bytes}");
            }
        }
    }
}
