//! Faults of tables of categories and numbers.

use crate::error::phrase::Surface;

/// Categories listed in a message.
const LISTED: usize = 8;

/// The reason why a table of categories and numbers cannot be analysed. Columns are named as in the table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CategoryFault {
    /// A row has a category that no row of the fit had, or lacks a value where none of the fit did.
    Unknown {
        /// The column.
        column: String,
        /// The row.
        row: usize,
        /// The category; `None` for a missing value.
        found: Option<String>,
        /// The categories of the fit.
        known: Vec<String>,
    },
    /// A code is not a position among the names of the categories.
    Code {
        /// The column.
        column: String,
        /// The row.
        row: usize,
        /// The code.
        code: u32,
        /// Number of names.
        n_names: usize,
    },
    /// A number is missing or infinite.
    Number {
        /// The column.
        column: String,
        /// The row.
        row: usize,
        /// The value found.
        value: f64,
    },
    /// All rows with weight have the same number.
    Constant {
        /// The column.
        column: String,
    },
    /// The deviations of the numbers of a column are too large for numbers.
    Range {
        /// The column.
        column: String,
    },
    /// A column holds values of the other kind.
    Kind {
        /// The column.
        column: String,
        /// `"numbers"` or `"categories"`.
        found: &'static str,
        /// `"numbers"` or `"categories"`.
        expected: &'static str,
    },
    /// All columns hold values of one kind, and the analysis is of both.
    OneKind {
        /// `"numbers"` or `"categories"`.
        kind: &'static str,
        /// The analysis of that kind alone.
        instead: &'static str,
    },
    /// A column differs from the column of the fit at its place.
    OtherColumn {
        /// The place.
        place: usize,
        /// Its name.
        found: String,
        /// The name in the fit.
        expected: String,
    },
    /// Two columns, or two categories with their columns, have the same name.
    Twice {
        /// The name.
        name: String,
    },
    /// The rows with weight have no variance.
    Alike,
    /// A corrected eigenvalue is not defined.
    NoCorrection {
        /// The rule that the model breaks.
        rule: &'static str,
    },
}

impl CategoryFault {
    /// Formats the message for a surface.
    pub(super) fn text_for(&self, surface: &dyn Surface) -> String {
        match self {
            Self::Unknown { column, row, found, known } => {
                let found = match found {
                    Some(found) => format!("is `{found}`, which no row of the fit was"),
                    None => "lacks a value, and none of the fit did".to_owned(),
                };
                format!(
                    "column `{column}`: {} {found}; its categories are {}",
                    surface.row(*row),
                    list(known)
                )
            }
            Self::Code { column, row, code, n_names } => format!(
                "column `{column}`: {} has the code {code}, and the column has {n_names} categories",
                surface.row(*row)
            ),
            Self::Number { column, row, value } => format!(
                "column `{column}`: {} is {}; complete the numbers first, or leave such rows out",
                surface.row(*row),
                if value.is_nan() { "missing".to_owned() } else { value.to_string() }
            ),
            Self::Constant { column } => format!("column `{column}` is constant; leave it out"),
            Self::Range { column } => {
                format!(
                    "column `{column}`: deviations from the mean exceed the largest number; divide it by a constant"
                )
            }
            Self::Kind { column, found, expected } => {
                format!("column `{column}` holds {found}, and {expected} are expected there")
            }
            Self::OneKind { kind, instead } => {
                format!("all columns hold {kind}; use {instead}, or give columns of both kinds")
            }
            Self::OtherColumn { place, found, expected } => {
                format!("column {} is `{found}`, and was `{expected}` in the fit", place + 1)
            }
            Self::Twice { name } => {
                format!("`{name}` names two columns or two categories; rename a column or a category")
            }
            Self::Alike => "all rows are alike: there is nothing to analyse".to_owned(),
            Self::NoCorrection { rule } => format!("eigenvalues cannot be corrected: {rule}"),
        }
    }
}

/// Lists categories in a message.
fn list(names: &[String]) -> String {
    let mut listed: Vec<String> = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    if names.len() > LISTED {
        listed.push(format!("… ({} in all)", names.len()));
    }
    listed.join(", ")
}
