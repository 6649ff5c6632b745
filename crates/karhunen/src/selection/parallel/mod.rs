//! Parallel analysis: the variances of the data compared with the variances of random data.

mod complete;
mod incomplete;
mod options;
mod tables;

pub use options::{Level, Null, Parallel};

use crate::error::Result;
use crate::exec::Run;
use crate::scalar::{Scalar, compiled};
use crate::selection::Selection;
use crate::source::Source;
use crate::weights::Weights;

impl Parallel {
    /// Fits `x`, shape (n_samples, n_features), and the random tables.
    ///
    /// # Errors
    /// [`crate::Error::Option`] for no draw, a quantile outside (0, 1), or data that are not centred;
    /// [`crate::Error::OnePass`] for a source of one pass; [`crate::Error::Memory`]; errors of
    /// [`crate::Pca::fit_with`].
    pub fn select<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        weights: &Weights<'_>,
        run: &Run<'_>,
    ) -> Result<Selection> {
        let select = compiled!(T, complete::select::<T>
            => fn(&Parallel, &dyn Source<T>, &Weights<'_>, &Run<'_>) -> Result<Selection>);
        select(self, x, weights, run)
    }

    /// As [`Parallel::select`] for data with missing values, which are NaN: of dense data, and of stored entries of
    /// sparse data. Complete data have the result of [`Parallel::select`].
    ///
    /// Random tables have the pattern of missing entries of the data; the observed values of every column are permuted
    /// among its observed entries, or replaced by normal ones. Data and tables are fitted by probabilistic PCA
    /// ([`crate::incomplete::Method::Ppca`]), which weighs rows by what they say; least squares would follow the noise
    /// of rows with few entries, by ten times its variance at 10% missing. Variances are taken along the components and
    /// include the noise, so for a complete table they agree with PCA to the tolerance of the iterations.
    ///
    /// The largest number to choose is 10 if `pca` leaves it open, and at most one less than the number of
    /// columns, because the noise has a direction of its own. Columns are not divided by
    /// their ranges or by binomial deviations. Memory: a copy of the data, and a table and its entries for each thread.
    ///
    /// ```
    /// use karhunen::selection::Parallel;
    /// use karhunen::{Dense, Pca, Run, Weights};
    /// let mut x: Vec<f64> = (0..200).map(|e| f64::from(e / 4 % 7 * (e % 4 + 1) + e * e % 11)).collect();
    /// (0..200).step_by(9).for_each(|e| x[e] = f64::NAN);
    /// let rule = Parallel { pca: Pca::default().scale(true), n_draws: 40, ..Parallel::default() };
    /// let x = Dense::row_major(&x, 50, 4)?;
    /// let found = rule.select_incomplete(&x, &Weights::default(), &Run::default())?;
    /// assert_eq!(found.n_components, Some(1));
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Parallel::select`]; [`crate::Error::Option`] for another scaling or a number of components by a share or a
    /// rule; [`crate::Error::NonFinite`] for infinite values; errors of [`crate::IncompletePca::fit_with`].
    pub fn select_incomplete<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        weights: &Weights<'_>,
        run: &Run<'_>,
    ) -> Result<Selection> {
        let select = compiled!(T, incomplete::select::<T>
            => fn(&Parallel, &dyn Source<T>, &Weights<'_>, &Run<'_>) -> Result<Selection>);
        select(self, x, weights, run)
    }
}

#[cfg(test)]
mod tests;
