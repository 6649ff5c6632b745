//! The checkpoints of one fit: which could be kept, and what the user is to be told.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use karhunen::Checkpoint;

use crate::save_checkpoint;

/// Writes the checkpoints of one fit to a file. One that cannot be written does not end the fit: the state of hours is in
/// memory, and the model has a place of its own.
#[derive(Debug)]
pub struct CheckpointKeeper {
    path: PathBuf,
    /// Whether the fit went on from the file.
    resumed: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The iteration of the last that was kept.
    last: Option<usize>,
    /// Whether the one after it could not be kept.
    failing: bool,
}

/// What the user is to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointNews {
    /// A warning.
    Lost(String),
    /// That what was warned of is over.
    Again(String),
}

impl CheckpointKeeper {
    /// For checkpoints in the file `path`, from which the fit went on if it `resumed`.
    pub fn new(path: PathBuf, resumed: bool) -> Self {
        Self { path, resumed, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a checkpoint. The first failure is news, and the first success after it.
    pub fn keep(&self, checkpoint: &Checkpoint) -> Option<CheckpointNews> {
        let outcome = save_checkpoint(&self.path, checkpoint);
        let mut state = self.state();
        let was_failing = std::mem::replace(&mut state.failing, outcome.is_err());
        match outcome {
            Ok(()) => {
                state.last = Some(checkpoint.iteration);
                let again = || format!("{}: the checkpoint could be written again", self.path.display());
                was_failing.then(|| CheckpointNews::Again(again()))
            }
            Err(_) if was_failing => None,
            Err(error) => Some(CheckpointNews::Lost(format!(
                "no checkpoint was kept: {error}; the fit goes on without"
            ))),
        }
    }

    /// At the end of the fit: what there is, if the last checkpoint could not be kept.
    pub fn end(&self) -> Option<CheckpointNews> {
        let state = self.state();
        let what = match (state.last, self.resumed) {
            (Some(iteration), _) => format!("the last checkpoint that was kept is of iteration {iteration}"),
            (None, true) => "the checkpoint is still the one that the fit went on from".to_owned(),
            (None, false) => "there is no checkpoint of this fit".to_owned(),
        };
        state.failing.then_some(CheckpointNews::Lost(what))
    }

    /// Whether there is a checkpoint of this fit to go on from.
    pub fn has_any(&self) -> bool {
        (self.resumed || self.state().last.is_some()) && self.path.exists()
    }

    /// Whether the last checkpoint could not be kept.
    pub fn is_behind(&self) -> bool {
        self.state().failing
    }
}
