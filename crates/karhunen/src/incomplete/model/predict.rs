//! Predictions of single entries, many pairs and whole rows, with error bars.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result, options};
use crate::exec::{Exec, Run};
use crate::incomplete::data::Observed;
use crate::incomplete::factors::covariances::Covariances;
use crate::incomplete::model::{IncompleteModel, Prediction, RowScores};
use crate::linalg::finite::{all_finite, beyond_range};
use crate::linalg::{IndexInt, Indices, Matrix};
use crate::scalar::{Scalar, compiled};

/// Number of pairs per piece of work.
const PAIRS: usize = 1 << 12;
/// Number of values per piece of work on whole rows.
const VALUES: usize = 1 << 15;

impl IncompleteModel {
    /// Predicts an entry of the fitted data, observed or not, with variance `v' C_i v + s' C_j s + var mu_j`, plus
    /// `tr C_j C_i` for a posterior, plus the noise of the column for a new observation. The terms of `C_j` and `mu_j` are
    /// multiplied by the noise of the column over the noise of all columns.
    ///
    /// # Errors
    /// [`Error::Option`] for a row or column outside the fitted data; [`Error::PredictionOverflow`].
    pub fn predict(&self, row: usize, column: usize) -> Result<Prediction> {
        self.check_pair(row as i128, column as i128)?;
        let parts = self.parts();
        let scores = parts.scores.row(row);
        let variance = parts
            .score_covariances
            .as_ref()
            .and_then(|covariances| self.variance(scores, covariances, row, column));
        let unit = parts.scales.factor(column).powi(2);
        let (variance, noise_variance) = (variance.map(|v| v / unit), self.noise_in(column) / unit);
        let value = self.value(scores, self.offset(row), column);
        if value.is_finite() && variance.is_none_or(|variance| (variance + noise_variance).is_finite()) {
            Ok(Prediction { value, variance, noise_variance })
        } else {
            Err(Error::PredictionOverflow { row, column })
        }
    }

    /// Predicts many entries of the fitted data. Row `e` of the result is `(value)` or `(value, deviation)` of the
    /// entry `(rows[e], columns[e])`. The deviation refers to a new observation for `noise = Some(true)`, and to the
    /// value without noise for `Some(false)`.
    ///
    /// ```
    /// use karhunen::{Dense, IncompletePca, Observed, Run};
    /// let x = [1.0, 2.1, -1.0, -1.9, 2.0, f64::NAN, 0.5, 1.1];
    /// let model = IncompletePca::new(1).fit(&Observed::from_dense(&Dense::row_major(&x, 4, 2)?)?)?;
    /// let found = model.predict_pairs(&[2, 0], &[1, 0], Some(true), &Run::default())?;
    /// assert_eq!(found.shape(), (2, 2));
    /// assert_eq!(found[(0, 0)], model.predict(2, 1)?.value);
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`IncompleteModel::predict`]; [`Error::Shape`] for ids of different lengths; [`Error::Option`] for
    /// deviations of a fit without error bars; [`Error::Stopped`].
    pub fn predict_pairs<I: IndexInt>(
        &self,
        rows: &[I],
        columns: &[I],
        noise: Option<bool>,
        run: &Run<'_>,
    ) -> Result<Matrix> {
        if rows.len() != columns.len() {
            let (what, axis) = ("the array of columns", "values");
            return Err(Error::Shape { what, axis, found: columns.len(), expected: rows.len() });
        }
        for (row, column) in rows.iter().zip(columns) {
            self.check_pair(row.widen(), column.widen())?;
        }
        // The ids are in range, hence not negative, and are read as unsigned numbers.
        self.predict_checked(Indices::of(rows), Indices::of(columns), noise, run)
    }

    /// As [`IncompleteModel::predict_pairs`], compiled here for all types of ids.
    fn predict_checked(
        &self,
        rows: Indices<'_>,
        columns: Indices<'_>,
        noise: Option<bool>,
        run: &Run<'_>,
    ) -> Result<Matrix> {
        let bars = noise.map(|_| self.error_bars()).transpose()?;
        let width = if noise.is_some() { 2 } else { 1 };
        let mut out = Matrix::try_zeros("a table of predictions", rows.len(), width)?;
        Exec::run(run, |exec| {
            exec.phase("predictions").fill(out.as_mut_slice(), PAIRS * width, |piece, out| {
                for (at, out) in out.chunks_exact_mut(width).enumerate() {
                    let e = piece * PAIRS + at;
                    let (row, column) = (rows.at(e), columns.at(e));
                    let scores = self.parts().scores.row(row);
                    out[0] = self.value(scores, self.offset(row), column);
                    if let Some(bars) = bars {
                        out[1] = self.deviation(scores, (bars, row), column, noise);
                    }
                }
                Ok(())
            })
        })?;
        match out.as_slice().iter().position(|x| !x.is_finite()).map(|at| at / width) {
            Some(e) => {
                let (row, column) = (rows.at(e), columns.at(e));
                Err(Error::PredictionOverflow { row, column })
            }
            None => Ok(out),
        }
    }

    /// Reconstructs values from scores, row after row, into `out` of length n_rows * n_features. Row offsets are
    /// zero; see [`IncompleteModel::values_into`].
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of components or another length of `out`; [`Error::NonFinite`] for a
    /// NaN or infinite score; [`Error::ValueOverflow`] for a value beyond the range of the type;
    /// [`Error::Stopped`].
    pub fn inverse_transform_into<T: Scalar>(
        &self,
        scores: &Matrix,
        out: &mut [T],
        run: &Run<'_>,
    ) -> Result<()> {
        self.fill_values((scores, None), out, run)
    }

    /// Reconstructs values from scores and offsets, as [`IncompleteModel::row_scores`] returns them, row after
    /// row into `out` of length n_rows * n_features. Without offsets equal to
    /// [`IncompleteModel::inverse_transform_into`].
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of components or offsets, or another length of `out`;
    /// [`Error::Stopped`].
    pub fn values_into<T: Scalar>(&self, rows: &RowScores, out: &mut [T], run: &Run<'_>) -> Result<()> {
        self.fill_values((&rows.scores, rows.offsets.as_deref()), out, run)
    }

    fn fill_values<T: Scalar>(
        &self,
        rows: (&Matrix, Option<&[f64]>),
        out: &mut [T],
        run: &Run<'_>,
    ) -> Result<()> {
        type Rows<'a> = (&'a Matrix, Option<&'a [f64]>);
        let write = compiled!(T, IncompleteModel::write_values::<T>
            => fn(&IncompleteModel, Rows<'_>, &mut [T], &Run<'_>) -> Result<()>);
        write(self, rows, out, run)
    }

    fn write_values<T: Scalar>(
        &self,
        (scores, offsets): (&Matrix, Option<&[f64]>),
        out: &mut [T],
        run: &Run<'_>,
    ) -> Result<()> {
        self.check_rows(scores, out)?;
        let found = offsets.map_or(scores.n_rows(), <[f64]>::len);
        if found != scores.n_rows() {
            let (what, axis) = ("the offsets", "values");
            return Err(Error::Shape { what, axis, found, expected: scores.n_rows() });
        }
        let (p, parts) = (self.n_features(), self.parts());
        let units: Option<Vec<f64>> =
            (!parts.scales.are_one()).then(|| (0..p).map(|column| parts.scales.factor(column)).collect());
        let at_a_time = (VALUES / p.max(1)).max(1);
        let finite = AtomicBool::new(true);
        Exec::run(run, |exec| {
            exec.phase("values").fill(out, at_a_time * p, |piece, all| {
                let mut sums = vec![0.0; p];
                for (at, out) in all.chunks_exact_mut(p).enumerate() {
                    let row = piece * at_a_time + at;
                    sums.fill(offsets.map_or(0.0, |offsets| offsets[row]));
                    for (k, s) in scores.row(row).iter().enumerate() {
                        sums.iter_mut().zip(parts.components.row(k)).for_each(|(sum, v)| *sum += s * v);
                    }
                    if let Some(units) = &units {
                        sums.iter_mut().zip(units).for_each(|(sum, unit)| *sum /= unit);
                    }
                    for ((out, sum), mean) in out.iter_mut().zip(&sums).zip(&parts.mean) {
                        *out = T::from_f64(mean + sum);
                    }
                }
                if !all_finite(all) {
                    finite.store(false, Ordering::Relaxed);
                }
                Ok(())
            })
        })?;
        if finite.into_inner() { Ok(()) } else { Err(beyond_range(scores, out, p)) }
    }

    /// Standard deviations of the values of [`IncompleteModel::inverse_transform_into`], given the scores and
    /// covariances of [`IncompleteModel::rows_with_covariances`]: of new observations with `noise`, otherwise of
    /// values without noise.
    ///
    /// # Errors
    /// As [`IncompleteModel::inverse_transform_into`]; [`Error::Option`] for a fit without error bars;
    /// [`Error::PredictionOverflow`].
    pub fn deviations_into<T: Scalar>(
        &self,
        rows: (&Matrix, &Covariances),
        noise: bool,
        out: &mut [T],
        run: &Run<'_>,
    ) -> Result<()> {
        type Rows<'a> = (&'a Matrix, &'a Covariances);
        let write = compiled!(T, IncompleteModel::write_deviations::<T>
            => fn(&IncompleteModel, Rows<'_>, bool, &mut [T], &Run<'_>) -> Result<()>);
        write(self, rows, noise, out, run)
    }

    fn write_deviations<T: Scalar>(
        &self,
        (scores, covariances): (&Matrix, &Covariances),
        noise: bool,
        out: &mut [T],
        run: &Run<'_>,
    ) -> Result<()> {
        self.check_rows(scores, out)?;
        self.error_bars()?;
        let p = self.n_features();
        Exec::run(run, |exec| {
            exec.phase("deviations").fill(out, p, |row, out| {
                for (column, out) in out.iter_mut().enumerate() {
                    let bars = (covariances, row);
                    *out = T::from_f64(self.deviation(scores.row(row), bars, column, Some(noise)));
                }
                match out.iter().position(|x| !x.to_f64().is_finite()) {
                    Some(column) => Err(Error::PredictionOverflow { row, column }),
                    None => Ok(()),
                }
            })
        })
    }

    /// Reconstructs values from scores, shape (n_rows, n_features), with row offsets of zero.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of components.
    pub fn inverse_transform(&self, scores: &Matrix) -> Result<Matrix> {
        self.inverse_transform_with(scores, &Run::default())
    }

    /// As [`IncompleteModel::inverse_transform`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`IncompleteModel::inverse_transform`], and [`Error::Stopped`] if the observer cancels.
    pub fn inverse_transform_with(&self, scores: &Matrix, run: &Run<'_>) -> Result<Matrix> {
        let mut values = Matrix::try_zeros("a reconstruction", scores.n_rows(), self.n_features())?;
        self.inverse_transform_into(scores, values.as_mut_slice(), run)?;
        Ok(values)
    }

    /// Fills missing entries of rows by predictions, shape (n_rows, n_features); observed values are unchanged.
    ///
    /// # Errors
    /// As [`IncompleteModel::transform`].
    pub fn impute<T: Scalar>(&self, rows: &Observed<T>) -> Result<Matrix> {
        self.impute_with(rows, &Run::default())
    }

    /// As [`IncompleteModel::impute`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`IncompleteModel::impute`], and [`Error::Stopped`] if the observer cancels.
    pub fn impute_with<T: Scalar>(&self, rows: &Observed<T>, run: &Run<'_>) -> Result<Matrix> {
        let found = self.row_scores_with(rows, run)?;
        let mut filled = Matrix::try_zeros("a filled table", rows.n_samples(), self.n_features())?;
        self.values_into(&found, filled.as_mut_slice(), run)?;
        for i in 0..rows.n_samples() {
            let (columns, values) = rows.row(i);
            for (column, value) in columns.iter().zip(values) {
                filled[(i, *column as usize)] = value.to_f64();
            }
        }
        Ok(filled)
    }

    fn check_pair(&self, row: i128, column: i128) -> Result<()> {
        for (option, index, bound) in
            [(options::ROW, row, self.scores().n_rows()), (options::COLUMN, column, self.n_features())]
        {
            if index < 0 || index >= bound as i128 {
                let rule = "rows and columns are numbered as in the fitted data";
                return Err(Error::option(option, index, rule));
            }
        }
        Ok(())
    }

    fn check_rows<T>(&self, scores: &Matrix, out: &[T]) -> Result<()> {
        for (what, axis, found, expected) in [
            ("the scores", "columns", scores.n_cols(), self.n_components()),
            ("the room for values", "places", out.len(), scores.n_rows() * self.n_features()),
        ] {
            if found != expected {
                return Err(Error::Shape { what, axis, found, expected });
            }
        }
        Ok(())
    }

    /// Covariances of the scores of the fitted rows; an error if the fit kept none.
    fn error_bars(&self) -> Result<&Covariances> {
        let parts = self.parts();
        let both = parts.score_covariances.as_ref().filter(|_| parts.loading_covariances.is_some());
        both.ok_or(Error::option(
            options::ERROR_BARS,
            false,
            "standard deviations need a fit that kept error bars",
        ))
    }

    /// The offset of a fitted row, or zero.
    fn offset(&self, row: usize) -> f64 {
        self.parts().row_offsets.as_ref().map_or(0.0, |offsets| offsets[row])
    }

    /// The value of one column in a row of these scores and this offset: `mean + (offset + scores * components) / factor`.
    ///
    /// # Panics
    /// If `column >= n_features`, or for more scores than components.
    pub fn value(&self, scores: &[f64], offset: f64, column: usize) -> f64 {
        let parts = self.parts();
        let products = scores.iter().enumerate().map(|(k, s)| s * parts.components[(k, column)]);
        parts.mean[column] + (products.sum::<f64>() + offset) / parts.scales.factor(column)
    }

    /// The variance of a value without noise, in the units of the fit, with covariance `row` of `covariances` for its
    /// scores.
    fn variance(&self, scores: &[f64], covariances: &Covariances, row: usize, column: usize) -> Option<f64> {
        let parts = self.parts();
        let loadings = parts.loading_covariances.as_ref()?;
        let of_both = if parts.convergence.method.has_posterior() {
            loadings.trace_of_product(column, covariances, row)
        } else {
            0.0
        };
        // The score after the components is the offset, of loading one.
        let loading = |k: usize| if k < scores.len() { parts.components[(k, column)] } else { 1.0 };
        let of_scores = covariances.quadratic(row, loading);
        let of_column = self.variance_of_column(scores, column)? + of_both;
        // Loadings and mean are as uncertain as the noise of the column is large, scores as the noise of all.
        let noise = parts.noise_variance;
        let ratio = if noise > 0.0 { self.noise_in(column) / noise } else { 1.0 };
        let sum = of_scores + ratio * of_column;
        // Rounding of the covariances may leave a negative sum.
        Some(if sum < 0.0 { 0.0 } else { sum })
    }

    /// The variance of a value that loadings and mean of its column cause, in the units of the fit, under the noise of all.
    fn variance_of_column(&self, scores: &[f64], column: usize) -> Option<f64> {
        let of_loadings = self.parts().loading_covariances.as_ref()?.quadratic(column, |k| scores[k]);
        Some(of_loadings + self.variance_of_mean(column))
    }

    /// The variance of a value that the mean of its column causes, in the units of the fit, under the noise of all.
    pub(crate) fn variance_of_mean(&self, column: usize) -> f64 {
        let parts = self.parts();
        parts.mean_variance[column] * parts.scales.factor(column).powi(2)
    }

    /// The standard deviation of an observation with `noise`, otherwise of a value without noise.
    fn deviation(
        &self,
        scores: &[f64],
        (covariances, row): (&Covariances, usize),
        column: usize,
        noise: Option<bool>,
    ) -> f64 {
        let variance = self.variance(scores, covariances, row, column).unwrap_or(f64::NAN);
        let added = if noise == Some(true) { self.noise_in(column) } else { 0.0 };
        (variance + added).sqrt() / self.parts().scales.factor(column)
    }
}
