//! The arguments of a fit.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};
use karhunen::choice::{Choice, Named};
use karhunen::kernel::KernelRoute;
use karhunen::pca::{Route, Scaling};
use karhunen::{KernelPca, NComponents, Pca, Weighting};
use karhunen_device::Backend;

use crate::args::categories::CategoryArgs;
use crate::args::genotypes::PlinkArgs;
use crate::args::given::{Given, set};
use crate::args::input::{InputArgs, MemoryArgs, ThreadArgs};
use crate::args::kernel::KernelArgs;
use crate::args::missing::FitMissingArgs;
use crate::args::values::{JsonExtent, at_least_one, choice, choice_of, possible_value};
use crate::error::{Failure, Result};
use crate::files::checkpoints::CheckpointArgs;
use crate::files::overwrite::FORCE;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  karhunen fit iris.csv --label class --scale
  karhunen fit counties.csv -k 95% --weights population -o counties.model
  karhunen fit missing.csv --missing -k 3 --scores scores.csv
  karhunen fit ratings.csv --triples user,item,rating -k 15 -o ratings.model
  karhunen fit rings.csv --kernel rbf --gamma median -k 2 -o rings.model
  zcat table.csv.gz | karhunen fit - -k 3 --json | jq .explained_variance_ratio
  karhunen fit missing.csv --missing=als -k 3 --starts 20
  karhunen fit missing.csv --missing=ridge -k 9 --early-stopping=5% --refit
  karhunen fit ratings.csv --triples 1,2,3 --checkpoint r.checkpoint --resume
  karhunen fit big.npy --kernel rbf --solver nystrom --kernel-features 2000
  karhunen fit large.parquet --memory-limit 2GB -o large.model
  karhunen fit large.npy -k 40 --checkpoint l.checkpoint --resume -o l.model
  karhunen fit tall.npy -k 20 --device cuda -o tall.model
  karhunen fit spectra.csv --scale=pareto --center-values reference.csv
  karhunen fit spectra.csv -k 3 --limits -o spectra.model
  karhunen fit people.bed --scale=binomial --eigenvec people -o people.model
  karhunen fit --from-moments *.scatter -k 5 -o all.model
  karhunen fit counties.csv --weights sizes.txt --weighting importance
  karhunen fit survey.csv --mca --weights people --categories categories.csv
  karhunen fit table.tsv --delimiter tab --row-names id --label group
  karhunen fit words.mtx.gz --feature-names terms.txt --transpose
  karhunen fit cells.h5ad -k 50 --layer counts --log1p --mask highly_variable
  karhunen fit words.npz --solver block-krylov --tol 1e-6 --strict")]
pub(crate) struct FitArgs {
    #[command(flatten)]
    pub(crate) given: Given,
    /// Table or matrix, rows are samples: CSV, NPY, NPZ, Matrix Market, Parquet, Arrow, AnnData or PLINK .bed; - for the
    /// standard input
    ///
    /// AnnData may be an .h5ad file or a Zarr store, in a folder or a zip archive. Zarr arrays, and HDF5 files and folders
    /// of Cell Ranger are read too, the latter with cells in rows. Several files, or a folder of them, are
    /// one table, one below the other, with the same columns
    #[arg(value_hint = ValueHint::FilePath, required = true)]
    pub(crate) data: Vec<PathBuf>,

    /// Components to keep: 10, 95% of the variance, or all [default: 10]
    ///
    /// A number (10), a fraction of the variance to reach (0.95 or 95%), or all; 1 is one component, 1.0 or 100% all the
    /// variance. Without it, 10 or as many as there are
    #[arg(short = 'k', long = "components", value_name = "K", value_parser = n_components, allow_negative_numbers = true)]
    pub(crate) n_components: Option<NComponents>,
    #[command(flatten)]
    pub(crate) complete: PcaArgs,

    #[command(flatten)]
    pub(crate) missing: FitMissingArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    #[command(flatten)]
    pub(crate) categories: CategoryArgs,
    #[command(flatten)]
    pub(crate) weights: WeightArgs,
    #[command(flatten)]
    pub(crate) output: FitOutputArgs,
    #[command(flatten)]
    pub(crate) genotypes: PlinkArgs,
    /// The files hold moments that `karhunen moments` wrote: fit the rows of all of them
    #[arg(long, help_heading = "Input")]
    pub(crate) from_moments: bool,
    /// The table is a matrix of covariances or correlations: fit the rows that it was computed from
    ///
    /// A square table with a column of numbers for each row, such as R's cor() writes. Covariances have the divisor rows - 1.
    /// The model has means of zero unless --center-values gives them
    #[arg(long, conflicts_with = "from_moments", help_heading = "Input")]
    pub(crate) from_covariance: bool,
    /// Number of rows behind the matrix of --from-covariance
    #[arg(long = "rows", value_name = "N", requires = "from_covariance", help_heading = "Input")]
    pub(crate) n_rows: Option<usize>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) solver: SolverArgs,
    #[command(flatten)]
    pub(crate) rows: RowsArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) checkpoints: CheckpointArgs,
}

/// Options that only the fit of complete data without a kernel has.
#[derive(Debug, Args)]
pub(crate) struct PcaArgs {
    /// Divide columns by their standard deviation
    ///
    /// This is PCA of the correlation matrix; pareto, range and binomial (for genotypes) divide by other measures of the spread
    #[arg(
        long, value_name = "BY", num_args = 0..=1, require_equals = true, default_missing_value = "deviation",
        value_parser = scaling()
    )]
    pub(crate) scale: Option<Scaling>,
    /// Do not subtract the means: a truncated SVD
    #[arg(long)]
    pub(crate) no_center: bool,
    /// Subtract the numbers of a file, not the means
    ///
    /// A number for every column in order, with or without a header; or the name of a column and its number on each line, in
    /// any order. Variances are then mean squares about these numbers
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "no_center")]
    pub(crate) center_values: Option<PathBuf>,
    /// Divide columns by the numbers of a file
    ///
    /// In the forms of --center-values
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "scale")]
    pub(crate) scale_values: Option<PathBuf>,
}

/// Parses a rule for the divisors of the columns.
pub(crate) fn scaling() -> impl TypedValueParser<Value = Scaling> {
    choice_of(|row: &Named<Scaling>| row.choice != Scaling::None && !row.takes_number)
}

impl PcaArgs {
    /// Sets the options that were given, except numbers in files, which belong to the columns of the data.
    pub(crate) fn apply(&self, pca: &mut Pca) {
        set(&mut pca.scale, self.scale.clone());
        pca.center = (!self.no_center).into();
    }

    /// Returns true for `--scale`, by the standard deviation.
    ///
    /// # Errors
    /// [`Failure::Usage`] for any other option of this group; `fit` names the fit that has only this one.
    pub(crate) fn scales_by_deviation(&self, fit: &str) -> Result<bool> {
        match &self.scale {
            None => Ok(false),
            Some(Scaling::Deviation) => Ok(true),
            Some(other) => {
                let name = other.named().name;
                Err(Failure::Usage(format!(
                    "--scale={name} does not go with {fit}; use --scale, or leave it out"
                )))
            }
        }
    }
}

/// Options for the rows of complete data: products on a device, limits by rows left out.
#[derive(Debug, Args)]
#[command(next_help_heading = "Solver")]
pub(crate) struct RowsArgs {
    /// Where products are computed [default: cpu]
    ///
    /// cuda copies the table to the first GPU of NVIDIA, once, and multiplies it there in double precision. It needs the
    /// driver and cuBLAS of CUDA 12 or 13 (for sparse tables cuSPARSE), which are loaded where they are asked for. Without
    /// checkpoints, --scale=range and --solver svd
    #[arg(long, value_name = "DEVICE", value_parser = choice::<Backend>())]
    pub(crate) device: Option<Backend>,
    /// Keep limits for new rows in the model, for diagnose and report
    ///
    /// They follow from T2 and the squared prediction error of rows under fits without them, and take more passes over the
    /// rows. Without it, diagnose of new rows compares T2 with the limit by the F distribution, and has no limit for SPE,
    /// or with missing values a less accurate one
    #[arg(long, requires = "model", help_heading = "Output")]
    pub(crate) limits: bool,
}

/// Weights of rows, and of columns.
#[derive(Debug, Args)]
#[command(next_help_heading = "Weights")]
pub(crate) struct WeightArgs {
    #[command(flatten)]
    pub(crate) rows: RowWeightArgs,
    /// Weight of every column: a file of one column with or without a header
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) feature_weights: Option<PathBuf>,
}

/// Weights of rows.
#[derive(Debug, Args)]
#[command(next_help_heading = "Weights")]
pub(crate) struct RowWeightArgs {
    /// Weight of every row: a column of DATA, or a file
    ///
    /// A column by name, or by number from 1 if there are no names; a file of one column, with or without a header
    #[arg(long, value_name = "FILE|COLUMN", value_hint = ValueHint::FilePath)]
    pub(crate) weights: Option<PathBuf>,
    /// Meaning of the weights, which decides the divisor of variances [default: frequency]
    #[arg(long, value_parser = choice::<Weighting>())]
    pub(crate) weighting: Option<Weighting>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct FitOutputArgs {
    /// Write the model, for transform and reconstruct
    ///
    /// A safetensors file, which inspect describes; - for the standard output
    #[arg(short = 'o', long = "output", value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub(crate) model: Option<PathBuf>,
    /// Write the scores of the rows
    ///
    /// The columns are PC1, PC2, …. CSV, TSV, NPY or Parquet by extension; - for CSV on the standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) scores: Option<PathBuf>,
    /// Divide the scores of each component by their standard deviation
    #[arg(long, requires = "scores")]
    pub(crate) whiten: bool,
    /// Write the loadings of the features
    ///
    /// CSV, TSV, NPY or Parquet by extension; - for CSV on the standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) loadings: Option<PathBuf>,
    #[arg(long, help = FORCE)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) summary: SummaryArgs,
}

/// The form of the printed summary.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct SummaryArgs {
    /// Print the summary as JSON
    ///
    /// The names are as in scikit-learn; --json=full adds components and loadings
    #[arg(
        long, value_enum, value_name = "EXTENT", num_args = 0..=1, require_equals = true,
        default_missing_value = "summary", conflicts_with = "quiet"
    )]
    pub(crate) json: Option<JsonExtent>,
    /// Print no summary and no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Solver")]
pub(crate) struct SolverArgs {
    /// Algorithm that computes the components
    #[arg(long, default_value = AUTO, value_parser = solver())]
    pub(crate) solver: SolverArg,
    /// Residual, relative to the largest eigenvalue, at which block Krylov iteration stops [default: 1e-8 for
    /// double, 1e-6 for single precision, 1e-5 with --kernel]; with --missing, the relative decrease of the cost
    /// at which a fit stops [default: 1e-6]
    #[arg(long)]
    pub(crate) tol: Option<f64>,
    /// Maximum number of passes of block Krylov iteration over the data or the kernel matrix, or of iterations of
    /// a fit with --missing [default: 1000; 1 pass where --missing=online learns block by block]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) max_iter: Option<NonZeroUsize>,
    /// Number of columns of a block in block Krylov iteration [default: chosen]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) block_size: Option<NonZeroUsize>,
    /// Seed of the starting block of block Krylov iteration, of landmarks and frequencies, or of the starts and
    /// the held-out entries of a fit with --missing [default: 0]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Fail with exit code 5 if the tolerance is not reached
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
}

impl SolverArgs {
    /// Sets the options of a fit of complete data that were given.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a solver that needs a kernel.
    pub(crate) fn apply(&self, pca: &mut Pca) -> Result<()> {
        pca.solver = self.solver.route()?;
        pca.tol = self.tol;
        set(&mut pca.max_iter, self.max_iter.map(usize::from));
        pca.block_size = self.block_size.map(usize::from);
        set(&mut pca.seed, self.seed);
        pca.strict = self.strict;
        Ok(())
    }

    /// Sets the options of a fit with a kernel that were given.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a solver that takes none.
    pub(crate) fn apply_to_kernel(&self, pca: &mut KernelPca) -> Result<()> {
        pca.solver = self.solver.kernel_route()?;
        pca.tol = self.tol;
        set(&mut pca.max_iter, self.max_iter.map(usize::from));
        pca.block_size = self.block_size.map(usize::from);
        set(&mut pca.seed, self.seed);
        pca.strict = self.strict;
        Ok(())
    }
}

/// A requested solver, of components or of kernel components.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SolverArg {
    Auto,
    Pca(Route),
    Kernel(KernelRoute),
}

/// The name for the automatic choice of a solver.
const AUTO: &str = "auto";

fn solver() -> impl TypedValueParser<Value = SolverArg> {
    let auto = PossibleValue::new(AUTO).help("The cheapest by predicted time and memory");
    let of_kernels = |row| {
        let value = possible_value::<KernelRoute>(row);
        value.help(format!("With --kernel: {}", row.help))
    };
    let values = [auto]
        .into_iter()
        .chain(Route::TABLE.iter().map(possible_value))
        .chain(KernelRoute::TABLE.iter().map(of_kernels));
    PossibleValuesParser::new(values).map(|name| {
        let route = || Route::of_name(&name).map(SolverArg::Pca);
        let of_kernels = || KernelRoute::of_name(&name).map(SolverArg::Kernel);
        // The parser accepts no other name.
        route().or_else(of_kernels).unwrap_or(SolverArg::Auto)
    })
}

impl SolverArg {
    /// The requested solver of complete data; `None` for auto.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a solver that needs a kernel.
    pub(crate) fn route(self) -> Result<Option<Route>> {
        match self {
            SolverArg::Auto => Ok(None),
            SolverArg::Pca(route) => Ok(Some(route)),
            SolverArg::Kernel(route) => Err(Failure::Usage(format!(
                "--solver {route} needs a kernel; use --kernel rbf or another, or give another solver"
            ))),
        }
    }

    /// The requested solver of kernel components; `None` for auto.
    ///
    /// # Errors
    /// [`Failure::Usage`] for any other solver.
    pub(crate) fn kernel_route(self) -> Result<Option<KernelRoute>> {
        match self {
            SolverArg::Auto => Ok(None),
            SolverArg::Kernel(route) => Ok(Some(route)),
            SolverArg::Pca(route) => Err(Failure::Usage(format!(
                "--solver {route} does not go with a kernel; give full, stored, tiles, nystrom or fourier"
            ))),
        }
    }
}

pub(crate) fn n_components(text: &str) -> std::result::Result<NComponents, String> {
    const RULE: &str = "give a number of at least 1, a fraction of the variance (0.95 or 95%), or all";
    if text == "all" {
        return Ok(NComponents::All);
    }
    if let Ok(count) = text.parse::<usize>() {
        return if count > 0 { Ok(NComponents::Count(count)) } else { Err(RULE.to_owned()) };
    }
    let fraction = match text.strip_suffix('%') {
        Some(percent) => percent.trim_end().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse::<f64>(),
    };
    match fraction {
        Ok(fraction) if fraction > 0.0 && fraction <= 1.0 => Ok(NComponents::Variance(fraction)),
        _ => Err(RULE.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_components() {
        let cases = [
            ("all", NComponents::All),
            ("1", NComponents::Count(1)),
            ("12", NComponents::Count(12)),
            ("0.9", NComponents::Variance(0.9)),
            ("1.0", NComponents::Variance(1.0)),
            ("90%", NComponents::Variance(0.9)),
            ("100 %", NComponents::Variance(1.0)),
        ];
        for (text, expected) in cases {
            assert_eq!(n_components(text), Ok(expected), "{text}");
        }
        for text in ["0", "-1", "1.5", "0.0", "101%", "nan", "ten", ""] {
            assert!(n_components(text).is_err(), "{text}");
        }
    }
}
