//! `karhunen fit --kernel`: fits principal components in the feature space of a kernel.

use std::time::Instant;

use karhunen::exec::PassLog;
use karhunen::kernel::Kernel;
use karhunen::pca::Transform;
use karhunen::{KernelModel, KernelPca, Matrix, Scalar, Source};
use karhunen_io::{NamedMatrix, OfFile, SavedKernel, TableColumns, Values};

use crate::args::fit::FitArgs;
use crate::commands::fit::warn_of_convergence;
use crate::component_names::of_components;
use crate::data::dataset::Dataset;
use crate::data::weights::FitWeights;
use crate::error::Result;
use crate::figures::sum;
use crate::files::of_fit::Part;
use crate::hints::{self, ScaleAdvice};
use crate::kernel::plan::KernelPlan;
use crate::kernel::report::{KernelReport, kept_line, kernel_line};
use crate::kernel::summary::{KernelFitSummary, KernelSummary};
use crate::pca::plan::{OnValues, dispatch};
use crate::peak_memory::peak_memory;
use crate::progress::Progress;
use crate::text::Seconds;

/// Fits, writes and reports.
pub(crate) fn run(args: FitArgs, kernel: Kernel) -> Result<()> {
    let plan = KernelPlan::resolve(args, kernel)?;
    let progress = Progress::new(plan.files.quiet);
    let mut dataset = Dataset::read(&plan.data, &plan.read, &progress)?;
    // The columns of a precomputed kernel matrix represent rows.
    if plan.kernel() != Kernel::Precomputed {
        let (data, names) = (&dataset.table.data, dataset.table.feature_names.as_deref());
        let mut found = hints::of_table(&dataset.table);
        found.extend(hints::of_variances(
            &hints::table_variances(data),
            data.shape().0,
            names,
            ScaleAdvice::Before,
        ));
        dataset.hint(found);
    }
    let column = plan.read.weights_column.as_deref();
    let weights = FitWeights::read(plan.weights_file.as_deref(), column, None, &dataset)?;
    let pca = plan.pca(dataset.table.data.shape().0);
    let fit = Fit { plan: &plan, pca: &pca, dataset: &dataset, weights: &weights, progress: &progress };
    let (saved, seconds) = dispatch(&dataset.table.data, fit)?;
    let convergence = saved.model.convergence();
    if let Some(advice) = convergence.advice() {
        warn_of_convergence(&convergence.residuals, convergence.tol, &advice.text_for(&dataset.places()));
    }
    report(&plan, &dataset, &weights, &saved, seconds)
}

/// A fit to values of either type, with its outputs.
struct Fit<'a> {
    plan: &'a KernelPlan,
    pca: &'a KernelPca,
    dataset: &'a Dataset,
    weights: &'a FitWeights,
    progress: &'a Progress,
}

impl OnValues for Fit<'_> {
    type Output = Result<(SavedKernel, Seconds)>;

    fn on<T: Scalar>(self, values: &Values<T>) -> Self::Output {
        let explain = |error| self.dataset.explain(error);
        let source = values.source().map_err(explain)?;
        let started = Instant::now();
        let run = self.plan.threads.run(self.progress);
        let weights = self.weights.lend();
        let fit = |log: Option<&dyn PassLog>| match log {
            Some(log) => self.pca.fit_logged(&*source, &weights, log, &run),
            None => self.pca.fit_with(&*source, &weights, &run),
        };
        let places = self.dataset.places();
        let model = self.plan.checkpoints.fit_logged(self.progress, &places, explain, fit)?;
        let seconds = Seconds { read: self.dataset.seconds, fit: started.elapsed().as_secs_f64() };
        let scores = match self.plan.files.scores {
            Some(_) => Some(self.scores(&model, &*source).map_err(explain)?),
            None => None,
        };
        self.progress.clear();
        self.dataset.check_unchanged()?;
        let saved = self.saved(model);
        self.write(&saved, scores.as_ref())?;
        Ok((saved, seconds))
    }
}

impl Fit<'_> {
    /// The scores of the fitted rows, from the fit if it has one for every row.
    fn scores<T: Scalar>(&self, model: &KernelModel, source: &dyn Source<T>) -> karhunen::Result<Matrix<T>> {
        let whiten = self.plan.files.whiten;
        let all_count = self.weights.lend().samples.is_none_or(|weights| weights.iter().all(|w| *w > 0.0));
        if all_count && !whiten && !model.convergence().solver.approximates() {
            let scores = model.fitted_scores();
            return Ok(Matrix::from_fn(scores.n_rows(), scores.n_cols(), |i, c| T::from_f64(scores[(i, c)])));
        }
        model.transform_with(
            source,
            Transform { whiten, ..Transform::default() },
            &self.plan.threads.run(self.progress),
        )
    }

    fn saved(&self, model: KernelModel) -> SavedKernel {
        let (table, read) = (&self.dataset.table, &self.plan.read);
        let extras = TableColumns {
            feature_names: table.feature_names.clone(),
            of_file: OfFile::of(read, (&table.labels, &table.left_out), table.id_name.as_ref()),
            log1p: table.log1p,
        };
        SavedKernel { model, extras }
    }

    fn write<T: Scalar>(&self, saved: &SavedKernel, scores: Option<&Matrix<T>>) -> Result<()> {
        self.plan.files.write(|outputs, part, path| match (part, scores) {
            (Part::Model, _) => outputs.model(path, saved),
            (Part::Scores, Some(scores)) => {
                let table = NamedMatrix {
                    matrix: scores,
                    row_names: self.dataset.table.sample_names.as_deref(),
                    row_header: "sample",
                    labels: &[],
                    column_names: &of_components(saved.model.n_components()),
                    numeric_ids: false,
                };
                outputs.table(path, &table)
            }
            // Loadings are refused earlier.
            (Part::Scores, None) | (Part::Loadings, _) => Ok(()),
        })
    }
}

fn report(
    plan: &KernelPlan,
    dataset: &Dataset,
    weights: &FitWeights,
    saved: &SavedKernel,
    seconds: Seconds,
) -> Result<()> {
    let (model, peak_memory) = (&saved.model, peak_memory());
    let text = |layout, written: &[String]| {
        let mut data: Vec<String> = [dataset.headline()].into_iter().chain(dataset.remarks()).collect();
        if let Some(origin) = weights.origin() {
            let sum = sum(model.parts().sum_of_weights);
            data.push(format!("weights from {origin}: times each row was seen, sum {sum}"));
        }
        data.push(kernel_line(model));
        data.push(kept_line(model, if plan.chose_components() { " (-k chooses)" } else { "" }));
        KernelReport { model, data: &data, seconds: Some(seconds), peak_memory, written }.render(layout)
    };
    plan.files.print_summary(text, |extent, written| {
        crate::pca::summary::to_json(&KernelFitSummary {
            file: &dataset.file,
            format: dataset.table.format,
            model: KernelSummary::new(model, saved.extras.feature_names.as_deref(), extent),
            notes: &dataset.notes(),
            written,
            seconds,
            peak_memory_bytes: peak_memory,
        })
    })
}
