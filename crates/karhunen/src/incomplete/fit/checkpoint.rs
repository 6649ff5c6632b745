//! Checkpoints of a fit, and the inputs of a fit other than options and data.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::exec::{Accumulate, Exec};
use crate::growth::More;
use crate::incomplete::data::Observed;
use crate::incomplete::fit::difference::difference;
use crate::incomplete::options::IncompletePca;
use crate::incomplete::start::Start;
use crate::random::mix;
use crate::scalar::Scalar;

/// Optional inputs of a fit besides options and data: initial factors, and checkpoints to write and to continue from.
///
/// ```
/// use std::sync::Mutex;
/// use karhunen::incomplete::{Checkpoint, Checkpoints, Every, FitContext};
/// use karhunen::{Dense, IncompletePca, Observed, Run};
/// let x: Vec<f64> = (0..60).map(|e| if e % 7 == 3 { f64::NAN } else { ((e / 3) * (e % 3)) as f64 }).collect();
/// let data = Observed::from_dense(&Dense::row_major(&x, 20, 3)?)?;
/// let pca = IncompletePca::new(1);
/// let last: Mutex<Option<Checkpoint>> = Mutex::new(None);
/// let keep = |checkpoint: Checkpoint| {
///     *last.lock().unwrap() = Some(checkpoint);
///     Ok(())
/// };
/// let checkpoints = Some(Checkpoints { every: Every::Iterations(5), keep: &keep });
/// let context = FitContext { checkpoints, ..FitContext::default() };
/// let model = pca.fit_with(&data, &context, &Run::default())?;
/// // The checkpoint continues to the same model.
/// let last = last.lock().unwrap();
/// let context = FitContext { resume: last.as_ref(), ..FitContext::default() };
/// let again = pca.fit_with(&data, &context, &Run::default())?;
/// assert_eq!(again.components(), model.components());
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Copy, Default)]
pub struct FitContext<'a> {
    /// Initial factors, instead of random ones and the sweeps that refine these before the first iteration.
    pub start: Option<&'a Start>,
    /// Interval and receiver of checkpoints. With checkpoints, a cancel request takes effect at the end of the
    /// current iteration, after one more checkpoint.
    pub checkpoints: Option<Checkpoints<'a>>,
    /// Checkpoint to continue from. Data and options must equal the checkpoint's, except `max_iter`,
    /// `time_limit` and `memory_limit`. The model has the same bits as without an interruption.
    pub resume: Option<&'a Checkpoint>,
    #[doc(hidden)]
    pub more: More,
}

/// Interval between checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// Minimum time between two checkpoints, which are made after an iteration.
    Time(Duration),
    /// Number of iterations.
    Iterations(usize),
}

/// Error of a function that keeps checkpoints.
pub type NotKept = Box<dyn std::error::Error + Send + Sync>;

/// Interval and receiver of checkpoints.
#[derive(Clone, Copy)]
pub struct Checkpoints<'a> {
    /// Interval between checkpoints.
    pub every: Every,
    /// Called with each checkpoint, on the thread of the fit, which blocks. An error ends the fit as
    /// [`Error::CheckpointNotKept`].
    pub keep: &'a (dyn Fn(Checkpoint) -> std::result::Result<(), NotKept> + Sync),
}

/// The state of a fit between two iterations, as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The version of karhunen that made the checkpoint. Versions with other iterations refuse it: see
    /// `docs/determinism.md`.
    pub version: String,
    /// The options of the fit.
    pub options: IncompletePca,
    /// The data of the fit.
    pub data: Fingerprint,
    /// Number of the last iteration of the current run.
    pub iteration: usize,
    /// Factors, posteriors, variances, directions, counters and records, by name. `f32` data are stored exactly.
    pub arrays: BTreeMap<String, Vec<f64>>,
}

/// Identity of the data of a fit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fingerprint {
    /// Number of rows.
    pub n_samples: usize,
    /// Number of columns.
    pub n_features: usize,
    /// Number of observed entries.
    pub n_observed: usize,
    /// `"f32"` or `"f64"`.
    pub dtype: String,
    /// Sum over all entries of a hash of row, column, value, weight and multiplicity.
    pub checksum: u64,
}

impl Fingerprint {
    /// Computes the fingerprint in one pass over the entries.
    pub(crate) fn of<T: Scalar>(data: &Observed<T>, exec: &Exec<'_>) -> Result<Self> {
        const PIECES: usize = 64;
        let (n, rows) = (data.n_samples(), data.rows());
        let sum = exec.fold(
            PIECES,
            || Checksum(0),
            |piece, sum| {
                for row in n * piece / PIECES..n * (piece + 1) / PIECES {
                    let line = rows.line(row);
                    let multiplicity = data.multiplicity().map_or(1.0, |multiplicity| multiplicity[row]);
                    for (e, (column, value)) in line.indices.iter().zip(line.values).enumerate() {
                        let weight = line.weights.map_or(1.0, |w| w[e].to_f64());
                        let place = mix(((row as u64) << 32) | u64::from(*column));
                        let entry = mix(place ^ value.to_f64().to_bits());
                        sum.0 =
                            sum.0.wrapping_add(mix(mix(entry ^ weight.to_bits()) ^ multiplicity.to_bits()));
                    }
                }
                Ok(())
            },
        )?;
        Ok(Self {
            n_samples: n,
            n_features: data.n_features(),
            n_observed: data.n_observed(),
            dtype: T::NAME.to_owned(),
            checksum: sum.0,
        })
    }
}

struct Checksum(u64);

impl Accumulate for Checksum {
    fn reset(&mut self) {
        self.0 = 0;
    }
    fn merge(&mut self, other: &Self) {
        self.0 = self.0.wrapping_add(other.0);
    }
}

/// The version written to checkpoints.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Checkpoint {
    /// Returns true if this version iterates like the one that made the checkpoint, up to rounding. Version 0.1.0
    /// used other random numbers for early stopping and for starts; fits that draw none can continue.
    fn iterates_as_here(&self) -> bool {
        let draws = self.options.early_stopping.is_some() || self.options.n_runs() > 1;
        self.version == VERSION || (self.version == "0.1.0" && !draws)
    }

    /// Refuses data and options that differ from the checkpoint.
    pub(crate) fn check(&self, pca: &IncompletePca, data: &Fingerprint) -> Result<()> {
        let differs = |what, found: String, expected: String| Err(Error::OtherFit { what, found, expected });
        if !self.iterates_as_here() {
            return differs("versions of karhunen", self.version.clone(), VERSION.to_owned());
        }
        if self.data != *data {
            return differs("data", self.data.describe(), data.describe());
        }
        // The limits, which may differ.
        let &IncompletePca { max_iter, time_limit, memory_limit, .. } = pca;
        let then = IncompletePca { max_iter, time_limit, memory_limit, ..self.options.clone() };
        if then == *pca { Ok(()) } else { Err(difference(&then, pca)) }
    }
}

impl Fingerprint {
    fn describe(&self) -> String {
        let Self { n_samples, n_features, n_observed, dtype, checksum } = self;
        format!("{n_observed} entries of {n_samples} x {n_features}, {dtype}, checksum {checksum:016x}")
    }
}
