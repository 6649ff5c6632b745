//! Tasks of the workspace: `cargo xtask test` runs the first ring of tests, `cargo xtask faults` injects faults into the
//! command line, `cargo xtask bench` compares with other packages, `cargo xtask dist` makes packages.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod dist;
#[cfg(unix)]
mod faults;
mod fuzz;
mod licences;
mod processor;
mod promises;
mod python;
mod r;
mod steps;
mod workspace;

use std::process::{Command, ExitCode, Stdio};

const USAGE: &str = "\
usage: cargo xtask test              run the first ring of tests: format, clippy, Rust and Python
       cargo xtask test all          run both rings: every test there is
       cargo xtask test STEP …       run the named steps
       cargo xtask faults [--moments N] [--seed S] [KIND …]
                                    kill, stop and starve the command line at random moments
       cargo xtask fuzz [ARG …]     search for inputs that break an invariant, for --minutes M
       cargo xtask calibrate        simulate how often statements about data are true (minutes)
       cargo xtask promises         write docs/promises.md
       cargo xtask bench [ARG …]    run benchmarks/run.py with these arguments
       cargo xtask dist [PART …]    make packages in target/dist, all or the named parts, and try them
       cargo xtask r-package        make the tarball of the R package, with the crates that it needs
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((task, names)) if task == "test" && names.iter().all(|name| steps::is_step(name)) => {
            steps::run(names)
        }
        Some((task, [])) if task == "calibrate" => calibrate(),
        Some((task, [])) if task == "promises" => said(promises::write().map(|n| format!("{n} promises"))),
        Some((task, rest)) if task == "bench" => bench(rest),
        Some((task, rest)) if task == "dist" => dist::main(rest),
        #[cfg(unix)]
        Some((task, rest)) if task == "faults" => faults::main(rest),
        Some((task, rest)) if task == "fuzz" => match fuzz::search(rest) {
            Ok(()) => ExitCode::SUCCESS,
            Err(message) => {
                eprintln!("{message}");
                ExitCode::FAILURE
            }
        },
        Some((task, [])) if task == "r-package" => {
            said(r::package().map(|tarball| tarball.display().to_string()))
        }
        _ => {
            eprintln!("{USAGE}\nsteps: {}\nparts: {}", steps::names().join(", "), dist::names().join(", "));
            ExitCode::from(2)
        }
    }
}

/// Prints the outcome of a task.
fn said(outcome: Result<String, String>) -> ExitCode {
    match outcome {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the simulations that tests leave out: the library's tests named `rates_of_…`.
fn calibrate() -> ExitCode {
    let words = [
        "test",
        "--release",
        "--workspace",
        "--test",
        "library",
        "--",
        "--ignored",
        "--nocapture",
        "rates_of_",
    ];
    match workspace::cargo(&words).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cargo cannot be run: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench(arguments: &[String]) -> ExitCode {
    let script = workspace::root().join("benchmarks/run.py");
    match Command::new("python3").arg(script).args(arguments).stdin(Stdio::null()).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("python3 cannot be run: {error}; the benchmarks need Python 3.11 or later");
            ExitCode::FAILURE
        }
    }
}
