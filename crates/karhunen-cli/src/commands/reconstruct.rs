//! `karhunen reconstruct`: maps scores, or rows through their scores, back to the features.

use std::collections::HashSet;

use karhunen::incomplete::RowScores;
use karhunen::pca::Transform;
use karhunen::{Matrix, Observed, Scalar};
use karhunen_io::{Data, FittedTable, Ids, NamedMatrix, ObservedData, ReadOptions, Saved, Table, Values};

use crate::args::input::read_options;
use crate::args::{ReconstructArgs, ReconstructFrom};
use crate::commands::loaded::{self, Loaded};
use crate::component_names::component_of;
use crate::data::computed_rows::ComputedRows;
use crate::data::dataset::Dataset;
use crate::error::{Failure, Result};
use crate::files::outputs::Outputs;
use crate::files::overwrite;
use crate::files::paths::{check_files, input_name};
use crate::incomplete::dataset::{Advice, block_scores, matched, placed, scores};
use crate::incomplete::rows::IncompleteRows;
use crate::names;
use crate::pca::plan::{OnValues, dispatch};
use crate::pca::row_model::RowModel;
use crate::progress::Progress;
use crate::selection::chosen::Chosen;

/// Reads a model and scores or rows, and writes the reconstruction.
pub(crate) fn run(args: ReconstructArgs) -> Result<()> {
    check_files([&args.model, &args.data], &args.input, &args.output)?;
    overwrite::check(&[("-o", Some(&args.output))], args.force)?;
    let progress = Progress::new(args.quiet);
    let model = match loaded::any(&args.model, "reconstruct")? {
        Loaded::Rows(model) => model,
        Loaded::Incomplete(saved) => return incomplete(&args, &saved, &progress),
        Loaded::RotatedIncomplete(saved) => return incomplete(&args, &saved, &progress),
    };
    if !model.reconstructs() {
        return Err(Failure::Data(format!(
            "{}: the model holds nothing that rows are found from scores with; {}",
            input_name(&args.model),
            model.reconstruction_advice()
        )));
    }
    model.check_whiten(args.whiten)?;
    let chosen = Chosen::of(args.only.as_ref(), model.n_components())?;
    let options = args.memory.within(model.read_options(read_options(&args.input, &args.threads)));
    let options = or_scores(options, model.component_names());
    let dataset = Dataset::read(&args.data, &options, &progress)?;
    let from = match args.from {
        Some(from) => from,
        None => recognise(&dataset, &model.component_names(), model.feature_names(), model.n_features())?,
    };
    let model = match from {
        ReconstructFrom::Scores => {
            check_scores(&dataset, &model.component_names())?;
            model
        }
        ReconstructFrom::Data => {
            refuse_whiten(&args, &dataset)?;
            model.aligned(&dataset)?
        }
    };
    let features = names::of_features(model.feature_names(), model.n_features());
    let work = Reconstruction {
        args: &args,
        from,
        model: &model,
        chosen: &chosen,
        features: &features,
        dataset: &dataset,
        progress: &progress,
    };
    dispatch(&dataset.table.data, work)
}

/// Options for a table of rows of the model or of these scores.
fn or_scores(options: ReadOptions, score_names: Vec<String>) -> ReadOptions {
    let fitted = options.fitted.map(|fitted| FittedTable { score_names, ..fitted });
    ReadOptions { fitted, ..options }
}

/// Reconstructs every entry, observed or missing, from scores or incomplete rows under a model of incomplete data.
fn incomplete(args: &ReconstructArgs, saved: &Saved<impl IncompleteRows>, progress: &Progress) -> Result<()> {
    saved.model.check_whiten(args.whiten)?;
    let chosen = Chosen::of(args.only.as_ref(), saved.model.n_components())?;
    let expected = saved.model.score_names();
    let options = args.memory.within(saved.read_options(read_options(&args.input, &args.threads)));
    let options = or_scores(ReadOptions { missing: true, ..options }, expected.clone());
    let dataset = Dataset::read(&args.data, &options, progress)?;
    let explain = |error| dataset.explain(error);
    let run = args.threads.run(progress);
    let model = saved.model.fitted();
    let p = model.n_features();
    let features = saved.extras.column_ids.as_ref().map(Ids::texts);
    let from = args.from.map_or_else(|| recognise(&dataset, &expected, features.as_deref(), p), Ok)?;
    match (&dataset.table.data, from) {
        (Data::F32(values @ Values::InFile(_)), ReconstructFrom::Data) => {
            return incomplete_rows((args, &chosen), saved, &dataset, values, progress);
        }
        (Data::F64(values @ Values::InFile(_)), ReconstructFrom::Data) => {
            return incomplete_rows((args, &chosen), saved, &dataset, values, progress);
        }
        _ => {}
    }
    let data = dataset.table.data.observed(&run).map_err(explain)?;
    dataset.check_unchanged()?;
    let RowScores { scores, offsets } = match from {
        ReconstructFrom::Scores => {
            check_scores(&dataset, &expected)?;
            let RowScores { scores, offsets } = given_scores(&data, &dataset, saved.model.n_components())?;
            let scores = chosen.of_scores(&scores).into_owned();
            RowScores { scores: saved.model.given_scores(scores, args.whiten).map_err(explain)?, offsets }
        }
        ReconstructFrom::Data => {
            refuse_whiten(args, &dataset)?;
            let names = dataset.table.feature_names.as_deref();
            let places = matched(saved, &dataset.file, names, data.shape().1, Advice::Columns)?;
            let data = placed(data, &places, p).map_err(explain)?;
            let RowScores { scores, offsets } = scores(model, &data, &run).map_err(explain)?;
            RowScores { scores: kept_scores(&saved.model, &scores, &chosen).map_err(explain)?, offsets }
        }
    };
    let mut rows: Matrix = Matrix::zeros(scores.n_rows(), p);
    let given = RowScores { scores, offsets };
    model.values_into(&given, rows.as_mut_slice(), &run).map_err(explain)?;
    progress.clear();
    let mut outputs = Outputs::new(args.force);
    let table = NamedMatrix {
        matrix: &rows,
        row_names: dataset.table.sample_names.as_deref(),
        row_header: "sample",
        labels: &[],
        column_names: &names::of_features(features.as_deref(), p),
        numeric_ids: false,
    };
    outputs.table(&args.output, &table)?;
    outputs.commit()
}

/// Reconstructs rows with missing values that stay in their file, a block at a time.
fn incomplete_rows<T: Scalar>(
    (args, chosen): (&ReconstructArgs, &Chosen),
    saved: &Saved<impl IncompleteRows>,
    dataset: &Dataset,
    values: &Values<T>,
    progress: &Progress,
) -> Result<()>
where
    ObservedData: From<Observed<T>>,
{
    refuse_whiten(args, dataset)?;
    let explain = |error| dataset.explain(error);
    let (source, model) = (values.source().map_err(explain)?, saved.model.fitted());
    let (p, run) = (model.n_features(), args.threads.run(progress));
    let names = dataset.table.feature_names.as_deref();
    let places = matched(saved, &dataset.file, names, dataset.table.data.shape().1, Advice::Columns)?;
    let rows = ComputedRows::of_blocks(&*source, p, |block| {
        let RowScores { scores, offsets } = block_scores(model, block, &places, &run)?;
        let scores = RowScores { scores: kept_scores(&saved.model, &scores, chosen)?, offsets };
        let mut rows: Matrix = Matrix::zeros(scores.scores.n_rows(), p);
        model.values_into(&scores, rows.as_mut_slice(), &run).map(|()| rows)
    });
    let features = saved.extras.column_ids.as_ref().map(Ids::texts);
    let mut outputs = Outputs::new(args.force);
    let row_names = ("sample", dataset.table.sample_names.as_deref());
    let columns = names::of_features(features.as_deref(), p);
    rows.write_to(&mut outputs, &args.output, row_names, &columns, explain)?;
    progress.clear();
    outputs.commit()
}

/// Scores under the fitted model of the components that are rotated, if some are, and chosen.
fn kept_scores(model: &impl IncompleteRows, scores: &Matrix, chosen: &Chosen) -> karhunen::Result<Matrix> {
    match model.rotated() {
        Some(rotated) => rotated.to_scores(&chosen.of_scores(&rotated.of_scores(scores)?)),
        None => Ok(chosen.of_scores(scores).into_owned()),
    }
}

/// Reads scores of `c` components, and row offsets from one more column; no value may be missing.
fn given_scores(data: &ObservedData, dataset: &Dataset, c: usize) -> Result<RowScores> {
    let (n, all) = data.shape();
    if data.n_observed() < n * all {
        return Err(Failure::Data(format!("{}: a score is missing; each row needs {all}", dataset.file)));
    }
    let mut scores = Matrix::zeros(n, c);
    let mut offsets = (all > c).then(|| vec![0.0; n]);
    for row in 0..n {
        let values: Vec<f64> = match data {
            ObservedData::F32(observed) => observed.row(row).1.iter().map(|x| f64::from(*x)).collect(),
            ObservedData::F64(observed) => observed.row(row).1.to_vec(),
        };
        scores.row_mut(row).copy_from_slice(&values[..c]);
        if let Some(offsets) = &mut offsets {
            offsets[row] = values[c];
        }
    }
    Ok(RowScores { scores, offsets })
}

/// # Errors
/// [`Failure::Usage`] for an option of scores if the input holds features.
fn refuse_whiten(args: &ReconstructArgs, dataset: &Dataset) -> Result<()> {
    if !args.whiten {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "--whiten speaks of scores, but {} holds rows of features; leave it out",
        dataset.file
    )))
}

/// Distinguishes a table of scores, whose columns are named `expected`, from a table of features: by the column
/// names, or by the number of columns without names.
///
/// # Errors
/// [`Failure::Usage`] if both are possible, [`Failure::Data`] if neither is.
fn recognise(
    dataset: &Dataset,
    expected: &[String],
    features: Option<&[String]>,
    p: usize,
) -> Result<ReconstructFrom> {
    let (_, n_columns) = dataset.table.data.shape();
    let k = expected.len();
    if named_as_scores(&dataset.table) {
        // Features may be the scores of another model.
        let names = dataset.table.feature_names.as_deref().unwrap_or_default();
        let known: HashSet<&String> = features.into_iter().flatten().collect();
        let are_features = !known.is_empty() && names.iter().all(|name| known.contains(name));
        let are_scores = are_named(names, expected);
        return match (are_features, are_scores) {
            (true, true) => Err(Failure::Usage(format!(
                "{}: the columns are called as the scores are, and as the features of the model; use --from scores or --from \
                 data",
                dataset.file
            ))),
            (true, false) => Ok(ReconstructFrom::Data),
            (false, _) => Ok(ReconstructFrom::Scores),
        };
    }
    match (dataset.table.feature_names.is_some(), n_columns == k, n_columns == p) {
        (true, _, _) | (false, false, true) => Ok(ReconstructFrom::Data),
        (false, true, false) => Ok(ReconstructFrom::Scores),
        (false, true, true) => Err(Failure::Usage(format!(
            "{}: {k} columns without names may be scores or features; use --from scores or --from data",
            dataset.file
        ))),
        (false, false, false) => Err(Failure::Data(format!(
            "{}: {n_columns} columns, but scores under this model have {k} and rows {p}",
            dataset.file
        ))),
    }
}

/// Returns true if every column is named after a component or is `offset`.
fn named_as_scores(table: &Table) -> bool {
    let is_score = |name: &String| name == names::OFFSET || component_of(name).is_some();
    table.feature_names.as_ref().is_some_and(|names| names.iter().all(is_score))
}

/// Returns true if the columns have the names and order of scores in this version or an earlier one.
fn are_named(names: &[String], expected: &[String]) -> bool {
    let is_same = |(name, expected): (&String, &String)| {
        name == expected || name.strip_prefix("pc").is_some_and(|c| expected.strip_prefix("PC") == Some(c))
    };
    names.len() == expected.len() && names.iter().zip(expected).all(is_same)
}

/// The range of score names in words.
fn span(expected: &[String]) -> String {
    let (components, offset) = match expected.split_last() {
        Some((last, components)) if last == names::OFFSET => (components, " and offset"),
        _ => (expected, ""),
    };
    match components {
        [] => String::new(),
        [only] => format!("{only}{offset}"),
        [first, .., last] => format!("{first} to {last}{offset}"),
    }
}

fn check_scores(dataset: &Dataset, expected: &[String]) -> Result<()> {
    let (_, n_columns) = dataset.table.data.shape();
    let k = expected.len();
    if n_columns != k {
        return Err(Failure::Data(format!(
            "{}: {n_columns} columns, but scores under this model have {k}: {}",
            dataset.file,
            span(expected)
        )));
    }
    match &dataset.table.feature_names {
        Some(names) if named_as_scores(&dataset.table) && !are_named(names, expected) => {
            let file = &dataset.file;
            let order = span(expected);
            Err(Failure::Data(format!("{file}: the scores must stand in the order {order}")))
        }
        _ => Ok(()),
    }
}

/// Reconstruction from values of either type.
struct Reconstruction<'a> {
    args: &'a ReconstructArgs,
    from: ReconstructFrom,
    model: &'a RowModel,
    chosen: &'a Chosen,
    features: &'a [String],
    dataset: &'a Dataset,
    progress: &'a Progress,
}

impl OnValues for Reconstruction<'_> {
    type Output = Result<()>;

    fn on<T: Scalar>(self, values: &Values<T>) -> Result<()> {
        let explain = |error| self.dataset.explain(error);
        let source = values.source().map_err(explain)?;
        let how = Transform { whiten: self.args.whiten, ..Transform::default() };
        let run = self.args.threads.run(self.progress);
        let mut outputs = Outputs::new(self.args.force);
        if let (Values::InFile(_), ReconstructFrom::Data) = (values, self.from) {
            let rows = match self.model {
                RowModel::Complete(saved) => {
                    ComputedRows::reconstructed(&saved.model, &*source, (how, self.chosen), &run)
                }
                model => ComputedRows::of_blocks(&*source, self.features.len(), |block| {
                    let scores = model.transform_with(block, how, &run)?;
                    model.inverse_transform_with(&self.chosen.of_scores(&scores), how, &run)
                }),
            };
            let names = ("sample", self.dataset.table.sample_names.as_deref());
            rows.write_to(&mut outputs, &self.args.output, names, self.features, explain)?;
            self.progress.clear();
            return outputs.commit();
        }
        let scores = match self.from {
            ReconstructFrom::Scores => self.dataset.matrix(&*source, "scores")?,
            ReconstructFrom::Data => self.model.transform_with(&*source, how, &run).map_err(explain)?,
        };
        let scores = self.chosen.of_scores(&scores);
        let rows = self.model.inverse_transform_with(&scores, how, &run).map_err(explain)?;
        self.progress.clear();
        self.dataset.check_unchanged()?;
        let table = NamedMatrix {
            matrix: &rows,
            row_names: self.dataset.table.sample_names.as_deref(),
            row_header: "sample",
            labels: &[],
            column_names: self.features,
            numeric_ids: false,
        };
        outputs.table(&self.args.output, &table)?;
        outputs.commit()
    }
}
