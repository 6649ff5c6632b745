//! Validation of options.

use crate::error::{Error, Result};
use crate::incomplete::data::{Observed, Share};
use crate::incomplete::options::{IncompletePca, MeanMode, MeanPrior, Method, OnlineRule, Regularization};
use crate::incomplete::start::Start;
use crate::scalar::Scalar;

/// A validation rule: (satisfied, option, value, message).
type Rule = (bool, &'static str, String, &'static str);

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
            (Method::Online, Some(_)) => Err(Error::Option {
                option: "method",
                value: self.method.name().to_owned(),
                rule: "rows that are learned one after the other have no weights; repeat them",
            }),
            _ => Ok(()),
        }
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
        rules.extend(self.rules_of_stopping());
        rules.extend(self.rules_of_runs(has_start));
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
                "alpha",
                self.alpha.to_string(),
                "the power lies between 0 and 1",
            ),
            (
                self.alpha == default.alpha || method.uses_alpha(),
                "alpha",
                self.alpha.to_string(),
                "only the methods newton, cg and ridge have this power",
            ),
            (
                self.prior_variance.is_none_or(|v| positive(v) && method == Method::VbFixed),
                "prior_variance",
                given(self.prior_variance),
                "a variance is positive and finite, and only the method vb-fixed has one that is given",
            ),
            (
                (1..=MOST_INNER).contains(&self.inner_iterations),
                "inner_iterations",
                self.inner_iterations.to_string(),
                "at least one is needed, and more than 1000 change nothing any more",
            ),
            (
                self.inner_iterations == default.inner_iterations || method == Method::Ccd,
                "inner_iterations",
                self.inner_iterations.to_string(),
                "only the method ccd has inner iterations",
            ),
            (
                self.step.is_none_or(|step| positive(step) && method.uses_step()),
                "step",
                given(self.step),
                "a first learning rate is positive, and only gradient, natural and newton have one",
            ),
            (
                self.online_rule == OnlineRule::Diagonal || method == Method::Online,
                "online_rule",
                self.online_rule.name().to_owned(),
                "only the method online has this rule",
            ),
        ]
    }

    fn rules_of_penalties(&self) -> Vec<Rule> {
        let (method, regularization) = (self.method, self.regularization);
        let lambda = regularization.and_then(Regularization::size);
        let path = regularization == Some(Regularization::Path);
        let value = || regularization.map_or_else(String::new, |r| r.to_string());
        vec![
            (lambda.is_none_or(positive), "regularization", value(), "a penalty must be positive and finite"),
            (
                !(lambda.is_some() || path) || method.uses_penalties() || method.learns_variances(),
                "regularization",
                value(),
                "the methods em, imputation and online have no penalties; use als or soft",
            ),
            (
                regularization.is_none() || !method.learns_variances(),
                "regularization",
                value(),
                "the probabilistic and variational methods learn variances in place of penalties",
            ),
            (
                method != Method::Soft || !matches!(regularization, Some(Regularization::Weighted(_))),
                "regularization",
                value(),
                "the method soft shrinks all rows alike; use als for weighted penalties",
            ),
            (
                regularization != Some(Regularization::None)
                    || !matches!(method, Method::Als | Method::Ridge | Method::Soft),
                "regularization",
                value(),
                "the methods als, ridge and soft need a penalty; use em, cg or imputation for least squares",
            ),
            (
                !path || self.early_stopping.is_some(),
                "regularization",
                value(),
                "a path selects by held-out error: give `early_stopping`",
            ),
        ]
    }

    fn rules_of_mean(&self) -> Vec<Rule> {
        let MeanPrior { count, value } = self.mean_prior;
        vec![
            (
                count >= 0.0 && count.is_finite(),
                "mean_prior.count",
                count.to_string(),
                "the number of pseudo-observations is finite and not negative",
            ),
            (
                value.is_none_or(f64::is_finite),
                "mean_prior.value",
                given(value),
                "the value of pseudo-observations is finite",
            ),
            (
                self.mean != MeanMode::None || self.mean_prior == MeanPrior::default(),
                "mean_prior",
                count.to_string(),
                "without a mean there is no use for pseudo-observations",
            ),
        ]
    }

    fn rules_of_stopping(&self) -> Vec<Rule> {
        let tolerance = |option: &'static str, value: Option<f64>| {
            let rule = "a tolerance is positive and below one";
            (value.is_none_or(|x| x > 0.0 && x < 1.0), option, given(value), rule)
        };
        vec![
            (
                self.tol >= 0.0 && self.tol < 1.0,
                "tol",
                self.tol.to_string(),
                "a tolerance lies between 0 and 1, one excluded",
            ),
            tolerance("gradient_tol", self.gradient_tol),
            tolerance("angle_tol", self.angle_tol),
            tolerance("rmse_tol", self.rmse_tol),
            (
                self.gradient_tol.is_none() || self.chosen().0.minimises_f(),
                "gradient_tol",
                given(self.gradient_tol),
                "methods that learn variances or learn online do not follow the gradient of one cost",
            ),
            (
                self.early_stopping.is_none_or(Share::is_allowed),
                "early_stopping",
                given(self.early_stopping),
                Share::RULE,
            ),
            (self.max_iter >= 1, "max_iter", self.max_iter.to_string(), "at least one iteration is needed"),
        ]
    }

    fn rules_of_runs(&self, has_start: bool) -> Vec<Rule> {
        let path = self.regularization == Some(Regularization::Path);
        vec![
            (
                self.n_starts >= 1 && (self.n_starts == 1 || !has_start),
                "n_starts",
                self.n_starts.to_string(),
                "at least one start is needed, and just one where it is given",
            ),
            (
                self.n_starts <= MOST_STARTS,
                "n_starts",
                self.n_starts.to_string(),
                "more than a million starts are more than a fit has time for",
            ),
            (
                !path || (self.n_starts == 1 && !has_start),
                "n_starts",
                self.n_starts.to_string(),
                "a path of penalties has one random start",
            ),
            (
                !self.refit || self.early_stopping.is_some(),
                "refit",
                self.refit.to_string(),
                "without `early_stopping` all entries were fitted",
            ),
            (
                !self.refit || !has_start,
                "refit",
                self.refit.to_string(),
                "a fit is made again from random starts, not from a given one",
            ),
        ]
    }
}

/// Displays an optional value; an absent one satisfies every rule.
fn given(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
