//! The karhunen command line: principal components from a file to a model and back.
//!
//! [`args`] defines the arguments, [`help`] their help pages, [`pca::plan`] resolves them, [`commands`] does the work.

mod allocator;
mod args;
mod categorical;
mod commands;
mod component_names;
mod data;
mod error;
mod figures;
mod files;
mod help;
mod hints;
mod incomplete;
mod kernel;
mod names;
mod pca;
mod peak_memory;
mod progress;
mod selection;
mod text;

use std::ffi::OsString;
use std::process::ExitCode;

use args::{Cli, Command};
use clap::FromArgMatches;

fn main() -> ExitCode {
    print_own_panics_only();
    let parsed = parse(args::words(std::env::args_os())).and_then(|cli| match cli.command {
        // The page of a command is the page of its own `--help`.
        Command::Help(asked) => parse(asked.words()),
        command => Ok(Cli { command }),
    });
    let outcome = match parsed {
        Ok(cli) => progress::watch_for_stop().and_then(|()| commands::run(cli.command)),
        // Help and the version were requested: failing to print them is a failure.
        Err(asked) if !asked.use_stderr() => files::outputs::print_asked(&asked),
        Err(error) => error.exit(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            files::outputs::print_failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Parses a command line.
fn parse(words: Vec<OsString>) -> Result<Cli, clap::Error> {
    let command = words.get(1).and_then(|word| word.to_str()).unwrap_or_default().to_owned();
    let advised = |error| args::neighbours::advised(error, help::definition().find_subcommand(&command));
    let matches = help::definition().try_get_matches_from(words).map_err(advised)?;
    Cli::from_arg_matches(&matches)
}

/// Suppresses the output of decoder panics, which the readers turn into errors of the file. All other panics are
/// printed as usual.
fn print_own_panics_only() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !karhunen_io::is_decoding() {
            print(panic);
        }
    }));
}
