//! Decides whether the first record of a text table holds names or values, and asks where both are possible. The table is in
//! `docs/formats.md`.

use std::collections::HashSet;

use karhunen::error::{OptionValue, Phrase};

use super::dialect::Sample;
use super::fields::Field;
use super::notation::{Cell, Notation, may_be_missing};
use crate::fitted_table::FittedTable;
use crate::names::printable;
use crate::option_names;
use crate::units::{is_grouped, is_grouped_number};

/// The content of the first record of a text table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstLine {
    /// Names.
    Names,
    /// Names, with numbers among them.
    NamesAndNumbers,
    /// The names in the model, all of them numbers.
    KnownNumbers,
    /// Values.
    Values,
    /// Numbers that rise or fall throughout, or 0, 1, 2, … over ids: values.
    Rising,
    /// Whole numbers over decimals: values.
    Whole,
}

impl FirstLine {
    /// Returns true if the line is read as names.
    pub(crate) fn holds_names(self) -> bool {
        matches!(self, Self::Names | Self::NamesAndNumbers | Self::KnownNumbers)
    }

    /// The note that every command prints, since the line could be read otherwise.
    pub(crate) fn warning(self) -> Option<Phrase> {
        let holds = match self {
            Self::Names | Self::Values => return None,
            Self::NamesAndNumbers => "names and numbers",
            Self::KnownNumbers => "the numbers that name the model's features",
            Self::Rising => "numbers that rise or fall throughout",
            Self::Whole => "whole numbers over decimals",
        };
        let (read, otherwise) = match self.holds_names() {
            true => ("names", "if it is data"),
            false => ("values", "if it holds names"),
        };
        let note = Phrase::new(format!("the first line holds {holds} and is read as {read}; use "));
        let option = note.setting(option_names::HEADER, OptionValue::Flag(!self.holds_names()));
        Some(option.text(format!(" {otherwise}")))
    }
}

/// The first records of a text table, how it writes numbers, and the fitted table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look<'a> {
    /// The first records.
    pub(crate) records: &'a [Vec<Field<'a>>],
    /// How the table writes numbers.
    pub(crate) notation: &'a Notation,
    /// The fitted table, if there is a model.
    pub(crate) fitted: Option<&'a FittedTable>,
}

impl Look<'_> {
    /// Decides what the first record holds.
    ///
    /// # Errors
    /// The question, if it may hold names or values.
    pub(crate) fn first_line(&self) -> Result<FirstLine, Phrase> {
        let Some((first, rest)) = self.records.split_first() else { return Ok(FirstLine::Values) };
        if let Some(known) = self.by_model(first) {
            return Ok(known);
        }
        let has_names = first.iter().any(|field| self.is_name(field));
        if rest.is_empty() {
            let holds_names = has_names && self.numbers(first).is_empty();
            return Ok(if holds_names { FirstLine::Names } else { FirstLine::Values });
        }
        if leaves_out_id(first.len(), rest) {
            let over_texts = rest.iter().all(|record| self.cell(&record[0]) == Cell::Text);
            let is_named = has_names || over_texts || first.iter().all(|field| field.quoted);
            return if is_named { Ok(FirstLine::Names) } else { Err(short_line(first)) };
        }
        if self.names_over_numbers(first, rest) {
            let is_plain = |field: &Field| !field.quoted && matches!(self.cell(field), Cell::Number(_));
            let mixed = first.iter().any(is_plain);
            return Ok(if mixed { FirstLine::NamesAndNumbers } else { FirstLine::Names });
        }
        self.without_names_over_numbers(first, rest)
    }

    /// Decides if no text stands over numbers.
    fn without_names_over_numbers(&self, first: &[Field], rest: &[Vec<Field>]) -> Result<FirstLine, Phrase> {
        let texts: Vec<usize> = (0..first.len()).filter(|j| self.is_name(&first[*j])).collect();
        let recurs = |j: &usize| self.below(rest, *j).any(|field| field.text == first[*j].text);
        let all_are_texts = texts.len() == first.len();
        let empty_corner =
            first.len() > 1 && first[0].text.is_empty() && !rest[0].is_empty() && !rest[0][0].text.is_empty();
        match texts.is_empty() {
            // pandas and R leave the corner over the names of rows empty.
            true if empty_corner && !self.numbers(first).is_empty() => Err(names_or_values(first)),
            true => Ok(self.numbers_alone(first, rest)),
            false if all_are_texts && !texts.iter().any(recurs) && self.fitted.is_none() => {
                Ok(FirstLine::Names)
            }
            false if !all_are_texts && texts.iter().any(recurs) => Ok(FirstLine::Values),
            false => Err(names_or_values(first)),
        }
    }

    /// Decides on a line of numbers: values, with a note if they could be names.
    fn numbers_alone(&self, first: &[Field], rest: &[Vec<Field>]) -> FirstLine {
        let numbers = self.numbers(first);
        let all = |is_so: &dyn Fn(&[f64]) -> bool| numbers.len() > 2 && numbers.windows(2).all(is_so);
        if all(&|pair| pair[0] < pair[1]) || all(&|pair| pair[0] > pair[1]) {
            return FirstLine::Rising;
        }
        let is_whole = |field: &Field| {
            let decimals = field.text.iter().any(|byte| b".,eE".contains(byte));
            matches!(self.cell(field), Cell::Number(_)) && !decimals
        };
        let over_decimals = |j: usize| {
            let n_decimal = self.below(rest, j).filter(|field| self.is_decimal(field)).count();
            is_whole(&first[j]) && n_decimal * 2 > rest.len()
        };
        let whole = first.len() > 1 && (0..first.len()).all(over_decimals);
        if whole { FirstLine::Whole } else { FirstLine::Values }
    }

    /// Compares the line with the names in a model; `None` if it does not have them.
    fn by_model(&self, first: &[Field]) -> Option<FirstLine> {
        let known: HashSet<&[u8]> =
            self.fitted?.feature_names.as_ref()?.iter().map(String::as_bytes).collect();
        let found: HashSet<&[u8]> =
            first.iter().map(|field| &*field.text).filter(|name| known.contains(name)).collect();
        let is_known_text = |field: &Field| known.contains(&*field.text) && self.cell(field) == Cell::Text;
        if first.iter().any(is_known_text) {
            return Some(FirstLine::Names);
        }
        let any_text = first.iter().any(|field| self.cell(field) == Cell::Text || field.quoted);
        (found.len() == known.len()).then_some(if any_text {
            FirstLine::Names
        } else {
            FirstLine::KnownNumbers
        })
    }

    /// Tests whether a name stands over numbers in some column.
    fn names_over_numbers(&self, names: &[Field], rest: &[Vec<Field>]) -> bool {
        let over_numbers = |(j, name): (usize, &Field)| {
            // Numbers with commas need quotes.
            let may_be_quoted = name.quoted && !name.text.is_empty() && !name.text.contains(&b',');
            let quoted_alone = || may_be_quoted && self.below(rest, j).all(|field| !field.quoted);
            let cells = || self.below(rest, j).map(|field| self.cell(field));
            let n_numbers = self.below(rest, j).filter(|field| self.is_number(field)).count();
            (self.is_name(name) || quoted_alone())
                && n_numbers * 2 > cells().filter(|cell| *cell != Cell::Missing).count()
        };
        names.iter().enumerate().any(over_numbers)
    }

    /// The number of records above the names, or above the rows, that have another number of fields.
    pub(crate) fn n_titles(&self) -> usize {
        let n_fields = usual_n_fields(self.records);
        let n_titles = self.records.iter().take_while(|record| record.len() != n_fields).count();
        let below = &self.records[n_titles..];
        if n_titles == 0 || n_fields < 2 || below.len() < 2 {
            return 0;
        }
        let n_names = self.records[n_titles - 1].len();
        let may_be_names = n_names + 1 == n_fields
            && (ends_empty(below)
                || (!self.names_over_numbers(&below[0], &below[1..])
                    && (n_names > 1 || leaves_out_id(n_names, below))));
        n_titles - usize::from(may_be_names)
    }

    /// The number of records below the names that hold text over numbers and no number: units, or types.
    pub(crate) fn n_lines_of_units(&self) -> usize {
        let is_of_units = |at: usize| {
            let (record, below) = (&self.records[at], &self.records[at + 1..]);
            below.len() > 1
                && record.iter().all(|field| !self.is_number(field))
                && record.iter().any(|field| self.is_name(field))
                && self.names_over_numbers(record, below)
        };
        (1..self.records.len()).take_while(|at| is_of_units(*at)).count()
    }

    /// Tests for a text that may be a name: no number in groups, and no word for a missing value.
    fn is_name(&self, field: &Field) -> bool {
        let text = &field.text;
        self.cell(field) == Cell::Text && !self.is_number(field) && !may_be_missing(text)
    }

    /// Tests for a number, also one in groups that the notation does not read.
    fn is_number(&self, field: &Field) -> bool {
        let text = str::from_utf8(&field.text).unwrap_or_default();
        matches!(self.cell(field), Cell::Number(_) | Cell::Infinite)
            || [',', '.', ' ', '\''].iter().any(|sign| is_grouped(text, *sign, '.'))
    }

    fn is_decimal(&self, field: &Field) -> bool {
        matches!(self.cell(field), Cell::Number(value) if value.fract() != 0.0)
    }

    fn below<'b>(&self, rest: &'b [Vec<Field<'b>>], column: usize) -> impl Iterator<Item = &'b Field<'b>> {
        rest.iter().filter_map(move |record| record.get(column))
    }

    fn cell(&self, field: &Field) -> Cell {
        Cell::of(&field.text, self.notation)
    }

    fn numbers(&self, record: &[Field]) -> Vec<f64> {
        let number = |field: &Field| match self.cell(field) {
            Cell::Number(value) => Some(value),
            _ => None,
        };
        record.iter().filter_map(number).collect()
    }
}

/// The question about a line that may name the columns or be the first row.
fn names_or_values(line: &[Field]) -> Phrase {
    Phrase::new(format!("{} may name the columns or be the first row; use ", shown(line)))
        .setting(option_names::HEADER, OptionValue::Flag(true))
        .text(" or ")
        .setting(option_names::HEADER, OptionValue::Flag(false))
}

/// The question about a line of numbers that is one short.
fn short_line(line: &[Field]) -> Phrase {
    let (n, more) = (line.len(), line.len() + 1);
    Phrase::new(format!(
        "{} has {n} field{} and the lines below {more}: complete it, or, if it names all columns but the first, use ",
        shown(line),
        if n == 1 { "" } else { "s" }
    ))
    .setting(option_names::HEADER, OptionValue::Flag(true))
}

/// The question about a comment above the rows.
pub(super) fn names_or_comment(line: &[Field]) -> Phrase {
    Phrase::new(format!("the comment {} may name the columns, which are as many; use ", shown(line)))
        .setting(option_names::HEADER, OptionValue::Flag(true))
        .text(", or ")
        .setting(option_names::HEADER, OptionValue::Flag(false))
        .text(" if it does not")
}

/// The beginning of a line in a message.
pub(super) fn shown(line: &[Field]) -> String {
    /// Most characters that are shown.
    const MOST: usize = 60;
    let cells: Vec<String> =
        line.iter().map(|field| String::from_utf8_lossy(&field.text).into_owned()).collect();
    let text = cells.join(", ");
    format!("`{}`", printable(&text, MOST))
}

/// The most frequent number of fields of a record; the first one in case of a tie.
pub(crate) fn usual_n_fields(records: &[Vec<Field>]) -> usize {
    let counts: Vec<usize> = records.iter().map(Vec::len).collect();
    let frequency = |&&n: &&usize| counts.iter().filter(|&&m| m == n).count();
    counts.iter().rev().max_by_key(frequency).copied().unwrap_or(0)
}

/// Tests whether the last cell of every record is empty, as where lines end in a delimiter.
pub(crate) fn ends_empty(records: &[Vec<Field>]) -> bool {
    let ends = |record: &Vec<Field>| {
        record.len() > 1 && record.last().is_some_and(|last| last.text.is_empty() && !last.quoted)
    };
    !records.is_empty() && records.iter().all(ends)
}

/// Tests whether a line of `n_names` names leaves out the name of the first column, as R's `write.table` does. With two
/// columns it could be a title: then the first column must be text, or alone in quotes.
pub(crate) fn leaves_out_id(n_names: usize, rows: &[Vec<Field>]) -> bool {
    let is_name = |row: &Vec<Field>| {
        let is_text = Cell::of(&row[0].text, &Notation::default()) == Cell::Text;
        (is_text && !is_grouped_number(&row[0].text))
            || (row[0].quoted && row[1..].iter().any(|field| !field.quoted))
    };
    n_names + 1 == usual_n_fields(rows) && !ends_empty(rows) && (n_names > 1 || rows.iter().all(is_name))
}

/// Decides whether the first line of triples or pairs holds names. `columns` are the indices of row, column and value; pairs
/// have no value.
/// Text that is not a number as a value, or text over whole numbers as ids, are names; the numbers 0, 1, 2, … over decimals,
/// or over ids of text, may be.
pub(crate) fn of_entries(
    records: &Sample,
    columns: [Option<usize>; 3],
    notation: &Notation,
    fitted: Option<&FittedTable>,
) -> FirstLine {
    let Some((first, rest)) = records.split_first() else { return FirstLine::Values };
    let cell = |record: &[Field], at: Option<usize>| Some(Cell::of(&record.get(at?)?.text, notation));
    let is_text = |record: &[Field], at| cell(record, at) == Some(Cell::Text);
    let [row, column, value] = columns;
    let ids = |record: &[Field], text| is_text(record, row) == text && is_text(record, column) == text;
    let Some(second) = rest.first() else {
        let known = fitted.and_then(|fitted| fitted.feature_names.as_deref());
        let whole = known.is_some_and(|known| known.iter().all(|id| id.parse::<i64>().is_ok()));
        let holds_names = (whole && ids(first, true)) || (is_text(first, value) && !ids(first, false));
        return if holds_names { FirstLine::Names } else { FirstLine::Values };
    };
    // Whole numbers next to a value that is text are the ids of a faulty line.
    if (is_text(first, value) && !ids(first, false)) || (ids(first, true) && ids(second, false)) {
        return FirstLine::Names;
    }
    let number = |field: &Field| match Cell::of(&field.text, notation) {
        Cell::Number(value) => Some(value),
        _ => None,
    };
    let counts = |start: usize| {
        first.len() > 1
            && first.iter().enumerate().all(|(j, field)| number(field) == Some((start + j) as f64))
    };
    let most = |at: Option<usize>, is_so: &dyn Fn(Cell) -> bool| {
        rest.iter().filter(|record| cell(record, at).is_some_and(is_so)).count() * 2 > rest.len()
    };
    let is_decimal = |cell| matches!(cell, Cell::Number(value) if value.fract() != 0.0);
    let unlike = most(value, &is_decimal) || [row, column].iter().any(|at| most(*at, &|c| c == Cell::Text));
    if (counts(0) || counts(1)) && unlike { FirstLine::Rising } else { FirstLine::Values }
}
