//! The arguments of `select`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use karhunen::selection::{Level, Null, Parallel};

use crate::args::fit::{PcaArgs, WeightArgs};
use crate::args::given::{Given, set};
use crate::args::input::{InputArgs, MemoryArgs, ThreadArgs};
use crate::args::values::{at_least_one, choice};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  karhunen select wine.csv --label class --scale
  karhunen select counties.csv --weights population --null normal
  karhunen select wine.csv --label class --scale --cross-validate --folds 7
  karhunen select wine.model
  karhunen select wide.npy -k 50 --no-parallel --json | jq .rules
  karhunen select large.npy --memory-limit 2GB --no-parallel

The suggested number comes from parallel analysis, or most families of rules agree on it. --cross-validate
adds the number with the least error on held-out entries, which karhunen cross-validate shows. Of a table with
missing values, parallel analysis and cross-validation alone are printed.")]
pub(crate) struct SelectArgs {
    #[command(flatten)]
    pub(crate) given: Given,
    /// A model written by fit -o, or a table whose rows are samples; - for the standard input
    ///
    /// Several rules need all variances: fit large data with -k all. Parallel analysis needs the rows
    #[arg(value_name = "MODEL|DATA", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Independent rows, if they are fewer than the rows of the table, as in a time series [default: the rows, or
    /// what their weights count as]
    #[arg(long, value_name = "N")]
    pub(crate) observations: Option<f64>,
    #[command(flatten)]
    pub(crate) of_data: SelectDataArgs,
    /// Print JSON
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) json: bool,
    /// Print no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Options that only a table has.
#[derive(Debug, Args)]
pub(crate) struct SelectDataArgs {
    /// Largest number of components that a rule can choose [default: all]
    #[arg(short = 'k', long = "components", value_name = "K", value_parser = at_least_one, allow_negative_numbers = true)]
    pub(crate) n_components: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) complete: PcaArgs,
    #[command(flatten)]
    pub(crate) weights: WeightArgs,
    #[command(flatten)]
    pub(crate) parallel: ParallelArgs,
    #[command(flatten)]
    pub(crate) folds: FoldArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
}

/// Options of parallel analysis.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Parallel analysis")]
pub(crate) struct ParallelArgs {
    /// Leave out parallel analysis, which fits random tables
    #[arg(long, conflicts_with_all = ["null", "level", "draws"])]
    pub(crate) no_parallel: bool,
    /// Random tables [default: permutation]
    #[arg(long, value_parser = choice::<Null>())]
    null: Option<Null>,
    /// Share of the random tables that a variance must exceed, or mean [default: 0.95]
    #[arg(long, value_parser = level)]
    level: Option<Level>,
    /// Number of random tables [default: 200]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    draws: Option<NonZeroUsize>,
    /// Seed of the random tables, and of the folds of cross-validation [default: 0]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
}

/// Options of cross-validation.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Cross-validation")]
pub(crate) struct FoldArgs {
    /// Add the number of components with the least error on held-out entries, and the smallest within one standard error
    ///
    /// From 0 to the number of -k, or 10. Each entry of the table is held out once, and predicted by probabilistic PCA of the others
    #[arg(long)]
    pub(crate) cross_validate: bool,
    /// Number of folds of the entries [default: 5]
    #[arg(long, value_name = "N", requires = "cross_validate")]
    pub(crate) folds: Option<usize>,
}

impl ParallelArgs {
    /// Parallel analysis with the options that were given.
    pub(crate) fn rule(&self) -> Parallel {
        let mut rule = Parallel::default();
        set(&mut rule.null, self.null);
        set(&mut rule.level, self.level);
        set(&mut rule.n_draws, self.draws.map(usize::from));
        set(&mut rule.seed, self.seed);
        rule
    }
}

fn level(text: &str) -> std::result::Result<Level, String> {
    match text.parse::<f64>() {
        _ if text == "mean" => Ok(Level::Mean),
        Ok(share) if share > 0.0 && share < 1.0 => Ok(Level::Quantile(share)),
        _ => Err("give a number between 0 and 1, or mean".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_shares_or_the_mean() {
        assert_eq!(level("0.99"), Ok(Level::Quantile(0.99)));
        assert_eq!(level("mean"), Ok(Level::Mean));
        for text in ["0", "1", "95%", "nan", "-0.5", ""] {
            assert!(level(text).is_err(), "{text}");
        }
    }
}
