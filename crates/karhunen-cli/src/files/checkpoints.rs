//! Checkpoints of long fits, which can be resumed: `--checkpoint`, `--checkpoint-every`, `--resume`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueHint};
use karhunen::exec::{Fact, PassLog};
use karhunen::incomplete::{Checkpoint, Checkpoints, Every, FitContext};
use karhunen::{Error, IncompleteModel, IncompletePca};
use karhunen_io::{CheckpointKeeper, CheckpointNews, ObservedData, PassLogFile, load_checkpoint};

use crate::args::fit::FitOutputArgs;
use crate::args::given::Given;
use crate::args::input::ThreadArgs;
use crate::args::values::seconds;
use crate::error::{Failure, Places, Result};
use crate::files::overwrite::check_checkpoint;
use crate::files::paths::{check_outputs, is_standard};
use crate::names::visible;
use crate::progress::{Progress, keeping};

/// Default time between checkpoints.
const DEFAULT_EVERY: Duration = Duration::from_secs(60);

/// Options of checkpoints.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Checkpoints")]
pub(crate) struct CheckpointArgs {
    /// Keep the state of the fit in FILE: --resume continues a killed fit, to the same model
    ///
    /// With --missing the state after an iteration, which Ctrl-C writes again; otherwise the result of every pass over
    /// the data, or over the kernel matrix
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Time between writes of the state with --missing, each after an iteration [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) checkpoint_every: Option<Duration>,
    /// Resume from the checkpoint; start if there is none yet. Without it, an existing file is not overwritten,
    /// except with --force
    #[arg(long)]
    pub(crate) resume: bool,
}

impl CheckpointArgs {
    /// # Errors
    /// [`Failure::Usage`] for standard output, a folder, a file that is read or written otherwise, or one with other
    /// content, and for options of checkpoints without `--checkpoint`.
    pub(crate) fn check(
        &self,
        given: &Given,
        output: &FitOutputArgs,
        inputs: &[Option<&PathBuf>],
    ) -> Result<()> {
        if let (None, Some(option)) = (&self.checkpoint, given.first_of::<Self>(&[])) {
            let advice = "say which with --checkpoint FILE";
            return Err(Failure::Usage(format!(
                "{option} needs the file that keeps the state of the fit; {advice}"
            )));
        }
        if is_standard(self.checkpoint.as_deref()) {
            return Err(Failure::Usage("--checkpoint - cannot be read again; give a file".to_owned()));
        }
        let Some(path) = self.checkpoint.as_deref() else { return Ok(()) };
        if path.is_dir() {
            let path = path.display();
            return Err(Failure::Usage(format!("--checkpoint {path} is a folder; give a file")));
        }
        let outputs = [
            ("--checkpoint", Some(path)),
            ("-o", output.model.as_deref()),
            ("--scores", output.scores.as_deref()),
            ("--loadings", output.loadings.as_deref()),
        ];
        check_outputs(&outputs, inputs)?;
        check_checkpoint(path, self.resume, output.force)
    }

    /// As [`CheckpointArgs::check`], for a fit that keeps its passes.
    ///
    /// # Errors
    /// As [`CheckpointArgs::check`], also for a time between checkpoints.
    pub(crate) fn check_of_passes(
        &self,
        given: &Given,
        output: &FitOutputArgs,
        inputs: &[Option<&PathBuf>],
    ) -> Result<()> {
        if self.checkpoint_every.is_some() {
            let message =
                "--checkpoint-every has no effect without --missing: every pass is kept; leave it out";
            return Err(Failure::Usage(message.to_owned()));
        }
        self.check(given, output, inputs)
    }

    /// Calls `fit` with the log of its passes, if it is requested: passes of an earlier run are not made again. A pass
    /// that cannot be kept causes a warning.
    ///
    /// # Errors
    /// [`Failure::File`] for a checkpoint that cannot be read; errors of the fit, with the file at fault.
    pub(crate) fn fit_logged<M>(
        &self,
        progress: &Progress,
        places: &Places<'_>,
        explain: impl FnOnce(Error) -> Failure,
        fit: impl FnOnce(Option<&dyn PassLog>) -> karhunen::Result<M>,
    ) -> Result<M> {
        let Some(path) = &self.checkpoint else { return fit(None).map_err(explain) };
        let log = PassLogFile::new(path, self.resume)?;
        let model = fit(Some(&Announced { log: &log, path, progress }));
        tell(progress, log.news());
        model.map_err(|error| match error {
            Error::OtherFit { .. } | Error::OtherOption { .. } => {
                Failure::library(&Places::of_file(&path.display().to_string()), &error)
            }
            Error::Stopped { .. } if log.n_kept() > 0 => Failure::StoppedAt(path.clone()),
            Error::Stopped { .. } => places.explain(error),
            error => explain(error),
        })
    }

    /// Fits, resuming from a checkpoint if requested and present, and writes checkpoints. A checkpoint that cannot
    /// be written causes a warning: the fit continues.
    ///
    /// # Errors
    /// [`Failure::File`] for a checkpoint that cannot be read; otherwise errors of the fit, with the file at fault.
    pub(crate) fn fit(
        &self,
        pca: &IncompletePca,
        data: &ObservedData,
        threads: ThreadArgs,
        progress: &Progress,
        places: &Places<'_>,
    ) -> Result<IncompleteModel> {
        let existing = self.checkpoint.as_deref().filter(|path| self.resume && path.exists());
        let resume = existing.map(load_checkpoint).transpose()?;
        let keeper = self.checkpoint.clone().map(|path| CheckpointKeeper::new(path, resume.is_some()));
        let keep = |checkpoint: Checkpoint| {
            tell(progress, keeper.as_ref().and_then(|keeper| keeper.keep(&checkpoint)));
            Ok(())
        };
        let every = Every::Time(self.checkpoint_every.unwrap_or(DEFAULT_EVERY));
        let checkpoints = self.checkpoint.is_some().then_some(Checkpoints { every, keep: &keep });
        let context =
            FitContext { checkpoints, resume: resume.as_ref(), start: None, ..FitContext::default() };
        let run = threads.run(progress);
        let fit = || match data {
            ObservedData::F32(observed) => pca.fit_with(observed, &context, &run),
            ObservedData::F64(observed) => pca.fit_with(observed, &context, &run),
        };
        let model = if self.checkpoint.is_some() { keeping(fit) } else { fit() };
        tell(progress, keeper.as_ref().and_then(CheckpointKeeper::end));
        model.map_err(|error| self.explain(error, keeper.as_ref(), places))
    }

    fn explain(&self, error: Error, keeper: Option<&CheckpointKeeper>, places: &Places<'_>) -> Failure {
        let kept = keeper.filter(|keeper| keeper.has_any());
        match (&self.checkpoint, error) {
            (
                Some(path),
                error
                @ (Error::OtherOption { .. } | Error::OtherFit { .. } | Error::CheckpointDamaged { .. }),
            ) => Failure::library(&Places::of_file(&path.display().to_string()), &error),
            (Some(path), Error::Stopped { .. }) if kept.is_some_and(CheckpointKeeper::is_behind) => {
                Failure::StoppedBehind(path.clone())
            }
            (Some(path), Error::Stopped { .. }) if kept.is_some() => Failure::StoppedAt(path.clone()),
            (_, error) => places.explain(error),
        }
    }
}

/// A log that reports after how many passes a fit continues.
struct Announced<'a> {
    log: &'a PassLogFile,
    path: &'a Path,
    progress: &'a Progress,
}

impl PassLog for Announced<'_> {
    fn begin(&self, fit: &[Fact]) -> karhunen::Result<()> {
        self.log.begin(fit)?;
        if let n @ 1.. = self.log.n_kept() {
            let passes = if n == 1 { "pass" } else { "passes" };
            let message = format!("{}: continues after {n} {passes}", self.path.display());
            tell(self.progress, Some(CheckpointNews::Again(message)));
        }
        Ok(())
    }

    fn take(&self, name: &'static str) -> karhunen::Result<Option<Vec<f64>>> {
        self.log.take(name)
    }

    fn keep(&self, name: &'static str, result: &[f64]) -> karhunen::Result<()> {
        self.log.keep(name, result)
    }
}

/// Prints a message about a checkpoint.
fn tell(progress: &Progress, news: Option<CheckpointNews>) {
    let (label, message) = match news {
        None => return,
        Some(CheckpointNews::Lost(message)) => {
            (console::style("warning:").for_stderr().yellow().bold(), message)
        }
        Some(CheckpointNews::Again(message)) => (console::style("note:").for_stderr().bold(), message),
    };
    progress.say(&format!("{label} {}\n", visible(&message)));
}
