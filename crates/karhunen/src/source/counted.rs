//! A source that counts how often it is visited.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Result;
use crate::exec::{Observer, Visit};
use crate::growth::More;
use crate::scalar::Scalar;
use crate::source::{Block, Pass, Source, properties_of};

/// Counts the visits of another source: a fit wraps the source it is given, so that its number of passes is the
/// number of visits that were made.
pub(crate) struct Counted<'a, T> {
    source: &'a dyn Source<T>,
    n_visits: AtomicUsize,
    /// Learns of every visit, and the number of visits predicted.
    observer: Option<(&'a dyn Observer, Option<usize>)>,
}

impl<'a, T: Scalar> Counted<'a, T> {
    pub(crate) fn new(source: &'a dyn Source<T>) -> Self {
        Self { source, n_visits: AtomicUsize::new(0), observer: None }
    }

    /// Reports every visit to `observer`, with the number of visits predicted, if the visits read the rows again.
    pub(crate) fn observed(self, observer: &'a dyn Observer, predicted: Option<usize>) -> Self {
        let costly = self.source.pass() != Pass::Memory;
        Self { observer: costly.then_some((observer, predicted)), ..self }
    }

    /// Counts visits of an earlier run: `n` in all.
    pub(crate) fn count_up_to(&self, n: usize) {
        self.n_visits.fetch_max(n, Ordering::Relaxed);
    }

    /// Visits so far, those that ended with an error included.
    pub(crate) fn n_visits(&self) -> usize {
        self.n_visits.load(Ordering::Relaxed)
    }
}

impl<T: Scalar> Source<T> for Counted<'_, T> {
    properties_of!(|wrapper| wrapper.source);
    fn visit(&self, f: &mut dyn FnMut(usize, Block<'_, T>) -> Result<()>) -> Result<()> {
        let number = self.n_visits.fetch_add(1, Ordering::Relaxed) + 1;
        let Some((observer, predicted)) = self.observer else { return self.source.visit(f) };
        let bytes = match self.source.pass() {
            Pass::Memory => 0.0,
            Pass::Costly { bytes, .. } => bytes,
        };
        let n_rows = self.source.shape().0.max(1) as f64;
        let predicted = predicted.map(|predicted| predicted.max(number));
        let report = |n_done: usize| {
            observer.visit(&Visit { number, predicted, bytes, done: n_done as f64 / n_rows, more: More });
        };
        report(0);
        self.source.visit(&mut |first, block| {
            let end = first + block.n_rows();
            f(first, block)?;
            report(end);
            Ok(())
        })
    }
}
