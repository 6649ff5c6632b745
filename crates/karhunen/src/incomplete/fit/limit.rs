//! The memory limit of a fit with missing values, which the entries and the fit share.

use crate::error::{Advice, Error, Result};
use crate::exec::Run;
use crate::incomplete::data::{Observed, bytes_of};
use crate::incomplete::fit::left_out::Division;
use crate::incomplete::fit::unseen::Unseen;
use crate::incomplete::options::{IncompletePca, NoiseModel};
use crate::incomplete::stream::rule::n_curvatures;
use crate::memory::{self, PROGRAM, least_limit};
use crate::scalar::Scalar;
use crate::scaling::Scaling;
use crate::source::{Pass, Source, VisitMemory};

impl IncompletePca {
    /// Reads the observed entries of a source in one visit, as [`Observed::from_source_with`] does, for a fit within
    /// `memory_limit`. Where there are more entries than that, they are counted, and the error states the limit that
    /// suffices.
    ///
    /// ```
    /// use karhunen::{Dense, IncompletePca, Run};
    /// let x = [1.0, f64::NAN, 0.0, 4.0];
    /// let pca = IncompletePca { memory_limit: Some(100_000_000), ..IncompletePca::new(1) };
    /// let data = pca.observe(&Dense::row_major(&x, 2, 2)?, &Run::default())?;
    /// assert_eq!(data.n_observed(), 3);
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Observed::from_source_with`]; [`Error::Memory`] for more entries than the limit leaves room for.
    pub fn observe<T: Scalar>(&self, x: &dyn Source<T>, run: &Run<'_>) -> Result<Observed<T>> {
        let (n, p) = x.shape();
        let held = |factor: f64| match x.pass() {
            Pass::Memory => x.n_stored() as f64 * size_of::<T>() as f64,
            Pass::Costly { .. } => x.memory_within(factor).held,
        };
        Observed::from_source_within(
            x,
            &|n_entries| self.ask_for_entries_within::<T>(n_entries, (n, p), held, run),
            run,
        )
    }

    /// Checks that `n_entries` entries of a matrix of shape (n_samples, n_features) and their fit stay within
    /// `memory_limit`, while they are read from memory of `held` bytes that is freed before the fit. Without a limit
    /// nothing is refused.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn ask_for_entries<T: Scalar>(
        &self,
        n_entries: usize,
        shape: (usize, usize),
        held: f64,
        run: &Run<'_>,
    ) -> Result<()> {
        self.ask_for_entries_within::<T>(n_entries, shape, |_| held, run)
    }

    /// As [`IncompletePca::ask_for_entries`], with the bytes that reading takes within a multiple of the limit.
    fn ask_for_entries_within<T: Scalar>(
        &self,
        n_entries: usize,
        (n, p): (usize, usize),
        held: impl Fn(f64) -> f64,
        run: &Run<'_>,
    ) -> Result<()> {
        // As many components as there can be.
        let n_components = self.n_components.min(n.min(p)).max(1);
        let fit = IncompletePca { n_components, ..self.clone() }.need_of::<T>((n, p), n_entries, run);
        let entries = bytes_of(n_entries, (n, p), size_of::<T>());
        let what = format!("a fit of {n_entries} observed entries of {n} rows and {p} columns");
        let work = |factor| {
            let held = held(factor);
            if held > fit { held } else { fit }
        };
        self.check_limit(&what, entries, work, Vec::new)
    }

    /// Checks that a stream of these options can learn from `x` block by block within `memory_limit`
    /// ([`IncompleteStream::partial_fit_source`]): two copies of the stream, the blocks that are read, and the entries of
    /// one of them.
    ///
    /// ```
    /// use karhunen::{Dense, ErrorKind, IncompletePca};
    /// let x = Dense::row_major(&[1.0, f64::NAN, 0.0, 4.0], 2, 2)?;
    /// let within = |limit| IncompletePca { memory_limit: Some(limit), ..IncompletePca::new(1) }.ask_for_stream(&x);
    /// assert!(within(100_000_000).is_ok());
    /// assert_eq!(within(1_000_000).unwrap_err().kind(), ErrorKind::Argument);
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Memory`].
    ///
    /// [`IncompleteStream::partial_fit_source`]: crate::incomplete::IncompleteStream::partial_fit_source
    pub fn ask_for_stream<T: Scalar>(&self, x: &dyn Source<T>) -> Result<()> {
        /// Most bytes of the entries of a block, by rows and by columns and while they are sorted, per byte of its values.
        const ENTRIES: f64 = 9.0;
        let ((_, p), c) = (x.shape(), self.n_components);
        let stream = 8.0 * p as f64 * (c + 2 + n_curvatures(self.online_rule, c)) as f64;
        let read = |factor| {
            let VisitMemory { held, block } = x.memory_within(factor);
            held + ENTRIES * block
        };
        let what = format!("learning {c} components of {p} columns block by block");
        self.check_limit(&what, 0.0, |factor| 2.0 * stream + read(factor), Vec::new)
    }

    /// Refuses a fit whose entries and work exceed the limit that was given.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub(crate) fn ask_within_limit<T: Scalar>(&self, data: &Observed<T>, run: &Run<'_>) -> Result<()> {
        if self.memory_limit.is_none() {
            return Ok(());
        }
        // Fits of some of the rows or columns, and of scaled entries, copy these.
        let divided = self.scale != Scaling::None || self.noise == NoiseModel::Feature;
        let scaled = divided || data.feature_weights().is_some();
        let n_copies = [Unseen::of(self, data).is_some(), scaled];
        let n_held = 1.0 + n_copies.iter().filter(|copied| **copied).count() as f64;
        let of_rows = Division::of(data, self.n_components).map_or(0.0, |division| division.bytes(data));
        let (n, p) = data.shape();
        let what = format!("a fit of {} observed entries of {n} rows and {p} columns", data.n_observed());
        let need = self.memory_need(data, run);
        let entries = n_held * data.bytes() + of_rows;
        self.check_limit(&what, entries, |_| need, || self.smaller_need(data, run))
    }

    /// Refuses work of `entries` bytes plus the bytes that `work` returns within a multiple of the limit.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub(crate) fn check_limit(
        &self,
        what: &str,
        entries: f64,
        work: impl Fn(f64) -> f64,
        advice: impl FnOnce() -> Vec<Advice>,
    ) -> Result<()> {
        let Some(given) = self.memory_limit else { return Ok(()) };
        let (limit, bytes) = (memory::limit(Some(given)), PROGRAM + entries + work(1.0));
        if bytes <= limit.bytes {
            return Ok(());
        }
        let mut advice = advice();
        advice.retain(|way| *way != Advice::RaiseLimit);
        if entries > 0.0 && PROGRAM + entries > limit.bytes {
            // No other fit of these entries needs less.
            let blocks = "give the data as a table, whose rows are learned block by block (`fit --missing=online` on \
                          the command line, `partial_fit` in Python, which take files)";
            advice = vec![blocks.into()];
        }
        let within = |bytes: f64| PROGRAM + entries + work(bytes / limit.bytes);
        let least = least_limit(limit.bytes, within);
        let bytes = within(least).max(bytes);
        advice.insert(0, Advice::MemoryLimit { bytes: least });
        Err(Error::Memory { what: what.to_owned(), bytes, available: Some(limit), advice })
    }
}
