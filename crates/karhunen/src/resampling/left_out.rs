//! Rows and groups of rows that fits leave out.

use crate::error::{Error, OptionName, OptionValue, Result, options};
use crate::linalg::Matrix;
use crate::random::{Generator, Purpose, shuffle};
use crate::resampling::groups::Groups;
use crate::resampling::interval::Spread;
use crate::weights::{NormalizedWeights, Weighting};

/// The number of groups in errors.
pub(super) const N_GROUPS: OptionName = OptionName::new("n_groups");
/// Fewest rows of positive weight, and fewest groups.
const FEWEST: usize = 3;
/// Most observations of frequency weights that are left out one by one: the difference of two fits is then a part of
/// the value that keeps five digits despite rounding.
const MOST_OBSERVATIONS: f64 = 1e10;
/// Most observations of frequency weights that are divided into groups, one by one.
const MOST_DIVIDED: f64 = 1e7;

/// The parts of the data that fits leave out, one each.
pub(super) struct LeftOut {
    /// Weight of each row.
    weights: Vec<f64>,
    parts: Parts,
    /// Number of observations in each part.
    sizes: Vec<f64>,
    /// Number of parts that are alike, for each fit.
    times: Vec<f64>,
    /// Number of observations.
    n: f64,
    /// The number of observations that the weights mean, or of groups, effective where weights are unequal.
    effective: f64,
}

/// The parts that rows are divided into.
pub(super) enum Divided<'a> {
    /// Single observations.
    Rows,
    /// Groups drawn at random: their number, and a seed.
    AtRandom(usize, u64),
    /// Groups that are given, one number for each row.
    Given(&'a [usize]),
}

enum Parts {
    /// One observation of a row, or a row whose weight is not a count; with the weight that is left.
    Single(Vec<(usize, f64)>),
    /// The group of each row.
    Groups(Vec<usize>),
    /// The observations of each row in each group, shape (n_groups, n_rows).
    Counts(Matrix),
}

impl LeftOut {
    /// Parts of the data of a fit with weights of this meaning: frequency weights count observations, of which one is
    /// left out; rows of other weights are left out whole.
    ///
    /// # Errors
    /// As for the weights of a fit; [`Error::Shape`] unless three rows or more have positive weight;
    /// [`Error::Option`] for fewer than three groups, more groups than observations, groups of weights that are not
    /// whole or count more than 1e7 observations, and weights of more than 1e10 observations without groups;
    /// [`Error::Memory`].
    pub(super) fn new(
        weights: Option<&[f64]>,
        weighting: Weighting,
        n: usize,
        divided: Divided<'_>,
    ) -> Result<Self> {
        let totals = NormalizedWeights::new(weights, n)?.totals;
        totals.correction(weighting)?;
        let weights = weights.map_or_else(|| vec![1.0; n], <[f64]>::to_vec);
        let rows: Vec<usize> = (0..n).filter(|row| weights[*row] > 0.0).collect();
        if rows.len() < FEWEST {
            let (what, axis) = ("the data of a jackknife", "rows of positive weight");
            return Err(Error::Shape { what, axis, found: rows.len(), expected: FEWEST });
        }
        let counted = weighting == Weighting::Frequency && rows.iter().any(|row| weights[*row] != 1.0);
        let effective = totals.n_observations(weighting);
        match divided {
            Divided::Rows => Self::single(weights, &rows, counted, effective),
            Divided::AtRandom(n_groups, seed) => {
                Self::grouped(weights, &rows, counted, (n_groups, seed), effective)
            }
            Divided::Given(groups) => Self::given(weights, counted, groups),
        }
    }

    /// Groups that are given, whose sizes are their observations.
    fn given(weights: Vec<f64>, counted: bool, groups: &[usize]) -> Result<Self> {
        let groups = Groups::new(groups, &weights)?;
        let effective = groups.effective();
        let sizes = if counted { groups.weights } else { groups.n_rows };
        let (times, n) = (vec![1.0; sizes.len()], sizes.iter().sum());
        Ok(Self { weights, parts: Parts::Groups(groups.of_row), sizes, times, n, effective })
    }

    fn single(weights: Vec<f64>, rows: &[usize], counted: bool, effective: f64) -> Result<Self> {
        let (mut sizes, mut times) = (vec![1.0; rows.len()], vec![1.0; rows.len()]);
        let mut parts: Vec<(usize, f64)> = rows.iter().map(|row| (*row, 0.0)).collect();
        let mut n = rows.len() as f64;
        if counted {
            n = rows.iter().map(|row| weights[*row]).sum();
            if n > MOST_OBSERVATIONS {
                return Err(Error::option(
                    options::SAMPLE_WEIGHTS,
                    OptionValue::Given,
                    format!(
                        "they count {n:e} observations, and leaving out one of more than {MOST_OBSERVATIONS:e} \
                         changes a fit by little more than rounding; divide the weights, if they are not \
                         counts, or make a bootstrap"
                    ),
                ));
            }
            for (part, (row, left)) in parts.iter_mut().enumerate() {
                // A part of an observation is left out whole.
                sizes[part] = weights[*row].min(1.0);
                times[part] = weights[*row] / sizes[part];
                *left = weights[*row] - sizes[part];
            }
        }
        Ok(Self { weights, parts: Parts::Single(parts), sizes, times, n, effective })
    }

    fn grouped(
        weights: Vec<f64>,
        rows: &[usize],
        counted: bool,
        (n_groups, seed): (usize, u64),
        effective: f64,
    ) -> Result<Self> {
        if counted && rows.iter().any(|row| weights[*row].fract() != 0.0) {
            return Err(Error::option(
                N_GROUPS,
                n_groups,
                "frequency weights count observations, and only whole numbers of them can be divided into groups",
            ));
        }
        let n = if counted { rows.iter().map(|row| weights[*row]).sum() } else { rows.len() as f64 };
        if n_groups < FEWEST || n_groups as f64 > n {
            let rule =
                format!("there are at least {FEWEST} groups, and at most as many as the {n} observations");
            return Err(Error::option(N_GROUPS, n_groups, rule));
        }
        if counted && n > MOST_DIVIDED {
            let rule = format!(
                "groups are of at most {MOST_DIVIDED:e} observations, and the weights count {n:e}; leave out single ones, \
                 for a fit per row"
            );
            return Err(Error::option(N_GROUPS, n_groups, rule));
        }
        let mut generator = Purpose::Jackknife.of(seed).generator();
        let whole = (n / n_groups as f64).floor();
        let one_more = (n - whole * n_groups as f64) as usize;
        let sizes: Vec<f64> =
            (0..n_groups).map(|group| if group < one_more { whole + 1.0 } else { whole }).collect();
        let parts = if counted {
            Parts::Counts(divided(&weights, &sizes, &mut generator)?)
        } else {
            let mut order = rows.to_vec();
            shuffle(&mut order, &mut generator);
            let mut groups = vec![n_groups; weights.len()];
            order.iter().enumerate().for_each(|(place, row)| groups[*row] = place % n_groups);
            Parts::Groups(groups)
        };
        Ok(Self { weights, parts, sizes, times: vec![1.0; n_groups], n, effective })
    }

    /// Number of fits.
    pub(super) fn n_fits(&self) -> usize {
        self.sizes.len()
    }

    /// Number of parts; several alike have one fit.
    pub(super) fn n_parts(&self) -> f64 {
        self.times.iter().sum()
    }

    /// The number of parts, or of observations that the weights mean if these are fewer.
    pub(super) fn n_observations(&self) -> f64 {
        self.n_parts().min(self.effective)
    }

    /// The weights of all rows without a part.
    pub(super) fn weights_without(&self, part: usize) -> Vec<f64> {
        let mut weights = self.weights.clone();
        match &self.parts {
            Parts::Single(parts) => weights[parts[part].0] = parts[part].1,
            Parts::Groups(groups) => {
                weights
                    .iter_mut()
                    .zip(groups)
                    .filter(|(_, group)| **group == part)
                    .for_each(|(w, _)| *w = 0.0);
            }
            Parts::Counts(counts) => {
                weights.iter_mut().zip(counts.row(part)).for_each(|(weight, count)| *weight -= count);
            }
        }
        weights
    }

    /// Standard error and bias by the values without each part: the formulas of [`super::Jackknife`], in differences
    /// from the estimate.
    pub(super) fn spread(&self, values: &[f64], estimate: f64) -> Spread {
        let parts = || values.iter().zip(&self.sizes).zip(&self.times);
        let bias: f64 = parts().map(|((x, m), times)| times * (1.0 - m / self.n) * (x - estimate)).sum();
        let squares: f64 = parts()
            .map(|((x, m), times)| {
                let others = self.n / m - 1.0;
                times * (others * (x - estimate) - bias).powi(2) / others
            })
            .sum();
        Spread { error: (squares / self.n_parts()).sqrt(), bias }
    }
}

/// Divides the observations of all rows into groups of given sizes at random, shape (n_groups, n_rows).
fn divided(weights: &[f64], sizes: &[f64], generator: &mut Generator) -> Result<Matrix> {
    let mut counts = Matrix::try_zeros("the observations of all groups", sizes.len(), weights.len())?;
    let mut groups: Vec<usize> = sizes
        .iter()
        .enumerate()
        .flat_map(|(group, size)| std::iter::repeat_n(group, *size as usize))
        .collect();
    shuffle(&mut groups, generator);
    let rows = weights.iter().enumerate();
    let observations = rows.flat_map(|(row, weight)| std::iter::repeat_n(row, *weight as usize));
    groups.into_iter().zip(observations).for_each(|(group, row)| counts[(group, row)] += 1.0);
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The jackknife of the mean has the standard error of the textbook.
    fn of_mean(x: &[f64], weights: Option<&[f64]>, weighting: Weighting, groups: Option<usize>) -> Spread {
        let divided = groups.map_or(Divided::Rows, |n_groups| Divided::AtRandom(n_groups, 3));
        let parts = LeftOut::new(weights, weighting, x.len(), divided).unwrap();
        let mean = |weights: &[f64]| -> f64 {
            let sum: f64 = weights.iter().sum();
            weights.iter().zip(x).map(|(w, x)| w * x).sum::<f64>() / sum
        };
        let values: Vec<f64> = (0..parts.n_fits()).map(|part| mean(&parts.weights_without(part))).collect();
        parts.spread(&values, mean(&parts.weights))
    }

    #[test]
    fn the_error_of_a_mean_matches_the_textbook() {
        let x: Vec<f64> = (0..40).map(|i| f64::from(i * i % 17)).collect();
        let counts: Vec<f64> = (0..40).map(|i| f64::from(i % 4)).collect();
        let repeated: Vec<f64> =
            x.iter().zip(&counts).flat_map(|(x, count)| vec![*x; *count as usize]).collect();
        for (found, data) in [
            (of_mean(&x, None, Weighting::Frequency, None), &x),
            (of_mean(&x, Some(&[2.5; 40]), Weighting::Importance, None), &x),
            (of_mean(&x, Some(&[2.5; 40]), Weighting::Population, None), &x),
            (of_mean(&x, Some(&counts), Weighting::Frequency, None), &repeated),
        ] {
            let n = data.len() as f64;
            let mean = data.iter().sum::<f64>() / n;
            let squares: f64 = data.iter().map(|x| (x - mean).powi(2)).sum();
            assert!((found.error - (squares / (n - 1.0) / n).sqrt()).abs() < 1e-12, "{found:?}");
            // Without bias, since a mean is linear.
            assert!(found.bias.abs() < 1e-12, "{found:?}");
        }
    }

    #[test]
    fn groups_divide_all_observations() {
        for (weights, weighting, n) in [
            (None, Weighting::Frequency, 23.0),
            (Some(vec![0.4; 23]), Weighting::Population, 23.0),
            (Some((0..23).map(|i| f64::from(i % 5)).collect()), Weighting::Frequency, 43.0),
        ] {
            let parts = LeftOut::new(weights.as_deref(), weighting, 23, Divided::AtRandom(5, 7)).unwrap();
            assert_eq!((parts.n_fits(), parts.n, parts.sizes.iter().sum::<f64>()), (5, n, n));
            let mut left_out = vec![0.0; 23];
            for part in 0..5 {
                let weights = parts.weights_without(part);
                for (row, out) in left_out.iter_mut().enumerate() {
                    assert!(weights[row] >= 0.0);
                    *out += parts.weights[row] - weights[row];
                }
            }
            assert_eq!(left_out, parts.weights, "{weighting:?}");
        }
        // Over many seeds, the error of a mean by groups equals the error by single observations.
        let x: Vec<f64> = (0..23).map(|i| f64::from(i * i % 17)).collect();
        let counts: Vec<f64> = (0..23).map(|i| f64::from(i % 5)).collect();
        let single = of_mean(&x, Some(&counts), Weighting::Frequency, None).error.powi(2);
        let mean = |x: &dyn Fn(u64) -> f64| (0..2000).map(x).sum::<f64>() / 2000.0;
        let grouped = mean(&|seed| {
            let parts =
                LeftOut::new(Some(&counts), Weighting::Frequency, 23, Divided::AtRandom(6, seed)).unwrap();
            let values: Vec<f64> = (0..6)
                .map(|part| {
                    let weights = parts.weights_without(part);
                    weights.iter().zip(&x).map(|(w, x)| w * x).sum::<f64>() / weights.iter().sum::<f64>()
                })
                .collect();
            let estimate = counts.iter().zip(&x).map(|(w, x)| w * x).sum::<f64>() / 43.0;
            parts.spread(&values, estimate).error.powi(2)
        });
        // The relative error of a variance by five degrees of freedom is 0.63, and 0.014 for the mean of 2000.
        assert!((grouped / single - 1.0).abs() < 0.06, "{grouped} {single}");
    }

    /// For groups of one size, the standard error of a mean follows from the means of the groups.
    #[test]
    fn given_groups_are_left_out_whole() {
        let x: Vec<f64> = (0..24).map(|i| f64::from(i * i % 17)).collect();
        let groups = crate::resampling::blocks(24, 4);
        for weights in [None, Some([2.0; 24])] {
            let parts = LeftOut::new(
                weights.as_ref().map(|w| &w[..]),
                Weighting::Frequency,
                24,
                Divided::Given(&groups),
            )
            .unwrap();
            assert_eq!(parts.n_fits(), 6);
            assert!((parts.n_observations() - 6.0).abs() < 1e-12);
            let values: Vec<f64> = (0..6)
                .map(|part| {
                    let weights = parts.weights_without(part);
                    weights.iter().zip(&x).map(|(w, x)| w * x).sum::<f64>() / weights.iter().sum::<f64>()
                })
                .collect();
            let mean = x.iter().sum::<f64>() / 24.0;
            let means: Vec<f64> = x.chunks(4).map(|block| block.iter().sum::<f64>() / 4.0).collect();
            let squares: f64 = means.iter().map(|block| (block - mean).powi(2)).sum();
            let found = parts.spread(&values, mean).error;
            assert!((found - (squares / 5.0 / 6.0).sqrt()).abs() < 1e-12, "{found}");
        }
    }

    #[test]
    fn unsuitable_parts_are_refused() {
        let said = |weights: Option<&[f64]>, weighting, groups: Option<usize>| {
            let divided = groups.map_or(Divided::Rows, |n_groups| Divided::AtRandom(n_groups, 0));
            LeftOut::new(weights, weighting, 5, divided).err().unwrap().to_string()
        };
        assert!(said(None, Weighting::Frequency, Some(2)).contains("at least 3 groups"));
        assert!(said(None, Weighting::Frequency, Some(6)).contains("at most as many"));
        assert!(said(Some(&[1.5; 5]), Weighting::Frequency, Some(3)).contains("whole"));
        assert!(said(Some(&[1e12; 5]), Weighting::Frequency, None).contains("make a bootstrap"));
        assert!(said(Some(&[1.0, 1.0, 0.0, 0.0, 0.0]), Weighting::Importance, None).contains("jackknife"));
    }
}
