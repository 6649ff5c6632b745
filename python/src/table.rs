//! Tables in files, whose rows the engine reads itself.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use karhunen::memory;
use karhunen_io::genotypes::GenotypeOptions;
use karhunen_io::{
    Comment, Data, FittedTable, Log1p, OfFile, ReadOptions, RowNames, SkippedLines, Table, Values,
    read_tables,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::{file_to_python, said, to_python};
use crate::observer::{Effort, run};

/// Of a model of genotypes: the means of the columns, and whether strands are flipped and variants may lack.
type Matched = (Option<Vec<f64>>, bool, bool);

/// Of files of cells: the layer, the mask, the genome, and whether counts are normalised, with the sum of each row if it
/// is given.
type Cells = (Option<String>, Option<String>, Option<String>, bool, Option<f64>);

/// The table of a model: its number of columns, their names, how its file was read as JSON, the sum of each row to which
/// counts were normalised, and the variants.
type Fitted = (usize, Option<Vec<String>>, Option<String>, Option<f64>, Option<Matched>);

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
    of_file: OfFile,
    warnings: Vec<String>,
}

#[pymethods]
impl FileTable {
    /// Opens files and folders as one table. Values that need more than half of `memory_limit` bytes, by default half of
    /// the machine's memory, stay in the files. With `missing`, values may be missing, and values that need more than a
    /// sixteenth of `memory_limit` stay in the files, because the observed entries take the memory. `cells` has the options
    /// of files of cells, `table` the options of `karhunen.read`, and `fitted` the table of a model that the rows are
    /// read for.
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
        if let Some((layer, mask, array, is_log1p, target)) = cells {
            let log1p = is_log1p.then(|| target.map_or(Log1p::Median, Log1p::To));
            options = ReadOptions { layer, mask, array, log1p, ..options };
        }
        if let Some(table) = table {
            options = table.apply(options);
        }
        if let Some((n_features, feature_names, of_file, log1p, matched)) = fitted {
            let of_file = of_file.as_deref().map(serde_json::from_str::<OfFile>).transpose();
            let of_file =
                of_file.map_err(|error| PyValueError::new_err(error.to_string()))?.unwrap_or_default();
            let score_names = Vec::new();
            options.fitted = Some(FittedTable { feature_names, n_features, of_file, log1p, score_names });
            if let Some((means, flip_strand, allow_unmatched)) = matched {
                options.genotypes =
                    GenotypeOptions { flip_strand, allow_unmatched, means, ..GenotypeOptions::default() };
            }
        }
        let asked = options.clone();
        let known = asked.fitted.as_ref().and_then(|fitted| fitted.feature_names.as_deref());
        let table = run(py, Effort::new(Effort::LONG, n_threads), None, move |run| {
            let options = ReadOptions { n_threads: run.n_threads, ..options };
            Ok(read_tables(&paths, &options))
        })?;
        let mut table = table.map_err(file_to_python)?;
        if let Some(places) = known.and_then(|known| places(known, table.feature_names.as_deref()?)) {
            let moved = table.data.with_columns_at(places, memory_limit);
            table.data = moved.map_err(to_python)?;
            table.feature_names = known.map(<[String]>::to_vec);
        }
        let Table { data, feature_names, sample_names, log1p, labels, left_out, weights, warnings, .. } =
            table;
        let of_file = OfFile::of(&asked, (&labels, &left_out), None);
        let labels = labels.into_iter().map(|label| (label.name, label.values)).collect();
        let warnings = warnings.iter().map(said).collect();
        let data = SharedData(Arc::new(data));
        Ok(Self { data, feature_names, sample_names, log1p, labels, weights, of_file, warnings })
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

    /// How the file was read, if there is anything to say of it.
    #[getter]
    fn of_file<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.of_file == OfFile::default() {
            return Ok(None);
        }
        let text =
            serde_json::to_string(&self.of_file).map_err(|error| PyValueError::new_err(error.to_string()))?;
        py.import("json")?.call_method1("loads", (text,)).map(Some)
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

/// For each column, the index of the feature of its name, if the columns are all features in another order.
fn places(known: &[String], columns: &[String]) -> Option<Vec<usize>> {
    let at: HashMap<&String, usize> = known.iter().enumerate().map(|(j, name)| (name, j)).collect();
    let places: Vec<usize> = columns.iter().map(|name| at.get(name).copied()).collect::<Option<_>>()?;
    let distinct: HashSet<usize> = places.iter().copied().collect();
    (columns != known && distinct.len() == known.len() && columns.len() == known.len()).then_some(places)
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
