//! Errors of the engine as messages that name R's arguments, and count rows and columns from one.

use std::io::ErrorKind;

use karhunen::Error;
use karhunen::error::{Advice, OptionName, OptionValue, Surface, Weighed, options};
use karhunen_io::{Cause, option_names, similar_file};
use savvy::NotAvailableValue;

use crate::call::Call;

impl Call {
    /// The R error of an error of the engine.
    pub(crate) fn error(&self, error: &Error) -> savvy::Error {
        savvy::Error::GeneralError(self.message_of(error))
    }

    /// The R error of a file that cannot be read.
    pub(crate) fn file_error(&self, error: &karhunen_io::Error) -> savvy::Error {
        let hint = match &*error.cause {
            Cause::LeftOut { what, feature } => {
                let way = match *feature {
                    "columnar" if *what == "Arrow" => "use arrow::read_feather()",
                    "columnar" => "use arrow::read_parquet()",
                    "hdf5" => "use rhdf5::h5read(), or anndata::read_h5ad() for an AnnData",
                    "zarr" => "use Rarr::read_zarr_array(), or anndata::read_zarr() for an AnnData",
                    _ if *what == "zstd" => "unpack it with the program zstd",
                    _ => "unpack it, a text with writeLines(readLines(path), file)",
                };
                let path = error.path.display();
                return savvy::Error::GeneralError(format!("{path}: kh_read() does not read {what}; {way}"));
            }
            Cause::Io { source, .. } if source.kind() == ErrorKind::NotFound => similar_file(&error.path),
            _ => None,
        };
        let hint = hint.map_or_else(String::new, |path| format!("; did you mean {}?", path.display()));
        savvy::Error::GeneralError(error.text_for(self) + &hint)
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
            options::SAMPLE_WEIGHTS | option_names::WEIGHTS_COLUMN => "weights",
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
            _ => format!("{} = {}", self.argument(option), value_of(option, value)),
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
fn value_of(option: OptionName, value: &OptionValue) -> String {
    match (option, value) {
        (option_names::SKIP, OptionValue::Text(lines)) => match lines.split_once('-') {
            Some((first, last)) => format!("c({first}, {last})"),
            None => lines.clone(),
        },
        _ => literal(value),
    }
}

/// A value as R writes it.
fn literal(value: &OptionValue) -> String {
    match value {
        OptionValue::Name { name, .. } => format!("\"{name}\""),
        OptionValue::Text(text) => format!("\"{}\"", text.escape_debug()),
        OptionValue::Texts(texts) => {
            let texts: Vec<String> =
                texts.iter().map(|text| format!("\"{}\"", text.escape_debug())).collect();
            if let [text] = &texts[..] { text.clone() } else { format!("c({})", texts.join(", ")) }
        }
        OptionValue::Flag(true) => "TRUE".to_owned(),
        OptionValue::Flag(false) => "FALSE".to_owned(),
        OptionValue::All | OptionValue::NotGiven => "NULL".to_owned(),
        value => value.to_string(),
    }
}
