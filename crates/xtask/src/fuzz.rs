//! The fuzzer `karhunen-fuzz`: a fixed number of inputs with a fixed seed, or as many as the time allows.

use std::process::{Command, Stdio};

use crate::workspace::{cargo, root};

/// Default arguments: about a minute on two processors, with the same inputs every time.
const SEEDED: [&str; 4] = ["--seed", "20261122", "--inputs", "160000"];

/// Builds the programs with the options of the step `tests`, so that nothing is compiled twice, and runs the
/// search.
pub(crate) fn search(arguments: &[String]) -> Result<(), String> {
    let built = cargo(&["test", "--release", "--workspace", "--no-run", "--quiet"]).status();
    if !built.map_err(|error| format!("cargo cannot be run: {error}"))?.success() {
        return Err("the programs cannot be built".to_owned());
    }
    let program = root().join("target/release/karhunen-fuzz");
    let mut command = Command::new(&program);
    command.arg("search").stdin(Stdio::null());
    if arguments.is_empty() {
        command.args(SEEDED);
    } else {
        command.args(arguments);
    }
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the search ended with {status}")),
        Err(error) => Err(format!("{} cannot be run: {error}", program.display())),
    }
}
