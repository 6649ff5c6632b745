//! The arguments of `complete`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use karhunen::completion::{IterativePca, Shrinkage};

use crate::args::fit::RowWeightArgs;
use crate::args::given::set;
use crate::args::input::{InputArgs, ThreadArgs};
use crate::args::values::at_least_one;
use crate::error::{Failure, Result};
use crate::files::overwrite::FORCE;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  karhunen complete missing.csv -o filled.csv
  karhunen complete missing.csv -k 2 --no-scale -o filled.csv
  karhunen complete missing.tsv --delimiter tab --label class --method em
  karhunen complete missing.csv --weights size --method mean -o filled.csv

The method of R's missMDA, with its values. The table is held densely: for large tables, and for error bars, karhunen fit
--missing and impute.")]
pub(crate) struct CompleteArgs {
    /// Table with missing values; - for the standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) data: PathBuf,
    /// Write the filled table here: CSV, TSV, NPY or Parquet by extension
    ///
    /// From CSV to CSV every byte except the missing cells is unchanged
    #[arg(short, long, value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) pca: CompletionArgs,
    #[arg(long, help = FORCE)]
    pub(crate) force: bool,
    /// Print no progress and no summary
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) weights: RowWeightArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Fill")]
pub(crate) struct CompletionArgs {
    /// Number of components [default: by generalized cross-validation among 0 to 5]
    #[arg(short = 'k', long = "components", value_name = "K", value_parser = at_least_one, allow_negative_numbers = true)]
    n_components: Option<NonZeroUsize>,
    /// Largest number of components that generalized cross-validation tries [default: 5]
    #[arg(long, value_name = "K", conflicts_with = "n_components")]
    most: Option<usize>,
    /// Values of missing entries
    #[arg(long, value_enum, default_value_t = MethodArg::Regularized)]
    method: MethodArg,
    /// Keep the units of the columns, rather than dividing each by its standard deviation
    #[arg(long)]
    no_scale: bool,
    /// Factor of the noise variance by which scores are shrunken [default: 1]
    #[arg(long)]
    ridge: Option<f64>,
    /// Relative change of the squared error at which iterations end [default: 1e-6]
    #[arg(long)]
    tol: Option<f64>,
    /// Most iterations [default: 1000]
    #[arg(long)]
    max_iter: Option<NonZeroUsize>,
}

/// The method of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MethodArg {
    /// Regularised iterative PCA: scores are shrunken by the noise
    Regularized,
    /// Iterative PCA without shrinkage
    Em,
    /// The mean of each column
    Mean,
}

/// The number of components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    /// This one.
    Given(usize),
    /// By generalized cross-validation, at most this one.
    Chosen(usize),
}

/// Largest number of components that is tried, unless it is given.
const MOST: usize = 5;

impl CompletionArgs {
    /// The options of iterative PCA, and the number of components.
    ///
    /// # Errors
    /// [`Failure::Usage`] for options that the method does not take.
    pub(crate) fn resolve(&self) -> Result<(IterativePca, Number)> {
        let (mean, em) = (self.method == MethodArg::Mean, self.method == MethodArg::Em);
        let idle = [
            ("-k", self.n_components.is_some() && mean),
            ("--most", self.most.is_some() && mean),
            ("--no-scale", self.no_scale && mean),
            ("--ridge", self.ridge.is_some() && (mean || em)),
            ("--tol", self.tol.is_some() && mean),
            ("--max-iter", self.max_iter.is_some() && mean),
        ];
        if let Some((option, _)) = idle.iter().find(|(_, idle)| *idle) {
            let method = if mean { "mean" } else { "em" };
            return Err(Failure::Usage(format!(
                "{option} has no effect with --method {method}; leave it out"
            )));
        }
        let shrinkage = if em { Shrinkage::Em } else { Shrinkage::Regularized };
        let mut options = IterativePca { scale: !self.no_scale, shrinkage, ..IterativePca::new(0) };
        set(&mut options.ridge, self.ridge);
        set(&mut options.tol, self.tol);
        set(&mut options.max_iter, self.max_iter.map(usize::from));
        let number = match self.n_components {
            _ if mean => Number::Given(0),
            Some(k) => Number::Given(usize::from(k)),
            None => Number::Chosen(self.most.unwrap_or(MOST)),
        };
        Ok((options, number))
    }
}
