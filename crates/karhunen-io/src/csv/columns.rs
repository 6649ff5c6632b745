//! The role of each column of a text table.

use std::path::Path;

use karhunen::error::Phrase;

use super::dialect::{Dialect, Sample};
use super::fields::{BlankLines, Ending, Field};
use super::first_line::{Look, ends_empty, leaves_out_id};
use super::notation::Cell;
use super::refusal::{Reason, Refusal};
use super::row_names::FirstColumn;
use crate::names::{NameTable, find_column, unchosen};
use crate::option_names;
use crate::{Cause, Error, ReadOptions, Result, RowNames};

/// Up to this number of columns are searched one by one; more are looked up in a table of all names.
const FEW: usize = 8;

/// The role of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Numbers to fit.
    Value,
    /// The names of the rows.
    Id,
    /// Excluded text: the index of the label in [`ReadOptions::labels`].
    Label(usize),
    /// The weights of the rows.
    Weight,
    /// Unused: known not to be a feature.
    Unused,
    /// Empty in every row, since lines end in a delimiter.
    Empty,
}

/// The columns of a table, and the offset of its first row.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    pub(super) roles: Vec<Role>,
    /// One name for each column, if the table has a header.
    pub(super) names: Option<Vec<String>>,
    /// True if the id column was found automatically: its texts must then differ.
    pub(super) id_must_differ: bool,
    /// A warning about the column that names the rows.
    pub(super) warning: Option<Phrase>,
    /// Offset of the first row, in bytes.
    pub(super) first_row: usize,
    /// True if values may be missing: they become NaN.
    pub(super) missing: bool,
    /// Texts in columns of numbers among the first rows.
    pub(super) words: Vec<String>,
    /// The columns that [`ReadOptions::columns`] leaves out, in the form of the option.
    pub(super) left_out: Vec<String>,
}

impl Columns {
    /// Decides from the header, the first rows and the options.
    ///
    /// # Errors
    /// Options that name no column; columns of text that are not excluded; tables without numbers or without rows.
    pub(super) fn of(
        path: &Path,
        text: &[u8],
        dialect: &Dialect,
        sample: &Sample,
        options: &ReadOptions,
    ) -> Result<Self> {
        let refuse = |refusal: Refusal, names: Option<&[String]>| refusal.into_error(path, text, names);
        let (mut columns, nameless) = Self::asked(path, text, dialect, sample, options)?;
        let n_columns = columns.roles.len();
        if options.row_names == RowNames::Auto
            && columns.id().is_none()
            && columns.roles.first() == Some(&Role::Value)
        {
            let look = Look { records: sample, notation: &dialect.numbers, fitted: options.fitted.as_ref() };
            let (n_values, names) = (columns.count(Role::Value), columns.value_names());
            let found = look.first_column(n_values, names.as_deref(), nameless);
            if let FirstColumn::Names { must_differ, warning } = found {
                columns.roles[0] = Role::Id;
                (columns.id_must_differ, columns.warning) = (must_differ, warning);
            }
        }
        columns.choose(path, options)?;
        columns.words = columns.odd_words(sample, dialect);
        if let Some(refusal) = columns.text_columns(sample, dialect) {
            return Err(refuse(refusal, columns.names.as_deref()));
        }
        if !columns.roles.contains(&Role::Value) && n_columns > 0 {
            let message = "no column of numbers: each holds text or is excluded";
            return Err(Error::new(path, Cause::format(message.to_owned())));
        }
        Ok(columns)
    }

    /// As [`Columns::of`], for a table of categories: a first column without a name names the rows, and others hold
    /// values.
    ///
    /// # Errors
    /// Options that name no column; tables without columns of values.
    pub(super) fn of_categories(
        path: &Path,
        text: &[u8],
        dialect: &Dialect,
        sample: &Sample,
        options: &ReadOptions,
    ) -> Result<Self> {
        let (mut columns, nameless) = Self::asked(path, text, dialect, sample, options)?;
        let is_free = options.row_names == RowNames::Auto && columns.id().is_none();
        if nameless && is_free && columns.roles.first() == Some(&Role::Value) {
            columns.roles[0] = Role::Id;
        }
        columns.choose(path, options)?;
        if !columns.roles.contains(&Role::Value) {
            return Err(Error::new(path, Cause::format("every column is excluded".to_owned())));
        }
        Ok(columns)
    }

    /// The columns with the roles that the options name; true if the first has no name.
    fn asked(
        path: &Path,
        text: &[u8],
        dialect: &Dialect,
        sample: &Sample,
        options: &ReadOptions,
    ) -> Result<(Self, bool)> {
        let refuse = |refusal: Refusal| refusal.into_error(path, text, None);
        let (header, first_row) = read_header(text, dialect).map_err(refuse)?;
        check_left_out(path, dialect, first_row)?;
        let nameless_id = header.as_ref().is_some_and(|names| leaves_out_id(names.len(), sample));
        let empty_corner = header.as_ref().is_some_and(|names| {
            names.len() > 1 && names[0].is_empty() && names[1..].iter().all(|n| !n.is_empty())
        });
        let n_fields = sample.first().map_or(0, Vec::len);
        let mut names = header.map(|names| complete(names, nameless_id));
        let has_room = names.as_ref().is_none_or(|names| names.len() < n_fields || has_no_last_name(names));
        let ends_empty = ends_empty(sample) && sample.len() > 1 && has_room;
        if let Some(names) = names.as_mut().filter(|names| ends_empty && names.len() + 1 == n_fields) {
            names.push(String::new());
        }
        let n_columns = names.as_ref().map_or(n_fields, Vec::len);
        let mut roles = vec![Role::Value; n_columns];
        if ends_empty && n_columns == n_fields {
            roles[n_columns - 1] = Role::Empty;
        }
        let mut columns = Self {
            roles,
            names,
            id_must_differ: false,
            warning: None,
            first_row,
            missing: options.missing,
            words: Vec::new(),
            left_out: Vec::new(),
        };
        columns.assign(path, options)?;
        Ok((columns, nameless_id || empty_corner))
    }

    /// Assigns the roles that the options name.
    fn assign(&mut self, path: &Path, options: &ReadOptions) -> Result<()> {
        let id = match &options.row_names {
            RowNames::Column(name) => Some((option_names::ROW_NAMES, name, Role::Id)),
            RowNames::Auto | RowNames::None => None,
        };
        let weights =
            options.weights_column.iter().map(|name| (option_names::WEIGHTS_COLUMN, name, Role::Weight));
        let labels =
            options.labels.iter().enumerate().map(|(i, name)| (option_names::LABELS, name, Role::Label(i)));
        let names = self.names.as_deref().filter(|_| options.labels.len() > FEW).map(NameTable::of);
        for (option, name, role) in id.into_iter().chain(weights).chain(labels) {
            let column = match names.as_ref().and_then(|names| names.only(name)) {
                Some(column) => column,
                None => find_column(path, option, name, self.names.as_deref(), self.roles.len())?,
            };
            if self.roles[column] != Role::Value {
                let problem = "another option already uses the column".to_owned();
                return Err(Error::new(path, Cause::Column { option, wanted: name.clone(), problem }));
            }
            self.roles[column] = role;
        }
        let Some(fitted) = &options.fitted else { return Ok(()) };
        let (set_aside, id) = match &self.names {
            Some(names) => {
                let table = NameTable::of(names);
                let places = fitted.of_file.set_aside.iter().filter_map(|name| table.only(name)).collect();
                (places, fitted.of_file.id_column.as_deref().and_then(|name| table.only(name)))
            }
            None => fitted.numbered(self.roles.len()).unwrap_or_default(),
        };
        let id = id.filter(|_| options.row_names == RowNames::Auto);
        let known = id.map(|column| (column, Role::Id)).into_iter();
        for (column, role) in known.chain(set_aside.into_iter().map(|column: usize| (column, Role::Unused))) {
            if self.roles[column] == Role::Value {
                self.roles[column] = role;
            }
        }
        Ok(())
    }

    /// Leaves out the columns of values that [`ReadOptions::columns`] does not name, if it names any.
    fn choose(&mut self, path: &Path, options: &ReadOptions) -> Result<()> {
        let is_free: Vec<bool> = self.roles.iter().map(|role| *role == Role::Value).collect();
        for column in unchosen(path, options, self.names.as_deref(), &is_free)? {
            self.roles[column] = Role::Unused;
            self.left_out.push(self.label(column));
        }
        Ok(())
    }

    /// The column in the form of options.
    pub(super) fn label(&self, column: usize) -> String {
        self.names.as_ref().map_or_else(|| (column + 1).to_string(), |names| names[column].clone())
    }

    /// The words for missing values that were given, and the other texts in columns of numbers among the first rows.
    fn odd_words(&self, sample: &Sample, dialect: &Dialect) -> Vec<String> {
        /// Most words.
        const MOST: usize = 60;
        let mut words = dialect.numbers.words.clone();
        for column in 0..self.roles.len() {
            if self.roles[column] != Role::Value || is_text(sample, column, dialect) {
                continue;
            }
            for field in sample.iter().filter_map(|record| record.get(column)) {
                let word = String::from_utf8_lossy(&field.text);
                let is_odd = Cell::of(&field.text, &dialect.numbers) == Cell::Text && !word.contains(',');
                if is_odd && words.len() < MOST && !words.iter().any(|known| **known == word) {
                    words.push(word.into_owned());
                }
            }
        }
        words
    }

    /// Refuses columns of numbers that contain text.
    fn text_columns(&self, sample: &Sample, dialect: &Dialect) -> Option<Refusal> {
        let is_refused =
            |&column: &usize| self.roles[column] == Role::Value && is_text(sample, column, dialect);
        let columns: Vec<usize> = (0..self.roles.len()).filter(is_refused).collect();
        let &first = columns.first()?;
        let is_cell = |field: &&Field| !Cell::of(&field.text, &dialect.numbers).is_numeric();
        let field = sample.iter().filter_map(|record| record.get(first)).find(is_cell)?;
        let columns = columns.iter().map(|column| self.label(*column)).collect();
        let reason = Reason::TextColumns { found: field.text.to_vec(), columns };
        Some(Refusal::cell(field.offset, first, reason))
    }

    /// Returns how lines without text are read.
    pub(super) fn blank_lines(&self) -> BlankLines {
        if self.roles.len() == 1 { BlankLines::Records } else { BlankLines::Skipped }
    }

    /// Number of columns with the given role.
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

/// The names in the first record, if it holds names, and the offset of the next record.
pub(super) fn read_header(
    text: &[u8],
    dialect: &Dialect,
) -> std::result::Result<(Option<Vec<String>>, usize), Refusal> {
    let mut scanner = dialect.scanner(text, dialect.preamble.start);
    if !scanner.begin_record(BlankLines::Skipped) {
        return Ok((None, scanner.offset()));
    }
    if !dialect.first_line.holds_names() {
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
            return Ok((Some(names), below_left_out(text, scanner.offset(), dialect)));
        }
    }
}

/// The offset of the first row below lines that are left out, if they stand directly below the names that end at `offset`.
fn below_left_out(text: &[u8], offset: usize, dialect: &Dialect) -> usize {
    let between =
        |start: usize| text.get(offset..start).is_some_and(|between| between.trim_ascii().is_empty());
    match &dialect.preamble.left_out {
        Some(left_out) if between(left_out.start) => left_out.end,
        _ => offset,
    }
}

/// Refuses lines to leave out that stand elsewhere than directly below the names, above the first row.
///
/// # Errors
/// [`Cause::Option`].
pub(super) fn check_left_out(path: &Path, dialect: &Dialect, first_row: usize) -> Result<()> {
    match &dialect.preamble.left_out {
        Some(left_out) if left_out.end != first_row => {
            let skip = Phrase::default().option(option_names::SKIP);
            let message = skip.text(" leaves out lines at the top, or directly below the names");
            Err(Error::new(path, Cause::option(message)))
        }
        _ => Ok(()),
    }
}

/// Tests whether the last column alone has no name of its own.
fn has_no_last_name(names: &[String]) -> bool {
    names.last().is_some_and(|last| *last == format!("column {}", names.len()))
}

/// Names the unnamed id column as R leaves it out, and numbers all other columns without a name.
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

/// Tests whether most cells of a column hold text.
fn is_text(sample: &Sample, column: usize, dialect: &Dialect) -> bool {
    let cells = sample.iter().filter_map(|record| record.get(column));
    let (mut text, mut numeric) = (0, 0);
    for cell in cells {
        match Cell::of(&cell.text, &dialect.numbers) {
            Cell::Text => text += 1,
            Cell::Missing => {}
            Cell::Number(_) | Cell::Infinite => numeric += 1,
        }
    }
    text > numeric
}
