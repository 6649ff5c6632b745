//! Rows that can be read once and whose number is unknown until the end: a pipe, a queue, a generator.

use crate::error::{Error, Result};
use crate::scalar::Scalar;
use crate::source::Block;
use crate::weights::check_weights;

/// Consecutive rows of a stream, with or without weights.
#[derive(Clone, Debug)]
pub struct Batch<'a, T> {
    /// The rows.
    pub rows: Block<'a, T>,
    /// One finite weight >= 0 for each row; all are one if `None`.
    pub weights: Option<&'a [f64]>,
}

/// Rows that can be read once, in batches of any number of rows. [`crate::Pca::fit_stream`] and
/// [`crate::moments::Scatter::of_stream`] read a stream.
///
/// ```
/// use karhunen::source::{Batch, Block};
/// use karhunen::{Dense, NComponents, Pca, Result, Stream};
/// /// Row i is i times (1, 2), and weighs one.
/// struct Multiples {
///     n_left: usize,
///     row: [f64; 2],
/// }
/// impl Stream<f64> for Multiples {
///     fn n_features(&self) -> usize {
///         2
///     }
///     fn next(&mut self) -> Result<Option<Batch<'_, f64>>> {
///         let Some(n_left) = self.n_left.checked_sub(1) else { return Ok(None) };
///         self.n_left = n_left;
///         self.row = [n_left as f64, 2.0 * n_left as f64];
///         Ok(Some(Batch { rows: Block::Dense(Dense::row_major(&self.row, 1, 2)?), weights: None }))
///     }
/// }
/// let mut stream = Multiples { n_left: 10, row: [0.0; 2] };
/// let model = Pca::new(1).fit_stream(&mut stream, None)?;
/// assert!((model.mean()[1] - 9.0).abs() < 1e-12);
/// assert!((model.explained_variance_ratio()[0] - 1.0).abs() < 1e-12);
/// # Ok::<(), karhunen::Error>(())
/// ```
pub trait Stream<T: Scalar> {
    /// Number of columns of every batch.
    fn n_features(&self) -> usize;

    /// The next rows; `None` after the last.
    ///
    /// # Errors
    /// [`Error::Read`] with the first row that could not be read, counted from the first of the stream.
    fn next(&mut self) -> Result<Option<Batch<'_, T>>>;
}

impl<T: Scalar> Batch<'_, T> {
    /// Refuses a batch whose number of columns is not `n_features`, and invalid weights. `batch` and `first` are the
    /// numbers of the batch and of its first row in the stream.
    pub(crate) fn check(&self, n_features: usize, batch: usize, first: usize) -> Result<()> {
        let found = self.rows.n_cols();
        if found != n_features {
            return Err(Error::BlockColumns { block: batch, found, expected: n_features });
        }
        check_weights(self.weights, self.rows.n_rows()).map_err(|error| match error {
            Error::WeightValue { of, index, value } => Error::WeightValue { of, index: first + index, value },
            error => error,
        })
    }
}
