//! Options of parallel analysis.

use crate::choice::{Choice, Named, plain_names};
use crate::error::{Error, OptionName, Result, options};
use crate::growth::More;
use crate::pca::{Centring, Pca};
use crate::selection::Rule;
use crate::selection::spectrum::check_given;

/// Random data without components.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Null {
    /// The values of every column in random order, independently of the other columns.
    #[default]
    Permutation,
    /// Independent normal values with the standard deviation of each column.
    Normal,
}

impl Choice for Null {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Permutation, "permutation", "The values of every column in random order"),
        Named::new(Self::Normal, "normal", "Independent normal values"),
    ];
}

plain_names!(Null);

/// The variance of random data that a component must exceed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Level {
    /// A quantile over the draws, above 0 and below 1, interpolated linearly between order statistics (R's type 7).
    Quantile(f64),
    /// The mean over the draws, as Horn (1965). It keeps a component of pure noise in about half of all cases.
    Mean,
}

impl Default for Level {
    fn default() -> Self {
        Self::Quantile(0.95)
    }
}

/// Parallel analysis: keeps leading components whose variance exceeds that of the same component of random data.
///
/// Horn (1965), doi:10.1007/BF02289447; quantiles by Glorfeld (1995), doi:10.1177/0013164495055003002; permutation by
/// Buja & Eyuboglu (1992), doi:10.1207/s15327906mbr2704_2.
///
/// Random data have the whole variance in noise. With very strong components the rule therefore misses weak ones.
///
/// **Weighted rows.** The null hypothesis is that columns are independent of one another and of the weights. Importance and
/// population weights stay with the rows of every draw. Under frequency weights a draw has as many rows as their sum,
/// rounded; row i takes part $w_i$ times, rounded at random up or down by systematic sampling for each column, before the
/// column is permuted. With whole weights this is the permutation of the repeated rows.
///
/// **Dependent rows**, as in a series or in clusters, hold less than their number of independent rows: give the number of
/// independent observations that they are worth as `n_observations`, and every draw has that many rows.
///
/// Draw number i takes stream number i of the seed, so the result does not depend on the number of threads. Memory: a
/// copy of the data, and one draw for each thread.
///
/// ```
/// use karhunen::selection::Parallel;
/// use karhunen::{Dense, Pca, Run, Weights};
/// let x: Vec<f64> = (0..120).map(|e| f64::from(e / 3 % 7 * (e % 3 + 1) + e * e % 11)).collect();
/// let rule = Parallel { pca: Pca::default().scale(true), ..Parallel::default() };
/// let found = rule.select(&Dense::row_major(&x, 40, 3)?, &Weights::default(), &Run::default())?;
/// assert_eq!(found.n_components, Some(1));
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Parallel {
    /// Options of the fits, of the data and of the draws. Its number of components is the largest that the rule can
    /// choose; leave columns centred.
    pub pca: Pca,
    /// Random data to compare with.
    pub null: Null,
    /// Summary of the random variances that a variance must exceed.
    pub level: Level,
    /// Number of random tables, at least 1.
    pub n_draws: usize,
    /// The number of observations that the rows are worth, which random tables have as rows; given by the weights if
    /// `None`.
    pub n_observations: Option<f64>,
    /// Seed of the random tables.
    pub seed: u64,
    #[doc(hidden)]
    pub more: More,
}

impl Default for Parallel {
    fn default() -> Self {
        let (null, level) = (Null::default(), Level::default());
        let (n_draws, n_observations) = (200, None);
        Self { pca: Pca::default(), null, level, n_draws, n_observations, seed: 0, more: More }
    }
}

/// The number of random tables in errors.
const N_DRAWS: OptionName = OptionName::new("n_draws");

impl Parallel {
    pub(super) fn check(&self) -> Result<()> {
        if self.n_draws == 0 {
            return Err(Error::option(N_DRAWS, 0usize, "at least one random table is needed"));
        }
        if let Level::Quantile(level) = self.level
            && !(level > 0.0 && level < 1.0)
        {
            return Err(Error::option(
                options::LEVEL,
                level,
                "a quantile lies between 0 and 1, both excluded",
            ));
        }
        if let Some(n) = self.n_observations {
            check_given(n)?;
        }
        if self.pca.center != Centring::Mean {
            return Err(Error::option(
                options::CENTER,
                self.pca.center.value(),
                "parallel analysis compares variances about the mean",
            ));
        }
        Ok(())
    }

    pub(super) fn rule(&self) -> Rule {
        match self.null {
            Null::Permutation => Rule::ParallelPermutation,
            Null::Normal => Rule::ParallelNormal,
        }
    }
}

impl Level {
    /// The level of numbers, of which there is at least one.
    pub(super) fn of(self, mut numbers: Vec<f64>) -> f64 {
        match self {
            Self::Mean => numbers.iter().sum::<f64>() / numbers.len() as f64,
            Self::Quantile(level) => {
                numbers.sort_unstable_by(f64::total_cmp);
                let position = level * (numbers.len() - 1) as f64;
                let below = position.floor() as usize;
                let above = numbers[(below + 1).min(numbers.len() - 1)];
                numbers[below] + (position - position.floor()) * (above - numbers[below])
            }
        }
    }
}
