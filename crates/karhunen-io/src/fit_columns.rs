//! The columns of the fitted table, as recorded in a model file.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use crate::model_file::ModelFile;
use crate::{Cause, Error, FittedTable, ReadOptions, Result};

/// Adds the known columns to the metadata.
pub(crate) fn insert(
    metadata: &mut BTreeMap<String, String>,
    feature_names: Option<&[String]>,
    set_aside: &[String],
    id_column: Option<&str>,
) {
    if let Some(names) = feature_names {
        metadata.insert("feature_names".to_owned(), json!(names).to_string());
    }
    if !set_aside.is_empty() {
        metadata.insert("set_aside".to_owned(), json!(set_aside).to_string());
    }
    if let Some(name) = id_column {
        metadata.insert("id_column".to_owned(), json!(name).to_string());
    }
}

/// The feature names, if recorded.
///
/// # Errors
/// [`Cause::Format`] for names that are damaged or of the wrong number.
pub(crate) fn feature_names(path: &Path, file: &ModelFile, n_features: usize) -> Result<Option<Vec<String>>> {
    let names: Option<Vec<String>> = file.optional_json(path, "feature_names")?;
    match names {
        Some(names) if names.len() != n_features => {
            let message = format!(
                "the model has {n_features} features and {} names; it is damaged, fit it again",
                names.len()
            );
            Err(Error::new(path, Cause::Format(message)))
        }
        names => Ok(names),
    }
}

/// The columns that are not features, by name.
///
/// # Errors
/// [`Cause::Format`] for damage.
pub(crate) fn set_aside(path: &Path, file: &ModelFile) -> Result<Vec<String>> {
    Ok(file.optional_json(path, "set_aside")?.unwrap_or_default())
}

/// The column requested to name the rows.
///
/// # Errors
/// [`Cause::Format`] for damage.
pub(crate) fn id_column(path: &Path, file: &ModelFile) -> Result<Option<String>> {
    file.optional_json(path, "id_column")
}

/// Options that exclude the columns that were not features of the fit, and name rows and columns like the fit.
pub(crate) fn read_options(options: ReadOptions, fitted: FittedTable) -> ReadOptions {
    ReadOptions { fitted: Some(fitted), ..options }
}
