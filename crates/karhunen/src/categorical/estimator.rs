//! The fit and its documentation.

use super::column::Column;
use super::fit;
use super::model::CategoricalModel;
use super::options::CategoricalPca;
use crate::error::Result;
use crate::exec::Run;

impl CategoricalPca {
    /// Fits to the rows of a table. `weights` holds one finite weight >= 0 for each row, such as the number of
    /// respondents or a survey weight; all are one if `None`. The result equals a fit of the repeated rows.
    ///
    /// Memory: 12 bytes for each row and column, and as [`crate::Pca::fit`] of a sparse matrix.
    ///
    /// # Errors
    /// [`crate::Error::Categories`] for columns that the analysis does not take, and for rows without variance;
    /// [`crate::Error::Option`] for more components than there are dimensions; errors of weights and of
    /// [`crate::Pca::fit`].
    pub fn fit(&self, columns: &[Column], weights: Option<&[f64]>) -> Result<CategoricalModel> {
        self.fit_with(columns, weights, &Run::default())
    }

    /// As [`CategoricalPca::fit`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`CategoricalPca::fit`], and [`crate::Error::Stopped`] if the observer cancels.
    pub fn fit_with(
        &self,
        columns: &[Column],
        weights: Option<&[f64]>,
        run: &Run<'_>,
    ) -> Result<CategoricalModel> {
        fit::fit(self, columns, weights, run)
    }
}
