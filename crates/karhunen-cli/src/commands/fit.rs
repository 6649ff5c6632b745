//! `karhunen fit`: from a table to its principal components.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use karhunen::{Matrix, Pca, PcaModel, Scalar, Transform, Weighting, Weights};
use karhunen_io::{IdColumn, NamedMatrix, SavedModel, Values};

use crate::args::{FitArgs, JsonExtent};
use crate::commands::fit_incomplete;
use crate::dataset::Dataset;
use crate::error::{Failure, Result};
use crate::names;
use crate::outputs::{Outputs, print, print_aside};
use crate::plan::{FitPlan, OnValues, SummaryForm, dispatch, input_name, is_standard};
use crate::progress::Progress;
use crate::report::{Layout, ModelReport, Seconds, treatment};
use crate::summary::{FitSummary, ModelSummary};

/// Fits, writes and reports.
pub(crate) fn run(args: FitArgs) -> Result<()> {
    if args.missing.wanted() {
        return fit_incomplete::run(args);
    }
    let plan = FitPlan::resolve(args)?;
    let progress = Progress::new(plan.quiet);
    let dataset = Dataset::read(&plan.data, &plan.read, &progress)?;
    let weights = FitWeights::read(&plan, &dataset)?;
    let pca = plan.pca(dataset.table.data.shape());
    let fit = Fit { plan: &plan, pca: &pca, dataset: &dataset, weights: &weights, progress: &progress };
    let (model, seconds) = dispatch(&dataset.table.data, fit)?;
    warn_of_convergence(&model);
    report(&plan, &dataset, &weights, &model, seconds)
}

/// Weights of rows and columns, and where those of the rows came from.
struct FitWeights {
    samples: Option<Vec<f64>>,
    features: Option<Vec<f64>>,
    origin: Option<String>,
}

impl FitWeights {
    fn read(plan: &FitPlan, dataset: &Dataset) -> Result<Self> {
        let (n, p) = dataset.table.data.shape();
        let features = match &plan.feature_weights {
            Some(path) => Some(karhunen_io::read_weights(path, Some(p))?),
            None => None,
        };
        let (samples, origin) = match (&plan.weights_file, &plan.read.weights_column) {
            (Some(path), _) => {
                refuse_ambiguous(path, dataset)?;
                (Some(karhunen_io::read_weights(path, Some(n))?), Some(input_name(path)))
            }
            (None, Some(column)) => (dataset.table.weights.clone(), Some(format!("column `{column}`"))),
            (None, None) => (None, None),
        };
        Ok(Self { samples, features, origin })
    }

    fn lend(&self) -> Weights<'_> {
        Weights { samples: self.samples.as_deref(), features: self.features.as_deref() }
    }
}

/// What is both a file and a column could be meant as either.
fn refuse_ambiguous(path: &Path, dataset: &Dataset) -> Result<()> {
    let table = &dataset.table;
    let mut columns =
        table.feature_names.iter().flatten().chain(table.labels.iter().map(|label| &label.name));
    if columns.any(|name| path.as_os_str() == name.as_str()) {
        let name = path.display();
        return Err(Failure::Usage(format!(
            "--weights {name} is both a file and a column of {}; write ./{name} for the file, or rename it",
            dataset.file
        )));
    }
    Ok(())
}

/// A fit on values of either type, with all that is written of it.
struct Fit<'a> {
    plan: &'a FitPlan,
    pca: &'a Pca,
    dataset: &'a Dataset,
    weights: &'a FitWeights,
    progress: &'a Progress,
}

impl OnValues for Fit<'_> {
    type Output = Result<(PcaModel, Seconds)>;

    fn on<T: Scalar>(self, values: &Values<T>) -> Self::Output {
        let explain = |error| self.dataset.places().explain(error);
        let source = values.source().map_err(explain)?;
        let started = Instant::now();
        let model = self.pca.fit_observed(&*source, &self.weights.lend(), self.progress).map_err(explain)?;
        let seconds = Seconds { read: self.dataset.seconds, fit: started.elapsed().as_secs_f64() };
        let scores = match self.plan.scores {
            Some(_) => {
                let how = Transform {
                    whiten: self.plan.whiten,
                    n_threads: self.pca.n_threads,
                    observer: self.progress,
                };
                Some(model.transform_with(&*source, &how).map_err(explain)?)
            }
            None => None,
        };
        self.progress.clear();
        self.write(&model, scores.as_ref())?;
        Ok((model, seconds))
    }
}

impl Fit<'_> {
    /// Prepares files first, then writes to the standard output, then puts the files in their places.
    fn write<T: Scalar>(&self, model: &PcaModel, scores: Option<&Matrix<T>>) -> Result<()> {
        let mut outputs = Outputs::default();
        for standard in [false, true] {
            let due = |path: &&std::path::PathBuf| is_standard(Some(path)) == standard;
            if let Some(path) = self.plan.model.as_ref().filter(due) {
                outputs.model(path, &self.saved(model))?;
            }
            if let (Some(path), Some(scores)) = (self.plan.scores.as_ref().filter(due), scores) {
                let table = NamedMatrix {
                    matrix: scores,
                    row_names: self.dataset.table.sample_names.as_deref(),
                    row_header: "sample",
                    labels: &[],
                    column_names: &names::of_components(model.n_components()),
                };
                outputs.table(path, &table)?;
            }
            if let Some(path) = self.plan.loadings.as_ref().filter(due) {
                self.write_loadings(&mut outputs, path, model)?;
            }
        }
        outputs.commit()
    }

    fn saved(&self, model: &PcaModel) -> SavedModel {
        let (table, read) = (&self.dataset.table, &self.plan.read);
        let labels = table.labels.iter().map(|label| &label.name);
        SavedModel {
            model: model.clone(),
            feature_names: table.feature_names.clone(),
            set_aside: labels.chain(&read.weights_column).cloned().collect(),
            id_column: match &read.id_column {
                IdColumn::Named(name) => Some(name.clone()),
                _ => None,
            },
            about_mean: None,
        }
    }

    fn write_loadings(&self, outputs: &mut Outputs, path: &Path, model: &PcaModel) -> Result<()> {
        let features = names::of_features(self.dataset.table.feature_names.as_deref(), model.n_features());
        let table = NamedMatrix {
            matrix: &model.loadings(),
            row_names: Some(&features),
            row_header: "feature",
            labels: &[],
            column_names: &names::of_components(model.n_components()),
        };
        outputs.table(path, &table)
    }
}

/// Tells which components missed the tolerance, and by how much.
fn warn_of_convergence(model: &PcaModel) {
    /// At most this many are listed.
    const LISTED: usize = 5;
    let convergence = model.convergence();
    let missed: Vec<String> = convergence
        .residuals
        .iter()
        .enumerate()
        .filter(|(_, residual)| **residual > convergence.tol)
        .map(|(c, residual)| format!("pc{} has the residual {residual:.1e}", c + 1))
        .collect();
    if missed.is_empty() {
        return;
    }
    let more = if missed.len() > LISTED { ", …" } else { "" };
    let label = console::style("warning:").for_stderr().yellow().bold();
    print_aside(&format!(
        "{label} {} of {} components did not reach the tolerance {:.0e}: {}{more}; raise --max-iter or --tol\n",
        missed.len(),
        convergence.residuals.len(),
        convergence.tol,
        missed[..missed.len().min(LISTED)].join(", ")
    ));
}

fn report(
    plan: &FitPlan,
    dataset: &Dataset,
    weights: &FitWeights,
    model: &PcaModel,
    seconds: Seconds,
) -> Result<()> {
    let written: BTreeMap<&'static str, String> =
        [("model", &plan.model), ("scores", &plan.scores), ("loadings", &plan.loadings)]
            .into_iter()
            .filter_map(|(what, path)| Some((what, path.as_ref()?)))
            .filter(|(_, path)| !is_standard(Some(path)))
            .map(|(what, path)| (what, path.display().to_string()))
            .collect();
    let features = dataset.table.feature_names.as_deref();
    let text = |stream: &console::Term| {
        let files: Vec<String> = written.iter().map(|(what, path)| format!("{what} to {path}")).collect();
        let data = description(plan, dataset, weights, model);
        ModelReport { model, features, data: &data, seconds: Some(seconds), written: &files }
            .render(Layout::of(stream))
    };
    match plan.summary {
        SummaryForm::None => Ok(()),
        SummaryForm::Text => print(&text(&console::Term::stdout())),
        SummaryForm::TextAside => {
            print_aside(&text(&console::Term::stderr()));
            Ok(())
        }
        SummaryForm::Json(extent) => print(&json(dataset, model, extent, &written, seconds)?),
    }
}

fn json(
    dataset: &Dataset,
    model: &PcaModel,
    extent: JsonExtent,
    written: &BTreeMap<&'static str, String>,
    seconds: Seconds,
) -> Result<String> {
    let summary = FitSummary {
        file: &dataset.file,
        format: dataset.table.format,
        model: ModelSummary::new(model, dataset.table.feature_names.as_deref(), extent),
        notes: &dataset.table.notes,
        written: written.clone(),
        seconds,
    };
    crate::summary::to_json(&summary)
}

/// What was read, what was set aside, what was done to it: one line each.
fn description(plan: &FitPlan, dataset: &Dataset, weights: &FitWeights, model: &PcaModel) -> Vec<String> {
    let mut lines: Vec<String> = [dataset.headline()].into_iter().chain(dataset.remarks()).collect();
    if let (Some(origin), Some(_)) = (&weights.origin, &weights.samples) {
        let meaning = match model.options().weighting {
            Weighting::Frequency => "times each row was seen",
            Weighting::Importance => "relative importance",
            Weighting::Population => "shares of the whole population",
        };
        lines.push(format!("weights from {origin}: {meaning}, sum {}", model.sum_of_weights()));
    }
    if let Some(path) = &plan.feature_weights {
        lines.push(format!("feature weights from {}", input_name(path)));
    }
    lines.push(treatment(model, if plan.chose_components() { " (-k chooses)" } else { "" }));
    lines
}
