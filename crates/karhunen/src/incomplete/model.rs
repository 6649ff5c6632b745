//! The fitted model: components, scores, predictions with error bars, and what it does to new rows.

use crate::error::{Error, Result};
use crate::exec::{Exec, Observer, Unobserved};
use crate::incomplete::far::FarPredictions;
use crate::incomplete::new_rows::{Equations, Loadings};
use crate::incomplete::observed::Observed;
use crate::incomplete::options::IncompletePca;
use crate::incomplete::stopping::{IncompleteConvergence, RunSummary};
use crate::linalg::Matrix;
use crate::memory;
use crate::scalar::{Scalar, compiled};

/// Rows that are transformed at a time.
const ROWS: usize = 64;

/// Symmetric matrices of equal size, one for each sample or feature.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Covariances {
    /// Number of components `c`.
    pub n_components: usize,
    /// The lower triangles, row after row, `c (c + 1) / 2` values for each matrix.
    pub packed: Vec<f32>,
}

impl Covariances {
    /// Entry `(k, l)` of matrix `i`.
    ///
    /// # Panics
    /// If `i`, `k` or `l` is out of range.
    pub fn get(&self, i: usize, k: usize, l: usize) -> f64 {
        let c = self.n_components;
        assert!(k < c && l < c, "entry ({k}, {l}) of a {c} x {c} matrix");
        let (k, l) = (k.max(l), k.min(l));
        f64::from(self.packed[i * (c * (c + 1) / 2) + k * (k + 1) / 2 + l])
    }

    /// Makes row and column `k` of all matrices zero.
    pub(super) fn forget(&mut self, k: usize) {
        let c = self.n_components;
        for matrix in self.packed.chunks_exact_mut(c * (c + 1) / 2) {
            for l in 0..c {
                let (row, column) = (k.max(l), k.min(l));
                matrix[row * (row + 1) / 2 + column] = 0.0;
            }
        }
    }

    /// `tr C_i D_j`, where `D_j` may have more rows: of those that both have.
    pub(super) fn trace_of_product(&self, i: usize, other: &Self, j: usize) -> f64 {
        let width = |of: &Self| of.n_components * (of.n_components + 1) / 2;
        let (x, y) = (&self.packed[i * width(self)..][..width(self)], &other.packed[j * width(other)..]);
        let all: f64 = x.iter().zip(y).map(|(x, y)| 2.0 * f64::from(*x) * f64::from(*y)).sum();
        let diagonal: f64 = (0..self.n_components).map(|k| self.get(i, k, k) * other.get(j, k, k)).sum();
        all - diagonal
    }

    /// `x' C_i x`.
    pub(super) fn quadratic(&self, i: usize, x: impl Fn(usize) -> f64) -> f64 {
        let mut sum = 0.0;
        for k in 0..self.n_components {
            for l in 0..k {
                sum += 2.0 * self.get(i, k, l) * x(k) * x(l);
            }
            sum += self.get(i, k, k) * x(k) * x(k);
        }
        sum
    }
}

/// Scores of rows, and their offsets.
#[derive(Clone, Debug, PartialEq)]
pub struct RowScores {
    /// Shape (n_rows, n_components).
    pub scores: Matrix,
    /// One for each row, of fits with row offsets.
    pub offsets: Option<Vec<f64>>,
}

/// What draws the scores of a row towards the population, as the fit had it. Where rows have offsets these are the last of
/// the scores here, one more than there are components.
#[derive(Clone, Debug, PartialEq)]
pub struct Prior {
    /// Precision of the scores times the noise variance, square; zero for least squares, and for components without variance,
    /// whose scores are zero.
    pub precision: Matrix,
    /// Whether the precision is multiplied by the (weighted) number of entries of the row.
    pub per_entry: bool,
    /// Where the scores are drawn to.
    pub mean: Vec<f64>,
}

impl Prior {
    /// Makes zero what belongs to the components that are `silent`.
    pub(super) fn forget(&mut self, silent: &[bool]) {
        for k in (0..silent.len()).filter(|k| silent[*k]) {
            self.mean[k] = 0.0;
            for l in 0..self.mean.len() {
                (self.precision[(k, l)], self.precision[(l, k)]) = (0.0, 0.0);
            }
        }
    }
}

/// Everything a model consists of, as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct IncompleteParts {
    /// Orthonormal rows, shape (n_components, n_features).
    pub components: Matrix,
    /// The mean of each feature.
    pub mean: Vec<f64>,
    /// Variance along each component, descending: of the scores, divisor n_samples - 1; of a posterior the expected moments
    /// `(1/n) sum_j E s_jk^2 sum_i E v_ik^2`.
    pub explained_variance: Vec<f64>,
    /// The same as a share of the total variance: never more than one together.
    pub explained_variance_ratio: Vec<f64>,
    /// Norms of the columns of the scores.
    pub singular_values: Vec<f64>,
    /// Variance of complete rows by the fit, summed over features: what components explain, what offsets of rows do, and what
    /// is left of the observed entries, or the noise of a posterior. With complete data, that of the data.
    pub total_variance: f64,
    /// Variance of an observation about its prediction; of one with weight w, this divided by w.
    pub noise_variance: f64,
    /// Shape (n_samples, n_components).
    pub scores: Matrix,
    /// The offset of each sample, where rows have offsets.
    pub row_offsets: Option<Vec<f64>>,
    /// Posterior covariances of the scores of each sample; of one row more, the last, where rows have offsets.
    pub score_covariances: Option<Covariances>,
    /// Posterior covariances of the loadings of each feature.
    pub loading_covariances: Option<Covariances>,
    /// Posterior variance of the mean of each feature.
    pub mean_variance: Vec<f64>,
    /// What scores of new rows are drawn to.
    pub prior: Prior,
    /// Entries observed of each feature.
    pub n_observed: Vec<usize>,
    /// The options of the fit.
    pub options: IncompletePca,
    /// `"f32"` or `"f64"`: the type of the data.
    pub dtype: String,
    /// How the fit went.
    pub convergence: IncompleteConvergence,
}

/// A predicted entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Its mean.
    pub value: f64,
    /// Variance of the value without noise; `None` where the fit kept no error bars.
    pub variance: Option<f64>,
    /// Variance of the noise that an observation adds.
    pub noise_variance: f64,
}

impl Prediction {
    /// Standard deviation of a new observation, noise included.
    pub fn std(&self) -> Option<f64> {
        self.variance.map(|variance| (variance + self.noise_variance).sqrt())
    }

    /// Standard deviation of the value without noise.
    pub fn noise_free_std(&self) -> Option<f64> {
        self.variance.map(f64::sqrt)
    }
}

/// A fitted principal component analysis of incomplete data. Made by [`IncompletePca::fit`].
#[derive(Clone, Debug, PartialEq)]
pub struct IncompleteModel {
    parts: IncompleteParts,
}

impl TryFrom<IncompleteParts> for IncompleteModel {
    type Error = Error;

    /// Checks that the shapes agree, and that numbers and options are such as a fit gives.
    fn try_from(parts: IncompleteParts) -> Result<Self> {
        let (c, p) = parts.components.shape();
        let n = parts.scores.n_rows();
        let all = c + usize::from(parts.row_offsets.is_some());
        let width = |c: usize| c * (c + 1) / 2;
        let packed = |covariances: &Option<Covariances>, expected: usize| {
            covariances.as_ref().map_or(expected, |x| x.packed.len())
        };
        let size = |covariances: &Option<Covariances>, c: usize| {
            covariances.as_ref().map_or(c, |covariances| covariances.n_components)
        };
        let lengths = [
            ("mean", parts.mean.len(), p),
            ("explained_variance", parts.explained_variance.len(), c),
            ("explained_variance_ratio", parts.explained_variance_ratio.len(), c),
            ("singular_values", parts.singular_values.len(), c),
            ("scores", parts.scores.n_cols(), c),
            ("row_offsets", parts.row_offsets.as_ref().map_or(n, Vec::len), n),
            ("score_covariances", size(&parts.score_covariances, all), all),
            ("score_covariances", packed(&parts.score_covariances, n * width(all)), n * width(all)),
            ("loading_covariances", size(&parts.loading_covariances, c), c),
            ("loading_covariances", packed(&parts.loading_covariances, p * width(c)), p * width(c)),
            ("mean_variance", parts.mean_variance.len(), p),
            ("prior", parts.prior.precision.n_rows().max(parts.prior.precision.n_cols()), all),
            ("prior", parts.prior.precision.as_slice().len(), all * all),
            ("prior", parts.prior.mean.len(), all),
            ("n_observed", parts.n_observed.len(), p),
        ];
        for (what, found, expected) in lengths {
            if found != expected {
                return Err(Error::Shape { what, axis: "values", found, expected });
            }
        }
        parts.check_values()?;
        Ok(Self { parts })
    }
}

impl IncompleteModel {
    /// Number of components.
    pub fn n_components(&self) -> usize {
        self.parts.components.n_rows()
    }

    /// Number of columns of the data.
    pub fn n_features(&self) -> usize {
        self.parts.components.n_cols()
    }

    /// Number of rows fitted.
    pub fn n_samples(&self) -> usize {
        self.parts.scores.n_rows()
    }

    /// Principal axes as orthonormal rows, shape (n_components, n_features), in order of variance. In each row the entry
    /// of largest absolute value is positive.
    pub fn components(&self) -> &Matrix {
        &self.parts.components
    }

    /// The mean of each feature.
    pub fn mean(&self) -> &[f64] {
        &self.parts.mean
    }

    /// Variance of the scores along each component, descending; divisor n_samples - 1. Of a posterior the expected moments,
    /// `(1/n) sum_j E s_jk^2 sum_i E v_ik^2`: posterior means alone are shrunk; of `vb-fixed`, whose prior is held, that of the means.
    pub fn explained_variance(&self) -> &[f64] {
        &self.parts.explained_variance
    }

    /// Explained variance as a share of the variance that complete rows have by the fit (which is the variance of the data
    /// where nothing is missing): what components explain over all rows, what offsets do, and what is left.
    pub fn explained_variance_ratio(&self) -> &[f64] {
        &self.parts.explained_variance_ratio
    }

    /// Norms of the columns of the scores.
    pub fn singular_values(&self) -> &[f64] {
        &self.parts.singular_values
    }

    /// Variance of an observation about its prediction.
    pub fn noise_variance(&self) -> f64 {
        self.parts.noise_variance
    }

    /// Scores of the rows fitted, shape (n_samples, n_components).
    pub fn scores(&self) -> &Matrix {
        &self.parts.scores
    }

    /// The offset of each row fitted, where rows have offsets: they sum to zero over rows with entries (where the mean is
    /// fitted), and components to zero over features, so that this is the level of a row in all columns.
    pub fn row_offsets(&self) -> Option<&[f64]> {
        self.parts.row_offsets.as_deref()
    }

    /// Posterior covariances of the scores; of one row more, the last, where rows have offsets.
    pub fn score_covariances(&self) -> Option<&Covariances> {
        self.parts.score_covariances.as_ref()
    }

    /// How the fit went.
    pub fn convergence(&self) -> &IncompleteConvergence {
        &self.parts.convergence
    }

    /// Adds the record of all runs of the fit.
    pub(crate) fn record(&mut self, runs: Vec<RunSummary>, refitted: bool) {
        self.parts.convergence.runs = runs;
        self.parts.convergence.refitted = refitted;
    }

    /// Numbers the row of the farthest prediction as it is called outside; `None` where it is no row there.
    pub(crate) fn rename_rows(&mut self, name: impl Fn(usize) -> Option<usize>) {
        let far = &mut self.parts.convergence.far;
        *far = far.and_then(|far| Some(FarPredictions { row: name(far.row)?, ..far }));
    }

    /// The same with the scores (and their covariances) of other rows.
    pub(crate) fn with_rows(self, rows: RowScores, score_covariances: Option<Covariances>) -> Self {
        let RowScores { scores, offsets } = rows;
        Self { parts: IncompleteParts { scores, row_offsets: offsets, score_covariances, ..self.parts } }
    }

    /// The same with other columns: `change` keeps the parts together.
    pub(crate) fn with_columns(mut self, change: impl FnOnce(&mut IncompleteParts)) -> Self {
        change(&mut self.parts);
        self
    }

    /// Scores of a row: of its components, and its offset if it has one.
    pub(super) fn n_scores(&self) -> usize {
        self.n_components() + usize::from(self.parts.row_offsets.is_some())
    }

    /// Everything, as plain data.
    pub fn parts(&self) -> &IncompleteParts {
        &self.parts
    }

    /// Scores of new rows with holes, shape (n_rows, n_components): the best given the components, as the fit weighs
    /// entries against its penalties. A row without entries gets the scores of the prior. Where rows have offsets these are
    /// solved for as well; [`IncompleteModel::rows_observed`] has both.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of columns; [`Error::Decomposition`] for values beyond range;
    /// [`Error::Threads`].
    pub fn transform<T: Scalar>(&self, rows: &Observed<T>) -> Result<Matrix> {
        self.transform_observed(rows, self.parts.options.n_threads, &Unobserved)
    }

    /// As [`IncompleteModel::transform`], on a number of threads of its own (those of the current rayon pool if `None`),
    /// telling `observer` how far it has come.
    ///
    /// # Errors
    /// As [`IncompleteModel::transform`]; [`Error::Stopped`] if the observer asks to stop.
    pub fn transform_observed<T: Scalar>(
        &self,
        rows: &Observed<T>,
        n_threads: Option<usize>,
        observer: &dyn Observer,
    ) -> Result<Matrix> {
        Ok(self.rows_observed(rows, n_threads, observer)?.scores)
    }

    /// Scores and offsets of new rows.
    ///
    /// ```
    /// use karhunen::{Dense, IncompletePca, Observed, Unobserved};
    /// let x = [1.0, 2.0, 4.0, 5.0, 7.0, f64::NAN, -2.0, -1.0, 0.5, 1.5];
    /// let rows = Observed::from_dense(&Dense::row_major(&x, 5, 2)?, None)?;
    /// let model = IncompletePca { row_offsets: true, ..IncompletePca::new(1) }.fit(&rows)?;
    /// let found = model.rows_observed(&rows, None, &Unobserved)?;
    /// assert_eq!(found.offsets.map(|b| b.len()), Some(5));
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`IncompleteModel::transform_observed`].
    pub fn rows_observed<T: Scalar>(
        &self,
        rows: &Observed<T>,
        n_threads: Option<usize>,
        observer: &dyn Observer,
    ) -> Result<RowScores> {
        let find = compiled!(T, IncompleteModel::scores_of::<T>
            => fn(&IncompleteModel, &Observed<T>, Option<usize>, &dyn Observer) -> Result<RowScores>);
        find(self, rows, n_threads, observer)
    }

    fn scores_of<T: Scalar>(
        &self,
        rows: &Observed<T>,
        n_threads: Option<usize>,
        observer: &dyn Observer,
    ) -> Result<RowScores> {
        let all = self.n_scores();
        // As they are found, and as they are given.
        let mut found = zeros("a matrix of scores", rows.n_samples(), 2 * all, all)?;
        self.each_row(rows, &mut found, (n_threads, observer), |equations, out| {
            equations.solve()?;
            out.copy_from_slice(equations.solution());
            Ok(())
        })?;
        if let Some(at) = found.iter().position(|score| !score.is_finite()) {
            return Err(Error::ScoreOverflow { row: at / all, component: at % all, dtype: f64::NAME });
        }
        self.split(rows.n_samples(), found.chunks_exact(all.max(1)))
    }

    /// As [`IncompleteModel::rows_observed`], with the covariance of the scores (and the offset, the last) of each row: the
    /// noise variance times the inverse of its normal equations. Without penalties it is zero for rows of fewer entries
    /// than components.
    ///
    /// # Errors
    /// As [`IncompleteModel::transform_observed`].
    pub fn rows_with_covariances<T: Scalar>(
        &self,
        rows: &Observed<T>,
        n_threads: Option<usize>,
        observer: &dyn Observer,
    ) -> Result<(RowScores, Covariances)> {
        type Both = Result<(RowScores, Covariances)>;
        let find = compiled!(T, IncompleteModel::posteriors_of::<T>
            => fn(&IncompleteModel, &Observed<T>, Option<usize>, &dyn Observer) -> Both);
        find(self, rows, n_threads, observer)
    }

    fn posteriors_of<T: Scalar>(
        &self,
        rows: &Observed<T>,
        n_threads: Option<usize>,
        observer: &dyn Observer,
    ) -> Result<(RowScores, Covariances)> {
        let (all, n) = (self.n_scores(), rows.n_samples());
        let width = all * (all + 1) / 2;
        let mut both = zeros("a matrix of scores with covariances", n, 2 * (all + width), all + width)?;
        self.each_row(rows, &mut both, (n_threads, observer), |equations, out| {
            let (scores, covariance) = out.split_at_mut(all);
            let inverse = equations.inverse();
            equations.solve()?;
            scores.copy_from_slice(equations.solution());
            for k in 0..all {
                for l in 0..=k {
                    covariance[k * (k + 1) / 2 + l] = self.parts.noise_variance * inverse[(l, k)];
                }
            }
            Ok(())
        })?;
        let rows = || both.chunks_exact((all + width).max(1));
        let packed = rows().flat_map(|row| &row[all..]).map(|x| *x as f32).collect();
        Ok((self.split(n, rows())?, Covariances { n_components: all, packed }))
    }

    /// As [`IncompleteModel::rows_with_covariances`], without the offsets.
    ///
    /// # Errors
    /// As [`IncompleteModel::transform_observed`].
    pub fn transform_with_covariances<T: Scalar>(
        &self,
        rows: &Observed<T>,
        n_threads: Option<usize>,
        observer: &dyn Observer,
    ) -> Result<(Matrix, Covariances)> {
        let (rows, covariances) = self.rows_with_covariances(rows, n_threads, observer)?;
        Ok((rows.scores, covariances))
    }

    /// Scores and offsets of `n` rows that begin with them.
    fn split<'a>(&self, n: usize, rows: impl Iterator<Item = &'a [f64]> + Clone) -> Result<RowScores> {
        let c = self.n_components();
        let scores = Matrix::from_vec(n, c, rows.clone().flat_map(|row| &row[..c]).copied().collect())?;
        let offsets = self.parts.row_offsets.is_some().then(|| rows.map(|row| row[c]).collect());
        Ok(RowScores { scores, offsets })
    }

    /// Calls `f` with the normal equations of every row and its share of `out`.
    fn each_row<T: Scalar>(
        &self,
        rows: &Observed<T>,
        out: &mut [f64],
        (n_threads, observer): (Option<usize>, &dyn Observer),
        f: impl Fn(&mut Equations, &mut [f64]) -> Result<()> + Sync,
    ) -> Result<()> {
        let p = self.n_features();
        if rows.n_features() != p {
            return Err(Error::Shape {
                what: "the data",
                axis: "columns",
                found: rows.n_features(),
                expected: p,
            });
        }
        let width = out.len() / rows.n_samples().max(1);
        if width == 0 {
            return Ok(());
        }
        Exec::run(n_threads, observer, |exec| {
            let loadings = Loadings::new(self, rows, &exec.phase("scores"))?;
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
/// Zeros for `n` rows of `width` numbers, where there is memory for `alive` of each row.
fn zeros(what: &str, n: usize, alive: usize, width: usize) -> Result<Vec<f64>> {
    let advice = || "take fewer rows at a time, or raise the limit of memory".to_owned();
    memory::ask(&format!("{what} of {n} rows"), 8.0 * n as f64 * alive as f64, advice)?;
    Ok(vec![0.0; n * width])
}
