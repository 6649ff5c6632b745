//! Options for reading a table: every property of the file is detected, and can be given instead.

use std::path::{Path, PathBuf};

use karhunen::error::{OptionName, Phrase};
use karhunen::{More, Run};

use crate::fitted_table::FittedTable;
use crate::genotypes::options::GenotypeOptions;
use crate::option_names;
use crate::{Cause, Error, Result};

/// Normalisation of counts: each row is divided by its sum and multiplied by a target, and `ln(1 + x)` is taken, as by
/// `normalize_total` and `log1p` of scanpy. A row without counts stays zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Log1p {
    /// The target is the median of the sums of the rows that have counts.
    Median,
    /// The target.
    To(f64),
    /// The target of a fit, for rows that its model is applied to: these must be whole numbers, because others may be
    /// normalised already. [`Log1p::To`] takes all counts.
    OfFit(f64),
}

/// Options of [`crate::read`]. An option that the format does not use is refused, not ignored.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Delimiter of the fields of a text table, of one or a few characters; detected among comma, semicolon, tab, bar, `::`
    /// and blanks if `None`. A blank is any sequence of blanks and tabs.
    pub delimiter: Option<String>,
    /// If true, the first line of a text table holds names, if false, values. If `None`, its content decides, and a line that
    /// may be both is refused.
    pub header: Option<bool>,
    /// The lines of a text table that are comments.
    pub comment: Comment,
    /// Lines of a text table to leave out: the first ones, and others directly below the names.
    pub skip: Vec<SkippedLines>,
    /// Words and numbers that denote missing values in a text table, besides the empty cell, `NA`, `NaN`, `null` and
    /// the like.
    pub na: Vec<String>,
    /// The column that names the rows.
    pub row_names: RowNames,
    /// Columns of labels, which are not features, by name or, without names, by number from 1.
    pub labels: Vec<String>,
    /// The columns that are features, by name or, without names, by number from 1; all that no other option takes if empty.
    pub columns: Vec<String>,
    /// The fitted table, if the table is read for a model: its names are used instead of detection, and columns that were
    /// not features in the fit are left out.
    pub fitted: Option<FittedTable>,
    /// The column of weights, which is read as numbers but is not a feature, by name, or without names by number
    /// from 1.
    pub weights_column: Option<String>,
    /// A text file with one feature name on each line, which replace names in the data.
    pub feature_names: Option<PathBuf>,
    /// A text file with one row name on each line, which replace names in the data.
    pub sample_names: Option<PathBuf>,
    /// The decimal sign of a text table, a point or a comma. If `None`, the numbers decide, and numbers that may be read in
    /// two ways are refused.
    pub decimal: Option<char>,
    /// The sign that groups the thousands in a text table; a blank matches blanks of any width.
    pub thousands: Option<char>,
    /// Swap rows and columns of a text table, a Matrix Market file or an array (10x Genomics files hold genes in rows).
    pub transpose: bool,
    /// Name of the array to read from an NPZ archive, or of the genome in an HDF5 file of Cell Ranger; the only one if `None`.
    pub array: Option<String>,
    /// Layer of an AnnData to read instead of `X`; `raw` is its `raw.X`, if no layer has this name.
    pub layer: Option<String>,
    /// Column of `var` of an AnnData, true for the columns to read.
    pub mask: Option<String>,
    /// Normalisation of counts. If the table is read for a model, the normalisation of its fit is applied in any case.
    pub log1p: Option<Log1p>,
    /// Most bytes that a compressed file or a member of an archive may hold once it is unpacked; 16 GiB if `None`.
    pub max_unpacked: Option<u64>,
    /// If true, values may be missing: they are read as NaN, and entries that a sparse matrix holds twice are refused
    /// instead of added.
    pub missing: bool,
    /// Most bytes of values to hold in memory. The values of a larger table stay in the file, or, if it is a text, a sparse
    /// matrix or packed, in a temporary copy ([`crate::Values::InFile`]); Matrix Market arrays and Arrow streams are read
    /// whole. Unlimited if `None`.
    pub memory_limit: Option<u64>,
    /// The folder of temporary copies; the system's if `None`.
    pub cache_dir: Option<PathBuf>,
    /// How the variants of a PLINK .bed file are matched with the variants of [`ReadOptions::fitted`].
    pub genotypes: GenotypeOptions,
    /// Threads for reading; the threads of the current rayon pool if `None`.
    pub n_threads: Option<usize>,
    #[doc(hidden)]
    pub more: More,
}

/// The lines of a text table that are comments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Comment {
    /// Lines above the table that begin with `#`.
    #[default]
    Default,
    /// None.
    None,
    /// All lines that begin with this character of ASCII.
    Mark(u8),
}

/// Lines to leave out, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedLines {
    /// The first.
    pub first: u64,
    /// The last.
    pub last: u64,
}

/// The column of row names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RowNames {
    /// The column of the fit, if the table is read for a model that had one; otherwise the first column, if it is text
    /// without repetitions or has no name below a header; otherwise none.
    #[default]
    Auto,
    /// No column.
    None,
    /// The column of this name or, without names, of this number from 1.
    Column(String),
}

/// Default limit of the size after decompression, because a small file can expand to more than a disk holds.
const MAX_UNPACKED: u64 = 16 << 30;

impl ReadOptions {
    /// Returns the threads for reading, without an observer.
    pub(crate) fn run(&self) -> Run<'static> {
        Run { n_threads: self.n_threads, ..Run::default() }
    }

    /// Most bytes that a compressed file may hold.
    pub(crate) fn most_unpacked(&self) -> u64 {
        self.max_unpacked.unwrap_or(MAX_UNPACKED)
    }

    /// The folder of temporary copies.
    pub(crate) fn copies(&self) -> PathBuf {
        self.cache_dir.clone().unwrap_or_else(std::env::temp_dir)
    }

    /// Most bytes of values to hold in memory.
    pub(crate) fn most_held(&self) -> u64 {
        self.memory_limit.unwrap_or(u64::MAX)
    }

    /// Tests whether the values of a table of this shape stay in the file.
    pub(crate) fn stay_in_file(&self, (n_rows, n_cols): (usize, usize), value_bytes: usize) -> bool {
        self.memory_limit.is_some_and(|most| n_rows as f64 * n_cols as f64 * value_bytes as f64 > most as f64)
    }

    /// Tests whether a sparse matrix of `n_rows` rows and `n_entries` entries stays in a temporary copy.
    pub(crate) fn stay_in_copy(&self, n_rows: usize, n_entries: usize, value_bytes: usize) -> bool {
        // In memory, entries exist as read, by rows, and sorted.
        let of_entry = (4 * size_of::<u32>() + size_of::<u64>() + 3 * value_bytes) as f64;
        let bytes = 2.0 * 8.0 * n_rows as f64 + n_entries as f64 * of_entry;
        self.memory_limit.is_some_and(|most| bytes > most as f64)
    }

    /// Refuses options that are set but that the format does not use.
    ///
    /// # Errors
    /// [`Cause::Option`] for the first option that is set and not in `used`.
    pub(crate) fn allow_only(&self, path: &Path, format: &str, used: &[OptionName]) -> Result<()> {
        // Files of names, and the normalisation, apply to data of every format.
        self.refuse(
            path,
            format,
            &[used, &[option_names::FEATURE_NAMES, option_names::SAMPLE_NAMES, option_names::LOG1P]].concat(),
        )
    }

    /// The same for tables of triples, whose rows and columns are named by their ids.
    ///
    /// # Errors
    /// [`Cause::Option`] for the first option that is set and not in `used`.
    pub(crate) fn allow_for_triples(&self, path: &Path, used: &[OptionName]) -> Result<()> {
        self.refuse(path, "a table of triples", used)
    }

    /// The same for content that is not data.
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
            (O::COMMENT, self.comment != Comment::Default, "has no comments"),
            (O::SKIP, !self.skip.is_empty(), "has no lines"),
            (O::NA, !self.na.is_empty(), "has no words for missing values"),
            (O::LABELS, !self.labels.is_empty(), "has no columns to exclude"),
            (O::COLUMNS, !self.columns.is_empty(), "is read with all its columns"),
            (
                O::WEIGHTS_COLUMN,
                self.weights_column.is_some(),
                "has no column of weights: give the weights of the rows apart, in a file or as numbers",
            ),
            (O::FEATURE_NAMES, self.feature_names.is_some(), "has its names"),
            (O::SAMPLE_NAMES, self.sample_names.is_some(), "has no rows"),
            (O::DECIMAL, self.decimal.is_some(), "has no decimal sign to choose"),
            (O::THOUSANDS, self.thousands.is_some(), "groups no thousands"),
            (O::TRANSPOSE, self.transpose, "is read with its samples in rows"),
            (O::ARRAY, self.array.is_some(), "holds one table, not several arrays"),
            (O::LAYER, self.layer.is_some(), "has no layers"),
            (O::MASK, self.mask.is_some(), "has no table of its columns"),
            (O::LOG1P, self.log1p.is_some(), "holds no counts"),
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
        let options = ReadOptions { delimiter: Some(";".into()), ..ReadOptions::default() };
        let path = Path::new("x.npy");
        assert_eq!(
            options.allow_only(path, "NPY", &[option_names::TRANSPOSE]).unwrap_err().to_string(),
            "x.npy: `delimiter` does not apply to NPY, which has no delimiter; leave it out"
        );
        assert!(options.allow_only(path, "CSV", &[option_names::DELIMITER]).is_ok());
        assert!(ReadOptions::default().allow_only(path, "NPY", &[]).is_ok());
    }
}
