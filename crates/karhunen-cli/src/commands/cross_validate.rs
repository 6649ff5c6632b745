//! `karhunen cross-validate`: compares numbers of components and penalties by their error on held-out entries.

use std::path::Path;
use std::time::Instant;

use karhunen::incomplete::{CrossValidated, CrossValidationTable, Regularization};
use karhunen::selection::{cross_validation, cross_validation_one_error};
use karhunen::{IncompletePca, Matrix};
use karhunen_io::{NamedMatrix, ObservedData};

use crate::args::cross_validate::CrossValidateArgs;
use crate::commands::fit_incomplete::weighed;
use crate::error::Result;
use crate::files::of_fit::SummaryForm;
use crate::files::outputs::{Outputs, print, print_aside};
use crate::files::paths::is_standard;
use crate::incomplete::dataset::ObservedDataset;
use crate::progress::Progress;
use crate::selection::cross_validate_plan::CrossValidatePlan;
use crate::selection::cross_validate_report::{CrossValidationReport, CrossValidationSummary};
use crate::selection::report::RuleSummary;
use crate::text::{Layout, Seconds};

/// Fits every choice to the complement of every fold and reports the errors.
pub(crate) fn run(args: CrossValidateArgs) -> Result<()> {
    let plan = CrossValidatePlan::resolve(args)?;
    let progress = Progress::new(plan.quiet);
    let dataset = ObservedDataset::read(&plan.data, &plan.read, &plan.observe, &progress)?;
    let (mut dataset, weights) = weighed((plan.weights_file.as_deref(), &plan.read), dataset)?;
    dataset.hint(plan.scales());
    let data = &dataset.table.data;
    let grid = plan.grid(data.shape());
    let pca = plan.pca(data.n_observed());
    let started = Instant::now();
    let table = match data {
        ObservedData::F32(observed) => grid.run(&pca, observed, &plan.threads.run(&progress)),
        ObservedData::F64(observed) => grid.run(&pca, observed, &plan.threads.run(&progress)),
    };
    let table = table.map_err(|error| dataset.places().explain(error))?;
    let seconds = Seconds { read: dataset.seconds, fit: started.elapsed().as_secs_f64() };
    progress.clear();
    if let Some(path) = &plan.output {
        write(&plan, path, &table, grid.n_folds)?;
    }
    report((&plan, &pca), &dataset, (&table, grid.n_folds), weights, seconds)
}

/// One row for each choice: its options, mean error, mean squared error, their standard errors, Q², R², and the error of each fold.
fn write(plan: &CrossValidatePlan, path: &Path, table: &CrossValidationTable, n_folds: usize) -> Result<()> {
    let ridge = |choice: &CrossValidated| match choice.regularization {
        Some(Regularization::Ridge(lambda)) => lambda,
        Some(Regularization::None) => 0.0,
        _ => f64::NAN,
    };
    let weighted = |choice: &CrossValidated| match choice.regularization {
        Some(Regularization::Weighted(lambda)) => lambda,
        _ => f64::NAN,
    };
    let choices = table.choices();
    let mut names = vec!["components".to_owned()];
    let mut columns = vec![choices.iter().map(|choice| choice.n_components as f64).collect::<Vec<_>>()];
    for (name, of) in [
        ("regularization", &ridge as &dyn Fn(&CrossValidated) -> f64),
        ("weighted_regularization", &weighted),
        ("mean", &|choice| choice.mean),
        ("standard_error", &|choice| choice.standard_error),
        ("msep", &|choice| choice.msep),
        ("msep_standard_error", &|choice| choice.msep_standard_error),
        ("q2", &|choice| choice.q2),
        ("r2", &|choice| choice.r2),
    ] {
        let column: Vec<f64> = choices.iter().map(of).collect();
        // Penalties of a kind that is not compared have no column.
        if column.iter().any(|x| !x.is_nan()) {
            names.push(name.to_owned());
            columns.push(column);
        }
    }
    for fold in 0..n_folds {
        names.push(format!("fold{}", fold + 1));
        columns.push(choices.iter().map(|choice| choice.errors[fold]).collect());
    }
    let matrix = Matrix::from_fn(choices.len(), columns.len(), |i, j| columns[j][i]);
    let named = NamedMatrix {
        matrix: &matrix,
        row_names: None,
        row_header: "",
        labels: &[],
        column_names: &names,
        numeric_ids: false,
    };
    let mut outputs = Outputs::new(plan.force);
    outputs.table(path, &named)?;
    outputs.commit()
}

fn report(
    (plan, pca): (&CrossValidatePlan, &IncompletePca),
    dataset: &ObservedDataset,
    (table, n_folds): (&CrossValidationTable, usize),
    weights: Option<String>,
    seconds: Seconds,
) -> Result<()> {
    let text = |stream: &console::Term| {
        let cut = format!("{n_folds} folds of the entries, method {}, seed {}", pca.method.name(), pca.seed);
        let lines = [Some(dataset.headline()), dataset.remarks(), weights.clone(), Some(cut)];
        let data: Vec<String> = lines.into_iter().flatten().collect();
        let written = plan.output.as_ref().filter(|path| !is_standard(Some(path)));
        let written = written.map(|path| path.display().to_string());
        let column_names = dataset.column_names.as_deref();
        CrossValidationReport { table, scaling: &pca.scale, column_names, data: &data, seconds, written }
            .render(Layout::of(stream))
    };
    match plan.summary {
        SummaryForm::None => Ok(()),
        SummaryForm::Text => print(&text(&console::Term::stdout())),
        SummaryForm::TextAside => {
            print_aside(&text(&console::Term::stderr()));
            Ok(())
        }
        SummaryForm::Json(_) => {
            let (n_samples, n_features) = dataset.table.data.shape();
            let rules = [cross_validation(table), cross_validation_one_error(table)];
            print(&crate::pca::summary::to_json(&CrossValidationSummary {
                file: &dataset.file,
                format: dataset.table.format,
                n_samples,
                n_features,
                n_observed: dataset.table.data.n_observed(),
                n_folds,
                choices: table.choices(),
                best: table.best(),
                simplest: table.simplest(),
                without_components: table.without_components(),
                rules: rules.iter().map(RuleSummary::of).collect(),
                feature_names: dataset.column_names.as_deref(),
                options: pca,
                notes: &dataset.notes(),
                seconds,
            })?)
        }
    }
}
