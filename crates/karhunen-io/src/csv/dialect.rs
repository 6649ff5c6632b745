//! Detects the delimiter and the decimal sign of a text table from its first records.

use super::cells::Cell;
use super::fields::{BlankLines, Delimiter, Ending, Field, Scanner};
use crate::ReadOptions;
use crate::name_rule::{FirstLine, Look, usual_n_fields};

/// Candidates, in the order of preference for ties.
const CANDIDATES: [Delimiter; 5] = [
    Delimiter::Byte(b'\t'),
    Delimiter::Byte(b';'),
    Delimiter::Byte(b'|'),
    Delimiter::Byte(b','),
    Delimiter::Blanks,
];
/// Maximum number of records in the sample; after the given number of bytes, three records suffice.
const SAMPLE_RECORDS: usize = 100;
const SAMPLE_BYTES: usize = 1 << 20;

/// The first records of a table, cut into fields.
pub(super) type Sample<'a> = Vec<Vec<Field<'a>>>;

/// The notation of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dialect {
    pub(super) delimiter: Delimiter,
    pub(super) decimal_comma: bool,
    /// The content of the first record.
    pub(super) first_line: FirstLine,
}

impl Dialect {
    /// Detects the notation from the options, and otherwise from the first records. Also returns these records
    /// without the header.
    pub(super) fn detect<'a>(text: &'a [u8], options: &ReadOptions, named_tsv: bool) -> (Self, Sample<'a>) {
        let (delimiter, mut sample) = match options.delimiter {
            Some(byte) => {
                let delimiter = if byte == b' ' { Delimiter::Blanks } else { Delimiter::Byte(byte) };
                (delimiter, sample(text, delimiter))
            }
            None => detect_delimiter(text, named_tsv),
        };
        let decimal_comma = options
            .decimal_comma
            .unwrap_or_else(|| delimiter != Delimiter::Byte(b',') && detect_decimal_comma(&sample));
        let look = Look { records: &sample, decimal_comma, fitted: options.fitted.as_ref() };
        let first_line = match options.header {
            Some(true) => FirstLine::Names,
            Some(false) => FirstLine::Values,
            None => look.first_line(),
        };
        if first_line.holds_names() && !sample.is_empty() {
            sample.remove(0);
        }
        (Self { delimiter, decimal_comma, first_line }, sample)
    }
}

impl Dialect {
    /// As [`Dialect::detect`], for tables of categories, in which names stand over texts: a first record without numbers
    /// and empty cells holds names, but not for a model whose table had none.
    pub(super) fn detect_categories<'a>(
        text: &'a [u8],
        options: &ReadOptions,
        named_tsv: bool,
    ) -> (Self, Sample<'a>) {
        let without_names = options.fitted.as_ref().is_some_and(|fitted| fitted.feature_names.is_none());
        let header = options.header.or(without_names.then_some(false));
        let (mut dialect, mut sample) =
            Self::detect(text, &ReadOptions { header, ..options.clone() }, named_tsv);
        let is_text = |field: &Field| Cell::of(&field.text, dialect.decimal_comma) == Cell::Text;
        if options.header.is_none()
            && options.fitted.is_none()
            && dialect.first_line == FirstLine::Values
            && sample.first().is_some_and(|first| first.iter().all(is_text))
        {
            dialect.first_line = FirstLine::Names;
            sample.remove(0);
        }
        (dialect, sample)
    }
}

fn sample(text: &[u8], delimiter: Delimiter) -> Sample<'_> {
    let mut scanner = Scanner::new(text, 0, delimiter);
    let mut records = Vec::new();
    while records.len() < SAMPLE_RECORDS
        && (records.len() < 3 || scanner.offset() < SAMPLE_BYTES)
        && scanner.begin_record(BlankLines::Skipped)
    {
        let mut record = Vec::new();
        loop {
            // An unclosed quote ends the sample: parsing reports its position.
            let Ok(field) = scanner.field() else { return records };
            let ending = field.ending;
            record.push(field);
            if ending == Ending::Record {
                break;
            }
        }
        records.push(record);
    }
    records
}

/// The candidate that gives most records the same number of fields, at least two, and the most numeric fields. In
/// a file named `.tsv`, tabs are chosen without comparison if there are any. If the names in the first line are
/// separated by commas, commas take precedence over blanks, which may group thousands or occur in text.
fn detect_delimiter(text: &[u8], named_tsv: bool) -> (Delimiter, Sample<'_>) {
    let commas = sample(text, Delimiter::Byte(b','));
    let n_names = names_between_commas(&commas);
    let mut best = (Delimiter::Byte(b','), commas, 0.0);
    for delimiter in CANDIDATES {
        let records = sample(text, delimiter);
        if delimiter == Delimiter::Blanks && records.first().is_some_and(|first| first.len() < n_names) {
            continue;
        }
        let score = regularity(&records, delimiter != Delimiter::Byte(b','));
        if score > best.2 {
            best = (delimiter, records, score);
        }
        if named_tsv && best.0 == Delimiter::Byte(b'\t') {
            break;
        }
    }
    (best.0, best.1)
}

/// The number of comma-separated names in the first record, if it holds no numbers and as many fields as most others;
/// otherwise 0. Where the comma is the decimal sign, the first line of a table without names holds numbers.
fn names_between_commas(records: &[Vec<Field>]) -> usize {
    let Some((first, rest)) = records.split_first() else { return 0 };
    let cells = || first.iter().map(|field| Cell::of(&field.text, false));
    let are_names = cells().any(|cell| cell == Cell::Text)
        && cells().all(|cell| matches!(cell, Cell::Text | Cell::Missing));
    if are_names && usual_n_fields(rest) == first.len() { first.len() } else { 0 }
}

/// The first candidate that separates the first record into fields with all these names, as a value of
/// [`ReadOptions::delimiter`].
pub(super) fn delimiter_between<'a>(text: &[u8], names: impl Iterator<Item = &'a str> + Clone) -> Option<u8> {
    let holds_all = |delimiter: &&Delimiter| {
        let records = sample(text, **delimiter);
        let Some(first) = records.first() else { return false };
        names.clone().all(|name| first.iter().any(|field| *field.text == *name.as_bytes()))
    };
    CANDIDATES.iter().find(holds_all).map(|delimiter| match delimiter {
        Delimiter::Byte(byte) => *byte,
        Delimiter::Blanks => b' ',
    })
}

fn regularity(records: &[Vec<Field>], decimal_comma: bool) -> f64 {
    let data = if records.len() > 1 { &records[1..] } else { records };
    let n_fields = usual_n_fields(data);
    if n_fields < 2 {
        return 0.0;
    }
    let share = |part: usize, whole: usize| part as f64 / whole as f64;
    let regular = data.iter().filter(|record| record.len() == n_fields).count();
    let is_numeric = |field: &&Field| {
        Cell::of(&field.text, false).is_numeric()
            || (decimal_comma && Cell::of(&field.text, true).is_numeric())
    };
    let numeric = data.iter().flatten().filter(is_numeric).count();
    let all = data.iter().map(Vec::len).sum();
    // A table of text alone still has a delimiter.
    share(regular, data.len()) * (0.01 + share(numeric, all))
}

fn detect_decimal_comma(records: &[Vec<Field>]) -> bool {
    let (mut commas, mut points) = (0usize, 0usize);
    for field in records.iter().flatten() {
        if matches!(Cell::of(&field.text, false), Cell::Number(_)) {
            points += usize::from(field.text.contains(&b'.'));
        } else if matches!(Cell::of(&field.text, true), Cell::Number(_)) {
            commas += 1;
        }
    }
    commas > points
}
