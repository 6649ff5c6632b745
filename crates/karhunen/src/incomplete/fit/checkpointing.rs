//! Schedule of checkpoints, and cancellation between iterations.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::error::{Error, Result};
use crate::exec::{Exec, Flow, Iteration, Observer};
use crate::incomplete::factors::state_arrays::Arrays;
use crate::incomplete::fit::checkpoint::{Checkpoint, Checkpoints, Every, Fingerprint, VERSION};
use crate::incomplete::options::IncompletePca;

/// Checkpoint writer: makes checkpoints when they are due.
pub(crate) struct CheckpointWriter<'a> {
    checkpoints: Checkpoints<'a>,
    data: Fingerprint,
    pub(crate) cancellation: &'a DeferredCancellation<'a>,
    last: Instant,
    since: usize,
}

impl<'a> CheckpointWriter<'a> {
    pub(crate) fn new(
        checkpoints: Checkpoints<'a>,
        data: Fingerprint,
        cancellation: &'a DeferredCancellation<'a>,
    ) -> Self {
        Self { checkpoints, data, cancellation, last: Instant::now(), since: 0 }
    }

    /// Makes a checkpoint after an iteration if it is due or cancellation was requested.
    pub(crate) fn write_if_due(
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
        if !due && !self.cancellation.is_requested() {
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
pub(crate) struct DeferredCancellation<'a> {
    observer: &'a dyn Observer,
    iterating: AtomicBool,
    requested: AtomicBool,
}

impl<'a> DeferredCancellation<'a> {
    pub(crate) fn new(observer: &'a dyn Observer) -> Self {
        Self { observer, iterating: AtomicBool::new(false), requested: AtomicBool::new(false) }
    }

    /// Defers cancellation until the guard is dropped or [`DeferredCancellation::check`] is called.
    pub(crate) fn defer(&self) -> Iterating<'_> {
        self.iterating.store(true, Ordering::Relaxed);
        Iterating(&self.iterating)
    }

    /// Returns true if cancellation was requested.
    pub(crate) fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Ends the deferral; [`crate::error::Error::Stopped`] if cancellation was requested.
    pub(crate) fn check(&self, exec: &Exec<'_>) -> Result<()> {
        self.iterating.store(false, Ordering::Relaxed);
        if self.is_requested() { Err(exec.stopped()) } else { Ok(()) }
    }

    fn respond(&self, flow: Flow) -> Flow {
        if flow == Flow::Stop {
            self.requested.store(true, Ordering::Relaxed);
        }
        let granted = self.is_requested() && !self.iterating.load(Ordering::Relaxed);
        if granted { Flow::Stop } else { Flow::Continue }
    }
}

impl Observer for DeferredCancellation<'_> {
    fn update(&self, phase: &'static str, fraction: f64) -> Flow {
        self.respond(self.observer.update(phase, fraction))
    }

    fn iteration(&self, at: &Iteration) -> Flow {
        self.respond(self.observer.iteration(at))
    }
}

/// Guard of an iteration that must complete.
pub(crate) struct Iterating<'a>(&'a AtomicBool);

impl Drop for Iterating<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}
