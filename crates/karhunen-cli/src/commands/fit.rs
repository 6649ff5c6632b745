//! `karhunen fit`: fits principal components to a table.

use std::path::{Path, PathBuf};
use std::time::Instant;

use karhunen::error::Surface;
use karhunen::exec::PassLog;
use karhunen::memory::size;
use karhunen::pca::{Convergence, NewRows, Transform};
use karhunen::{Matrix, Pca, PcaModel, Run, Scalar, Source, Weighting};
use karhunen_device::Backend;
use karhunen_io::genotypes::PlinkTables;
use karhunen_io::{Cause, NamedMatrix, OfFile, Reading, SavedModel, TableColumns, Values};

use crate::args::fit::FitArgs;
use crate::args::genotypes;
use crate::commands::{fit_categories, fit_incomplete, fit_kernel, fit_moments};
use crate::component_names::{of_component, of_components};
use crate::data::computed_rows::ComputedRows;
use crate::data::dataset::Dataset;
use crate::data::weights::FitWeights;
use crate::error::{Failure, Result};
use crate::figures::{duration, sum};
use crate::files::of_fit::Part;
use crate::files::outputs::{Outputs, print_aside};
use crate::files::paths::input_name;
use crate::hints;
use crate::names;
use crate::pca::plan::{FitPlan, OnValues, dispatch};
use crate::pca::summary::{FitSummary, ModelSummary};
use crate::progress::Progress;
use crate::text::{ModelReport, Seconds, treatment};

/// Fits, writes and reports.
pub(crate) fn run(args: FitArgs) -> Result<()> {
    if args.from_moments || args.from_covariance {
        return fit_moments::run(args);
    }
    if let Some(kernel) = args.kernel.kernel {
        return fit_kernel::run(args, kernel);
    }
    if let Some(analysis) = args.categories.analysis() {
        return fit_categories::run(args, analysis);
    }
    if args.missing.wanted() {
        return fit_incomplete::run(args);
    }
    let plan = FitPlan::resolve(args)?;
    plan.check_device()?;
    let progress = Progress::new(plan.files.quiet);
    let mut dataset = Dataset::read_all(&plan.data, &plan.read, &progress).map_err(or_categories)?;
    dataset.hint(hints::of_table(&dataset.table));
    dataset.hint(hints::of_matrix(&dataset.table.data));
    if plan.eigenvec.is_some() {
        genotypes::check_table(&dataset)?;
    }
    let weights = FitWeights::read(
        plan.weights_file.as_deref(),
        plan.read.weights_column.as_deref(),
        plan.feature_weights.as_deref(),
        &dataset,
    )?;
    let pca = plan.pca_of(dataset.table.data.shape(), dataset.table.feature_names.as_deref())?;
    let fit = Fit { plan: &plan, pca: &pca, dataset: &dataset, weights: &weights, progress: &progress };
    let (model, seconds) = dispatch(&dataset.table.data, fit)?;
    dataset.hint(hints::of_model(&model, dataset.table.feature_names.as_deref()));
    dataset.hint(hints::of_rounded(&model, dataset.table.feature_names.as_deref()));
    dataset.hint(weights.note(pca.weighting));
    warn_of_components(model.convergence(), &dataset.places());
    report(&plan, &dataset, &weights, &model, seconds)
}

/// Adds to a refusal of columns of text the analyses that take them.
fn or_categories(failure: Failure) -> Failure {
    match failure {
        Failure::File(error) if matches!(*error.cause, Cause::TextColumns(..)) => Failure::Data(format!(
            "{}; or analyse categories with --mca, categories and numbers with --famd",
            Failure::File(error)
        )),
        failure => failure,
    }
}

/// A fit to values of either type, with its outputs.
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
        let explain = |error| self.dataset.explain(error);
        let source = values.source().map_err(explain)?;
        let started = Instant::now();
        let run = self.plan.threads.run(self.progress);
        let weights = self.weights.lend();
        let fit = |log: Option<&dyn PassLog>| match (log, self.plan.device) {
            (Some(log), _) => self.pca.fit_logged(&*source, &weights, log, &run),
            (None, Backend::Cpu) => self.pca.fit_with(&*source, &weights, &run),
            (None, Backend::Cuda) => karhunen_device::fit(self.pca, &*source, &weights, &[], &run),
        };
        let places = self.dataset.places();
        let model = self.plan.checkpoints.fit_logged(self.progress, &places, explain, fit)?;
        let model = if self.plan.limits {
            let new_rows = NewRows::of(&model, &*source, weights.samples, &run).map_err(explain)?;
            model.with_new_rows(new_rows)
        } else {
            model
        };
        let seconds = Seconds { read: self.dataset.seconds, fit: started.elapsed().as_secs_f64() };
        let how = Transform { whiten: self.plan.files.whiten, ..Transform::default() };
        let scores = match (&self.plan.files.scores, values) {
            (None, _) => Scores::None,
            (Some(_), Values::InFile(_)) => Scores::Computed(&*source, how),
            (Some(_), _) => Scores::Held(model.transform_with(&*source, how, &run).map_err(explain)?),
        };
        self.progress.clear();
        self.dataset.check_unchanged()?;
        let tables = match (&self.plan.eigenvec, &self.plan.data[..]) {
            (Some(prefix), [bed]) => {
                let scores = model.transform_with(&*source, Transform::default(), &run).map_err(explain)?;
                Some((prefix, PlinkTables::new(bed, &model, &scores)?))
            }
            _ => None,
        };
        self.write(&model, &scores, tables.as_ref(), &run)?;
        Ok((model, seconds))
    }
}

/// The scores to write.
enum Scores<'a, T> {
    None,
    Held(Matrix<T>),
    /// Computed from the source while they are written.
    Computed(&'a dyn Source<T>, Transform),
}

impl Fit<'_> {
    fn write<T: Scalar>(
        &self,
        model: &PcaModel,
        scores: &Scores<'_, T>,
        tables: Option<&(&PathBuf, PlinkTables)>,
        run: &Run<'_>,
    ) -> Result<()> {
        let more = |outputs: &mut Outputs| {
            let Some((prefix, tables)) = tables else { return Ok(()) };
            tables.stage(prefix).into_iter().try_for_each(|file| outputs.stage(file))
        };
        let columns = of_components(model.n_components());
        self.plan.files.write_with(more, |outputs, part, path| match (part, scores) {
            (Part::Model, _) => outputs.model(path, &self.saved(model)),
            (Part::Loadings, _) => {
                write_loadings(outputs, path, model, self.dataset.table.feature_names.as_deref())
            }
            (Part::Scores, Scores::None) => Ok(()),
            (Part::Scores, Scores::Computed(source, how)) => {
                let rows = ComputedRows::scores(model, *source, *how, run);
                let names = ("sample", self.dataset.table.sample_names.as_deref());
                rows.write_to(outputs, path, names, &columns, |error| self.dataset.explain(error))?;
                self.progress.clear();
                Ok(())
            }
            (Part::Scores, Scores::Held(scores)) => {
                let table = NamedMatrix {
                    matrix: scores,
                    row_names: self.dataset.table.sample_names.as_deref(),
                    row_header: "sample",
                    labels: &[],
                    column_names: &columns,
                    numeric_ids: false,
                };
                outputs.table(path, &table)
            }
        })
    }

    fn saved(&self, model: &PcaModel) -> SavedModel {
        let (table, read) = (&self.dataset.table, &self.plan.read);
        let extras = TableColumns {
            feature_names: table.feature_names.clone(),
            of_file: OfFile::of(read, (&table.labels, &table.left_out), table.id_name.as_ref()),
            log1p: table.log1p,
        };
        SavedModel { model: model.clone(), extras }
    }
}

/// Writes the loadings of the features.
pub(super) fn write_loadings(
    outputs: &mut Outputs,
    path: &Path,
    model: &PcaModel,
    features: Option<&[String]>,
) -> Result<()> {
    let table = NamedMatrix {
        matrix: &model.loadings(),
        row_names: Some(&names::of_features(features, model.n_features())),
        row_header: "feature",
        labels: &[],
        column_names: &of_components(model.n_components()),
        numeric_ids: false,
    };
    outputs.table(path, &table)
}

/// Warns of components of a fit that missed the tolerance.
pub(super) fn warn_of_components(convergence: &Convergence, places: &dyn Surface) {
    if let Some(advice) = &convergence.advice {
        warn_of_convergence(&convergence.residuals, convergence.tol, &advice.text_for(places));
    }
}

/// Warns of components that missed the tolerance, with their residuals and a remedy.
pub(super) fn warn_of_convergence(residuals: &[f64], tol: f64, advice: &str) {
    /// Maximum number of components listed.
    const LISTED: usize = 5;
    let missed: Vec<String> = residuals
        .iter()
        .enumerate()
        .filter(|(_, residual)| **residual > tol)
        .map(|(c, residual)| format!("{} has the residual {residual:.1e}", of_component(c)))
        .collect();
    if missed.is_empty() {
        return;
    }
    let more = if missed.len() > LISTED { ", …" } else { "" };
    let label = console::style("warning:").for_stderr().yellow().bold();
    print_aside(&format!(
        "{label} {} of {} components did not reach the tolerance {:.0e}: {}{more}; {advice}\n",
        missed.len(),
        residuals.len(),
        tol,
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
    let features = dataset.table.feature_names.as_deref();
    let text = |layout, written: &[String]| {
        let data = description(plan, dataset, weights, model);
        ModelReport { model, features, data: &data, seconds: Some(seconds), written }.render(layout)
    };
    plan.files.print_summary(text, |extent, written| {
        crate::pca::summary::to_json(&FitSummary {
            file: &dataset.file,
            format: dataset.table.format,
            model: ModelSummary::new(model, features, extent),
            notes: &dataset.notes(),
            written,
            seconds,
            reading: dataset.table.data.reading().map(Into::into),
        })
    })
}

/// Describes the input, the excluded columns, and the treatment of the data: one line each.
fn description(plan: &FitPlan, dataset: &Dataset, weights: &FitWeights, model: &PcaModel) -> Vec<String> {
    let mut lines: Vec<String> = [dataset.headline()].into_iter().chain(dataset.remarks()).collect();
    if let Some(origin) = weights.origin() {
        let meaning = match model.options().weighting {
            Weighting::Frequency => "times each row was seen",
            Weighting::Importance => "relative importance",
            Weighting::Population => "shares of the whole population",
        };
        lines.push(format!("weights from {origin}: {meaning}, sum {}", sum(model.sum_of_weights())));
    }
    if let Some(path) = &plan.feature_weights {
        lines.push(format!("feature weights from {}", input_name(path)));
    }
    if let Some(Reading { bytes, seconds }) = dataset.table.data.reading() {
        let (bytes, seconds) = (size(bytes), duration(seconds));
        lines.push(format!("{bytes} read in all passes, in {seconds} of reading during the computation"));
    }
    lines.push(treatment(model, if plan.chose_components() { " (-k chooses)" } else { "" }));
    lines
}
