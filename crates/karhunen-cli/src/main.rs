//! The karhunen command line: principal components from a file to a model and back.
//!
//! [`args`] is what can be typed, [`plan`] what it means, [`commands`] what is done.

mod allocator;
mod args;
mod checkpoints;
mod commands;
mod component_names;
mod cross_validate_args;
mod cross_validate_plan;
mod cross_validate_report;
mod dataset;
mod error;
mod figures;
mod fit_files;
mod fit_weights;
mod hints;
mod incomplete_plan;
mod incomplete_report;
mod incomplete_summary;
mod input_args;
mod kernel_args;
mod kernel_plan;
mod kernel_report;
mod kernel_summary;
mod missing_args;
mod names;
mod observed_dataset;
mod outputs;
mod overwrite;
mod paths;
mod peak_memory;
mod plan;
mod progress;
mod report;
mod row_model;
mod standard_output;
mod summary;
mod values;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    print_own_panics_only();
    let outcome = match args::Cli::try_parse_from(args::words(std::env::args_os())) {
        Ok(cli) => progress::watch_for_stop().and_then(|()| commands::run(cli.command)),
        // Help and the version are what was asked for: that they cannot be printed is a failure.
        Err(asked) if !asked.use_stderr() => outputs::print_asked(&asked),
        Err(error) => error.exit(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            outputs::print_failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Keeps the panics of decoders, which the readers turn into errors of the file, off the screen. All others are printed
/// as ever.
fn print_own_panics_only() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !karhunen_io::is_decoding() {
            print(panic);
        }
    }));
}
