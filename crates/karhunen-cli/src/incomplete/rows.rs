//! Models of rows with missing values, rotated or not, and their scores as tables.

use karhunen::diagnostics::{Features, incomplete_features, rotated_incomplete_features};
use karhunen::incomplete::RowScores;
use karhunen::rotation::RotatedModel;
use karhunen::{IncompleteModel, Matrix, Result};
use karhunen_io::{RowsAndColumns, Stored};

use crate::component_names::{of_components, of_rotated};
use crate::error::Failure;
use crate::names::OFFSET;

/// A model of rows with missing values.
pub(crate) trait IncompleteRows: Stored<Extras = RowsAndColumns> + Sync {
    /// The model as it was fitted.
    fn fitted(&self) -> &IncompleteModel;

    /// The rotated model, if the components are rotated.
    fn rotated(&self) -> Option<&RotatedModel<IncompleteModel>>;

    /// Number of components.
    fn n_components(&self) -> usize {
        self.rotated().map_or(self.fitted().n_components(), RotatedModel::n_components)
    }

    /// The names of the components.
    fn component_names(&self) -> Vec<String> {
        let names = if self.rotated().is_some() { of_rotated } else { of_components };
        names(self.n_components())
    }

    /// The names of scores: of components, then of the row offset, if any.
    fn score_names(&self) -> Vec<String> {
        let offset = self.fitted().row_offsets().map(|_| OFFSET.to_owned());
        self.component_names().into_iter().chain(offset).collect()
    }

    /// The relations of features and components.
    fn features(&self) -> Features {
        self.rotated().map_or_else(|| incomplete_features(self.fitted()), rotated_incomplete_features)
    }

    /// Refuses `--whiten` for rotated components, whose scores have unit variance anyway.
    ///
    /// # Errors
    /// [`Failure::Usage`].
    fn check_whiten(&self, whiten: bool) -> std::result::Result<(), Failure> {
        if whiten && self.rotated().is_some() { Err(Failure::whitened_rotation()) } else { Ok(()) }
    }

    /// Scores of rows under the fitted model as a table, each divided by the standard deviation of its component if
    /// `whiten`, and rotated if the model is; then the row offsets, if any.
    ///
    /// # Errors
    /// Same errors as [`RotatedModel::of_scores`].
    fn score_table(&self, rows: &RowScores, whiten: bool) -> Result<Matrix> {
        let scores = match self.rotated() {
            Some(rotated) => rotated.of_scores(&rows.scores)?,
            None => rows.scores.clone(),
        };
        let ((n, c), variances) = (scores.shape(), self.fitted().explained_variance());
        let whitened = |score: f64, variance: f64| if variance > 0.0 { score / variance.sqrt() } else { 0.0 };
        let value = |i: usize, k: usize| match &rows.offsets {
            Some(offsets) if k == c => offsets[i],
            _ if whiten => whitened(scores[(i, k)], variances[k]),
            _ => scores[(i, k)],
        };
        Ok(Matrix::from_fn(n, c + usize::from(rows.offsets.is_some()), value))
    }

    /// Scores under the fitted model from the scores of a table, whitened or not.
    ///
    /// # Errors
    /// Same errors as [`RotatedModel::to_scores`].
    fn given_scores(&self, mut scores: Matrix, whitened: bool) -> Result<Matrix> {
        if let Some(rotated) = self.rotated() {
            return rotated.to_scores(&scores);
        }
        if whitened {
            let variances = self.fitted().explained_variance();
            for i in 0..scores.n_rows() {
                let row = scores.row_mut(i).iter_mut().zip(variances);
                row.for_each(|(score, variance)| *score *= variance.sqrt());
            }
        }
        Ok(scores)
    }
}

impl IncompleteRows for IncompleteModel {
    fn fitted(&self) -> &IncompleteModel {
        self
    }

    fn rotated(&self) -> Option<&RotatedModel<IncompleteModel>> {
        None
    }
}

impl IncompleteRows for RotatedModel<IncompleteModel> {
    fn fitted(&self) -> &IncompleteModel {
        self.model()
    }

    fn rotated(&self) -> Option<&RotatedModel<IncompleteModel>> {
        Some(self)
    }
}
