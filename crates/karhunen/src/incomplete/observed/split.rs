//! Setting some entries aside.

use super::Observed;
use crate::error::Result;
use crate::exec::{Exec, Unobserved};
use crate::random::{Places, Purpose, Stream};
use crate::scalar::Scalar;

impl<T: Scalar> Observed<T> {
    /// Sets about `share` of the entries aside: those that stay, and those set aside, both of the same shape. The
    /// choice depends on `seed` and the positions alone; no row or column loses its last entry.
    ///
    /// # Errors
    /// [`crate::Error::Threads`].
    pub fn split(&self, share: f64, seed: u64, n_threads: Option<usize>) -> Result<(Self, Self)> {
        Exec::run(n_threads, &Unobserved, |exec| self.split_by(share, Purpose::Split.of(seed), exec))
    }

    /// As [`Observed::split`].
    pub(crate) fn split_by(&self, share: f64, stream: Stream, exec: &Exec<'_>) -> Result<(Self, Self)> {
        let places = stream.places();
        self.set_aside(|row, column| uniform(places, row, column) < share, exec)
    }

    /// Sets one of `n_folds` parts of the entries aside, as [`Observed::split`] does.
    pub(crate) fn fold(
        &self,
        fold: usize,
        n_folds: usize,
        seed: u64,
        exec: &Exec<'_>,
    ) -> Result<(Self, Self)> {
        let places = Purpose::Folds.of(seed).places();
        let of = |row, column| (uniform(places, row, column) * n_folds as f64) as usize;
        self.set_aside(|row, column| of(row, column) == fold, exec)
    }

    /// Sets the entries aside that `wanted` names by row and column, but for the last of a row or column.
    fn set_aside(&self, wanted: impl Fn(u64, u64) -> bool, exec: &Exec<'_>) -> Result<(Self, Self)> {
        let mut aside = vec![false; self.n_observed()];
        let mut left: Vec<usize> = (0..self.n_features()).map(|j| self.n_observed_in_column(j)).collect();
        let mut entry = 0;
        for row in 0..self.n_samples() {
            let mut left_in_row = self.n_observed_in_row(row);
            for column in self.row(row).0 {
                let column = *column as usize;
                if wanted(row as u64, column as u64) && left_in_row > 1 && left[column] > 1 {
                    aside[entry] = true;
                    left_in_row -= 1;
                    left[column] -= 1;
                }
                entry += 1;
            }
        }
        let p = self.n_features();
        let part = |wanted: bool| {
            let part = Self::filtered(&self.rows, p, |e| aside[e] == wanted, exec)?;
            Ok(part.counted(self.times.clone()))
        };
        Ok((part(false)?, part(true)?))
    }
}

/// A number in [0, 1) for a place.
fn uniform(places: Places, row: u64, column: u64) -> f64 {
    (places.at(row, column) >> 11) as f64 * (0.5f64).powi(53)
}
