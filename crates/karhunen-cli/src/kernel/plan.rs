//! Resolves the arguments of a fit with a kernel.

use std::path::PathBuf;

use karhunen::kernel::{Gamma, Kernel, KernelRoute};
use karhunen::{KernelPca, NComponents};
use karhunen_io::ReadOptions;

use crate::args::categories;
use crate::args::fit::{FitArgs, PcaArgs, RowsArgs, SolverArgs};
use crate::args::genotypes::PlinkArgs;
use crate::args::input::{ThreadArgs, read_options};
use crate::args::kernel::KernelArgs;
use crate::args::missing::FitMissingArgs;
use crate::data::weights::column_or_file;
use crate::error::{Failure, Result};
use crate::files::checkpoints::CheckpointArgs;
use crate::files::of_fit::FitFiles;
use crate::files::paths::{one_file, one_standard_input};

/// Maximum number of components without `-k`.
const DEFAULT_COMPONENTS: usize = 10;

/// A resolved fit with a kernel.
#[derive(Debug)]
pub(crate) struct KernelPlan {
    /// The data file.
    pub(crate) data: PathBuf,
    /// Options for reading it, including a column of weights.
    pub(crate) read: ReadOptions,
    /// The options of the fit; [`KernelPlan::pca`] sets the number of components.
    pca: KernelPca,
    /// The requested number of components.
    n_components: Option<NComponents>,
    /// The threads of reading and of the fit.
    pub(crate) threads: ThreadArgs,
    /// A file of row weights; a column is part of `read`.
    pub(crate) weights_file: Option<PathBuf>,
    /// Options of checkpoints.
    pub(crate) checkpoints: CheckpointArgs,
    /// The outputs.
    pub(crate) files: FitFiles,
}

impl KernelPlan {
    /// Resolves the arguments of `fit --kernel`.
    ///
    /// # Errors
    /// [`Failure::Usage`] for options that do not go together, [`Failure::File`] for an output that cannot be written.
    pub(crate) fn resolve(args: FitArgs, kernel: Kernel) -> Result<Self> {
        refuse_useless(&args)?;
        categories::check_unused(&args.given)?;
        let FitArgs { data, n_components, weights, output, input, .. } = args;
        let FitArgs { complete, solver, missing, kernel: asked, memory, checkpoints, given, .. } = args;
        let data = one_file(data, "a fit with a kernel")?;
        let mut pca = KernelPca {
            kernel: asked.kernel(kernel)?,
            pre_image: asked.pre_image(missing.alpha)?,
            center: !complete.no_center,
            memory_limit: memory.memory_limit,
            ..KernelPca::default()
        };
        asked.apply(&mut pca);
        solver.apply_to_kernel(&mut pca)?;
        refuse_idle(&asked, &pca.kernel, &solver, pca.solver)?;
        let (column, weights_file) = column_or_file(weights.rows.weights);
        let inputs =
            [Some(&data), weights_file.as_ref(), input.feature_names.as_ref(), input.sample_names.as_ref()];
        one_standard_input(&inputs)?;
        checkpoints.check_of_passes(&given, &output, &inputs)?;
        let files = FitFiles::resolve(output, &inputs)?;
        Ok(Self {
            read: ReadOptions { weights_column: column, ..read_options(&input, &solver.threads) },
            data,
            pca,
            threads: solver.threads,
            n_components,
            weights_file,
            checkpoints,
            files,
        })
    }

    /// The options of a fit to `n_samples` rows.
    pub(crate) fn pca(&self, n_samples: usize) -> KernelPca {
        let usual = || NComponents::Count(n_samples.clamp(1, DEFAULT_COMPONENTS));
        let n_components = self.n_components.unwrap_or_else(usual);
        KernelPca { n_components, ..self.pca.clone() }
    }

    /// The kernel.
    pub(crate) fn kernel(&self) -> Kernel {
        self.pca.kernel
    }

    /// Returns true if the number of components was chosen automatically.
    pub(crate) fn chose_components(&self) -> bool {
        self.n_components.is_none()
    }
}

/// # Errors
/// [`Failure::Usage`] for an option that the requested solver does not use.
fn refuse_idle(
    asked: &KernelArgs,
    kernel: &Kernel,
    solver: &SolverArgs,
    route: Option<KernelRoute>,
) -> Result<()> {
    let full = route == Some(KernelRoute::Full);
    let approximates = route.is_some_and(KernelRoute::approximates);
    let draws = kernel.gamma() == Some(Gamma::Median);
    let useless = [
        ("--max-iter", solver.max_iter.is_some() && full),
        ("--block-size", solver.block_size.is_some() && (full || approximates)),
        ("--seed", solver.seed.is_some() && full && !draws),
        ("--landmarks", asked.landmarks.is_some() && route != Some(KernelRoute::Nystrom)),
        ("--kernel-features", asked.kernel_features.is_some() && !approximates),
    ];
    let Some((option, _)) = useless.into_iter().find(|(_, useless)| *useless) else { return Ok(()) };
    Err(Failure::Usage(match route {
        Some(route) => format!("{option} has no effect with --solver {route}; leave it out"),
        None if option == "--landmarks" => {
            "--landmarks is for --solver nystrom; use --solver nystrom, or leave it out".to_owned()
        }
        None => format!("{option} is for --solver nystrom or fourier; say which, or leave it out"),
    }))
}

/// Refuses options that do not apply to fits with a kernel.
fn refuse_useless(args: &FitArgs) -> Result<()> {
    let useless = [
        (
            args.missing.wanted(),
            "--missing",
            "a kernel needs every value; fill missing values first (impute)",
        ),
        (args.weights.rows.weighting.is_some(), "--weighting", "weights are the times each row was seen"),
        (args.weights.feature_weights.is_some(), "--feature-weights", "multiply the columns by their roots"),
        (args.output.loadings.is_some(), "--loadings", "components are not sums of columns"),
        (args.memory.cache.is_some(), "--cache", "the table is held in memory; leave it out"),
    ];
    if let Some((_, option, advice)) = useless.into_iter().find(|(given, ..)| *given) {
        return Err(Failure::Usage(format!("{option} does not go with a kernel: {advice}")));
    }
    let of_columns = args.given.first_of::<PcaArgs>(&["no_center"]);
    let of_rows = || args.given.first_of::<RowsArgs>(&[]).or_else(|| args.given.first_of::<PlinkArgs>(&[]));
    if let Some(option) = of_columns.or_else(of_rows) {
        let advice = match option.as_str() {
            "--scale" => "columns keep their units; divide them before",
            _ => "leave it out",
        };
        return Err(Failure::Usage(format!("{option} does not go with a kernel: {advice}")));
    }
    match args.given.first_of::<FitMissingArgs>(&["alpha"]) {
        None => Ok(()),
        Some(option) => {
            Err(Failure::Usage(format!("{option} does not go with a kernel: it is for missing values")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;
    use karhunen::kernel::{Landmarks, PreImage};

    fn plan(arguments: &str) -> Result<KernelPlan> {
        let words = ["karhunen", "fit", "x.csv"].into_iter().chain(arguments.split_whitespace());
        match Cli::try_parse_from(words).unwrap().command {
            Command::Fit(args) => {
                let kernel = args.kernel.kernel.unwrap();
                KernelPlan::resolve(*args, kernel)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_reach_the_fit() {
        let all = plan(
            "-k 7 --kernel poly --gamma 0.5 --degree 2 --coef0 -1 --solver nystrom --landmarks kmeans++ \
             --kernel-features 300 --memory-limit 2GB --pre-image ridge --alpha 0.1 --tol 1e-4 --max-iter 9 --seed 8 \
             --threads 2 --strict --weights w",
        )
        .unwrap();
        let expected = KernelPca {
            center: true,
            kernel: Kernel::Polynomial { degree: 2.0, gamma: Gamma::Value(0.5), coef0: -1.0 },
            n_components: NComponents::Count(7),
            solver: Some(KernelRoute::Nystrom),
            landmarks: Landmarks::KMeansPlusPlus,
            n_features: Some(300),
            pre_image: Some(PreImage::Ridge { alpha: 0.1 }),
            tol: Some(1e-4),
            max_iter: 9,
            block_size: None,
            memory_limit: Some(2_000_000_000),
            seed: 8,
            strict: true,
            more: karhunen::More,
        };
        assert_eq!(all.pca(100), expected);
        assert_eq!(all.threads.number(), Some(2));
        assert_eq!(all.read.weights_column.as_deref(), Some("w"));
        let blocks =
            plan("--kernel rbf --gamma median --solver tiles --block-size 8 --pre-image fixed-point");
        let expected = KernelPca {
            kernel: Kernel::Rbf { gamma: Gamma::Median },
            n_components: NComponents::Count(10),
            solver: Some(KernelRoute::Tiles),
            block_size: Some(8),
            pre_image: Some(PreImage::FixedPoint),
            ..KernelPca::default()
        };
        assert_eq!(blocks.unwrap().pca(100), expected);
    }

    #[test]
    fn pre_images_have_a_ridge_where_they_need_one() {
        let cases = [
            ("auto", PreImage::Auto { alpha: 1.0 }),
            ("auto --alpha 0.2", PreImage::Auto { alpha: 0.2 }),
            ("ridge", PreImage::Ridge { alpha: 1.0 }),
            ("fixed-point", PreImage::FixedPoint),
        ];
        for (options, expected) in cases {
            let plan = plan(&format!("--kernel rbf --pre-image {options}")).unwrap();
            assert_eq!(plan.pca(5).pre_image, Some(expected), "{options}");
        }
    }

    #[test]
    fn every_kernel_and_solver_has_a_name() {
        let gamma = Gamma::PerFeature;
        let kernels = [
            ("linear", Kernel::Linear),
            ("polynomial", Kernel::Polynomial { degree: 3.0, gamma, coef0: 1.0 }),
            ("rbf", Kernel::Rbf { gamma }),
            ("laplacian", Kernel::Laplacian { gamma }),
            ("sigmoid", Kernel::Sigmoid { gamma, coef0: 1.0 }),
            ("cosine", Kernel::Cosine),
            ("additive-chi2", Kernel::AdditiveChi2),
            ("chi2", Kernel::Chi2 { gamma }),
            ("precomputed", Kernel::Precomputed),
        ];
        for (name, kernel) in kernels {
            assert_eq!(plan(&format!("--kernel {name}")).unwrap().pca(5).kernel, kernel);
            assert_eq!(kernel.name(), name);
        }
        use KernelRoute::{Fourier, Full, Nystrom, Stored, Tiles};
        for route in [Full, Stored, Tiles, Nystrom, Fourier] {
            assert_eq!(plan(&format!("--kernel rbf --solver {route}")).unwrap().pca(5).solver, Some(route));
        }
        assert_eq!(plan("--kernel rbf --solver auto").unwrap().pca(5).solver, None);
    }

    #[test]
    fn components_left_open_are_ten_or_as_many_as_rows() {
        let open = plan("--kernel rbf").unwrap();
        assert!(open.chose_components());
        for (n, k) in [(100, 10), (4, 4), (0, 1)] {
            assert_eq!(open.pca(n).n_components, NComponents::Count(k));
        }
        assert_eq!(plan("--kernel rbf -k all").unwrap().pca(5).n_components, NComponents::All);
        assert_eq!(plan("--kernel rbf -k 90%").unwrap().pca(5).n_components, NComponents::Variance(0.9));
    }

    #[test]
    fn options_without_use_are_refused_by_name() {
        let cases = [
            ("--kernel linear --gamma 1", "--gamma has no effect with --kernel linear"),
            ("--kernel precomputed --gamma 1", "--gamma has no effect with --kernel precomputed"),
            ("--kernel rbf --degree 2", "--degree has no effect with --kernel rbf"),
            ("--kernel laplacian --coef0 2", "--coef0 has no effect with --kernel laplacian"),
            ("--kernel sigmoid --degree 2", "--degree has no effect with --kernel sigmoid"),
            ("--kernel rbf --solver svd", "--solver svd does not go with a kernel"),
            ("--kernel rbf --solver block-krylov", "--solver block-krylov does not go with a kernel"),
            ("--kernel rbf --solver full --max-iter 3", "--max-iter has no effect with --solver full"),
            ("--kernel rbf --solver full --seed 3", "--seed has no effect with --solver full"),
            ("--kernel rbf --solver full --block-size 3", "--block-size has no effect with --solver full"),
            (
                "--kernel rbf --solver fourier --block-size 3",
                "--block-size has no effect with --solver fourier",
            ),
            (
                "--kernel rbf --solver fourier --landmarks uniform",
                "--landmarks has no effect with --solver fourier",
            ),
            (
                "--kernel rbf --solver tiles --kernel-features 5",
                "--kernel-features has no effect with --solver tiles",
            ),
            ("--kernel rbf --kernel-features 5", "--kernel-features is for --solver nystrom or fourier"),
            (
                "--kernel rbf --landmarks leverage",
                "--landmarks is for --solver nystrom; use --solver nystrom",
            ),
            ("--kernel rbf --alpha 0.5", "--alpha is the ridge of --pre-image ridge"),
            ("--kernel rbf --pre-image fixed-point --alpha 0.5", "--alpha is the ridge of --pre-image ridge"),
            ("--kernel rbf --missing", "--missing does not go with a kernel"),
            ("--kernel rbf --triples a,b,c", "--missing does not go with a kernel"),
            ("--kernel rbf --regularization 1", "--regularization does not go with a kernel"),
            (
                "--kernel rbf --checkpoint c --checkpoint-every 5",
                "--checkpoint-every has no effect without --missing",
            ),
            ("--kernel rbf --dtype f32", "--dtype does not go with a kernel"),
            ("--kernel rbf --scale", "--scale does not go with a kernel"),
            ("--kernel rbf --weighting importance", "--weighting does not go with a kernel"),
            ("--kernel rbf --feature-weights w", "--feature-weights does not go with a kernel"),
            ("--kernel rbf --loadings l.csv", "--loadings does not go with a kernel"),
        ];
        for (arguments, message) in cases {
            let failure = plan(arguments).unwrap_err();
            assert_eq!(failure.exit_code(), 2, "{arguments}");
            assert!(failure.to_string().starts_with(message), "{arguments}: {failure}");
        }
    }
}
