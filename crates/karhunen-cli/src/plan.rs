//! What was typed, resolved: defaults decided, contradictions refused, before anything is read.

use std::path::{Path, PathBuf};

use karhunen::{NComponents, Pca, Route, Scalar, Weighting};
use karhunen_io::{Data, ReadOptions, RowNames, SavedModel, Values};

use crate::args::{FitArgs, InputArgs, SolverArgs, ThreadArgs};
use crate::error::{Failure, Result};
use crate::fit_files::FitFiles;
use crate::fit_weights::column_or_file;

/// Components that a fit keeps if `-k` does not say.
const DEFAULT_COMPONENTS: usize = 10;

/// A fit, ready to run.
#[derive(Debug)]
pub(crate) struct FitPlan {
    /// The data.
    pub(crate) data: PathBuf,
    /// How to read them, a column of weights included.
    pub(crate) read: ReadOptions,
    /// The options of the fit; the number of components is decided by [`FitPlan::pca`].
    pca: Pca,
    /// Components asked for.
    n_components: Option<NComponents>,
    /// A file of weights of the rows; a column is part of `read`.
    pub(crate) weights_file: Option<PathBuf>,
    /// A file of weights of the columns.
    pub(crate) feature_weights: Option<PathBuf>,
    /// Where the results go.
    pub(crate) files: FitFiles,
}

impl FitPlan {
    /// Resolves the arguments of `fit`.
    ///
    /// # Errors
    /// [`Failure::Usage`] for options that do not go together, [`Failure::File`] for an output that cannot be written.
    pub(crate) fn resolve(args: FitArgs) -> Result<Self> {
        let FitArgs { data, n_components, scale, no_center, weights, output, input, solver, missing, kernel } =
            args;
        missing.check_unused()?;
        kernel.check_unused()?;
        let (column, weights_file) = column_or_file(weights.weights);
        let inputs = [
            Some(&data),
            weights_file.as_ref(),
            weights.feature_weights.as_ref(),
            input.feature_names.as_ref(),
            input.sample_names.as_ref(),
        ];
        one_standard_input(&inputs)?;
        let files = FitFiles::resolve(output, &inputs, SavedModel::KIND)?;
        let read = ReadOptions { weights_column: column, ..read_options(&input, &solver.threads) };
        let pca = Pca {
            center: !no_center,
            scale,
            weighting: weights.weighting.map_or(Weighting::Frequency, Into::into),
            ..solver_options(&solver)?
        };
        Ok(Self {
            data,
            read,
            pca,
            n_components,
            weights_file,
            feature_weights: weights.feature_weights,
            files,
        })
    }

    /// The options of the fit for data of a shape.
    pub(crate) fn pca(&self, (n_samples, n_features): (usize, usize)) -> Pca {
        let most = n_samples.min(n_features);
        let n_components = self.n_components.unwrap_or(NComponents::Count(most.clamp(1, DEFAULT_COMPONENTS)));
        Pca { n_components, ..self.pca.clone() }
    }

    /// Whether the number of components was left to karhunen.
    pub(crate) fn chose_components(&self) -> bool {
        self.n_components.is_none()
    }
}

/// # Errors
/// [`Failure::Usage`] for an option that the solver asked for has no use for.
fn solver_options(args: &SolverArgs) -> Result<Pca> {
    let defaults = Pca::default();
    let solver = args.solver.route()?;
    let iterates = matches!(solver, None | Some(Route::BlockKrylov));
    let useless = [
        ("--max-iter", args.max_iter.is_some() && !iterates),
        ("--block-size", args.block_size.is_some() && !iterates),
        ("--seed", args.seed.is_some() && solver == Some(Route::Svd)),
    ];
    if let (Some((option, _)), Some(route)) = (useless.iter().find(|(_, useless)| *useless), solver) {
        return Err(Failure::Usage(format!("{option} has no effect with --solver {route}; leave it out")));
    }
    Ok(Pca {
        solver,
        tol: args.tol,
        max_iter: args.max_iter.map_or(defaults.max_iter, usize::from),
        block_size: args.block_size.map(usize::from),
        seed: args.seed.unwrap_or(defaults.seed),
        n_threads: args.threads.threads.map(usize::from),
        strict: args.strict,
        ..defaults
    })
}

/// How to read a table.
pub(crate) fn read_options(input: &InputArgs, threads: &ThreadArgs) -> ReadOptions {
    let either = |yes: bool, no: bool| if yes || no { Some(yes) } else { None };
    ReadOptions {
        delimiter: input.delimiter,
        header: input.header.option(),
        row_names: match input.row_names.as_deref() {
            None | Some("auto") => RowNames::Auto,
            Some("none") => RowNames::None,
            Some(name) => RowNames::Column(name.to_owned()),
        },
        labels: input.labels.clone(),
        fitted: None,
        feature_names: input.feature_names.clone(),
        sample_names: input.sample_names.clone(),
        weights_column: None,
        missing: false,
        decimal_comma: either(input.decimal_comma, input.decimal_point),
        transpose: input.transpose,
        array: input.array.clone(),
        max_unpacked: input.max_unpacked,
        n_threads: threads.threads.map(usize::from),
    }
}

/// Refuses to read the standard input twice.
///
/// # Errors
/// [`Failure::Usage`].
pub(crate) fn one_standard_input(inputs: &[Option<&PathBuf>]) -> Result<()> {
    let n = inputs.iter().flatten().filter(|path| is_standard(Some(path))).count();
    if n > 1 {
        return Err(Failure::Usage(
            "`-` is given twice, but the standard input can be read once; give a file".to_owned(),
        ));
    }
    Ok(())
}

/// Refuses outputs that overwrite each other or an input, and those whose folder does not exist.
///
/// # Errors
/// [`Failure::Usage`], [`Failure::File`].
pub(crate) fn check_outputs(outputs: &[(&str, Option<&Path>)], inputs: &[Option<&PathBuf>]) -> Result<()> {
    let given: Vec<(&str, &Path)> = outputs.iter().filter_map(|&(name, path)| Some((name, path?))).collect();
    for (i, (option, path)) in given.iter().enumerate() {
        if let Some((other, _)) = given[..i].iter().find(|(_, earlier)| same_file(earlier, path)) {
            return Err(Failure::Usage(format!(
                "{other} and {option} both write to {}; give each its own",
                show(path)
            )));
        }
        if is_standard(Some(path)) {
            continue;
        }
        if inputs.iter().flatten().any(|input| same_file(input, path)) {
            return Err(Failure::Usage(format!(
                "{option} {} would overwrite what is read; give another name",
                path.display()
            )));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            let source =
                std::io::Error::other(format!("there is no folder {}; make it first", folder.display()));
            return Err(karhunen_io::Error::io(path, "writing", source).into());
        }
    }
    Ok(())
}

/// Checks, before any work, the files of a command that applies a model to data, `[model, data]`, and writes one table.
///
/// # Errors
/// [`Failure::Usage`] where the standard input would be read twice or an input be overwritten; [`Failure::File`] for an
/// output that cannot be written.
pub(crate) fn check_files([model, data]: [&PathBuf; 2], input: &InputArgs, output: &Path) -> Result<()> {
    let inputs = [Some(model), Some(data), input.feature_names.as_ref(), input.sample_names.as_ref()];
    one_standard_input(&inputs)?;
    check_outputs(&[("-o", Some(output))], &inputs)?;
    check_table_output(output)
}

/// Refuses a table of an extension that is not written.
///
/// # Errors
/// [`Failure::File`].
pub(crate) fn check_table_output(path: &Path) -> Result<()> {
    Ok(karhunen_io::check_table_path(path)?)
}

/// Whether two paths are one file. Devices such as /dev/null take any number of files.
fn same_file(a: &Path, b: &Path) -> bool {
    let device = std::fs::metadata(a).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    !device && (a == b || real_path(a) == real_path(b))
}

/// The path without links and dots, also of a file that is still to be made.
fn real_path(path: &Path) -> PathBuf {
    let in_folder = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(std::fs::canonicalize(folder).ok()?.join(path.file_name()?))
    };
    std::fs::canonicalize(path).ok().or_else(in_folder).unwrap_or_else(|| path.to_owned())
}

/// Whether a path is `-`, a standard stream.
pub(crate) fn is_standard(path: Option<&Path>) -> bool {
    path.is_some_and(|path| path.as_os_str() == "-")
}

fn show(path: &Path) -> String {
    if is_standard(Some(path)) { "the standard output".to_owned() } else { path.display().to_string() }
}

/// The name of an input in messages.
pub(crate) fn input_name(path: &Path) -> String {
    if is_standard(Some(path)) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Work on values of either type.
pub(crate) trait OnValues {
    /// What it gives.
    type Output;
    /// Does the work.
    fn on<T: Scalar>(self, values: &Values<T>) -> Self::Output;
}

/// Chooses the type: the only place where that is done.
pub(crate) fn dispatch<W: OnValues>(data: &Data, work: W) -> W::Output {
    match data {
        Data::F32(values) => work.on(values),
        Data::F64(values) => work.on(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command, JsonExtent};
    use crate::fit_files::SummaryForm;
    use clap::Parser;

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
             --block-size 8 --seed 3 --threads 2 --strict --label a --label b --decimal-comma --no-header \
             --id-column none --delimiter tab --transpose --array x --weights pop",
        )
        .unwrap();
        let expected = Pca {
            n_components: NComponents::Variance(0.95),
            center: false,
            scale: true,
            weighting: karhunen::Weighting::Population,
            solver: Some(karhunen::Route::BlockKrylov),
            tol: Some(1e-4),
            max_iter: 7,
            block_size: Some(8),
            seed: 3,
            n_threads: Some(2),
            strict: true,
        };
        assert_eq!(plan.pca((100, 50)), expected);
        assert_eq!(plan.read.labels, ["a", "b"]);
        assert_eq!(plan.read.weights_column.as_deref(), Some("pop"));
        assert_eq!(plan.read.decimal_comma, Some(true));
        assert_eq!(plan.read.header, Some(false));
        assert_eq!(plan.read.row_names, RowNames::None);
        assert_eq!(plan.read.delimiter, Some(b'\t'));
        assert!(plan.read.transpose);
        assert_eq!(plan.read.array.as_deref(), Some("x"));
        assert_eq!(plan.read.n_threads, Some(2));
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
