//! Categories and numbers in text tables.

use std::path::Path;

use karhunen::categorical::{Column, ColumnValues};
use karhunen::error::{OptionValue, Phrase};

use super::columns::{Columns, Role};
use super::dialect::Dialect;
use super::fields::{Ending, Field};
use super::notation::{Cell, may_be_missing};
use super::refusal::{Reason, Refusal};
use super::{check_options, format_name, notes, table_text};
use crate::categories::coded::Coded;
use crate::categories::{CategoryTable, ColumnKinds};
use crate::input::Input;
use crate::names::shortened;
use crate::{Cause, Error, ReadOptions, Result, RowNames, option_names};

/// Reads a table of categories and numbers.
///
/// # Errors
/// [`Cause::Option`] for options that do not match the table; [`Cause::Format`] and [`Cause::Value`] with line and
/// column for text among numbers, and for a different number of fields.
pub(crate) fn read_categories(
    input: &Input,
    kinds: ColumnKinds<'_>,
    options: &ReadOptions,
) -> Result<CategoryTable> {
    let path = &input.path;
    check_options(path, options)?;
    refuse_turned(path, options)?;
    let text = table_text(path, input.as_slice())?;
    if text.is_empty() {
        return Err(Error::new(path, Cause::format("the table is empty".to_owned())));
    }
    let (dialect, sample) = Dialect::detect(path, text, options)?;
    let mut columns = Columns::of_categories(path, text, &dialect, &sample, options)?;
    let refuse = |refusal: Refusal, names: Option<&[String]>| refusal.into_error(path, text, names);
    let layout = Layout { text, dialect: &dialect, columns: &columns };
    let read = layout.read(kinds).map_err(|refusal| refuse(refusal, columns.names.as_deref()))?;
    let Read { values, mut ids, weights, n_rows } = read;
    let names = columns.value_names();
    let name_of =
        |at: usize| names.as_ref().map_or_else(|| format!("x{}", at + 1), |names| names[at].clone());
    let mut values: Vec<(String, Values)> =
        values.into_iter().enumerate().map(|(at, values)| (name_of(at), values)).collect();
    if let Some(found) = take_row_names(&mut values, &mut columns, options) {
        ids = found;
    }
    let content = values.iter().filter_map(|(name, values)| match values {
        Values::Categories(coded) => Some((name, coded)),
        Values::Numbers(_) => None,
    });
    let odd = content.clone().filter(|_| options.fitted.is_none());
    let mostly_numbers = content.filter(|_| matches!(kinds, ColumnKinds::ByContent));
    let warnings = (dialect.first_line.warning().into_iter())
        .chain(odd.filter_map(|(name, coded)| odd_category(name, coded)))
        .chain(mostly_numbers.filter_map(|(name, coded)| coded.warning(name)))
        .collect();
    let labels = options.labels.iter().enumerate().map(|(label, option)| {
        let column = columns.roles.iter().position(|&role| role == Role::Label(label));
        column.and_then(|c| Some(columns.names.as_ref()?[c].clone())).unwrap_or_else(|| option.clone())
    });
    Ok(CategoryTable {
        n_rows,
        has_names: names.is_some(),
        sample_names: columns.id().map(|_| ids),
        id_name: columns.id().and_then(|id| Some(columns.names.as_ref()?[id].clone())),
        labels: labels.chain(columns.left_out.iter().cloned()).collect(),
        weights: options.weights_column.as_ref().map(|_| weights),
        format: format_name(dialect.delimiter),
        notes: notes(&columns, &dialect, options),
        warnings,
        columns: values.into_iter().map(|(name, values)| Column { name, values: values.into() }).collect(),
    })
}

/// Refuses to swap rows and columns.
///
/// # Errors
/// [`Cause::Option`].
fn refuse_turned(path: &Path, options: &ReadOptions) -> Result<()> {
    if !options.transpose {
        return Ok(());
    }
    let transpose = Phrase::default().option(option_names::TRANSPOSE);
    let message =
        transpose.text(" does not apply to a table of categories, whose columns are variables; leave it out");
    Err(Error::new(path, Cause::option(message)))
}

/// Takes the first column out of the values, if no option or model says what it is and its texts name the rows; returns them.
fn take_row_names(
    values: &mut Vec<(String, Values)>,
    columns: &mut Columns,
    options: &ReadOptions,
) -> Option<Vec<String>> {
    let may_name_rows = options.row_names == RowNames::Auto
        && columns.id().is_none()
        && columns.roles.first() == Some(&Role::Value)
        && values.len() > 1
        && options.fitted.as_ref().is_none_or(|fitted| values.len() > fitted.n_features);
    let (_, Values::Categories(coded)) = values.first().filter(|_| may_name_rows)? else { return None };
    let found = coded.as_row_names()?;
    values.remove(0);
    columns.roles[0] = Role::Id;
    if columns.names.is_none() {
        values.iter_mut().enumerate().for_each(|(at, (name, _))| *name = format!("x{}", at + 1));
    }
    Some(found)
}

/// The note on a category that probably marks a missing value, such as `?`.
fn odd_category(column: &str, coded: &Coded) -> Option<Phrase> {
    let found = coded.names.iter().find(|name| may_be_missing(name.as_bytes()))?;
    let (found, column) = (shortened(found), shortened(column));
    let note = format!("`{found}` is a category of the column `{column}`; if it marks a missing value, use ");
    Some(Phrase::new(note).setting(option_names::NA, OptionValue::Texts(vec![found.into_owned()])))
}

/// The values of a column of categories or numbers.
enum Values {
    Numbers(Vec<f64>),
    Categories(Coded),
}

impl From<Values> for ColumnValues {
    fn from(values: Values) -> Self {
        match values {
            Values::Numbers(numbers) => Self::Numbers(numbers),
            Values::Categories(coded) => coded.sorted(),
        }
    }
}

/// The rows of a table.
struct Read {
    /// One for each column of values.
    values: Vec<Values>,
    ids: Vec<String>,
    weights: Vec<f64>,
    n_rows: usize,
}

/// A text, its notation and its columns.
struct Layout<'a> {
    text: &'a [u8],
    dialect: &'a Dialect,
    columns: &'a Columns,
}

impl Layout<'_> {
    fn read(&self, kinds: ColumnKinds<'_>) -> std::result::Result<Read, Refusal> {
        let names = self.columns.value_names();
        let n_values = self.columns.count(Role::Value);
        let name = |at: usize| names.as_ref().map(|names| names[at].as_str());
        let known = (0..n_values).map(|at| kinds.holds_numbers(name(at), at)).collect::<Option<Vec<bool>>>();
        let holds_numbers = match known {
            Some(known) => known,
            None => self.columns_of_numbers(n_values)?,
        };
        let values = |numbers: bool| {
            if numbers {
                Values::Numbers(Vec::new())
            } else {
                Values::Categories(Coded::of_table(self.dialect.numbers.clone()))
            }
        };
        let values = holds_numbers.into_iter().map(values).collect();
        let mut read = Read { values, ids: Vec::new(), weights: Vec::new(), n_rows: 0 };
        let mut at = 0;
        read.n_rows = self.each(&mut |column, role, field| {
            match role {
                Role::Value => {
                    self.take(&mut read.values[at], column, field)?;
                    at = (at + 1) % n_values;
                }
                Role::Weight => match Cell::of(&field.text, &self.dialect.numbers) {
                    Cell::Number(weight) => read.weights.push(weight),
                    _ => {
                        return Err(Refusal::cell(field.offset, column, Reason::Weight(field.text.to_vec())));
                    }
                },
                Role::Id => read.ids.push(text_of(column, field)?.to_owned()),
                Role::Empty if !field.text.is_empty() => {
                    return Err(Refusal::cell(field.offset, column, Reason::NotEmpty(field.text.to_vec())));
                }
                Role::Label(_) | Role::Unused | Role::Empty => {}
            }
            Ok(())
        })?;
        Ok(read)
    }

    /// Adds a cell to the values of its column.
    fn take(
        &self,
        values: &mut Values,
        column: usize,
        field: &Field<'_>,
    ) -> std::result::Result<(), Refusal> {
        let refuse = |reason| Err(Refusal::cell(field.offset, column, reason));
        match (values, Cell::of(&field.text, &self.dialect.numbers)) {
            (Values::Numbers(numbers), Cell::Number(number)) => numbers.push(number),
            (Values::Numbers(numbers), Cell::Missing) => numbers.push(f64::NAN),
            (Values::Numbers(_), Cell::Infinite) => return refuse(Reason::Infinite(field.text.to_vec())),
            (Values::Numbers(_), Cell::Text) => return refuse(Reason::Text(field.text.to_vec(), Vec::new())),
            (Values::Categories(coded), Cell::Missing) => coded.push_missing(),
            (Values::Categories(coded), _) => match coded.push(text_of(column, field)?) {
                Some(()) => {}
                None => return refuse(Reason::TooManyIds),
            },
        }
        Ok(())
    }

    /// For each column of values, true if all its cells are numbers or missing, and one is a number.
    fn columns_of_numbers(&self, n_values: usize) -> std::result::Result<Vec<bool>, Refusal> {
        let (mut holds_number, mut holds_text) = (vec![false; n_values], vec![false; n_values]);
        let mut at = 0;
        self.each(&mut |_, role, field| {
            if role == Role::Value {
                match Cell::of(&field.text, &self.dialect.numbers) {
                    Cell::Number(_) | Cell::Infinite => holds_number[at] = true,
                    Cell::Text => holds_text[at] = true,
                    Cell::Missing => {}
                }
                at = (at + 1) % n_values;
            }
            Ok(())
        })?;
        Ok(holds_number.iter().zip(&holds_text).map(|(number, text)| *number && !text).collect())
    }

    /// Calls `f` with the column, its role and the field of every cell; returns the number of rows.
    fn each(
        &self,
        f: &mut dyn FnMut(usize, Role, &Field<'_>) -> std::result::Result<(), Refusal>,
    ) -> std::result::Result<usize, Refusal> {
        let mut scanner = self.dialect.scanner(self.text, self.columns.first_row);
        let (expected, mut n_rows) = (self.columns.roles.len(), 0);
        while scanner.begin_record(self.columns.blank_lines()) {
            let start = scanner.offset();
            let n_fields = scanner.clone().count_rest()?;
            if n_fields != expected {
                let reason = Reason::Ragged { found: n_fields, expected };
                return Err(Refusal { offset: start, column: None, reason });
            }
            for (column, &role) in self.columns.roles.iter().enumerate() {
                let field = scanner.field()?;
                debug_assert_eq!(field.ending == Ending::Record, column + 1 == expected);
                f(column, role, &field)?;
            }
            n_rows += 1;
        }
        Ok(n_rows)
    }
}

/// The text of a field.
fn text_of<'a>(column: usize, field: &'a Field<'_>) -> std::result::Result<&'a str, Refusal> {
    std::str::from_utf8(&field.text).map_err(|_| Refusal::cell(field.offset, column, Reason::Encoding))
}
