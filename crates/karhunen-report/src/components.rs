//! What each component is about: its strongest features, in a sentence.

use karhunen::diagnostics::Features;
use serde::Serialize;

use crate::names::{Names, listed};
use crate::numbers::{counted, percent, signed, significant};

/// Most components that the page describes and draws; their variances are listed to 100.
pub(crate) const SHOWN: usize = 10;
/// Most components in the table of variances.
pub(crate) const LISTED: usize = 100;
/// Most features that a sentence names with each sign.
const NAMED: usize = 4;

/// The leading components of a model.
pub(crate) struct Leading<'a> {
    /// The name of a component.
    pub(crate) name: fn(usize) -> String,
    pub(crate) variances: &'a [f64],
    /// Shares of the total.
    pub(crate) ratios: &'a [f64],
    /// Relative residuals, if the route has them.
    pub(crate) residuals: Option<&'a [f64]>,
}

/// A component in the table of variances; numbers are rounded texts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ComponentRow {
    /// Its name.
    pub name: String,
    /// Variance along it.
    pub variance: String,
    /// Its share of the total variance.
    pub ratio: String,
    /// The sum of the shares up to it.
    pub cumulative: String,
    /// Its residual, relative to the largest variance, if the route has residuals.
    pub residual: Option<String>,
    /// The features that it goes with; empty beyond the tenth, and where features are unknown.
    pub sentence: String,
}

/// `One component was kept`, `2 components were kept`.
pub(crate) fn kept(n: usize) -> String {
    if n == 1 {
        "One component was kept".to_owned()
    } else {
        format!("{} were kept", counted(n, "component"))
    }
}

/// `One component was kept; it explains`, `2 components were kept; together they explain`.
pub(crate) fn kept_explain(n: usize) -> String {
    format!("{}; {}", kept(n), if n == 1 { "it explains" } else { "together they explain" })
}

impl Leading<'_> {
    /// The rows of the table of variances; `found` describes the components, if their features are known.
    pub(crate) fn table(&self, found: Option<(&Features, &Names<'_>)>) -> Vec<ComponentRow> {
        let mut sum = 0.0;
        (0..self.variances.len().min(LISTED))
            .map(|k| {
                sum += self.ratios[k];
                ComponentRow {
                    name: (self.name)(k),
                    variance: significant(self.variances[k], 4),
                    ratio: percent(self.ratios[k]),
                    cumulative: percent(sum),
                    residual: self.residuals.map(|residuals| significant(residuals[k], 2)),
                    sentence: match found {
                        Some((found, names)) if k < SHOWN => sentence(found, names, k, &(self.name)(k)),
                        _ => String::new(),
                    },
                }
            })
            .collect()
    }

    /// The series of the scree plot.
    pub(crate) fn scree(&self, standard_errors: Vec<f64>) -> Scree {
        let n = self.variances.len().min(LISTED);
        Scree {
            names: (0..n).map(self.name).collect(),
            n_shown: n.min(SHOWN),
            variance: self.variances[..n].to_vec(),
            ratio: self.ratios[..n].to_vec(),
            standard_errors,
        }
    }
}

/// The features with the largest contributions, by the sign of their correlation. Features with less than an equal share
/// are left out.
fn sentence(found: &Features, names: &Names<'_>, k: usize, name: &str) -> String {
    let p = found.contributions.n_rows();
    let share = |j: usize| found.contributions[(j, k)];
    let mut order: Vec<usize> = (0..p).filter(|j| share(*j) * p as f64 >= 1.0 - 1e-9).collect();
    order.sort_by(|a, b| share(*b).total_cmp(&share(*a)).then(a.cmp(b)));
    let side = |positive: bool| -> Vec<String> {
        order
            .iter()
            .map(|j| (*j, found.correlations[(*j, k)]))
            .filter(|(_, r)| if positive { *r > 0.0 } else { *r < 0.0 })
            .take(NAMED)
            .map(|(j, r)| format!("{} ({})", names.in_text(j), signed(r)))
            .collect()
    };
    let (rises, falls) = (listed(&side(true)), listed(&side(false)));
    match (rises.is_empty(), falls.is_empty()) {
        (true, true) => format!("No feature varies with {name}."),
        (false, true) => format!("{name} rises with {rises}."),
        (true, false) => format!("{name} falls as these rise: {falls}."),
        (false, false) => format!("{name} rises with {rises}, and falls as these rise: {falls}."),
    }
}

/// The series of the scree plot.
#[derive(Serialize)]
pub(crate) struct Scree {
    names: Vec<String>,
    n_shown: usize,
    variance: Vec<f64>,
    ratio: Vec<f64>,
    standard_errors: Vec<f64>,
}
