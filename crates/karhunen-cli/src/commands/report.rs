//! `karhunen report`: a page that shows a model and its rows. The text that `fit` prints is in [`crate::report`].

use std::path::{Path, PathBuf};

use karhunen::Scalar;
use karhunen_io::{SavedModel, Values};
use karhunen_report::Report;

use crate::commands::loaded::{self, Loaded};
use crate::dataset::Dataset;
use crate::error::{Failure, Places, Result};
use crate::input_args::{InputArgs, MemoryArgs, read_options};
use crate::outputs::Outputs;
use crate::overwrite::{self, Kind};
use crate::paths::{check_outputs, check_tables, input_name};
use crate::plan::{OnValues, dispatch};
use crate::progress::Progress;
use crate::report_args::ReportArgs;
use crate::row_model::RowModel;

/// Share of normal rows within a limit, if none is given.
const LEVEL: f64 = 0.95;

/// Reads a model, and rows if they are given, and writes the page.
pub(crate) fn run(args: ReportArgs) -> Result<()> {
    let output = ("-o", Some(&*args.output));
    match &args.data {
        Some(data) => check_page([&args.model, data], &args, output)?,
        None => {
            refuse_options_of_rows(&args)?;
            check_outputs(&[output], &[Some(&args.model)])?;
        }
    }
    overwrite::check(&[("-o", Some(&args.output), Kind::Report)], args.force)?;
    let model = match loaded::any(&args.model)? {
        Loaded::Rows(model @ RowModel::Complete(_)) => model,
        Loaded::Rows(RowModel::Kernel(_)) => return Err(not_yet(&args.model, "kernel PCA")),
        Loaded::Incomplete(_) => return Err(not_yet(&args.model, "data with missing values")),
    };
    let page = match &args.data {
        Some(data) => of_rows(&args, model, data)?,
        None => of_model(&args, model)?,
    };
    let mut outputs = Outputs::new(args.force);
    outputs.stage(karhunen_io::stage_bytes(&args.output, page.as_bytes()))?;
    outputs.commit()
}

/// Refuses options of a table where there is none.
fn refuse_options_of_rows(args: &ReportArgs) -> Result<()> {
    let of_rows = args.given.first_of::<InputArgs>(&[]).or_else(|| args.given.first_of::<MemoryArgs>(&[]));
    match of_rows {
        Some(option) => Err(Failure::Usage(format!(
            "{option} has no effect without DATA; give the rows, or leave it out"
        ))),
        None => Ok(()),
    }
}

fn not_yet(model: &Path, what: &str) -> Failure {
    Failure::Data(format!(
        "{}: reports of {what} are not available; give a model of complete data without a kernel",
        input_name(model)
    ))
}

/// Checks the files of a page about rows.
fn check_page(read: [&PathBuf; 2], args: &ReportArgs, output: (&str, Option<&Path>)) -> Result<()> {
    check_tables(read, &args.input, &[])?;
    let inputs =
        [Some(read[0]), Some(read[1]), args.input.feature_names.as_ref(), args.input.sample_names.as_ref()];
    check_outputs(&[output], &inputs)
}

/// The page of a model alone.
fn of_model(args: &ReportArgs, model: RowModel) -> Result<String> {
    let RowModel::Complete(saved) = model else { return Err(not_yet(&args.model, "kernel PCA")) };
    let name = input_name(&args.model);
    let report = Report {
        title: args.title.as_deref().unwrap_or_else(|| file_name(&name)),
        feature_names: saved.beside.feature_names.as_deref(),
        model_name: &name,
        ..Report::default()
    };
    report.of_pca(&saved.model).map_err(|error| failure(error, |error| Places::of_file(&name).explain(error)))
}

/// The page of a model and rows.
fn of_rows(args: &ReportArgs, model: RowModel, data: &Path) -> Result<String> {
    let progress = Progress::new(args.quiet);
    let options = args.memory.within(model.read_options(read_options(&args.input, &args.threads)));
    let dataset = Dataset::read(data, &options, &progress)?;
    let RowModel::Complete(saved) = model.aligned(&dataset)? else {
        return Err(not_yet(&args.model, "kernel PCA"));
    };
    let page =
        dispatch(&dataset.table.data, Rows { args, saved: &saved, dataset: &dataset, progress: &progress })?;
    progress.clear();
    dataset.check_unchanged()?;
    Ok(page)
}

struct Rows<'a> {
    args: &'a ReportArgs,
    saved: &'a SavedModel,
    dataset: &'a Dataset,
    progress: &'a Progress,
}

impl OnValues for Rows<'_> {
    type Output = Result<String>;

    fn on<T: Scalar>(self, values: &Values<T>) -> Result<String> {
        let Self { args, saved, dataset, progress } = self;
        let explain = |error| dataset.explain(error);
        let source = values.source().map_err(explain)?;
        let (model_name, run) = (input_name(&args.model), args.threads.run(progress));
        let report = Report {
            title: args.title.as_deref().unwrap_or_else(|| file_name(&dataset.file)),
            feature_names: saved.beside.feature_names.as_deref(),
            sample_names: dataset.table.sample_names.as_deref(),
            level: args.level.unwrap_or(LEVEL),
            model_name: &model_name,
            data_name: &dataset.file,
            ..Report::default()
        };
        report.of_pca_and_rows(&saved.model, &*source, &run).map_err(|error| failure(error, explain))
    }
}

/// A file without its folders.
fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

/// The failure of a report; `explain` translates errors of the library.
fn failure(error: karhunen_report::Error, explain: impl Fn(karhunen::Error) -> Failure) -> Failure {
    match error {
        karhunen_report::Error::Library(error) => explain(error),
        error => Failure::Data(error.to_string()),
    }
}
