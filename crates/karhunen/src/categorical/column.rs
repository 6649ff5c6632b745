//! Columns of tables of categories and numbers.

use std::collections::{BTreeSet, HashMap};

use crate::error::{CategoryFault, Error, Result};

/// More categories than this in more than half of the rows are a sign of ids or measurements.
const MANY_CATEGORIES: usize = 20;

/// True if a column has so many categories for its number of rows that it probably holds ids or measurements.
pub fn are_many_categories(n_categories: usize, n_rows: usize) -> bool {
    n_categories > MANY_CATEGORIES.max(n_rows / 2)
}

/// A column of a table: its name, and a number or a category for each row.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: ColumnValues,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValues {
    /// A finite number for each row.
    Numbers(Vec<f64>),
    /// A category for each row.
    Categories {
        /// The names of the categories, in the order of results. A fit leaves out those that no row has.
        names: Vec<String>,
        /// The position of the category of each row in `names`; `None` if the row lacks a value.
        codes: Vec<Option<u32>>,
    },
}

impl Column {
    /// A column of numbers.
    pub fn of_numbers(name: impl Into<String>, values: Vec<f64>) -> Self {
        Self { name: name.into(), values: ColumnValues::Numbers(values) }
    }

    /// A column of categories by their names, which are sorted; `None` is a missing value.
    pub fn of_texts<'a>(name: impl Into<String>, texts: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        let texts: Vec<Option<&str>> = texts.into_iter().collect();
        let names: BTreeSet<&str> = texts.iter().flatten().copied().collect();
        let places: HashMap<&str, u32> = names.iter().copied().zip(0..).collect();
        let codes = texts.iter().map(|text| text.map(|text| places[text])).collect();
        let names = names.into_iter().map(str::to_owned).collect();
        Self { name: name.into(), values: ColumnValues::Categories { names, codes } }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        match &self.values {
            ColumnValues::Numbers(values) => values.len(),
            ColumnValues::Categories { codes, .. } => codes.len(),
        }
    }

    /// The numbers of the column.
    ///
    /// # Errors
    /// [`Error::Categories`] for a column of categories, and for a number that is not finite.
    pub(super) fn numbers(&self) -> Result<&[f64]> {
        let ColumnValues::Numbers(values) = &self.values else {
            return Err(self.of_other_kind("categories", "numbers"));
        };
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(values),
            Some(row) => {
                let (column, value) = (self.name.clone(), values[row]);
                Err(Error::Categories(CategoryFault::Number { column, row, value }))
            }
        }
    }

    /// The names of the categories and the codes of the rows.
    ///
    /// # Errors
    /// [`Error::Categories`] for a column of numbers, and for a code without a name.
    pub(super) fn categories(&self) -> Result<(&[String], &[Option<u32>])> {
        let ColumnValues::Categories { names, codes } = &self.values else {
            return Err(self.of_other_kind("numbers", "categories"));
        };
        match codes.iter().position(|code| code.is_some_and(|code| code as usize >= names.len())) {
            None => Ok((names, codes)),
            Some(row) => {
                let (column, code) = (self.name.clone(), codes[row].unwrap_or_default());
                Err(Error::Categories(CategoryFault::Code { column, row, code, n_names: names.len() }))
            }
        }
    }

    fn of_other_kind(&self, found: &'static str, expected: &'static str) -> Error {
        Error::Categories(CategoryFault::Kind { column: self.name.clone(), found, expected })
    }
}

/// Returns the number of rows of a table.
///
/// # Errors
/// [`Error::Shape`] for columns of different length; [`Error::Categories`] for two columns with the same name.
pub(super) fn n_rows(columns: &[Column]) -> Result<usize> {
    let n = columns.first().map_or(0, Column::n_rows);
    if let Some(other) = columns.iter().find(|column| column.n_rows() != n) {
        return Err(Error::Shape { what: "a column", axis: "values", found: other.n_rows(), expected: n });
    }
    check_unique(columns.iter().map(|column| column.name.as_str()))?;
    Ok(n)
}

/// Refuses a name that repeats.
///
/// # Errors
/// [`Error::Categories`].
pub(super) fn check_unique<'a>(names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Error::Categories(CategoryFault::Twice { name: name.to_owned() }));
        }
    }
    Ok(())
}
