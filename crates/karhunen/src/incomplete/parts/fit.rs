//! The fit of rows in parts from top to bottom.

use crate::choice::Choice;
use crate::error::{Error, OptionValue, Result, options};
use crate::exec::{Exec, Fact};
use crate::incomplete::data::{Observed, check_positive_weights};
use crate::incomplete::factors::Factors;
use crate::incomplete::factors::covariances::Covariances;
use crate::incomplete::factors::objective::{Diagonal, Objective};
use crate::incomplete::factors::prior::Prior;
use crate::incomplete::fit::error_bars::parameters_of_loadings;
use crate::incomplete::fit::finish::{Described, Found, noise};
use crate::incomplete::fit::run::RunResult;
use crate::incomplete::model::IncompleteModel;
use crate::incomplete::model::convergence::IncompleteConvergence;
use crate::incomplete::options::{IncompletePca, MeanMode, Method, NoiseModel, Regularization};
use crate::incomplete::parts::normal_sums::n_sums;
use crate::incomplete::parts::posterior_rows::found_in_parts;
use crate::incomplete::parts::posterior_sums::n_in_sums;
use crate::incomplete::parts::runs::{Best, Runs};
use crate::incomplete::parts::scaled::ScaledPasses;
use crate::incomplete::parts::stand_in::{penalties, without_penalty_rows};
use crate::incomplete::parts::starts::PartStarts;
use crate::incomplete::parts::sweeps::Swept;
use crate::incomplete::parts::{ColumnEntries, EntryPasses, NoiseTask, ScorePenalty, TraceTask};
use crate::incomplete::updates::explained::{Explained, Left, of_scores};
use crate::incomplete::updates::precision::{Precision, inverse_in};
use crate::incomplete::updates::prepared::Prepared;
use crate::incomplete::updates::rotate::{Rotated, mean_of_scores, rotate};
use crate::linalg::Matrix;
use crate::linalg::decomp::cholesky::{BLOCK, Upper};
use crate::linalg::dense::small::{multiply, t_multiply};
use crate::linalg::simd::Lane;
use crate::scalar::is_single;
use crate::scaling::Scaling;
use crate::weights::counts_several;

/// Fits a model to the rows of all parts.
///
/// # Errors
/// As [`IncompletePca::fit`]; [`Error::Option`] for an option that fits in parts do not have.
pub(crate) fn fit_in_parts(
    pca: &IncompletePca,
    passes: &dyn EntryPasses,
    feature_weights: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<IncompleteModel> {
    let given = pca;
    let pca = &IncompletePca { method: given.method_in_parts().0, ..given.clone() };
    pca.check_in_parts()?;
    let (entries, single) = passes.columns(&exec.phase("means and variances"))?;
    let shape = (entries.n_rows, entries.weight.len());
    pca.check(shape, false)?;
    pca.check_weights_of_columns(feature_weights.is_some())?;
    feature_weights.map_or(Ok(()), |weights| check_positive_weights(weights, shape.1))?;
    // Rows of weight zero are not counted.
    if entries.total() == 0.0 && counts_several(entries.multiplicity) {
        return Err(Error::NothingObserved { n_samples: shape.0, n_features: shape.1 });
    }
    if !(counts_several(entries.samples) && entries.samples.is_finite()) {
        let rule = format!(
            "the rows with entries of all parts count as {:?} samples; at least 2 are needed",
            entries.samples
        );
        return Err(Error::option(options::SAMPLE_WEIGHTS, OptionValue::Given, rule));
    }
    pca.ask_for_parts(shape.1)?;
    let fit = if single { fit_typed::<f32> } else { fit_typed::<f64> };
    let centred = pca.mean != MeanMode::None;
    let scales = entries.scales(&pca.scale, centred, feature_weights)?;
    if scales.are_one() {
        return fit(pca, given, &entries, passes, exec);
    }
    let passes = ScaledPasses { passes, factors: scales.factors(shape.1) };
    let model = fit(pca, given, &entries.multiplied(&passes.factors), &passes, exec)?.with_scales(scales);
    let is_unseen = centred && model.parts().n_observed.contains(&0);
    Ok(if is_unseen { model.with_unseen_means(entries.mean_and_variance()) } else { model })
}

impl IncompletePca {
    /// The method of a fit in parts, and the reason for it.
    fn method_in_parts(&self) -> (Method, String) {
        match self.method {
            Method::Auto => (Method::Als, "rows in parts".to_owned()),
            method => (method, "asked for".to_owned()),
        }
    }

    /// Refuses options that need the rows or their scores outside the fit.
    pub(crate) fn check_in_parts(&self) -> Result<()> {
        let refuse = |option, value, rule: &'static str| Err(Error::option(option, value, rule));
        if self.noise == NoiseModel::Feature {
            let rule = "fits in parts have one noise variance";
            return refuse(options::NOISE, self.noise.value(), rule);
        }
        self.check_alone(false)?;
        if !matches!(self.method, Method::Em | Method::Als | Method::VbFull) {
            return refuse(
                options::METHOD,
                self.method.value(),
                "rows in parts are fitted by the methods em, als and vb-full",
            );
        }
        if self.scale == Scaling::Range {
            let rule = "ranges of the columns take a pass before the fit; give them as numbers";
            return refuse(options::SCALE, self.scale.value(), rule);
        }
        if self.row_offsets {
            let rule =
                "fits in parts have no offsets, which stay with the rows; subtract the mean of each row";
            return refuse(options::ROW_OFFSETS, true.into(), rule);
        }
        if self.early_stopping.is_some() {
            let rule = "fits in parts hold no entries out";
            return refuse(options::EARLY_STOPPING, self.early_stopping.into(), rule);
        }
        if self.conformal.is_some() {
            return refuse(options::CONFORMAL, self.conformal.into(), "fits in parts hold no entries out");
        }
        if self.gradient_tol.is_some() {
            let rule = "fits in parts do not compute the gradient; set angle_tol or rmse_tol";
            return refuse(options::GRADIENT_TOL, self.gradient_tol.into(), rule);
        }
        Ok(())
    }

    /// Refuses sums of `p` features that exceed the memory limit: the sums of a part, the sums they are added to, and a
    /// copy on their way.
    fn ask_for_parts(&self, p: usize) -> Result<()> {
        let c = self.n_components;
        let (what, of_feature) = if self.method == Method::VbFull {
            ("a sum of posteriors", n_in_sums(c).iter().sum())
        } else {
            ("a sum of normal equations", n_sums(c + 1))
        };
        self.check_limit(
            what,
            0.0,
            |_| 3.0 * 8.0 * p as f64 * of_feature as f64,
            || vec!["take fewer components".into(), "take fewer columns".into()],
        )
    }

    /// The options on which the passes depend.
    pub(crate) fn facts_in_parts(&self) -> Vec<Fact> {
        // The rule of the mean and the penalties decide the loadings of every pass, the stopping rules and error bars which
        // passes there are.
        [
            (options::N_COMPONENTS, self.n_components.into()),
            (options::METHOD, self.method.value()),
            (
                options::REGULARIZATION,
                self.regularization.map(Into::into).unwrap_or_else(|| None::<f64>.into()),
            ),
            (options::SCALE, self.scale.value()),
            (options::MEAN, self.mean.value()),
            (options::MEAN_PRIOR, self.mean_prior.count.into()),
            (options::MEAN_PRIOR, self.mean_prior.value.into()),
            (options::LEARN_MEAN_PRIOR, self.learn_mean_prior.into()),
            (options::HYPERPRIOR, self.hyperprior.into()),
            (options::TOL, self.tol.into()),
            (options::ANGLE_TOL, self.angle_tol.into()),
            (options::RMSE_TOL, self.rmse_tol.into()),
            (options::MAX_ITER, self.max_iter.into()),
            (options::N_STARTS, self.n_starts.into()),
            (options::ERROR_BARS, self.error_bars.into()),
            (options::SEED, self.seed.into()),
        ]
        .map(|(option, value)| Fact::Option(option, value))
        .to_vec()
    }
}

/// Fits by the method of `pca`; `given` are the options of the user.
fn fit_typed<T: Lane>(
    pca: &IncompletePca,
    given: &IncompletePca,
    entries: &ColumnEntries,
    passes: &dyn EntryPasses,
    exec: &Exec<'_>,
) -> Result<IncompleteModel> {
    let p = entries.weight.len();
    let about = |mean: &[f64]| Ok(entries.deviations_about(mean));
    let prepared = Prepared::of_sums::<T>(pca, entries.sums(), None, about)?;
    let (method, reason) = given.method_in_parts();
    // The entries are with the parts.
    let none = Observed::<T>::none(p);
    // Parts take no weights of entries.
    let (penalty, of_loadings) = match prepared.regularization(pca, method, 1.0) {
        Regularization::None | Regularization::Path => (ScorePenalty::default(), Diagonal::Same(0.0)),
        Regularization::Ridge(size) => (ScorePenalty { size, per_entry: false }, Diagonal::Same(size)),
        Regularization::Weighted(size) => {
            let by_row = prepared.sums.weight.iter().map(|w| size * w).collect();
            (ScorePenalty { size, per_entry: true }, Diagonal::ByRow(by_row))
        }
    };
    let problem = Objective {
        loadings: of_loadings,
        scores: penalties(penalty, pca.n_components),
        ..prepared.problem(pca, &none)
    };
    let exec = &exec.phase(method.name());
    let starts = PartStarts { pca, method, problem: &problem, entries, prepared: &prepared, penalty, passes };
    let Runs { best, runs, agreement } = starts.runs(exec)?;
    let Best { run, swept, .. } = best;
    let exec = &exec.phase("error bars");
    let found = if let Some(posterior) = &run.posterior {
        let problem = run.penalties.clone().give(&problem, run.factors.c);
        found_in_parts(pca, posterior, (&problem, &run.factors), (entries, passes), exec)?
    } else {
        let swept = match swept {
            Some(swept) => swept,
            None => Swept::of(passes, &run.factors, exec)?,
        };
        Ended { run: &run, swept: &swept, entries, penalty }.found(pca, &problem, passes, exec)?
    };
    let reason = run.reason(reason);
    let model = Described {
        pca: given,
        prepared: &prepared,
        mean: problem.mean,
        mean_prior: run.posterior.as_ref().and_then(|posterior| posterior.mean_prior),
        of_offsets: None,
        samples: entries.samples,
        entries: entries.total(),
        n_observed: entries.n_observed.iter().map(|n| *n as usize).collect(),
        dtype: T::NAME,
        convergence: IncompleteConvergence {
            method,
            reason,
            stop: run.stop,
            cost: run.cost,
            rmse: (run.squares / prepared.weight()).sqrt(),
            held_out_rmse: None,
            trace: run.trace,
            starts: agreement,
            runs,
            identifiability: None,
            refitted: false,
            far: None,
            overfit: None,
            n_samples_in_parts: Some(entries.n_rows),
        },
    };
    found.into_model(model)?.with_noise_of_features(|model| {
        let task = NoiseTask { model: Box::new(model.clone()), single: is_single::<T>(), factors: None };
        passes.noise(task, exec)
    })
}

/// The end of a fit.
struct Ended<'a, T> {
    run: &'a RunResult<T>,
    swept: &'a Swept,
    entries: &'a ColumnEntries,
    penalty: ScorePenalty,
}

impl<T: Lane> Ended<'_, T> {
    /// The fit in the coordinates of its principal components.
    fn found(
        &self,
        pca: &IncompletePca,
        problem: &Objective<'_, T>,
        passes: &dyn EntryPasses,
        exec: &Exec<'_>,
    ) -> Result<Found> {
        let (c, entries) = (problem.c, self.entries);
        let RunResult { factors, squares, .. } = self.run;
        let factors = Factors { a: factors.a.clone(), s: without_penalty_rows(&factors.s, c), c };
        let centre = |s| mean_of_scores(s, c, |_| true, exec);
        let shift = if problem.mean.joint { centre(&factors.s)? } else { vec![0.0; c] };
        let mut rotated = rotate(&factors, c, shift, exec)?;
        let of_loadings = parameters_of_loadings(entries.weight.iter().copied(), c, problem.mean.joint);
        let counted = self.swept.sums.parameters + of_loadings - (c * c) as f64;
        let rough = noise(*squares, entries.total(), counted);
        let inactive = rotated.deactivate(entries.samples, rough);
        let variances = of_scores(&rotated.singular_values, entries.samples);
        let ScorePenalty { size, per_entry } = self.penalty;
        let mut of_scores_prior = t_multiply(&rotated.of_loadings, &rotated.of_loadings);
        of_scores_prior.scale(size);
        let mean = rotated.prior_mean(problem.mean.is_free() && !per_entry);
        let mut prior = Prior { precision: of_scores_prior, per_entry, mean };
        prior.remove(&inactive);
        let diagonal =
            |of: &dyn Fn(usize) -> f64| Matrix::from_fn(c, c, |k, l| if k == l { of(k) } else { 0.0 });
        let of_loadings = if size > 0.0 {
            let mut matrix = t_multiply(&rotated.of_scores, &rotated.of_scores);
            matrix.scale(size);
            Precision { matrix, per_entry }
        } else {
            // As in memory: without penalties the population serves as prior.
            Precision { matrix: diagonal(&|_| rough * entries.weight.len() as f64), per_entry: false }
        };
        let (loadings, trace) = self.inverses(&rotated, (&of_loadings, &inactive));
        let noise = if size > 0.0 {
            let (mut active, mut matrix) = (rotated.loadings.clone(), prior.precision.clone());
            for k in (0..c).filter(|k| inactive[*k]) {
                (0..active.n_rows()).for_each(|j| active[(j, k)] = 0.0);
                // Without products any precision gives the component no parameters.
                matrix[(k, k)] = 1.0;
            }
            let of_scores = passes.trace(
                TraceTask {
                    loadings: active,
                    precision: Precision { matrix, per_entry },
                    single: is_single::<T>(),
                    factors: None,
                },
                exec,
            )?;
            let n_active = inactive.iter().filter(|inactive| !**inactive).count();
            let means = if problem.mean.joint { entries.weight.len() as f64 } else { 0.0 };
            noise(*squares, entries.total(), of_scores + trace - (n_active * n_active) as f64 + means)
        } else {
            rough
        };
        let of_features = self.left(pca.mean != MeanMode::None);
        let left = of_features.iter().sum();
        // Scores stay with the rows.
        rotated.scores = Matrix::zeros(0, c);
        let covariances = |packed: &[f64]| pca.error_bars.then(|| Covariances::scaled(c, packed, noise, 1.0));
        Ok(Found {
            rotated,
            explained: Explained { variances, left, of_features },
            prior,
            noise,
            score_covariances: pca.error_bars.then(|| Covariances::none(c)),
            loading_covariances: covariances(&loadings),
        })
    }

    /// The variance of the entries of each feature less the variance of their fit.
    fn left(&self, centred: bool) -> Vec<f64> {
        let Swept { sums, about, loadings } = self.swept;
        let c = sums.n_components();
        let of_feature = |j: usize| {
            let weight = self.entries.weight[j];
            if weight == 0.0 {
                return 0.0;
            }
            let a = loadings.row(j);
            let moved = a[c] - about[j];
            // Of `y`, an entry less its mean, and of its fit.
            let of_y = sums.with_y(j, c) - moved * weight;
            let of_fit: f64 = (0..c).map(|k| a[k] * sums.product(j, k, c)).sum();
            let squares = sums.squares(j) - 2.0 * moved * sums.with_y(j, c) + moved * moved * weight;
            let along = |k: usize| (0..c).map(|l| a[l] * sums.product(j, k, l)).sum::<f64>();
            let fitted: f64 = (0..c).map(|k| a[k] * along(k)).sum();
            // The squared weights of the repetitions of an entry add to its multiplicity.
            Left::OfPoint.in_feature([weight, weight, of_y, of_fit, squares - fitted], centred)
        };
        (0..about.len()).map(of_feature).collect()
    }

    /// `(G + P)^-1` of the loadings of every feature, in the coordinates of the components, packed, and
    /// `sum tr G (G + P)^-1`.
    fn inverses(&self, rotated: &Rotated, precision: (&Precision, &[bool])) -> (Vec<f64>, f64) {
        let Swept { sums, loadings, .. } = self.swept;
        let (p, c) = rotated.loadings.shape();
        // The scores of the components are affine in the scores of the sweep, because both have the same predictions.
        let map = t_multiply(&rotated.loadings, &loadings.columns(0..c));
        let moved = Matrix::from_fn(p, 1, |j, _| loadings[(j, c)] - rotated.mean[j]);
        let shift = t_multiply(&rotated.loadings, &moved);
        let affine = Matrix::from_fn(c, c + 1, |k, l| if l < c { map[(k, l)] } else { shift[(k, 0)] });
        let stride = c.next_multiple_of(BLOCK);
        let width = c * (c + 1) / 2;
        let (mut packed, mut trace) = (vec![0.0; p * width], 0.0);
        for (j, row) in packed.chunks_exact_mut(width).enumerate() {
            let of_sweep = Matrix::from_fn(c + 1, c + 1, |k, l| sums.product(j, k, l));
            let products = multiply(&multiply(&affine, &of_sweep), &affine.transposed());
            let mut values = vec![0.0; stride * stride];
            for k in 0..c {
                (k..c).for_each(|l| values[k * stride + l] = products[(k, l)]);
            }
            let g = Upper { values: &mut values, m: c, stride };
            trace += inverse_in(g, self.entries.weight[j], precision, row);
        }
        (packed, trace)
    }
}
