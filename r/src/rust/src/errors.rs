//! Errors of the engine as messages that name R's arguments, and count rows and columns from one.

use karhunen::Error;
use karhunen::error::{Advice, OptionName, OptionValue, Surface, Weighed, options};
use savvy::NotAvailableValue;

use crate::call::Call;

impl Call {
    /// The R error of an error of the engine.
    pub(crate) fn error(&self, error: &Error) -> savvy::Error {
        savvy::Error::GeneralError(self.message_of(error))
    }

    fn message_of(&self, error: &Error) -> String {
        match *error {
            Error::NComponents { requested, min, max, n_samples, n_features } => format!(
                "{} = {requested} must be between {min} and {max} for data of {n_samples} rows and {n_features} columns",
                self.option(options::N_COMPONENTS)
            ),
            Error::VarianceFraction { fraction } => {
                format!("variance = {fraction} must be greater than 0 and at most 1")
            }
            Error::NonFinite { row, column, value } if value.is_na() => {
                let (row, column) = (self.row(row), self.column(column));
                format!("{row}, {column} is NA; remove or impute it, or {}", self.fit_missing())
            }
            Error::WeightLength { of, found, expected } => {
                let lines = if of == Weighed::Samples { "rows" } else { "columns" };
                format!("{} has {found} entries; x has {expected} {lines}", self.option(of.option()))
            }
            Error::WeightValue { of, index, value } => format!(
                "{}[{}] is {value}; a weight must be finite and not negative",
                self.option(of.option()),
                index + 1
            ),
            Error::WeightsAllZero { of, n } => {
                format!(
                    "{}: all {n} entries are zero; at least one must be positive",
                    self.option(of.option())
                )
            }
            _ => error.text_for(self),
        }
    }

    /// The remedy for components that missed the tolerance; empty if none missed it.
    pub(crate) fn advice(&self, advice: Option<&Advice>) -> String {
        advice.map_or_else(String::new, |advice| advice.text_for(self))
    }

    /// The R argument of an option of the engine.
    pub(crate) fn argument(&self, option: OptionName) -> &'static str {
        let pca = self.function == "kh_pca";
        match option {
            options::N_COMPONENTS if pca => "rank.",
            options::N_COMPONENTS => "ncomp",
            options::SCALE => "scale.",
            options::SAMPLE_WEIGHTS => "weights",
            options::FEATURE_WEIGHTS => "column_weights",
            options::N_THREADS => "threads",
            options::TOL if pca => "residual_tol",
            option => option.field(),
        }
    }
}

impl Surface for Call {
    fn option(&self, option: OptionName) -> String {
        self.argument(option).to_owned()
    }

    fn setting(&self, option: OptionName, value: &OptionValue) -> String {
        match value {
            OptionValue::Given => self.option(option),
            _ => format!("{} = {}", self.argument(option), literal(value)),
        }
    }

    fn row(&self, row: usize) -> String {
        format!("row {}", row + 1)
    }

    fn column(&self, column: usize) -> String {
        match self.columns.as_ref().and_then(|names| names.get(column)) {
            Some(name) => format!("column {} ({name})", column + 1),
            None => format!("column {}", column + 1),
        }
    }

    fn fit_missing(&self) -> &'static str {
        "use kh_impute(), which takes missing values"
    }
}

/// A value of an option as R writes it.
fn literal(value: &OptionValue) -> String {
    match value {
        OptionValue::Name { name, .. } => format!("\"{name}\""),
        OptionValue::Text(text) => format!("\"{}\"", text.escape_debug()),
        OptionValue::Flag(true) => "TRUE".to_owned(),
        OptionValue::Flag(false) => "FALSE".to_owned(),
        OptionValue::All | OptionValue::NotGiven => "NULL".to_owned(),
        value => value.to_string(),
    }
}
