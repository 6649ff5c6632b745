//! How a text table is written: delimiter, decimal sign and header, from its first records.

use super::cells::Cell;
use super::fields::{BlankLines, Delimiter, Ending, Field, Scanner};
use crate::ReadOptions;

/// In this order where nothing else decides.
const CANDIDATES: [Delimiter; 5] = [
    Delimiter::Byte(b'\t'),
    Delimiter::Byte(b';'),
    Delimiter::Byte(b'|'),
    Delimiter::Byte(b','),
    Delimiter::Blanks,
];
/// Records looked at, and bytes after which three records must do.
const SAMPLE_RECORDS: usize = 100;
const SAMPLE_BYTES: usize = 1 << 20;

/// The first records of a table, cut into fields.
pub(super) type Sample<'a> = Vec<Vec<Field<'a>>>;

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dialect {
    pub(super) delimiter: Delimiter,
    pub(super) decimal_comma: bool,
    pub(super) header: Header,
}

/// Whether the first record holds names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Header {
    /// It holds numbers.
    Absent,
    /// It holds names.
    Present,
    /// It holds numbers that are names: they run up or down as those of the next record do not.
    Counting,
    /// It holds whole numbers over decimals: taken as values, though they could be names.
    Doubtful,
}

impl Header {
    /// Whether the first record is taken as names.
    pub(super) fn is_there(self) -> bool {
        matches!(self, Header::Present | Header::Counting)
    }
}

impl Dialect {
    /// What the options say, and for the rest what the first records look like. Also returns these, without the header.
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
        let header = match options.header {
            Some(true) => Header::Present,
            Some(false) => Header::Absent,
            None => detect_header(&sample, decimal_comma),
        };
        if header.is_there() && !sample.is_empty() {
            sample.remove(0);
        }
        (Self { delimiter, decimal_comma, header }, sample)
    }
}

/// The number of fields that most records have; of equals the first.
pub(super) fn usual_n_fields(records: &[Vec<Field>]) -> usize {
    let counts: Vec<usize> = records.iter().map(Vec::len).collect();
    let frequency = |&&n: &&usize| counts.iter().filter(|&&m| m == n).count();
    counts.iter().rev().max_by_key(frequency).copied().unwrap_or(0)
}

/// Whether a header of `n_names` leaves out the name of the first column, as R's `write.table` does. Over two columns
/// that could as well be a title: there the first must hold text or quotes.
pub(super) fn leaves_out_id(n_names: usize, rows: &[Vec<Field>]) -> bool {
    let is_name = |row: &Vec<Field>| row[0].quoted || !Cell::of(&row[0].text, false).is_numeric();
    n_names + 1 == usual_n_fields(rows) && (n_names > 1 || rows.iter().all(is_name))
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
            // A quote that does not close ends the sample: parsing says where it stands.
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

/// The candidate under which most records have equally many fields, at least two, and most fields are numbers.
/// Tabs are taken without comparison if there are any in a file that is named so.
fn detect_delimiter(text: &[u8], named_tsv: bool) -> (Delimiter, Sample<'_>) {
    let mut best = (Delimiter::Byte(b','), sample(text, Delimiter::Byte(b',')), 0.0);
    for delimiter in CANDIDATES {
        let records = sample(text, delimiter);
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

/// The first candidate under which the first record holds all these names, as [`ReadOptions::delimiter`] says it.
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

fn detect_header(records: &[Vec<Field>], decimal_comma: bool) -> Header {
    let Some((first, rest)) = records.split_first() else { return Header::Absent };
    let number = |field: &Field| match Cell::of(&field.text, decimal_comma) {
        Cell::Number(value) => Some(value),
        _ => None,
    };
    let numbers = |record: &[Field]| record.iter().filter_map(number).collect::<Vec<f64>>();
    let Some(second) = rest.first() else {
        return if numbers(first).is_empty() { Header::Present } else { Header::Absent };
    };
    let empty_corner = |record: &[Field]| record.len() > 1 && record[0].text.is_empty();
    if leaves_out_id(first.len(), rest) || (empty_corner(first) && !empty_corner(second)) {
        return Header::Present;
    }
    if run(&numbers(first)) > run(&numbers(second)) {
        return Header::Counting;
    }
    let plain_decimal = |field: &Field| !field.quoted && number(field).is_some_and(|v| v.fract() != 0.0);
    if first.iter().any(plain_decimal) {
        return Header::Absent;
    }
    // A name stands over numbers; over text it could as well be the first of them.
    let stands_over_numbers = |(column, name): (usize, &Field)| {
        let below: Vec<&Field> = rest.iter().filter_map(|record| record.get(column)).collect();
        let numeric = below.iter().filter(|f| Cell::of(&f.text, decimal_comma).is_numeric());
        let unlike = match Cell::of(&name.text, decimal_comma) {
            Cell::Text => true,
            _ => name.quoted && below.iter().all(|field| !field.quoted),
        };
        unlike && numeric.count() * 2 > below.len()
    };
    let all_text = |record: &Vec<Field>| numbers(record).is_empty();
    if first.iter().enumerate().any(stands_over_numbers) || records.iter().all(all_text) {
        return Header::Present;
    }
    let stands_over_decimals = |(column, name): (usize, &Field)| {
        let below = rest.iter().filter_map(|record| number(record.get(column)?));
        let decimal = below.filter(|value| value.fract() != 0.0).count();
        number(name).is_some_and(|value| value.fract() == 0.0) && decimal * 2 > rest.len()
    };
    if first.len() > 1 && first.iter().enumerate().all(stands_over_decimals) {
        return Header::Doubtful;
    }
    Header::Absent
}

/// How numbers run: a name such as a year or a wavelength follows from the one before, a measurement does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Run {
    None,
    /// Eight or more, all up or all down.
    OneWay,
    /// Three or more, by equal steps.
    EqualSteps,
}

fn run(numbers: &[f64]) -> Run {
    let steps: Vec<f64> = numbers.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let Some(&first) = steps.first() else { return Run::None };
    let one_way = steps.iter().all(|step| step * first > 0.0);
    let equal = steps.iter().all(|step| (step - first).abs() <= 1e-6 * first.abs());
    if one_way && equal && numbers.len() >= 3 {
        Run::EqualSteps
    } else if one_way && numbers.len() >= 8 {
        Run::OneWay
    } else {
        Run::None
    }
}
