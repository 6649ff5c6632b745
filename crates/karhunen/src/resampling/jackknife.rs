//! The jackknife: fits that leave out one row, or one group of rows.

use crate::error::{Error, Result};
use crate::exec::Run;
use crate::growth::More;
use crate::pca::Pca;
use crate::resampling::alignment::Alignment;
use crate::resampling::bootstrap::{check_level, half_width};
use crate::resampling::interval::Summary;
use crate::resampling::left_out::{Divided, LeftOut, N_GROUPS};
use crate::resampling::refits::{Intervals, Plan};
use crate::scalar::{Scalar, compiled};
use crate::source::Source;
use crate::weights::Weights;

/// Standard errors, bias and confidence intervals by the jackknife: the data are fitted again without each row, or
/// without each of some groups of rows.
///
/// With $\hat\theta_{(i)}$ the value without part i of $m_i$ of n rows, and $h_i = n / m_i$, the bias is $\sum_i (1 -
/// m_i / n) (\hat\theta_{(i)} - \hat\theta)$, and the variance $\frac{1}{g} \sum_i (\tilde\theta_i - \tilde\theta)^2 /
/// (h_i - 1)$ with pseudo-values $\tilde\theta_i = h_i \hat\theta - (h_i - 1) \hat\theta_{(i)}$ about the corrected
/// estimate (Busing, Meijer & van der Leeden 1999, Statistics and Computing 9, 3-8); of single rows this is Tukey's
/// $\frac{n - 1}{n} \sum_i (\hat\theta_{(i)} - \hat\theta_{(\cdot)})^2$.
///
/// **Weights.** Of frequency weights, one observation of a row is left out, and counts as often as the row was seen:
/// the result is as for the repeated rows, with as many fits as rows. Of importance and population weights
/// a row is left out, whatever its weight: the JK1 estimate of surveys (Wolter 2007, Introduction to Variance
/// Estimation, section 4.5).
///
/// **Intervals** are the estimate and t root mean squared errors to either side, with one degree of freedom less than
/// parts are left out, or less than the observations that the rows count as ([`crate::PcaModel::n_observations`]) if these
/// are fewer, on the scales of [`super::Bootstrap`]. Coverage of 95% intervals of normal rows of six features
/// with variances 10, 5, 2, 1, 0.7 and 0.5 (2,000 repetitions): of 100 rows 95 to 97% of every variance and ratio, and 93
/// to 95% of the loadings; of 30 rows 94 to 97% of the first four variances and ratios, 91 to 94% of the last two, and 90
/// to 95% of the loadings. Neighbours that are not separated (variances 5 and 4.5) have 92% of variances, 90% of ratios
/// and 88 to 89% of loadings covered. For other rows and components see [`super::Bootstrap`].
///
/// The value of a fit has the relative rounding error of its solver; it counts n times. Leave out groups of rows if n
/// is large: each part takes the time of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Jackknife {
    /// Options of the fits. All its components are kept if their number is left open.
    pub pca: Pca,
    /// Number of groups that rows are divided into at random, of equal size or one row more; at least 3. `None` leaves
    /// out single rows.
    pub n_groups: Option<usize>,
    /// The group of each row, if rows depend on one another within groups, such as households, or blocks of a series
    /// ([`super::blocks`]): each group is left out whole. Excludes `n_groups`.
    pub groups: Option<Vec<usize>>,
    /// Probability that an interval holds the value of the population, between 0 and 1.
    pub level: f64,
    /// The alignment of the loadings of a fit with the loadings of the data.
    pub alignment: Alignment,
    /// Seed of the groups.
    pub seed: u64,
    #[doc(hidden)]
    pub more: More,
}

impl Default for Jackknife {
    fn default() -> Self {
        Self {
            pca: Pca::default(),
            n_groups: None,
            groups: None,
            level: 0.95,
            alignment: Alignment::Signs,
            seed: 0,
            more: More,
        }
    }
}

impl Jackknife {
    /// Fits `x`, shape (n_samples, n_features), and the rows that are left. `x` is read again in every fit, unless it
    /// is wide and not scaled.
    ///
    /// # Errors
    /// [`crate::Error::Option`] for a level outside (0, 1), fewer than three groups or more than rows, and groups of
    /// frequency weights that are not whole; [`crate::Error::OnePass`] for a source of one pass;
    /// [`crate::Error::Shape`] for fewer than three rows of positive weight; [`crate::Error::Memory`]; errors of
    /// [`Pca::fit_with`].
    ///
    /// ```
    /// use karhunen::resampling::Jackknife;
    /// use karhunen::{Dense, Pca, Run, Weights};
    /// let x: Vec<f64> = (0..90).map(|e| f64::from(e / 3 % 7 * (e % 3 + 1) + e * e % 11)).collect();
    /// let jackknife = Jackknife { pca: Pca::new(1), ..Jackknife::default() };
    /// let found = jackknife.run(&Dense::row_major(&x, 30, 3)?, &Weights::default(), &Run::default())?;
    /// let [lower, upper] = [found.variances.lower[(0, 0)], found.variances.upper[(0, 0)]];
    /// assert!(lower < found.variances.estimate[(0, 0)] && found.variances.estimate[(0, 0)] < upper);
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    pub fn run<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        weights: &Weights<'_>,
        run: &Run<'_>,
    ) -> Result<Intervals> {
        let jackknife = compiled!(T, jackknife::<T>
            => fn(&Jackknife, &dyn Source<T>, &Weights<'_>, &Run<'_>) -> Result<Intervals>);
        jackknife(self, x, weights, run)
    }
}

fn jackknife<T: Scalar>(
    options: &Jackknife,
    x: &dyn Source<T>,
    weights: &Weights<'_>,
    run: &Run<'_>,
) -> Result<Intervals> {
    check_level(options.level)?;
    let divided = match (&options.groups, options.n_groups) {
        (Some(groups), None) => Divided::Given(groups),
        (Some(_), Some(n_groups)) => {
            return Err(Error::option(
                N_GROUPS,
                n_groups,
                "the groups of the rows are given; leave one of them out",
            ));
        }
        (None, Some(n_groups)) => Divided::AtRandom(n_groups, options.seed),
        (None, None) => Divided::Rows,
    };
    let parts = LeftOut::new(weights.samples, options.pca.weighting, x.shape().0, divided)?;
    let plan = Plan {
        pca: &options.pca,
        alignment: options.alignment,
        phase: "jackknife",
        n_fits: parts.n_fits(),
        weights: &|part| Ok(parts.weights_without(part)),
    };
    let half_width = half_width(parts.n_observations(), options.level);
    let spread = |values: &[f64], estimate: f64| parts.spread(values, estimate);
    plan.run(x, weights, run)?.intervals(Summary { spread: &spread, half_width }, false, run)
}
