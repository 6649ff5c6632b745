//! The samples: scores, distances and limits.

use karhunen::diagnostics::{self, Samples, SpeDistribution, SpeLimit, samples_with, t2_limit};
use karhunen::{PcaModel, Run, Scalar, Source};
use serde::Serialize;

use crate::Error;
use crate::components::SHOWN;
use crate::names::Names;
use crate::numbers::{all_rounded, count, counted, level as percent_of, percent, rounded, significant};
use crate::odd::{self, OddRow};

/// Most samples that the page holds.
const MOST: usize = 10_000;
/// Most of them that are there because they are beyond a limit.
const MOST_ODD: usize = 5_000;

/// The samples of the page.
pub(crate) struct Rows {
    /// Sentences.
    pub(crate) sentences: Vec<String>,
    /// The numbers of the pictures.
    pub(crate) points: Points,
    /// The oddest samples and their features.
    pub(crate) odd: Vec<OddRow>,
}

/// The numbers of the pictures.
#[derive(Serialize)]
pub(crate) struct Points {
    names: Vec<String>,
    /// One list for each component.
    scores: Vec<Vec<f64>>,
    t2: Vec<f64>,
    spe: Vec<f64>,
    odd: Vec<bool>,
    t2_limit: Option<f64>,
    spe_limit: Option<f64>,
}

/// The limits of a level; `None` where there is none.
struct Limits {
    t2: Option<f64>,
    spe: Option<f64>,
    reasons: Vec<String>,
}

impl Rows {
    /// Computes the diagnostics of all rows.
    pub(crate) fn of<T: Scalar>(
        model: &PcaModel,
        x: &dyn Source<T>,
        (features, names): (&Names<'_>, &Names<'_>),
        level: f64,
        run: &Run<'_>,
    ) -> Result<Self, Error> {
        let kind =
            if x.shape().0 == model.n_samples() { diagnostics::Rows::Fitted } else { diagnostics::Rows::New };
        let found = samples_with(model, x, run)?;
        let limits = Limits::of(model, &found, level, kind)?;
        let sizes = odd::sizes(&found, (limits.t2, limits.spe));
        let order = odd::order(&sizes);
        let explained = odd::explained(model, x, &found, (limits.t2, limits.spe), &order, (features, names))?;
        let shown = shown(&order, sizes.len());
        let mut sentences = vec![origin(kind, found.t2.len(), model.n_samples())];
        sentences.extend(limits.sentences(&found, level));
        sentences.push(match order.len() {
            0 => "No sample is beyond a limit.".to_owned(),
            n => format!("{} beyond a limit.", counted_are(n)),
        });
        if shown.len() < sizes.len() {
            sentences.push(format!(
                "The pictures and the table hold {} of {}: {} beyond a limit, and others at equal distances in the order of the \
                 rows. `karhunen diagnose` writes the numbers of all.",
                count(shown.len()),
                counted(sizes.len(), "sample"),
                if order.len() > MOST_ODD {
                    format!("the {} farthest", count(MOST_ODD))
                } else {
                    "all those".to_owned()
                },
            ));
        }
        let points = Points::of(&found, names, &shown, &sizes, &limits);
        Ok(Self { sentences, points, odd: explained })
    }
}

impl Points {
    fn of<T: Scalar>(
        found: &Samples<T>,
        names: &Names<'_>,
        shown: &[usize],
        sizes: &[f64],
        limits: &Limits,
    ) -> Self {
        let k = found.scores.n_cols().min(SHOWN);
        let of_shown = |values: &[f64]| -> Vec<f64> { shown.iter().map(|i| rounded(values[*i])).collect() };
        let scores = (0..k)
            .map(|c| {
                let column: Vec<f64> = shown.iter().map(|i| found.scores[(*i, c)].to_f64()).collect();
                all_rounded(&column)
            })
            .collect();
        Self {
            names: shown.iter().map(|i| names.of(*i)).collect(),
            scores,
            t2: of_shown(&found.t2),
            spe: of_shown(&found.spe),
            odd: shown.iter().map(|i| sizes[*i] > 1.0).collect(),
            t2_limit: limits.t2,
            spe_limit: limits.spe,
        }
    }
}

impl Limits {
    fn of<T: Scalar>(
        model: &PcaModel,
        found: &Samples<T>,
        level: f64,
        kind: diagnostics::Rows,
    ) -> Result<Self, Error> {
        let mut reasons = Vec::new();
        let t2 = match t2_limit(model, level, kind) {
            Ok(limit) => Some(limit).filter(|limit| *limit > 0.0),
            Err(error @ karhunen::Error::Degenerate { .. }) => {
                reasons.push(format!("T² has no limit: {error}."));
                None
            }
            Err(error) => return Err(error.into()),
        };
        let spe = match kind {
            diagnostics::Rows::New => {
                reasons.push(
                    "SPE has no limit here: it follows from the errors of the rows of the fit, which are not given.".to_owned(),
                );
                None
            }
            diagnostics::Rows::Fitted => {
                let spread = SpeDistribution::of_rows(&found.spe, &found.distance2, None)?;
                let limit = spread.limit(level, SpeLimit::Box)?;
                if limit.is_infinite() {
                    reasons.push("SPE has no limit: the components explain all variance.".to_owned());
                }
                Some(limit).filter(|limit| limit.is_finite())
            }
        };
        Ok(Self { t2, spe, reasons })
    }

    fn sentences<T>(&self, found: &Samples<T>, level: f64) -> Vec<String> {
        let sentence = |name: &str, values: &[f64], limit: f64| {
            let n = values.len();
            let beyond = values.iter().filter(|value| **value > limit).count();
            format!(
                "{name}: {} beyond {}, the limit within which {} of normal samples lie; {} were to be expected, {} are ({}).",
                counted_are(beyond),
                significant(limit, 4),
                percent_of(level),
                significant((1.0 - level) * n as f64, 3),
                count(beyond),
                percent(beyond as f64 / n.max(1) as f64),
            )
        };
        let t2 = self.t2.map(|limit| sentence("T² (distance within the components)", &found.t2, limit));
        let spe =
            self.spe.map(|limit| sentence("SPE (squared distance from the components)", &found.spe, limit));
        t2.into_iter().chain(spe).chain(self.reasons.iter().cloned()).collect()
    }
}

fn counted_are(n: usize) -> String {
    format!("{} {}", counted(n, "sample"), if n == 1 { "is" } else { "are" })
}

fn origin(kind: diagnostics::Rows, n: usize, n_fitted: usize) -> String {
    match kind {
        diagnostics::Rows::Fitted => format!(
            "{} are given, as many as were fitted; they are taken to be those of the fit, equally weighted.",
            counted(n, "sample")
        ),
        diagnostics::Rows::New => format!(
            "{} are given, and {} were fitted; they are taken to be new.",
            counted(n, "sample"),
            count(n_fitted)
        ),
    }
}

/// The rows of the page, in order: all, or those beyond a limit and others at equal distances.
fn shown(odd: &[usize], n: usize) -> Vec<usize> {
    if n <= MOST {
        return (0..n).collect();
    }
    let mut is_shown = vec![false; n];
    odd.iter().take(MOST_ODD).for_each(|i| is_shown[*i] = true);
    let others: Vec<usize> = (0..n).filter(|i| !is_shown[*i]).collect();
    let wanted = MOST - odd.len().min(MOST_ODD);
    (0..wanted).for_each(|step| is_shown[others[step * others.len() / wanted]] = true);
    (0..n).filter(|i| is_shown[*i]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_holds_odd_rows_and_others_evenly() {
        assert_eq!(shown(&[3], 5), [0, 1, 2, 3, 4]);
        let odd: Vec<usize> = (0..7_000).map(|i| 100_000 - 1 - i).collect();
        let rows = shown(&odd, 100_000);
        assert_eq!(rows.len(), MOST);
        assert!(rows.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(odd[..MOST_ODD].iter().all(|i| rows.binary_search(i).is_ok()));
        assert_eq!(rows[..3], [0, 19, 38]);
    }
}
