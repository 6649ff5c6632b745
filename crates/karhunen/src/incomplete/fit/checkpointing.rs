//! Schedule of checkpoints, and cancellation between iterations.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::error::{Error, Result};
use crate::exec::{Exec, Flow, Iteration, Observer};
use crate::incomplete::factors::state_arrays::Arrays;
use crate::incomplete::fit::checkpoint::{Checkpoint, Checkpoints, Every, Fingerprint, VERSION};
use crate::incomplete::options::IncompletePca;

/// Checkpoint writer: makes checkpoints when they are due.
pub(crate) struct Keeper<'a> {
    checkpoints: Checkpoints<'a>,
    data: Fingerprint,
    pub(crate) patient: &'a Patient<'a>,
    last: Instant,
    since: usize,
}

impl<'a> Keeper<'a> {
    pub(crate) fn new(checkpoints: Checkpoints<'a>, data: Fingerprint, patient: &'a Patient<'a>) -> Self {
        Self { checkpoints, data, patient, last: Instant::now(), since: 0 }
    }

    /// Makes a checkpoint after an iteration if it is due or cancellation was requested.
    pub(crate) fn look(
        &mut self,
        iteration: usize,
        pca: &IncompletePca,
        save: impl FnOnce() -> Arrays,
    ) -> Result<()> {
        self.since += 1;
        let due = match self.checkpoints.every {
            Every::Time(apart) => self.last.elapsed() >= apart,
            Every::Iterations(n) => self.since >= n,
        };
        if !due && !self.patient.is_asked() {
            return Ok(());
        }
        let checkpoint = Checkpoint {
            version: VERSION.to_owned(),
            options: pca.clone(),
            data: self.data.clone(),
            iteration,
            arrays: save().0,
        };
        (self.checkpoints.keep)(checkpoint).map_err(|source| Error::CheckpointNotKept { source })?;
        (self.last, self.since) = (Instant::now(), 0);
        Ok(())
    }
}

/// Observer that defers cancellation to the end of an iteration, because no checkpoint can be made within one.
pub(crate) struct Patient<'a> {
    observer: &'a dyn Observer,
    iterating: AtomicBool,
    asked: AtomicBool,
}

impl<'a> Patient<'a> {
    pub(crate) fn new(observer: &'a dyn Observer) -> Self {
        Self { observer, iterating: AtomicBool::new(false), asked: AtomicBool::new(false) }
    }

    /// Defers cancellation until the guard is dropped or [`Patient::check`] is called.
    pub(crate) fn until_dropped(&self) -> Iterating<'_> {
        self.iterating.store(true, Ordering::Relaxed);
        Iterating(&self.iterating)
    }

    /// Whether cancellation was requested.
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Ends the deferral; [`crate::error::Error::Stopped`] if cancellation was requested.
    pub(crate) fn check(&self, exec: &Exec<'_>) -> Result<()> {
        self.iterating.store(false, Ordering::Relaxed);
        if self.is_asked() { Err(exec.stopped()) } else { Ok(()) }
    }

    fn answer(&self, flow: Flow) -> Flow {
        if flow == Flow::Stop {
            self.asked.store(true, Ordering::Relaxed);
        }
        let granted = self.is_asked() && !self.iterating.load(Ordering::Relaxed);
        if granted { Flow::Stop } else { Flow::Continue }
    }
}

impl Observer for Patient<'_> {
    fn update(&self, phase: &'static str, fraction: f64) -> Flow {
        self.answer(self.observer.update(phase, fraction))
    }

    fn iteration(&self, at: &Iteration) -> Flow {
        self.answer(self.observer.iteration(at))
    }
}

/// Guard of an iteration that must complete.
pub(crate) struct Iterating<'a>(&'a AtomicBool);

impl Drop for Iterating<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}
