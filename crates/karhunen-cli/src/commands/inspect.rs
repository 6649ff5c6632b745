//! `karhunen inspect`: describes a model or a data file.

use karhunen::exec::Unobserved;
use karhunen::incomplete::{Checkpoint, Fingerprint};
use karhunen::moments::Moments;
use karhunen::rotation::{Components, RotatedModel};
use karhunen::{IncompleteModel, IncompletePca, Observed, PcaModel, Run, Scalar};
use karhunen_io::{
    AnyModel, Content, Data, Ids, ObservedData, RowsAndColumns, SavedCategorical, SavedIncomplete,
    SavedIncremental, SavedKernel, SavedModel, SavedScatter, Stored, TripleColumns, Values, shell_word,
};
use serde::Serialize;

use crate::args::InspectArgs;
use crate::args::input::read_options;
use crate::categorical::report::{self, CategoryReport, v_test_note};
use crate::categorical::summary::CategorySummary;
use crate::data::dataset::Dataset;
use crate::error::Result;
use crate::figures::{count, share, sum};
use crate::files::outputs::print;
use crate::files::paths::{input_name, one_standard_input};
use crate::incomplete::report::{IncompleteReport, fitted};
use crate::incomplete::summary::IncompleteSummary;
use crate::kernel::report::{KernelReport, kept_line, kernel_line};
use crate::kernel::summary::KernelSummary;
use crate::pca::moments_report::{MomentsSummary, deviations, headline};
use crate::pca::plan::{OnValues, dispatch};
use crate::pca::rotation_report::{RotationReport, RotationSummary};
use crate::pca::summary::{ModelSummary, to_json};
use crate::pca::update_report::{StreamSummary, UpdateReport};
use crate::progress::Progress;
use crate::text::{self, Layout, ModelReport, treatment, wrapped};

/// Reads a file and describes its content.
pub(crate) fn run(args: InspectArgs) -> Result<()> {
    let progress = Progress::new(args.json.is_some());
    let names = [args.input.feature_names.as_ref(), args.input.sample_names.as_ref()];
    one_standard_input(&[&[Some(&args.file)], &names[..]].concat())?;
    let options = args.memory.within(read_options(&args.input, &args.threads));
    match Dataset::read_any(&args.file, &options, &progress)? {
        (Content::Model { saved: AnyModel::Complete(saved), version }, _) => model(&args, &saved, &version),
        (Content::Model { saved: AnyModel::Incomplete(saved), version }, _) => {
            incomplete(&args, &saved, &version)
        }
        (Content::Model { saved: AnyModel::Kernel(saved), version }, _) => kernel(&args, &saved, &version),
        (Content::Model { saved: AnyModel::Categorical(saved), version }, _) => {
            categorical(&args, &saved, &version)
        }
        (Content::Model { saved: AnyModel::Rotated(saved), version }, _) => {
            let file = input_name(&args.file);
            let log1p = saved.extras.log1p;
            let data = data_of_fit(&file, &version, saved.model.model(), log1p);
            let features = saved.extras.feature_names.as_deref();
            rotated(&args, (&saved.model, saved.model.shape(), features), (&data, log1p), &version)
        }
        (Content::Model { saved: AnyModel::RotatedIncomplete(saved), version }, _) => {
            let data = data_of_incomplete(&args, (saved.model.model(), &saved.extras), &version);
            let features = saved.extras.column_ids.as_ref().map(Ids::texts);
            rotated(&args, (&saved.model, saved.model.shape(), features.as_deref()), (&data, None), &version)
        }
        (Content::Moments { saved, version }, _) => moments(&args, &saved, &version),
        (Content::Model { saved: AnyModel::Incremental(saved), version }, _) => {
            stream(&args, &saved, &version)
        }
        (Content::Checkpoint(state), _) => checkpoint(&args, &state),
        (Content::Table(table), seconds) => {
            let dataset = Dataset { file: input_name(&args.file), table: *table, seconds, hints: Vec::new() };
            data(&args, &dataset)
        }
    }
}

/// The content of a file of karhunen, as JSON.
#[derive(Debug, Serialize)]
struct Inspection<'a, S> {
    file: &'a str,
    format: &'static str,
    /// The version of karhunen that wrote it.
    karhunen: &'a str,
    /// The sum of each row to which counts were normalised before the fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    log1p: Option<f64>,
    #[serde(flatten)]
    content: S,
}

/// Describes the normalisation of counts before a fit.
fn normalised(log1p: Option<f64>) -> Option<String> {
    log1p
        .map(|total| format!("counts: divided by the sum of their row, times {}, then ln(1 + x)", sum(total)))
}

fn model(args: &InspectArgs, saved: &SavedModel, version: &str) -> Result<()> {
    let file = &input_name(&args.file);
    let (features, log1p) = (saved.extras.feature_names.as_deref(), saved.extras.log1p);
    if let Some(extent) = args.json {
        let content = ModelSummary::new(&saved.model, features, extent);
        let format = "karhunen model";
        return print(&to_json(&Inspection { file, format, karhunen: version, log1p, content })?);
    }
    let data = data_of_fit(file, version, &saved.model, log1p);
    let report = ModelReport { model: &saved.model, features, data: &data, seconds: None, written: &[] };
    print(&report.render(Layout::of(&console::Term::stdout())))
}

/// Describes the data of a fit: one line each.
fn data_of_fit(file: &str, version: &str, model: &PcaModel, log1p: Option<f64>) -> Vec<String> {
    let fitted = format!(
        "{file}: model of karhunen {version}, fitted to {} rows x {} columns, {}",
        count(model.n_samples()),
        count(model.n_features()),
        model.parts().dtype
    );
    let weighting = format!("weights: {}, sum {}", model.options().weighting, sum(model.sum_of_weights()));
    [Some(fitted), normalised(log1p), Some(weighting), Some(treatment(model, ""))]
        .into_iter()
        .flatten()
        .collect()
}

/// Describes a rotated model of the data that `data` describes, normalised by `log1p`.
fn rotated<M: Components>(
    args: &InspectArgs,
    (model, shape, features): (&RotatedModel<M>, (usize, usize), Option<&[String]>),
    (data, log1p): (&[String], Option<f64>),
    version: &str,
) -> Result<()> {
    let file = &input_name(&args.file);
    if let Some(extent) = args.json {
        let content = RotationSummary::new(model, shape, features, extent);
        let format = "karhunen rotated model";
        return print(&to_json(&Inspection { file, format, karhunen: version, log1p, content })?);
    }
    let report = RotationReport { model, features, data, written: &[] };
    print(&report.render(Layout::of(&console::Term::stdout())))
}

fn incomplete(args: &InspectArgs, saved: &SavedIncomplete, version: &str) -> Result<()> {
    let file = &input_name(&args.file);
    if let Some(extent) = args.json {
        let content = IncompleteSummary::new(saved, extent);
        let format = "karhunen model of incomplete data";
        return print(&to_json(&Inspection { file, format, karhunen: version, log1p: None, content })?);
    }
    let data = data_of_incomplete(args, (&saved.model, &saved.extras), version);
    let features = saved.extras.column_ids.as_ref().map(Ids::texts);
    let report = IncompleteReport {
        model: &saved.model,
        features: features.as_deref(),
        data: &data,
        seconds: None,
        written: &[],
    };
    print(&report.render(Layout::of(&console::Term::stdout())))
}

/// Describes the data of a fit with missing values: one line each.
fn data_of_incomplete(
    args: &InspectArgs,
    (model, extras): (&IncompleteModel, &RowsAndColumns),
    version: &str,
) -> Vec<String> {
    let file = input_name(&args.file);
    let fitted =
        format!("{file}: model of karhunen {version} of incomplete data, fitted to {}", fitted(model));
    [fitted].into_iter().chain(extras.triples.as_ref().map(origin)).collect()
}

fn kernel(args: &InspectArgs, saved: &SavedKernel, version: &str) -> Result<()> {
    let (file, model, log1p) = (&input_name(&args.file), &saved.model, saved.extras.log1p);
    if let Some(extent) = args.json {
        let content = KernelSummary::new(model, saved.extras.feature_names.as_deref(), extent);
        let format = "karhunen kernel model";
        return print(&to_json(&Inspection { file, format, karhunen: version, log1p, content })?);
    }
    let fitted = format!(
        "{file}: kernel model of karhunen {version}, fitted to {} rows x {} columns, {}",
        crate::figures::count(model.n_samples()),
        crate::figures::count(model.n_features()),
        model.parts().dtype
    );
    let weights = format!("weights: sum {}", sum(model.parts().sum_of_weights));
    let lines = [fitted, weights, kernel_line(model), kept_line(model, "")];
    let data: Vec<String> = lines.into_iter().chain(normalised(log1p)).collect();
    let report = KernelReport { model, data: &data, seconds: None, peak_memory: None, written: &[] };
    print(&report.render(Layout::of(&console::Term::stdout())))
}

fn categorical(args: &InspectArgs, saved: &SavedCategorical, version: &str) -> Result<()> {
    let (file, model) = (&input_name(&args.file), &saved.model);
    if let Some(extent) = args.json {
        let content = CategorySummary::new(model, extent);
        let format = "karhunen model of categories";
        return print(&to_json(&Inspection { file, format, karhunen: version, log1p: None, content })?);
    }
    let fitted = format!(
        "{file}: model of categories of karhunen {version}, fitted to {} rows x {} columns",
        count(model.n_samples()),
        count(model.variables().len())
    );
    let weights =
        format!("weights: {}, sum {}", model.options().weighting, sum(model.pca().sum_of_weights()));
    let data: Vec<String> =
        [fitted, weights, report::treatment(model)].into_iter().chain(v_test_note(model)).collect();
    let report = CategoryReport { model, data: &data, seconds: None, written: &[] };
    print(&report.render(Layout::of(&console::Term::stdout())))
}

fn moments(args: &InspectArgs, saved: &SavedScatter, version: &str) -> Result<()> {
    let (file, features) = (&input_name(&args.file), saved.extras.feature_names.as_deref());
    let log1p = saved.extras.log1p;
    if args.json.is_some() {
        let content = MomentsSummary::new(&saved.model, features);
        let format = "karhunen moments";
        return print(&to_json(&Inspection { file, format, karhunen: version, log1p, content })?);
    }
    let moments = &saved.model.moments;
    let layout = Layout::of(&console::Term::stdout());
    let mut out = String::new();
    wrapped(&mut out, "", &format!("{file}: {} by karhunen {version}", headline(moments)), layout.width);
    if let Some(line) = normalised(log1p) {
        wrapped(&mut out, "", &line, layout.width);
    }
    let advice = format!("karhunen fit --from-moments {} fits them", shell_word(file));
    wrapped(&mut out, "", &advice, layout.width);
    text::columns(&mut out, features, (&moments.mean, &deviations(moments), None), layout);
    print(&out)
}

fn stream(args: &InspectArgs, saved: &SavedIncremental, version: &str) -> Result<()> {
    let (file, fit) = (&input_name(&args.file), &saved.model);
    // Rows that allow no components yet, such as a single one, are described without them.
    let model = fit.model(&args.threads.run(&Unobserved));
    let problem = model.as_ref().err().map(|error| format!("no components yet: {error}"));
    let (model, features) = (model.as_ref().ok(), saved.extras.feature_names.as_deref());
    let log1p = saved.extras.log1p;
    if let Some(extent) = args.json {
        let content = StreamSummary::new(fit, model, features, extent);
        let format = "karhunen state of update";
        return print(&to_json(&Inspection { file, format, karhunen: version, log1p, content })?);
    }
    let lines: Vec<String> = [format!("state of karhunen {version}, which update continues")]
        .into_iter()
        .chain(normalised(log1p))
        .chain(problem)
        .chain(model.into_iter().flat_map(|model| model.notes()).map(ToString::to_string))
        .collect();
    let report = UpdateReport { file, fit, model, features, added: &lines, seconds: None };
    print(&report.render(Layout::of(&console::Term::stdout()), &[]))
}

/// The state of a fit, as JSON.
#[derive(Debug, Serialize)]
struct CheckpointInspection<'a> {
    file: &'a str,
    format: &'a str,
    /// The version of karhunen that wrote it.
    karhunen: &'a str,
    iteration: usize,
    data: &'a Fingerprint,
    options: &'a IncompletePca,
}

fn checkpoint(args: &InspectArgs, state: &Checkpoint) -> Result<()> {
    let file = &input_name(&args.file);
    let Checkpoint { version, options, data, iteration, .. } = state;
    if args.json.is_some() {
        let format = "karhunen checkpoint";
        return print(&to_json(&CheckpointInspection {
            file,
            format,
            karhunen: version,
            iteration: *iteration,
            data,
            options,
        })?);
    }
    let components = if options.n_components == 1 { "component" } else { "components" };
    let lines = [
        format!(
            "{file}: checkpoint of karhunen {version}: a fit of incomplete data by {}, {} {components}, after iteration {}",
            options.method.name(),
            options.n_components,
            count(*iteration)
        ),
        format!(
            "fitted to {} entries of {} rows x {} columns, {}",
            count(data.n_observed),
            count(data.n_samples),
            count(data.n_features),
            data.dtype
        ),
        format!(
            "the command of the fit continues from here with --checkpoint {file} --resume; --json shows its \
             options"
        ),
    ];
    let mut out = String::new();
    let layout = Layout::of(&console::Term::stdout());
    lines.iter().for_each(|line| wrapped(&mut out, "", line, layout.width));
    print(&out)
}

/// Describes the triples that a model was fitted to.
fn origin(columns: &TripleColumns) -> String {
    let weights =
        columns.weight.as_ref().map_or_else(String::new, |weight| format!(", weighted by `{weight}`"));
    format!(
        "triples: `{}` by rows, `{}` by columns, of `{}`{weights}",
        columns.row, columns.column, columns.value
    )
}

/// A data file, as JSON.
#[derive(Debug, Serialize)]
struct DataInspection<'a> {
    file: &'a str,
    format: &'a str,
    n_samples: usize,
    n_features: usize,
    n_stored: Option<usize>,
    dtype: &'a str,
    feature_names: Option<&'a [String]>,
    has_sample_names: bool,
    labels: Vec<&'a str>,
    notes: &'a [String],
    problem: Option<String>,
    /// Number of missing values of each column; `None` if no value is missing.
    n_missing: Option<&'a [usize]>,
    mean: Option<&'a [f64]>,
    standard_deviation: Option<&'a [f64]>,
    seconds: ReadSeconds,
}

#[derive(Debug, Serialize)]
struct ReadSeconds {
    read: f64,
}

fn data(args: &InspectArgs, dataset: &Dataset) -> Result<()> {
    let table = &dataset.table;
    let (n_samples, n_features) = table.data.shape();
    let (columns, problem) = match Columns::of(&table.data, &args.threads.run(&Unobserved)) {
        Ok(columns) => (Some(columns), None),
        Err(error) => (None, Some(dataset.places().explain(error).to_string())),
    };
    dataset.check_unchanged()?;
    let n_missing = columns.as_ref().and_then(|columns| columns.n_missing.as_deref());
    if args.json.is_some() {
        return print(&to_json(&DataInspection {
            file: &dataset.file,
            format: table.format,
            n_samples,
            n_features,
            n_stored: dataset.table.data.n_stored(),
            dtype: table.data.dtype(),
            feature_names: table.feature_names.as_deref(),
            has_sample_names: table.sample_names.is_some(),
            labels: table.labels.iter().map(|label| label.name.as_str()).collect(),
            notes: &dataset.notes(),
            problem,
            n_missing,
            mean: columns.as_ref().map(|columns| columns.mean.as_slice()),
            standard_deviation: columns.as_ref().map(|columns| columns.deviation.as_slice()),
            seconds: ReadSeconds { read: dataset.seconds },
        })?);
    }
    let layout = Layout::of(&console::Term::stdout());
    let mut out = String::new();
    let summary = n_missing.map(|n_missing| missing(n_missing, n_samples));
    for line in [dataset.headline()].into_iter().chain(dataset.remarks()).chain(summary) {
        wrapped(&mut out, "", &line, layout.width);
    }
    if let Some(problem) = problem {
        wrapped(&mut out, "problem", &problem, layout.width);
    }
    if let Some(found) = columns {
        let names = table.feature_names.as_deref();
        let Columns { n_missing, mean, deviation } = &found;
        text::columns(&mut out, names, (mean, deviation, n_missing.as_deref()), layout);
    }
    print(&out)
}

/// Describes how many values are missing, and in how many columns.
fn missing(n_missing: &[usize], n_samples: usize) -> String {
    let (all, columns) = (n_missing.iter().sum::<usize>(), n_missing.iter().filter(|n| **n > 0).count());
    let share = share(all, (n_samples, n_missing.len()));
    let values = if all == 1 { "value" } else { "values" };
    format!(
        "{} {values} missing ({share}), in {} of {} columns; karhunen fit --missing fits what was observed",
        count(all),
        count(columns),
        count(n_missing.len())
    )
}

/// Statistics of each column.
struct Columns {
    /// Number of missing values; `None` if no value is missing.
    n_missing: Option<Vec<usize>>,
    /// Mean of the observed values.
    mean: Vec<f64>,
    /// Standard deviation of the observed values, with divisor n - 1, as in a fit.
    deviation: Vec<f64>,
}

impl Columns {
    fn of(data: &Data, run: &Run<'_>) -> karhunen::Result<Self> {
        let n_samples = data.shape().0;
        match dispatch(data, ColumnMoments { run }) {
            Ok(moments) => {
                let correction = n_samples as f64 / (n_samples as f64 - 1.0).max(1.0);
                let Moments { weight, mean, sum_of_squares: mut deviation, .. } = moments;
                deviation.iter_mut().for_each(|sum| *sum = (*sum / weight * correction).sqrt());
                Ok(Self { n_missing: None, mean, deviation })
            }
            Err(karhunen::Error::NonFinite { value, .. }) if value.is_nan() => match data.observed(run)? {
                ObservedData::F32(observed) => Ok(Self::with_missing(&observed)),
                ObservedData::F64(observed) => Ok(Self::with_missing(&observed)),
            },
            Err(error) => Err(error),
        }
    }

    fn with_missing<T: Scalar>(observed: &Observed<T>) -> Self {
        let (n, p) = observed.shape();
        let (mean, deviation) = (0..p)
            .map(|j| {
                let values = observed.column(j).1;
                let n = values.len() as f64;
                let mean = values.iter().map(|x| x.to_f64()).sum::<f64>() / n;
                let squares: f64 = values.iter().map(|x| (x.to_f64() - mean).powi(2)).sum();
                // Without values, mean and deviation are undefined.
                (mean, if n > 0.0 { (squares / (n - 1.0).max(1.0)).sqrt() } else { f64::NAN })
            })
            .unzip();
        let n_missing = (0..p).map(|j| n - observed.n_observed_in_column(j)).collect();
        Self { n_missing: Some(n_missing), mean, deviation }
    }
}

/// Means and variances of values of either type.
struct ColumnMoments<'a> {
    run: &'a Run<'a>,
}

impl OnValues for ColumnMoments<'_> {
    type Output = karhunen::Result<Moments>;

    fn on<T: Scalar>(self, values: &Values<T>) -> Self::Output {
        Moments::of(&*values.source()?, None, self.run)
    }
}
