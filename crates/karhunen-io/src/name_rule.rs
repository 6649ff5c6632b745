//! The rule for names that no option gives: whether the first line of a text table holds the column names, and
//! whether a column holds the row names. It serves every command and format; table in `docs/names.md`.
//!
//! Options take precedence, then the columns that a model was fitted to, then the content of the table. If the
//! content does not settle the question, the result carries a warning that every command prints.

use std::collections::HashSet;

use karhunen::error::{OptionValue, Phrase};

use crate::csv::{Cell, Field};
use crate::first_line::FirstLine;
use crate::fitted_table::{FittedTable, is_feature};
use crate::number_runs::{
    LONG_RUN, Run, are_ordered_years, are_successive_years, are_years, counts_from_the_start, run,
    share_of_steps,
};
use crate::option_names;
use crate::titles::is_title;
use crate::units::{common_word, first_decorated, is_grouped_in_threes};

/// The content of the first column of a table, if no option states it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FirstColumn {
    /// Values, or text to be refused or set aside.
    Values,
    /// The names of the rows.
    Names {
        /// True if they must differ: text is the only evidence for names.
        must_differ: bool,
        /// The warning that every command prints, since the guess may be wrong.
        warning: Option<Phrase>,
    },
}

/// The first records of a text table, its decimal sign, and the fitted table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look<'a> {
    /// The first records.
    pub(crate) records: &'a [Vec<Field<'a>>],
    /// True if the decimal sign is a comma.
    pub(crate) decimal_comma: bool,
    /// The fitted table, if there is a model.
    pub(crate) fitted: Option<&'a FittedTable>,
}

impl Look<'_> {
    /// Decides what the first line holds.
    pub(crate) fn first_line(&self) -> FirstLine {
        let Some((first, rest)) = self.records.split_first() else { return FirstLine::Values };
        match self.fitted {
            Some(FittedTable { feature_names: Some(names), n_features, .. }) => {
                self.first_line_by_names(first, rest, names, *n_features)
            }
            Some(_) if self.is_all_numbers(first) => Some(self.without_names(first, rest)),
            _ => None,
        }
        .unwrap_or_else(|| self.first_line_by_look(first, rest))
    }

    /// Compares the line with the feature names of a model; `None` if they decide nothing.
    fn first_line_by_names(
        &self,
        first: &[Field],
        rest: &[Vec<Field>],
        names: &[String],
        n_features: usize,
    ) -> Option<FirstLine> {
        let known: HashSet<&[u8]> = names.iter().map(String::as_bytes).collect();
        let is_known = |field: &&Field| known.contains(&*field.text);
        if !self.is_all_numbers(first) {
            let is_number = |field: &&Field| matches!(self.cell(field), Cell::Number(_));
            let numbers: Vec<&Field> = first.iter().filter(is_number).collect();
            let some_text = first.iter().any(|field| self.cell(field) == Cell::Text && is_known(&field));
            return match &numbers[..] {
                _ if some_text => Some(FirstLine::Names),
                [] => None,
                numbers if numbers.iter().all(is_known) => Some(FirstLine::Names),
                _ => Some(self.not_the_names(first, rest)),
            };
        }
        let from = first.len().saturating_sub(names.len());
        if first[from..].iter().map(|field| &*field.text).eq(names.iter().map(String::as_bytes)) {
            // A long row equal to the names is no coincidence.
            let doubtful = names.len() < LONG_RUN && self.could_be_a_row(first, rest);
            return Some(if doubtful { FirstLine::KnownNumbers } else { FirstLine::Names });
        }
        // The corner above the row names may have a name of its own.
        let n_others = first.len() - usize::from(first.first().is_some_and(|corner| !is_known(&corner)));
        let found: HashSet<&[u8]> = first.iter().filter(is_known).map(|field| &*field.text).collect();
        let all_are_names = found.len() == n_others && n_others > 1;
        let suffices = found.len() == known.len() || first.len() < n_features;
        Some(if all_are_names && suffices { FirstLine::MovedNames } else { self.not_the_names(first, rest) })
    }

    /// Decides on a first line of numbers if the fitted table had no names.
    fn without_names(&self, first: &[Field], rest: &[Vec<Field>]) -> FirstLine {
        // Programs that number unnamed columns write such a line, which is not a row of data.
        let numbers = self.numbers(first);
        let counts = counts_from_the_start(&numbers) && numbers.len() == first.len();
        if counts { FirstLine::CountingValues } else { self.not_the_names(first, rest) }
    }

    /// Decides on a first line of numbers that are not the names in the model: values, with a warning if a fit
    /// would read names, or finds integers over decimals.
    fn not_the_names(&self, first: &[Field], rest: &[Vec<Field>]) -> FirstLine {
        if rest.is_empty() {
            return FirstLine::Values;
        }
        match self.names_of_numbers(first, rest).and_then(FirstLine::under_a_model) {
            Some(doubted) => doubted,
            None if self.is_whole_over_decimals(first, rest) => FirstLine::WholeValues,
            None => self.missing_words(first).unwrap_or(FirstLine::Values),
        }
    }

    /// Tests whether each number of the first line is in the range of its column, and none is an integer over
    /// decimals.
    fn could_be_a_row(&self, first: &[Field], rest: &[Vec<Field>]) -> bool {
        let is_like = |(column, field): (usize, &Field)| {
            let Some(x) = self.number(field) else { return true };
            let below = self.column(rest, column);
            let quoted_alone = field.quoted && rest.iter().filter_map(|r| r.get(column)).all(|f| !f.quoted);
            below.iter().any(|y| *y <= x) && below.iter().any(|y| *y >= x) && !quoted_alone
        };
        first.iter().enumerate().all(is_like) && !self.is_whole_over_decimals(first, rest)
    }

    fn first_line_by_look(&self, first: &[Field], rest: &[Vec<Field>]) -> FirstLine {
        let is_text = |field: &Field| self.cell(field) == Cell::Text;
        let Some(second) = rest.first() else {
            let holds_names = first.iter().any(is_text) && self.numbers(first).is_empty();
            return if holds_names { FirstLine::Names } else { FirstLine::Values };
        };
        let numbers = self.numbers(first);
        let unquoted_numbers =
            first.iter().any(|field| !field.quoted && matches!(self.cell(field), Cell::Number(_)));
        if leaves_out_id(first.len(), rest) {
            let counts = run(&numbers) == Run::EqualSteps;
            // A truncated row would begin with a text, as all others do.
            let over_texts = numbers.len() == first.len() && rest.iter().all(|record| is_text(&record[0]));
            return match (unquoted_numbers, counts) {
                (false, _) => FirstLine::Names,
                (true, true) => FirstLine::LikelyNames,
                (true, false) if over_texts => FirstLine::TitledNames,
                // A truncated row: parsing reports it.
                (true, false) => FirstLine::Values,
            };
        }
        let empty_corner = |record: &[Field]| record.len() > 1 && record[0].text.is_empty();
        if empty_corner(first) && !empty_corner(second) {
            if !unquoted_numbers && first[1..].iter().all(|field| !field.text.is_empty()) {
                return FirstLine::Names;
            }
            // pandas numbers rows and columns that have no names.
            if counts_from_the_start(&numbers) && counts_from_the_start(&self.column(rest, 0)) {
                return if rest.len() > 2 { FirstLine::CountingNames } else { FirstLine::LikelyNames };
            }
        }
        let plain_decimal =
            |field: &Field| !field.quoted && matches!(self.cell(field), Cell::Number(x) if x.fract() != 0.0);
        let holds_decimals = first.iter().any(plain_decimal);
        let over_numbers = |(column, field): (usize, &Field)| self.stands_over_numbers(field, column, rest);
        if !holds_decimals && first.iter().enumerate().any(over_numbers) {
            return FirstLine::Names;
        }
        if let Some(found) = self.names_of_numbers(first, rest) {
            // The fitted table of a model without feature names had no such line.
            return match self.fitted {
                None => found,
                Some(_) => found.under_a_model().unwrap_or(FirstLine::Values),
            };
        }
        let all_text = |record: &Vec<Field>| self.numbers(record).is_empty() && record.iter().any(is_text);
        if !holds_decimals && self.records.iter().all(all_text) {
            return FirstLine::Names;
        }
        if self.is_whole_over_decimals(first, rest) {
            return FirstLine::WholeValues;
        }
        self.missing_words(first).unwrap_or(FirstLine::Values)
    }

    /// Decides on a first line of several words for missing values that all differ, and no numbers beside them: rows use one
    /// word.
    fn missing_words(&self, first: &[Field]) -> Option<FirstLine> {
        let is_word = |field: &&Field| self.cell(field) == Cell::Missing && !field.text.is_empty();
        let words: Vec<&[u8]> = first.iter().filter(is_word).map(|field| &*field.text).collect();
        let differ = words.iter().collect::<HashSet<_>>().len() == words.len();
        let no_numbers = |field: &Field| matches!(self.cell(field), Cell::Missing | Cell::Text);
        if words.len() < 2 || !differ || !first.iter().all(no_numbers) {
            return None;
        }
        Some(FirstLine::MissingWords)
    }

    /// Tests whether several columns all have integers over decimals.
    fn is_whole_over_decimals(&self, first: &[Field], rest: &[Vec<Field>]) -> bool {
        let stands_over_decimals = |(column, field): (usize, &Field)| {
            let decimal = self.column(rest, column).iter().filter(|value| value.fract() != 0.0).count();
            matches!(self.cell(field), Cell::Number(x) if x.fract() == 0.0) && decimal * 2 > rest.len()
        };
        first.len() > 1
            && first.iter().enumerate().all(stands_over_decimals)
            && !self.is_written_alike(first, rest)
    }

    /// Tests whether every number of the first line has as many decimals as most numbers below it: `100.000` over
    /// `0.125` is not an integer.
    fn is_written_alike(&self, first: &[Field], rest: &[Vec<Field>]) -> bool {
        let sign = if self.decimal_comma { b',' } else { b'.' };
        let n_decimals = |field: &Field| {
            let behind = field.text.iter().position(|byte| *byte == sign)? + 1;
            Some(field.text[behind..].iter().take_while(|byte| byte.is_ascii_digit()).count())
        };
        let is_alike = |(column, field): (usize, &Field)| {
            let Some(own) = n_decimals(field).filter(|n| *n > 0) else { return false };
            let below = || rest.iter().filter_map(|record| record.get(column));
            let alike = below().filter(|field| n_decimals(field) == Some(own)).count();
            alike * 2 > below().count()
        };
        let is_number = |(_, field): &(usize, &Field)| self.number(field).is_some();
        first.iter().enumerate().filter(is_number).all(is_alike)
    }

    /// Tests whether a name is above numbers; above text it could be the first value.
    fn stands_over_numbers(&self, name: &Field, column: usize, rest: &[Vec<Field>]) -> bool {
        let below = || rest.iter().filter_map(|record| record.get(column));
        let unlike = match self.cell(name) {
            Cell::Text => !is_grouped_in_threes(&name.text),
            _ => name.quoted && below().all(|field| !field.quoted),
        };
        let is_number = |field: &&Field| self.cell(field).is_numeric() || is_grouped_in_threes(&field.text);
        unlike && below().filter(is_number).count() * 2 > below().count()
    }

    /// Tests for a first line whose numbers may be names; `None` if nothing says so.
    fn names_of_numbers(&self, first: &[Field], rest: &[Vec<Field>]) -> Option<FirstLine> {
        let counting = self.counting(first, rest);
        if counting == Some(FirstLine::CountingNames) {
            return counting;
        }
        let titled = self.beside_title(first, rest);
        let names = [titled, counting].into_iter().flatten().find(|found| found.holds_names());
        names.or(titled).or(counting)
    }

    /// Tests for years, and for other whole numbers beside the title of a column of texts or an empty corner. Only years in
    /// equal steps beside a title are read as names: rows have names such as `time` too, and the largest numbers of a sorted
    /// table stand in its first row.
    fn beside_title(&self, first: &[Field], rest: &[Vec<Field>]) -> Option<FirstLine> {
        let numbers = self.numbers(first);
        let all_whole = numbers.iter().all(|number| number.fract() == 0.0);
        let differ = numbers.iter().map(|x| x.to_bits()).collect::<HashSet<_>>().len() == numbers.len();
        if numbers.is_empty() || !all_whole || !differ {
            return None;
        }
        let titled = (0..first.len()).any(|column| self.is_title(first, column, rest));
        let years_below = rest.iter().filter(|record| are_ordered_years(&self.numbers(record))).count();
        let few_below = years_below * 4 <= rest.len();
        if titled && are_successive_years(&numbers) && few_below {
            Some(FirstLine::TitledNames)
        } else if titled || (are_ordered_years(&numbers) && few_below) {
            Some(FirstLine::TitledValues)
        } else {
            None
        }
    }

    /// Tests whether a field of the first line is the title of a column that holds no numbers, or an empty corner.
    fn is_title(&self, first: &[Field], column: usize, rest: &[Vec<Field>]) -> bool {
        let below = || rest.iter().filter_map(|record| record.get(column));
        let text = &*first[column].text;
        if text.is_empty() && column == 0 && first.len() > 1 {
            let over_texts = below().all(|field| self.cell(field) == Cell::Text);
            return over_texts || (rest.len() > 2 && counts_from_the_start(&self.column(rest, 0)));
        }
        let is_text = self.cell(&first[column]) == Cell::Text && below().all(|field| *field.text != *text);
        is_text && std::str::from_utf8(text).is_ok_and(is_title)
    }

    /// Tests for a first line of numbers that increase or decrease unlike the rows below: names such as years and
    /// wavelengths, if there is other evidence.
    fn counting(&self, first: &[Field], rest: &[Vec<Field>]) -> Option<FirstLine> {
        let places: Vec<usize> =
            (0..first.len()).filter(|column| matches!(self.cell(&first[*column]), Cell::Number(_))).collect();
        let numbers = self.numbers(first);
        let found = run(&numbers);
        let below: Vec<Vec<f64>> = rest
            .iter()
            .map(|record| places.iter().filter_map(|at| self.number(record.get(*at)?)).collect())
            .collect();
        let as_long = below.iter().filter(|row| run(row) >= found).count();
        if found == Run::None || as_long * 4 > below.len() {
            return None;
        }
        let all: Vec<f64> = below.iter().flatten().copied().collect();
        let decimals = all.iter().filter(|value| value.fract() != 0.0).count();
        let written_alike = self.is_written_alike(first, rest);
        let whole_over_decimals =
            numbers.iter().all(|value| value.fract() == 0.0) && decimals * 2 > all.len() && !written_alike;
        let (low, high) =
            all.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
        let outside = numbers.iter().all(|x| *x > high) || numbers.iter().all(|x| *x < low);
        let long = numbers.len() >= LONG_RUN;
        let signs = match found {
            // Rows of curves increase or decrease too, some of them throughout.
            Run::OneWay => {
                usize::from(whole_over_decimals || (outside && share_of_steps(&numbers, &below) < 2.0 / 3.0))
            }
            _ => [
                whole_over_decimals,
                outside && (long || are_years(&numbers)),
                are_years(&numbers),
                long && counts_from_the_start(&numbers),
            ]
            .into_iter()
            .map(usize::from)
            .sum(),
        };
        Some(match signs {
            0 => FirstLine::CountingValues,
            // Numbers written like the rows may be one of them.
            1 => FirstLine::LikelyNames,
            _ if written_alike => FirstLine::LikelyNames,
            _ => FirstLine::CountingNames,
        })
    }

    /// Decides whether the first column names the rows. `records` are then the records below the names.
    /// `n_columns` columns are not set aside, `names` are their names, if any; `nameless` states that the first
    /// column has no name.
    pub(crate) fn first_column(
        &self,
        n_columns: usize,
        names: Option<&[String]>,
        nameless: bool,
    ) -> FirstColumn {
        let certain = FirstColumn::Names { must_differ: false, warning: None };
        if let Some(fitted) = self.fitted {
            if names.is_some_and(|names| fitted.are_scores_beside_names(names)) {
                return certain;
            }
            let known = fitted.feature_names.as_deref();
            let first = names.and_then(<[String]>::first);
            let is_feature = first.is_some_and(|first| is_feature(first, Some(fitted)));
            let all_are_features = (names.is_none() || known.is_none()) && n_columns == fitted.n_features;
            if is_feature || all_are_features {
                return FirstColumn::Values;
            }
            let all_others = match (names, known) {
                (Some(names), Some(known)) => names.iter().skip(1).eq(known),
                _ => n_columns == fitted.n_features + 1,
            };
            // In a table without rows only the names decide, if the model has names.
            if all_others && (nameless || (self.records.is_empty() && known.is_some())) {
                return certain;
            }
        }
        let cells: Vec<&Field> = self.records.iter().filter_map(|record| record.first()).collect();
        let texts = cells.iter().filter(|cell| self.cell(cell) == Cell::Text).count();
        let numbers = self.column(self.records, 0);
        let mut sorted: Vec<&[u8]> = cells.iter().map(|cell| &*cell.text).collect();
        sorted.sort_unstable();
        let differ = sorted.windows(2).all(|pair| pair[0] != pair[1]);
        if nameless {
            let whole = numbers.iter().all(|value| value.fract() == 0.0);
            let doubtful = texts == 0 && (!whole || !differ) && !cells.iter().all(|cell| cell.quoted);
            let warning = doubtful.then(|| {
                Phrase::new(
                    "the first column has no name, holds numbers, and was taken as names of the rows; use ",
                )
                .setting(option_names::ROW_NAMES, OptionValue::NotGiven)
                .text(" if it is data")
            });
            return FirstColumn::Names { must_differ: false, warning };
        }
        let is_text = texts * 2 > cells.iter().filter(|cell| self.cell(cell) != Cell::Missing).count();
        if !differ || !(is_text || self.alone_in_quotes()) {
            return FirstColumn::Values;
        }
        let texts_of_cells: Vec<&[u8]> = cells.iter().map(|cell| &*cell.text).collect();
        if is_text && first_decorated(&texts_of_cells, texts).is_some() {
            return FirstColumn::Values;
        }
        let column = names.and_then(<[String]>::first).map_or("1", String::as_str);
        FirstColumn::Names { must_differ: true, warning: unit_warning(&texts_of_cells, column) }
    }

    /// Tests whether the first column is quoted and another is not, as R and karhunen write numeric row names.
    fn alone_in_quotes(&self) -> bool {
        let is_so = |record: &Vec<Field>| {
            record[0].quoted
                && matches!(self.cell(&record[0]), Cell::Number(_))
                && record[1..].iter().any(|field| !field.quoted)
        };
        !self.records.is_empty() && self.records.iter().all(is_so)
    }

    fn cell(&self, field: &Field) -> Cell {
        Cell::of(&field.text, self.decimal_comma)
    }

    fn number(&self, field: &Field) -> Option<f64> {
        match self.cell(field) {
            Cell::Number(value) => Some(value),
            _ => None,
        }
    }

    fn numbers(&self, record: &[Field]) -> Vec<f64> {
        record.iter().filter_map(|field| self.number(field)).collect()
    }

    fn column(&self, records: &[Vec<Field>], column: usize) -> Vec<f64> {
        records.iter().filter_map(|record| self.number(record.get(column)?)).collect()
    }

    /// Tests whether no cell of a record is text.
    fn is_all_numbers(&self, record: &[Field]) -> bool {
        record.iter().all(|field| self.cell(field) != Cell::Text)
    }
}

/// Tests whether the first line of triples or pairs holds names: its value is not a number, or it has text over
/// integers. `[row, column, value]` are the column indices; pairs have no value.
pub(crate) fn is_first_line_of_names(
    records: &[Vec<Field>],
    [row, column, value]: [Option<usize>; 3],
    decimal_comma: bool,
) -> bool {
    let is_text = |record: &[Field], at: Option<usize>| {
        Some(Cell::of(&record.get(at?)?.text, decimal_comma) == Cell::Text)
    };
    let (Some(first), second) = (records.first(), records.get(1)) else { return false };
    let ids =
        |record: &[Field], text| is_text(record, row) == Some(text) && is_text(record, column) == Some(text);
    // Integers beside an invalid value are the ids of a faulty line.
    let over_values = is_text(first, value) == Some(true) && !ids(first, false);
    over_values || (ids(first, true) && second.is_some_and(|second| ids(second, false)))
}

/// Tests whether the only line of triples or pairs holds names: text, while the ids in the model are integers.
pub(crate) fn is_lone_line_of_names(
    records: &[Vec<Field>],
    [row, column, _]: [Option<usize>; 3],
    decimal_comma: bool,
    fitted: Option<&FittedTable>,
) -> bool {
    let [only] = records else { return false };
    let Some(known) = fitted.and_then(|fitted| fitted.feature_names.as_deref()) else { return false };
    let is_text = |at: Option<usize>| {
        let field = at.and_then(|at| only.get(at));
        field.is_some_and(|field| Cell::of(&field.text, decimal_comma) == Cell::Text)
    };
    is_text(row) && is_text(column) && known.iter().all(|id| id.parse::<i64>().is_ok())
}

/// Tests whether the first line of triples or pairs, read as an entry, may hold the numbers that programs write
/// for unnamed columns: 0, 1, 2, … or 1, 2, 3, … over decimals, or over ids that are text.
pub(crate) fn may_count_columns(
    records: &[Vec<Field>],
    [row, column, value]: [Option<usize>; 3],
    decimal_comma: bool,
) -> bool {
    let Some((first, rest)) = records.split_first() else { return false };
    let cell = |field: &Field| Cell::of(&field.text, decimal_comma);
    let number = |field: &Field| match cell(field) {
        Cell::Number(value) => Some(value),
        _ => None,
    };
    let numbers: Vec<f64> = first.iter().filter_map(number).collect();
    if rest.is_empty() || numbers.len() < first.len() || !counts_from_the_start(&numbers) {
        return false;
    }
    let most = |at: Option<usize>, is_unlike: &dyn Fn(&Field) -> bool| {
        let below = || rest.iter().filter_map(|record| record.get(at?));
        below().filter(|field| is_unlike(field)).count() * 2 > rest.len()
    };
    let is_decimal = |field: &Field| number(field).is_some_and(|value| value.fract() != 0.0);
    let is_text = |field: &Field| cell(field) == Cell::Text;
    most(value, &is_decimal) || most(row, &is_text) || most(column, &is_text)
}

/// The warning for a column that names the rows although its cells are numbers with a unit of letters.
pub(crate) fn unit_warning(cells: &[&[u8]], column: &str) -> Option<Phrase> {
    let unit = common_word(cells)?;
    let problem = format!(
        "the first column holds numbers with `{}` and was taken as names of the rows; use ",
        String::from_utf8_lossy(unit).escape_debug()
    );
    let warning = Phrase::new(problem).setting(option_names::ROW_NAMES, OptionValue::Text(column.to_owned()));
    Some(warning.text(" if it names them, or remove the unit"))
}

/// The most frequent number of fields of a record; the first one in case of a tie.
pub(crate) fn usual_n_fields(records: &[Vec<Field>]) -> usize {
    let counts: Vec<usize> = records.iter().map(Vec::len).collect();
    let frequency = |&&n: &&usize| counts.iter().filter(|&&m| m == n).count();
    counts.iter().rev().max_by_key(frequency).copied().unwrap_or(0)
}

/// Tests whether a header of `n_names` omits the name of the first column, as R's `write.table` does. With two
/// columns the header could be a title: then the first column must be text or quoted.
pub(crate) fn leaves_out_id(n_names: usize, rows: &[Vec<Field>]) -> bool {
    let is_name = |row: &Vec<Field>| row[0].quoted || !Cell::of(&row[0].text, false).is_numeric();
    n_names + 1 == usual_n_fields(rows) && (n_names > 1 || rows.iter().all(is_name))
}
