//! Scores of new rows.

use crate::error::{Advice, Error, Result};
use crate::exec::{Exec, Run};
use crate::incomplete::data::Observed;
use crate::incomplete::factors::covariances::Covariances;
use crate::incomplete::model::new_rows::{Equations, ModelLoadings};
use crate::incomplete::model::{IncompleteModel, RowScores};
use crate::linalg::Matrix;
use crate::memory;
use crate::scalar::{Scalar, compiled};

/// Number of rows per piece of work.
const ROWS: usize = 64;

impl IncompleteModel {
    /// Scores of new rows with missing entries, shape (n_rows, n_components): the minimiser of the cost of the fit
    /// given the components. A row without entries gets the mean of the prior. Row offsets are solved for as well;
    /// [`IncompleteModel::row_scores`] returns both.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of columns; [`Error::Decomposition`] for values beyond range;
    /// [`Error::Threads`].
    pub fn transform<T: Scalar>(&self, rows: &Observed<T>) -> Result<Matrix> {
        self.transform_with(rows, &Run::default())
    }

    /// As [`IncompleteModel::transform`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`IncompleteModel::transform`], and [`Error::Stopped`] if the observer cancels.
    pub fn transform_with<T: Scalar>(&self, rows: &Observed<T>, run: &Run<'_>) -> Result<Matrix> {
        Ok(self.row_scores_with(rows, run)?.scores)
    }

    /// Scores and row offsets of new rows.
    ///
    /// ```
    /// use karhunen::{Dense, IncompletePca, Observed};
    /// let x = [1.0, 2.0, 4.0, 5.0, 7.0, f64::NAN, -2.0, -1.0, 0.5, 1.5];
    /// let rows = Observed::from_dense(&Dense::row_major(&x, 5, 2)?)?;
    /// let model = IncompletePca { row_offsets: true, ..IncompletePca::new(1) }.fit(&rows)?;
    /// let found = model.row_scores(&rows)?;
    /// assert_eq!(found.offsets.map(|b| b.len()), Some(5));
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`IncompleteModel::transform`].
    pub fn row_scores<T: Scalar>(&self, rows: &Observed<T>) -> Result<RowScores> {
        self.row_scores_with(rows, &Run::default())
    }

    /// As [`IncompleteModel::row_scores`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`IncompleteModel::transform_with`].
    pub fn row_scores_with<T: Scalar>(&self, rows: &Observed<T>, run: &Run<'_>) -> Result<RowScores> {
        let find = compiled!(T, IncompleteModel::scores_of::<T>
            => fn(&IncompleteModel, &Observed<T>, &Run<'_>) -> Result<RowScores>);
        find(self, rows, run)
    }

    fn scores_of<T: Scalar>(&self, rows: &Observed<T>, run: &Run<'_>) -> Result<RowScores> {
        let all = self.n_scores();
        let rows = &*self.parts().scales.of_entries(rows, self.n_features(), run)?;
        // Two copies exist at a time: during the passes and in the result.
        let mut found = zeros("a matrix of scores", rows.n_samples(), 2 * all, all)?;
        self.each_row(rows, &mut found, run, |equations, out| {
            equations.solve()?;
            out.copy_from_slice(equations.solution());
            Ok(())
        })?;
        if let Some(at) = found.iter().position(|score| !score.is_finite()) {
            return Err(Error::ScoreOverflow { row: at / all, component: at % all, dtype: f64::NAME });
        }
        self.split(rows.n_samples(), found.chunks_exact(all.max(1)))
    }

    /// As [`IncompleteModel::row_scores`], with the covariance of the scores (and of the offset, the last) of
    /// each row: the noise variance times the inverse of its normal equations. Without penalties the fitted rows serve as
    /// prior of the covariance, as in the fit: scores of a row with fewer entries than components may be anywhere.
    ///
    /// # Errors
    /// As [`IncompleteModel::transform_with`].
    pub fn rows_with_covariances<T: Scalar>(
        &self,
        rows: &Observed<T>,
        run: &Run<'_>,
    ) -> Result<(RowScores, Covariances)> {
        type Both = Result<(RowScores, Covariances)>;
        let find = compiled!(T, IncompleteModel::posteriors_of::<T>
            => fn(&IncompleteModel, &Observed<T>, &Run<'_>) -> Both);
        find(self, rows, run)
    }

    fn posteriors_of<T: Scalar>(
        &self,
        rows: &Observed<T>,
        run: &Run<'_>,
    ) -> Result<(RowScores, Covariances)> {
        let rows = &*self.parts().scales.of_entries(rows, self.n_features(), run)?;
        let (all, n) = (self.n_scores(), rows.n_samples());
        let width = all * (all + 1) / 2;
        let mut both = zeros("a matrix of scores with covariances", n, 2 * (all + width), all + width)?;
        self.each_row(rows, &mut both, run, |equations, out| {
            let (scores, covariance) = out.split_at_mut(all);
            equations.inverse_into(covariance);
            covariance.iter_mut().for_each(|x| *x *= self.parts().noise_variance);
            equations.solve()?;
            scores.copy_from_slice(equations.solution());
            Ok(())
        })?;
        let rows = || both.chunks_exact((all + width).max(1));
        let noise = self.noise_variance();
        let size = self.explained_variance().first().map_or(noise, |variance| variance.max(noise));
        let unit = Covariances::unit_of(size);
        let packed = rows().flat_map(|row| &row[all..]).map(|x| (*x / unit) as f32).collect();
        Ok((self.split(n, rows())?, Covariances { n_components: all, packed, unit }))
    }

    /// As [`IncompleteModel::rows_with_covariances`], without the offsets.
    ///
    /// # Errors
    /// As [`IncompleteModel::transform_with`].
    pub fn transform_with_covariances<T: Scalar>(
        &self,
        rows: &Observed<T>,
        run: &Run<'_>,
    ) -> Result<(Matrix, Covariances)> {
        let (rows, covariances) = self.rows_with_covariances(rows, run)?;
        Ok((rows.scores, covariances))
    }

    /// Splits `n` rows of scores followed by offsets.
    fn split<'a>(&self, n: usize, rows: impl Iterator<Item = &'a [f64]> + Clone) -> Result<RowScores> {
        let c = self.n_components();
        let scores = Matrix::from_vec(n, c, rows.clone().flat_map(|row| &row[..c]).copied().collect())?;
        let offsets = self.parts().row_offsets.is_some().then(|| rows.map(|row| row[c]).collect());
        Ok(RowScores { scores, offsets })
    }

    /// Calls `f` with the normal equations of every row, in the units of the fit, and its part of `out`.
    fn each_row<T: Scalar>(
        &self,
        rows: &Observed<T>,
        out: &mut [f64],
        run: &Run<'_>,
        f: impl Fn(&mut Equations, &mut [f64]) -> Result<()> + Sync,
    ) -> Result<()> {
        let width = out.len() / rows.n_samples().max(1);
        if width == 0 {
            return Ok(());
        }
        Exec::run(run, |exec| {
            let loadings = ModelLoadings::new(self, rows, &exec.phase("scores"))?;
            exec.phase("scores").fill(out, ROWS * width, |piece, out| {
                let mut equations = Equations::new(&loadings);
                for (at, out) in out.chunks_exact_mut(width).enumerate() {
                    equations.set(&loadings, rows.rows(), piece * ROWS + at);
                    f(&mut equations, out)?;
                }
                Ok(())
            })
        })
    }
}

/// Zeros for `n` rows of `width` numbers, after a check of memory for `alive` numbers per row.
fn zeros(what: &str, n: usize, alive: usize, width: usize) -> Result<Vec<f64>> {
    let advice = || vec!["take fewer rows at a time".into(), Advice::RaiseLimit];
    memory::ask(&format!("{what} of {n} rows"), 8.0 * n as f64 * alive as f64, advice)?;
    Ok(vec![0.0; n * width])
}
