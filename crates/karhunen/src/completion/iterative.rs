//! Iterative PCA of a table with missing values.

use crate::choice::{Choice, Named, plain_names};
use crate::error::{Error, OptionName, Result, options};
use crate::exec::{Flow, Run};
use crate::growth::More;
use crate::incomplete::{FarPredictions, Observed, far_fills};
use crate::linalg::{Dense, Matrix};
use crate::pca::{NComponents, Pca, PcaModel};
use crate::weights::{Weighting, Weights};

/// The shrinkage of the scores that fill missing entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shrinkage {
    /// By the share of noise in the variance along each component.
    #[default]
    Regularized,
    /// None: iterative PCA, the EM algorithm of Kiers (1997), doi:10.1007/BF02295279. Overfits where entries are few.
    Em,
}

impl Choice for Shrinkage {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Regularized, "regularized", "By the share of noise in each variance"),
        Named::new(Self::Em, "em", "None"),
    ];
}

plain_names!(Shrinkage);

/// Iterative PCA of a dense table with missing values; missMDA's `imputePCA`.
///
/// Of the completed table, with population variances $\lambda$ of standardised (or centred) columns, the noise variance is
///
/// $$ \sigma^2 = \frac{n p}{\min(p, n - 1)} \,
///    \frac{\sum_{c > k} \lambda_c}{(n - 1) p - (n - 1) k - p k + k^2}, $$
///
/// times `ridge`, at most $\lambda_{k+1}$; scores of component c are multiplied by $(\lambda_c - \sigma^2) / \lambda_c$
/// (Josse & Husson 2012, equation 8, with the degrees of freedom of their implementation).
#[derive(Clone, Debug, PartialEq)]
pub struct IterativePca {
    /// Number of components k; 0 fills with means. At most `min(n_samples - 2, n_features - 1)`.
    pub n_components: usize,
    /// Divide columns by their standard deviations, which follow the fills.
    pub scale: bool,
    /// Shrinkage of the scores.
    pub shrinkage: Shrinkage,
    /// Factor of the noise variance, at least 0.
    pub ridge: f64,
    /// Relative change of the squared error of the observed entries at which iterations end, after five at least.
    pub tol: f64,
    /// Most iterations.
    pub max_iter: usize,
    #[doc(hidden)]
    pub more: More,
}

impl Default for IterativePca {
    fn default() -> Self {
        let shrinkage = Shrinkage::default();
        Self { n_components: 2, scale: true, shrinkage, ridge: 1.0, tol: 1e-6, max_iter: 1000, more: More }
    }
}

/// A completed table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Completed {
    /// The table, with missing entries filled by the fit before the last, shape (n_samples, n_features).
    pub completed: Matrix,
    /// The last fit of every entry, by shrunken scores, shape (n_samples, n_features).
    pub fitted: Matrix,
    /// PCA of the completed table, with population variances.
    pub model: PcaModel,
    /// The noise variance $\sigma^2$, of standardised columns if `scale`; zero without shrinkage.
    pub noise_variance: f64,
    /// Number of iterations; zero without components.
    pub n_iter: usize,
    /// True if the last change was within the tolerance.
    pub converged: bool,
    /// Fills far outside the observed range of their column, if any: there the entries do not determine the fit.
    pub far: Option<FarPredictions>,
}

/// Iterations before the first test for convergence.
const FIRST_TEST: usize = 5;

impl IterativePca {
    /// With `n_components`, standardised columns and shrunken scores.
    pub fn new(n_components: usize) -> Self {
        Self { n_components, ..Self::default() }
    }

    /// Completes `x`, shape (n_samples, n_features), whose missing entries are NaN. `weights` holds one finite weight >= 0 for
    /// each row.
    ///
    /// # Errors
    /// [`Error::Option`] for too many components, a negative ridge, or a tolerance or number of iterations outside its
    /// rule; [`Error::NonFinite`] for infinite values; [`Error::NothingObserved`] if no entry of positive weight is observed,
    /// [`Error::EmptyColumn`] if a column has none; errors of [`Pca::fit_with`]; [`Error::Stopped`]. If the iterations do not converge, [`Completed::converged`] is false.
    pub fn complete(&self, x: &Matrix, weights: Option<&[f64]>, run: &Run<'_>) -> Result<Completed> {
        self.check(x)?;
        let (n, p) = x.shape();
        let is_missing = |e: usize| x.as_slice()[e].is_nan();
        let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
        if let Some(weights) = weights.filter(|weights| weights.len() != n) {
            return Err(Error::Shape {
                what: "sample weights",
                axis: "values",
                found: weights.len(),
                expected: n,
            });
        }
        let mut completed = x.clone();
        let means = means(x, weights)?;
        let fill = |completed: &mut Matrix, value: &dyn Fn(usize) -> f64| {
            let entries = completed.as_mut_slice().iter_mut().enumerate();
            entries.filter(|(e, _)| is_missing(*e)).for_each(|(e, entry)| *entry = value(e));
        };
        fill(&mut completed, &|e| means[e % p]);
        let (mut k, mut n_iter, mut old) = (self.n_components, 0, f64::INFINITY);
        // A table without missing entries is complete.
        let complete = (0..n * p).all(|e| !is_missing(e));
        let mut converged = k == 0 || complete;
        let mut fitted = Matrix::from_fn(n, p, |_, j| means[j]);
        let mut noise_variance = 0.0;
        while !converged && n_iter < self.max_iter {
            if let Flow::Stop = run.observer.update(PHASE, n_iter as f64 / self.max_iter as f64) {
                return Err(Error::Stopped { phase: PHASE });
            }
            if n_iter > 0 {
                fill(&mut completed, &|e| fitted.as_slice()[e]);
            }
            let model = self.fit(&completed, weights, k + 1, run)?;
            noise_variance = self.noise(&model, (n, p));
            fitted = shrunken(&model, &completed, k, noise_variance)?;
            n_iter += 1;
            let squares: f64 = (0..n * p)
                .filter(|e| !is_missing(*e))
                .map(|e| {
                    let error = (x.as_slice()[e] - fitted.as_slice()[e]) / model.scale()[e % p];
                    weight(e / p) * error * error
                })
                .sum();
            let objective = squares / (0..n).map(weight).sum::<f64>();
            let change = (1.0 - objective / old).abs();
            converged = n_iter >= FIRST_TEST && (change < self.tol || objective < self.tol);
            old = objective;
        }
        k = k.min(n.min(p));
        let model = self.fit(&completed, weights, k, run)?;
        if complete && k > 0 {
            noise_variance = self.noise(&self.fit(&completed, weights, k + 1, run)?, (n, p));
            fitted = shrunken(&model, &completed, k, noise_variance)?;
        }
        let far = far_fills(&Observed::from_dense(&Dense::from(x))?, |i, j| completed[(i, j)]);
        Ok(Completed { completed, fitted, model, noise_variance, n_iter, converged, far })
    }

    fn check(&self, x: &Matrix) -> Result<()> {
        let (n, p) = x.shape();
        if n == 0 || p == 0 {
            return Err(Error::Empty { n_samples: n, n_features: p });
        }
        if let Some(e) = x.as_slice().iter().position(|value| value.is_infinite()) {
            return Err(Error::NonFinite { row: e / p, column: e % p, value: x.as_slice()[e] });
        }
        let most = n.saturating_sub(2).min(p - 1);
        if self.n_components > most {
            let rule = format!("iterative PCA of {n} rows and {p} columns takes at most {most} components");
            return Err(Error::option(options::N_COMPONENTS, self.n_components, rule));
        }
        if !(self.ridge >= 0.0 && self.ridge.is_finite()) {
            return Err(Error::option(
                RIDGE,
                self.ridge,
                "a factor of the noise variance is finite and at least 0",
            ));
        }
        if !(self.tol > 0.0 && self.tol < 1.0) {
            return Err(Error::option(
                options::TOL,
                self.tol,
                "a tolerance lies between 0 and 1, both excluded",
            ));
        }
        if self.max_iter == 0 {
            return Err(Error::option(options::MAX_ITER, 0usize, "at least one iteration is needed"));
        }
        Ok(())
    }

    /// PCA of the completed table.
    fn fit(&self, completed: &Matrix, weights: Option<&[f64]>, k: usize, run: &Run<'_>) -> Result<PcaModel> {
        let (n_components, weighting) = (NComponents::Count(k), Weighting::Population);
        let pca = Pca { n_components, weighting, scale: self.scale.into(), ..Pca::default() };
        let alone = Run { n_threads: run.n_threads, ..Run::default() };
        pca.fit_with(&Dense::from(completed), &Weights { samples: weights, features: None }, &alone)
    }

    /// The noise variance by a model of k + 1 components.
    fn noise(&self, model: &PcaModel, (n, p): (usize, usize)) -> f64 {
        if self.shrinkage == Shrinkage::Em {
            return 0.0;
        }
        let variances = model.explained_variance();
        let k = variances.len() - 1;
        let rest = (model.total_variance() - variances[..k].iter().sum::<f64>()).max(0.0);
        let (rows, columns, k) = ((n - 1) as f64, p as f64, k as f64);
        // (n - 1 - k) (p - k), both factors of which are positive.
        let freedom = rows * columns - rows * k - columns * k + k * k;
        let noise = (rows + 1.0) * columns / rows.min(columns) * rest / freedom;
        (noise * self.ridge).min(variances[variances.len() - 1])
    }
}

/// The phase of the observer.
const PHASE: &str = "completion";

/// The factor of the noise variance in errors.
const RIDGE: OptionName = OptionName::new("ridge");

/// The weighted mean of the observed entries of each column.
fn means(x: &Matrix, weights: Option<&[f64]>) -> Result<Vec<f64>> {
    let (n, p) = x.shape();
    let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
    let mut sums = vec![[0.0; 2]; p];
    for (i, j) in (0..n).flat_map(|i| (0..p).map(move |j| (i, j))).filter(|&e| !x[e].is_nan()) {
        sums[j][0] += weight(i);
        sums[j][1] += weight(i) * x[(i, j)];
    }
    match sums.iter().position(|[weight, _]| *weight <= 0.0) {
        Some(_) if sums.iter().all(|[weight, _]| *weight <= 0.0) => {
            Err(Error::NothingObserved { n_samples: n, n_features: p })
        }
        Some(column) => Err(Error::EmptyColumn { column }),
        None => Ok(sums.into_iter().map(|[weight, sum]| sum / weight).collect()),
    }
}

/// The fit of `completed` by `k` components of `model`, with scores that are shrunken by the noise.
fn shrunken(model: &PcaModel, completed: &Matrix, k: usize, noise: f64) -> Result<Matrix> {
    let mut scores = model.transform(&Dense::from(completed))?;
    let variances = model.explained_variance();
    for i in 0..scores.n_rows() {
        for (c, score) in scores.row_mut(i).iter_mut().enumerate() {
            *score *= if c < k && variances[c] > 0.0 { (variances[c] - noise) / variances[c] } else { 0.0 };
        }
    }
    model.inverse_transform(&scores)
}
