//! Resolves the arguments of a fit with missing values.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use karhunen::incomplete::{MeanMode, Method, NoiseModel};
use karhunen::pca::Scaling;
use karhunen::{IncompletePca, NComponents};
use karhunen_io::{ObserveOptions, ReadOptions, read_column_numbers};

use crate::args::categories;
use crate::args::fit::{FitArgs, PcaArgs, RowWeightArgs, RowsArgs, SolverArg, SolverArgs, WeightArgs};
use crate::args::genotypes::PlinkArgs;
use crate::args::given::set;
use crate::args::input::{ThreadArgs, read_options};
use crate::args::kernel;
use crate::args::missing::FitMissingArgs;
use crate::data::weights::column_or_file;
use crate::error::{Failure, Result};
use crate::files::checkpoints::CheckpointArgs;
use crate::files::of_fit::FitFiles;
use crate::files::paths::{one_file, one_standard_input};

/// Maximum number of components without `-k`.
const DEFAULT_COMPONENTS: usize = 10;

/// A resolved fit with missing values.
#[derive(Debug)]
pub(crate) struct IncompletePlan {
    /// The data file.
    pub(crate) data: PathBuf,
    /// Options for reading files, including a column of weights.
    pub(crate) read: ReadOptions,
    /// A file of row weights; a column is part of `read`.
    pub(crate) weights_file: Option<PathBuf>,
    /// A file of column weights.
    pub(crate) feature_weights: Option<PathBuf>,
    /// A file of divisors of the columns.
    scale_values: Option<PathBuf>,
    /// Options for reading observed entries.
    pub(crate) observe: ObserveOptions,
    /// The options of the fit; [`IncompletePlan::pca`] sets those that depend on the data.
    pca: IncompletePca,
    /// The threads of reading and of the fit.
    pub(crate) threads: ThreadArgs,
    /// True if `--early-stopping` was given without a share.
    usual_share: bool,
    /// Options of checkpoints.
    pub(crate) checkpoints: CheckpointArgs,
    /// Number of passes of a fit that learns rows block by block.
    pub(crate) n_passes: usize,
    /// The first option, if any, that a fit that learns rows block by block cannot obey.
    pub(crate) unstreamed: Option<String>,
    /// The requested number of components.
    n_components: Option<NComponents>,
    /// The outputs.
    pub(crate) files: FitFiles,
    /// True if non-convergence is an error.
    pub(crate) strict: bool,
    /// True if the model keeps limits for new rows.
    pub(crate) limits: bool,
}

impl IncompletePlan {
    /// Resolves the arguments of `fit --missing`.
    ///
    /// # Errors
    /// [`Failure::Usage`] for contradictory options, [`Failure::File`] for an output that cannot be written.
    pub(crate) fn resolve(args: FitArgs) -> Result<Self> {
        refuse_useless(&args)?;
        kernel::check_unused(&args.given)?;
        categories::check_unused(&args.given)?;
        let unstreamed = unstreamed(&args);
        let FitArgs {
            data,
            n_components,
            output,
            input,
            solver,
            missing: fit,
            weights,
            memory,
            checkpoints,
            complete,
            rows,
            given,
            ..
        } = args;
        let data = one_file(data, "a fit with missing values")?;
        let (weights_column, weights_file) = column_or_file(weights.rows.weights);
        let inputs = [
            Some(&data),
            weights_file.as_ref(),
            weights.feature_weights.as_ref(),
            input.feature_names.as_ref(),
            input.sample_names.as_ref(),
            complete.scale_values.as_ref(),
        ];
        one_standard_input(&inputs)?;
        checkpoints.check(&given, &output, &inputs)?;
        let files = FitFiles::resolve(output, &inputs)?;
        let (scale, memory_limit) = (complete.scale.unwrap_or_default(), memory.memory_limit);
        let mut pca = IncompletePca { memory_limit, scale, ..IncompletePca::default() };
        fit.apply(&mut pca);
        Iterations::of(&solver).apply(&mut pca);
        let read = memory.within_entries(read_options(&input, &solver.threads));
        Ok(Self {
            read: ReadOptions { weights_column, ..read },
            weights_file,
            feature_weights: weights.feature_weights,
            observe: ObserveOptions {
                fit: Some(IncompletePca { n_components: most_components(n_components), ..pca.clone() }),
                ..fit.missing.triples.options()
            },
            pca,
            threads: solver.threads,
            usual_share: fit.missing.usual_share(),
            checkpoints,
            data,
            scale_values: complete.scale_values,
            n_passes: solver.max_iter.map_or(1, usize::from),
            unstreamed,
            n_components,
            files,
            strict: solver.strict,
            limits: rows.limits,
        })
    }

    /// True if a table whose entries exceed the memory limit is learned block by block.
    pub(crate) fn streams(&self) -> bool {
        self.pca.method == Method::Online
    }

    /// True if columns are divided by numbers of their own.
    pub(crate) fn scales(&self) -> bool {
        let by_noise = self.pca.noise == NoiseModel::Feature;
        self.pca.scale != Scaling::None || self.scale_values.is_some() || by_noise
    }

    /// Sets the scales that were given in a file, for `p` columns of these names.
    ///
    /// # Errors
    /// Same errors as [`read_column_numbers`].
    pub(crate) fn apply_scales(
        &self,
        pca: &mut IncompletePca,
        (columns, p): (Option<&[String]>, usize),
    ) -> Result<()> {
        if let Some(path) = &self.scale_values {
            pca.scale = Scaling::Given(read_column_numbers(path, columns, p)?);
        }
        Ok(())
    }

    /// The options of the fit for data of the given shape with `n_observed` entries, without scales from a file.
    pub(crate) fn pca(&self, (n_samples, n_features): (usize, usize), n_observed: usize) -> IncompletePca {
        let most = n_samples.min(n_features);
        let n_components = match self.n_components {
            Some(NComponents::Count(count)) => count,
            // Other rules for the number are refused earlier.
            Some(_) => most,
            // With as many components as columns, no column could be predicted from the others.
            None => most.saturating_sub(1).clamp(1, DEFAULT_COMPONENTS),
        };
        let pca = IncompletePca { n_components, ..self.pca.clone() };
        if self.usual_share { with_usual_share(pca, n_observed) } else { pca }
    }
}

/// The first option that a fit that learns rows block by block cannot obey; `None` for other methods.
fn unstreamed(args: &FitArgs) -> Option<String> {
    if args.missing.missing.missing != Some(Method::Online) {
        return None;
    }
    let weights = args.weights.rows.weights.as_ref().map(|_| "--weights".to_owned());
    let of_columns = args.weights.feature_weights.as_ref().map(|_| "--feature-weights".to_owned());
    let fixed = (args.missing.missing.mean == Some(MeanMode::Fixed)).then(|| "--mean fixed".to_owned());
    let obeyed = ["missing", "online_rule", "mean", "row_offsets", "no_error_bars"];
    // Tables that are not triples have refused them.
    let of_triples = ["triples", "duplicates", "dtype"];
    weights
        .or(of_columns)
        .or(fixed)
        .or_else(|| args.given.first_of::<PcaArgs>(&[]))
        .or_else(|| args.given.first_of::<RowsArgs>(&[]))
        .or_else(|| args.given.first_of::<FitMissingArgs>(&[&obeyed[..], &of_triples].concat()))
        .or_else(|| args.given.first_of::<SolverArgs>(&["solver", "max_iter", "seed", "threads"]))
        .or_else(|| args.given.first_of::<CheckpointArgs>(&[]))
}

/// The most components that a fit may keep.
fn most_components(n_components: Option<NComponents>) -> usize {
    match n_components {
        Some(NComponents::Count(count)) => count,
        Some(_) => usize::MAX,
        None => DEFAULT_COMPONENTS,
    }
}

/// Early stopping with the default share for this number of entries.
pub(crate) fn with_usual_share(pca: IncompletePca, n_observed: usize) -> IncompletePca {
    IncompletePca { early_stopping: Some(IncompletePca::held_out_of(n_observed)), ..pca }
}

/// The options of iterations.
pub(crate) struct Iterations {
    pub(crate) tol: Option<f64>,
    pub(crate) max_iter: Option<NonZeroUsize>,
    pub(crate) seed: Option<u64>,
}

impl Iterations {
    fn of(solver: &SolverArgs) -> Self {
        let &SolverArgs { tol, max_iter, seed, .. } = solver;
        Self { tol, max_iter, seed }
    }

    /// Sets the options that were given.
    pub(crate) fn apply(&self, pca: &mut IncompletePca) {
        set(&mut pca.tol, self.tol);
        set(&mut pca.max_iter, self.max_iter.map(usize::from));
        set(&mut pca.seed, self.seed);
    }
}

/// Refuses options that apply only to complete data.
fn refuse_useless(args: &FitArgs) -> Result<()> {
    let WeightArgs { rows: RowWeightArgs { weights, weighting }, feature_weights } = &args.weights;
    let useless = [
        (
            weights.is_some() && args.missing.missing.triples.triples.is_some(),
            "--weights with --triples",
            "entries have weights: --triples ROW,COLUMN,VALUE,WEIGHT",
        ),
        (weighting.is_some(), "--weighting", "weights count how often a row was seen"),
        (
            feature_weights.is_some() && args.missing.missing.triples.triples.is_some(),
            "--feature-weights with --triples",
            "entries have weights: --triples ROW,COLUMN,VALUE,WEIGHT",
        ),
        (args.solver.block_size.is_some(), "--block-size", "leave it out"),
        (!matches!(args.solver.solver, SolverArg::Auto), "--solver", "use --missing=METHOD"),
        (
            !matches!(args.n_components, None | Some(NComponents::Count(_) | NComponents::All)),
            "a share of the variance after -k",
            "give a number; auto, vb and vb-full leave out what the data do not support",
        ),
    ];
    let listed = useless.into_iter().find(|(given, ..)| *given);
    let found = listed.map(|(_, option, advice)| (option.to_owned(), advice)).or_else(|| {
        let option = args
            .given
            .first_of::<PcaArgs>(&["scale", "scale_values"])
            .or_else(|| args.given.first_of::<RowsArgs>(&["limits"]))
            .or_else(|| args.given.first_of::<PlinkArgs>(&[]))?;
        let advice = match option.as_str() {
            "--no-center" => "use --mean none",
            _ => "leave it out",
        };
        Some((option, advice))
    });
    match found {
        None => Ok(()),
        Some((option, advice)) => {
            Err(Failure::Usage(format!("{option} does not go with missing values: {advice}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::{CommandFactory, Parser};
    use karhunen::incomplete::{MeanPrior, Regularization};

    fn plan(arguments: &str) -> Result<IncompletePlan> {
        let words = ["karhunen", "fit"].into_iter().chain(arguments.split_whitespace());
        match Cli::try_parse_from(words).unwrap().command {
            Command::Fit(args) => IncompletePlan::resolve(*args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_reach_the_fit() {
        let plan = plan(
            "x.csv -k 7 --missing=newton --alpha 0.5 --regularization weighted:0.1 --noise feature --mean fixed --mean-prior 22:3 --learn-mean-prior --hyperprior 0.5 --row-offsets --step \
             0.25 --tol 1e-3 --max-iter 9 --early-stopping --time-limit 1.5 --starts 3 --seed 8 --no-error-bars --threads 2 \
             --online-rule oja --gradient-tol 1e-4 --angle-tol 1e-5 --rmse-tol 1e-6 --refit \
             --triples u,i,r,w --duplicates average --dtype f64",
        )
        .unwrap();
        let expected = IncompletePca {
            n_components: 7,
            method: Method::Newton,
            alpha: 0.5,
            regularization: Some(Regularization::Weighted(0.1)),
            noise: NoiseModel::Feature,
            mean: MeanMode::Fixed,
            mean_prior: MeanPrior { count: 22.0, value: Some(3.0) },
            learn_mean_prior: true,
            hyperprior: 0.5,
            row_offsets: true,
            step: Some(0.25),
            tol: 1e-3,
            online_rule: karhunen::incomplete::OnlineRule::Oja,
            gradient_tol: Some(1e-4),
            angle_tol: Some(1e-5),
            rmse_tol: Some(1e-6),
            refit: true,
            max_iter: 9,
            early_stopping: Some(0.02),
            time_limit: Some(std::time::Duration::from_millis(1500)),
            n_starts: Some(3),
            seed: 8,
            error_bars: false,
            ..IncompletePca::default()
        };
        assert_eq!(plan.pca((100, 50), 5000), expected);
        assert_eq!(plan.threads.number(), Some(2));
        assert!(plan.observe.double);
        assert_eq!(plan.observe.triples.unwrap().weight.as_deref(), Some("w"));
    }

    #[test]
    fn the_held_out_share_agrees_with_the_library() {
        let share = |arguments: &str, n| plan(arguments).unwrap().pca((9, 9), n).early_stopping;
        for n in [81, 1000, 100_000] {
            let usual = Some(IncompletePca::held_out_of(n));
            assert_eq!(share("x.csv --missing --early-stopping", n), usual);
            assert_eq!(share("x.csv --missing --early-stopping=0.1", n), Some(0.1));
            assert_eq!(share("x.csv --missing", n), None);
        }
        let mut command = Cli::command();
        let help = command.find_subcommand_mut("fit").unwrap().render_help().to_string();
        let default = format!(
            "[default share: {}; with fewer than 2500 entries 50 entries, or {}]",
            IncompletePca::HELD_OUT,
            IncompletePca::held_out_of(1)
        );
        assert_eq!(IncompletePca::held_out_of(1000), 50.0 / 1000.0);
        assert_eq!(IncompletePca::held_out_of(2500), IncompletePca::HELD_OUT);
        assert!(help.split_whitespace().collect::<Vec<_>>().join(" ").contains(&default), "{help}");
    }

    #[test]
    fn options_that_a_stream_cannot_obey_are_known() {
        for (arguments, expected) in [
            ("--missing=online --max-iter 3 --seed 4 --threads 2 --online-rule rls --mean none", None),
            ("--missing=online --row-offsets --no-error-bars --mean joint", None),
            ("--missing=online --tol 0.1", Some("--tol")),
            ("--missing=online --strict", Some("--strict")),
            ("--missing=online --early-stopping", Some("--early-stopping")),
            ("--missing=online --starts 3", Some("--starts")),
            ("--missing=online --time-limit 3", Some("--time-limit")),
            ("--missing=online --mean-prior 3", Some("--mean-prior")),
            ("--missing=online --mean fixed", Some("--mean fixed")),
            ("--missing=online --weights w", Some("--weights")),
            ("--missing=online --feature-weights w", Some("--feature-weights")),
            ("--missing=online --scale", Some("--scale")),
            ("--missing=online --checkpoint never.checkpoint", Some("--checkpoint")),
            ("--missing=em --tol 0.1", None),
        ] {
            let plan = plan(&format!("x.csv {arguments}")).unwrap();
            assert_eq!(plan.unstreamed.as_deref(), expected, "{arguments}");
            assert_eq!(plan.streams(), arguments.contains("online"));
        }
        assert_eq!(plan("x.csv --missing=online").unwrap().n_passes, 1);
        assert_eq!(plan("x.csv --missing=online --max-iter 3").unwrap().n_passes, 3);
    }

    #[test]
    fn components_left_open_are_ten_or_one_less_than_there_are() {
        let plan = plan("x.csv --missing").unwrap();
        for (shape, k) in [((100, 50), 10), ((100, 4), 3), ((3, 50), 2), ((0, 5), 1), ((1, 1), 1)] {
            assert_eq!(plan.pca(shape, 9).n_components, k, "{shape:?}");
        }
    }

    #[test]
    fn options_of_complete_data_are_refused() {
        for arguments in [
            "--no-center",
            "--feature-weights w --triples a,b,c",
            "--weights w --triples a,b,c",
            "--weights w --weighting importance",
            "--block-size 4",
            "--solver svd",
            "-k 90%",
        ] {
            let failure = plan(&format!("x.csv --missing {arguments}")).unwrap_err();
            assert_eq!(failure.exit_code(), 2);
            assert!(failure.to_string().contains("does not go with missing values: "), "{failure}");
        }
    }
}
