//! The role of each column of a Parquet or Arrow file.

use std::path::Path;

use karhunen::error::{OptionValue, Phrase};

use arrow_schema::{DataType, Schema};

use crate::fitted_table::is_feature;
use crate::names::{NameTable, find_column, shortened, unchosen};
use crate::option_names;
use crate::{Cause, Error, Place, ReadOptions, Result, RowNames};

/// The role of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Numbers to fit.
    Value,
    /// The names of the rows.
    Id,
    /// A label, which is not a feature.
    Label,
    /// The weights of the rows.
    Weights,
    /// Unused: an index that pandas stored and no option requested, or known not to be a feature.
    Unused,
}

/// The roles of all columns.
#[derive(Debug)]
pub(crate) struct Roles {
    /// The role of each column of the file.
    pub(crate) roles: Vec<Role>,
    /// Origin of the column of row names.
    pub(crate) id: IdOrigin,
    /// The columns of labels, in the order of the options.
    pub(crate) labels: Vec<usize>,
    /// The columns that [`ReadOptions::columns`] leaves out.
    pub(crate) left_out: Vec<usize>,
    /// Choices made automatically.
    pub(crate) notes: Vec<String>,
}

/// Origin of the column of row names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdOrigin {
    /// Named by an option, or absent.
    Asked,
    /// The index of a pandas table, which is dropped if it only numbers the rows.
    Index,
    /// The first column, of text, whose values must differ.
    FirstText,
}

impl Roles {
    /// Determines the roles from the schema and the options; refuses columns that are neither numbers nor
    /// excluded.
    ///
    /// # Errors
    /// [`Cause::Option`] for options that name no column, [`Cause::Value`] for columns that are not numbers.
    pub(crate) fn of(path: &Path, schema: &Schema, options: &ReadOptions) -> Result<Self> {
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let mut roles = Self {
            roles: vec![Role::Value; names.len()],
            id: IdOrigin::Asked,
            labels: Vec::new(),
            left_out: Vec::new(),
            notes: Vec::new(),
        };
        roles.assign(path, &names, options)?;
        roles.detect(schema, &names, options);
        roles.choose(path, &names, options)?;
        roles.check(path, schema)?;
        Ok(roles)
    }

    /// As [`Roles::of`], for a table of categories: all columns that can be text hold values.
    ///
    /// # Errors
    /// [`Cause::Option`] for options that name no column, [`Cause::Value`] for columns that are neither numbers nor
    /// text.
    pub(crate) fn of_categories(path: &Path, schema: &Schema, options: &ReadOptions) -> Result<Self> {
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let mut roles = Self {
            roles: vec![Role::Value; names.len()],
            id: IdOrigin::Asked,
            labels: Vec::new(),
            left_out: Vec::new(),
            notes: Vec::new(),
        };
        roles.assign(path, &names, options)?;
        roles.detect(schema, &names, options);
        if roles.id == IdOrigin::FirstText {
            // All its texts decide whether it names the rows, not its type.
            roles.id = IdOrigin::Asked;
            roles.roles.iter_mut().filter(|role| **role == Role::Id).for_each(|role| *role = Role::Value);
        }
        roles.choose(path, &names, options)?;
        roles.check_excluded(path, schema)?;
        let other = roles
            .columns(Role::Value)
            .into_iter()
            .find(|&column| !can_be_text(schema.field(column).data_type()));
        match other {
            None if roles.roles.contains(&Role::Value) => Ok(roles),
            None => Err(Error::new(path, Cause::format("every column is excluded".to_owned()))),
            Some(column) => {
                let kind = short_type(schema.field(column).data_type());
                let message = format!("holds {kind} values, which are not categories; leave the column out");
                Err(Error::at(path, place(schema, None, column), Cause::value(message)))
            }
        }
    }

    /// The columns of a role, in the order of the file.
    pub(crate) fn columns(&self, role: Role) -> Vec<usize> {
        (0..self.roles.len()).filter(|&column| self.roles[column] == role).collect()
    }

    /// Assigns the roles that the options name.
    fn assign(&mut self, path: &Path, names: &[String], options: &ReadOptions) -> Result<()> {
        let id = match &options.row_names {
            RowNames::Column(name) => Some((option_names::ROW_NAMES, name, Role::Id)),
            RowNames::Auto | RowNames::None => None,
        };
        let weights =
            options.weights_column.iter().map(|name| (option_names::WEIGHTS_COLUMN, name, Role::Weights));
        let labels = options.labels.iter().map(|name| (option_names::LABELS, name, Role::Label));
        let table = NameTable::of(names);
        for (option, name, role) in id.into_iter().chain(weights).chain(labels) {
            let column = match table.only(name) {
                Some(column) => column,
                None => find_column(path, option, name, Some(names), names.len())?,
            };
            if self.roles[column] != Role::Value {
                let problem = "another option already uses the column".to_owned();
                return Err(Error::new(path, Cause::Column { option, wanted: name.clone(), problem }));
            }
            self.roles[column] = role;
            if role == Role::Label {
                self.labels.push(column);
            }
        }
        let Some(fitted) = &options.fitted else { return Ok(()) };
        let known = fitted.of_file.id_column.iter().filter(|_| options.row_names == RowNames::Auto);
        let known = known.map(|name| (name, Role::Id));
        for (name, role) in known.chain(fitted.of_file.set_aside.iter().map(|name| (name, Role::Unused))) {
            if let Some(column) = table.only(name).filter(|&column| self.roles[column] == Role::Value) {
                self.roles[column] = role;
            }
        }
        Ok(())
    }

    /// Finds the column of row names if no option states it.
    fn detect(&mut self, schema: &Schema, names: &[String], options: &ReadOptions) {
        let fitted = options.fitted.as_ref();
        let mut wanted = options.row_names == RowNames::Auto && !self.roles.contains(&Role::Id);
        for column in pandas_index(schema, names) {
            if self.roles[column] != Role::Value || is_feature(&names[column], fitted) {
                continue;
            }
            if wanted && can_be_text(schema.field(column).data_type()) {
                (self.roles[column], self.id) = (Role::Id, IdOrigin::Index);
                wanted = false;
            } else {
                self.roles[column] = Role::Unused;
                self.notes.push(format!("left out the pandas index `{}`", shortened(&names[column])));
            }
        }
        let first = self.roles.iter().position(|&role| role != Role::Unused);
        let Some(column) = first.filter(|&column| wanted && self.roles[column] == Role::Value) else {
            return;
        };
        let kind = schema.field(column).data_type();
        let values: Vec<String> =
            self.columns(Role::Value).into_iter().map(|column| names[column].clone()).collect();
        if can_be_text(kind) && fitted.is_some_and(|fitted| fitted.are_names_and_scores(&values)) {
            self.roles[column] = Role::Id;
        } else if is_text(kind) && !is_feature(&names[column], fitted) {
            (self.roles[column], self.id) = (Role::Id, IdOrigin::FirstText);
        }
    }

    /// Leaves out the columns of values that [`ReadOptions::columns`] does not name, if it names any.
    fn choose(&mut self, path: &Path, names: &[String], options: &ReadOptions) -> Result<()> {
        let is_free: Vec<bool> = self.roles.iter().map(|role| *role == Role::Value).collect();
        self.left_out = unchosen(path, options, Some(names), &is_free)?;
        self.left_out.iter().for_each(|column| self.roles[*column] = Role::Unused);
        Ok(())
    }

    /// Refuses weights that are not numbers, and names and labels that cannot be text.
    fn check_excluded(&self, path: &Path, schema: &Schema) -> Result<()> {
        let refused = |column: usize, message: Phrase| {
            Err(Error::at(path, place(schema, None, column), Cause::value(message)))
        };
        for (column, field) in schema.fields().iter().enumerate() {
            let (kind, type_name) = (field.data_type(), short_type(field.data_type()));
            match self.roles[column] {
                Role::Weights if !is_number(kind) => {
                    return refused(column, format!("holds {type_name} values; weights are numbers").into());
                }
                Role::Id | Role::Label if !can_be_text(kind) => {
                    return refused(
                        column,
                        format!("holds {type_name} values, which cannot be read as text").into(),
                    );
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses columns that do not suit their role.
    fn check(&self, path: &Path, schema: &Schema) -> Result<()> {
        self.check_excluded(path, schema)?;
        let refused = |column: usize, message: Phrase| {
            Err(Error::at(path, place(schema, None, column), Cause::value(message)))
        };
        let kind = |column: usize| schema.field(column).data_type();
        let others: Vec<usize> =
            self.columns(Role::Value).into_iter().filter(|&column| !is_number(kind(column))).collect();
        if let Some(&first) = others.first() {
            let what = if is_text(kind(first)) {
                "text".to_owned()
            } else {
                format!("{} values, not numbers", short_type(kind(first)))
            };
            if !can_be_text(kind(first)) {
                return refused(first, format!("holds {what}; leave the column out").into());
            }
            let labels = others.iter().filter(|&&column| can_be_text(kind(column)));
            let labels = labels.map(|&column| schema.field(column).name().clone()).collect();
            let advice = Phrase::new("exclude such columns with ");
            let advice = advice.setting(option_names::LABELS, OptionValue::Texts(labels));
            let cause = Cause::TextColumns(format!("holds {what}"), advice);
            return Err(Error::at(path, place(schema, None, first), cause));
        }
        if !self.roles.contains(&Role::Value) {
            let message = "no column of numbers is left; each is excluded";
            return Err(Error::new(path, Cause::format(message.to_owned())));
        }
        Ok(())
    }
}

/// The place of a column, or of one cell with its row from zero.
pub(crate) fn place(schema: &Schema, row: Option<usize>, column: usize) -> Place {
    Place {
        line: None,
        row: row.map(|row| row as u64 + 1),
        column: Some(column as u64 + 1),
        name: Some(schema.field(column).name().clone()),
    }
}

/// The columns in which pandas stored its index: those named in its metadata, and those with its default names.
fn pandas_index(schema: &Schema, names: &[String]) -> Vec<usize> {
    let metadata = schema.metadata().get("pandas").and_then(|text| serde_json::from_str(text).ok());
    let listed: Vec<String> = metadata
        .as_ref()
        .and_then(|value: &serde_json::Value| value["index_columns"].as_array())
        .map(|columns| columns.iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect())
        .unwrap_or_default();
    let is_index = |name: &str| {
        listed.iter().any(|index| index == name)
            || (name.starts_with("__index_level_") && name.ends_with("__"))
    };
    (0..names.len()).filter(|&column| is_index(&names[column])).collect()
}

/// Returns true if a column becomes numbers. So does a column of nulls, all of them missing values.
pub(crate) fn is_number(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_number(values),
        DataType::Null | DataType::Boolean => true,
        _ => kind.is_numeric(),
    }
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_text(values),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        _ => false,
    }
}

fn can_be_text(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => can_be_text(values),
        _ => is_text(kind) || is_number(kind) || kind.is_temporal(),
    }
}

/// The type without its parameters: `Timestamp` for `Timestamp(ns, "UTC")`.
fn short_type(kind: &DataType) -> String {
    let text = kind.to_string();
    text.split('(').next().unwrap_or(&text).to_owned()
}
