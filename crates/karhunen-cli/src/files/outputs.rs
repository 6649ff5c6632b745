//! The files that a command writes: all are prepared before the first is renamed to its target, the model last.

use std::io::Write;
use std::path::Path;

use karhunen::Scalar;
use karhunen_io::{Cause, NamedMatrix, Saved, Staged, Stored};

use crate::error::{Failure, Result};
use crate::files::standard_output;
use crate::names::visible;
use crate::progress::{check_stop, hold_commit};

/// Files prepared next to their targets.
pub(crate) struct Outputs {
    staged: Vec<Staged>,
    /// The models among them: a new model shows that the other files are of the same run.
    models: Vec<Staged>,
    /// True if protected files are replaced.
    force: bool,
}

impl Outputs {
    /// No files yet; `force` replaces protected files.
    pub(crate) fn new(force: bool) -> Self {
        Self { staged: Vec::new(), models: Vec::new(), force }
    }

    /// Prepares a table; writes it at once to standard output.
    pub(crate) fn table<T: Scalar>(&mut self, path: &Path, table: &NamedMatrix<'_, T>) -> Result<()> {
        self.stage(karhunen_io::stage_table(path, table))
    }

    /// Prepares a model; writes it at once to standard output.
    pub(crate) fn model<M: Stored>(&mut self, path: &Path, model: &Saved<M>) -> Result<()> {
        keep(&mut self.models, karhunen_io::stage_model(path, model))
    }

    /// Adds a prepared file.
    pub(crate) fn stage(&mut self, staged: karhunen_io::Result<Staged>) -> Result<()> {
        keep(&mut self.staged, staged)
    }

    /// As [`Outputs::stage`]; errors of the library that ended the writing are translated by `explain`.
    pub(crate) fn stage_or(
        &mut self,
        staged: karhunen_io::Result<Staged>,
        explain: impl Fn(karhunen::Error) -> Failure,
    ) -> Result<()> {
        match staged {
            Err(error) => match *error.cause {
                Cause::Library(error) => Err(explain(*error)),
                cause => self.stage(Err(karhunen_io::Error { cause: Box::new(cause), ..error })),
            },
            staged => self.stage(staged),
        }
    }

    /// Renames every file to its target, the models last; none if one of them may not be replaced.
    pub(crate) fn commit(mut self) -> Result<()> {
        let _hold = hold_commit();
        check_stop()?;
        self.staged.append(&mut self.models);
        Ok(karhunen_io::publish(self.staged, self.force)?)
    }
}

fn keep(files: &mut Vec<Staged>, staged: karhunen_io::Result<Staged>) -> Result<()> {
    match staged.map_err(Failure::from) {
        Ok(staged) => files.push(staged),
        // The reader of standard output closed it: the other files are still written.
        Err(failure) if failure.is_broken_pipe() => {}
        Err(failure) => return Err(failure),
    }
    check_stop()
}

/// Fails if standard output is closed.
///
/// # Errors
/// [`Failure::StandardOutput`].
pub(crate) fn check_standard_output() -> Result<()> {
    if standard_output::was_closed() {
        let advice = "it is closed; give an output file, or /dev/null for what is not wanted";
        return Err(Failure::StandardOutput(std::io::Error::other(advice)));
    }
    Ok(())
}

/// Prints text on the standard output.
pub(crate) fn print(text: &str) -> Result<()> {
    check_standard_output()?;
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Failure::StandardOutput)
}

/// Prints help or the version, in colour if the terminal supports it.
///
/// # Errors
/// [`Failure::StandardOutput`].
pub(crate) fn print_asked(text: &clap::Error) -> Result<()> {
    check_standard_output()?;
    let printed = text.print().and_then(|()| std::io::stdout().lock().flush());
    printed.map_err(Failure::StandardOutput)
}

/// Prints text on standard error; if it is closed, the text is lost.
pub(crate) fn print_aside(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Prints warnings about a file and their remedies, also with `--quiet`, because results depend on them.
pub(crate) fn print_warnings(file: &str, warnings: &[String]) {
    let label = console::style("note:").for_stderr().bold();
    for warning in warnings {
        print_aside(&format!("{label} {}\n", visible(&format!("{file}: {warning}"))));
    }
}

/// Prints the failure of a command on standard error.
pub(crate) fn print_failure(failure: &Failure) {
    let label = console::style("error:").for_stderr().red().bold();
    let similar = failure.missing_file().and_then(karhunen_io::similar_file);
    let hint = similar.map_or_else(String::new, |path| format!("; did you mean {}?", path.display()));
    print_aside(&format!("{label} {}\n", visible(&format!("{failure}{hint}"))));
}
