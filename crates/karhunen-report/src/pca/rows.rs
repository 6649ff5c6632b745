//! The samples of complete data: scores, distances and limits.

use karhunen::diagnostics::{self, Samples, SpeDistribution, SpeLimit, samples_with, t2_limit};
use karhunen::pca::NewRows;
use karhunen::rotation::Rotation;
use karhunen::{PcaModel, Run, Scalar, Source};

use crate::names::Names;
use crate::numbers::{level as percent_of, percent, significant};
use crate::odd;
use crate::origin::Origin;
use crate::pca::odd::{explained, sizes};
use crate::points::{Distance, FEW_HAVE_ALL, Points, Rows, counted_are, sentences_of_shown, shown};
use crate::{Error, Report};

/// The limits of a level; `None` where there is none.
struct Limits {
    t2: Option<f64>,
    spe: Option<f64>,
    reasons: Vec<String>,
}

impl Rows {
    /// Computes the diagnostics of all rows; the scores are of the rotated components, if there is a rotation.
    pub(crate) fn of_complete<T: Scalar>(
        model: &PcaModel,
        x: &dyn Source<T>,
        (features, names): (&Names<'_>, &Names<'_>),
        report: &Report<'_>,
        rotation: Option<&Rotation>,
        run: &Run<'_>,
    ) -> Result<Self, Error> {
        let (level, weights) = (report.level, report.sample_weights);
        let found = samples_with(model, x, run)?;
        let spread = SpeDistribution::of_rows(&found.spe, &found.distance2, weights)?;
        let origin = Origin::of_complete(model, &found, weights);
        let mut limits = Limits::of(model, spread, level, origin.kind())?;
        if origin == Origin::Fit && limits.spe.is_some() && limits.t2.is_some() {
            let new_rows = match model.new_rows() {
                Some(kept) => kept,
                None => NewRows::of_distances(model, found.distances(), x, weights, run)?,
            };
            let of_new = new_rows.limits(model, model.n_observations(), (level, SpeLimit::Box))?;
            let [t2, spe] = of_new.map(|limit| significant(limit, 4));
            limits.reasons.push(format!(
                "T² and SPE of new samples have the limits {t2} and {spe}, by samples left out of the fit: components follow the \
                 samples that they are fitted to."
            ));
        }
        let sizes = sizes(&found, (limits.t2, limits.spe));
        let order = odd::order(&sizes);
        let explained = explained(model, x, &found, (limits.t2, limits.spe), &order, (features, names))?;
        let shown = shown(&order, sizes.len());
        let mut sentences = vec![origin.sentence(found.t2.len(), model.n_samples())];
        let weights = weights.filter(|_| origin == Origin::Fit);
        sentences.extend(limits.sentences(&found, weights, level));
        sentences.extend(sentences_of_shown(order.len(), shown.len(), sizes.len()));
        let Samples { scores, t2, spe, .. } = found;
        let distances = (
            Distance { title: "T²", values: t2, limit: limits.t2 },
            Some(Distance { title: "SPE", values: spe, limit: limits.spe }),
        );
        let scores = match rotation {
            Some(rotation) => rotation.scores(&scores, model.explained_variance())?,
            None => scores,
        };
        let points = Points::of(&scores, names, &shown, &sizes, distances);
        Ok(Self { sentences, points, odd: Some(explained), is_of_fit: origin == Origin::Fit })
    }
}

impl Limits {
    fn of(
        model: &PcaModel,
        spread: SpeDistribution,
        level: f64,
        kind: diagnostics::Rows,
    ) -> Result<Self, Error> {
        let mut reasons = Vec::new();
        let new_rows = model.new_rows().filter(|_| kind == diagnostics::Rows::New);
        let factor = new_rows.map_or(1.0, |new_rows| new_rows.t2_factor);
        let t2 = match t2_limit(model, level, kind).map(|limit| limit * factor) {
            Ok(limit) if limit > 0.0 => Some(limit),
            Ok(_) => {
                reasons.push("T² has no limit: no component has variance.".to_owned());
                None
            }
            Err(error @ karhunen::Error::Degenerate { .. }) => {
                reasons.push(format!("T² has no limit: {error}."));
                None
            }
            Err(error) => return Err(error.into()),
        };
        let spread = match (kind, new_rows) {
            (diagnostics::Rows::Fitted, _) => Some(spread),
            (diagnostics::Rows::New, new_rows) => new_rows.map(|new_rows| new_rows.spe_distribution()),
        };
        let spe = match spread {
            None => {
                reasons.push(
                    "SPE has no limit here: it follows from the errors of the rows of the fit. Keep it in the model with --limits \
                     of fit, or Monitor.keep in Python."
                        .to_owned(),
                );
                None
            }
            Some(spread) => {
                let limit = spread.limit(level, SpeLimit::Box)?;
                if limit.is_infinite() {
                    reasons.push("SPE has no limit: the errors are zero to rounding.".to_owned());
                } else if limit < spread.mean {
                    reasons.push(FEW_HAVE_ALL.to_owned());
                }
                Some(limit).filter(|limit| limit.is_finite() && *limit >= spread.mean)
            }
        };
        Ok(Self { t2, spe, reasons })
    }

    fn sentences<T>(&self, found: &Samples<T>, weights: Option<&[f64]>, level: f64) -> Vec<String> {
        let sentence = |name: &str, values: &[f64], limit: f64| {
            let n = values.len();
            let beyond = values.iter().filter(|value| **value > limit).count();
            let of_weights = weights.map_or_else(String::new, |weights| {
                let far: f64 =
                    weights.iter().zip(values).filter(|(_, value)| **value > limit).map(|(w, _)| w).sum();
                format!(" ({} of their weight)", percent(far / weights.iter().sum::<f64>()))
            });
            format!(
                "{name}: {} beyond {}, the limit within which {} of normal samples lie: {} of the samples{of_weights}, where {} \
                 are to be expected.",
                counted_are(beyond),
                significant(limit, 4),
                percent_of(level),
                percent(beyond as f64 / n.max(1) as f64),
                percent_of(1.0 - level),
            )
        };
        let t2 = self.t2.map(|limit| sentence("T² (distance within the components)", &found.t2, limit));
        let spe =
            self.spe.map(|limit| sentence("SPE (squared distance from the components)", &found.spe, limit));
        t2.into_iter().chain(spe).chain(self.reasons.iter().cloned()).collect()
    }
}
