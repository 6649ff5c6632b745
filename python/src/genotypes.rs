//! Genotypes: variants that do not match, results in the files of PLINK 2.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use karhunen::pca::Transform;
use karhunen::{Matrix, PcaModel, Result, Run, Source};
use karhunen_io::genotypes::{FORMAT, PlinkTables, unmatched};
use karhunen_io::{Data, ReadOptions, publish, read};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::{file_to_python, to_python};
use crate::model::Model;
use crate::model_class::ModelClass;
use crate::observer::{Effort, run};

/// A variant that a file lacks: the number of its column, its name, the reason, and the alleles in the file.
type Unmatched = (usize, String, &'static str, Option<String>);

/// The variants of a model, which has these columns, that a .bed file lacks.
#[pyfunction]
pub(crate) fn unmatched_variants(
    py: Python<'_>,
    bed: PathBuf,
    names: Vec<String>,
    flip_strand: bool,
) -> PyResult<Vec<Unmatched>> {
    let list = py.detach(|| unmatched(&bed, &names, flip_strand)).map_err(file_to_python)?;
    Ok(list.into_iter().map(|one| (one.column, one.name, one.reason.text(), one.found)).collect())
}

/// Writes the files of PLINK 2 of a model of the genotypes in `bed`, and returns their paths.
#[pyfunction]
pub(crate) fn write_plink(
    py: Python<'_>,
    model: &Model,
    bed: PathBuf,
    prefix: PathBuf,
    n_threads: Option<usize>,
) -> PyResult<Vec<PathBuf>> {
    let model = Arc::clone(model.core());
    let paths = PlinkTables::paths(&prefix).to_vec();
    let written = run(py, Effort::new(Effort::LONG, n_threads), None, move |run| {
        Ok(write(&model, &bed, &prefix, run))
    })?;
    written?;
    Ok(paths)
}

fn write(model: &PcaModel, bed: &Path, prefix: &Path, run: &Run<'_>) -> PyResult<()> {
    let table = read(bed, &ReadOptions { n_threads: run.n_threads, ..ReadOptions::default() })
        .map_err(file_to_python)?;
    if table.format != FORMAT {
        return Err(PyValueError::new_err(format!(
            "{}: is {}, not a PLINK .bed file",
            bed.display(),
            table.format
        )));
    }
    let (found, expected) = (table.data.shape(), (model.n_samples(), model.n_features()));
    if found != expected {
        return Err(PyValueError::new_err(format!(
            "{}: has {} samples and {} variants, and the model {} and {}; give the file of the fit",
            bed.display(),
            found.0,
            found.1,
            expected.0,
            expected.1
        )));
    }
    let Data::F32(values) = &table.data else { unreachable!("genotypes are read as f32") };
    let scores = values.source().and_then(|source| project(model, &*source, run)).map_err(to_python)?;
    let tables = PlinkTables::new(bed, model, &scores).map_err(file_to_python)?;
    let staged: karhunen_io::Result<Vec<_>> = tables.stage(prefix).into_iter().collect();
    staged.and_then(|staged| publish(staged, false)).map_err(file_to_python)
}

fn project(model: &PcaModel, source: &dyn Source<f32>, run: &Run<'_>) -> Result<Matrix<f32>> {
    model.transform_with(source, Transform::default(), run)
}
