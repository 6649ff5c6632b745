//! Resolves the arguments of a fit of categories.

use std::path::PathBuf;

use karhunen::categorical::{Analysis, CategoricalPca};
use karhunen::{NComponents, Pca};
use karhunen_io::ReadOptions;

use crate::args::fit::{FitArgs, PcaArgs, RowsArgs};
use crate::args::genotypes::PlinkArgs;
use crate::args::input::{ThreadArgs, read_options};
use crate::args::kernel::KernelArgs;
use crate::args::missing::FitMissingArgs;
use crate::data::weights::column_or_file;
use crate::error::{Failure, Result};
use crate::files::checkpoints::CheckpointArgs;
use crate::files::of_fit::FitFiles;
use crate::files::overwrite;
use crate::files::paths::{check_outputs, check_table_output, is_standard, one_file, one_standard_input};
use crate::pca::plan::refuse_idle;

/// A resolved fit of categories.
#[derive(Debug)]
pub(crate) struct CategoryPlan {
    /// The data file.
    pub(crate) data: PathBuf,
    /// Options for reading it, including a column of weights.
    pub(crate) read: ReadOptions,
    /// The options of the fit, with all components if their number was not given.
    pub(crate) options: CategoricalPca,
    /// True if the number of components was not given.
    pub(crate) chooses_components: bool,
    /// The threads of reading and of the fit.
    pub(crate) threads: ThreadArgs,
    /// A file of row weights; a column is part of `read`.
    pub(crate) weights_file: Option<PathBuf>,
    /// The file for the results by category.
    pub(crate) categories: Option<PathBuf>,
    /// The other outputs.
    pub(crate) files: FitFiles,
}

impl CategoryPlan {
    /// Resolves the arguments of `fit --mca` and `fit --famd`.
    ///
    /// # Errors
    /// [`Failure::Usage`] for options that do not go together, [`Failure::File`] for an output that cannot be written.
    pub(crate) fn resolve(args: FitArgs, analysis: Analysis) -> Result<Self> {
        let flag = flag_of(analysis);
        refuse_useless(&args, flag)?;
        let FitArgs { data, n_components, weights, output, input, .. } = args;
        let FitArgs { solver, categories, memory, .. } = args;
        let data = one_file(data, flag)?;
        let mut pca = Pca { memory_limit: memory.memory_limit, ..Pca::default() };
        solver.apply(&mut pca)?;
        refuse_idle(&solver, pca.solver)?;
        let weighting = weights.rows.weighting.unwrap_or_default();
        let (column, weights_file) = column_or_file(weights.rows.weights);
        let inputs =
            [Some(&data), weights_file.as_ref(), input.feature_names.as_ref(), input.sample_names.as_ref()];
        one_standard_input(&inputs)?;
        let results = categories.categories;
        if let Some(path) = results.as_deref() {
            if is_standard(Some(path)) {
                return Err(Failure::Usage("--categories writes a file, not the standard output".to_owned()));
            }
            check_table_output(path)?;
            let outputs = [
                ("-o", output.model.as_deref()),
                ("--scores", output.scores.as_deref()),
                ("--loadings", output.loadings.as_deref()),
                ("--categories", Some(path)),
            ];
            check_outputs(&outputs, &inputs)?;
            overwrite::check(&[("--categories", Some(path))], output.force)?;
        }
        let files = FitFiles::resolve(output, &inputs)?;
        Ok(Self {
            read: ReadOptions { weights_column: column, ..read_options(&input, &solver.threads) },
            data,
            options: CategoricalPca {
                analysis,
                n_components: n_components.unwrap_or(NComponents::All),
                weighting,
                solver: pca.solver,
                tol: pca.tol,
                max_iter: pca.max_iter,
                block_size: pca.block_size,
                memory_limit: pca.memory_limit,
                seed: pca.seed,
                strict: pca.strict,
                ..CategoricalPca::default()
            },
            chooses_components: n_components.is_none(),
            threads: solver.threads,
            weights_file,
            categories: results,
            files,
        })
    }
}

/// The flag of an analysis.
pub(crate) fn flag_of(analysis: Analysis) -> &'static str {
    match analysis {
        Analysis::Mca => "--mca",
        Analysis::Famd => "--famd",
    }
}

/// Refuses options that do not apply to fits of categories.
fn refuse_useless(args: &FitArgs, flag: &str) -> Result<()> {
    let useless = [
        (args.weights.feature_weights.is_some(), "--feature-weights", "variables have equal weights"),
        (args.input.log1p.is_some(), "--log1p", "it is for counts, not for categories; leave it out"),
        (args.memory.cache.is_some(), "--cache", "the table is held in memory; leave it out"),
    ];
    if let Some((_, option, advice)) = useless.into_iter().find(|(given, ..)| *given) {
        return Err(Failure::Usage(format!("{option} does not go with {flag}: {advice}")));
    }
    let given = &args.given;
    let others = given
        .first_of::<PcaArgs>(&[])
        .or_else(|| given.first_of::<FitMissingArgs>(&[]))
        .or_else(|| given.first_of::<KernelArgs>(&[]))
        .or_else(|| given.first_of::<RowsArgs>(&[]))
        .or_else(|| given.first_of::<PlinkArgs>(&[]))
        .or_else(|| given.first_of::<CheckpointArgs>(&[]));
    match others {
        None => Ok(()),
        Some(option) => {
            let advice = match option.as_str() {
                "--scale" | "--scale-values" | "--no-center" | "--center-values" => {
                    "the shares of the categories decide centre and scale"
                }
                _ => "leave it out",
            };
            Err(Failure::Usage(format!("{option} does not go with {flag}: {advice}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    fn plan(arguments: &str) -> Result<CategoryPlan> {
        let words = ["karhunen", "fit", "x.csv"].into_iter().chain(arguments.split_whitespace());
        match Cli::try_parse_from(words).unwrap().command {
            Command::Fit(args) => {
                let analysis = args.categories.analysis().unwrap();
                CategoryPlan::resolve(*args, analysis)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_reach_the_fit() {
        let all =
            plan("-k 7 --famd --solver block-krylov --tol 1e-4 --max-iter 9 --seed 8 --strict --weights w --weighting importance")
                .unwrap();
        let expected = CategoricalPca {
            analysis: Analysis::Famd,
            n_components: NComponents::Count(7),
            weighting: karhunen::Weighting::Importance,
            solver: Some(karhunen::pca::Route::BlockKrylov),
            tol: Some(1e-4),
            max_iter: 9,
            seed: 8,
            strict: true,
            ..CategoricalPca::default()
        };
        assert_eq!(all.options, expected);
        assert!(!all.chooses_components);
        assert_eq!(all.read.weights_column.as_deref(), Some("w"));
        assert!(plan("--mca").unwrap().chooses_components);
    }

    #[test]
    fn options_without_use_are_refused_by_name() {
        for (arguments, message) in [
            ("--mca --scale", "--scale does not go with --mca: the shares of the categories decide"),
            ("--famd --gamma 1", "--gamma does not go with --famd"),
            ("--mca --alpha 1", "--alpha does not go with --mca"),
            ("--mca --checkpoint c", "--checkpoint does not go with --mca"),
            ("--mca --feature-weights w", "--feature-weights does not go with --mca"),
            ("--mca --solver full", "--solver full"),
            ("--mca --categories c.csv --scores c.csv", "--scores and --categories both write to c.csv"),
        ] {
            let failure = plan(arguments).unwrap_err();
            assert_eq!(failure.exit_code(), 2, "{arguments}");
            assert!(failure.to_string().starts_with(message), "{arguments}: {failure}");
        }
    }
}
