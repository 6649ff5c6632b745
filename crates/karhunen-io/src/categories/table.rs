//! Tables of categories and numbers, and the kinds of their columns.

use karhunen::categorical::{Column, Variable};
use karhunen::error::Phrase;

/// The kinds of the columns of a table.
#[derive(Clone, Copy, Debug)]
pub enum ColumnKinds<'a> {
    /// All columns hold categories, integers too.
    Categories,
    /// Columns whose values are all numbers hold numbers, all others categories; Booleans and dictionaries hold
    /// categories.
    ByContent,
    /// As in a fit: columns with the name of a variable, or at its place if the table or the fit has no names.
    OfFit {
        /// The variables of the fit.
        variables: &'a [Variable],
        /// True if they have the names of columns.
        named: bool,
    },
}

impl ColumnKinds<'_> {
    /// The kind of a column by its name, if it has one, and by its place among the columns of values: true for numbers;
    /// `None` if the values decide.
    pub(crate) fn holds_numbers(&self, name: Option<&str>, place: usize) -> Option<bool> {
        match self {
            Self::Categories => Some(false),
            Self::ByContent => None,
            Self::OfFit { variables, named } => {
                let variable = match name.filter(|_| *named) {
                    Some(name) => variables.iter().find(|variable| variable.name() == name),
                    None => variables.get(place),
                };
                Some(variable.is_some_and(|variable| variable.categories().is_none()))
            }
        }
    }
}

/// A table of categories and numbers as read from a file.
#[derive(Debug)]
pub struct CategoryTable {
    /// The columns, with the names `x1`, `x2`, … if the table has none. Missing numbers are NaN. Texts are sorted,
    /// numbers among them by value; dictionaries of Arrow and Parquet keep their order. An empty cell, a null, and a
    /// text that denotes a missing value in tables of numbers (such as NA) are missing values.
    pub columns: Vec<Column>,
    /// Number of rows.
    pub n_rows: usize,
    /// True if the columns have names of their own.
    pub has_names: bool,
    /// One name for each row, from an id column.
    pub sample_names: Option<Vec<String>>,
    /// The name of the id column, if the rows have names.
    pub id_name: Option<String>,
    /// Names of the columns excluded by [`crate::ReadOptions::labels`].
    pub labels: Vec<String>,
    /// The column excluded by [`crate::ReadOptions::weights_column`]: one number for each row.
    pub weights: Option<Vec<f64>>,
    /// The detected format.
    pub format: &'static str,
    /// Choices made automatically that may interest the user.
    pub notes: Vec<String>,
    /// Possible faults of the table. Each states a remedy.
    pub warnings: Vec<Phrase>,
}
