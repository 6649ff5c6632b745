//! Detects the delimiter and the signs of numbers of a text table from its first records.

use std::path::Path;

use karhunen::error::{OptionValue, Phrase};

use super::fields::{BlankLines, Delimiter, Ending, Field, Scanner};
use super::first_line::{FirstLine, Look, leaves_out_id, names_or_comment, shown, usual_n_fields};
use super::notation::{Cell, Notation, ask_sign};
use super::preamble::Preamble;
use crate::input::{extension, line_of};
use crate::options::Comment;
use crate::units::is_grouped_number;
use crate::{Cause, Error, Place, ReadOptions, Result, option_names};

/// Candidates, in the order of preference for ties.
const CANDIDATES: [&str; 6] = ["\t", ";", "|", ",", "::", " "];
/// Maximum number of records in the sample; after the given number of bytes, three records suffice.
const SAMPLE_RECORDS: usize = 100;
const SAMPLE_BYTES: usize = 1 << 20;

/// The first records of a table, cut into fields.
pub(super) type Sample<'a> = Vec<Vec<Field<'a>>>;

/// The notation of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Dialect {
    pub(super) delimiter: Delimiter,
    /// The mark of comments, if they may stand between the records.
    pub(super) comment: Option<u8>,
    pub(super) numbers: Notation,
    /// The content of the first record.
    pub(super) first_line: FirstLine,
    /// The lines before the first record.
    pub(super) preamble: Preamble,
}

/// The first records of a table and its notation, before the first line is read.
struct Begun<'a> {
    dialect: Dialect,
    sample: Sample<'a>,
}

impl Dialect {
    /// Detects the notation from the options, and otherwise from the first records. Also returns these records
    /// without the names.
    ///
    /// # Errors
    /// Questions about lines that have two readings; options that do not fit the text.
    pub(super) fn detect<'a>(
        path: &Path,
        text: &'a [u8],
        options: &ReadOptions,
    ) -> Result<(Self, Sample<'a>)> {
        let mut begun = Begun::of(path, text, options, None)?;
        let ask = |offset: usize, question: Phrase| {
            let place = Place { line: Some(line_of(text, offset)), ..Place::default() };
            Error::at(path, place, Cause::format(question))
        };
        let Begun { dialect, sample } = &mut begun;
        let start = dialect.preamble.start;
        if let Some(titles) = dialect.titles(text, sample, options) {
            return Err(ask(start, titles));
        }
        let look = Look { records: sample, notation: &dialect.numbers, fitted: options.fitted.as_ref() };
        let found = look.first_line();
        let are_below = found.as_ref().is_ok_and(|found| found.holds_names());
        let comment = dialect.preamble.comment.clone().filter(|range| {
            options.header != Some(false) && !are_below && dialect.may_be_names(&text[range.clone()], sample)
        });
        if let Some(range) = comment {
            let comment = &text[range.clone()];
            if options.header.is_none() && !dialect.are_known(comment, options) {
                return Err(ask(range.start, names_or_comment(&dialect.fields_of(comment))));
            }
            // The comment takes the place of the first record.
            dialect.preamble.start = range.start;
            dialect.preamble.n_comments -= 1;
            dialect.first_line = FirstLine::Names;
            return Ok((begun.dialect, begun.sample));
        }
        dialect.first_line = match (options.header, found) {
            (None, found) => found.map_err(|question| ask(start, question))?,
            (Some(true), _) => FirstLine::Names,
            (Some(false), _) => FirstLine::Values,
        };
        if dialect.first_line.holds_names() && !sample.is_empty() {
            if let Some(question) = dialect.units(text, sample) {
                return Err(ask(sample[1][0].offset, question));
            }
            sample.remove(0);
        }
        Ok((begun.dialect, begun.sample))
    }

    /// As [`Dialect::detect`], for triples and pairs: `names` are the columns asked for by name, and `first_line` decides
    /// what the first record holds.
    ///
    /// # Errors
    /// As [`Dialect::detect`].
    pub(super) fn detect_entries<'a>(
        path: &Path,
        text: &'a [u8],
        options: &ReadOptions,
        names: &[&str],
        first_line: &dyn Fn(&Sample, &Notation) -> FirstLine,
    ) -> Result<(Self, Sample<'a>)> {
        let Begun { mut dialect, sample } = Begun::of(path, text, options, Some(names))?;
        let comment = dialect.preamble.comment.clone();
        dialect.first_line = first_line(&sample, &dialect.numbers);
        if let Some(range) = comment {
            let fields = dialect.fields_of(&text[range.clone()]);
            let has_all = names.iter().all(|name| fields.iter().any(|field| *field.text == *name.as_bytes()));
            if has_all && !names.is_empty() {
                dialect.preamble.start = range.start;
                dialect.first_line = FirstLine::Names;
            }
        }
        Ok((dialect, sample))
    }

    /// The scanner of the records from an offset on.
    pub(super) fn scanner<'a>(&self, text: &'a [u8], at: usize) -> Scanner<'a> {
        Scanner::new(text, at, self.delimiter).without_comments(self.comment)
    }

    /// The question about lines above the table that have another number of fields.
    fn titles(&self, text: &[u8], sample: &Sample, options: &ReadOptions) -> Option<Phrase> {
        let look = Look { records: sample, notation: &self.numbers, fitted: None };
        let n_titles = look.n_titles();
        let below = sample.get(n_titles).filter(|_| n_titles > 0)?;
        let last = line_of(text, below[0].offset) - 1;
        let (n, usual) = (sample[0].len(), below.len());
        let fields = format!(
            "{} has {n} field{} and the lines below have {usual}; use ",
            shown(&sample[0]),
            if n == 1 { "" } else { "s" }
        );
        let skip = Phrase::new(fields)
            .setting(option_names::SKIP, OptionValue::Text(last.to_string()))
            .text(if last == 1 { " if it is a title" } else { " if the lines above are titles" });
        let mark = sample[0][0].text.first().copied().filter(|mark| b"!%;*/@^~$&".contains(mark));
        let all_are_marked =
            || sample[..n_titles].iter().all(|record| record[0].text.first().copied() == mark);
        Some(match mark.filter(|_| options.comment == Comment::Default && all_are_marked()) {
            Some(mark) => {
                let mark = OptionValue::Text(char::from(mark).to_string());
                skip.text(", or ").setting(option_names::COMMENT, mark).text(" if such lines are comments")
            }
            None => skip,
        })
    }

    /// The question about a second line of names, such as units.
    fn units(&self, text: &[u8], sample: &Sample) -> Option<Phrase> {
        let look = Look { records: sample, notation: &self.numbers, fitted: None };
        let n_lines = look.n_lines_of_units();
        if n_lines == 0 {
            return None;
        }
        let [first, last] = [1, n_lines].map(|at| line_of(text, sample[at][0].offset));
        let question = format!("{} holds text over numbers, as the line above does; use ", shown(&sample[1]));
        Some(
            Phrase::new(question)
                .setting(option_names::SKIP, OptionValue::Text(format!("{first}-{last}")))
                .text(" if it holds units or types, or ")
                .setting(option_names::SKIP, OptionValue::Text((first - 1).to_string()))
                .text(" if it holds the names and a title stands above"),
        )
    }

    /// Tests whether a comment has as many fields as the rows.
    fn may_be_names(&self, comment: &[u8], sample: &Sample) -> bool {
        let n_fields = usual_n_fields(sample);
        n_fields > 1 && self.fields_of(comment).len() == n_fields
    }

    /// Tests whether a comment holds the names of a model.
    fn are_known(&self, comment: &[u8], options: &ReadOptions) -> bool {
        let Some(known) = options.fitted.as_ref().and_then(|fitted| fitted.feature_names.as_ref()) else {
            return false;
        };
        let fields = self.fields_of(comment);
        known.iter().all(|name| fields.iter().any(|field| *field.text == *name.as_bytes()))
    }

    fn fields_of<'a>(&self, line: &'a [u8]) -> Vec<Field<'a>> {
        sample(line, 0, self.delimiter, None).into_iter().next().unwrap_or_default()
    }
}

impl<'a> Begun<'a> {
    fn of(path: &Path, text: &'a [u8], options: &ReadOptions, names: Option<&[&str]>) -> Result<Self> {
        let preamble = Preamble::of(path, text, options)?;
        let comment = match options.comment {
            Comment::Mark(mark) => Some(mark),
            Comment::Default | Comment::None => None,
        };
        let start = preamble.start;
        let given = options.delimiter.as_deref().map(Delimiter::of);
        let named = || {
            names.filter(|names| !names.is_empty()).and_then(|names| delimiter_between(text, start, names))
        };
        let (delimiter, mut sample) = match given.or(preamble.delimiter.map(Delimiter::Byte)).or_else(named) {
            Some(delimiter) => (delimiter, sample(text, start, delimiter, comment)),
            None => detect_delimiter(text, start, comment, (is_named_tsv(path), &signs(options))),
        };
        if let Some(left_out) = &preamble.left_out {
            sample.retain(|record| !left_out.contains(&record[0].offset));
        }
        let comma_separates = delimiter == Delimiter::Byte(b',');
        let numbers = match Notation::of(options, &numbers_in(&sample), comma_separates) {
            Ok(numbers) => numbers,
            // The ids of triples and pairs may have commas; a value with one is refused where it stands.
            Err(_) if names.is_some() => {
                let decimal = Some('.');
                Notation::of(&ReadOptions { decimal, ..options.clone() }, &[], comma_separates)
                    .unwrap_or_default()
            }
            Err(number) => {
                let found = sample.iter().flatten().find(|field| *field.text == *number);
                let line = found.map(|field| line_of(text, field.offset));
                return Err(Error::at(path, Place { line, ..Place::default() }, ask_sign(&number, ',')));
            }
        };
        let first_line = FirstLine::Values;
        Ok(Self { dialect: Dialect { delimiter, comment, numbers, first_line, preamble }, sample })
    }
}

/// The cells of the columns that hold numbers, in some notation.
fn numbers_in<'a>(sample: &'a Sample) -> Vec<&'a [u8]> {
    let is_number = |cell: &&[u8]| {
        cell.iter().any(u8::is_ascii_digit)
            && cell.iter().all(|byte| byte.is_ascii_digit() || b",.+-eE".contains(byte))
    };
    let of_column = |column: usize| {
        let cells = || sample.iter().filter_map(move |record| Some(&*record.get(column)?.text));
        let n_numbers = cells().filter(is_number).count();
        let most = n_numbers * 2 >= cells().filter(|cell| !cell.is_empty()).count();
        cells().filter(move |_| most)
    };
    (0..usual_n_fields(sample)).flat_map(of_column).collect()
}

fn is_named_tsv(path: &Path) -> bool {
    matches!(extension(path).as_deref(), Some("tsv" | "tab"))
}

/// The first records from the offset `start` on.
fn sample(text: &[u8], start: usize, delimiter: Delimiter, comment: Option<u8>) -> Sample<'_> {
    let mut scanner = Scanner::new(text, start, delimiter).without_comments(comment);
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
/// delimiter that separates all records alike. A sign of numbers among `signs` separates fields only where quotes hold it
/// within fields.
fn detect_delimiter<'a>(
    text: &'a [u8],
    start: usize,
    comment: Option<u8>,
    (named_tsv, signs): (bool, &[char]),
) -> (Delimiter, Sample<'a>) {
    let commas = sample(text, start, Delimiter::Byte(b','), comment);
    let n_names = names_between_commas(&commas);
    let is_sign = |delimiter: &str, records: &[Vec<Field>]| {
        let is_held =
            |field: &Field| field.quoted && field.text.windows(1).any(|c| c == delimiter.as_bytes());
        signs.iter().any(|sign| delimiter.chars().eq([*sign])) && !records.iter().flatten().any(is_held)
    };
    let mut best = if is_sign(",", &commas) {
        (Delimiter::Byte(b';'), sample(text, start, Delimiter::Byte(b';'), comment), 0.0)
    } else {
        (Delimiter::Byte(b','), commas, 0.0)
    };
    for candidate in CANDIDATES {
        let delimiter = Delimiter::of(candidate);
        let records = sample(text, start, delimiter, comment);
        if is_sign(candidate, &records) {
            continue;
        }
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

/// The signs of numbers that the options state.
fn signs(options: &ReadOptions) -> Vec<char> {
    options.decimal.into_iter().chain(options.thousands).collect()
}

/// The number of comma-separated names in the first record, if it holds no numbers and as many fields as most others;
/// otherwise 0. Where the comma is the decimal sign, the first line of a table without names holds numbers.
fn names_between_commas(records: &[Vec<Field>]) -> usize {
    let Some((first, rest)) = records.split_first() else { return 0 };
    let cells = || first.iter().map(|field| Cell::of(&field.text, &Notation::default()));
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

/// The first candidate that separates the first record into fields with all these names.
fn delimiter_between(text: &[u8], start: usize, names: &[&str]) -> Option<Delimiter> {
    let holds_all = |delimiter: &Delimiter| {
        let records = sample(text, start, *delimiter, None);
        let Some(first) = records.first() else { return false };
        names.iter().all(|name| first.iter().any(|field| *field.text == *name.as_bytes()))
    };
    CANDIDATES.map(Delimiter::of).into_iter().find(holds_all)
}

/// The records below the first, which may hold names, or the only record.
fn below_header<'a, 'b>(records: &'b [Vec<Field<'a>>]) -> &'b [Vec<Field<'a>>] {
    if records.len() > 1 { &records[1..] } else { records }
}

/// Tests for a number with a decimal point, or, if it may be the decimal sign, with a comma, next to which a sign may group the
/// thousands.
fn is_numeric(text: &[u8], decimal_comma: bool) -> bool {
    let with_comma =
        || Cell::of(text, &Notation::with_decimal_comma(true)).is_numeric() || is_grouped_number(text);
    Cell::of(text, &Notation::default()).is_numeric() || (decimal_comma && with_comma())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_are_part_of_fields_where_another_delimiter_separates_all_records() {
        let cases: [(&str, Delimiter); 25] = [
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
            ("5 166,6\t4 359,4\n7 480,3\t3 697,2\n", Delimiter::Byte(b'\t')),
            ("5 166,6;4 359,4\n7 480,3;3 697,2\n", Delimiter::Byte(b';')),
            ("sales;stock\n5 166,6;4 359,4\n7 480,3;3 697,2\n", Delimiter::Byte(b';')),
            ("5'166,6;4'359,4\n7'480,3;3'697,2\n", Delimiter::Byte(b';')),
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
            let (found, _) = detect_delimiter(text.as_bytes(), 0, None, (false, &[]));
            assert_eq!(found, delimiter, "{text:?}");
        }
    }

    #[test]
    fn a_declared_sign_of_numbers_separates_only_fields_that_quotes_keep() {
        let find = |text: &'static str, sign| detect_delimiter(text.as_bytes(), 0, None, (false, &[sign])).0;
        assert_eq!(find("1,234\n2,345\n3,456\n", ','), Delimiter::Byte(b';'));
        assert_eq!(find("1 234\n2 345\n3 456\n", ' '), Delimiter::Byte(b','));
        assert_eq!(find("a,\"1,234\"\nb,\"2,345\"\n", ','), Delimiter::Byte(b','));
        assert_eq!(find("1,5;2\n2,5;3\n", ','), Delimiter::Byte(b';'));
    }
}
