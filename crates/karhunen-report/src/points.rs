//! The samples of a page.

use karhunen::{Matrix, Scalar};
use serde::Serialize;

use crate::components::SHOWN;
use crate::names::Names;
use crate::numbers::{all_rounded, count, counted, rounded};
use crate::odd::OddRow;

/// Most samples that the page holds.
const MOST: usize = 10_000;
/// Most of them that are there because they are beyond a limit.
pub(crate) const MOST_ODD: usize = 5_000;

/// The reason of errors without a limit: their distribution is taken as a multiple of chi-squared, whose quantiles are below
/// the mean where a few rows have nearly all of the error.
pub(crate) const FEW_HAVE_ALL: &str = "SPE has no limit: a few samples have nearly all of the error, so that no limit of \
    normal samples follows from it. Sort the table by SPE, and fit again without those that do not belong.";

/// The samples of the page.
pub(crate) struct Rows {
    /// Sentences.
    pub(crate) sentences: Vec<String>,
    /// The numbers of the pictures.
    pub(crate) points: Points,
    /// The oddest samples and their features; `None` if they are not defined.
    pub(crate) odd: Option<Vec<OddRow>>,
    /// True if they are the rows of the fit.
    pub(crate) is_of_fit: bool,
}

/// The numbers of the pictures.
#[derive(Serialize)]
pub(crate) struct Points {
    names: Vec<String>,
    /// One list for each component.
    scores: Vec<Vec<f64>>,
    odd: Vec<bool>,
    t2: Distance,
    spe: Option<Distance>,
}

/// A distance of all samples.
#[derive(Serialize)]
pub(crate) struct Distance {
    /// The title of its axis and column.
    pub(crate) title: &'static str,
    pub(crate) values: Vec<f64>,
    pub(crate) limit: Option<f64>,
}

impl Distance {
    fn of_rows(self, rows: &[usize]) -> Self {
        Self { values: rows.iter().map(|i| rounded(self.values[*i])).collect(), ..self }
    }
}

impl Points {
    /// The samples of the page; `sizes` are their distances as multiples of their limits.
    pub(crate) fn of<T: Scalar>(
        scores: &Matrix<T>,
        names: &Names<'_>,
        shown: &[usize],
        sizes: &[f64],
        (t2, spe): (Distance, Option<Distance>),
    ) -> Self {
        let k = scores.n_cols().min(SHOWN);
        let of_component = |c: usize| {
            let column: Vec<f64> = shown.iter().map(|i| scores[(*i, c)].to_f64()).collect();
            all_rounded(&column)
        };
        Self {
            names: shown.iter().map(|i| names.of(*i)).collect(),
            scores: (0..k).map(of_component).collect(),
            odd: shown.iter().map(|i| sizes[*i] > 1.0).collect(),
            t2: t2.of_rows(shown),
            spe: spe.map(|spe| spe.of_rows(shown)),
        }
    }

    /// Returns true if the page has the picture of both distances.
    pub(crate) fn has_distances(&self) -> bool {
        self.spe.is_some()
    }
}

/// The rows of the page, in order: all, or those beyond a limit and others at equal distances.
pub(crate) fn shown(odd: &[usize], n: usize) -> Vec<usize> {
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

/// How many samples are beyond a limit, and how many the page holds.
pub(crate) fn sentences_of_shown(n_odd: usize, n_shown: usize, n: usize) -> Vec<String> {
    let mut sentences = vec![match n_odd {
        0 => "No sample is beyond a limit.".to_owned(),
        n => format!("{} beyond a limit.", counted_are(n)),
    }];
    if n_shown < n {
        sentences.push(format!(
            "The pictures and the table hold {} of {}: {} beyond a limit, and others at equal distances in the order of the \
             rows. karhunen diagnose writes the numbers of all.",
            count(n_shown),
            counted(n, "sample"),
            if n_odd > MOST_ODD { format!("the {} farthest", count(MOST_ODD)) } else { "all those".to_owned() },
        ));
    }
    sentences
}

/// `1 sample is`, `2 samples are`.
pub(crate) fn counted_are(n: usize) -> String {
    format!("{} {}", counted(n, "sample"), if n == 1 { "is" } else { "are" })
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
