//! Resolves the arguments of cross-validation.

use std::path::PathBuf;

use karhunen::IncompletePca;
use karhunen::incomplete::{CrossValidation, Regularization};
use karhunen::pca::Scaling;
use karhunen_io::{ObserveOptions, ReadOptions};

use crate::args::cross_validate::CrossValidateArgs;
use crate::args::given::set;
use crate::args::input::{ThreadArgs, read_options};
use crate::args::values::{ComponentList, JsonExtent};
use crate::data::weights::column_or_file;
use crate::error::{Failure, Result};
use crate::files::of_fit::SummaryForm;
use crate::files::outputs::check_standard_output;
use crate::files::overwrite;
use crate::files::paths::{check_outputs, check_table_output, is_standard, one_standard_input};
use crate::incomplete::plan::{Iterations, with_usual_share};

/// Numbers of components to compare without `-k`, as far as the table allows.
const DEFAULT_COMPONENTS: [usize; 6] = [1, 2, 3, 5, 7, 10];

/// A resolved cross-validation.
#[derive(Debug)]
pub(crate) struct CrossValidatePlan {
    /// The data file.
    pub(crate) data: PathBuf,
    /// Options for reading files, including a column of weights.
    pub(crate) read: ReadOptions,
    /// A file of row weights; a column is part of `read`.
    pub(crate) weights_file: Option<PathBuf>,
    /// Options for reading observed entries.
    pub(crate) observe: ObserveOptions,
    /// The options of every fit; [`CrossValidatePlan::pca`] sets those that depend on the data.
    pca: IncompletePca,
    /// The threads of reading and of the fits.
    pub(crate) threads: ThreadArgs,
    /// True if `--early-stopping` was given without a share.
    usual_share: bool,
    n_folds: usize,
    n_components: Option<ComponentList>,
    penalties: Vec<Regularization>,
    /// The file for the table.
    pub(crate) output: Option<PathBuf>,
    /// True if an existing file is replaced whatever it holds.
    pub(crate) force: bool,
    /// The form of the printed summary.
    pub(crate) summary: SummaryForm,
    /// True if progress is not shown.
    pub(crate) quiet: bool,
}

impl CrossValidatePlan {
    /// Resolves the arguments of `cross-validate`.
    ///
    /// # Errors
    /// [`Failure::Usage`] for contradictory options, [`Failure::File`] for an output that cannot be written.
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
        overwrite::check(&[("-o", args.output.as_deref())], args.force)?;
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
        // Checked before the fits rather than after.
        if matches!(summary, SummaryForm::Text | SummaryForm::Json(_)) {
            check_standard_output()?;
        }
        let mut pca = IncompletePca { scale: args.scale.unwrap_or_default(), ..IncompletePca::default() };
        args.missing.apply(&mut pca);
        set(&mut pca.alpha, args.alpha);
        Iterations { tol: args.tol, max_iter: args.max_iter, seed: args.seed }.apply(&mut pca);
        Ok(Self {
            read: ReadOptions { weights_column, ..read_options(&args.input, &args.threads) },
            weights_file,
            observe: args.missing.triples.options(),
            pca,
            threads: args.threads,
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

    /// True if columns are divided by a measure of their spread.
    pub(crate) fn scales(&self) -> bool {
        self.pca.scale != Scaling::None || self.pca.noise == karhunen::incomplete::NoiseModel::Feature
    }

    /// The options of every fit to data with `n_observed` entries.
    pub(crate) fn pca(&self, n_observed: usize) -> IncompletePca {
        let pca = self.pca.clone();
        if self.usual_share { with_usual_share(pca, n_observed) } else { pca }
    }

    /// The choices to compare on data of the given shape.
    pub(crate) fn grid(&self, (n_samples, n_features): (usize, usize)) -> CrossValidation {
        let most = n_samples.min(n_features).saturating_sub(1).max(1);
        let usual = || DEFAULT_COMPONENTS.into_iter().filter(|c| *c <= most).collect();
        CrossValidation {
            n_folds: self.n_folds,
            n_components: self.n_components.as_ref().map_or_else(usual, |list| list.0.clone()),
            regularization: self.penalties.clone(),
            more: karhunen::More,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::{CommandFactory, Parser};
    use karhunen::incomplete::Method;

    fn plan(arguments: &str) -> Result<CrossValidatePlan> {
        let words = ["karhunen", "cross-validate"].into_iter().chain(arguments.split_whitespace());
        match Cli::try_parse_from(words).unwrap().command {
            Command::CrossValidate(args) => CrossValidatePlan::resolve(*args),
            other => panic!("{other:?}"),
        }
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
            mean: karhunen::incomplete::MeanMode::Fixed,
            ..IncompletePca::default()
        };
        assert_eq!(plan.pca(1000), expected);
        assert_eq!(plan.threads.number(), Some(2));
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
            more: karhunen::More,
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
