//! `karhunen select`: the number of components by all rules.

use std::time::Instant;

use karhunen::selection::{Parallel, Selection, Spectrum, north, of_spectrum};
use karhunen::{NComponents, Pca, PcaModel, Scalar};
use karhunen_io::{AnyModel, Content, ReadOptions, Values};

use crate::args::fit::PcaArgs;
use crate::args::input::read_options;
use crate::args::select::{SelectArgs, SelectDataArgs};
use crate::commands::loaded::no_categories;
use crate::commands::update::model_of;
use crate::data::dataset::Dataset;
use crate::data::weights::{FitWeights, column_or_file};
use crate::error::{Failure, Places, Result};
use crate::figures::{count, sum};
use crate::files::outputs::{check_standard_output, print, print_warnings};
use crate::files::paths::{input_name, one_standard_input};
use crate::pca::plan::{OnValues, apply_numbers, dispatch};
use crate::pca::summary::to_json;
use crate::progress::Progress;
use crate::selection::folds::Folds;
use crate::selection::report::{IncompleteSummary, SelectReport, SelectSummary};
use crate::text::{Layout, Seconds, treatment};

/// Evaluates the rules and prints their choices.
pub(crate) fn run(args: SelectArgs) -> Result<()> {
    let of_data = &args.of_data;
    let (column, weights) = column_or_file(of_data.weights.rows.weights.clone());
    one_standard_input(&[
        Some(&args.file),
        weights.as_ref(),
        of_data.weights.feature_weights.as_ref(),
        of_data.complete.center_values.as_ref(),
        of_data.complete.scale_values.as_ref(),
        of_data.input.feature_names.as_ref(),
        of_data.input.sample_names.as_ref(),
    ])?;
    check_standard_output()?;
    let progress = Progress::new(args.quiet || args.json);
    let read = ReadOptions { weights_column: column, ..read_options(&of_data.input, &of_data.threads) };
    let read = of_data.memory.within(read);
    let file = input_name(&args.file);
    match Dataset::read_any(&args.file, &read, &progress)? {
        (Content::Table(table), seconds) => {
            let dataset = Dataset { file, table: *table, seconds, hints: Vec::new() };
            let weights = FitWeights::read(
                weights.as_deref(),
                read.weights_column.as_deref(),
                of_data.weights.feature_weights.as_deref(),
                &dataset,
            )?;
            let meaning = of_data.weights.rows.weighting.unwrap_or_default();
            print_warnings(&dataset.file, weights.note(meaning).as_slice());
            let observations = args.observations;
            let work = Selecting {
                args: of_data,
                observations,
                dataset: &dataset,
                weights: &weights,
                progress: &progress,
            };
            let (found, rules, fit) = dispatch(&dataset.table.data, work)?;
            progress.clear();
            let data: Vec<String> = [dataset.headline()].into_iter().chain(dataset.remarks()).collect();
            let seconds = Seconds { read: dataset.seconds, fit };
            match found {
                Some(model) => report(&args, &dataset.file, (&model, rules), data, Some(seconds)),
                None => report_incomplete(&args, &dataset, &rules, data, seconds),
            }
        }
        (Content::Model { saved, version }, _) => {
            if let Some(option) = args.given.first_of::<SelectDataArgs>(&[]) {
                return Err(Failure::Usage(format!(
                    "{option} has no effect on a model; give the table, or leave it out"
                )));
            }
            let model = match saved {
                AnyModel::Complete(saved) => saved.model,
                AnyModel::Rotated(saved) => saved.model.into_model(),
                AnyModel::Incremental(saved) => model_of(&args.file, *saved)?.model,
                AnyModel::Incomplete(_) | AnyModel::RotatedIncomplete(_) => {
                    return Err(Failure::Data(format!(
                        "{file}: is a model of data with missing values, to which the rules do not apply; `karhunen select` \
                         of its data makes parallel analysis, and `karhunen cross-validate` compares numbers of components"
                    )));
                }
                AnyModel::Categorical(_) => return Err(no_categories(&args.file, "select")),
                AnyModel::Kernel(_) => {
                    return Err(Failure::Data(format!(
                        "{file}: is a model with a kernel, and the rules are of components of features"
                    )));
                }
            };
            let (n, p) = (count(model.n_samples()), count(model.n_features()));
            let data = vec![format!("{file}: model of karhunen {version}, fitted to {n} rows x {p} columns")];
            report(&args, &file, (&model, Vec::new()), data, None)
        }
        (Content::Moments { .. } | Content::Checkpoint(_), _) => {
            Err(Failure::Data(format!("{file}: is neither a model nor a table; fit it first")))
        }
    }
}

/// Prints the choices of the rules for the variances of a model, below the choices of `rules`.
fn report(
    args: &SelectArgs,
    file: &str,
    (model, mut rules): (&PcaModel, Vec<Selection>),
    mut data: Vec<String>,
    seconds: Option<Seconds>,
) -> Result<()> {
    let spectrum =
        Spectrum::of_model(model, args.observations).map_err(|error| Places::of_file(file).explain(error))?;
    rules.extend(of_spectrum(&spectrum));
    let separation = north(&spectrum);
    if args.json {
        let found = (&rules[..], &separation);
        let summary = SelectSummary::new(file, model, spectrum.n_observations(), found, seconds);
        return print(&to_json(&summary)?);
    }
    data.push(format!("{}; {} observations", treatment(model, ""), sum(spectrum.n_observations())));
    let report = SelectReport { data: &data, rules: &rules, separation: Some(&separation) };
    print(&report.render(Layout::of(&console::Term::stdout())))
}

/// Prints the choice of parallel analysis for a table with missing values, to which the rules of variances do not apply.
fn report_incomplete(
    args: &SelectArgs,
    dataset: &Dataset,
    rules: &[Selection],
    mut data: Vec<String>,
    seconds: Seconds,
) -> Result<()> {
    if let (Some(observations), true) = (args.observations, args.of_data.parallel.no_parallel) {
        return Err(Failure::Usage(format!(
            "--observations {observations} has no effect on data with missing values without parallel analysis; leave out \
             --no-parallel"
        )));
    }
    if args.json {
        let summary = IncompleteSummary::new(&dataset.file, dataset.table.data.shape(), rules, seconds);
        return print(&to_json(&summary)?);
    }
    data.push(
        "values are missing, so the rules of variances do not apply; --cross-validate compares numbers of components by \
         their error on held-out entries"
            .to_owned(),
    );
    let report = SelectReport { data: &data, rules, separation: None };
    print(&report.render(Layout::of(&console::Term::stdout())))
}

/// The fit of a table and parallel analysis.
struct Selecting<'a> {
    args: &'a SelectDataArgs,
    observations: Option<f64>,
    dataset: &'a Dataset,
    weights: &'a FitWeights,
    progress: &'a Progress,
}

impl OnValues for Selecting<'_> {
    /// The model, unless values are missing; the rules; seconds.
    type Output = Result<(Option<PcaModel>, Vec<Selection>, f64)>;

    fn on<T: Scalar>(self, values: &Values<T>) -> Self::Output {
        let Self { args, observations, dataset, weights, progress } = self;
        let explain = |error: karhunen::Error| dataset.explain(error);
        use karhunen::Error::{NonFinite, NonFiniteUnweighted};
        let is_missing = |error: &karhunen::Error| matches!(error, NonFinite { value, .. } | NonFiniteUnweighted { value, .. } if value.is_nan());
        let source = values.source().map_err(explain)?;
        let (n, p) = source.shape();
        let most =
            args.n_components.map_or(NComponents::All, |k| NComponents::Count(usize::from(k).min(n.min(p))));
        let mut pca = Pca {
            n_components: most,
            weighting: args.weights.rows.weighting.unwrap_or_default(),
            memory_limit: args.memory.memory_limit,
            ..Pca::default()
        };
        args.complete.apply(&mut pca);
        let PcaArgs { center_values, scale_values, .. } = &args.complete;
        apply_numbers(&mut pca, [center_values, scale_values], (dataset.table.feature_names.as_deref(), p))?;
        let (weights, run) = (weights.lend(), args.threads.run(progress));
        let folds = Folds::resolve(args, values, (n, p))?;
        let started = Instant::now();
        let model = match pca.fit_with(&*source, &weights, &run) {
            Err(error) if is_missing(&error) && args.parallel.no_parallel && folds.is_none() => {
                let place = dataset.explain(error);
                return Err(Failure::Data(format!(
                    "{place}; of data with missing values, parallel analysis and --cross-validate choose; ask for one"
                )));
            }
            Err(error) if is_missing(&error) => None,
            found => Some(found.map_err(explain)?),
        };
        let mut rules = Vec::new();
        if !args.parallel.no_parallel {
            let rule = Parallel { pca, n_observations: observations, ..args.parallel.rule() };
            rules.push(rule.select_incomplete(&*source, &weights, &run).map_err(explain)?);
        }
        if let Some(folds) = folds {
            let weighting = args.weights.rows.weighting.unwrap_or_default();
            rules.extend(folds.select(&*source, (&weights, weighting), &run).map_err(explain)?);
        }
        dataset.check_unchanged()?;
        Ok((model, rules, started.elapsed().as_secs_f64()))
    }
}
