//! The weights of a fit, and where those of the rows came from.

use std::path::{Path, PathBuf};

use karhunen::Weights;

use crate::dataset::Dataset;
use crate::error::{Failure, Result};
use crate::plan::{input_name, is_standard};

/// Weights of rows and columns, and where those of the rows came from.
pub(crate) struct FitWeights {
    samples: Option<Vec<f64>>,
    features: Option<Vec<f64>>,
    origin: Option<String>,
}

impl FitWeights {
    /// Reads the files of weights; a column of weights was read with the table.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a name that is both a file and a column; those of [`karhunen_io::read_weights`].
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
        let (samples, origin) = match (samples, column) {
            (Some(path), _) => {
                refuse_ambiguous(path, dataset)?;
                (Some(karhunen_io::read_weights(path, Some(n))?), Some(input_name(path)))
            }
            (None, Some(column)) => (dataset.table.weights.clone(), Some(format!("column `{column}`"))),
            (None, None) => (None, None),
        };
        Ok(Self { samples, features, origin })
    }

    /// As a fit takes them.
    pub(crate) fn lend(&self) -> Weights<'_> {
        Weights { samples: self.samples.as_deref(), features: self.features.as_deref() }
    }

    /// Where the weights of the rows came from, if there are any.
    pub(crate) fn origin(&self) -> Option<&str> {
        self.samples.as_ref().and(self.origin.as_deref())
    }
}

/// A column of the data, or a file: a file if there is one of this name.
pub(crate) fn column_or_file(argument: Option<PathBuf>) -> (Option<String>, Option<PathBuf>) {
    match argument {
        Some(path) if is_standard(Some(&path)) || (path.exists() && !path.is_dir()) => (None, Some(path)),
        Some(name) => (Some(name.to_string_lossy().into_owned()), None),
        None => (None, None),
    }
}

/// What is both a file and a column could be meant as either.
fn refuse_ambiguous(path: &Path, dataset: &Dataset) -> Result<()> {
    let table = &dataset.table;
    let mut columns =
        table.feature_names.iter().flatten().chain(table.labels.iter().map(|label| &label.name));
    if columns.any(|name| path.as_os_str() == name.as_str()) {
        let name = path.display();
        return Err(Failure::Usage(format!(
            "--weights {name} is both a file and a column of {}; write ./{name} for the file, or rename it",
            dataset.file
        )));
    }
    Ok(())
}
