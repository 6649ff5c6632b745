//! The arguments of `cross-validate`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use karhunen::incomplete::Regularization;
use karhunen::pca::Scaling;

use crate::args::fit::scaling;
use crate::args::input::{InputArgs, ThreadArgs};
use crate::args::missing::{MISSING, MissingArgs, penalty};
use crate::args::values::{ComponentList, at_least_one, component_list};
use crate::files::overwrite::FORCE;

/// The heading of options about the iterations.
const SOLVER: &str = "Solver";

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  karhunen cross-validate missing.csv -k 1-6
  karhunen cross-validate wine.csv --missing=ppca --scale -k 1-8 --folds 7
  karhunen cross-validate ratings.csv --triples user,item,rating -k 5,10,20
  karhunen cross-validate missing.csv -k 1-6 --json | jq .simplest.n_components
  karhunen cross-validate missing.csv -k 3 --missing=ridge --regularization 1,10
  karhunen cross-validate missing.csv -k 1-6 --early-stopping --time-limit 60
  karhunen cross-validate missing.csv -k 1-6 --tol 1e-4 --threads 4
  karhunen cross-validate missing.tsv --delimiter tab --label class

Entries are cut into folds at random. Every choice is fitted to the entries outside each fold and \
predicts those inside; the error refers to these predictions. Q2 is the share of the squares of held-out \
entries that is predicted, R2 the share of all entries that a fit to all of them reproduces. Of the choices \
within one standard error of the lowest error, the simplest is advised. Complete tables are cross-validated \
in the same way; --missing=ppca predicts by probabilistic PCA, --missing=em by least squares, which extrapolate \
from rows that keep few entries.")]
pub(crate) struct CrossValidateArgs {
    /// Table or matrix with or without missing values, or triples; - for the standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) data: PathBuf,
    /// Numbers of components to compare: 1,2,5 or 1-5 or both [default: 1,2,3,5,7,10 as far as the table allows]
    #[arg(short = 'k', long = "components", value_name = "LIST", value_parser = component_list, allow_negative_numbers = true)]
    pub(crate) n_components: Option<ComponentList>,
    /// Number of folds of the entries
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) folds: usize,
    /// Divide every column by the standard deviation of its values
    ///
    /// Fits take the deviations of their own entries; errors are in standard deviations of all entries of a column. pareto,
    /// range and binomial (for genotypes) divide by other measures of the spread
    #[arg(
        long, value_name = "BY", num_args = 0..=1, require_equals = true, default_missing_value = "deviation",
        value_parser = scaling()
    )]
    pub(crate) scale: Option<Scaling>,
    /// How often each row counts: a column, or a file
    ///
    /// A column of DATA by name, or by number from 1 if there are no names; a file of one column, with or without a header
    #[arg(long, value_name = "FILE|COLUMN", value_hint = ValueHint::FilePath)]
    pub(crate) weights: Option<PathBuf>,
    /// Write every choice with its errors here
    ///
    /// CSV, TSV, NPY or Parquet by extension; - for CSV on the standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    #[arg(long, help = FORCE)]
    pub(crate) force: bool,
    /// Print the errors and choices as JSON
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) json: bool,
    /// Print no table and no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Relative decrease of the cost at which each fit stops [default: 1e-6]
    #[arg(long, help_heading = SOLVER)]
    pub(crate) tol: Option<f64>,
    /// Maximum number of iterations of each fit [default: 1000]
    #[arg(long, value_name = "N", value_parser = at_least_one, help_heading = SOLVER)]
    pub(crate) max_iter: Option<NonZeroUsize>,
    /// Seed of the folds and of the starts [default: 0]
    #[arg(long, help_heading = SOLVER)]
    pub(crate) seed: Option<u64>,
    #[command(flatten, next_help_heading = SOLVER)]
    pub(crate) threads: ThreadArgs,
    #[command(flatten)]
    pub(crate) missing: MissingArgs,
    /// Power of the second derivatives in newton, cg and ridge, from 0 to 1 [default: 2/3]
    #[arg(long, help_heading = MISSING)]
    pub(crate) alpha: Option<f64>,
    /// Penalties on scores and loadings to compare, separated by commas: a number, weighted:NUMBER for a penalty
    /// per entry, or none [default: by method]
    #[arg(
        long, value_name = "LAMBDA|none", value_delimiter = ',', value_parser = regularization,
        help_heading = MISSING
    )]
    pub(crate) regularization: Vec<Regularization>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

fn regularization(text: &str) -> std::result::Result<Regularization, String> {
    if text == "path" {
        return Err("it chooses a penalty itself; give those to compare".to_owned());
    }
    penalty(text).ok_or_else(|| "give positive numbers, weighted: and a positive number, or none".to_owned())
}
