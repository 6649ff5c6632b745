//! Where values are missing, and how certain their predictions are.

use karhunen::{IncompleteModel, Observed, Run, Scalar};
use serde::Serialize;

use crate::Error;
use crate::names::{Names, listed};
use crate::numbers::{count, counted, percent, rounded, significant};

/// Most features that the page holds.
const MOST: usize = 1000;
/// Most missing values whose predictions are computed.
const PREDICTED: usize = 50_000;
/// Features named in the sentences.
const NAMED: usize = 5;

/// Missing values of the features.
pub(crate) struct Missing {
    /// Sentences.
    pub(crate) sentences: Vec<String>,
    pub(crate) table: MissingTable,
}

/// The numbers of the table of missing values.
#[derive(Serialize)]
pub(crate) struct MissingTable {
    names: Vec<String>,
    /// Share of the samples without a value.
    share: Vec<f64>,
    /// Standard deviation of each feature by the fit.
    deviation: Vec<f64>,
    /// Root mean squared standard deviation of predicted missing values, noise included; NaN if there are none.
    uncertainty: Option<Vec<f64>>,
}

impl Missing {
    /// Missing values by the counts of a model.
    pub(crate) fn of_model(model: &IncompleteModel, names: &Names<'_>) -> Self {
        Self::new(model, model.n_samples(), &model.parts().n_observed, names, None)
    }

    /// Missing values of rows, and the deviations of their predictions if the rows are the rows of the fit.
    pub(crate) fn of_rows<T: Scalar>(
        model: &IncompleteModel,
        rows: &Observed<T>,
        names: &Names<'_>,
        is_of_fit: bool,
        run: &Run<'_>,
    ) -> Result<Self, Error> {
        let n_observed: Vec<usize> = (0..rows.n_features()).map(|j| rows.n_observed_in_column(j)).collect();
        let uncertainty = match model.score_covariances() {
            Some(_) if is_of_fit => Some(uncertainty(model, rows, run)?),
            _ => None,
        };
        let mut missing = Self::new(model, rows.n_samples(), &n_observed, names, uncertainty);
        let complete =
            (0..rows.n_samples()).filter(|i| rows.n_observed_in_row(*i) == rows.n_features()).count();
        let empty = (0..rows.n_samples()).filter(|i| rows.n_observed_in_row(*i) == 0).count();
        missing.sentences.push(format!(
            "{} of {} have no missing value{}.",
            count(complete),
            counted(rows.n_samples(), "sample"),
            match empty {
                0 => String::new(),
                n => format!(", and {} no value at all", count(n)),
            },
        ));
        Ok(missing)
    }

    fn new(
        model: &IncompleteModel,
        n: usize,
        n_observed: &[usize],
        names: &Names<'_>,
        uncertainty: Option<Vec<f64>>,
    ) -> Self {
        let p = n_observed.len();
        let share = |j: usize| 1.0 - n_observed[j] as f64 / n.max(1) as f64;
        let mut order: Vec<usize> = (0..p).collect();
        order.sort_by(|a, b| n_observed[*a].cmp(&n_observed[*b]).then(a.cmp(b)));
        let deviation: Vec<f64> = model.feature_variance().iter().map(|variance| variance.sqrt()).collect();
        let sentences = sentences(n, n_observed, &order, names, uncertainty.as_deref(), &deviation);
        order.truncate(MOST);
        order.sort_unstable();
        let chosen = |values: &[f64]| order.iter().map(|j| rounded(values[*j])).collect();
        Self {
            sentences,
            table: MissingTable {
                names: order.iter().map(|j| names.of(*j)).collect(),
                share: order.iter().map(|j| rounded(share(*j))).collect(),
                deviation: chosen(&deviation),
                uncertainty: uncertainty.as_deref().map(chosen),
            },
        }
    }
}

fn sentences(
    n: usize,
    n_observed: &[usize],
    order: &[usize],
    names: &Names<'_>,
    uncertainty: Option<&[f64]>,
    deviation: &[f64],
) -> Vec<String> {
    let (p, observed) = (n_observed.len(), n_observed.iter().sum::<usize>());
    let n_missing = n * p - observed;
    let mut sentences = vec![format!(
        "{} of {} entries are missing ({}).",
        count(n_missing),
        count(n * p),
        percent(n_missing as f64 / (n * p).max(1) as f64),
    )];
    if n_missing == 0 {
        return sentences;
    }
    let most: Vec<String> = order
        .iter()
        .filter(|j| n_observed[**j] < n)
        .take(NAMED)
        .map(|j| format!("{} ({})", names.in_text(*j), percent(1.0 - n_observed[*j] as f64 / n as f64)))
        .collect();
    let affected = n_observed.iter().filter(|found| **found < n).count();
    sentences.push(format!(
        "{} of {} have missing values, most of them {}.",
        count(affected),
        counted(p, "feature"),
        listed(&most),
    ));
    let empty = n_observed.iter().filter(|found| **found == 0).count();
    if empty > 0 {
        sentences.push(format!(
            "{} no value at all; nothing is learned about {}.",
            if empty == 1 {
                "1 feature has".to_owned()
            } else {
                format!("{} have", counted(empty, "feature"))
            },
            if empty == 1 { "it" } else { "them" },
        ));
    }
    match uncertainty {
        Some(found) => {
            let ratios = || (0..p).map(|j| found[j] / deviation[j]).filter(|ratio| ratio.is_finite());
            if let (Some(least), Some(most)) =
                (ratios().min_by(f64::total_cmp), ratios().max_by(f64::total_cmp))
            {
                // Deviations follow from the entries that were fitted: held-out entries say which is predicted best.
                sentences.push(format!(
                    "By the model, with the noise of each feature, a predicted missing value has a standard \
                     deviation of {} to {} times the deviation of its feature; 1 means that the other \
                     features say nothing. Which features are predicted well is what \
                     cross-validation says, by entries that are held out.",
                    significant(least, 3),
                    significant(most, 3),
                ));
            }
        }
        None => sentences.push(
            "How certain predictions are is shown for the samples of the fit, if it kept error bars."
                .to_owned(),
        ),
    }
    sentences
}

/// Root mean squared standard deviation of the predicted missing values of each feature, noise included; of many, only
/// of values at equal distances in the order of the rows.
fn uncertainty<T: Scalar>(
    model: &IncompleteModel,
    rows: &Observed<T>,
    run: &Run<'_>,
) -> Result<Vec<f64>, Error> {
    let (n, p) = rows.shape();
    let n_missing = n * p - rows.n_observed();
    let step = n_missing.div_ceil(PREDICTED).max(1);
    let (mut at, mut lines, mut columns) = (0, Vec::<u64>::new(), Vec::<u64>::new());
    for row in 0..n {
        let mut seen = rows.row(row).0.iter().copied().peekable();
        for column in 0..p as u32 {
            if seen.next_if_eq(&column).is_some() {
                continue;
            }
            if at % step == 0 {
                lines.push(row as u64);
                columns.push(u64::from(column));
            }
            at += 1;
        }
    }
    let predicted = model.predict_pairs(&lines, &columns, Some(true), run)?;
    let (mut sums, mut counts) = (vec![0.0; p], vec![0.0; p]);
    for (at, column) in columns.iter().enumerate() {
        sums[*column as usize] += predicted[(at, 1)].powi(2);
        counts[*column as usize] += 1.0;
    }
    Ok(sums.iter().zip(&counts).map(|(sum, n)| if *n > 0.0 { (sum / n).sqrt() } else { f64::NAN }).collect())
}
