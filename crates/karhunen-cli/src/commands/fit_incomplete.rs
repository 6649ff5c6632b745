//! `karhunen fit --missing`: fits principal components to observed entries.

use std::path::Path;
use std::time::Instant;

use karhunen::IncompleteModel;
use karhunen::diagnostics::IncompleteNewRows;
use karhunen::error::Surface;
use karhunen::incomplete::{Dominant, Overfit, RowScores};
use karhunen_io::{NamedMatrix, ObservedData, OfFile, ReadOptions, RowsAndColumns, Saved, SavedIncomplete};

use crate::args::fit::FitArgs;
use crate::commands::fit_online;
use crate::component_names::of_components;
use crate::error::{Failure, Result};
use crate::figures::{self, sum};
use crate::files::of_fit::Part;
use crate::files::outputs::{Outputs, print_aside};
use crate::incomplete::dataset::{ObservedDataset, Within};
use crate::incomplete::plan::IncompletePlan;
use crate::incomplete::report::IncompleteReport;
use crate::incomplete::rows::IncompleteRows;
use crate::incomplete::summary::{IncompleteFitSummary, IncompleteSummary};
use crate::names;
use crate::progress::Progress;
use crate::text::Seconds;

/// Fits, writes and reports.
pub(crate) fn run(args: FitArgs) -> Result<()> {
    let plan = IncompletePlan::resolve(args)?;
    let progress = Progress::new(plan.files.quiet);
    let (data, read, observe) = (&plan.data, &plan.read, &plan.observe);
    let dataset = if plan.streams() {
        match ObservedDataset::read_within(data, read, observe, &progress)? {
            Within::Entries(dataset) => *dataset,
            Within::TooMany(dataset, least) => return fit_online::run(&plan, &dataset, least, &progress),
        }
    } else {
        ObservedDataset::read(data, read, observe, &progress)?
    };
    let (dataset, weights) = weighed((plan.weights_file.as_deref(), &plan.read), dataset)?;
    let mut dataset = with_feature_weights(plan.feature_weights.as_deref(), dataset)?;
    dataset.hint(plan.scales());
    let shape = dataset.table.data.shape();
    let mut pca = plan.pca(shape, dataset.table.data.n_observed());
    plan.apply_scales(&mut pca, (dataset.column_names.as_deref(), shape.1))?;
    let started = Instant::now();
    let model =
        plan.checkpoints.fit(&pca, &dataset.table.data, plan.threads, &progress, &dataset.places())?;
    let model = if plan.limits { with_limits(model, &plan, &dataset, &progress)? } else { model };
    let seconds = Seconds { read: dataset.seconds, fit: started.elapsed().as_secs_f64() };
    progress.clear();
    check_convergence(&plan, &dataset, &model)?;
    warn_of_far_predictions(&dataset, &model);
    warn_of_parts(&dataset, &model);
    warn_of_overfit(&dataset, &model);
    warn_of_dominant(&dataset, &model);
    let saved = saved(&plan, &dataset, model);
    write(&plan, &dataset, &saved)?;
    report(&plan, &dataset, (&saved, weights), seconds)
}

/// The data with row weights, if any, from a file or column; and a line that describes them.
pub(crate) fn weighed(
    (file, read): (Option<&Path>, &ReadOptions),
    dataset: ObservedDataset,
) -> Result<(ObservedDataset, Option<String>)> {
    let found = dataset.row_weights(file, read.weights_column.as_deref())?;
    let Some((weights, origin)) = found else { return Ok((dataset, None)) };
    let total = sum(weights.iter().sum());
    let line = format!("weights from {origin}: times each row was seen, sum {total}");
    Ok((dataset.weighed(&weights)?, Some(line)))
}

/// The data with column weights from a file, if any.
fn with_feature_weights(file: Option<&Path>, dataset: ObservedDataset) -> Result<ObservedDataset> {
    match file {
        None => Ok(dataset),
        Some(path) => {
            let n_features = dataset.table.data.shape().1;
            let weights = karhunen_io::read_weights(path, Some(n_features))?;
            dataset.with_feature_weights(&weights)
        }
    }
}

/// Reports that a fit stopped at a limit, or that its starts ended apart; an error with `--strict`.
fn check_convergence(
    plan: &IncompletePlan,
    dataset: &ObservedDataset,
    model: &IncompleteModel,
) -> Result<()> {
    let convergence = model.convergence();
    if convergence.converged() {
        return Ok(());
    }
    if let Some(starts) = convergence.starts.filter(|starts| !starts.agree()) {
        let message = format!(
            "{}: {starts}, so another fit may be better, or the entries do not determine the components; lower -k, or give \
             --starts a number such as 20",
            dataset.file
        );
        if plan.strict {
            return Err(Failure::NotConverged(message));
        }
        warn(&message);
        if convergence.met_criterion() {
            return Ok(());
        }
    }
    let iterations = convergence.trace.last().map_or(0, |entry| entry.iteration);
    let limit = match convergence.stop {
        karhunen::incomplete::StopReason::TimeLimit => "--time-limit",
        _ => "--max-iter",
    };
    let message = format!(
        "{}: the cost was still falling after {iterations} iterations; raise {limit} or --tol",
        dataset.file
    );
    if plan.strict {
        return Err(Failure::NotConverged(message));
    }
    // Users who set a time limit expect it to end the fit.
    if limit == "--max-iter" {
        warn(&message);
    }
    Ok(())
}

/// The model with limits for new rows.
fn with_limits(
    model: IncompleteModel,
    plan: &IncompletePlan,
    dataset: &ObservedDataset,
    progress: &Progress,
) -> Result<IncompleteModel> {
    let run = plan.threads.run(progress);
    let new_rows = match &dataset.table.data {
        ObservedData::F32(entries) => IncompleteNewRows::of(&model, entries, &run),
        ObservedData::F64(entries) => IncompleteNewRows::of(&model, entries, &run),
    };
    Ok(model.with_new_rows(new_rows.map_err(|error| dataset.places().explain(error))?))
}

/// Warns of parts that nothing ties to one another.
fn warn_of_parts(dataset: &ObservedDataset, model: &IncompleteModel) {
    if let Some(facts) = model.convergence().identifiability.filter(|facts| facts.n_parts > 1) {
        warn(&format!("{}: {facts}; compare scores and loadings within a part only", dataset.file));
    }
}

/// Warns of predictions that are not supported by observed entries.
fn warn_of_far_predictions(dataset: &ObservedDataset, model: &IncompleteModel) {
    let Some(far) = model.convergence().far else { return };
    let places = dataset.places();
    let several = if far.count == 1 {
        "a missing value is filled".to_owned()
    } else {
        format!("{} missing values are filled", figures::count(far.count))
    };
    let message = format!(
        "{}: {several} far outside what was observed: {}, {} gets {}, {:.0} standard deviations beyond the values of its \
         column; there are too few of them for so many components; lower -k, give --regularization with --missing=als, or \
         use --missing, which learns how much to shrink",
        dataset.file,
        places.row(far.row),
        places.column(far.column),
        figures::significant(far.value),
        far.deviations
    );
    warn(&message);
}

/// Warns of components that fit noise.
fn warn_of_overfit(dataset: &ObservedDataset, model: &IncompleteModel) {
    let Some(Overfit { gain, n_parameters, outnumbered }) = model.convergence().overfit else { return };
    let why = if outnumbered {
        "scores and loadings outnumber the entries, so that they can fit each exactly".to_owned()
    } else {
        format!(
            "they lower -ln p by {gain:.0} with {} loadings, so the means alone are expected to predict better",
            figures::count(n_parameters)
        )
    };
    let components = match model.n_components() {
        1 => "component fits".to_owned(),
        several => format!("{several} components fit"),
    };
    let message = format!(
        "{}: the {components} noise: {why}; give --early-stopping, lower -k, or use --missing=vb-full, which learns how \
         much to shrink",
        dataset.file,
    );
    warn(&message);
}

/// Warns of a column that hides components of the others.
fn warn_of_dominant(dataset: &ObservedDataset, model: &IncompleteModel) {
    let Some(Dominant { column, others, n_lost }) = model.dominant() else { return };
    let components = match n_lost {
        1 => "a component has".to_owned(),
        several => format!("{several} components have"),
    };
    warn(&format!(
        "{}: {components} no variance: apart from {}, all columns together have {others:.1e} of it; \
         give --scale if columns have different units",
        dataset.file,
        dataset.places().column(column),
    ));
}

/// Prints a warning on standard error.
fn warn(message: &str) {
    let label = console::style("warning:").for_stderr().yellow().bold();
    print_aside(&format!("{label} {}\n", names::visible(message)));
}

fn saved(plan: &IncompletePlan, dataset: &ObservedDataset, model: IncompleteModel) -> SavedIncomplete {
    let table = &dataset.table;
    let extras = RowsAndColumns {
        row_ids: table.row_ids.clone(),
        column_ids: table.column_ids.clone(),
        triples: table.triples.clone(),
        of_file: OfFile::of(&plan.read, (&table.labels, &table.left_out), table.id_name.as_ref()),
    };
    SavedIncomplete { model, extras }
}

fn write(plan: &IncompletePlan, dataset: &ObservedDataset, saved: &SavedIncomplete) -> Result<()> {
    let model = &saved.model;
    plan.files.write(|outputs, part, path| match part {
        Part::Model => outputs.model(path, saved),
        Part::Loadings => write_loadings(outputs, path, dataset.column_names.as_deref(), model),
        Part::Scores => {
            let scores = model.score_table(&fitted_rows(model), plan.files.whiten);
            let scores = scores.map_err(|error| dataset.places().explain(error))?;
            let table = NamedMatrix {
                matrix: &scores,
                row_names: dataset.row_names.as_deref(),
                row_header: row_header(saved),
                labels: &[],
                column_names: &model.score_names(),
                numeric_ids: false,
            };
            outputs.table(path, &table)
        }
    })
}

/// The header of the row names: the name of the triples' row column.
pub(crate) fn row_header(saved: &Saved<impl IncompleteRows>) -> &str {
    let named = saved.extras.triples.as_ref().filter(|columns| columns.row.parse::<usize>().is_err());
    named.map_or("sample", |columns| &columns.row)
}

/// Scores and offsets of the fitted rows.
fn fitted_rows(model: &IncompleteModel) -> RowScores {
    RowScores { scores: model.scores().clone(), offsets: model.row_offsets().map(<[f64]>::to_vec) }
}

/// Writes the loadings of the columns of these names.
pub(crate) fn write_loadings(
    outputs: &mut Outputs,
    path: &Path,
    names: Option<&[String]>,
    model: &IncompleteModel,
) -> Result<()> {
    let table = NamedMatrix {
        matrix: &model.loadings(),
        row_names: Some(&names::of_features(names, model.n_features())),
        row_header: "feature",
        labels: &[],
        column_names: &of_components(model.n_components()),
        numeric_ids: false,
    };
    outputs.table(path, &table)
}

fn report(
    plan: &IncompletePlan,
    dataset: &ObservedDataset,
    (saved, weights): (&SavedIncomplete, Option<String>),
    seconds: Seconds,
) -> Result<()> {
    let features = dataset.column_names.as_deref();
    let text = |layout, written: &[String]| {
        let lines = [Some(dataset.headline()), dataset.remarks(), weights.clone()];
        let data: Vec<String> = lines.into_iter().flatten().collect();
        let model = &saved.model;
        IncompleteReport { model, features, data: &data, seconds: Some(seconds), written }.render(layout)
    };
    plan.files.print_summary(text, |extent, written| {
        crate::pca::summary::to_json(&IncompleteFitSummary {
            file: &dataset.file,
            format: dataset.table.format,
            model: IncompleteSummary::new(saved, extent),
            online: None,
            notes: &dataset.notes(),
            written,
            seconds,
        })
    })
}
