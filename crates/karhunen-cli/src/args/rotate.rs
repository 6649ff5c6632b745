//! The arguments of `rotate`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use karhunen::rotation::{Criterion, Method};

use crate::args::fit::{FitOutputArgs, SummaryArgs};
use crate::args::values::{at_least_one, choice};
use crate::error::{Failure, Result};
use crate::files::overwrite::FORCE;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  karhunen rotate wine.model -o rotated.model
  karhunen rotate wine.model -k 3 --method promax --loadings pattern.csv
  karhunen rotate may.model --target june_loadings.csv -o may_as_june.model
  karhunen rotate wine.model --method oblimin --json=full | jq .structure

transform and reconstruct take the rotated model: its scores are RC1, RC2, … and have unit variance.")]
pub(crate) struct RotateArgs {
    /// Model without a kernel written by fit -o; - for the standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) model: PathBuf,
    /// Leading components to rotate [default: all that have variance]
    #[arg(short = 'k', long = "components", value_name = "K", value_parser = at_least_one, allow_negative_numbers = true)]
    pub(crate) n_components: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) criterion: CriterionArgs,
    #[command(flatten)]
    pub(crate) output: RotateOutputArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Rotation")]
pub(crate) struct CriterionArgs {
    /// Method of rotation [default: varimax; procrustes with --target]
    #[arg(long, value_parser = choice::<Method>())]
    method: Option<Method>,
    /// Table of loadings to come near to: rows are features, matched by name where both have names
    ///
    /// As fit and rotate write with --loadings. Its number of columns is the number of components that are rotated
    #[arg(long, value_name = "LOADINGS", value_hint = ValueHint::FilePath)]
    pub(crate) target: Option<PathBuf>,
    /// Let features count alike, whatever their communality (Kaiser normalisation) [default: varimax and promax do]
    #[arg(long, overrides_with = "no_kaiser")]
    kaiser: bool,
    /// Let features count by their communality [default: quartimax and oblimin do]
    #[arg(long, overrides_with = "kaiser")]
    no_kaiser: bool,
    /// Power of promax, above 1 [default: 4]
    #[arg(long)]
    power: Option<f64>,
    /// Gamma of oblimin, at most 0.8: the smaller, the less correlated the components [default: 0]
    #[arg(long, allow_negative_numbers = true)]
    gamma: Option<f64>,
}

impl CriterionArgs {
    /// The method.
    ///
    /// # Errors
    /// [`Failure::Usage`] for options that the method does not take.
    pub(crate) fn method(&self) -> Result<Method> {
        let default = if self.target.is_some() { Method::Procrustes } else { Method::Varimax };
        let method = self.method.unwrap_or(default);
        let procrustes = method == Method::Procrustes;
        let idle = [
            ("--target", self.target.is_some() && !procrustes),
            ("--kaiser", self.kaiser && procrustes),
            ("--no-kaiser", self.no_kaiser && procrustes),
            ("--power", self.power.is_some() && method != Method::Promax),
            ("--gamma", self.gamma.is_some() && method != Method::Oblimin),
        ];
        if let Some((option, _)) = idle.iter().find(|(_, idle)| *idle) {
            return Err(Failure::Usage(format!(
                "{option} has no effect with --method {method}; leave it out"
            )));
        }
        if procrustes && self.target.is_none() {
            return Err(Failure::Usage("--method procrustes needs --target, a table of loadings".to_owned()));
        }
        Ok(method)
    }

    /// The criterion of a method without a target.
    pub(crate) fn criterion(&self, method: Method) -> Option<Criterion> {
        let kaiser = (self.kaiser || self.no_kaiser).then_some(self.kaiser);
        Criterion::of_method(method, kaiser, self.power, self.gamma)
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct RotateOutputArgs {
    /// Write the rotated model, for transform and reconstruct
    ///
    /// A safetensors file, which inspect describes; - for the standard output
    #[arg(short = 'o', long = "output", value_name = "ROTATED", value_hint = ValueHint::FilePath)]
    rotated: Option<PathBuf>,
    /// Write the rotated loadings of the features, the pattern
    ///
    /// The columns are RC1, RC2, …. CSV, TSV, NPY or Parquet by extension; - for CSV on the standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    loadings: Option<PathBuf>,
    #[arg(long, help = FORCE)]
    force: bool,
    #[command(flatten)]
    summary: SummaryArgs,
}

impl From<RotateOutputArgs> for FitOutputArgs {
    fn from(args: RotateOutputArgs) -> Self {
        let RotateOutputArgs { rotated, loadings, force, summary } = args;
        Self { model: rotated, scores: None, whiten: false, loadings, force, summary }
    }
}
