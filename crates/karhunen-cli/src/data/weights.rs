//! The weights of a fit, and the origin of the row weights.

use std::path::{Path, PathBuf};

use karhunen::{Weighting, Weights};

use crate::data::dataset::Dataset;
use crate::error::{Failure, Result, with_flags};
use crate::files::paths::{input_name, is_standard};

/// Weights of rows and columns, and the origin of the row weights.
pub(crate) struct FitWeights {
    samples: Option<Vec<f64>>,
    features: Option<Vec<f64>>,
    origin: Option<String>,
}

impl FitWeights {
    /// Reads the files of weights; a column of weights was read with the table.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a name of both a file and a column; same errors as [`karhunen_io::read_weights`].
    pub(crate) fn read(
        samples: Option<&Path>,
        column: Option<&str>,
        features: Option<&Path>,
        dataset: &Dataset,
    ) -> Result<Self> {
        let (n, p) = dataset.table.data.shape();
        let features = match features {
            Some(path) => Some(karhunen_io::read_weights(path, Some(p))?),
            None => None,
        };
        let table = &dataset.table;
        let labels = table.labels.iter().map(|label| &label.name);
        let columns = table.feature_names.iter().flatten().chain(labels);
        let data = (&dataset.file[..], n);
        let (samples, origin) =
            sample_weights((samples, column), table.weights.clone(), data, columns)?.unzip();
        Ok(Self { samples, features, origin })
    }

    /// Borrows the weights for a fit.
    pub(crate) fn lend(&self) -> Weights<'_> {
        Weights { samples: self.samples.as_deref(), features: self.features.as_deref() }
    }

    /// The note on row weights of this meaning, if there is one.
    pub(crate) fn note(&self, weighting: Weighting) -> Option<String> {
        self.samples.as_deref().and_then(|weights| note(weights, weighting))
    }

    /// The origin of the row weights, if there are any.
    pub(crate) fn origin(&self) -> Option<&str> {
        self.samples.as_ref().and(self.origin.as_deref())
    }
}

/// The note on weights of this meaning, if there is one.
pub(crate) fn note(weights: &[f64], weighting: Weighting) -> Option<String> {
    with_flags(weighting.note(weights).as_slice()).pop()
}

/// Weights of the rows of a fit, for a command that reads them again.
pub(crate) struct RowWeights {
    pub(crate) column: Option<String>,
    pub(crate) file: Option<PathBuf>,
}

impl RowWeights {
    /// The column or the file that an argument names.
    pub(crate) fn of(argument: Option<&PathBuf>) -> Self {
        let (column, file) = column_or_file(argument.cloned());
        Self { column, file }
    }

    /// Returns true if there are weights.
    pub(crate) fn are_given(&self) -> bool {
        self.column.is_some() || self.file.is_some()
    }

    /// Refuses weights of rows that are triples.
    ///
    /// # Errors
    /// [`Failure::Usage`].
    pub(crate) fn check_not_of_triples(&self) -> Result<()> {
        if self.are_given() {
            let advice = "entries have weights: --triples ROW,COLUMN,VALUE,WEIGHT";
            return Err(Failure::Usage(format!("--weights does not go with --triples: {advice}")));
        }
        Ok(())
    }

    /// The weights of a table that was read with the column.
    ///
    /// # Errors
    /// As [`FitWeights::read`].
    pub(crate) fn of_table(&self, dataset: &Dataset) -> Result<FitWeights> {
        FitWeights::read(self.file.as_deref(), self.column.as_deref(), None, dataset)
    }
}

/// Resolves an argument to a file if one of this name exists, otherwise to a column.
pub(crate) fn column_or_file(argument: Option<PathBuf>) -> (Option<String>, Option<PathBuf>) {
    match argument {
        Some(path) if is_standard(Some(&path)) || (path.exists() && !path.is_dir()) => (None, Some(path)),
        Some(name) => (Some(name.to_string_lossy().into_owned()), None),
        None => (None, None),
    }
}

/// The weights of `n` rows and their origin: a separate file, or the column that was read as weights; `columns`
/// are the names of the other columns.
///
/// # Errors
/// [`Failure::Usage`] for a name of both a file and a column; same errors as [`karhunen_io::read_weights`].
pub(crate) fn sample_weights<'a>(
    (file, column): (Option<&Path>, Option<&str>),
    of_column: Option<Vec<f64>>,
    (data, n): (&str, usize),
    mut columns: impl Iterator<Item = &'a String>,
) -> Result<Option<(Vec<f64>, String)>> {
    if let Some(path) = file {
        // A name of both a file and a column is ambiguous.
        if columns.any(|name| path.as_os_str() == name.as_str()) {
            let name = path.display();
            return Err(Failure::Usage(format!(
                "--weights {name} is both a file and a column of {data}; write ./{name} for the file, or rename it"
            )));
        }
        return Ok(Some((karhunen_io::read_weights(path, Some(n))?, input_name(path))));
    }
    let origin = column.map(|column| format!("column `{column}`"));
    Ok(of_column.zip(origin))
}
