//! Rows of weight zero: excluded from the fit, with scores computed afterwards.

use crate::error::Result;
use crate::exec::{Exec, Run};
use crate::incomplete::data::{ENTRIES, Observed};
use crate::incomplete::factors::covariances::Covariances;
use crate::incomplete::fit::checkpoint::FitContext;
use crate::incomplete::model::{IncompleteModel, RowScores};
use crate::incomplete::start::Start;
use crate::linalg::Matrix;
use crate::scalar::Scalar;

/// Rows with positive weight and rows of weight zero.
pub(crate) struct Division {
    included: Vec<usize>,
    excluded: Vec<usize>,
}

impl Division {
    /// Splits the rows; `None` if no row has weight zero.
    pub(crate) fn of<T: Scalar>(data: &Observed<T>) -> Option<Self> {
        let weights = data.sample_weights()?;
        let (excluded, included): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|row| weights[*row] == 0.0);
        (!excluded.is_empty()).then_some(Self { included, excluded })
    }

    /// The rows with positive weight.
    pub(crate) fn data<T: Scalar>(&self, data: &Observed<T>, run: &Run<'_>) -> Result<Observed<T>> {
        Exec::run(run, |exec| data.select(&self.included, &exec.phase(ENTRIES)))
    }

    /// Fits the rows with positive weight by `fit`, then computes the scores of the others.
    pub(crate) fn fit<T: Scalar>(
        &self,
        data: &Observed<T>,
        context: &FitContext<'_>,
        run: &Run<'_>,
        fit: impl FnOnce(&Observed<T>, &FitContext<'_>) -> Result<IncompleteModel>,
    ) -> Result<IncompleteModel> {
        let start = context.start.map(|start| Start { scores: self.pick(&start.scores), ..start.clone() });
        let context = FitContext { start: start.as_ref(), ..*context };
        let mut model = fit(&self.data(data, run)?, &context)?;
        model.rename_rows(|row| Some(self.included[row]));
        let rest = Exec::run(run, |exec| data.select(&self.excluded, &exec.phase(ENTRIES)))?;
        let (found, covariances) = match model.score_covariances() {
            None => (model.row_scores_with(&rest, run)?, None),
            Some(known) => {
                let (rows, found) = model.rows_with_covariances(&rest, run)?;
                let width = known.n_components * (known.n_components + 1) / 2;
                let packed = self.merge(&known.packed, &found.packed_in(known.unit), width);
                (rows, Some(Covariances { packed, ..*known }))
            }
        };
        let c = model.n_components();
        let merged = self.merge(model.scores().as_slice(), found.scores.as_slice(), c);
        let scores = Matrix::from_vec(self.included.len() + self.excluded.len(), c, merged)?;
        let both = model.row_offsets().zip(found.offsets);
        let offsets = both.map(|(fitted, found)| self.merge(fitted, &found, 1));
        Ok(model.with_rows(RowScores { scores, offsets }, covariances))
    }

    fn pick(&self, scores: &Matrix) -> Matrix {
        Matrix::from_fn(self.included.len(), scores.n_cols(), |i, k| scores[(self.included[i], k)])
    }

    /// Merges rows of `width` values of both parts in the order of the data.
    fn merge<U: Copy + Default>(&self, included: &[U], excluded: &[U], width: usize) -> Vec<U> {
        let mut all = vec![U::default(); included.len() + excluded.len()];
        for (names, values) in [(&self.included, included), (&self.excluded, excluded)] {
            for (at, row) in names.iter().enumerate() {
                all[row * width..(row + 1) * width].copy_from_slice(&values[at * width..(at + 1) * width]);
            }
        }
        all
    }
}
