//! The result of cross-validation as text and as JSON.

use std::fmt::Write;

use karhunen::IncompletePca;
use karhunen::incomplete::{CrossValidated, CrossValidationTable, Regularization};
use karhunen::pca::Scaling;
use karhunen::selection::cross_validation;
use serde::Serialize;

use crate::figures::{duration, significant};
use crate::names::{of_features, visible};
use crate::selection::report::RuleSummary;
use crate::text::{Layout, Seconds, divisors, wrapped};

/// Number of characters of the longest bar.
const BAR: usize = 8;

/// The errors of all choices, as text.
pub(crate) struct CrossValidationReport<'a> {
    /// The errors.
    pub(crate) table: &'a CrossValidationTable,
    /// The measure of the spread that divided the columns.
    pub(crate) scaling: &'a Scaling,
    /// Names of the columns, if they have some.
    pub(crate) column_names: Option<&'a [String]>,
    /// Describes the input and the folds: one line each.
    pub(crate) data: &'a [String],
    /// Seconds of reading and fitting.
    pub(crate) seconds: Seconds,
    /// The file written.
    pub(crate) written: Option<String>,
}

impl CrossValidationReport<'_> {
    /// The whole text; each line ends with a newline.
    pub(crate) fn render(&self, layout: Layout) -> String {
        let mut out = String::new();
        for line in self.data {
            wrapped(&mut out, "", line, layout.width);
        }
        out.push('\n');
        self.choices(&mut out, layout);
        out.push('\n');
        let (best, simplest) = (self.table.best(), self.table.simplest());
        if std::ptr::eq(best, simplest) {
            let advice =
                format!("{}: the lowest error, and nothing simpler within one standard error", typed(best));
            wrapped(&mut out, "choose", &advice, layout.width);
        } else {
            let advice = format!("{}: the simplest within one standard error of the lowest", typed(simplest));
            wrapped(&mut out, "choose", &advice, layout.width);
            wrapped(&mut out, "lowest", &typed(best), layout.width);
        }
        if let Some(warning) = edge(self.table) {
            wrapped(&mut out, "edge", &warning, layout.width);
        }
        if let Some(warning) = apart(simplest) {
            wrapped(&mut out, "starts", &warning, layout.width);
        }
        if let Some(features) = self.features() {
            wrapped(&mut out, "features", &features, layout.width);
        }
        let Seconds { read, fit } = self.seconds;
        wrapped(&mut out, "time", &format!("read {}, fits {}", duration(read), duration(fit)), layout.width);
        if let Some(path) = &self.written {
            wrapped(&mut out, "written", &format!("errors to {path}"), layout.width);
        }
        out
    }

    /// One line per choice: the error, its standard error, and a bar scaled to the range of all errors.
    fn choices(&self, out: &mut String, layout: Layout) {
        let choices = self.table.choices();
        let penalties = choices.iter().any(|choice| choice.regularization.is_some());
        let named: Vec<String> = choices.iter().map(|choice| penalty(choice.regularization)).collect();
        let width = named.iter().map(String::len).chain(["penalty".len()]).max().unwrap_or(0);
        let penalty_column = |text: &str| if penalties { format!("  {text:>width$}") } else { String::new() };
        let _ = writeln!(
            out,
            "{:>10}{}  {:>9}  {:>14}  {:>6}  {:>6}",
            "components",
            penalty_column("penalty"),
            "RMSE",
            "standard error",
            "Q2",
            "R2"
        );
        match self.scaling {
            Scaling::None => {}
            Scaling::Deviation => out.push_str("errors are in standard deviations of the columns\n"),
            other => {
                let _ = writeln!(out, "errors are of columns divided by {}", divisors(other));
            }
        }
        let highest = choices.iter().map(CrossValidated::rmse).max_by(f64::total_cmp).unwrap_or(0.0);
        for (choice, named) in choices.iter().zip(&named) {
            let cells =
                if highest > 0.0 { (choice.rmse() / highest * BAR as f64).round() as usize } else { 0 };
            let bar = if layout.unicode { "▇" } else { "#" }.repeat(cells);
            let mark = match (
                std::ptr::eq(choice, self.table.simplest()),
                std::ptr::eq(choice, self.table.best()),
            ) {
                (true, true) => " lowest, simplest",
                (true, false) => " simplest",
                (false, true) => " lowest",
                (false, false) => "",
            };
            let _ = writeln!(
                out,
                "{:>10}{}  {:>9}  {:>14}  {:>6}  {:>6}  {bar}{mark}",
                choice.n_components,
                penalty_column(named),
                significant(choice.rmse()),
                significant(choice.rmse_standard_error()),
                share(choice.q2),
                share(choice.r2)
            );
        }
    }

    /// The features whose held-out entries the advised choice predicts best and worst.
    fn features(&self) -> Option<String> {
        let advised = Some(self.table.simplest()).filter(|choice| choice.n_components > 0)?;
        let q2 = &advised.features.q2;
        let known = || (0..q2.len()).filter(|j| !q2[*j].is_nan());
        let by_q2 = |a: &usize, b: &usize| q2[*a].total_cmp(&q2[*b]);
        let (best, worst) = (known().max_by(by_q2)?, known().min_by(by_q2)?);
        let names = of_features(self.column_names, q2.len());
        let name = |j: usize| visible(&names[j]).into_owned();
        Some(format!(
            "Q2 from {} ({}) to {} ({})",
            share(q2[worst]),
            name(worst),
            share(q2[best]),
            name(best)
        ))
        .filter(|_| best != worst)
    }
}

/// A warning if fits of a choice may have ended at a wrong optimum.
fn apart(choice: &CrossValidated) -> Option<String> {
    let (n, all) = (choice.n_apart, choice.errors.len() + 1);
    (n > 0).then(|| {
        format!("of {n} of the {all} fits of {} ended apart: errors may be of wrong optima", typed(choice))
    })
}

/// A share of squares with three decimals, which large negative shares lose.
fn share(value: f64) -> String {
    match value {
        _ if value > -10.0 => format!("{value:.3}"),
        _ if value > -99_999.0 => format!("{value:.0}"),
        _ => format!("{value:.0e}"),
    }
}

/// A warning if the least error is at the largest number of components.
fn edge(table: &CrossValidationTable) -> Option<String> {
    let found = cross_validation(table);
    match found.n_components {
        Some(n) if n == found.range.1 && n > 1 => {
            Some("the lowest error is at the largest number compared; compare more".to_owned())
        }
        _ => None,
    }
}

/// The options of a choice in the syntax of the command line.
fn typed(choice: &CrossValidated) -> String {
    match choice.regularization {
        None if choice.n_components == 0 => {
            format!("none (the means of the columns, RMSE {})", significant(choice.rmse()))
        }
        None => format!("-k {}", choice.n_components),
        some => format!("-k {} --regularization {}", choice.n_components, penalty(some)),
    }
}

fn penalty(regularization: Option<Regularization>) -> String {
    match regularization {
        None => String::new(),
        Some(Regularization::None) => "none".to_owned(),
        Some(Regularization::Ridge(lambda)) => lambda.to_string(),
        Some(Regularization::Weighted(lambda)) => format!("weighted:{lambda}"),
        Some(Regularization::Path) => "path".to_owned(),
    }
}

/// The JSON output of `cross-validate --json`.
#[derive(Debug, Serialize)]
pub(crate) struct CrossValidationSummary<'a> {
    /// The data file.
    pub(crate) file: &'a str,
    /// Its format.
    pub(crate) format: &'a str,
    pub(crate) n_samples: usize,
    pub(crate) n_features: usize,
    pub(crate) n_observed: usize,
    pub(crate) n_folds: usize,
    /// Every choice with the errors of all folds.
    pub(crate) choices: &'a [CrossValidated],
    /// The choice with the lowest error.
    pub(crate) best: &'a CrossValidated,
    /// The simplest choice within one standard error of the lowest error.
    pub(crate) simplest: &'a CrossValidated,
    /// The errors of predictions by means.
    pub(crate) without_components: &'a CrossValidated,
    /// The number of components by the least error, and by the smallest number within one standard error.
    pub(crate) rules: Vec<RuleSummary<'a>>,
    /// Names of the columns, in the order of the errors of features.
    pub(crate) feature_names: Option<&'a [String]>,
    /// The options shared by all fits.
    pub(crate) options: &'a IncompletePca,
    /// Choices made automatically.
    pub(crate) notes: &'a [String],
    /// Seconds of reading and fitting.
    pub(crate) seconds: Seconds,
}
