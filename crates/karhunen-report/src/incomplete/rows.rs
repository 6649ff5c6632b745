//! The samples of data with missing values: scores, distances and limits.

use karhunen::diagnostics::{
    self, IncompleteSamples, SpeScale, incomplete_row_contributions_of, incomplete_samples,
};
use karhunen::rotation::RotatedModel;
use karhunen::{IncompleteModel, Observed, Run, Scalar};

use crate::names::Names;
use crate::numbers::{level as percent_of, percent, significant};
use crate::odd::{self, EXPLAINED, OddRow, largest};
use crate::origin::Origin;
use crate::points::{Distance, FEW_HAVE_ALL, Points, Rows, counted_are, sentences_of_shown, shown};
use crate::{Error, Report};

/// Distances of all rows with their limits; `None` where a distance has none.
struct Limited {
    found: IncompleteSamples,
    t2: Option<Vec<f64>>,
    spe: Option<Vec<f64>>,
    reasons: Vec<String>,
}

impl Rows {
    /// Computes the diagnostics of all rows.
    pub(crate) fn of_incomplete<T: Scalar>(
        model: &IncompleteModel,
        rows: &Observed<T>,
        (features, names): (&Names<'_>, &Names<'_>),
        report: &Report<'_>,
        rotated: Option<&RotatedModel<IncompleteModel>>,
        run: &Run<'_>,
    ) -> Result<Self, Error> {
        let (n, level, weights) = (rows.n_samples(), report.level, report.sample_weights);
        let found = incomplete_samples(model, rows, run)?;
        let scale = SpeScale::of_rows(&found, weights)?;
        let origin = Origin::of_incomplete(model, rows, &found);
        let scale = if origin == Origin::Fit { scale } else { SpeScale::of_model(model) };
        let limited = Limited::of(model, found, (origin.kind(), scale), level)?;
        let t2 = ratios(&limited.found.t2, limited.t2.as_deref(), &limited.found.t2_degrees);
        let spe = ratios(&limited.found.spe, limited.spe.as_deref(), &limited.found.spe_degrees);
        let sizes: Vec<f64> = t2.iter().zip(&spe).map(|(a, b)| a.max(*b)).collect();
        let order = odd::order(&sizes);
        let explained = limited.explained(model, rows, &order, (features, names), run)?;
        let shown = shown(&order, n);
        let mut sentences = vec![origin.sentence(n, model.n_samples())];
        sentences.extend(limited.sentences(level));
        sentences.extend(sentences_of_shown(order.len(), shown.len(), n));
        let limit = |limits: &Option<Vec<f64>>| limits.is_some().then_some(1.0);
        let t2_title = if limited.t2.is_some() { "T² over its limit" } else { "T² over its mean" };
        let spe_title = if limited.spe.is_some() { "SPE over its limit" } else { "SPE over its mean" };
        let distances = (
            Distance { title: t2_title, values: t2, limit: limit(&limited.t2) },
            Some(Distance { title: spe_title, values: spe, limit: limit(&limited.spe) }),
        );
        let points = match rotated {
            Some(rotated) => {
                let scores = rotated.of_scores(&limited.found.scores.scores)?;
                Points::of(&scores, names, &shown, &sizes, distances)
            }
            None => Points::of(&limited.found.scores.scores, names, &shown, &sizes, distances),
        };
        Ok(Self { sentences, points, odd: Some(explained), is_of_fit: origin == Origin::Fit })
    }
}

/// Distances as multiples of their limits, or without limits of their mean per degree of freedom.
fn ratios(values: &[f64], limits: Option<&[f64]>, degrees: &[usize]) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / degrees.iter().sum::<usize>().max(1) as f64;
    let unit = |i: usize| limits.map_or(mean * degrees[i] as f64, |limits| limits[i]);
    let ratio = |(i, value): (usize, &f64)| if unit(i) > 0.0 { value / unit(i) } else { 0.0 };
    values.iter().enumerate().map(ratio).collect()
}

impl Limited {
    fn of(
        model: &IncompleteModel,
        found: IncompleteSamples,
        (kind, scale): (diagnostics::Rows, SpeScale),
        level: f64,
    ) -> Result<Self, Error> {
        let mut reasons = Vec::new();
        let t2 = match found.t2_limits(model, level, kind) {
            Ok(limits) => Some(limits),
            Err(error @ karhunen::Error::Degenerate { .. }) => {
                reasons.push(format!("T² has no limit: {error}."));
                None
            }
            Err(error) => return Err(error.into()),
        };
        let spe = scale.limits(&found, level)?;
        let counted = || (0..spe.len()).filter(|i| found.spe_degrees[*i] > 0);
        let below_mean =
            counted().filter(|i| spe[*i] < scale.variance * found.spe_degrees[*i] as f64).count();
        let spe = if scale.variance == 0.0 {
            reasons.push("SPE has no limit: the errors are zero to rounding.".to_owned());
            None
        } else if 2 * below_mean > counted().count() {
            reasons.push(FEW_HAVE_ALL.to_owned());
            None
        } else {
            Some(spe)
        };
        Ok(Self { found, t2, spe, reasons })
    }

    /// The farthest rows, each with the entries that contribute most to the distance that is beyond its limit.
    fn explained<T: Scalar>(
        &self,
        model: &IncompleteModel,
        rows: &Observed<T>,
        order: &[usize],
        (features, samples): (&Names<'_>, &Names<'_>),
        run: &Run<'_>,
    ) -> Result<Vec<OddRow>, Error> {
        let order = &order[..order.len().min(EXPLAINED)];
        if order.is_empty() {
            return Ok(Vec::new());
        }
        let terms = incomplete_row_contributions_of(model, rows, order, run)?;
        let limited = |value: f64, limits: &Option<Vec<f64>>, i: usize| {
            let limit =
                limits.as_ref().map(|limits| limits[i]).filter(|limit| *limit > 0.0 && limit.is_finite());
            let text = match limit {
                Some(limit) => format!("{} (limit {})", significant(value, 4), significant(limit, 4)),
                None => significant(value, 4),
            };
            (text, limit.is_some_and(|limit| value > limit))
        };
        Ok(order
            .iter()
            .enumerate()
            .map(|(line, &i)| {
                let (t2, beyond_t2) = limited(self.found.t2[i], &self.t2, i);
                let (spe, beyond_spe) = limited(self.found.spe[i], &self.spe, i);
                let mut reasons = Vec::new();
                if beyond_t2 {
                    reasons.push(format!("T²: {}", largest(terms.t2.row(line), features)));
                }
                if beyond_spe {
                    let squares: Vec<f64> = terms.residuals.row(line).iter().map(|r| r * r).collect();
                    reasons.push(format!("SPE: {}", largest(&squares, features)));
                }
                OddRow { name: samples.of(i), t2, spe, reasons }
            })
            .collect())
    }

    fn sentences(&self, level: f64) -> Vec<String> {
        let sentence = |name: &str, values: &[f64], limits: &[f64], degrees: &[usize]| {
            let counted: Vec<usize> = (0..values.len()).filter(|i| degrees[*i] > 0).collect();
            let beyond = counted.iter().filter(|i| values[**i] > limits[**i]).count();
            format!(
                "{name}: {} beyond the limit within which {} of normal samples lie that have the same entries: {} of the \
                 samples, where {} are to be expected.",
                counted_are(beyond),
                percent_of(level),
                percent(beyond as f64 / counted.len().max(1) as f64),
                percent_of(1.0 - level),
            )
        };
        let found = &self.found;
        let t2 = self.t2.as_ref().map(|limits| {
            sentence("T² (distance within the components)", &found.t2, limits, &found.t2_degrees)
        });
        let spe = self.spe.as_ref().map(|limits| {
            sentence("SPE (squared distance from the components)", &found.spe, limits, &found.spe_degrees)
        });
        t2.into_iter().chain(spe).chain(self.reasons.iter().cloned()).collect()
    }
}
