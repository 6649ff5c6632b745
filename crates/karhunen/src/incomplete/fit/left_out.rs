//! Rows of weight zero and rows without entries: excluded from the fit, with scores computed afterwards.

use crate::error::{Error, OptionValue, Result, options};
use crate::exec::{Exec, Run};
use crate::incomplete::data::{ENTRIES, Observed};
use crate::incomplete::factors::covariances::Covariances;
use crate::incomplete::fit::checkpoint::FitContext;
use crate::incomplete::model::{IncompleteModel, RowScores};
use crate::incomplete::start::Start;
use crate::linalg::Matrix;
use crate::scalar::Scalar;

/// Rows that take part in a fit, and the others.
pub(crate) struct Division {
    included: Vec<usize>,
    excluded: Vec<usize>,
    /// True if all excluded rows are without entries.
    without_entries: bool,
}

impl Division {
    /// Excludes rows of weight zero; `None` if there are none.
    pub(crate) fn of_weights<T: Scalar>(data: &Observed<T>) -> Option<Self> {
        let weights = data.sample_weights()?;
        Self::new(weights.len(), |row| weights[row] > 0.0, false)
    }

    /// Excludes rows of weight zero, and rows without entries unless fewer rows than `least` remain; `None` if no row is
    /// excluded.
    pub(crate) fn of<T: Scalar>(data: &Observed<T>, least: usize) -> Option<Self> {
        let weights = data.sample_weights();
        let counts = |row: usize| weights.is_none_or(|weights| weights[row] > 0.0);
        let seen = |row: usize| data.n_observed_in_row(row) > 0;
        let n = data.n_samples();
        if (0..n).all(|row| counts(row) && seen(row)) {
            return None;
        }
        if (0..n).filter(|row| counts(*row) && seen(*row)).count() < least.max(1) {
            return Self::of_weights(data);
        }
        Self::new(n, |row| counts(row) && seen(row), (0..n).all(|row| counts(row) || !seen(row)))
    }

    fn new(n: usize, takes_part: impl Fn(usize) -> bool, without_entries: bool) -> Option<Self> {
        let (included, excluded): (Vec<usize>, Vec<usize>) = (0..n).partition(|row| takes_part(*row));
        (!excluded.is_empty()).then_some(Self { included, excluded, without_entries })
    }

    /// The rows that take part.
    pub(crate) fn data<T: Scalar>(&self, data: &Observed<T>, run: &Run<'_>) -> Result<Observed<T>> {
        if self.without_entries {
            return Ok(data.without_empty_rows(&self.included));
        }
        Exec::run(run, |exec| data.select(&self.included, &exec.phase(ENTRIES)))
    }

    /// Bytes of [`Division::data`] excluding the entries themselves.
    pub(crate) fn bytes<T: Scalar>(&self, data: &Observed<T>) -> f64 {
        if !self.without_entries {
            return data.bytes();
        }
        let weights = if data.is_weighted() { 2 * size_of::<T>() } else { 0 };
        let of_row = size_of::<usize>() + size_of::<u32>();
        (data.n_observed() * (size_of::<u32>() + weights)) as f64 + (data.n_samples() * of_row) as f64
    }

    /// Fits the rows that take part by `fit`, then computes the scores of the others.
    pub(crate) fn fit<T: Scalar>(
        &self,
        data: &Observed<T>,
        context: &FitContext<'_>,
        run: &Run<'_>,
        fit: impl FnOnce(&Observed<T>, &FitContext<'_>) -> Result<IncompleteModel>,
    ) -> Result<IncompleteModel> {
        let start = context.start.map(|start| Start { scores: self.pick(&start.scores), ..start.clone() });
        let context = FitContext { start: start.as_ref(), ..*context };
        let fitted = fit(&self.data(data, run)?, &context);
        let mut model = fitted.map_err(|error| self.of_all_rows(error))?;
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

    /// Explains too many components for the rows that take part by what excludes the others.
    pub(crate) fn of_all_rows(&self, error: Error) -> Error {
        match error {
            Error::NComponents { requested, n_samples, n_features, .. } if requested <= n_features => {
                Error::option(
                    options::SAMPLE_WEIGHTS,
                    OptionValue::Given,
                    format!(
                        "they are positive for {n_samples} of the {} rows, and {requested} components need at least \
                         {requested}",
                        n_samples + self.excluded.len()
                    ),
                )
            }
            error => error,
        }
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
