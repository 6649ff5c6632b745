//! What each column of a text table is for.

use std::path::Path;

use super::cells::Cell;
use super::dialect::{Dialect, Sample, leaves_out_id};
use super::fields::{BlankLines, Ending, Field, Scanner};
use super::refusal::{Reason, Refusal, is_grouped_number};
use crate::names::{find_column, only};
use crate::{Cause, Error, IdColumn, ReadOptions, Result};

/// What a column is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Numbers to fit.
    Value,
    /// The names of the rows.
    Id,
    /// Text to set aside: the number of the label in [`ReadOptions::labels`].
    Label(usize),
    /// The weights of the rows.
    Weight,
    /// Nothing: known to be no feature.
    Unused,
}

/// The columns of a table, and where its first row begins.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    pub(super) roles: Vec<Role>,
    /// One for each column, if the table has a header.
    pub(super) names: Option<Vec<String>>,
    /// The id column was found, not asked for: its texts must differ.
    pub(super) id_must_differ: bool,
    /// Where the first row begins, in bytes.
    pub(super) first_row: usize,
    /// Values may be missing: they are then NaN.
    pub(super) holes: bool,
}

impl Columns {
    /// Decides from the header, the first rows and the options.
    ///
    /// # Errors
    /// Options that name no column; columns of text that are not set aside; no column of numbers, no row.
    pub(super) fn of(
        path: &Path,
        text: &[u8],
        dialect: &Dialect,
        sample: &Sample,
        options: &ReadOptions,
    ) -> Result<Self> {
        let refuse = |refusal: Refusal, names: Option<&[String]>| refusal.into_error(path, text, names);
        let (header, first_row) = read_header(text, dialect).map_err(|refusal| refuse(refusal, None))?;
        let nameless_id = header.as_ref().is_some_and(|names| leaves_out_id(names.len(), sample));
        let empty_corner = header.as_ref().is_some_and(|names| {
            names.len() > 1 && names[0].is_empty() && names[1..].iter().all(|n| !n.is_empty())
        });
        let names = header.map(|names| complete(names, nameless_id));
        let n_columns = names.as_ref().map_or(sample.first().map_or(0, Vec::len), Vec::len);
        let mut columns = Self {
            roles: vec![Role::Value; n_columns],
            names,
            id_must_differ: false,
            first_row,
            holes: options.missing,
        };
        columns.assign(path, options)?;
        if options.id_column.is_open()
            && columns.id().is_none()
            && columns.roles.first() == Some(&Role::Value)
        {
            if nameless_id || empty_corner {
                columns.roles[0] = Role::Id;
            } else if names_rows(sample, dialect) {
                columns.roles[0] = Role::Id;
                columns.id_must_differ = true;
            }
        }
        if let Some(refusal) = columns.text_columns(sample, dialect) {
            return Err(refuse(refusal, columns.names.as_deref()));
        }
        if !columns.roles.contains(&Role::Value) && n_columns > 0 {
            let message = "no column of numbers: each holds text or is set aside";
            return Err(Error::new(path, Cause::Format(message.to_owned())));
        }
        Ok(columns)
    }

    /// The columns that the options name.
    fn assign(&mut self, path: &Path, options: &ReadOptions) -> Result<()> {
        let id = match &options.id_column {
            IdColumn::Named(name) => Some(("--id-column", name, Role::Id)),
            IdColumn::Detect | IdColumn::Preferred(_) | IdColumn::None => None,
        };
        let weights = options.weights_column.iter().map(|name| ("--weights", name, Role::Weight));
        let labels = options.labels.iter().enumerate().map(|(i, name)| ("--label", name, Role::Label(i)));
        for (option, name, role) in id.into_iter().chain(weights).chain(labels) {
            let column = find_column(path, option, name, self.names.as_deref(), self.roles.len())?;
            if self.roles[column] != Role::Value {
                let message = format!("{option} {name}: the column is already set aside by another option");
                return Err(Error::new(path, Cause::Option(message)));
            }
            self.roles[column] = role;
        }
        let Some(names) = &self.names else { return Ok(()) };
        let preferred = match &options.id_column {
            IdColumn::Preferred(name) => Some((name, Role::Id)),
            _ => None,
        };
        let set_aside = options.set_aside.iter().map(|name| (name, Role::Unused));
        for (name, role) in preferred.into_iter().chain(set_aside) {
            if let Some(column) = only(names, name).filter(|&column| self.roles[column] == Role::Value) {
                self.roles[column] = role;
            }
        }
        Ok(())
    }

    /// Refuses the columns of numbers that hold text.
    fn text_columns(&self, sample: &Sample, dialect: &Dialect) -> Option<Refusal> {
        let is_refused =
            |&column: &usize| self.roles[column] == Role::Value && is_text(sample, column, dialect);
        let columns: Vec<usize> = (0..self.roles.len()).filter(is_refused).collect();
        let &first = columns.first()?;
        let is_cell = |field: &&Field| !Cell::of(&field.text, dialect.decimal_comma).is_numeric();
        let field = sample.iter().filter_map(|record| record.get(first)).find(is_cell)?;
        let label = |&column: &usize| match &self.names {
            Some(names) => names[column].clone(),
            None => (column + 1).to_string(),
        };
        let reason =
            Reason::TextColumns { found: field.text.to_vec(), columns: columns.iter().map(label).collect() };
        Some(Refusal::cell(field.offset, first, reason))
    }

    /// How lines without any text are read.
    pub(super) fn blank_lines(&self) -> BlankLines {
        if self.roles.len() == 1 { BlankLines::Records } else { BlankLines::Skipped }
    }

    /// Number of columns with a role.
    pub(super) fn count(&self, role: Role) -> usize {
        self.roles.iter().filter(|&&r| r == role).count()
    }

    /// Index of the column that names the rows.
    pub(super) fn id(&self) -> Option<usize> {
        self.roles.iter().position(|&role| role == Role::Id)
    }

    /// Names of the columns of numbers.
    pub(super) fn value_names(&self) -> Option<Vec<String>> {
        let names = self.names.as_ref()?.iter().zip(&self.roles);
        Some(names.filter(|(_, role)| **role == Role::Value).map(|(name, _)| name.clone()).collect())
    }
}

/// The names of the first record, if it holds names, and where the next record begins.
pub(super) fn read_header(
    text: &[u8],
    dialect: &Dialect,
) -> std::result::Result<(Option<Vec<String>>, usize), Refusal> {
    let mut scanner = Scanner::new(text, 0, dialect.delimiter);
    if !scanner.begin_record(BlankLines::Skipped) {
        return Ok((None, scanner.offset()));
    }
    if !dialect.header.is_there() {
        // A first record that cannot be read is refused here: the sample ends before it.
        scanner.clone().count_rest()?;
        return Ok((None, scanner.offset()));
    }
    let mut names = Vec::new();
    loop {
        let field = scanner.field()?;
        let encoding = || Refusal::cell(field.offset, names.len(), Reason::Encoding);
        let name = std::str::from_utf8(&field.text).map_err(|_| encoding())?.to_owned();
        names.push(name);
        if field.ending == Ending::Record {
            return Ok((Some(names), scanner.offset()));
        }
    }
}

/// Names the column that R leaves out, and by number all others without a name.
fn complete(mut names: Vec<String>, nameless_id: bool) -> Vec<String> {
    if nameless_id {
        names.insert(0, String::new());
    }
    for (column, name) in names.iter_mut().enumerate().skip(1) {
        if name.is_empty() {
            *name = format!("column {}", column + 1);
        }
    }
    names
}

/// Whether most cells of a column hold text.
fn is_text(sample: &Sample, column: usize, dialect: &Dialect) -> bool {
    let cells = sample.iter().filter_map(|record| record.get(column));
    let (mut text, mut numeric) = (0, 0);
    for cell in cells {
        match Cell::of(&cell.text, dialect.decimal_comma) {
            Cell::Text => text += 1,
            Cell::Missing => {}
            Cell::Number(_) | Cell::Infinite => numeric += 1,
        }
    }
    text > numeric
}

/// Whether the first column names the rows: texts that differ, and that are no numbers in a foreign notation.
fn names_rows(sample: &Sample, dialect: &Dialect) -> bool {
    let mut cells: Vec<&[u8]> = sample.iter().map(|record| &*record[0].text).collect();
    let foreign = cells.iter().any(|cell| is_grouped_number(cell));
    cells.sort_unstable();
    let differ = cells.windows(2).all(|pair| pair[0] != pair[1]);
    differ && ((is_text(sample, 0, dialect) && !foreign) || alone_in_quotes(sample, dialect))
}

/// Whether the first column is quoted and another is not, as R and karhunen write numbers that name rows.
fn alone_in_quotes(sample: &Sample, dialect: &Dialect) -> bool {
    let is_so = |record: &Vec<Field>| {
        let plain = |field: &Field| matches!(Cell::of(&field.text, dialect.decimal_comma), Cell::Number(_));
        record[0].quoted && plain(&record[0]) && record[1..].iter().any(|field| !field.quoted)
    };
    !sample.is_empty() && sample.iter().all(is_so)
}
