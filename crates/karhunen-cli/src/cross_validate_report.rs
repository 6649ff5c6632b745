//! The result of cross-validation as text and as JSON.

use std::fmt::Write;

use karhunen::IncompletePca;
use karhunen::incomplete::{CrossValidated, CrossValidationTable, Regularization};
use serde::Serialize;

use crate::figures::{duration, significant};
use crate::report::{Layout, Seconds, wrapped};

/// Number of characters of the longest bar.
const BAR: usize = 24;

/// The errors of all choices, as text.
pub(crate) struct CrossValidationReport<'a> {
    /// The errors.
    pub(crate) table: &'a CrossValidationTable,
    /// True if columns were divided by their standard deviations.
    pub(crate) scaled: bool,
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
            "{:>10}{}  {:>9}  {:>14}",
            "components",
            penalty_column("penalty"),
            "RMSE",
            "standard error"
        );
        if self.scaled {
            let _ = writeln!(out, "errors are in standard deviations of the columns");
        }
        let highest = choices.iter().map(|choice| choice.mean).max_by(f64::total_cmp).unwrap_or(0.0);
        for (choice, named) in choices.iter().zip(&named) {
            let cells = if highest > 0.0 { (choice.mean / highest * BAR as f64).round() as usize } else { 0 };
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
                "{:>10}{}  {:>9}  {:>14}  {bar}{mark}",
                choice.n_components,
                penalty_column(named),
                significant(choice.mean),
                significant(choice.standard_error)
            );
        }
    }
}

/// The options of a choice in the syntax of the command line.
fn typed(choice: &CrossValidated) -> String {
    match choice.regularization {
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
    /// The options shared by all fits.
    pub(crate) options: &'a IncompletePca,
    /// Choices made automatically.
    pub(crate) notes: &'a [String],
    /// Seconds of reading and fitting.
    pub(crate) seconds: Seconds,
}
