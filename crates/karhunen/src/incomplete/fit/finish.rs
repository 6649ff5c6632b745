//! Conversion of the best factors to the model.

use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::incomplete::data::{ColumnScales, Observed};
use crate::incomplete::factors::covariances::Covariances;
use crate::incomplete::factors::objective::{Diagonal, MeanRule, Objective};
use crate::incomplete::factors::prior::{NormalPrior, Prior};
use crate::incomplete::factors::{FactorSide, Factors};
use crate::incomplete::fit::error_bars::{count_parameters, inverses};
use crate::incomplete::fit::far::far_predictions;
use crate::incomplete::fit::identifiability::identifiability;
use crate::incomplete::fit::overfit::overfit;
use crate::incomplete::fit::run::RunResult;
use crate::incomplete::model::convergence::IncompleteConvergence;
use crate::incomplete::model::feature_noise::NoiseSums;
use crate::incomplete::model::{IncompleteModel, IncompleteParts, RowTotals};
use crate::incomplete::options::{IncompletePca, MeanMode, Method};
use crate::incomplete::passes::normal::drop_rounding;
use crate::incomplete::updates::explained::{Explained, Left, left_by_fit, of_scores};
use crate::incomplete::updates::posterior::{Posterior, Rotation};
use crate::incomplete::updates::precision::Precision;
use crate::incomplete::updates::prepared::Prepared;
use crate::incomplete::updates::rotate::{Rotated, principal};
use crate::incomplete::updates::undetermined::{leave_single_entries_to_means, take_least_norm};
use crate::linalg::Matrix;
use crate::linalg::dense::small::t_multiply;
use crate::linalg::simd::Lane;

/// Note for the user on a fit without components.
const COLLAPSED: &str = "collapsed: the most probable components are none";

impl<T: Lane> RunResult<T> {
    /// The reason for the method, with a note on a fit without components.
    pub(crate) fn reason(&self, reason: String) -> String {
        if self.collapsed { format!("{reason}; {COLLAPSED}") } else { reason }
    }

    /// Rotates to the principal components and adds error bars.
    pub(crate) fn into_model(
        self,
        pca: &IncompletePca,
        method: Method,
        reason: String,
        problem: &Objective<'_, T>,
        prepared: &Prepared,
        exec: &Exec<'_>,
    ) -> Result<IncompleteModel> {
        let reason = self.reason(reason);
        let collapsed = self.collapsed;
        let mean_prior = self.posterior.as_ref().and_then(|posterior| posterior.mean_prior);
        // The method may have learned penalties and pruned components.
        let problem = &self.penalties.clone().give(problem, self.factors.c);
        let found = match &self.posterior {
            Some(posterior) => {
                let kept = (pca.error_bars, pca.mean != MeanMode::None);
                Found::of_posterior(posterior, problem, self.factors, kept, method, exec)?
            }
            None => {
                let centred = pca.mean != MeanMode::None;
                let mut factors = self.factors;
                if problem.scores.is_zero() && method != Method::Online {
                    leave_single_entries_to_means(problem, &mut factors, exec)?;
                }
                Found::of_point(problem, factors, (self.squares, centred), pca.error_bars, exec)?
            }
        };
        let far = far_predictions(problem.data, &found.rotated, exec)?;
        let overfit = if method == Method::Ppca && self.held_out_rmse.is_none() && !collapsed {
            overfit((pca, prepared), problem, self.cost, exec)?
        } else {
            None
        };
        let of_offsets = variance_of_offsets(&found.rotated, problem);
        let model = Described {
            pca,
            prepared,
            mean: problem.mean,
            mean_prior,
            of_offsets,
            samples: problem.data.total_samples(),
            entries: problem.data.total_entries(),
            n_observed: (0..problem.data.n_features())
                .map(|j| problem.data.n_observed_in_column(j))
                .collect(),
            dtype: T::NAME,
            convergence: IncompleteConvergence {
                method,
                reason,
                stop: self.stop,
                cost: self.cost,
                rmse: (self.squares / prepared.weight()).sqrt(),
                held_out_rmse: self.held_out_rmse,
                trace: self.trace,
                runs: Vec::new(),
                starts: None,
                identifiability: identifiability(problem.data, pca.n_components),
                refitted: false,
                far,
                overfit,
                n_samples_in_parts: None,
            },
        };
        found.into_model(model)?.with_errors(problem.data, exec)
    }
}

impl IncompleteModel {
    /// The model with the noise of each feature and, of few rows, with the scale of the errors of new ones: of many rows the noise
    /// variance does almost as well, and this would take as long as an iteration.
    fn with_errors<T: Lane>(self, data: &Observed<T>, exec: &Exec<'_>) -> Result<Self> {
        let model = self.with_noise_of_features(|model| NoiseSums::of(model, data, exec))?;
        if data.has_few_rows() && model.parts().options.error_bars {
            model.with_spe_scale(data, &exec.part(1.0, 1.0))
        } else {
            Ok(model)
        }
    }
}

/// The data and the run of a model.
pub(crate) struct Described<'a> {
    pub(crate) pca: &'a IncompletePca,
    pub(crate) prepared: &'a Prepared,
    pub(crate) mean: MeanRule,
    /// The prior of the means, if it was learned.
    pub(crate) mean_prior: Option<NormalPrior>,
    /// Variance of the row offsets, if any.
    pub(crate) of_offsets: Option<f64>,
    /// Number of rows, each times its multiplicity.
    pub(crate) samples: f64,
    /// Number of observed entries, each times the multiplicity of its row.
    pub(crate) entries: f64,
    /// Number of observed entries of each feature.
    pub(crate) n_observed: Vec<usize>,
    pub(crate) dtype: &'static str,
    pub(crate) convergence: IncompleteConvergence,
}

/// A fit in the coordinates of its principal components.
pub(crate) struct Found {
    pub(crate) rotated: Rotated,
    pub(crate) explained: Explained,
    pub(crate) prior: Prior,
    pub(crate) noise: f64,
    pub(crate) score_covariances: Option<Covariances>,
    pub(crate) loading_covariances: Option<Covariances>,
}

impl Found {
    pub(crate) fn into_model(self, described: Described<'_>) -> Result<IncompleteModel> {
        let Self { rotated, explained, prior, noise, score_covariances, loading_covariances } = self;
        let Described { pca, prepared, mean, mean_prior, of_offsets, samples, entries, .. } = described;
        let Described { n_observed, dtype, convergence, .. } = described;
        let kappa = mean.with(mean_prior).under(noise).kappa;
        let of_mean = |w: f64| if w > 0.0 { noise / w } else { prepared.deviations.mean_square };
        let (total, explained_variance_ratio) = explained.shares(of_offsets, n_observed.len());
        IncompleteModel::try_from(IncompleteParts {
            components: rotated.loadings.transposed(),
            mean: rotated.mean,
            scales: ColumnScales::default(),
            explained_variance_ratio,
            explained_variance: explained.variances,
            singular_values: rotated.singular_values,
            total_variance: total,
            residual_variance: Some(explained.of_features.iter().map(|left| left.max(0.0)).collect()),
            noise_variance: noise,
            feature_noise_variance: None,
            conformal_errors: None,
            t2_factor: None,
            spe_scale: None,
            scores: rotated.scores,
            row_offsets: rotated.offsets,
            score_covariances,
            loading_covariances,
            mean_variance: match pca.mean {
                MeanMode::None => vec![0.0; n_observed.len()],
                _ => prepared.sums.weight.iter().map(|w| of_mean(w + kappa)).collect(),
            },
            mean_prior,
            prior,
            n_observed,
            row_totals: Some(RowTotals { samples, entries, offset_variance: of_offsets.unwrap_or(0.0) }),
            options: pca.clone(),
            dtype: dtype.to_owned(),
            convergence,
        })
    }

    fn of_posterior<T: Lane>(
        posterior: &Posterior<T>,
        problem: &Objective<'_, T>,
        factors: Factors<T>,
        (error_bars, centred): (bool, bool),
        method: Method,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let rotation = posterior.rotate(problem, factors, error_bars, exec)?;
        let shape = (problem.data.total_samples(), problem.data.n_features());
        // The scores of new rows depend on the covariances of a posterior of the loadings.
        let keep_loadings = error_bars || method.has_posterior_loadings();
        let mean_weight = problem.data.mean_weight();
        let mut found = Self::of_rotation(rotation, (posterior.noise, mean_weight), shape, keep_loadings);
        let factors: Factors<T> = found.rotated.factors();
        let (_, mut left) = left_by_fit(problem, &factors, (Left::OfPosterior, centred), exec)?;
        // A feature without entries has the noise of all.
        let unseen = |j: &usize| problem.data.n_observed_in_column(*j) == 0;
        (0..left.len()).filter(unseen).for_each(|j| left[j] = posterior.noise / mean_weight);
        found.explained.of_features = left;
        Ok(found)
    }

    /// Removes the inactive components of a posterior of `samples` rows and `n_features` features, whose entries have this
    /// mean weight.
    pub(crate) fn of_rotation(
        rotation: Rotation,
        (noise, mean_weight): (f64, f64),
        (samples, n_features): (f64, usize),
        keep_loadings: bool,
    ) -> Self {
        let Rotation { mut rotated, explained: mut variances, mut prior, mut scores, mut loadings } =
            rotation;
        let of_mean_entry = noise / mean_weight;
        let inactive = rotated.deactivate(samples, of_mean_entry);
        prior.remove(&inactive);
        for (k, variance) in variances.iter_mut().enumerate().filter(|(k, _)| inactive[*k]) {
            *variance = 0.0;
            loadings.remove(k);
            scores.iter_mut().for_each(|scores| scores.remove(k));
        }
        let left = n_features as f64 * of_mean_entry;
        Self {
            explained: Explained { variances, left, of_features: vec![of_mean_entry; n_features] },
            rotated,
            prior,
            noise,
            score_covariances: scores,
            loading_covariances: Some(loadings).filter(|_| keep_loadings),
        }
    }

    fn of_point<T: Lane>(
        problem: &Objective<'_, T>,
        mut factors: Factors<T>,
        (squares, centred): (f64, bool),
        error_bars: bool,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        if problem.scores.is_zero() && problem.fixed().is_none() {
            drop_rounding(problem, &mut factors, exec)?;
        }
        let rough = rough_noise(problem, squares);
        let least = rough / problem.data.mean_weight();
        let components = |factors: &mut Factors<T>| {
            let mut rotated = principal(problem, factors, problem.mean.joint, exec)?;
            let inactive = rotated.deactivate(problem.data.total_samples(), least);
            Ok::<_, Error>((rotated, inactive))
        };
        let (mut rotated, mut inactive) = components(&mut factors)?;
        if problem.scores.is_zero() && problem.offsets.as_ref().is_none_or(Diagonal::is_zero) {
            factors = rotated.factors().with_multiplicity(factors.s.multiplicity());
            if take_least_norm(problem, &mut factors, &inactive, exec)? {
                (rotated, inactive) = components(&mut factors)?;
            }
        }
        let variances = of_scores(&rotated.singular_values, problem.data.total_samples());
        let mut prior = prior(problem, &rotated);
        prior.remove(&inactive);
        let factors: Factors<T> = rotated.factors();
        let found = (&rotated, &factors, &inactive[..]);
        let bars = ErrorBars::new(problem, found, &prior, &variances, (squares, rough), error_bars, exec)?;
        let (left, of_features) =
            left_by_fit(problem, &factors, (Left::OfPoint, centred), &exec.part(1.0, 1.0))?;
        let size = variances.first().map_or(bars.noise, |variance| variance.max(bars.noise));
        let explained = Explained { variances, left, of_features };
        Ok(Self {
            rotated,
            explained,
            prior,
            noise: bars.noise,
            score_covariances: error_bars
                .then(|| Covariances::scaled(problem.c, &bars.scores, bars.noise, size)),
            loading_covariances: error_bars
                .then(|| Covariances::scaled(problem.free(), &bars.loadings, bars.noise, 1.0)),
        })
    }
}

/// The prior of the scores in the coordinates of the principal components.
fn prior<T: Lane>(problem: &Objective<'_, T>, rotated: &Rotated) -> Prior {
    let Precision { matrix, per_entry } = precision(problem, FactorSide::Scores, &rotated.of_loadings);
    let free = problem.mean.is_free() && !per_entry;
    Prior { precision: matrix, per_entry, mean: rotated.prior_mean(free) }
}

/// `M' D M` of the penalties `D` of a factor; for penalties proportional to the entries of a row, those per entry.
fn precision<T: Lane>(problem: &Objective<'_, T>, side: FactorSide, map: &Matrix) -> Precision {
    let c = map.n_rows();
    let per_entry = matches!(problem.penalty(side), Diagonal::ByRow(_));
    // A row with entries, to read the penalty per entry from.
    let lines = problem.lines(side);
    let shown = (0..lines.n_lines()).find(|line| lines.count(*line) > 0).unwrap_or(0);
    let unit = if per_entry { 1.0 / lines.weight(shown) } else { 1.0 };
    let scaled = Matrix::from_fn(c, c, |l, k| problem.penalty_at(side, shown, l).0 * unit * map[(l, k)]);
    Precision { matrix: t_multiply(map, &scaled), per_entry }
}

/// Covariances in units of the noise variance, and the noise variance.
struct ErrorBars<T> {
    noise: f64,
    scores: Vec<T>,
    loadings: Vec<T>,
}

impl<T: Lane> ErrorBars<T> {
    fn new(
        problem: &Objective<'_, T>,
        (rotated, factors, inactive): (&Rotated, &Factors<T>, &[bool]),
        prior: &Prior,
        explained: &[f64],
        (squares, rough): (f64, f64),
        covariances: bool,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let (c, free, p) = (problem.c, problem.free(), problem.data.n_features());
        let (rows, columns) = (problem.data.rows(), problem.data.columns());
        let of_offsets = variance_of_offsets(rotated, problem);
        let regularized = !problem.scores.is_zero() && !problem.loadings.is_zero();
        if !covariances && !regularized {
            return Ok(Self { noise: rough, scores: Vec::new(), loadings: Vec::new() });
        }
        let (of_scores, of_loadings) = if regularized {
            (
                Precision { matrix: prior.precision.clone(), per_entry: prior.per_entry },
                precision(problem, FactorSide::Loadings, &rotated.of_free_scores(free)),
            )
        } else {
            // Without penalties the covariance of a row with few entries is unbounded: the population serves as
            // prior.
            (
                Precision::of_population(rough, explained, of_offsets),
                Precision::of_population(rough, &vec![1.0 / p as f64; free], None),
            )
        };
        let (scores, trace) =
            inverses(rows, factors, FactorSide::Scores, (&of_scores, inactive), &exec.part(0.0, 0.5))?;
        let (loadings, more) =
            inverses(columns, factors, FactorSide::Loadings, (&of_loadings, inactive), &exec.part(0.5, 1.0))?;
        let means = if problem.mean.joint { p as f64 } else { 0.0 };
        let noise = if regularized {
            let none = inactive.iter().filter(|inactive| **inactive).count();
            let turned = ((c - none) * (free - none)) as f64;
            noise(squares, problem.data.total_entries(), trace + more - turned + means)
        } else {
            rough
        };
        Ok(Self { noise, scores, loadings })
    }
}

/// Variance of the row offsets, if any, weighted by multiplicity.
fn variance_of_offsets<T: Lane>(rotated: &Rotated, problem: &Objective<'_, T>) -> Option<f64> {
    let offsets = rotated.offsets.as_ref()?;
    Some(problem.data.over_rows(|i| offsets[i] * offsets[i]) / (problem.data.total_samples().max(2.0) - 1.0))
}

/// The noise variance with every parameter counted in full.
fn rough_noise<T: Lane>(problem: &Objective<'_, T>, squares: f64) -> f64 {
    let counted = count_parameters(problem.data, (problem.c, problem.free()), problem.mean.joint);
    noise(squares, problem.data.total_entries(), counted)
}

/// Sum of squared residuals over the entries less the parameters, if entries outnumber them.
pub(crate) fn noise(squares: f64, entries: f64, parameters: f64) -> f64 {
    let left = entries - parameters.max(0.0);
    squares / if left >= 1.0 { left } else { entries }
}
