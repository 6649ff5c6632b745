//! `karhunen update`: updates a fitted model with new rows.

use std::path::{Path, PathBuf};
use std::time::Instant;

use karhunen::error::{OptionName, OptionValue, Surface, options};
use karhunen::incremental::{IncrementalMethod, IncrementalModel, IncrementalPca};
use karhunen::{ErrorKind, Run, Scalar};
use karhunen_io::{OfFile, ReadOptions, SavedIncremental, SavedModel, TableColumns, Values, load_model};

use crate::args::fit::FitOutputArgs;
use crate::args::input::read_options;
use crate::args::update::{StreamArgs, UpdateArgs, UpdateOutputArgs};
use crate::data::dataset::Dataset;
use crate::data::weights::{FitWeights, column_or_file};
use crate::error::{Failure, Places, Result};
use crate::files::of_fit::FitFiles;
use crate::files::outputs::{Outputs, print_warnings};
use crate::files::overwrite;
use crate::files::paths::{check_outputs, input_name, is_standard, one_standard_input};
use crate::files::state_lock;
use crate::hints;
use crate::pca::plan::{OnValues, dispatch};
use crate::pca::summary::to_json;
use crate::pca::update_report::{StreamSummary, UpdateReport, UpdateSummary};
use crate::progress::Progress;
use crate::text::Seconds;

/// Reads the state and the rows, and replaces the state.
pub(crate) fn run(args: UpdateArgs) -> Result<()> {
    let plan = UpdatePlan::resolve(args)?;
    let progress = Progress::new(plan.files.quiet);
    let _turn = state_lock::turn(&plan.args.state, &progress)?;
    let began = plan.state()?;
    let is_new = began.is_none();
    let read = match &began {
        Some(saved) => saved.read_options(plan.read.clone()),
        None => plan.read.clone(),
    };
    let mut dataset = Dataset::read_all(&plan.args.data, &read, &progress)?;
    if began.is_none() {
        dataset.hint(hints::of_table(&dataset.table));
    }
    if let Some(saved) = &began {
        let known = saved.extras.feature_names.as_deref();
        dataset = dataset.aligned(known, saved.model.n_features(), &read)?;
    }
    let column = read.weights_column.as_deref();
    let weights = FitWeights::read(plan.weights_file.as_deref(), column, None, &dataset)?;
    if let Some(saved) = began.as_ref().filter(|_| weights.lend().samples.is_none()) {
        dataset.hint(hints::of_weights_before(&saved.model, &plan.args.threads.run(&progress)));
    }
    let saved = plan.fit(began, &dataset)?;
    let push = Push { plan: &plan, saved, dataset: &dataset, weights: &weights, progress: &progress };
    let (saved, seconds) = dispatch(&dataset.table.data, push)?;
    let model = model(&plan, &saved, &progress)?;
    progress.clear();
    dataset.check_unchanged()?;
    if is_new {
        state_lock::check_new(&plan.args.state)?;
    }
    plan.write(&saved, model.as_ref().ok())?;
    report(&plan, &dataset, &saved, &model, seconds)
}

/// The model of all rows so far, or why there is none yet.
type Model = std::result::Result<IncrementalModel, String>;

/// A resolved update.
struct UpdatePlan {
    args: UpdateArgs,
    read: ReadOptions,
    /// A file of row weights; a column is part of `read`.
    weights_file: Option<PathBuf>,
    files: FitFiles,
}

impl UpdatePlan {
    /// # Errors
    /// [`Failure::Usage`] for contradictory options, [`Failure::File`] for an output that cannot be written.
    fn resolve(mut args: UpdateArgs) -> Result<Self> {
        if is_standard(Some(&args.state)) {
            return Err(Failure::Usage(
                "the state is a file, which the update replaces; give its name".to_owned(),
            ));
        }
        args.complete.scales_by_deviation("an update")?;
        if args.complete.center_values.is_some() {
            return Err(Failure::Usage(
                "--center-values does not go with an update; leave it out".to_owned(),
            ));
        }
        if args.complete.scale_values.is_some() {
            return Err(Failure::Usage(
                "--scale-values does not go with an update; use --scale --column-scale".to_owned(),
            ));
        }
        let (column, weights_file) = column_or_file(args.weights.weights.take());
        let others = [
            weights_file.as_ref(),
            args.stream.column_scale.as_ref(),
            args.input.feature_names.as_ref(),
            args.input.sample_names.as_ref(),
        ];
        let inputs: Vec<_> = args.data.iter().map(Some).chain(others).collect();
        one_standard_input(&inputs)?;
        let outputs = [("STATE", Some(args.state.as_path())), ("-o", args.output.model.as_deref())];
        check_outputs(&outputs, &inputs)?;
        let UpdateOutputArgs { model, force, summary } = &args.output;
        let output = FitOutputArgs {
            model: model.clone(),
            scores: None,
            whiten: false,
            loadings: None,
            force: *force,
            summary: *summary,
        };
        let files = FitFiles::resolve(output, &inputs)?;
        let read = ReadOptions { weights_column: column, ..read_options(&args.input, &args.threads) };
        let read = args.memory.within(read);
        Ok(Self { args, read, weights_file, files })
    }

    /// The state so far; `None` if the update begins one.
    ///
    /// # Errors
    /// [`Failure::File`] for a file that does not exist, unless `-k` is given; [`Failure::Usage`] for one of another kind,
    /// and for an option that differs from the one of the state.
    fn state(&self) -> Result<Option<SavedIncremental>> {
        let path = &self.args.state;
        if !overwrite::holds_state(path)? {
            if self.args.n_components.is_none() {
                let advice = "there is no such file; give -k to begin a fit there (-k 10, -k 95% or -k all)";
                let missing = std::io::Error::new(std::io::ErrorKind::NotFound, advice);
                return Err(karhunen_io::Error::io(path, "opening", missing).into());
            }
            return Ok(None);
        }
        let saved: SavedIncremental = load_model(path)?;
        let began = saved.model.options();
        let mut asked = began.clone();
        self.args.apply(&mut asked);
        self.refuse_difference(began, &asked)?;
        Ok(Some(saved))
    }

    fn refuse_difference(&self, began: &IncrementalPca, asked: &IncrementalPca) -> Result<()> {
        let Some((option, was, is)) = began.difference(asked) else { return Ok(()) };
        Err(Failure::Usage(format!(
            "{}: the fit of {} began with {}, and its options hold for all rows; leave it out, or begin another",
            setting(option, &is),
            input_name(&self.args.state),
            setting(option, &was)
        )))
    }

    /// The fit that takes the rows: the one so far, whose columns the rows have, or a new one.
    ///
    /// # Errors
    /// Errors of the options.
    fn fit(&self, began: Option<SavedIncremental>, dataset: &Dataset) -> Result<SavedIncremental> {
        let (_, p) = dataset.table.data.shape();
        let column_scale = match &self.args.stream.column_scale {
            Some(path) => Some(karhunen_io::read_weights(path, Some(p))?),
            None => None,
        };
        let Some(saved) = began else {
            let mut pca = IncrementalPca { column_scale, ..IncrementalPca::default() };
            if let Some(bytes) = self.args.memory.memory_limit {
                pca.memory_limit = bytes;
            }
            self.args.apply(&mut pca);
            refuse_idle(&self.args.stream, pca.method_for(p))?;
            let model = pca.start(p).map_err(|error| dataset.places().explain(error))?;
            let table = &dataset.table;
            let extras = TableColumns {
                feature_names: table.feature_names.clone(),
                of_file: OfFile::of(&self.read, (&table.labels, &table.left_out), table.id_name.as_ref()),
                log1p: table.log1p,
            };
            return Ok(SavedIncremental { model, extras });
        };
        let began = saved.model.options();
        if column_scale.is_some() {
            self.refuse_difference(began, &IncrementalPca { column_scale, ..began.clone() })?;
        }
        Ok(saved)
    }

    /// Replaces the state, and writes the model; all files or none.
    fn write(&self, saved: &SavedIncremental, model: Option<&IncrementalModel>) -> Result<()> {
        let mut outputs = Outputs::new(self.files.force);
        outputs.model(&self.args.state, saved)?;
        if let Some((path, model)) = self.files.model.as_deref().zip(model) {
            outputs.model(path, &SavedModel { model: model.pca().clone(), extras: saved.extras.clone() })?;
        }
        outputs.commit()
    }
}

/// An option as it is typed.
fn setting(option: OptionName, value: &OptionValue) -> String {
    match option {
        options::METHOD => format!("--method {value}"),
        option => Places::of_file("").setting(option, value),
    }
}

/// # Errors
/// [`Failure::Usage`] for an option of sketches, if the scatter matrix is kept.
fn refuse_idle(args: &StreamArgs, method: IncrementalMethod) -> Result<()> {
    let of_sketches = [
        ("--oversamples", args.oversamples.is_some()),
        ("--batch-size", args.batch_size.is_some()),
        ("--warm-rows", args.warm_rows.is_some()),
        ("--seed", args.seed.is_some()),
    ];
    match of_sketches.into_iter().find(|(_, given)| *given) {
        Some((option, _)) if method == IncrementalMethod::Scatter => Err(Failure::Usage(format!(
            "{option} has no effect with the method scatter, which the columns allow; leave it out, or use --method sketch"
        ))),
        _ => Ok(()),
    }
}

/// Adds rows of either type.
struct Push<'a> {
    plan: &'a UpdatePlan,
    saved: SavedIncremental,
    dataset: &'a Dataset,
    weights: &'a FitWeights,
    progress: &'a Progress,
}

impl OnValues for Push<'_> {
    type Output = Result<(SavedIncremental, Seconds)>;

    fn on<T: Scalar>(mut self, values: &Values<T>) -> Self::Output {
        let explain = |error| self.dataset.explain(error);
        let source = values.source().map_err(explain)?;
        let started = Instant::now();
        let run = self.plan.args.threads.run(self.progress);
        self.saved.model.push_source(&*source, self.weights.lend().samples, &run).map_err(explain)?;
        let seconds = Seconds { read: self.dataset.seconds, fit: started.elapsed().as_secs_f64() };
        Ok((self.saved, seconds))
    }
}

/// The model of all rows so far. Rows that allow none yet, such as a single one, are not a failure unless the model is
/// written.
fn model(plan: &UpdatePlan, saved: &SavedIncremental, progress: &Progress) -> Result<Model> {
    let run: Run<'_> = plan.args.threads.run(progress);
    match saved.model.model(&run) {
        Ok(model) => Ok(Ok(model)),
        Err(error)
            if plan.files.model.is_none()
                && matches!(error.kind(), ErrorKind::Argument | ErrorKind::Data) =>
        {
            Ok(Err(error.text_for(&Places::of_file(""))))
        }
        Err(error) => Err(Places::of_file(&input_name(&plan.args.state)).explain(error)),
    }
}

fn report(
    plan: &UpdatePlan,
    dataset: &Dataset,
    saved: &SavedIncremental,
    model: &Model,
    seconds: Seconds,
) -> Result<()> {
    let file = input_name(&plan.args.state);
    let notes: Vec<String> = match model {
        Ok(model) => model.notes().iter().map(ToString::to_string).collect(),
        Err(problem) => vec![format!("no components yet: {problem}")],
    };
    print_warnings(&file, &notes);
    let features = saved.extras.feature_names.as_deref();
    let text = |layout, written: &[String]| {
        let added: Vec<String> = [dataset.headline()].into_iter().chain(dataset.remarks()).collect();
        let written: Vec<String> =
            [format!("state to {file}")].into_iter().chain(written.iter().cloned()).collect();
        let model = model.as_ref().ok();
        UpdateReport {
            file: &file,
            fit: &saved.model,
            model,
            features,
            added: &added,
            seconds: Some(seconds),
        }
        .render(layout, &written)
    };
    plan.files.print_summary(text, |extent, mut written| {
        written.insert("state", file.clone());
        to_json(&UpdateSummary {
            file: &dataset.file,
            format: dataset.table.format,
            n_samples: dataset.table.data.shape().0,
            fit: StreamSummary::new(&saved.model, model.as_ref().ok(), features, extent),
            notes: [dataset.notes(), notes.clone()].concat(),
            written,
            seconds,
        })
    })
}

/// The model of a state, for commands that apply models.
///
/// # Errors
/// Same errors as [`karhunen::IncrementalFit::model`].
pub(crate) fn model_of(path: &Path, saved: SavedIncremental) -> Result<SavedModel> {
    let places = input_name(path);
    let model =
        saved.model.model(&Run::default()).map_err(|error| Places::of_file(&places).explain(error))?;
    Ok(SavedModel { model: model.into_pca(), extras: saved.extras })
}
