//! Memory estimate of a fit with missing values, excluding the entries.
//!
//! The estimate sums the largest simultaneous allocations. Fits under a counting allocator (`tests/memory.rs`)
//! check that it lies between the peak and a small multiple of it.

use crate::choice::Choice;
use crate::error::{Advice, Phrase, Result, options};
use crate::exec::Run;
use crate::incomplete::data::Observed;
use crate::incomplete::factors::Factor;
use crate::incomplete::fit::agreement::MOST_STARTS;
use crate::incomplete::fit::identifiability::MOST_WORDS;
use crate::incomplete::fit::unseen::Unseen;
use crate::incomplete::model::feature_noise::SUMS;
use crate::incomplete::options::{IncompletePca, Method, NoiseModel, Regularization};
use crate::incomplete::passes::moments::Expected;
use crate::memory;
use crate::scalar::{Scalar, compiled};

/// Bytes of an `f64`.
const F64: f64 = 8.0;
/// Bytes of a packed covariance.
const F32: f64 = 4.0;
/// Buffers per thread, in bytes, excluding its normal equations.
const BUFFERS: f64 = (2u64 << 20) as f64;

impl IncompletePca {
    /// Upper estimate of the memory of a fit of `data` in bytes, excluding the entries and memory already in use. It
    /// grows with the number of threads of `run`.
    ///
    /// ```
    /// use karhunen::{Dense, IncompletePca, Observed, Run};
    /// let x = [1.0, 2.0, 4.0, 5.0, 7.0, f64::NAN];
    /// let data = Observed::from_dense(&Dense::row_major(&x, 3, 2)?)?;
    /// assert!(IncompletePca::new(1).memory_need(&data, &Run::default()) < 1e8);
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    pub fn memory_need<T: Scalar>(&self, data: &Observed<T>, run: &Run<'_>) -> f64 {
        compiled!(T, IncompletePca::need::<T> => fn(&IncompletePca, &Observed<T>, &Run<'_>) -> f64)(
            self, data, run,
        )
    }

    fn need<T: Scalar>(&self, data: &Observed<T>, run: &Run<'_>) -> f64 {
        match Unseen::of(self, data) {
            // The fit has these columns only; the model has all.
            Some(unseen) => {
                let shape = (data.n_samples(), unseen.n_kept());
                self.need_of::<T>(shape, data.n_observed(), run) + unseen.need(self)
            }
            None => self.need_of::<T>(data.shape(), data.n_observed(), run),
        }
    }

    /// Estimate for a fit of `n_observed` entries in so many rows and columns, excluding the entries.
    pub(super) fn need_of<T: Scalar>(
        &self,
        (n_rows, n_columns): (usize, usize),
        n_observed: usize,
        run: &Run<'_>,
    ) -> f64 {
        let c = self.n_scores();
        let (rows, columns, value) = (n_rows as f64, n_columns as f64, size_of::<T>() as f64);
        let both = rows + columns;
        let of_factors = both * Factor::<T>::width_for(c + 1) as f64 * value;
        let table = Expected::new::<T>(c).width as f64 * value;
        let method = self.chosen().0;
        let entries = n_observed as f64;
        let (copies, tables) = match method {
            Method::Em | Method::Als => (3.0, 0.0),
            Method::Ccd => (3.0, entries * value + 6.0 * both * value),
            Method::Online => (3.0, F64 * columns * (c + 1) as f64 * 2.0),
            Method::Imputation | Method::Soft => (5.0, 0.0),
            Method::Gradient | Method::Newton | Method::Natural => (6.0, 0.0),
            Method::Cg | Method::Ridge | Method::Auto => (8.0, 0.0),
            Method::Map => (4.0, rows * table),
            Method::Ppca => (4.0, rows * table),
            Method::Vb | Method::VbFixed => (8.0, 0.0),
            Method::VbFull => (4.0, (rows + 3.0 * columns) * table),
        };
        let compares = self.compares_starts();
        let again = compares || self.n_runs() > 1 || self.regularization == Some(Regularization::Path);
        let copies = copies + if again { 1.0 } else { 0.0 };
        // Half of the entries, by rows and by columns, and two bases of the loadings of each start.
        let starts = if compares {
            entries * (4.0 + value) + F64 * 2.0 * MOST_STARTS as f64 * columns * c as f64
        } else {
            0.0
        };
        let c = c as f64;
        // Rotated loadings and scores, their orthogonal factors, and the components of the model.
        let rotation = F64 * (4.0 * columns + 6.0 * rows) * c;
        let packed = c * (c + 1.0) / 2.0;
        let by_feature = self.noise == NoiseModel::Feature;
        let bars = if self.error_bars || by_feature {
            packed * (both * F32 + rows.max(columns) * value)
        } else {
            0.0
        };
        let n_splits =
            f64::from(u8::from(self.early_stopping.is_some()) + u8::from(self.conformal.is_some()));
        let split = n_splits * (entries * (2.0 * (4.0 + value) + 1.0) + 16.0 * both);
        // Of pairs of columns that meet.
        let words = (n_columns * n_columns.div_ceil(64)).min(MOST_WORDS) as f64;
        let vectors = F64 * (10.0 * columns + 4.0 * rows + words);
        let threads = run.expected_threads() as f64;
        let equations = F64 * 4.0 * (c + 9.0).powi(2);
        let sums = if self.error_bars || by_feature { F64 * SUMS as f64 * columns } else { 0.0 };
        let buffers =
            threads * (sums + BUFFERS.min(4.0 * of_factors) + equations) + F64 * 8.0 * (c + 1.0).powi(2);
        // The best model of several runs next to the current one.
        let kept = if by_feature { rotation + bars } else { 0.0 };
        copies * of_factors + starts.max(rotation + bars) + kept + tables + split + vectors + buffers
    }

    /// Checks that memory suffices for `n_fits` simultaneous fits, each on the threads of `run`.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub(crate) fn ask<T: Scalar>(&self, data: &Observed<T>, n_fits: usize, run: &Run<'_>) -> Result<()> {
        let bytes = self.memory_need(data, run) * n_fits as f64;
        let (n, p) = data.shape();
        let method = self.chosen().0.name();
        let fits = if n_fits == 1 { "a fit".to_owned() } else { format!("running {n_fits} fits at a time") };
        memory::ask(&format!("{fits} by {method} of {n} rows and {p} columns"), bytes, || {
            self.smaller_need(data, run)
        })
    }

    /// Suggestions that need less memory, with their estimates.
    pub(super) fn smaller_need<T: Scalar>(&self, data: &Observed<T>, run: &Run<'_>) -> Vec<Advice> {
        let (own, p) = (self.memory_need(data, run), data.n_features());
        let als =
            IncompletePca { method: Method::Als, error_bars: false, ..self.clone() }.memory_need(data, run);
        let empty = (0..p).filter(|column| data.n_observed_in_column(*column) == 0).count();
        let mut ways = Vec::new();
        if 2 * empty > p {
            ways.push(format!("leave out the {empty} columns without entries").into());
        }
        if als < 0.8 * own && self.method != Method::Als {
            let take = Phrase::new("take ").setting(options::METHOD, Method::Als.value());
            let take = take.text(" with ").setting(options::ERROR_BARS, false);
            ways.push(take.text(format!(", which needs {}", memory::size(als))).into());
        }
        if self.n_components > 1 {
            let one = IncompletePca { n_components: 1, ..self.clone() }.memory_need(data, run);
            let fewer = Phrase::new("ask for fewer components (").option(options::N_COMPONENTS);
            ways.push(fewer.text(format!("): one needs {}", memory::size(one))).into());
        }
        ways.push(Advice::RaiseLimit);
        ways
    }
}
