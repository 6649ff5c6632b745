//! Validation of options.

use crate::choice::Choice;
use crate::error::{Error, OptionName, OptionValue, Phrase, Result, options};
use crate::incomplete::data::{Observed, Share};
use crate::incomplete::options::{
    IncompletePca, MeanMode, MeanPrior, Method, NoiseModel, OnlineRule, Regularization,
};
use crate::incomplete::start::Start;
use crate::scalar::Scalar;
use crate::scaling::Scaling;

/// A validation rule: (satisfied, option, value, message).
type Rule = (bool, OptionName, OptionValue, Phrase);

/// Most alternations per component in `ccd`; they converge after some tens.
const MOST_INNER: usize = 1000;
/// Most random starts.
const MOST_STARTS: usize = 1_000_000;

fn positive(x: f64) -> bool {
    x > 0.0 && x.is_finite()
}

impl IncompletePca {
    /// Checks the multiplicities of rows against the method.
    pub(crate) fn check_data<T: Scalar>(&self, data: &Observed<T>) -> Result<()> {
        match (self.method, data.sample_weights()) {
            (Method::Online, Some(_)) => Err(Error::option(
                options::METHOD,
                self.method.value(),
                "rows that are learned one after the other have no weights; repeat them",
            )),
            _ => self.check_weights_of_columns(data.feature_weights().is_some()),
        }
    }

    /// Refuses weights of the columns where their means have a common prior.
    pub(crate) fn check_weights_of_columns(&self, weighted: bool) -> Result<()> {
        if weighted && self.learn_mean_prior {
            let rule = "columns that are multiplied by the roots of their weights have no common unit, and so no common prior \
                 of their means";
            return Err(Error::option(options::LEARN_MEAN_PRIOR, true, rule));
        }
        Ok(())
    }

    /// Checks options, data and start.
    pub(crate) fn check_all<T: Scalar>(&self, data: &Observed<T>, start: Option<&Start>) -> Result<()> {
        self.check(data.shape(), start.is_some())?;
        self.check_data(data)?;
        if data.n_observed() == 0 {
            let (n_samples, n_features) = data.shape();
            return Err(Error::NothingObserved { n_samples, n_features });
        }
        start.map_or(Ok(()), |start| start.check(data.shape(), self.n_components))
    }

    /// Checks the options for data of a given shape.
    pub(crate) fn check(&self, (n_samples, n_features): (usize, usize), has_start: bool) -> Result<()> {
        if n_samples == 0 || n_features == 0 {
            return Err(Error::Empty { n_samples, n_features });
        }
        let (requested, max) = (self.n_components, n_samples.min(n_features));
        if requested == 0 || requested > max {
            return Err(Error::NComponents { requested, min: 1, max, n_samples, n_features });
        }
        self.check_alone(has_start)
    }

    /// Checks the options, except n_components, whose limit depends on the data.
    pub(crate) fn check_alone(&self, has_start: bool) -> Result<()> {
        let mut rules = self.rules_of_method();
        rules.extend(self.rules_of_penalties());
        rules.extend(self.rules_of_mean());
        rules.extend(self.rules_of_priors());
        rules.extend(self.rules_of_stopping());
        rules.extend(self.rules_of_runs(has_start));
        rules.extend(self.rules_of_noise());
        match rules.into_iter().find(|(obeyed, ..)| !obeyed) {
            Some((_, option, value, rule)) => Err(Error::Option { option, value, rule }),
            None => Ok(()),
        }
    }

    fn rules_of_method(&self) -> Vec<Rule> {
        let (method, default) = (self.method, Self::default());
        vec![
            (
                (0.0..=1.0).contains(&self.alpha),
                options::ALPHA,
                self.alpha.into(),
                "the power lies between 0 and 1".into(),
            ),
            (
                self.alpha == default.alpha || method.uses_alpha(),
                options::ALPHA,
                self.alpha.into(),
                "only the methods newton, cg and ridge have this power".into(),
            ),
            (
                self.prior_variance.is_none_or(|v| positive(v) && method == Method::VbFixed),
                options::PRIOR_VARIANCE,
                self.prior_variance.into(),
                "a variance is positive and finite, and only the method vb-fixed has one that is given"
                    .into(),
            ),
            (
                (1..=MOST_INNER).contains(&self.inner_iterations),
                options::INNER_ITERATIONS,
                self.inner_iterations.into(),
                "at least one is needed, and more than 1000 change nothing any more".into(),
            ),
            (
                self.inner_iterations == default.inner_iterations || method == Method::Ccd,
                options::INNER_ITERATIONS,
                self.inner_iterations.into(),
                "only the method ccd has inner iterations".into(),
            ),
            (
                self.step.is_none_or(|step| positive(step) && method.uses_step()),
                options::STEP,
                self.step.into(),
                "a first learning rate is positive, and only gradient, natural and newton have one".into(),
            ),
            (
                self.online_rule == OnlineRule::Diagonal || method == Method::Online,
                options::ONLINE_RULE,
                self.online_rule.value(),
                "only the method online has this rule".into(),
            ),
        ]
    }

    fn rules_of_penalties(&self) -> Vec<Rule> {
        let (method, regularization) = (self.method, self.regularization);
        let lambda = regularization.and_then(Regularization::size);
        let path = regularization == Some(Regularization::Path);
        let value = || regularization.map_or(OptionValue::NotGiven, OptionValue::from);
        vec![
            (
                lambda.is_none_or(positive),
                options::REGULARIZATION,
                value(),
                "a penalty must be positive and finite".into(),
            ),
            (
                !(lambda.is_some() || path) || method.uses_penalties() || method.learns_variances(),
                options::REGULARIZATION,
                value(),
                "the methods em, imputation and online have no penalties; use als or soft".into(),
            ),
            (
                regularization.is_none() || !method.learns_variances(),
                options::REGULARIZATION,
                value(),
                "the probabilistic and variational methods learn variances instead of penalties".into(),
            ),
            (
                method != Method::Soft || !matches!(regularization, Some(Regularization::Weighted(_))),
                options::REGULARIZATION,
                value(),
                "the method soft shrinks all rows alike; use als for weighted penalties".into(),
            ),
            (
                regularization != Some(Regularization::None)
                    || !matches!(method, Method::Als | Method::Ridge | Method::Soft),
                options::REGULARIZATION,
                value(),
                "the methods als, ridge and soft need a penalty; use em, cg or imputation for least squares"
                    .into(),
            ),
            (
                !path || self.early_stopping.is_some(),
                options::REGULARIZATION,
                value(),
                Phrase::new("a path selects by held-out error: give ").option(options::EARLY_STOPPING),
            ),
        ]
    }

    fn rules_of_priors(&self) -> Vec<Rule> {
        let variational = self.chosen().0.has_posterior_loadings();
        let learns = self.learn_mean_prior;
        vec![
            (
                self.hyperprior >= 0.0 && self.hyperprior.is_finite(),
                options::HYPERPRIOR,
                self.hyperprior.into(),
                "the strength of the hyperprior is finite and not negative".into(),
            ),
            (
                self.hyperprior == 0.0 || variational,
                options::HYPERPRIOR,
                self.hyperprior.into(),
                "only the variational methods vb, vb-fixed and vb-full have hyperpriors".into(),
            ),
            (
                !learns || variational,
                options::LEARN_MEAN_PRIOR,
                true.into(),
                "only the variational methods vb, vb-fixed and vb-full learn the prior of the means".into(),
            ),
            (
                !learns || self.mean == MeanMode::Joint,
                options::LEARN_MEAN_PRIOR,
                true.into(),
                Phrase::new("means have a prior where they are fitted with the components: leave ")
                    .option(options::MEAN)
                    .text(" out"),
            ),
            (
                !learns || self.mean_prior.count == 0.0,
                options::LEARN_MEAN_PRIOR,
                true.into(),
                Phrase::new("the prior is learned or given: set the number of ")
                    .option(options::MEAN_PRIOR)
                    .text(" to zero"),
            ),
            (
                !learns || self.scale == Scaling::None,
                options::LEARN_MEAN_PRIOR,
                true.into(),
                Phrase::new("columns that are divided by numbers of their own (")
                    .option(options::SCALE)
                    .text(") have no common unit, and so no common prior of their means"),
            ),
        ]
    }

    fn rules_of_mean(&self) -> Vec<Rule> {
        let MeanPrior { count, value } = self.mean_prior;
        vec![
            (
                count >= 0.0 && count.is_finite(),
                options::MEAN_PRIOR,
                count.into(),
                "the number of pseudo-observations is finite and not negative".into(),
            ),
            (
                value.is_none_or(f64::is_finite),
                options::MEAN_PRIOR,
                value.into(),
                "the value of pseudo-observations is finite".into(),
            ),
            (
                self.mean_prior == MeanPrior::default() || self.scale == Scaling::None,
                options::MEAN_PRIOR,
                count.into(),
                Phrase::new("columns that are divided by numbers of their own (")
                    .option(options::SCALE)
                    .text(") have no common unit, and so no common value of their means; leave it out"),
            ),
            (
                self.mean != MeanMode::None || self.mean_prior == MeanPrior::default(),
                options::MEAN_PRIOR,
                count.into(),
                "without a mean there is no use for pseudo-observations".into(),
            ),
        ]
    }

    fn rules_of_stopping(&self) -> Vec<Rule> {
        let tolerance = |option: OptionName, value: Option<f64>| {
            let rule = "a tolerance is positive and below one";
            (value.is_none_or(|x| x > 0.0 && x < 1.0), option, value.into(), rule.into())
        };
        vec![
            (
                self.tol >= 0.0 && self.tol < 1.0,
                options::TOL,
                self.tol.into(),
                "a tolerance lies between 0 and 1, one excluded".into(),
            ),
            tolerance(options::GRADIENT_TOL, self.gradient_tol),
            tolerance(options::ANGLE_TOL, self.angle_tol),
            tolerance(options::RMSE_TOL, self.rmse_tol),
            (
                self.gradient_tol.is_none() || self.chosen().0.minimises_f(),
                options::GRADIENT_TOL,
                self.gradient_tol.into(),
                "methods that learn variances or learn online do not follow the gradient of one cost".into(),
            ),
            (
                self.early_stopping.is_none_or(Share::is_allowed),
                options::EARLY_STOPPING,
                self.early_stopping.into(),
                Share::RULE.into(),
            ),
            (
                self.conformal.is_none_or(Share::is_allowed),
                options::CONFORMAL,
                self.conformal.into(),
                Share::RULE.into(),
            ),
            (
                self.conformal.is_none() || self.error_bars,
                options::CONFORMAL,
                self.conformal.into(),
                Phrase::new("intervals are multiples of standard deviations: they need ")
                    .option(options::ERROR_BARS),
            ),
            (
                self.max_iter >= 1,
                options::MAX_ITER,
                self.max_iter.into(),
                "at least one iteration is needed".into(),
            ),
        ]
    }

    /// Rules of a noise variance of each feature.
    fn rules_of_noise(&self) -> Vec<Rule> {
        if self.noise == NoiseModel::Shared {
            return Vec::new();
        }
        let alone = |option: OptionName, rest: &'static str| {
            Phrase::new("features are divided by their noise: leave ").option(option).text(rest)
        };
        let (method, unit) = (self.chosen().0, " out, which needs a common unit");
        let learner = match method {
            Method::Online => "rows that are learned one after the other have one noise variance",
            _ => "the methods ppca, vb, vb-fixed and vb-full learn a noise of each feature",
        };
        let stopping = |option: OptionName| {
            Phrase::new("its rounds end by ")
                .option(options::TOL)
                .text(": leave ")
                .option(option)
                .text(" out")
        };
        let (noise, feature) = (options::NOISE, self.noise.value());
        [
            (method.has_posterior(), learner.into()),
            (self.scale == Scaling::None, alone(options::SCALE, " out")),
            (self.mean_prior == MeanPrior::default(), alone(options::MEAN_PRIOR, unit)),
            (!self.learn_mean_prior, alone(options::LEARN_MEAN_PRIOR, unit)),
            (!self.row_offsets, alone(options::ROW_OFFSETS, unit)),
            (self.early_stopping.is_none(), stopping(options::EARLY_STOPPING)),
            (self.angle_tol.is_none(), stopping(options::ANGLE_TOL)),
            (self.rmse_tol.is_none(), stopping(options::RMSE_TOL)),
        ]
        .map(|(obeyed, rule)| (obeyed, noise, feature.clone(), rule))
        .into()
    }

    fn rules_of_runs(&self, has_start: bool) -> Vec<Rule> {
        let path = self.regularization == Some(Regularization::Path);
        vec![
            (
                self.n_runs() >= 1 && (self.n_runs() == 1 || !has_start),
                options::N_STARTS,
                self.n_starts.into(),
                "at least one start is needed, and just one where it is given".into(),
            ),
            (
                self.n_runs() <= MOST_STARTS,
                options::N_STARTS,
                self.n_starts.into(),
                "more than a million starts are more than a fit has time for".into(),
            ),
            (
                !path || (self.n_runs() == 1 && !has_start),
                options::N_STARTS,
                self.n_starts.into(),
                "a path of penalties has one random start".into(),
            ),
            (
                !self.refit || self.early_stopping.is_some(),
                options::REFIT,
                self.refit.into(),
                Phrase::new("without ").option(options::EARLY_STOPPING).text(" all entries were fitted"),
            ),
            (
                !self.refit || !has_start,
                options::REFIT,
                self.refit.into(),
                "a fit is made again from random starts, not from a given one".into(),
            ),
        ]
    }
}
