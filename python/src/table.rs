//! Tables in files, whose rows the engine reads itself.

use std::path::PathBuf;
use std::sync::Arc;

use karhunen::memory;
use karhunen_io::genotypes::GenotypeOptions;
use karhunen_io::{
    Comment, Data, FittedTable, Log1p, ReadOptions, RowNames, SkippedLines, Table, Values, read_tables,
};
use pyo3::prelude::*;

use crate::errors::{file_to_python, said};
use crate::observer::{Effort, run};

/// Of a model of genotypes: the means of the columns, and whether strands are flipped and variants may lack.
type Matched = (Option<Vec<f64>>, bool, bool);

/// Of files of cells: the layer, the mask, the genome, and whether counts are normalised, with the sum of each row if it
/// is given.
type Cells = (Option<String>, Option<String>, Option<String>, bool, Option<f64>);

/// The columns of a fitted file that are not features, the one that names the rows, and words for missing values.
type Besides = (Vec<String>, Option<String>, Vec<String>);

/// The table of a model: its number of columns, their names, what is besides them, the sum of each row to which counts were
/// normalised, and the variants.
type Fitted = (usize, Option<Vec<String>>, Besides, Option<f64>, Option<Matched>);

/// The options of `karhunen.read`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct TableOptions {
    delimiter: Option<String>,
    header: Option<bool>,
    decimal: Option<char>,
    thousands: Option<char>,
    /// "auto", no mark if `None`, or one.
    comment: Option<String>,
    skip: Vec<(u64, u64)>,
    na: Vec<String>,
    /// "auto", none if `None`, or a column.
    row_names: Option<String>,
    labels: Vec<String>,
    columns: Vec<String>,
    weights: Option<String>,
    transpose: bool,
    array: Option<String>,
    max_unpacked: Option<u64>,
}

impl TableOptions {
    fn apply(self, options: ReadOptions) -> ReadOptions {
        let comment = match self.comment.as_deref().map(str::as_bytes) {
            Some(b"auto") => Comment::Default,
            Some([mark, ..]) => Comment::Mark(*mark),
            Some([]) | None => Comment::None,
        };
        ReadOptions {
            delimiter: self.delimiter,
            header: self.header,
            decimal: self.decimal,
            thousands: self.thousands,
            comment,
            skip: self.skip.into_iter().map(|(first, last)| SkippedLines { first, last }).collect(),
            na: self.na,
            row_names: match self.row_names {
                Some(name) if name == "auto" => RowNames::Auto,
                Some(name) => RowNames::Column(name),
                None => RowNames::None,
            },
            labels: self.labels,
            columns: self.columns,
            weights_column: self.weights,
            transpose: self.transpose,
            array: self.array,
            max_unpacked: self.max_unpacked,
            ..options
        }
    }
}

/// A table of files. Values beyond the memory limit stay in the files.
#[pyclass(frozen, module = "karhunen._core")]
pub(crate) struct FileTable {
    data: SharedData,
    feature_names: Option<Vec<String>>,
    sample_names: Option<Vec<String>>,
    log1p: Option<f64>,
    labels: Vec<(String, Vec<String>)>,
    weights: Option<Vec<f64>>,
    set_aside: Vec<String>,
    id_column: Option<String>,
    na: Vec<String>,
    warnings: Vec<String>,
}

#[pymethods]
impl FileTable {
    /// Opens files and folders as one table. Values that need more than half of `memory_limit` bytes, by default half of
    /// the machine's memory, stay in the files. With `missing`, values may be missing, and values that need more than a
    /// sixteenth of `memory_limit` stay in the files, because the observed entries take the memory. `cells` has the options
    /// of files of cells, `table` those of `karhunen.read`, and `fitted` the table of a model that the rows are read for.
    #[new]
    #[pyo3(signature = (paths, memory_limit, cache_dir, n_threads, missing, cells=None, fitted=None, table=None))]
    #[expect(clippy::too_many_arguments, reason = "the arguments of Python's class")]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        memory_limit: Option<u64>,
        cache_dir: Option<PathBuf>,
        n_threads: Option<usize>,
        missing: bool,
        cells: Option<Cells>,
        fitted: Option<Fitted>,
        table: Option<TableOptions>,
    ) -> PyResult<Self> {
        let most = memory::limit(memory_limit).bytes / if missing { 16.0 } else { 2.0 };
        let memory_limit = Some(most as u64);
        let mut options = ReadOptions { memory_limit, cache_dir, missing, ..ReadOptions::default() };
        let of_cells = cells.is_some();
        if let Some((layer, mask, array, is_log1p, target)) = cells {
            let log1p = is_log1p.then(|| target.map_or(Log1p::Median, Log1p::To));
            options = ReadOptions { layer, mask, array, log1p, ..options };
        }
        let of_table = table.is_some();
        if let Some(table) = table {
            options = table.apply(options);
        }
        if let Some((n_features, feature_names, (set_aside, id_column, na), log1p, matched)) = fitted {
            let of_columns = id_column.is_some() || !set_aside.is_empty() || !na.is_empty();
            if of_table || of_cells || matched.is_some() || of_columns {
                let score_names = Vec::new();
                options.fitted = Some(FittedTable {
                    feature_names,
                    n_features,
                    set_aside,
                    id_column,
                    na,
                    log1p,
                    score_names,
                });
            } else {
                options.log1p = log1p.map(Log1p::OfFit);
            }
            if let Some((means, flip_strand, allow_unmatched)) = matched {
                options.genotypes =
                    GenotypeOptions { flip_strand, allow_unmatched, means, ..GenotypeOptions::default() };
            }
        }
        let (weights_column, na) = (options.weights_column.clone(), options.na.clone());
        let id_column = match &options.row_names {
            RowNames::Column(name) => Some(name.clone()),
            RowNames::Auto | RowNames::None => None,
        };
        let table = run(py, Effort::new(Effort::LONG, n_threads), None, move |run| {
            let options = ReadOptions { n_threads: run.n_threads, ..options };
            Ok(read_tables(&paths, &options))
        })?;
        let Table { data, feature_names, sample_names, log1p, labels, left_out, weights, warnings, .. } =
            table.map_err(file_to_python)?;
        let names = labels.iter().map(|label| &label.name).chain(&left_out).chain(&weights_column);
        let set_aside = names.cloned().collect();
        let labels = labels.into_iter().map(|label| (label.name, label.values)).collect();
        let warnings = warnings.iter().map(said).collect();
        let data = SharedData(Arc::new(data));
        Ok(Self {
            data,
            feature_names,
            sample_names,
            log1p,
            labels,
            weights,
            set_aside,
            id_column,
            na,
            warnings,
        })
    }

    /// (n_samples, n_features).
    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.data.data().shape()
    }

    /// `"f32"` or `"f64"`.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.data.data().dtype()
    }

    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        self.feature_names.clone()
    }

    #[getter]
    fn set_aside(&self) -> Vec<String> {
        self.set_aside.clone()
    }

    #[getter]
    fn id_column(&self) -> Option<String> {
        self.id_column.clone()
    }

    #[getter]
    fn na(&self) -> Vec<String> {
        self.na.clone()
    }

    /// One name for each row.
    #[getter]
    fn sample_names(&self) -> Option<Vec<String>> {
        self.sample_names.clone()
    }

    /// The sum of each row to which counts were normalised.
    #[getter]
    fn log1p(&self) -> Option<f64> {
        self.log1p
    }

    /// The columns of labels: their names, and one text for each row.
    #[getter]
    fn labels(&self) -> Vec<(String, Vec<String>)> {
        self.labels.clone()
    }

    /// The column of weights.
    #[getter]
    fn weights(&self) -> Option<Vec<f64>> {
        self.weights.clone()
    }

    /// Possible faults of the table, each with a remedy.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
}

impl FileTable {
    /// The values, kept alive by the result.
    pub(crate) fn share(&self) -> SharedData {
        self.data.clone()
    }
}

/// Values that the engine reads itself, shared with Python.
#[derive(Clone)]
pub(crate) struct SharedData(pub(crate) Arc<Data>);

impl SharedData {
    pub(crate) fn data(&self) -> &Data {
        &self.0
    }

    /// Returns true if every visit reads the values again.
    pub(crate) fn is_read_again(&self) -> bool {
        matches!(&*self.0, Data::F32(Values::InFile(_)) | Data::F64(Values::InFile(_)))
    }
}
