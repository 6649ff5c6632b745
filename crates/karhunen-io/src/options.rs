//! How to read a table: everything is detected, and everything detected can be overridden.

use std::path::{Path, PathBuf};

use crate::name_rule::FittedTable;
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
    /// Threads for parsing; all if `None`.
    pub n_threads: Option<usize>,
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

/// The options that only some formats have a use for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OptionName {
    Delimiter,
    Header,
    RowNames,
    Labels,
    WeightsColumn,
    FeatureNames,
    SampleNames,
    DecimalComma,
    Transpose,
    Array,
}

/// What a compressed file may hold unless the options say otherwise: a few bytes can claim to hold a disk full.
const MAX_UNPACKED: u64 = 16 << 30;

impl ReadOptions {
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
        self.refuse(path, format, &[used, &[OptionName::FeatureNames, OptionName::SampleNames]].concat())
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
        use OptionName as O;
        let set = [
            (O::Delimiter, self.delimiter.is_some(), "--delimiter", "has no delimiter"),
            (O::Header, self.header.is_some(), "--header", "has no header line"),
            (O::RowNames, self.row_names != RowNames::Auto, "--row-names", "has no columns of text"),
            (O::Labels, !self.labels.is_empty(), "--label", "has no columns to set aside"),
            (
                O::WeightsColumn,
                self.weights_column.is_some(),
                "--weights with a column",
                "has no columns to set aside: give a file of weights",
            ),
            (O::FeatureNames, self.feature_names.is_some(), "--feature-names", "has its names"),
            (O::SampleNames, self.sample_names.is_some(), "--sample-names", "has no rows"),
            (
                O::DecimalComma,
                self.decimal_comma.is_some(),
                "--decimal-comma",
                "has no decimal sign to choose",
            ),
            (O::Transpose, self.transpose, "--transpose", "is read with its samples in rows"),
            (O::Array, self.array.is_some(), "--array", "holds one table, not several arrays"),
        ];
        for (name, is_set, option, why) in set {
            if is_set && !used.contains(&name) {
                let advice = if name == O::WeightsColumn { "" } else { "; leave it out" };
                let message = format!("{option} does not apply to {format}, which {why}{advice}");
                return Err(Error::new(path, Cause::Option(message)));
            }
        }
        Ok(())
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
            options.allow_only(path, "NPY", &[OptionName::Transpose]).unwrap_err().to_string(),
            "x.npy: --delimiter does not apply to NPY, which has no delimiter; leave it out"
        );
        assert!(options.allow_only(path, "CSV", &[OptionName::Delimiter]).is_ok());
        assert!(ReadOptions::default().allow_only(path, "NPY", &[]).is_ok());
    }
}
