//! The commands, one per file: each resolves its arguments, does the work and writes the results.

mod complete;
mod completions;
mod cross_validate;
mod diagnose;
mod diagnose_incomplete;
mod fit;
mod fit_categories;
mod fit_incomplete;
mod fit_kernel;
mod fit_moments;
mod fit_online;
mod impute;
mod inspect;
mod loaded;
mod man;
mod moments;
mod predict;
mod reconstruct;
mod report;
mod rotate;
mod select;
mod transform;
mod transform_categories;
mod update;

use crate::args::Command;
use crate::error::Result;

/// Runs a command.
///
/// # Errors
/// The failure of the command.
pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Fit(args) => fit::run(*args),
        Command::Update(args) => update::run(*args),
        Command::Transform(args) => transform::run(args),
        Command::Diagnose(args) => diagnose::run(args),
        Command::Report(args) => report::run(*args),
        Command::Select(args) => select::run(*args),
        Command::Rotate(args) => rotate::run(args),
        Command::Reconstruct(args) => reconstruct::run(args),
        Command::Impute(args) => impute::run(args),
        Command::Complete(args) => complete::run(args),
        Command::Predict(args) => predict::run(args),
        Command::CrossValidate(args) => cross_validate::run(*args),
        Command::Moments(args) => moments::run(*args),
        Command::Inspect(args) => inspect::run(args),
        Command::Completions { shell } => completions::run(shell),
        Command::Man(args) => man::run(&args),
        // The parser handles it: see `main`.
        Command::Help(_) => Ok(()),
    }
}
