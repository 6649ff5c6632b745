//! Writes the checkpoints of one fit and reports failures to write them.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use karhunen::incomplete::Checkpoint;

use crate::save_checkpoint;

/// Writes the checkpoints of one fit to a file. A failed write does not end the fit: its state is in memory, and
/// the model is written to another file.
#[derive(Debug)]
pub struct CheckpointKeeper {
    path: PathBuf,
    /// True if the fit was resumed from the file.
    resumed: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The iteration of the last checkpoint that was written.
    last: Option<usize>,
    /// True if a later checkpoint could not be written.
    failing: bool,
}

/// A message for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointNews {
    /// A checkpoint could not be written.
    Lost(String),
    /// Writing works again after a failure.
    Again(String),
}

impl CheckpointKeeper {
    /// Writes to the file `path`; `resumed` states whether the fit started from it.
    pub fn new(path: PathBuf, resumed: bool) -> Self {
        Self { path, resumed, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a checkpoint. Returns a message on the first failure, and on the first success after a failure.
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
                "no checkpoint was kept: {error}; the fit continues without one"
            ))),
        }
    }

    /// Call at the end of the fit. Returns which checkpoint exists, if the last one could not be written.
    pub fn end(&self) -> Option<CheckpointNews> {
        let state = self.state();
        let what = match (state.last, self.resumed) {
            (Some(iteration), _) => format!("the last checkpoint that was kept is of iteration {iteration}"),
            (None, true) => "the checkpoint is still the one that the fit went on from".to_owned(),
            (None, false) => "there is no checkpoint of this fit".to_owned(),
        };
        state.failing.then_some(CheckpointNews::Lost(what))
    }

    /// Returns true if a checkpoint of this fit exists.
    pub fn has_any(&self) -> bool {
        (self.resumed || self.state().last.is_some()) && self.path.exists()
    }

    /// Returns true if the last checkpoint could not be written.
    pub fn is_behind(&self) -> bool {
        self.state().failing
    }
}
