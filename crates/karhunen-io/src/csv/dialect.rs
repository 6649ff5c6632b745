//! Detects the delimiter and the decimal sign of a text table from its first records.

use super::cells::Cell;
use super::fields::{BlankLines, Delimiter, Ending, Field, Scanner};
use super::preamble::Preamble;
use crate::ReadOptions;
use crate::first_line::FirstLine;
use crate::name_rule::{Look, leaves_out_id, usual_n_fields};
use crate::units::{is_grouped_by_points, is_grouped_number};

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
    /// The lines before the first record.
    pub(super) preamble: Preamble,
}

impl Dialect {
    /// Detects the notation from the options, and otherwise from the first records. Also returns these records
    /// without the header.
    pub(super) fn detect<'a>(text: &'a [u8], options: &ReadOptions, named_tsv: bool) -> (Self, Sample<'a>) {
        Self::detect_after(&Preamble::of(text, options, named_tsv), text, options, named_tsv)
    }

    /// As [`Dialect::detect`], for known lines before the first record.
    pub(super) fn detect_after<'a>(
        preamble: &Preamble,
        text: &'a [u8],
        options: &ReadOptions,
        named_tsv: bool,
    ) -> (Self, Sample<'a>) {
        let (delimiter, mut sample) = match options.delimiter.or(preamble.delimiter) {
            Some(byte) => {
                let delimiter = if byte == b' ' { Delimiter::Blanks } else { Delimiter::Byte(byte) };
                (delimiter, sample(text, preamble.start, delimiter))
            }
            None => detect_delimiter(text, preamble.start, named_tsv),
        };
        let decimal_comma = options
            .decimal_comma
            .unwrap_or_else(|| delimiter != Delimiter::Byte(b',') && detect_decimal_comma(&sample));
        let look = Look { records: &sample, decimal_comma, fitted: options.fitted.as_ref() };
        let first_line = match options.header {
            Some(true) => FirstLine::Names,
            Some(false) => FirstLine::Values,
            None if preamble.holds_names => FirstLine::Names,
            None => look.first_line(),
        };
        if first_line.holds_names() && !sample.is_empty() {
            sample.remove(0);
        }
        (Self { delimiter, decimal_comma, first_line, preamble: *preamble }, sample)
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

/// The first records from the offset `start` on.
pub(super) fn sample(text: &[u8], start: usize, delimiter: Delimiter) -> Sample<'_> {
    let mut scanner = Scanner::new(text, start, delimiter);
    let mut records = Vec::new();
    while records.len() < SAMPLE_RECORDS
        && (records.len() < 3 || scanner.offset() - start < SAMPLE_BYTES)
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
/// separated by commas, commas take precedence over blanks, which may group thousands or occur in text; so does another
/// delimiter that separates all records alike.
fn detect_delimiter(text: &[u8], start: usize, named_tsv: bool) -> (Delimiter, Sample<'_>) {
    let commas = sample(text, start, Delimiter::Byte(b','));
    let n_names = names_between_commas(&commas);
    let mut best = (Delimiter::Byte(b','), commas, 0.0);
    for delimiter in CANDIDATES {
        let records = sample(text, start, delimiter);
        if delimiter == Delimiter::Blanks
            && (records.first().is_some_and(|first| first.len() < n_names) || separates_all(best.0, &best.1))
        {
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

/// Tests whether a delimiter gives all records, with the header, the same number of fields, at least two, so that blanks
/// are part of the fields; R leaves out a name in the header. The comma may be the decimal sign. Blanks separate where a
/// column holds several numbers in each record.
fn separates_all(delimiter: Delimiter, records: &[Vec<Field>]) -> bool {
    let data = below_header(records);
    let n_fields = usual_n_fields(data);
    let Some(first) = records.first().filter(|_| n_fields > 1 && delimiter != Delimiter::Byte(b',')) else {
        return false;
    };
    let holds_lists = |column: usize| data.iter().all(|record| is_list_of_numbers(&record[column]));
    data.iter().all(|record| record.len() == n_fields)
        && (first.len() == n_fields || leaves_out_id(first.len(), data))
        && !(0..n_fields).any(holds_lists)
}

/// Tests for several numbers between blanks that do not group the thousands of one.
fn is_list_of_numbers(field: &Field) -> bool {
    let mut words = field.text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    !field.quoted
        && !is_grouped_number(&field.text)
        && words.clone().count() > 1
        && words.all(|word| is_numeric(word, true))
}

/// The first candidate that separates the first record into fields with all these names, as a value of
/// [`ReadOptions::delimiter`].
pub(super) fn delimiter_between<'a>(
    text: &[u8],
    start: usize,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Option<u8> {
    let holds_all = |delimiter: &&Delimiter| {
        let records = sample(text, start, **delimiter);
        let Some(first) = records.first() else { return false };
        names.clone().all(|name| first.iter().any(|field| *field.text == *name.as_bytes()))
    };
    CANDIDATES.iter().find(holds_all).map(|delimiter| match delimiter {
        Delimiter::Byte(byte) => *byte,
        Delimiter::Blanks => b' ',
    })
}

/// The records below the first, which may hold names, or the only record.
fn below_header<'a, 'b>(records: &'b [Vec<Field<'a>>]) -> &'b [Vec<Field<'a>>] {
    if records.len() > 1 { &records[1..] } else { records }
}

/// Tests for a number with a decimal point, or, if it may be the decimal sign, with a comma, beside which points may group
/// the thousands: reading refuses these, where the other delimiters would cut them.
fn is_numeric(text: &[u8], decimal_comma: bool) -> bool {
    let with_comma = || Cell::of(text, true).is_numeric() || is_grouped_by_points(text);
    Cell::of(text, false).is_numeric() || (decimal_comma && with_comma())
}

fn regularity(records: &[Vec<Field>], decimal_comma: bool) -> f64 {
    let data = below_header(records);
    let n_fields = usual_n_fields(data);
    if n_fields < 2 {
        return 0.0;
    }
    let share = |part: usize, whole: usize| part as f64 / whole as f64;
    let regular = data.iter().filter(|record| record.len() == n_fields).count();
    let numeric = data.iter().flatten().filter(|field| is_numeric(&field.text, decimal_comma)).count();
    let all = data.iter().map(Vec::len).sum();
    // A table of text alone still has a delimiter.
    share(regular, data.len()) * (0.01 + share(numeric, all))
}

fn detect_decimal_comma(records: &[Vec<Field>]) -> bool {
    let (mut commas, mut points) = (0usize, 0usize);
    for field in records.iter().flatten() {
        if matches!(Cell::of(&field.text, false), Cell::Number(_)) {
            points += usize::from(field.text.contains(&b'.'));
        } else if matches!(Cell::of(&field.text, true), Cell::Number(_)) || is_grouped_by_points(&field.text)
        {
            commas += 1;
        }
    }
    commas > points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_are_part_of_fields_where_another_delimiter_separates_all_records() {
        let cases: [(&str, Delimiter); 21] = [
            ("name\tx\ty\nSample 1\t1.5\t2\nSample 2\t4.5\t2.5\n", Delimiter::Byte(b'\t')),
            ("name;x;y\nSample 1;1.5;2\nSample 2;4.5;2.5\n", Delimiter::Byte(b';')),
            ("name|x|y\nSample 1|1.5|2\nSample 2|4.5|2.5\n", Delimiter::Byte(b'|')),
            ("Sample 1\t1,5\t2\nSample 2\t4,5\t2,5\n", Delimiter::Byte(b'\t')),
            ("Sample Name\tSepal Length\nSample 1\t1.5\nSample 2\t4.5\n", Delimiter::Byte(b'\t')),
            // The name of the first column is left out, as R does.
            ("x\ty\nSample 1\t1.5\t2\nSample 2\t4.5\t2.5\n", Delimiter::Byte(b'\t')),
            ("x\ty\tmodel\n1.5\t2\tGolf 4\n4.5\t2.5\tPolo 3\n", Delimiter::Byte(b'\t')),
            ("name\ta\tb\nSample 1\tyes\tvery good\nSample 2\tno\tquite bad\n", Delimiter::Byte(b'\t')),
            ("name\tx\ty\nSample 1\t\t2\nSample 2\t4.5\t2.5\n", Delimiter::Byte(b'\t')),
            // Blanks that group thousands, which are refused with the way out.
            ("x\ty\n1 234\t5 678\n12 345\t1 000\n", Delimiter::Byte(b'\t')),
            ("x;y\n1 234;5 678\n12 345;1 000\n", Delimiter::Byte(b';')),
            ("s1;1 234;5 678\ns2;12 345;1 000\n", Delimiter::Byte(b';')),
            // Aligned columns, with tabs between some of them.
            ("x y\tz\n1 2\t3\n4 5\t6\n", Delimiter::Blanks),
            ("1.5 2\t3 4\n2.5 5\t6 7\n", Delimiter::Blanks),
            ("\tx y\n\t1.5 2\n\t4.5 2.5\n", Delimiter::Blanks),
            ("x y\t\n1.5 2\t\n4.5 2.5\t\n", Delimiter::Blanks),
            ("1 2 3;\n4 5 6;\n", Delimiter::Blanks),
            ("1 2 | 3 4\n5 6 | 7 8\n", Delimiter::Blanks),
            // Decimal commas.
            ("1,5 2,5\n3,5 4,5\n", Delimiter::Blanks),
            ("a 1,5 2,5\nb 3,5 4,5\n", Delimiter::Blanks),
            ("x y\n1,5 2,5\n3,5 4,5\n", Delimiter::Blanks),
        ];
        for (text, delimiter) in cases {
            let (dialect, _) = Dialect::detect(text.as_bytes(), &ReadOptions::default(), false);
            assert_eq!(dialect.delimiter, delimiter, "{text:?}");
        }
    }
}
