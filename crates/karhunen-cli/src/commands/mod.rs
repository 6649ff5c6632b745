//! One file for each command: each resolves its arguments, does the work and writes what comes of it.

mod completions;
mod fit;
mod inspect;
mod reconstruct;
mod transform;

use crate::args::Command;
use crate::error::Result;

/// Runs a command.
///
/// # Errors
/// Why it failed.
pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Fit(args) => fit::run(*args),
        Command::Transform(args) => transform::run(args),
        Command::Reconstruct(args) => reconstruct::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Completions { shell } => completions::run(shell),
    }
}
