//! Ranges of the numbers of a model, which may come from a damaged or edited file.

use crate::error::{Error, Result};
use crate::incomplete::factors::prior::NormalPrior;
use crate::incomplete::model::IncompleteParts;

type Rule = (fn(f64) -> bool, &'static str);

const FINITE: Rule = (f64::is_finite, "it must be finite");
const SIZE: Rule = (|x| x >= 0.0 && x.is_finite(), "it must be finite and not negative");
const POSITIVE: Rule = (|x| x > 0.0 && x.is_finite(), "it must be finite and positive");
/// Norms may exceed `f64` where variances do not.
const NORM: Rule = (|x| x >= 0.0, "it must not be negative");

impl IncompleteParts {
    /// Refuses numbers that no fit returns, and invalid options.
    pub(crate) fn check_values(&self) -> Result<()> {
        let total = [self.total_variance];
        let noise = [self.noise_variance];
        let offsets = self.row_offsets.as_deref().unwrap_or(&[]);
        let values: [(&'static str, &[f64], Rule); 12] = [
            ("components", self.components.as_slice(), FINITE),
            ("mean", &self.mean, FINITE),
            ("explained_variance", &self.explained_variance, SIZE),
            ("explained_variance_ratio", &self.explained_variance_ratio, SIZE),
            ("singular_values", &self.singular_values, NORM),
            ("total_variance", &total, SIZE),
            ("noise_variance", &noise, SIZE),
            ("scores", self.scores.as_slice(), FINITE),
            ("row_offsets", offsets, FINITE),
            ("mean_variance", &self.mean_variance, SIZE),
            ("prior", self.prior.precision.as_slice(), FINITE),
            ("prior", &self.prior.mean, FINITE),
        ];
        let empty: &[f64] = &[];
        let scales = [("scale", &self.scales.scale), ("feature_weights", &self.scales.weights)];
        let scales = scales.map(|(name, values)| (name, values.as_deref().unwrap_or(empty), POSITIVE));
        let residual = ("residual_variance", self.residual_variance.as_deref().unwrap_or(empty), SIZE);
        let of_features =
            ("feature_noise_variance", self.feature_noise_variance.as_deref().unwrap_or(empty), SIZE);
        let errors = self.conformal_errors.as_deref().unwrap_or(empty);
        let of_errors = ("conformal_errors", errors, SIZE);
        let of_means = self.mean_prior.map(|NormalPrior { mean, variance }| ([mean], [variance]));
        let of_means = of_means.iter().flat_map(|(mean, variance)| {
            [("mean_prior", mean.as_slice(), FINITE), ("mean_prior", variance.as_slice(), POSITIVE)]
        });
        let totals = self.row_totals.map(|totals| [totals.samples, totals.entries, totals.offset_variance]);
        // Deviates of more than one observation have degrees of freedom.
        let scale =
            self.spe_scale.map(|scale| [scale.variance, scale.dispersion, scale.n_observations - 1.0]);
        let scale = ("spe_scale", scale.as_ref().map_or(empty, |scale| &scale[..]), POSITIVE);
        let totals = ("row_totals", totals.as_ref().map_or(empty, |totals| &totals[..]), SIZE);
        let all = values
            .into_iter()
            .chain(scales)
            .chain([residual, of_features, of_errors, scale, totals])
            .chain(of_means);
        for (name, values, (obeys, rule)) in all {
            refuse(name, values.iter().copied().find(|x| !obeys(*x)), rule)?;
        }
        for (name, covariances) in [
            ("score_covariances", &self.score_covariances),
            ("loading_covariances", &self.loading_covariances),
        ] {
            let mut values = covariances.iter().flat_map(|covariances| &covariances.packed);
            refuse(name, values.find(|x| !x.is_finite()).map(|x| f64::from(*x)), FINITE.1)?;
            let unit = covariances.as_ref().map(|covariances| covariances.unit);
            refuse(name, unit.filter(|unit| !(POSITIVE.0)(*unit)), POSITIVE.1)?;
        }
        if !["f32", "f64"].contains(&self.dtype.as_str()) {
            let rule = "it must be f32 or f64";
            return Err(Error::ModelValue { name: "dtype", value: self.dtype.clone(), rule });
        }
        refuse("t2_factor", self.t2_factor.filter(|factor| !(POSITIVE.0)(*factor)), POSITIVE.1)?;
        self.check_conformal_errors(errors)?;
        self.options.check_alone(false)
    }

    fn check_conformal_errors(&self, errors: &[f64]) -> Result<()> {
        let name = "conformal_errors";
        let falls = errors.windows(2).find(|pair| pair[0] > pair[1]).map(|pair| pair[1]);
        refuse(name, falls, "they must ascend")?;
        if self.conformal_errors.is_some() && (errors.is_empty() || self.score_covariances.is_none()) {
            let (value, rule) = (errors.len().to_string(), "there are some, and error bars");
            return Err(Error::ModelValue { name, value, rule });
        }
        Ok(())
    }
}

fn refuse(name: &'static str, found: Option<f64>, rule: &'static str) -> Result<()> {
    match found {
        Some(value) => Err(Error::ModelValue { name, value: value.to_string(), rule }),
        None => Ok(()),
    }
}
