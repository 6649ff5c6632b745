//! How to read a table: everything is detected, and everything detected can be overridden.

use karhunen::More;
use karhunen::error::{OptionName, Phrase};
use std::path::{Path, PathBuf};

use karhunen::Run;

use crate::name_rule::FittedTable;
use crate::option_names;
use crate::{Cause, Error, Result};

/// Options of [`crate::read`]. What a format has no use for is refused, not ignored.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Between the fields of a text table; detected among comma, semicolon, tab, bar and blanks if `None`. A blank
    /// stands for any run of blanks and tabs.
    pub delimiter: Option<u8>,
    /// Whether a text table begins with names; detected if `None`.
    pub header: Option<bool>,
    /// The column that names the rows.
    pub row_names: RowNames,
    /// Columns to set aside, by name or (counted from 1, where there are no names) by number.
    pub labels: Vec<String>,
    /// What the model that the table is read for knows of the table that it was fitted to: it settles what would otherwise be
    /// detected, and columns that were no features are left out where they exist.
    pub fitted: Option<FittedTable>,
    /// A column of weights to set aside as numbers, by name or (counted from 1, where there are no names) by number.
    pub weights_column: Option<String>,
    /// A text file with a name for each feature, one on each line, instead of names that the data may hold.
    pub feature_names: Option<PathBuf>,
    /// The same for the rows.
    pub sample_names: Option<PathBuf>,
    /// Whether a comma separates the decimals; detected if `None`.
    pub decimal_comma: Option<bool>,
    /// Swap rows and columns of a Matrix Market file or of an array (10x Genomics files hold genes in rows).
    pub transpose: bool,
    /// Which array of an NPZ archive to read; the only one if `None`.
    pub array: Option<String>,
    /// Most bytes that a compressed file or a member of an archive may hold once it is unpacked; 16 GiB if `None`.
    pub max_unpacked: Option<u64>,
    /// Values may be missing: they become NaN, and entries of sparse matrices that are there twice are refused rather than
    /// added up.
    pub missing: bool,
    /// Threads for reading; those of the current rayon pool if `None`.
    pub n_threads: Option<usize>,
    #[doc(hidden)]
    pub more: More,
}

/// Which column names the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RowNames {
    /// That of the model, if it had one; otherwise the first column if it is text without repetition or has no name under a
    /// line of names, none else.
    #[default]
    Auto,
    /// No column.
    None,
    /// The column of this name, or (counted from 1, where there are no names) of this number.
    Column(String),
}

/// What a compressed file may hold unless the options say otherwise: a few bytes can claim to hold a disk full.
const MAX_UNPACKED: u64 = 16 << 30;

impl ReadOptions {
    /// The threads of reading, without an observer.
    pub(crate) fn run(&self) -> Run<'static> {
        Run { n_threads: self.n_threads, ..Run::default() }
    }

    /// Most bytes that a compressed file may hold.
    pub(crate) fn most_unpacked(&self) -> u64 {
        self.max_unpacked.unwrap_or(MAX_UNPACKED)
    }

    /// Refuses what was asked for and the format has no use for.
    ///
    /// # Errors
    /// [`Cause::Option`] for the first option that is set and not in `used`.
    pub(crate) fn allow_only(&self, path: &Path, format: &str, used: &[OptionName]) -> Result<()> {
        // Names from files of their own go with data of every format.
        self.refuse(
            path,
            format,
            &[used, &[option_names::FEATURE_NAMES, option_names::SAMPLE_NAMES]].concat(),
        )
    }

    /// The same for tables of triples, whose rows and columns are named by their ids.
    ///
    /// # Errors
    /// [`Cause::Option`] for the first option that is set and not in `used`.
    pub(crate) fn allow_for_triples(&self, path: &Path, used: &[OptionName]) -> Result<()> {
        self.refuse(path, "a table of triples", used)
    }

    /// The same for what is no data.
    ///
    /// # Errors
    /// [`Cause::Option`] for the first option that is set.
    pub(crate) fn allow_none(&self, path: &Path, format: &str) -> Result<()> {
        self.refuse(path, format, &[])
    }

    fn refuse(&self, path: &Path, format: &str, used: &[OptionName]) -> Result<()> {
        use option_names as O;
        let set = [
            (O::DELIMITER, self.delimiter.is_some(), "has no delimiter"),
            (O::HEADER, self.header.is_some(), "has no header line"),
            (O::ROW_NAMES, self.row_names != RowNames::Auto, "has no columns of text"),
            (O::LABELS, !self.labels.is_empty(), "has no columns to set aside"),
            (
                O::WEIGHTS_COLUMN,
                self.weights_column.is_some(),
                "has no columns to set aside: give a file of weights",
            ),
            (O::FEATURE_NAMES, self.feature_names.is_some(), "has its names"),
            (O::SAMPLE_NAMES, self.sample_names.is_some(), "has no rows"),
            (O::DECIMAL_COMMA, self.decimal_comma.is_some(), "has no decimal sign to choose"),
            (O::TRANSPOSE, self.transpose, "is read with its samples in rows"),
            (O::ARRAY, self.array.is_some(), "holds one table, not several arrays"),
        ];
        let Some((option, _, why)) =
            set.into_iter().find(|(name, is_set, _)| *is_set && !used.contains(name))
        else {
            return Ok(());
        };
        let message = Phrase::default().option(option);
        let message = match option {
            O::WEIGHTS_COLUMN => {
                message.text(format!(" with a column does not apply to {format}, which {why}"))
            }
            _ => message.text(format!(" does not apply to {format}, which {why}; leave it out")),
        };
        Err(Error::new(path, Cause::option(message)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_without_use_are_refused() {
        let options = ReadOptions { delimiter: Some(b';'), ..ReadOptions::default() };
        let path = Path::new("x.npy");
        assert_eq!(
            options.allow_only(path, "NPY", &[option_names::TRANSPOSE]).unwrap_err().to_string(),
            "x.npy: `delimiter` does not apply to NPY, which has no delimiter; leave it out"
        );
        assert!(options.allow_only(path, "CSV", &[option_names::DELIMITER]).is_ok());
        assert!(ReadOptions::default().allow_only(path, "NPY", &[]).is_ok());
    }
}
