//! `karhunen report`: a page that shows a model and its rows. The text that `fit` prints is in [`crate::text`].

use std::path::{Path, PathBuf};

use karhunen::{IncompleteModel, Observed, Run, Scalar};
use karhunen_io::{ObservedData, OfFile, ReadOptions, RowsAndColumns, Saved, TripleColumns, Values};
use karhunen_report::{Described, Report};

use crate::args::input::{InputArgs, MemoryArgs, read_options};
use crate::args::missing::TriplesArgs;
use crate::args::report::ReportArgs;
use crate::commands::loaded::{self, Loaded};
use crate::data::dataset::Dataset;
use crate::data::weights::{FitWeights, RowWeights};
use crate::error::{Failure, Places, Result};
use crate::files::outputs::Outputs;
use crate::files::overwrite;
use crate::files::paths::{check_outputs, input_name, is_standard, one_standard_input};
use crate::incomplete::dataset::{EntryArgs, ObservedDataset};
use crate::incomplete::rows::IncompleteRows;
use crate::pca::plan::{OnValues, dispatch};
use crate::pca::row_model::RowModel;
use crate::progress::Progress;

/// Share of normal rows within a limit, if none is given.
const LEVEL: f64 = 0.95;

/// Reads a model, and rows if they are given, and writes the page.
pub(crate) fn run(args: ReportArgs) -> Result<()> {
    let output = ("-o", Some(&*args.output));
    let weights = RowWeights::of(args.weights.as_ref());
    match &args.data {
        Some(data) => check_page([&args.model, data], &args, &weights, output)?,
        None => {
            refuse_options_of_rows(&args)?;
            check_outputs(&[output], &[Some(&args.model)])?;
        }
    }
    overwrite::check(&[("-o", Some(&args.output))], args.force)?;
    let model = loaded::any(&args.model, "report")?;
    if let (Loaded::Rows(RowModel::Kernel(_)), Some(_)) = (&model, args.level) {
        return Err(Failure::Usage(
            "--level has no effect on a kernel model, whose scores have no limits; leave it out".to_owned(),
        ));
    }
    if let (Loaded::Rows(RowModel::Kernel(_)), true) = (&model, weights.are_given()) {
        return Err(Failure::Usage("--weights does not apply to kernel models; omit it".to_owned()));
    }
    if let (Loaded::Rows(_), Some(option)) = (&model, args.given.first_of::<TriplesArgs>(&[])) {
        return Err(Failure::Usage(format!(
            "{option} has no effect on a model of complete data; leave it out"
        )));
    }
    let page = match (&args.data, model) {
        (Some(data), Loaded::Rows(model)) => of_rows(&args, model, data, &weights)?,
        (Some(data), Loaded::Incomplete(saved)) => of_incomplete_rows(&args, &saved, data, &weights)?,
        (Some(data), Loaded::RotatedIncomplete(saved)) => of_incomplete_rows(&args, &saved, data, &weights)?,
        (None, model) => of_model(&args, &model)?,
    };
    let mut outputs = Outputs::new(args.force);
    outputs.stage(karhunen_io::stage_bytes(&args.output, page.as_bytes()))?;
    outputs.commit()
}

/// Refuses options of a table where there is none.
fn refuse_options_of_rows(args: &ReportArgs) -> Result<()> {
    let given = &args.given;
    let of_rows = given.first_of::<InputArgs>(&[]).or_else(|| given.first_of::<MemoryArgs>(&[]));
    match of_rows.or_else(|| given.first_of::<TriplesArgs>(&[])) {
        Some(option) => Err(Failure::Usage(format!(
            "{option} has no effect without DATA; give the rows, or leave it out"
        ))),
        None => Ok(()),
    }
}

/// Checks the files of a page about rows.
fn check_page(
    read: [&PathBuf; 2],
    args: &ReportArgs,
    weights: &RowWeights,
    output: (&str, Option<&Path>),
) -> Result<()> {
    let names = [args.input.feature_names.as_ref(), args.input.sample_names.as_ref()];
    let inputs = [Some(read[0]), Some(read[1]), names[0], names[1], weights.file.as_ref()];
    one_standard_input(&inputs)?;
    check_outputs(&[output], &inputs)
}

/// Names of the columns of a model.
fn feature_names(model: &Loaded) -> Option<Vec<String>> {
    match model {
        Loaded::Rows(model) => model.feature_names().map(<[String]>::to_vec),
        Loaded::Incomplete(saved) => column_names(&saved.extras),
        Loaded::RotatedIncomplete(saved) => column_names(&saved.extras),
    }
}

/// How the file of a model was read.
fn of_file(model: &Loaded) -> &OfFile {
    match model {
        Loaded::Rows(model) => model.of_file(),
        Loaded::Incomplete(saved) => &saved.extras.of_file,
        Loaded::RotatedIncomplete(saved) => &saved.extras.of_file,
    }
}

fn column_names(extras: &RowsAndColumns) -> Option<Vec<String>> {
    extras.column_ids.as_ref().map(karhunen_io::Ids::texts)
}

/// The page of a model alone.
fn of_model(args: &ReportArgs, model: &Loaded) -> Result<String> {
    let name = input_name(&args.model);
    let names = feature_names(model);
    let data_options = args.input.words_as(of_file(model), names.as_deref());
    let report = Report {
        data_options: &data_options,
        title: title(args).unwrap_or_else(|| file_name(&name)),
        feature_names: names.as_deref(),
        model_name: &name_in_call(&args.model, "MODEL"),
        log1p: match model {
            Loaded::Rows(model) => model.log1p(),
            Loaded::Incomplete(_) | Loaded::RotatedIncomplete(_) => None,
        },
        ..Report::default()
    };
    let model: &dyn Described = match model {
        Loaded::Rows(RowModel::Complete(saved)) => &saved.model,
        Loaded::Rows(RowModel::Kernel(saved)) => &saved.model,
        Loaded::Rows(RowModel::Rotated(saved)) => &saved.model,
        Loaded::Incomplete(saved) => &saved.model,
        Loaded::RotatedIncomplete(saved) => &saved.model,
    };
    report.page(model).map_err(|error| failure(error, |error| Places::of_file(&name).explain(error)))
}

/// The texts of a page besides the numbers of the model and the rows.
struct About<'a> {
    args: &'a ReportArgs,
    file: &'a str,
    feature_names: Option<&'a [String]>,
    sample_names: Option<&'a [String]>,
    sample_weights: Option<&'a [f64]>,
    log1p: Option<f64>,
    /// How the fitted file was read.
    of_file: &'a OfFile,
    /// Words of the command line that read the entries of triples.
    triples: Vec<String>,
}

impl About<'_> {
    /// Makes a page with the report.
    fn page(
        &self,
        make: impl FnOnce(&Report<'_>) -> std::result::Result<String, karhunen_report::Error>,
        explain: impl Fn(karhunen::Error) -> Failure,
    ) -> Result<String> {
        let Self { args, file, feature_names, sample_names, sample_weights, log1p, of_file, ref triples } =
            *self;
        let model_name = name_in_call(&args.model, "MODEL");
        let mut data_options = args.input.words_as(of_file, feature_names);
        data_options.extend_from_slice(triples);
        let report = Report {
            title: title(args).unwrap_or_else(|| file_name(file)),
            feature_names,
            sample_names,
            sample_weights,
            level: args.level.unwrap_or(LEVEL),
            model_name: &model_name,
            data_name: if is_standard(args.data.as_deref()) { "DATA" } else { file },
            data_options: &data_options,
            log1p,
            ..Report::default()
        };
        make(&report).map_err(|error| failure(error, explain))
    }
}

/// The page of a model of complete data and rows.
fn of_rows(args: &ReportArgs, model: RowModel, data: &Path, weights: &RowWeights) -> Result<String> {
    let progress = Progress::new(args.quiet);
    let options = args.memory.within(model.read_options(read_options(&args.input, &args.threads)));
    let options = ReadOptions { weights_column: weights.column.clone(), ..options };
    let dataset = Dataset::read(data, &options, &progress)?;
    let weights = weights.of_table(&dataset)?;
    let model = model.aligned(&dataset)?;
    let rows = Rows { args, model: &model, dataset: &dataset, weights: &weights, progress: &progress };
    let page = dispatch(&dataset.table.data, rows)?;
    progress.clear();
    dataset.check_unchanged()?;
    Ok(page)
}

struct Rows<'a> {
    args: &'a ReportArgs,
    model: &'a RowModel,
    dataset: &'a Dataset,
    weights: &'a FitWeights,
    progress: &'a Progress,
}

impl OnValues for Rows<'_> {
    type Output = Result<String>;

    fn on<T: Scalar>(self, values: &Values<T>) -> Result<String> {
        let Self { args, model, dataset, weights, progress } = self;
        let explain = |error| dataset.explain(error);
        let source = values.source().map_err(explain)?;
        let run = args.threads.run(progress);
        let about = About {
            args,
            file: &dataset.file,
            feature_names: model.feature_names(),
            sample_names: dataset.table.sample_names.as_deref(),
            sample_weights: weights.lend().samples,
            log1p: model.log1p(),
            of_file: model.of_file(),
            triples: Vec::new(),
        };
        let make = |report: &Report<'_>| match model {
            RowModel::Complete(saved) => report.page_of_rows(&saved.model, &*source, &run),
            RowModel::Kernel(saved) => report.page_of_rows(&saved.model, &*source, &run),
            RowModel::Rotated(saved) => report.page_of_rows(&saved.model, &*source, &run),
        };
        about.page(make, explain)
    }
}

/// The page of a model of data with missing values and rows, from a table, or from triples if the model was fitted to
/// triples.
fn of_incomplete_rows(
    args: &ReportArgs,
    saved: &Saved<impl IncompleteRows>,
    data: &Path,
    weights: &RowWeights,
) -> Result<String> {
    let progress = Progress::new(args.quiet);
    let (input, memory, triples) = (&args.input, &args.memory, &args.triples);
    let how = EntryArgs { input, memory, triples, threads: args.threads, weights };
    let dataset = ObservedDataset::read_for(saved, data, &how, &progress)?;
    let weights = dataset.row_weights(weights.file.as_deref(), weights.column.as_deref())?;
    let (file, sample_names) = (dataset.file.clone(), dataset.row_names.clone());
    let entries = dataset.align(saved)?;
    let names = column_names(&saved.extras);
    let triples = args.triples.options().triples.or_else(|| saved.extras.triples.clone());
    let about = About {
        args,
        file: &file,
        feature_names: names.as_deref(),
        sample_names: sample_names.as_deref(),
        sample_weights: weights.as_ref().map(|(weights, _)| &weights[..]),
        log1p: None,
        of_file: &saved.extras.of_file,
        triples: triples.map_or_else(Vec::new, |columns| words_of_triples(&columns, saved.model.fitted())),
    };
    let explain =
        |error| Places { file: &file, samples: sample_names.as_deref(), features: None }.explain(error);
    let run = args.threads.run(&progress);
    let page = match &entries {
        ObservedData::F32(entries) => of_entries(&about, &saved.model, entries, &run, explain)?,
        ObservedData::F64(entries) => of_entries(&about, &saved.model, entries, &run, explain)?,
    };
    progress.clear();
    Ok(page)
}

fn of_entries<T: Scalar>(
    about: &About<'_>,
    model: &impl IncompleteRows,
    entries: &Observed<T>,
    run: &Run<'_>,
    explain: impl Fn(karhunen::Error) -> Failure,
) -> Result<String> {
    let make = |report: &Report<'_>| match model.rotated() {
        Some(rotated) => report.page_of_entries(rotated, entries, run),
        None => report.page_of_entries(model.fitted(), entries, run),
    };
    about.page(make, explain)
}

/// The words of the command line that read triples as the fit did.
fn words_of_triples(columns: &TripleColumns, model: &IncompleteModel) -> Vec<String> {
    let mut words = vec!["--triples".to_owned(), words_of(columns)];
    if model.parts().dtype == f64::NAME {
        words.extend(["--dtype".to_owned(), "f64".to_owned()]);
    }
    words
}

/// The columns of triples as the command line takes them.
fn words_of(columns: &TripleColumns) -> String {
    let TripleColumns { row, column, value, weight } = columns;
    let weight = weight.as_ref().map_or_else(String::new, |weight| format!(",{weight}"));
    format!("{row},{column},{value}{weight}")
}

/// The name of a file as a call repeats it; the standard input is gone, and has a word in its place.
fn name_in_call(path: &Path, word: &str) -> String {
    if is_standard(Some(path)) { word.to_owned() } else { input_name(path) }
}

/// The title that was given, unless it is empty.
fn title(args: &ReportArgs) -> Option<&str> {
    args.title.as_deref().filter(|title| !title.trim().is_empty())
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
