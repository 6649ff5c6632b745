//! Long fits that may be killed and go on: `--checkpoint`, `--checkpoint-every`, `--resume`.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clap::{Args, ValueHint};
use karhunen::{Checkpoint, Checkpoints, Error, Every, FitContext, IncompleteModel, IncompletePca};
use karhunen_io::{ObservedData, load_checkpoint, save_checkpoint};

use crate::error::{Failure, Places, Result, typed_with};
use crate::missing_args::seconds;
use crate::names::visible;
use crate::plan::is_standard;
use crate::progress::{Progress, keeping};

/// Seconds between checkpoints.
const DEFAULT_EVERY: Duration = Duration::from_secs(60);

/// Where the state of a fit is kept.
#[derive(Clone, Debug, Args)]
pub(crate) struct CheckpointArgs {
    /// Keep the state of the fit in FILE: what was killed goes on with --resume, to the same model; Ctrl-C writes it once more
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) checkpoint: Option<PathBuf>,
    /// How often the state is written, after the first iteration that ends later [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) checkpoint_every: Option<Duration>,
    /// Go on from the checkpoint; where there is none yet, begin. Without it, a file that exists is not overwritten, but for
    /// --force
    #[arg(long)]
    pub(crate) resume: bool,
}

impl CheckpointArgs {
    /// The first option given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        if self.checkpoint.is_some() { Some("--checkpoint") } else { self.given_alone() }
    }

    /// The first option given of those that need `--checkpoint`.
    fn given_alone(&self) -> Option<&'static str> {
        let options = [("--resume", self.resume), ("--checkpoint-every", self.checkpoint_every.is_some())];
        options.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }

    /// # Errors
    /// [`Failure::Usage`] for the standard output or a folder, and for options of checkpoints where none are kept.
    pub(crate) fn check(&self) -> Result<()> {
        if let (None, Some(option)) = (&self.checkpoint, self.given_alone()) {
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

    /// Fits, from the checkpoint if there is one and it was asked for, and keeps checkpoints. One that cannot be kept is a
    /// warning: the fit goes on.
    ///
    /// # Errors
    /// [`Failure::File`] for a checkpoint that cannot be read; else those of the fit, of the file whose fault they are.
    pub(crate) fn fit(
        &self,
        pca: &IncompletePca,
        data: &ObservedData,
        progress: &Progress,
        places: &Places<'_>,
    ) -> Result<IncompleteModel> {
        let existing = self.checkpoint.as_deref().filter(|path| self.resume && path.exists());
        let resume = existing.map(load_checkpoint).transpose()?;
        let kept = Kept { resumed: resume.is_some(), ..Kept::new(progress) };
        let keep = |checkpoint: Checkpoint| {
            if let Some(path) = &self.checkpoint {
                kept.keep(path, &checkpoint);
            }
            Ok(())
        };
        let every = Every::Time(self.checkpoint_every.unwrap_or(DEFAULT_EVERY));
        let checkpoints = self.checkpoint.is_some().then_some(Checkpoints { every, keep: &keep });
        let context =
            FitContext { observer: Some(progress), checkpoints, resume: resume.as_ref(), start: None };
        let fit = || match data {
            ObservedData::F32(observed) => pca.fit_with(observed, &context),
            ObservedData::F64(observed) => pca.fit_with(observed, &context),
        };
        let model = if self.checkpoint.is_some() { keeping(fit) } else { fit() };
        kept.tell_the_end();
        model.map_err(|error| self.explain(error, &kept, places))
    }

    fn explain(&self, error: Error, kept: &Kept<'_>, places: &Places<'_>) -> Failure {
        match (&self.checkpoint, error) {
            (Some(path), Error::OtherOption { option, found, expected }) => Failure::Usage(format!(
                "{}: the checkpoint was made with {}, now there is {}; resume with the same, or fit anew",
                path.display(),
                typed_with(option, &found),
                typed_with(option, &expected)
            )),
            (Some(path), error @ (Error::OtherFit { .. } | Error::CheckpointDamaged { .. })) => {
                Failure::Library { file: path.display().to_string(), error }
            }
            (Some(path), Error::Stopped { .. }) if path.exists() && kept.has_any() => {
                match kept.is_behind() {
                    true => Failure::StoppedBehind(path.clone()),
                    false => Failure::StoppedAt(path.clone()),
                }
            }
            (_, error) => places.explain(error),
        }
    }
}

/// What became of the checkpoints of a fit.
struct Kept<'a> {
    progress: &'a Progress,
    /// Whether the fit went on from one.
    resumed: bool,
    state: Mutex<KeptState>,
}

#[derive(Default)]
struct KeptState {
    /// The iteration of the last that was kept.
    last: Option<usize>,
    /// Whether the one after it could not be kept.
    failing: bool,
}

impl<'a> Kept<'a> {
    fn new(progress: &'a Progress) -> Self {
        Self { progress, resumed: false, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, KeptState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a checkpoint. The first failure is told, and the first success after it.
    fn keep(&self, path: &Path, checkpoint: &Checkpoint) {
        let outcome = save_checkpoint(path, checkpoint);
        let mut state = self.state();
        let was_failing = std::mem::replace(&mut state.failing, outcome.is_err());
        match outcome {
            Ok(()) => {
                state.last = Some(checkpoint.iteration);
                if was_failing {
                    let path = path.display();
                    self.warn("note:", &format!("{path}: the checkpoint could be written again"));
                }
            }
            Err(error) if !was_failing => {
                self.warn("warning:", &format!("no checkpoint was kept: {error}; the fit goes on without"));
            }
            Err(_) => {}
        }
    }

    /// Where the last checkpoint could not be kept, says what there is.
    fn tell_the_end(&self) {
        let state = self.state();
        if state.failing {
            let last = match (state.last, self.resumed) {
                (Some(iteration), _) => {
                    format!("the last checkpoint that was kept is of iteration {iteration}")
                }
                (None, true) => "the checkpoint is still the one that the fit went on from".to_owned(),
                (None, false) => "there is no checkpoint of this fit".to_owned(),
            };
            self.warn("warning:", &last);
        }
    }

    /// Whether there is any to go on from.
    fn has_any(&self) -> bool {
        self.resumed || self.state().last.is_some()
    }

    /// Whether the last one is missing.
    fn is_behind(&self) -> bool {
        self.state().failing
    }

    fn warn(&self, label: &str, message: &str) {
        let label = console::style(label).for_stderr().yellow().bold();
        self.progress.say(&format!("{label} {}\n", visible(message)));
    }
}
