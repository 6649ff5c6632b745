//! Checkpoints of long fits, which can be resumed: `--checkpoint`, `--checkpoint-every`, `--resume`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use karhunen::incomplete::{Checkpoint, Checkpoints, Every, FitContext};
use karhunen::{Error, IncompleteModel, IncompletePca};
use karhunen_io::{CheckpointKeeper, CheckpointNews, ObservedData, load_checkpoint};

use crate::error::{Failure, Places, Result};
use crate::given::Given;
use crate::input_args::ThreadArgs;
use crate::names::visible;
use crate::paths::is_standard;
use crate::progress::{Progress, keeping};
use crate::values::seconds;

/// Default time between checkpoints.
const DEFAULT_EVERY: Duration = Duration::from_secs(60);

/// Options of checkpoints.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Checkpoints")]
pub(crate) struct CheckpointArgs {
    /// Keep the state of the fit in FILE: --resume continues a killed fit, to the same model; Ctrl-C writes it
    /// again
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Time between writes of the state, each after an iteration [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) checkpoint_every: Option<Duration>,
    /// Resume from the checkpoint; start if there is none yet. Without it, an existing file is not overwritten,
    /// except with --force
    #[arg(long)]
    pub(crate) resume: bool,
}

impl CheckpointArgs {
    /// # Errors
    /// [`Failure::Usage`] for standard output or a folder, and for options of checkpoints without `--checkpoint`.
    pub(crate) fn check(&self, given: &Given) -> Result<()> {
        if let (None, Some(option)) = (&self.checkpoint, given.first_of::<Self>(&[])) {
            let advice = "say which with --checkpoint FILE";
            return Err(Failure::Usage(format!(
                "{option} needs the file that keeps the state of the fit; {advice}"
            )));
        }
        if is_standard(self.checkpoint.as_deref()) {
            return Err(Failure::Usage("--checkpoint - cannot be read again; give a file".to_owned()));
        }
        match self.checkpoint.as_deref().filter(|path| path.is_dir()) {
            Some(path) => {
                let path = path.display();
                Err(Failure::Usage(format!("--checkpoint {path} is a folder; give a file")))
            }
            None => Ok(()),
        }
    }

    /// Fits, resuming from a checkpoint if requested and present, and writes checkpoints. A checkpoint that cannot
    /// be written causes a warning: the fit continues.
    ///
    /// # Errors
    /// [`Failure::File`] for a checkpoint that cannot be read; otherwise those of the fit, with the file at fault.
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
