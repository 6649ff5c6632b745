//! `karhunen reconstruct`: from scores, or from rows by way of their scores, back to the features.

use karhunen::{Block, Matrix, PcaModel, Scalar, Source, Transform};
use karhunen_io::{NamedMatrix, Table, Values};

use crate::args::{ReconstructArgs, ReconstructFrom};
use crate::dataset::Dataset;
use crate::error::{Failure, Result};
use crate::names;
use crate::outputs::Outputs;
use crate::plan::{OnValues, check_outputs, check_table_output, dispatch, one_standard_input, read_options};
use crate::progress::Progress;

/// Reads a model and scores or rows, and writes what the model makes of them.
pub(crate) fn run(args: ReconstructArgs) -> Result<()> {
    let inputs = [
        Some(&args.model),
        Some(&args.data),
        args.input.feature_names.as_ref(),
        args.input.sample_names.as_ref(),
    ];
    one_standard_input(&inputs)?;
    check_outputs(&[("-o", Some(&args.output))], &inputs)?;
    check_table_output(&args.output)?;
    let progress = Progress::new(args.quiet);
    let saved = karhunen_io::load_model(&args.model)?;
    let options = saved.read_options(read_options(&args.input, &args.threads));
    let dataset = Dataset::read(&args.data, &options, &progress)?;
    let from = match args.from {
        Some(from) => from,
        None => recognise(&dataset, &saved.model)?,
    };
    let (model, features) = match from {
        ReconstructFrom::Scores => {
            check_scores(&dataset, &saved.model)?;
            (saved.model, saved.feature_names)
        }
        ReconstructFrom::Data if args.whiten => {
            return Err(Failure::Usage(format!(
                "--whiten speaks of scores, but {} holds rows of features; leave it out",
                dataset.file
            )));
        }
        ReconstructFrom::Data => {
            let model = dataset.align(saved.model, saved.feature_names.as_deref())?;
            (model, dataset.table.feature_names.clone().or(saved.feature_names))
        }
    };
    let features = names::of_features(features.as_deref(), model.n_features());
    let work = Reconstruction {
        args: &args,
        from,
        model: &model,
        features: &features,
        dataset: &dataset,
        progress: &progress,
    };
    dispatch(&dataset.table.data, work)
}

/// Whether a table holds scores: by the names of its columns, or by their number where they have none.
fn recognise(dataset: &Dataset, model: &PcaModel) -> Result<ReconstructFrom> {
    let (_, n_columns) = dataset.table.data.shape();
    let (k, p) = (model.n_components(), model.n_features());
    if named_as_scores(&dataset.table) {
        return Ok(ReconstructFrom::Scores);
    }
    match (dataset.table.feature_names.is_some(), n_columns == k, n_columns == p) {
        (true, _, _) | (false, false, true) => Ok(ReconstructFrom::Data),
        (false, true, false) => Ok(ReconstructFrom::Scores),
        (false, true, true) => Err(Failure::Usage(format!(
            "{}: {k} columns without names may be scores or features; say --from scores or --from data",
            dataset.file
        ))),
        (false, false, false) => Err(Failure::Data(format!(
            "{}: {n_columns} columns, but scores under this model have {k} and rows {p}",
            dataset.file
        ))),
    }
}

/// Whether every column is called `pc1`, `pc2`, ….
fn named_as_scores(table: &Table) -> bool {
    let is_score =
        |name: &String| name.strip_prefix("pc").is_some_and(|number| number.parse::<usize>().is_ok());
    table.feature_names.as_ref().is_some_and(|names| names.iter().all(is_score))
}

fn check_scores(dataset: &Dataset, model: &PcaModel) -> Result<()> {
    let k = model.n_components();
    let (_, n_columns) = dataset.table.data.shape();
    if n_columns != k {
        return Err(Failure::Data(format!(
            "{}: {n_columns} columns, but scores under this model have {k}: pc1 to pc{k}",
            dataset.file
        )));
    }
    match &dataset.table.feature_names {
        Some(names) if named_as_scores(&dataset.table) && *names != names::of_components(k) => {
            Err(Failure::Data(format!("{}: the scores must stand in the order pc1 to pc{k}", dataset.file)))
        }
        _ => Ok(()),
    }
}

/// Reconstruction in either type.
struct Reconstruction<'a> {
    args: &'a ReconstructArgs,
    from: ReconstructFrom,
    model: &'a PcaModel,
    features: &'a [String],
    dataset: &'a Dataset,
    progress: &'a Progress,
}

impl OnValues for Reconstruction<'_> {
    type Output = Result<()>;

    fn on<T: Scalar>(self, values: &Values<T>) -> Result<()> {
        let explain = |error| self.dataset.places().explain(error);
        let source = values.source().map_err(explain)?;
        let how = Transform {
            whiten: self.args.whiten,
            n_threads: self.args.threads.threads.map(usize::from),
            observer: self.progress,
        };
        let scores = match self.from {
            ReconstructFrom::Scores => self.matrix(&*source)?,
            ReconstructFrom::Data => self.model.transform_with(&*source, &how).map_err(explain)?,
        };
        let rows = self.model.inverse_transform_with(&scores, &how).map_err(explain)?;
        self.progress.clear();
        let mut outputs = Outputs::default();
        let table = NamedMatrix {
            matrix: &rows,
            row_names: self.dataset.table.sample_names.as_deref(),
            row_header: "sample",
            column_names: self.features,
        };
        outputs.table(&self.args.output, &table)?;
        outputs.commit()
    }
}

impl Reconstruction<'_> {
    /// The scores as one matrix, all finite.
    fn matrix<T: Scalar>(&self, source: &dyn Source<T>) -> Result<Matrix<T>> {
        if source.is_sparse() {
            return Err(Failure::Data(format!(
                "{}: scores must be dense; write them as CSV, NPY or Parquet",
                self.dataset.file
            )));
        }
        let (n, k) = source.shape();
        let mut scores = Matrix::zeros(n, k);
        let outcome = source.visit(&mut |first, block| {
            let Block::Dense(block) = block else { return Ok(()) };
            for i in 0..block.n_rows() {
                for j in 0..k {
                    let value = block.get(i, j);
                    if !value.to_f64().is_finite() {
                        let (row, column, value) = (first + i, j, value.to_f64());
                        return Err(karhunen::Error::NonFinite { row, column, value });
                    }
                    scores[(first + i, j)] = value;
                }
            }
            Ok(())
        });
        outcome.map_err(|error| self.dataset.places().explain(error))?;
        Ok(scores)
    }
}
