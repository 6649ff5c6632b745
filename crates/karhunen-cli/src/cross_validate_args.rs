//! What can be typed about cross-validation, and what it means.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use karhunen::{CrossValidation, IncompletePca, Regularization};
use karhunen_io::{ObserveOptions, ReadOptions};

use crate::args::{InputArgs, JsonExtent, ThreadArgs};
use crate::error::{Failure, Result};
use crate::fit_files::SummaryForm;
use crate::fit_weights::column_or_file;
use crate::incomplete_plan::{Iterations, options, with_usual_share};
use crate::missing_args::{MissingArgs, penalty};
use crate::outputs::check_standard_output;
use crate::overwrite::{self, Kind};
use crate::plan::{check_outputs, check_table_output, is_standard, one_standard_input, read_options};

/// Numbers of components that are compared if `-k` does not say, as far as the table allows.
const DEFAULT_COMPONENTS: [usize; 6] = [1, 2, 3, 5, 7, 10];

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  karhunen cross-validate table_with_holes.csv -k 1-6
  karhunen cross-validate ratings.csv --triples user,item,rating -k 5,10,20 --missing=ridge --regularization 1,3,10
  karhunen cross-validate table_with_holes.csv -k 1-6 --json | jq .simplest.n_components

Entries are cut into folds at random. Every choice is fitted to the entries outside each fold and predicts those inside; the
error is that of these predictions. Of the choices within one standard error of the lowest, the simplest is advised.")]
pub(crate) struct CrossValidateArgs {
    /// Table or matrix with holes or without, or triples; - for the standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) data: PathBuf,
    /// Numbers of components to compare: 1,2,5 or 1-5 or both [default: 1,2,3,5,7,10 as far as the table allows]
    #[arg(short = 'k', long = "components", value_name = "LIST", value_parser = components)]
    pub(crate) n_components: Option<ComponentList>,
    /// Into how many parts the entries are cut
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) folds: usize,
    /// How often each row counts: a column of DATA by name (by number, from 1, where there are no names), or a file of one
    /// column with or without a header
    #[arg(long, value_name = "FILE|COLUMN", value_hint = ValueHint::FilePath)]
    pub(crate) weights: Option<PathBuf>,
    /// Write every choice with its errors here: CSV, TSV, NPY or Parquet by extension; - for CSV on the standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite a file that exists, whatever it holds. Without it, tables that `cross-validate` wrote are overwritten; all else
    /// is not, nor what is write-protected or another user's
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the errors and choices as JSON
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) json: bool,
    /// Print no table and no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Relative fall of the cost at which each fit stops [default: 1e-6]
    #[arg(long)]
    pub(crate) tol: Option<f64>,
    /// Most iterations of each fit [default: 1000]
    #[arg(long, value_name = "N", value_parser = crate::args::at_least_one)]
    pub(crate) max_iter: Option<NonZeroUsize>,
    /// Seed of the folds and of the starts [default: 0]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    #[command(flatten)]
    pub(crate) missing: MissingArgs,
    /// Power of the second derivatives in newton, cg and ridge, from 0 to 1 [default: 2/3]
    #[arg(long, help_heading = "Missing values")]
    pub(crate) alpha: Option<f64>,
    /// Penalties on scores and loadings to compare, separated by commas: a number, weighted:NUMBER for so much of each
    /// entry, or none [default: by method]
    #[arg(
        long, value_name = "LAMBDA|none", value_delimiter = ',', value_parser = regularization,
        help_heading = "Missing values"
    )]
    pub(crate) regularization: Vec<Regularization>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

/// Numbers of components, each once, in the order given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ComponentList(Vec<usize>);

/// A cross-validation, ready to run.
#[derive(Debug)]
pub(crate) struct CrossValidatePlan {
    /// The data.
    pub(crate) data: PathBuf,
    /// How to read a file, a column of weights included.
    pub(crate) read: ReadOptions,
    /// A file of weights of the rows; a column is part of `read`.
    pub(crate) weights_file: Option<PathBuf>,
    /// How to read what was observed.
    pub(crate) observe: ObserveOptions,
    /// The options of every fit; what depends on the data is decided by [`CrossValidatePlan::pca`].
    pca: IncompletePca,
    /// True if `--early-stopping` was given without a share.
    usual_share: bool,
    n_folds: usize,
    n_components: Option<ComponentList>,
    penalties: Vec<Regularization>,
    /// Where the table goes.
    pub(crate) output: Option<PathBuf>,
    /// True if an existing file is replaced whatever it holds.
    pub(crate) force: bool,
    /// What is printed.
    pub(crate) summary: SummaryForm,
    /// Whether progress is shown.
    pub(crate) quiet: bool,
}

impl CrossValidatePlan {
    /// Resolves the arguments of `cross-validate`.
    ///
    /// # Errors
    /// [`Failure::Usage`] for options that do not go together, [`Failure::File`] for an output that cannot be written.
    pub(crate) fn resolve(args: CrossValidateArgs) -> Result<Self> {
        let (weights_column, weights_file) = column_or_file(args.weights);
        if args.missing.triples.triples.is_some() && (weights_column.is_some() || weights_file.is_some()) {
            let advice = "entries have weights: --triples ROW,COLUMN,VALUE,WEIGHT";
            return Err(Failure::Usage(format!("--weights does not go with --triples: {advice}")));
        }
        let inputs = [
            Some(&args.data),
            weights_file.as_ref(),
            args.input.feature_names.as_ref(),
            args.input.sample_names.as_ref(),
        ];
        one_standard_input(&inputs)?;
        check_outputs(&[("-o", args.output.as_deref())], &inputs)?;
        if let Some(path) = &args.output {
            check_table_output(path)?;
        }
        overwrite::check(&[("-o", args.output.as_deref(), Kind::Choices)], args.force)?;
        let summary = match (args.quiet, args.json, is_standard(args.output.as_deref())) {
            (true, ..) => SummaryForm::None,
            (_, true, true) => {
                let both = "--json and -o - both ask for the standard output; give the table a file";
                return Err(Failure::Usage(both.to_owned()));
            }
            (_, true, false) => SummaryForm::Json(JsonExtent::Full),
            (_, false, true) => SummaryForm::TextAside,
            (_, false, false) => SummaryForm::Text,
        };
        // Better now than after the fits.
        if matches!(summary, SummaryForm::Text | SummaryForm::Json(_)) {
            check_standard_output()?;
        }
        let iterations = Iterations {
            tol: args.tol,
            max_iter: args.max_iter,
            seed: args.seed,
            threads: args.threads.threads,
        };
        Ok(Self {
            read: ReadOptions { weights_column, ..read_options(&args.input, &args.threads) },
            weights_file,
            observe: args.missing.triples.options(),
            pca: options(&args.missing, args.alpha, &iterations),
            usual_share: args.missing.usual_share(),
            n_folds: args.folds,
            n_components: args.n_components,
            penalties: args.regularization,
            data: args.data,
            output: args.output,
            force: args.force,
            summary,
            quiet: args.quiet,
        })
    }

    /// The options of every fit to data with a number of observed entries.
    pub(crate) fn pca(&self, n_observed: usize) -> IncompletePca {
        let pca = self.pca.clone();
        if self.usual_share { with_usual_share(pca, n_observed) } else { pca }
    }

    /// What is compared on data of a shape.
    pub(crate) fn grid(&self, (n_samples, n_features): (usize, usize)) -> CrossValidation {
        let most = n_samples.min(n_features).saturating_sub(1).max(1);
        let usual = || DEFAULT_COMPONENTS.into_iter().filter(|c| *c <= most).collect();
        CrossValidation {
            n_folds: self.n_folds,
            n_components: self.n_components.as_ref().map_or_else(usual, |list| list.0.clone()),
            regularization: self.penalties.clone(),
        }
    }
}

fn regularization(text: &str) -> std::result::Result<Regularization, String> {
    if text == "path" {
        return Err("it chooses a penalty itself; give those to compare".to_owned());
    }
    penalty(text).ok_or_else(|| "give positive numbers, weighted: and a positive number, or none".to_owned())
}

fn components(text: &str) -> std::result::Result<ComponentList, String> {
    /// More fits than anybody has time for.
    const MOST: usize = 1000;
    let rule = || "give numbers of at least 1 and ranges, such as 1,2,5 or 1-5,8".to_owned();
    let number = |text: &str| text.trim().parse::<usize>().ok().filter(|c| *c > 0).ok_or_else(rule);
    let mut list = Vec::new();
    let too_many = || format!("more than {MOST} numbers to compare; give fewer");
    for part in text.split(',') {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(part)?, number(part)?),
        };
        if first > last {
            return Err(rule());
        }
        if last - first >= MOST {
            return Err(too_many());
        }
        list.extend((first..=last).filter(|c| !list.contains(c)).collect::<Vec<_>>());
        if list.len() > MOST {
            return Err(too_many());
        }
    }
    Ok(ComponentList(list))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::{CommandFactory, Parser};
    use karhunen::Method;

    fn plan(arguments: &str) -> Result<CrossValidatePlan> {
        let words = ["karhunen", "cross-validate"].into_iter().chain(arguments.split_whitespace());
        match Cli::try_parse_from(words).unwrap().command {
            Command::CrossValidate(args) => CrossValidatePlan::resolve(*args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn lists_of_components() {
        for (text, expected) in
            [("3", vec![3]), ("1,2,5", vec![1, 2, 5]), ("1-3,8,2", vec![1, 2, 3, 8]), ("5, 2", vec![5, 2])]
        {
            assert_eq!(components(text), Ok(ComponentList(expected)), "{text}");
        }
        for text in ["", "0", "1,", "3-1", "a", "1-", "-3", "2.5", "18446744073709551616"] {
            let rule = "give numbers of at least 1 and ranges, such as 1,2,5 or 1-5,8";
            assert_eq!(components(text), Err(rule.to_owned()), "{text}");
        }
        let ranges: Vec<String> = (0..50_000).map(|n| format!("{}-{}", 900 * n + 1, 900 * n + 900)).collect();
        for text in ["1-1001", "1-9999999999", "1-18446744073709551615", "1-600,601-1001", &ranges.join(",")]
        {
            let rule = "more than 1000 numbers to compare; give fewer";
            assert_eq!(components(text), Err(rule.to_owned()), "{:.40}", text);
        }
        assert_eq!(components("1-1000").unwrap().0.len(), 1000);
    }

    #[test]
    fn options_reach_the_fits() {
        let plan = plan(
            "x.csv --missing=ridge --regularization 1,weighted:0.1,none -k 1-3 --folds 4 --tol 1e-3 --max-iter 9 --seed 8 \
             --threads 2 --mean fixed",
        )
        .unwrap();
        let expected = IncompletePca {
            method: Method::Ridge,
            tol: 1e-3,
            max_iter: 9,
            seed: 8,
            n_threads: Some(2),
            mean: karhunen::MeanMode::Fixed,
            ..IncompletePca::default()
        };
        assert_eq!(plan.pca(1000), expected);
        let usual = self::plan("x.csv --missing=ridge --early-stopping").unwrap();
        assert_eq!(usual.pca(1000).early_stopping, Some(0.05));
        let grid = CrossValidation {
            n_folds: 4,
            n_components: vec![1, 2, 3],
            regularization: vec![
                Regularization::Ridge(1.0),
                Regularization::Weighted(0.1),
                Regularization::None,
            ],
        };
        assert_eq!(plan.grid((100, 50)), grid);
    }

    #[test]
    fn components_left_open_are_a_few_that_the_table_allows() {
        let plan = plan("x.csv").unwrap();
        for (shape, expected) in [
            ((100, 50), &[1, 2, 3, 5, 7, 10][..]),
            ((100, 4), &[1, 2, 3]),
            ((3, 50), &[1, 2]),
            ((1, 1), &[1]),
        ] {
            assert_eq!(plan.grid(shape).n_components, expected, "{shape:?}");
        }
    }

    #[test]
    fn what_only_one_fit_has_a_use_for_is_not_offered() {
        let mut command = Cli::command();
        let command = command.find_subcommand_mut("cross-validate").unwrap();
        let help = command.render_long_help().to_string();
        for option in
            ["--checkpoint", "--checkpoint-every", "--resume", "--no-error-bars", "--regularization=path"]
        {
            assert!(!help.contains(option), "{option}");
            let error =
                Cli::try_parse_from(["karhunen", "cross-validate", "x.csv", option, "1"]).unwrap_err();
            assert_eq!(error.exit_code(), 2);
        }
        assert!(help.contains("--regularization <LAMBDA|none>"), "{help}");
    }

    #[test]
    fn contradictions_are_refused() {
        for (arguments, message) in [
            ("--json -o -", "--json and -o - both ask for the standard output; give the table a file"),
            (
                "--triples a,b,c --weights w",
                "--weights does not go with --triples: entries have weights: --triples ROW,COLUMN,VALUE,WEIGHT",
            ),
        ] {
            let failure = plan(&format!("x.csv {arguments}")).unwrap_err();
            assert_eq!((failure.exit_code(), failure.to_string()), (2, message.to_owned()));
        }
    }
}
