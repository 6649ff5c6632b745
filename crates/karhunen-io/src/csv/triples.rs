//! Tables of triples as text, parsed in blocks by several threads; each thread numbers its own ids.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use karhunen::Scalar;
use karhunen::error::Phrase;
use memchr::memchr_iter;
use rayon::prelude::*;

use super::blocks::{block_end, cut};
use super::columns::{check_left_out, read_header};
use super::dialect::{Dialect, Sample};
use super::fields::{BlankLines, Ending, Scanner};
use super::first_line::{FirstLine, of_entries};
use super::notation::{Cell, Notation};
use super::refusal::{Reason, Refusal};
use super::{BLOCK_BYTES, check_signs, in_pool, table_text};
use crate::input::{Input, line_of};
use crate::rounded::{Rounded, limit, rounded_text};
use crate::triples::interner::{Interner, Numbered, TakesIds};
use crate::triples::lines::LineNumbers;
use crate::triples::pair_block::{PairBlock, Visitor};
use crate::triples::{Chunk, Entries, Role, Wanted, axes};
use crate::{Cause, Error, Ids, Place, ReadOptions, Result};

/// Reads the requested columns, by name or by number. Empty values and missing-value marks become NaN.
///
/// # Errors
/// [`crate::Cause::Option`] for columns that do not exist; [`crate::Cause::Format`] and [`crate::Cause::Value`]
/// with line and column for lines with a different number of fields than the first, for empty ids, and for values
/// and weights that are not numbers.
pub(crate) fn read_triples<T: Scalar>(
    input: &Input,
    wanted: &Wanted,
    options: &ReadOptions,
) -> Result<Entries<T>> {
    check_options(&input.path, options)?;
    in_blocks(&input.path, input.as_slice(), wanted, options, BLOCK_BYTES)
}

fn check_options(path: &Path, options: &ReadOptions) -> Result<()> {
    use crate::option_names as O;
    let used = [O::DELIMITER, O::HEADER, O::COMMENT, O::SKIP, O::DECIMAL, O::THOUSANDS, O::NA];
    options.allow_for_triples(path, &used)?;
    check_signs(path, options)
}

pub(super) fn in_blocks<T: Scalar>(
    path: &Path,
    bytes: &[u8],
    wanted: &Wanted,
    options: &ReadOptions,
    block_bytes: usize,
) -> Result<Entries<T>> {
    let form = EntryForm::of(path, bytes, wanted, options)?;
    let layout = Layout { text: table_text(path, bytes)?, form: &form };
    let entries = in_pool(path, options, || layout.entries(block_bytes))?;
    let (mut entries, rounded) = entries.map_err(|refusal| layout.refuse(path, refusal))?;
    entries.warnings.extend(form.warning());
    if let Some((offset, column)) = rounded {
        let name = form.names.as_ref().and_then(|names| names.get(column)).cloned();
        let line = Some(line_of(layout.text, offset));
        let place = Place { line, row: None, column: Some(column as u64 + 1), name };
        let text = rounded_text::<T>(&layout.text[offset..]).unwrap_or_default();
        entries.warnings.push(Rounded { text, place }.warning::<T>());
    }
    Ok(entries)
}

/// Notation and columns of a text of triples or pairs.
#[derive(Debug)]
pub(crate) struct EntryForm {
    dialect: Dialect,
    names: Option<Vec<String>>,
    roles: Vec<Role>,
    /// The terms for rows and columns.
    pub(crate) axes: [String; 2],
    first_row: usize,
}

impl EntryForm {
    fn of(path: &Path, bytes: &[u8], wanted: &Wanted, options: &ReadOptions) -> Result<Self> {
        let text = table_text(path, bytes)?;
        let refuse_empty = |message: &str| Err(Error::new(path, Cause::format(message.to_owned())));
        if text.is_empty() {
            return refuse_empty("the table is empty");
        }
        let names: Vec<&str> = wanted.columns.iter().map(|(_, name)| name.as_str()).collect();
        let names = if wanted.are_numbers() { &[] } else { &names[..] };
        let holds = |sample: &Sample, numbers: &Notation| first_line(sample, wanted, options, numbers);
        let (dialect, sample) = Dialect::detect_entries(path, text, options, names, &holds)?;
        let (names, first_row) =
            read_header(text, &dialect).map_err(|refusal| refusal.into_error(path, text, None))?;
        check_left_out(path, &dialect, first_row)?;
        let n_columns = names.as_ref().map_or(sample.first().map_or(0, Vec::len), Vec::len);
        let roles = wanted.roles(path, names.as_deref(), n_columns)?;
        // An empty table is valid input for a model, but not for a fit.
        if first_row >= text.len() && roles.contains(&Role::Value) && options.fitted.is_none() {
            return refuse_empty("the table has names but no rows");
        }
        let axes = axes(&roles, names.as_deref());
        Ok(Self { dialect, names, roles, axes, first_row })
    }

    /// The form of a text of pairs.
    ///
    /// # Errors
    /// [`crate::Cause::Option`] for columns that do not exist; [`crate::Cause::Format`] for an empty text.
    pub(crate) fn of_pairs(input: &Input, wanted: &Wanted, options: &ReadOptions) -> Result<Self> {
        check_options(&input.path, options)?;
        Self::of(&input.path, input.as_slice(), wanted, options)
    }

    /// A possible fault: a guess about the first line.
    pub(crate) fn warning(&self) -> Option<Phrase> {
        self.dialect.first_line.warning()
    }

    /// Reads the pairs of `input` in blocks of about `block_bytes`, a few of them at a time; the blocks do not depend on
    /// how many. `release` gives the memory of the parsed text back.
    ///
    /// # Errors
    /// The refusal of the first line that cannot be read; errors of the visitor.
    pub(crate) fn visit_pairs<X: Send, E: From<Error>>(
        &self,
        input: &Input,
        (block_bytes, at_once): (usize, usize),
        visitor: &mut Visitor<'_, X, E>,
        release: &dyn Fn(),
    ) -> std::result::Result<(), E> {
        let layout = Layout { text: table_text(&input.path, input.as_slice())?, form: self };
        let text = layout.text;
        let (mut start, mut line) = (self.first_row, line_of(text, self.first_row));
        while start < text.len() {
            let mut ranges = Vec::new();
            while start < text.len() && ranges.len() < at_once {
                let end = block_end(text, start, block_bytes, &self.dialect);
                ranges.push(start..end);
                start = end;
            }
            let map = visitor.map;
            let read = |range: Range<usize>| {
                let empty = || Ids::Integers(Vec::new());
                let records = layout.records::<f32, Ids>(&range, [empty(), empty()])?;
                let found = map(&records.ids);
                Ok((records, found))
            };
            let parsed: Vec<std::result::Result<_, Refusal>> = ranges.into_par_iter().map(read).collect();
            for block in parsed {
                let (records, found) = block.map_err(|refusal| layout.refuse(&input.path, refusal))?;
                let n = records.ids[0].len();
                (visitor.take)(PairBlock::new(records.ids, (n, line, records.offsets)), found)?;
                line += records.n_newlines as u64;
            }
            release();
        }
        Ok(())
    }
}

/// Byte offset and column of an integer that was rounded.
type RoundedAt = Option<(usize, usize)>;

/// Decides whether the first record holds names: by the option, by columns requested by name, or by its cells.
fn first_line(sample: &Sample, wanted: &Wanted, options: &ReadOptions, numbers: &Notation) -> FirstLine {
    let column = |role| {
        let number = wanted.columns.iter().find(|(other, _)| *other == role)?.1.parse::<usize>().ok()?;
        number.checked_sub(1)
    };
    let columns = [Role::Row, Role::Column, Role::Value].map(column);
    match options.header {
        Some(true) => FirstLine::Names,
        Some(false) => FirstLine::Values,
        None if !wanted.are_numbers() => FirstLine::Names,
        None => of_entries(sample, columns, numbers, options.fitted.as_ref()),
    }
}

/// A text and its form.
#[derive(Clone, Copy)]
struct Layout<'a> {
    text: &'a [u8],
    form: &'a EntryForm,
}

/// The results of one thread: ids, blocks, and the first fault.
#[derive(Default)]
struct Worker<T> {
    ids: [Interner; 2],
    blocks: Vec<(usize, Block<T>)>,
    refusal: Option<(usize, Refusal)>,
}

struct Block<T> {
    chunk: Chunk<T>,
    n_newlines: usize,
    offsets: Option<Vec<u32>>,
    rounded: RoundedAt,
}

/// The records of a block, with the ids that `S` took.
struct Records<T, S> {
    ids: [S; 2],
    values: Vec<T>,
    weights: Vec<T>,
    n_newlines: usize,
    offsets: Option<Vec<u32>>,
    rounded: RoundedAt,
}

impl Layout<'_> {
    fn refuse(&self, path: &Path, refusal: Refusal) -> Error {
        refusal.into_error(path, self.text, self.form.names.as_deref())
    }

    /// The entries, and the position of the first integer that was rounded.
    fn entries<T: Scalar>(
        &self,
        block_bytes: usize,
    ) -> std::result::Result<(Entries<T>, RoundedAt), Refusal> {
        let ranges = cut(self.text, &self.form.dialect, self.form.first_row, block_bytes);
        let (next, first_refused) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
        let work = |number| self.work(number, &ranges, &next, &first_refused);
        let n_workers = rayon::current_num_threads().min(ranges.len()).max(1);
        let mut workers: Vec<Worker<T>> = (0..n_workers).into_par_iter().map(work).collect();
        let refusals = workers.iter_mut().filter_map(|worker| worker.refusal.take());
        if let Some((_, refusal)) = refusals.min_by_key(|(block, _)| *block) {
            return Err(refusal);
        }
        let mut blocks: Vec<(usize, Block<T>)> =
            workers.iter_mut().flat_map(|worker| std::mem::take(&mut worker.blocks)).collect();
        blocks.sort_unstable_by_key(|(number, _)| *number);
        let mut lines = LineNumbers::default();
        let mut line = line_of(self.text, self.form.first_row);
        let mut chunks = Vec::with_capacity(blocks.len());
        let first_rounded = blocks.iter().find_map(|(_, block)| block.rounded);
        for (_, Block { chunk, n_newlines, offsets, .. }) in blocks {
            lines.push(chunk.rows.len(), line, offsets);
            line += n_newlines as u64;
            chunks.push(chunk);
        }
        let (rows, columns) = workers.into_iter().map(|worker| worker.ids.into()).unzip();
        Ok((Entries::assemble(chunks, [rows, columns], self.form.axes.clone(), lines), first_rounded))
    }

    /// Reads blocks until none are left or an earlier block was refused.
    fn work<T: Scalar>(
        &self,
        number: usize,
        ranges: &[Range<usize>],
        next: &AtomicUsize,
        first_refused: &AtomicUsize,
    ) -> Worker<T> {
        let mut worker = Worker::default();
        loop {
            let block = next.fetch_add(1, Ordering::Relaxed);
            if block >= ranges.len() || block > first_refused.load(Ordering::Relaxed) {
                return worker;
            }
            match self.block(number, &ranges[block], &mut worker.ids) {
                Ok(read) => worker.blocks.push((block, read)),
                Err(refusal) => {
                    first_refused.fetch_min(block, Ordering::Relaxed);
                    worker.refusal = Some((block, refusal));
                    return worker;
                }
            }
        }
    }

    fn block<T: Scalar>(
        &self,
        worker: usize,
        range: &Range<usize>,
        ids: &mut [Interner; 2],
    ) -> std::result::Result<Block<T>, Refusal> {
        let [rows, columns] = ids;
        let ids = [rows, columns].map(|interner| Numbered { interner, numbers: Vec::new() });
        let Records { ids, values, weights, n_newlines, offsets, rounded } = self.records(range, ids)?;
        let [rows, columns] = ids.map(|ids| ids.numbers);
        Ok(Block { chunk: Chunk { worker, rows, columns, values, weights }, n_newlines, offsets, rounded })
    }

    /// Reads the records of a range of whole lines.
    fn records<T: Scalar, S: TakesIds>(
        &self,
        range: &Range<usize>,
        mut ids: [S; 2],
    ) -> std::result::Result<Records<T, S>, Refusal> {
        let n_newlines = memchr_iter(b'\n', &self.text[range.clone()]).count();
        let ends_open = self.text[range.clone()].last() != Some(&b'\n');
        let n_lines = n_newlines + usize::from(ends_open);
        let room = |role| Vec::with_capacity(if self.form.roles.contains(&role) { n_lines } else { 0 });
        ids.iter_mut().for_each(|ids| ids.reserve(n_lines));
        let mut reader = Reader {
            scanner: self.form.dialect.scanner(&self.text[..range.end], range.start),
            layout: *self,
            is_plain: self.form.dialect.numbers.is_plain(),
            ids,
            n_records: 0,
            values: room(Role::Value),
            weights: room(Role::Weight),
            rounded: None,
        };
        while reader.scanner.begin_record(BlankLines::Skipped) {
            reader.record()?;
            reader.n_records += 1;
        }
        let Reader { ids, n_records, values, weights, rounded, .. } = reader;
        let offsets = if n_records == n_lines { None } else { Some(self.offsets(range)?) };
        Ok(Records { ids, values, weights, n_newlines, offsets, rounded })
    }

    /// The line of each record of a block, relative to its first, if lines are blank or records span several lines.
    fn offsets(&self, range: &Range<usize>) -> std::result::Result<Vec<u32>, Refusal> {
        let mut scanner = self.form.dialect.scanner(&self.text[..range.end], range.start);
        let (mut offsets, mut line, mut at) = (Vec::new(), 0, range.start);
        while scanner.begin_record(BlankLines::Skipped) {
            line += memchr_iter(b'\n', &self.text[at..scanner.offset()]).count() as u32;
            at = scanner.offset();
            offsets.push(line);
            scanner.count_rest()?;
        }
        Ok(offsets)
    }
}

/// Reads the records of one block.
struct Reader<'a, T, S> {
    scanner: Scanner<'a>,
    layout: Layout<'a>,
    is_plain: bool,
    ids: [S; 2],
    n_records: usize,
    values: Vec<T>,
    weights: Vec<T>,
    rounded: RoundedAt,
}

impl<T: Scalar, S: TakesIds> Reader<'_, T, S> {
    #[inline]
    fn record(&mut self) -> std::result::Result<(), Refusal> {
        let start = self.scanner.offset();
        let expected = self.layout.form.roles.len();
        for (column, &role) in self.layout.form.roles.iter().enumerate() {
            let ending = match role {
                Role::Row => self.id(0, column)?,
                Role::Column => self.id(1, column)?,
                Role::Value => {
                    let (value, ending) = self.number(column, role)?;
                    self.values.push(value);
                    ending
                }
                Role::Weight => {
                    let (weight, ending) = self.number(column, role)?;
                    self.weights.push(weight);
                    ending
                }
                Role::Unused => self.scanner.field()?.ending,
            };
            let is_last = column + 1 == expected;
            if is_last != (ending == Ending::Record) {
                let rest = if is_last { self.scanner.count_rest()? } else { 0 };
                let reason = Reason::Ragged { found: column + 1 + rest, expected };
                return Err(Refusal { offset: start, column: None, reason });
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn id(&mut self, axis: usize, column: usize) -> std::result::Result<Ending, Refusal> {
        let offset = self.scanner.offset();
        let (taken, ending) = match self.scanner.integer() {
            Some((id, ending)) => (self.ids[axis].integer(id), ending),
            None => {
                let field = self.scanner.field()?;
                let refuse = |reason| Refusal::cell(field.offset, column, reason);
                if field.text.is_empty() {
                    return Err(refuse(Reason::EmptyId));
                }
                let text = std::str::from_utf8(&field.text).map_err(|_| refuse(Reason::Encoding))?;
                (self.ids[axis].text(text), field.ending)
            }
        };
        taken.map(|()| ending).ok_or(Refusal::cell(offset, column, Reason::TooManyIds))
    }

    #[inline(always)]
    fn number(&mut self, column: usize, role: Role) -> std::result::Result<(T, Ending), Refusal> {
        let start = self.scanner.clone();
        if self.is_plain
            && let Some((value, ending)) = self.scanner.number()
        {
            let converted = T::from_f64(value);
            if converted.to_f64().is_finite() && (role == Role::Value || value >= 0.0) {
                if value.abs() >= limit::<T>() {
                    self.note_rounding(start.offset(), column);
                }
                return Ok((converted, ending));
            }
            self.scanner = start;
        }
        self.unusual_number(column, role)
    }

    /// Records the first integer that `T` cannot represent.
    #[cold]
    fn note_rounding(&mut self, start: usize, column: usize) {
        if self.rounded.is_none() && rounded_text::<T>(&self.layout.text[start..]).is_some() {
            self.rounded = Some((start, column));
        }
    }

    /// Parses a value that the fast path rejects: quoted, padded with blanks, with a decimal comma, or no number.
    #[cold]
    fn unusual_number(&mut self, column: usize, role: Role) -> std::result::Result<(T, Ending), Refusal> {
        let rest = self.scanner.clone();
        let field = self.scanner.field()?;
        let text = || field.text.to_vec();
        let reason = match Cell::of(&field.text, &self.layout.form.dialect.numbers) {
            Cell::Number(value) if role == Role::Weight && value < 0.0 => Reason::Weight(text()),
            Cell::Number(value) if T::from_f64(value).to_f64().is_infinite() => Reason::TooLarge(text()),
            Cell::Number(value) => {
                if value.abs() >= limit::<T>() {
                    self.note_rounding(field.offset + usize::from(field.quoted), column);
                }
                return Ok((T::from_f64(value), field.ending));
            }
            Cell::Missing if role == Role::Value => return Ok((T::from_f64(f64::NAN), field.ending)),
            _ if role == Role::Weight => Reason::Weight(text()),
            Cell::Missing | Cell::Infinite => Reason::Infinite(text()),
            Cell::Text => Reason::NoValue(text()),
        };
        let mut rest = rest;
        let expected = self.layout.form.roles.len();
        Err(match rest.count_rest() {
            Ok(n) if column + n != expected => {
                let reason = Reason::Ragged { found: column + n, expected };
                Refusal { offset: field.offset, column: None, reason }
            }
            _ => Refusal::cell(field.offset, column, reason),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::TripleColumns;
    use crate::ids::Ids;

    fn wanted(columns: &str) -> Wanted {
        let names: Vec<&str> = columns.split(',').collect();
        let name = |at: usize| names[at].to_owned();
        let weight = names.get(3).map(|name| (*name).to_owned());
        Wanted::from(&TripleColumns { row: name(0), column: name(1), value: name(2), weight })
    }

    fn read(text: &str, columns: &str, block_bytes: usize) -> Result<Entries<f32>> {
        in_blocks(Path::new("t.csv"), text.as_bytes(), &wanted(columns), &ReadOptions::default(), block_bytes)
    }

    /// (row, column, value, line) of each entry, ids as text.
    fn listed(entries: &Entries<f32>) -> Vec<(String, String, f32, u64)> {
        let [rows, columns] = entries.ids.as_ref().unwrap();
        let entry = |e: usize| {
            let (row, column) = (entries.rows[e] as usize, entries.columns[e] as usize);
            (
                rows.text(row).into_owned(),
                columns.text(column).into_owned(),
                entries.values[e],
                entries.lines.line(e),
            )
        };
        (0..entries.rows.len()).map(entry).collect()
    }

    const MIXED: &str = "item;user;when;rating\nHeat;7;x;4,5\n\n\"Up; \nup\";12;y;3\n007;-3;z;\n7;12; ;1\n";

    #[test]
    fn blocks_and_threads_make_no_difference() {
        let whole = listed(&read(MIXED, "user,item,rating", 1 << 20).unwrap());
        let found: Vec<(&str, &str, u64)> =
            whole.iter().map(|(row, column, _, line)| (row.as_str(), column.as_str(), *line)).collect();
        assert_eq!(found, [("7", "Heat", 2), ("12", "Up; \nup", 4), ("-3", "007", 6), ("12", "7", 7)]);
        assert_eq!(whole[0].2, 4.5);
        assert!(whole[2].2.is_nan());
        for block_bytes in 1..MIXED.len() {
            let cut = read(MIXED, "user,item,rating", block_bytes).unwrap();
            let cut = listed(&cut);
            assert_eq!(cut.len(), 4);
            for (a, b) in cut.iter().zip(&whole) {
                assert_eq!(
                    (&a.0, &a.1, a.2.to_bits(), a.3),
                    (&b.0, &b.1, b.2.to_bits(), b.3),
                    "{block_bytes}"
                );
            }
        }
    }

    #[test]
    fn ids_are_numbers_where_all_are() {
        let entries = read(MIXED, "user,item,rating", 1 << 20).unwrap();
        let [rows, columns] = entries.ids.unwrap();
        assert_eq!(rows, Ids::Integers(vec![-3, 7, 12]));
        assert_eq!(columns.texts(), ["007", "7", "Heat", "Up; \nup"]);
    }

    #[test]
    fn columns_go_by_name_or_by_number() {
        let cases = [
            ("user,item,rating\n1,2,3\n", "user,item,rating", 1, (1, 2, 3.0)),
            ("user,item,rating\n1,2,3\n", "2,1,3", 1, (2, 1, 3.0)),
            ("1,2,3\n4,5,6\n", "1,2,3", 2, (1, 2, 3.0)),
            ("1\t2\t3\t881250949\n4\t5\t6\t0\n", "1,2,3", 2, (1, 2, 3.0)),
            ("1 2 3\n4 5 6", "3,2,1", 2, (3, 2, 1.0)),
            ("1::2::3::9\n4::5::6::9\n", "1,3,5", 2, (1, 2, 3.0)),
            ("3,2,1\n9,8,7\n", "3,2,1", 2, (1, 2, 3.0)),
        ];
        for (text, columns, n, (row, column, value)) in cases {
            let options =
                ReadOptions { delimiter: text.contains("::").then(|| ":".into()), ..ReadOptions::default() };
            let read = in_blocks::<f32>(Path::new("t"), text.as_bytes(), &wanted(columns), &options, 99);
            let entries = listed(&read.unwrap_or_else(|error| panic!("{text}: {error}")));
            assert_eq!(entries.len(), n, "{text}");
            let (found_row, found_column, found, _) = &entries[0];
            let found = (found_row.parse().unwrap(), found_column.parse().unwrap(), *found);
            assert_eq!(found, (row, column, value), "{text} {columns}");
        }
    }

    #[test]
    fn names_that_are_asked_for_show_the_delimiter() {
        let text = "user,item,n\nu1,film 3,1\nu2,film 9,2\n";
        let entries = listed(&read(text, "user,item,n", 99).unwrap());
        assert_eq!((entries[1].0.as_str(), entries[1].1.as_str(), entries[1].2), ("u2", "film 9", 2.0));
        let pairs = Wanted {
            option: crate::option_names::PAIRS,
            columns: vec![(Role::Row, "user".to_owned()), (Role::Column, "item".to_owned())],
        };
        let text = b"user,item\nu1,film 3\n";
        let read = in_blocks::<f32>(Path::new("p.csv"), text, &pairs, &ReadOptions::default(), 99);
        assert_eq!(read.unwrap().ids.unwrap()[1].texts(), ["film 3"]);
    }

    #[test]
    fn numbers_count_columns_unless_names_are_said_to_be_there() {
        let read = |header| {
            let options = ReadOptions { header, ..ReadOptions::default() };
            in_blocks::<f64>(Path::new("t"), b"3,2,1\n9,8,7\n", &wanted("1,2,3"), &options, 9).unwrap().values
        };
        assert_eq!(read(Some(true)), [9.0]);
        assert_eq!(read(Some(false)), [1.0, 7.0]);
        assert_eq!(read(None), [1.0, 7.0]);
    }

    #[test]
    fn a_first_record_of_numbers_does_not_name_columns() {
        let options = ReadOptions::default();
        let read = |wanted: &Wanted| {
            in_blocks::<f64>(Path::new("t"), b"196\t242\t3\n186\t302\t4\n", wanted, &options, 99)
        };
        assert_eq!(
            read(&wanted("user,item,rating")).unwrap_err().to_string(),
            "t: triples = user: the columns have no names; give a number from 1 to 3"
        );
        assert_eq!(read(&wanted("1,2,3")).unwrap().values, [3.0, 4.0]);
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_a_slow_reader_reads(
            lines in prop::collection::vec((0i64..40, -3i64..9, -99i32..99, 0usize..3), 1..60),
            block_bytes in 1usize..80,
            threads in 1usize..4,
        ) {
            let mut text = "w,row,value,column\n".to_owned();
            for (row, column, value, blanks) in &lines {
                text += &format!("1,{row},{},\"c{column}\"\n{}", f64::from(*value) / 8.0, "\n".repeat(*blanks));
            }
            let options = ReadOptions { n_threads: Some(threads), ..ReadOptions::default() };
            let wanted = wanted("row,column,value,w");
            let read = in_blocks::<f32>(Path::new("t"), text.as_bytes(), &wanted, &options, block_bytes).unwrap();
            prop_assert_eq!(read.weights.as_ref().map(Vec::len), Some(lines.len()));
            let mut line = 2;
            for (entry, (row, column, value, blanks)) in listed(&read).into_iter().zip(&lines) {
                prop_assert_eq!(entry, (row.to_string(), format!("c{column}"), *value as f32 / 8.0, line));
                line += 1 + *blanks as u64;
            }
        }
    }
}
