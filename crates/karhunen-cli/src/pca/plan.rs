//! Resolves the arguments of a fit, before any data are read: sets defaults and refuses contradictions.

use std::path::PathBuf;

use karhunen::pca::{Centring, Route, Scaling};
use karhunen::{NComponents, Pca, Scalar};
use karhunen_device::{Backend, Device};
use karhunen_io::{Data, ReadOptions, Values, read_column_numbers};

use crate::args::categories;
use crate::args::fit::{FitArgs, SolverArgs};
use crate::args::genotypes::{self, PlinkArgs};
use crate::args::given::{Given, set};
use crate::args::input::{ThreadArgs, read_options};
use crate::args::kernel;
use crate::args::missing;
use crate::data::weights::column_or_file;
use crate::error::{Failure, Places, Result};
use crate::files::checkpoints::CheckpointArgs;
use crate::files::of_fit::FitFiles;
use crate::files::paths::{input_names, one_standard_input};

/// Number of components without `-k`.
const DEFAULT_COMPONENTS: usize = 10;

/// A resolved fit.
#[derive(Debug)]
pub(crate) struct FitPlan {
    /// The data files.
    pub(crate) data: Vec<PathBuf>,
    /// Options for reading it, including a column of weights.
    pub(crate) read: ReadOptions,
    /// The options of the fit; [`FitPlan::pca`] sets the number of components.
    pca: Pca,
    /// The threads of reading and of the fit.
    pub(crate) threads: ThreadArgs,
    /// The requested number of components.
    n_components: Option<NComponents>,
    /// A file of row weights; a column is part of `read`.
    pub(crate) weights_file: Option<PathBuf>,
    /// A file of column weights.
    pub(crate) feature_weights: Option<PathBuf>,
    /// A file of numbers that are subtracted from the columns.
    center_values: Option<PathBuf>,
    /// A file of numbers that divide the columns.
    scale_values: Option<PathBuf>,
    /// The prefix of the files of PLINK 2.
    pub(crate) eigenvec: Option<PathBuf>,
    /// Where products are computed.
    pub(crate) device: Backend,
    /// True if the model keeps limits for new rows.
    pub(crate) limits: bool,
    /// Options of checkpoints.
    pub(crate) checkpoints: CheckpointArgs,
    /// The outputs.
    pub(crate) files: FitFiles,
}

impl FitPlan {
    /// Refuses a device that cannot be used, before the data are read.
    ///
    /// # Errors
    /// The failure of [`Device::open`].
    pub(crate) fn check_device(&self) -> Result<()> {
        if self.device == Backend::Cpu {
            return Ok(());
        }
        let found = Device::open(&[]);
        found.map(drop).map_err(|error| Places::of_file(&input_names(&self.data)).explain(error.into()))
    }

    /// Resolves the arguments of `fit`.
    ///
    /// # Errors
    /// [`Failure::Usage`] for contradictory options, [`Failure::File`] for an output that cannot be written.
    pub(crate) fn resolve(args: FitArgs) -> Result<Self> {
        let FitArgs { given, data, n_components, complete, weights, output, .. } = args;
        let FitArgs { input, solver, rows, memory, checkpoints, genotypes: PlinkArgs { eigenvec }, .. } =
            args;
        missing::check_unused(&given)?;
        kernel::check_unused(&given)?;
        categories::check_unused(&given)?;
        let (column, weights_file) = column_or_file(weights.rows.weights);
        let others = [
            weights_file.as_ref(),
            weights.feature_weights.as_ref(),
            complete.center_values.as_ref(),
            complete.scale_values.as_ref(),
            input.feature_names.as_ref(),
            input.sample_names.as_ref(),
        ];
        let inputs: Vec<_> = data.iter().map(Some).chain(others).collect();
        one_standard_input(&inputs)?;
        checkpoints.check_of_passes(&given, &output, &inputs)?;
        let files = FitFiles::resolve(output, &inputs)?;
        if let Some(prefix) = &eigenvec {
            let outputs = files.outputs(checkpoints.checkpoint.as_deref());
            genotypes::check_eigenvec(prefix, (&data, &inputs), &complete, (&outputs, files.force))?;
        }
        let read = ReadOptions { weights_column: column, ..read_options(&input, &solver.threads) };
        let mut pca = Pca {
            weighting: weights.rows.weighting.unwrap_or_default(),
            memory_limit: memory.memory_limit,
            ..Pca::default()
        };
        complete.apply(&mut pca);
        solver.apply(&mut pca)?;
        refuse_idle(&solver, pca.solver)?;
        let device = rows.device.unwrap_or_default();
        if device != Backend::Cpu {
            check_device(&given, device, &pca)?;
        }
        Ok(Self {
            data,
            read: memory.within(read),
            pca,
            threads: solver.threads,
            n_components,
            weights_file,
            feature_weights: weights.feature_weights,
            center_values: complete.center_values,
            scale_values: complete.scale_values,
            eigenvec,
            device,
            limits: rows.limits,
            checkpoints,
            files,
        })
    }

    /// The options of the fit for data of the given shape and with these columns. Reads the files of their numbers.
    ///
    /// # Errors
    /// Same errors as [`read_column_numbers`].
    pub(crate) fn pca_of(&self, shape: (usize, usize), columns: Option<&[String]>) -> Result<Pca> {
        let mut pca = self.pca(shape);
        apply_numbers(&mut pca, [&self.center_values, &self.scale_values], (columns, shape.1))?;
        Ok(pca)
    }

    /// The options of the fit for data of the given shape, without numbers from files.
    fn pca(&self, (n_samples, n_features): (usize, usize)) -> Pca {
        let most = n_samples.min(n_features);
        let n_components = self.n_components.unwrap_or(NComponents::Count(most.clamp(1, DEFAULT_COMPONENTS)));
        Pca { n_components, ..self.pca.clone() }
    }

    /// Returns true if the number of components was chosen automatically.
    pub(crate) fn chose_components(&self) -> bool {
        self.n_components.is_none()
    }
}

/// Sets the centres and the scales that were given in files, for `p` columns of these names.
///
/// # Errors
/// Same errors as [`read_column_numbers`].
pub(crate) fn apply_numbers(
    pca: &mut Pca,
    [centers, scales]: [&Option<PathBuf>; 2],
    (columns, p): (Option<&[String]>, usize),
) -> Result<()> {
    let read = |path: &PathBuf| read_column_numbers(path, columns, p);
    set(&mut pca.center, centers.as_ref().map(read).transpose()?.map(Centring::Given));
    set(&mut pca.scale, scales.as_ref().map(read).transpose()?.map(Scaling::Given));
    Ok(())
}

/// Refuses options that the requested solver does not use.
///
/// # Errors
/// [`Failure::Usage`] for an option that the requested solver does not use.
pub(crate) fn refuse_idle(args: &SolverArgs, solver: Option<Route>) -> Result<()> {
    let iterates = matches!(solver, None | Some(Route::BlockKrylov));
    let useless = [
        ("--max-iter", args.max_iter.is_some() && !iterates),
        ("--block-size", args.block_size.is_some() && !iterates),
        ("--seed", args.seed.is_some() && solver == Some(Route::Svd)),
    ];
    match (useless.iter().find(|(_, useless)| *useless), solver) {
        (Some((option, _)), Some(route)) => {
            Err(Failure::Usage(format!("{option} has no effect with --solver {route}; leave it out")))
        }
        _ => Ok(()),
    }
}

/// Refuses options that a device has no use for.
///
/// # Errors
/// [`Failure::Usage`].
fn check_device(given: &Given, device: Backend, pca: &Pca) -> Result<()> {
    if let Some(option) = given.first_of::<CheckpointArgs>(&[]) {
        let rule = "the passes are products on the device, and are not kept; leave it out";
        return Err(Failure::Usage(format!("{option} does not go with --device {device}: {rule}")));
    }
    karhunen_device::check(pca).map_err(|error| Failure::Usage(error.text_for(&Places::of_file(""))))
}

/// Work on values of either type.
pub(crate) trait OnValues {
    /// The result.
    type Output;
    /// Does the work.
    fn on<T: Scalar>(self, values: &Values<T>) -> Self::Output;
}

/// Selects the scalar type: the only place that does.
pub(crate) fn dispatch<W: OnValues>(data: &Data, work: W) -> W::Output {
    match data {
        Data::F32(values) => work.on(values),
        Data::F64(values) => work.on(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::values::JsonExtent;
    use crate::args::{Cli, Command};
    use crate::files::of_fit::SummaryForm;
    use clap::Parser;
    use karhunen_io::RowNames;

    fn plan(arguments: &str) -> Result<FitPlan> {
        let words = ["karhunen", "fit"].into_iter().chain(arguments.split_whitespace());
        match Cli::try_parse_from(words).unwrap().command {
            Command::Fit(args) => FitPlan::resolve(*args),
            other => panic!("{other:?}"),
        }
    }

    fn refusal(arguments: &str) -> String {
        let failure = plan(arguments).unwrap_err();
        assert_eq!(failure.exit_code(), 2, "{failure}");
        failure.to_string()
    }

    #[test]
    fn options_reach_the_fit() {
        let plan = plan(
            "x.csv -k 95% --scale --no-center --weighting population --solver block-krylov --tol 1e-4 --max-iter 7 \
             --block-size 8 --seed 3 --threads 2 --strict --label a --label b \
             --decimal , --header=no --row-names none --delimiter tab --transpose --array x --layer y --mask z \
             --log1p=500 --weights pop",
        )
        .unwrap();
        let expected = Pca {
            n_components: NComponents::Variance(0.95),
            center: Centring::None,
            scale: Scaling::Deviation,
            weighting: karhunen::Weighting::Population,
            solver: Some(karhunen::pca::Route::BlockKrylov),
            tol: Some(1e-4),
            max_iter: 7,
            block_size: Some(8),
            memory_limit: None,
            seed: 3,
            strict: true,
            more: karhunen::More,
        };
        assert_eq!(plan.pca((100, 50)), expected);
        assert_eq!(plan.read.labels, ["a", "b"]);
        assert_eq!(plan.read.weights_column.as_deref(), Some("pop"));
        assert_eq!(plan.read.decimal, Some(','));
        assert_eq!(plan.read.header, Some(false));
        assert_eq!(plan.read.row_names, RowNames::None);
        assert_eq!(plan.read.delimiter.as_deref(), Some("\t"));
        assert!(plan.read.transpose);
        assert_eq!(plan.read.array.as_deref(), Some("x"));
        assert_eq!((plan.read.layer.as_deref(), plan.read.mask.as_deref()), (Some("y"), Some("z")));
        assert_eq!(plan.read.log1p, Some(karhunen_io::Log1p::To(500.0)));
        assert_eq!((plan.threads.number(), plan.read.n_threads), (Some(2), Some(2)));
    }

    #[test]
    fn components_left_open_are_ten_or_as_many_as_there_are() {
        let plan = plan("x.csv").unwrap();
        assert!(plan.chose_components());
        for (shape, k) in [((100, 50), 10), ((100, 4), 4), ((3, 50), 3), ((0, 5), 1)] {
            assert_eq!(plan.pca(shape).n_components, NComponents::Count(k), "{shape:?}");
        }
    }

    #[test]
    fn the_summary_gives_way_to_files_on_the_standard_output() {
        assert_eq!(plan("x.csv").unwrap().files.summary, SummaryForm::Text);
        assert_eq!(plan("x.csv --scores -").unwrap().files.summary, SummaryForm::TextAside);
        assert_eq!(plan("x.csv --quiet --scores -").unwrap().files.summary, SummaryForm::None);
        assert_eq!(plan("x.csv --json").unwrap().files.summary, SummaryForm::Json(JsonExtent::Summary));
        assert_eq!(plan("x.csv --json=full").unwrap().files.summary, SummaryForm::Json(JsonExtent::Full));
    }

    #[test]
    fn contradictions_are_refused() {
        let cases = [
            (
                "x.csv --json --scores -",
                "--json and an output `-` both ask for the standard output; give that output a file",
            ),
            (
                "x.csv --scores - --loadings -",
                "--scores and --loadings both write to the standard output; give each its own",
            ),
            (
                "x.csv --scores s.csv --loadings s.csv",
                "--scores and --loadings both write to s.csv; give each its own",
            ),
            (
                "x.csv --scores s.csv --loadings ./s.csv",
                "--scores and --loadings both write to ./s.csv; give each its own",
            ),
            ("x.csv --scores x.csv", "--scores x.csv would overwrite what is read; give another name"),
            (
                "- --feature-weights -",
                "`-` is given twice, but the standard input can be read once; give a file",
            ),
        ];
        for (arguments, message) in cases {
            assert_eq!(refusal(arguments), message);
        }
        let message = refusal("x.csv --scores s.xlsx");
        assert!(message.starts_with("s.xlsx: "), "{message}");
        let failure = plan("x.csv -o no/such/folder/m").unwrap_err();
        assert_eq!(failure.exit_code(), 4);
        assert_eq!(
            failure.to_string(),
            "no/such/folder/m: writing failed: there is no folder no/such/folder; make it first"
        );
    }
}
