//! Log-likelihood of rows: a normal density of their observed entries.

use crate::choice::Choice;
use crate::error::{Error, Result, options};
use crate::exec::{Exec, Run};
use crate::incomplete::data::Observed;
use crate::incomplete::factors::prior::Prior;
use crate::incomplete::model::IncompleteModel;
use crate::linalg::Matrix;
use crate::linalg::decomp::cholesky::{BLOCK, Upper};
use crate::scalar::{Scalar, compiled};

/// Number of rows per piece of work.
const ROWS: usize = 64;

impl IncompleteModel {
    /// The log-likelihood of each row, shape (n_rows,): `ln N(x; mu + V m, V S V' + v diag(1/w))` of its observed
    /// entries `x` with weights `w`, where `mu` and `V` are mean and components at these entries, `N(m, S)` is the
    /// prior of the scores (and of the offset) and `v` the noise variance. Scores are integrated out; loadings
    /// count as certain. A row without entries has log-likelihood zero. The matrix determinant lemma reduces the
    /// work to one matrix of order n_components per row.
    ///
    /// ```
    /// use karhunen::incomplete::Method;
    /// use karhunen::{Dense, IncompletePca, Observed};
    /// let x = [1.0, 2.1, -1.0, -1.9, 2.0, f64::NAN, 0.5, 1.1, -2.0, -4.2];
    /// let rows = Observed::from_dense(&Dense::row_major(&x, 5, 2)?)?;
    /// let model = IncompletePca { method: Method::Ppca, ..IncompletePca::new(1) }.fit(&rows)?;
    /// let found = model.score_samples(&rows)?;
    /// // With one entry: mean and variance of its column.
    /// let variance = model.explained_variance()[0] * model.components()[(0, 0)].powi(2) + model.noise_variance();
    /// let expected = -0.5 * ((2.0 - model.mean()[0]).powi(2) / variance + (std::f64::consts::TAU * variance).ln());
    /// assert!((found[2] - expected).abs() < 1e-2);
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Option`] for a method that learns no variances, and for a fit without noise; [`Error::Shape`] for
    /// another number of columns; [`Error::Threads`].
    pub fn score_samples<T: Scalar>(&self, rows: &Observed<T>) -> Result<Vec<f64>> {
        self.score_samples_with(rows, &Run::default())
    }

    /// As [`IncompleteModel::score_samples`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`IncompleteModel::score_samples`], and [`Error::Stopped`] if the observer cancels.
    pub fn score_samples_with<T: Scalar>(&self, rows: &Observed<T>, run: &Run<'_>) -> Result<Vec<f64>> {
        let score = compiled!(T, IncompleteModel::log_likelihoods::<T>
            => fn(&IncompleteModel, &Observed<T>, &Run<'_>) -> Result<Vec<f64>>);
        score(self, rows, run)
    }

    fn log_likelihoods<T: Scalar>(&self, rows: &Observed<T>, run: &Run<'_>) -> Result<Vec<f64>> {
        let density = Density::of(self)?;
        let scales = &self.parts().scales;
        let rows = &*scales.of_entries(rows, self.n_features(), run)?;
        // The density of an entry in the units of the data.
        let volumes: Vec<f64> = (0..self.n_features()).map(|column| scales.factor(column).ln()).collect();
        let mut likelihoods = vec![0.0; rows.n_samples()];
        Exec::run(run, |exec| {
            exec.phase("likelihoods").fill(&mut likelihoods, ROWS, |piece, out| {
                for (at, out) in out.iter_mut().enumerate() {
                    let row = piece * ROWS + at;
                    let volume: f64 = rows.row(row).0.iter().map(|column| volumes[*column as usize]).sum();
                    *out = density.of_row(rows, row)? + volume;
                }
                Ok(())
            })
        })?;
        Ok(likelihoods)
    }
}

/// Parameters of the density that all rows share, in the units of the fit.
struct Density<'a> {
    /// Loadings of the components and, with row offsets, of the offset, shape (n_features, c).
    loadings: Matrix,
    /// Mean of each feature under the prior of the scores.
    centre: Vec<f64>,
    prior: &'a Prior,
    /// Upper triangle of the precision of the scores times the noise variance, in rows of `stride` values; rows of
    /// the unit matrix for inactive components.
    precision: Vec<f64>,
    log_determinant: f64,
    c: usize,
    stride: usize,
    /// Inactive components.
    inactive: Vec<usize>,
    noise: f64,
}

impl<'a> Density<'a> {
    fn of(model: &'a IncompleteModel) -> Result<Self> {
        let (parts, method) = (model.parts(), model.convergence().method);
        if !method.learns_variances() {
            return Err(Error::option(
                options::METHOD,
                method.value(),
                "a likelihood needs a method that learns variances: vb-full, vb, vb-fixed, ppca or map",
            ));
        }
        let noise = parts.noise_variance;
        // NaN is refused as well.
        if noise.is_nan() || noise <= 0.0 {
            return Err(Error::option(
                options::NOISE_VARIANCE,
                noise,
                "a fit that leaves no noise has no density",
            ));
        }
        let (free, c) = (model.n_components(), model.n_scores());
        let stride = c.next_multiple_of(BLOCK);
        let inactive: Vec<usize> = (0..free).filter(|k| parts.singular_values[*k] == 0.0).collect();
        let mut precision = vec![0.0; c * stride];
        for k in 0..c {
            precision[k * stride..k * stride + c].copy_from_slice(parts.prior.precision.row(k));
        }
        isolate(&mut precision, (c, stride), &inactive);
        let mut factored = precision.clone();
        let mut upper = Upper { values: &mut factored, m: c, stride };
        if !upper.factorize() {
            return Err(Error::option(
                options::METHOD,
                method.value(),
                "the variance of some score is without bounds, so there is no density",
            ));
        }
        let log_determinant = upper.log_determinant();
        let loading = |j: usize, k: usize| if k < free { parts.components[(k, j)] } else { 1.0 };
        let loadings = Matrix::from_fn(model.n_features(), c, loading);
        let mean = model.mean_in_units();
        let centre = mean.iter().enumerate().map(|(j, mean)| mean + dot(loadings.row(j), &parts.prior.mean));
        let centre = centre.collect();
        Ok(Self {
            loadings,
            centre,
            prior: &parts.prior,
            precision,
            log_determinant,
            c,
            stride,
            inactive,
            noise,
        })
    }

    /// `-1/2 (n ln 2 pi v - sum ln w + ln |P + V'WV| - ln |P| + q / v)`, where `P` is the precision of the scores
    /// times `v` and `q` the minimum over `s` of `(x - V s)' W (x - V s) + s' P s`.
    fn of_row<T: Scalar>(&self, rows: &Observed<T>, row: usize) -> Result<f64> {
        let line = rows.rows().line(row);
        let (c, stride) = (self.c, self.stride);
        let weight = |e: usize| line.weights.map_or(1.0, |w| w[e].to_f64());
        let away = |e: usize, column: usize| line.values[e].to_f64() - self.centre[column];
        let (mut g, mut s) = (self.precision.clone(), vec![0.0; stride]);
        let mut of_entries = 0.0;
        for (e, column) in line.indices.iter().enumerate() {
            let (column, weight) = (*column as usize, weight(e));
            let loadings = self.loadings.row(column);
            of_entries += (std::f64::consts::TAU * self.noise / weight).ln();
            for k in 0..c {
                let v = weight * loadings[k];
                s[k] += v * away(e, column);
                for (g, x) in g[k * stride + k..k * stride + c].iter_mut().zip(&loadings[k..]) {
                    *g += v * x;
                }
            }
        }
        isolate(&mut g, (c, stride), &self.inactive);
        self.inactive.iter().for_each(|k| s[*k] = 0.0);
        let mut upper = Upper { values: &mut g, m: c, stride };
        if !upper.factorize() {
            return Err(Error::Decomposition {
                decomposition: "Cholesky decomposition",
                n_rows: c,
                n_cols: c,
            });
        }
        upper.solve(&mut s);
        let mut squares = 0.0;
        for (e, column) in line.indices.iter().enumerate() {
            let column = *column as usize;
            let left = away(e, column) - dot(self.loadings.row(column), &s);
            squares += weight(e) * left * left;
        }
        squares += (0..c).map(|k| s[k] * dot(self.prior.precision.row(k), &s)).sum::<f64>();
        let determinants = upper.log_determinant() - self.log_determinant;
        Ok(-0.5 * (of_entries + determinants + squares / self.noise))
    }
}

/// Replaces rows and columns of inactive components by rows and columns of the unit matrix.
fn isolate(values: &mut [f64], (m, stride): (usize, usize), inactive: &[usize]) {
    let mut upper = Upper { values, m, stride };
    inactive.iter().for_each(|k| upper.isolate(*k, 1.0));
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}
