//! Parallel analysis: the variances of the data beside those of random data.

use rand::RngExt;

use crate::choice::{Choice, Named, plain_names};
use crate::error::{Error, OptionName, Result, options};
use crate::exec::{Exec, Run};
use crate::growth::More;
use crate::linalg::random::gaussian;
use crate::linalg::{Dense, Matrix};
use crate::moments::{Columns, Moments};
use crate::operator::blocks;
use crate::pca::{Centring, NComponents, Pca, Scaling};
use crate::random::{Generator, Purpose};
use crate::scalar::{Scalar, compiled};
use crate::selection::{Rule, Selection};
use crate::source::{Passes, Source};
use crate::weights::{NormalizedWeights, Totals, Weighting, Weights};

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
/// Random data have the whole variance in noise. Beside very strong components the rule therefore misses weak ones.
///
/// **Weighted rows.** The null hypothesis is that columns are independent, with the weighted distribution that the data
/// have. Every draw has as many rows, of weight one, as the data have observations: the sum of frequency weights, the
/// effective number $(\sum w)^2 / \sum w^2$ of importance and population weights, rounded. Row i takes part
/// $n w_i / \sum w$ times, rounded at random up or down by systematic sampling for each column, before the
/// column is permuted. With whole frequency weights this is the permutation of the repeated rows.
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
    /// Seed of the random tables.
    pub seed: u64,
    #[doc(hidden)]
    pub more: More,
}

impl Default for Parallel {
    fn default() -> Self {
        let (null, level) = (Null::default(), Level::default());
        Self { pca: Pca::default(), null, level, n_draws: 200, seed: 0, more: More }
    }
}

/// The number of random tables in errors.
const N_DRAWS: OptionName = OptionName::new("n_draws");

impl Parallel {
    /// Fits `x`, shape (n_samples, n_features), and the random tables.
    ///
    /// # Errors
    /// [`Error::Option`] for no draw, a quantile outside (0, 1), or data that are not centred; [`Error::OnePass`] for a
    /// source of one pass; [`Error::Memory`]; errors of [`Pca::fit_with`].
    pub fn select<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        weights: &Weights<'_>,
        run: &Run<'_>,
    ) -> Result<Selection> {
        let select = compiled!(T, select::<T>
            => fn(&Parallel, &dyn Source<T>, &Weights<'_>, &Run<'_>) -> Result<Selection>);
        select(self, x, weights, run)
    }

    fn check(&self) -> Result<()> {
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
        if self.pca.center != Centring::Mean {
            return Err(Error::option(
                options::CENTER,
                self.pca.center.value(),
                "parallel analysis compares variances about the mean",
            ));
        }
        Ok(())
    }

    fn rule(&self) -> Rule {
        match self.null {
            Null::Permutation => Rule::ParallelPermutation,
            Null::Normal => Rule::ParallelNormal,
        }
    }
}

fn select<T: Scalar>(
    rule: &Parallel,
    x: &dyn Source<T>,
    weights: &Weights<'_>,
    run: &Run<'_>,
) -> Result<Selection> {
    rule.check()?;
    if x.passes() == Passes::Once {
        return Err(Error::OnePass {
            work: "parallel analysis".to_owned(),
            way_out: "give data that can be read again, such as a file or an array",
        });
    }
    let (n, p) = x.shape();
    let model = rule.pca.fit_with(x, weights, run)?;
    let NormalizedWeights { values: shares, totals } = NormalizedWeights::new(weights.samples, n)?;
    // The variances that can differ from zero.
    let n_counting = weights.samples.map_or(n, |weights| weights.iter().filter(|w| **w > 0.0).count());
    let rank =
        totals.all_components(rule.pca.weighting, (n, usize::MAX)).min(n_counting).saturating_sub(1).min(p);
    let mut values = model.explained_variance().to_vec();
    values.truncate(rank);
    if values.is_empty() || model.total_variance() == 0.0 {
        return Ok(Selection::not_applicable(rule.rule(), "the data have no variance"));
    }
    let k = values.len();
    let draws = Draws::new(rule, x, (weights.samples, shares.as_deref()), &totals, run)?;
    let scale = match &rule.pca.scale {
        // Random values have other ranges and means than those of the columns.
        Scaling::Range | Scaling::Binomial => Scaling::Given(model.scale().to_vec()),
        scale => scale.clone(),
    };
    let n_components = NComponents::Count(k.min(draws.n_rows).min(p));
    let pca = Pca { n_components, scale, ..rule.pca.clone() };
    let mut variances = Matrix::try_zeros("the variances of all random tables", rule.n_draws, k)?;
    Exec::run(run, |exec| {
        exec.phase("parallel analysis").fill(variances.as_mut_slice(), k, |draw, out| {
            let table = draws.table(draw as u64)?;
            let weights = Weights { samples: None, features: weights.features };
            let alone = Run { n_threads: Some(1), ..Run::default() };
            let model = pca.fit_with(&Dense::from(&table), &weights, &alone)?;
            out.iter_mut().zip(model.explained_variance()).for_each(|(out, variance)| *out = *variance);
            Ok(())
        })
    })?;
    let of_component = |c: usize| (0..rule.n_draws).map(|draw| variances[(draw, c)]).collect();
    let thresholds = (0..k).map(|c| rule.level.of(of_component(c))).collect();
    Selection::compared(rule.rule(), "variance", (values, thresholds), k)
}

impl Level {
    /// The level of numbers, of which there is at least one.
    fn of(self, mut numbers: Vec<f64>) -> f64 {
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

/// Makes random tables.
struct Draws<'a> {
    seed: u64,
    n_rows: usize,
    columns: Marginals<'a>,
}

/// The distribution of each column.
enum Marginals<'a> {
    /// The values, shape (n, p), and the weights of their rows.
    Values(Matrix, Option<&'a [f64]>),
    /// Standard deviations.
    Deviations(Vec<f64>),
}

impl<'a> Draws<'a> {
    /// Takes the weights as given and as normalised.
    fn new<T: Scalar>(
        rule: &Parallel,
        x: &dyn Source<T>,
        (weights, shares): (Option<&'a [f64]>, Option<&[f64]>),
        totals: &Totals,
        run: &Run<'_>,
    ) -> Result<Self> {
        let (n, p) = x.shape();
        let n_rows = match rule.pca.weighting {
            Weighting::Frequency => totals.sum,
            Weighting::Importance | Weighting::Population => 1.0 / totals.sum_of_squares,
        };
        let n_rows = n_rows.round().max(2.0) as usize;
        let columns = match rule.null {
            Null::Permutation => {
                let mut values = Matrix::try_zeros("the data of parallel analysis", n, p)?;
                x.visit(&mut |first, block| {
                    let rows = first..first + block.n_rows();
                    blocks::rows(&block, 0..block.n_rows(), values.rows_mut(rows))
                })?;
                Marginals::Values(values, weights)
            }
            Null::Normal => {
                let moments = Moments::of(x, shares, run)?;
                let deviations = Columns::new(&moments, x, shares, &rule.pca.center)?.deviation;
                let factor = totals.correction(rule.pca.weighting)?.sqrt();
                Marginals::Deviations(deviations.iter().map(|deviation| deviation * factor).collect())
            }
        };
        Ok(Self { seed: rule.seed, n_rows, columns })
    }

    /// The random table of number `draw`, shape (n_rows, p).
    fn table(&self, draw: u64) -> Result<Matrix> {
        let stream = Purpose::ParallelAnalysis.of(self.seed).number(draw);
        match &self.columns {
            Marginals::Deviations(deviations) => {
                Matrix::<f64>::try_zeros("a random table", self.n_rows, deviations.len())?;
                let mut table = gaussian(self.n_rows, deviations.len(), stream);
                for row in table.as_mut_slice().chunks_exact_mut(deviations.len()) {
                    row.iter_mut().zip(deviations).for_each(|(value, deviation)| *value *= deviation);
                }
                Ok(table)
            }
            Marginals::Values(values, weights) => {
                let p = values.n_cols();
                let mut table = Matrix::try_zeros("a random table", self.n_rows, p)?;
                let mut generator = stream.generator();
                let mut rows: Vec<usize> = (0..self.n_rows).collect();
                for j in 0..p {
                    if let Some(weights) = weights {
                        sample(weights, &mut rows, &mut generator);
                    }
                    shuffle(&mut rows, &mut generator);
                    for (i, row) in rows.iter().enumerate() {
                        table[(i, j)] = values[(*row, j)];
                    }
                }
                Ok(table)
            }
        }
    }
}

/// Writes row numbers in order into `rows`, each in proportion to its weight, rounded up or down at random: systematic
/// sampling. Whole weights whose sum is the number of rows are taken exactly.
fn sample(weights: &[f64], rows: &mut [usize], generator: &mut Generator) {
    let sum: f64 = weights.iter().sum();
    let last = weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0);
    // Positions lie strictly within the intervals between whole numbers.
    let offset = (generator.random_range(0..1u64 << 52) as f64 + 0.5) / (1u64 << 52) as f64;
    let per_row = sum / rows.len() as f64;
    let (mut row, mut reached) = (0, weights[0]);
    for (i, out) in rows.iter_mut().enumerate() {
        let position = (i as f64 + offset) * per_row;
        while reached < position && row < last {
            row += 1;
            reached += weights[row];
        }
        *out = row;
    }
}

/// Puts numbers in random order (Fisher & Yates).
fn shuffle(numbers: &mut [usize], generator: &mut Generator) {
    for i in (1..numbers.len()).rev() {
        numbers.swap(i, generator.random_range(0..=i as u64) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::test_matrices;
    use crate::selection::Curve;
    use crate::source::{Block, RowBlocks};

    /// k components, each of which moves its own columns, and noise.
    fn planted(n: usize, p: usize, k: usize, seed: u64) -> Matrix {
        let (scores, noise) =
            (test_matrices::gaussian(n, k.max(1), seed, 0), test_matrices::gaussian(n, p, seed, 2));
        let signal = |i: usize, j: usize| if k > 0 { 1.3 * scores[(i, j % k)] } else { 0.0 };
        Matrix::from_fn(n, p, |i, j| 10.0 + signal(i, j) + noise[(i, j)])
    }

    fn rule(null: Null, scale: bool) -> Parallel {
        Parallel { null, pca: Pca::default().scale(scale), n_draws: 60, ..Parallel::default() }
    }

    #[test]
    fn planted_components_are_counted_by_both_nulls() {
        for k in 0..4 {
            let x = planted(200, 12, k, 3);
            for null in Null::ALL {
                for scale in [false, true] {
                    let found =
                        rule(null, scale).select(&Dense::from(&x), &Weights::default(), &Run::default());
                    let found = found.unwrap();
                    assert_eq!(found.n_components, Some(k), "{null} {scale}: {found:?}");
                    assert_eq!(found.at_edge, k == 0);
                }
            }
        }
    }

    #[test]
    fn threads_and_blocks_change_no_bit() {
        let x = planted(90, 7, 2, 1);
        let (top, rest) = (x.rows(0..31), x.rows(31..90));
        let blocks =
            RowBlocks::new([&top, &rest].map(|rows| Block::Dense(Dense::from(rows))).to_vec()).unwrap();
        for null in Null::ALL {
            let select = |source: &dyn Source<f64>, n_threads| {
                let run = Run { n_threads: Some(n_threads), ..Run::default() };
                rule(null, true).select(source, &Weights::default(), &run).unwrap()
            };
            let one = select(&Dense::from(&x), 1);
            assert_eq!(one, select(&Dense::from(&x), 3));
            let of_blocks = select(&blocks, 2);
            assert_eq!(one.n_components, of_blocks.n_components);
            let thresholds = |found: &Selection| match &found.curve {
                Curve::Compared { thresholds, .. } => thresholds.clone(),
                other => panic!("{other:?}"),
            };
            for (a, b) in thresholds(&one).iter().zip(thresholds(&of_blocks)) {
                assert!((a - b).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn frequency_weights_have_the_thresholds_of_repeated_rows() {
        let x = planted(40, 5, 1, 9);
        let weights: Vec<f64> = (0..40).map(|i| f64::from(i % 4)).collect();
        let repeated: Vec<usize> = (0..40).flat_map(|i| vec![i; i % 4]).collect();
        let repeated = Matrix::from_fn(repeated.len(), 5, |i, j| x[(repeated[i], j)]);
        // Weighted rows are sampled in their order: the same table before the permutation.
        let mut rows = vec![0; 60];
        let mut generator = Purpose::ParallelAnalysis.of(0).generator();
        sample(&weights, &mut rows, &mut generator);
        assert_eq!(Matrix::from_fn(60, 5, |i, j| x[(rows[i], j)]), repeated);
        let many = Parallel { n_draws: 2000, level: Level::Mean, ..rule(Null::Permutation, true) };
        let weighted =
            many.select(&Dense::from(&x), &Weights::of_samples(&weights), &Run::default()).unwrap();
        let plain = many.select(&Dense::from(&repeated), &Weights::default(), &Run::default()).unwrap();
        let (Curve::Compared { values, thresholds }, Curve::Compared { values: v, thresholds: t }) =
            (&weighted.curve, &plain.curve)
        else {
            panic!()
        };
        for c in 0..5 {
            assert!((values[c] - v[c]).abs() < 1e-12);
            // Means of 2,000 draws of standard deviation about 0.1.
            assert!((thresholds[c] - t[c]).abs() < 0.02, "{c}: {} {}", thresholds[c], t[c]);
        }
        assert_eq!(weighted.n_components, plain.n_components);
    }

    #[test]
    fn a_constant_factor_of_importance_weights_changes_nothing() {
        let x = planted(60, 5, 1, 2);
        let weights: Vec<f64> = (0..60).map(|i| 0.5 + f64::from(i % 3)).collect();
        let doubled: Vec<f64> = weights.iter().map(|w| 2.0 * w).collect();
        for null in Null::ALL {
            let pca = Pca { weighting: Weighting::Importance, ..Pca::default() };
            let rule = Parallel { pca, ..rule(null, false) };
            let select =
                |w: &[f64]| rule.select(&Dense::from(&x), &Weights::of_samples(w), &Run::default()).unwrap();
            assert_eq!(select(&weights), select(&doubled));
            assert_eq!(select(&weights).n_components, Some(1));
        }
    }

    #[test]
    fn samples_follow_their_weights() {
        let weights = [0.3, 0.0, 1.7, 0.5];
        let mut generator = Purpose::ParallelAnalysis.of(5).generator();
        let mut counts = [0.0; 4];
        let mut rows = vec![0; 5];
        for _ in 0..4000 {
            sample(&weights, &mut rows, &mut generator);
            rows.iter().for_each(|&row| counts[row] += 1.0 / 4000.0);
        }
        for (count, weight) in counts.iter().zip(weights) {
            assert!((count - 2.0 * weight).abs() < 0.05, "{counts:?}");
        }
    }

    #[test]
    fn quantiles_are_those_of_r() {
        let numbers = vec![3.0, 1.0, 2.0, 10.0];
        assert_eq!(Level::Mean.of(numbers.clone()), 4.0);
        // quantile(c(3, 1, 2, 10), c(0.5, 0.95))
        assert_eq!(Level::Quantile(0.5).of(numbers.clone()), 2.5);
        assert!((Level::Quantile(0.95).of(numbers) - 8.95).abs() < 1e-14);
        assert_eq!(Level::Quantile(0.3).of(vec![7.0]), 7.0);
    }

    #[test]
    fn options_outside_their_rules_are_refused() {
        let x = planted(10, 3, 1, 2);
        let message = |rule: Parallel| {
            rule.select(&Dense::from(&x), &Weights::default(), &Run::default()).unwrap_err().to_string()
        };
        assert!(message(Parallel { n_draws: 0, ..Parallel::default() }).contains("n_draws"));
        assert!(message(Parallel { level: Level::Quantile(1.0), ..Parallel::default() }).contains("level"));
        let uncentred = Pca::default().center(false);
        assert!(message(Parallel { pca: uncentred, ..Parallel::default() }).contains("center"));
    }
}
