//! The command line as typed: parsed, not yet resolved.

pub(crate) mod categories;
pub(crate) mod complete;
pub(crate) mod cross_validate;
pub(crate) mod fit;
pub(crate) mod genotypes;
pub(crate) mod given;
pub(crate) mod input;
pub(crate) mod kernel;
pub(crate) mod missing;
pub(crate) mod moments;
pub(crate) mod neighbours;
pub(crate) mod report;
pub(crate) mod rotate;
pub(crate) mod select;
pub(crate) mod update;
pub(crate) mod values;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

use crate::args::complete::CompleteArgs;
use crate::args::cross_validate::CrossValidateArgs;
use crate::args::fit::FitArgs;
use crate::args::genotypes::MatchArgs;
use crate::args::given::Given;
use crate::args::input::{HeaderArgs, InputArgs, MemoryArgs, ThreadArgs};
use crate::args::missing::{TriplesArgs, pair, share};
use crate::args::moments::MomentsArgs;
use crate::args::report::ReportArgs;
use crate::args::rotate::RotateArgs;
use crate::args::select::SelectArgs;
use crate::args::update::UpdateArgs;
use crate::args::values::{ComponentList, JsonExtent, component_list, delimiter};
use crate::files::overwrite::FORCE;

const EXIT_CODES: &str = "Exit codes: 0 done, 2 wrong usage, 3 bad data, 4 input or output failed, \
                          5 not converged under --strict, 6 not enough memory, stopped by: 130 Ctrl-C, 143 \
                          SIGTERM, 129 SIGHUP.";

/// The text below the help of the program: exit codes, and the features that this build leaves out.
fn after_help() -> String {
    let left_out: Vec<&str> = [
        (cfg!(feature = "columnar"), "Parquet and Arrow (feature columnar)"),
        (cfg!(feature = "compression"), "zstd, xz and bzip2 (compression)"),
        (cfg!(feature = "hdf5"), "HDF5 (hdf5)"),
        (cfg!(feature = "zarr"), "Zarr (zarr)"),
        (cfg!(feature = "cuda"), "GPUs (cuda)"),
    ]
    .into_iter()
    .filter_map(|(is_built, name)| (!is_built).then_some(name))
    .collect();
    if left_out.is_empty() {
        return EXIT_CODES.to_owned();
    }
    format!(
        "{EXIT_CODES}\n\nThis build leaves out: {}. A build without --no-default-features has them.",
        left_out.join(", ")
    )
}

/// Principal component analysis of the data people really have: weighted, sparse, wide, large.
#[derive(Debug, Parser)]
#[command(
    name = "karhunen", version, after_help = after_help(), max_term_width = 100, disable_help_subcommand = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find the principal components of a table
    Fit(Box<FitArgs>),
    /// Update a fitted model with new rows
    Update(Box<UpdateArgs>),
    /// Compute the scores of rows under a model
    Transform(TransformArgs),
    /// Compute T2, prediction errors and distances of rows, and how features and components are related
    Diagnose(DiagnoseArgs),
    /// Write a page that shows a model and its rows, for a browser
    Report(Box<ReportArgs>),
    /// Compare the numbers of components that rules suggest
    Select(Box<SelectArgs>),
    /// Rotate components to a simple structure, or to a target
    Rotate(RotateArgs),
    /// Map scores, or rows through their scores, back to the features
    Reconstruct(ReconstructArgs),
    /// Fill the missing values of a table
    Impute(ImputeArgs),
    /// Fill the missing values of a table by iterated PCA of the filled table, or by means
    Complete(CompleteArgs),
    /// Predict entries, each with its standard deviation
    Predict(PredictArgs),
    /// Compare numbers of components and penalties by their error on held-out entries
    CrossValidate(Box<CrossValidateArgs>),
    /// Sum the rows of a part of the data, for `fit --from-moments`
    Moments(Box<MomentsArgs>),
    /// Describe a model or a data file
    Inspect(InspectArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages, one for the program and one for each command
    Man(ManArgs),
    /// Print the help of a command, or of one of its topics
    Help(HelpArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  karhunen man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Folder for the pages: karhunen.1, karhunen-fit.1, …
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    #[arg(long, help = FORCE)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HelpArgs {
    /// The command
    command: Option<String>,
    /// A topic of the command, as `-h` lists them
    topic: Option<String>,
}

impl HelpArgs {
    /// The command line that prints this help.
    pub(crate) fn words(self) -> Vec<OsString> {
        let help = self.topic.map_or_else(|| "--help".to_owned(), |topic| format!("--help={topic}"));
        ["karhunen".to_owned()].into_iter().chain(self.command).chain([help]).map(OsString::from).collect()
    }
}

/// The words of a command line, with `--header yes` as `--header=yes`. `--header` alone means yes and may precede
/// a file: the next word is its value only if it is yes, no or auto; a file of that name is `./yes`.
pub(crate) fn words(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut all: Vec<OsString> = Vec::new();
    let mut options_ended = false;
    for word in words {
        let is_value = ["yes", "no", "auto"].iter().any(|value| word == *value);
        match all.last_mut() {
            Some(last) if !options_ended && is_value && last == "--header" => {
                last.push("=");
                last.push(word);
            }
            _ => {
                options_ended |= word == "--";
                all.push(word);
            }
        }
    }
    all
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  karhunen transform counties.model new_counties.csv -o scores.csv
  karhunen transform ratings.model new.csv --triples user,item,rating
  karhunen transform words.model new.tsv.gz --delimiter tab --label author
  karhunen transform large.model large.npy --memory-limit 2GB -o scores.npy
  karhunen transform people.model new.bed --flip-strand --unmatched rest.csv")]
pub(crate) struct TransformArgs {
    #[command(flatten)]
    pub(crate) given: Given,
    /// Model written by fit -o; - for the standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) model: PathBuf,
    /// Rows to transform, matched with the model's features by name where both have names; - for the standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) data: PathBuf,
    /// Write the scores here: CSV, TSV, NPY or Parquet by extension
    #[arg(short, long, value_name = "SCORES", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Divide the scores of each component by their standard deviation
    #[arg(long)]
    pub(crate) whiten: bool,
    /// Correct the shrinkage of new rows' scores (data with many more columns than rows)
    ///
    /// Each row is added to the fitted ones and the components are updated (OADP, Zhang, Dey and Lee 2020). Not for fitted
    /// rows; more components than are of interest make the correction better. Missing values are left out: each row is
    /// projected by least squares on its observed columns
    #[arg(long, conflicts_with = "whiten")]
    pub(crate) unshrunk: bool,
    #[arg(long, help = FORCE)]
    pub(crate) force: bool,
    /// Print no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    #[command(flatten)]
    pub(crate) triples: TriplesArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) genotypes: MatchArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  karhunen diagnose wine.model wine.csv --fitted -o rows.csv
  karhunen diagnose us.model us.csv --fitted --weights population -o rows.csv
  karhunen diagnose wine.model new.csv --level 0.999 -o rows.csv
  karhunen diagnose wine.model wine.csv --features features.csv -o rows.csv
  karhunen diagnose wine.model new.tsv --delimiter tab --label class
  karhunen diagnose large.model large.npy --memory-limit 2GB -o rows.npy
  karhunen diagnose ratings.model new.csv --triples user,item,rating")]
pub(crate) struct DiagnoseArgs {
    #[command(flatten)]
    pub(crate) given: Given,
    /// Model written by fit -o; - for the standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) model: PathBuf,
    /// Rows to diagnose, matched with the model's features by name where both have names; - for the standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) data: PathBuf,
    /// Write T2, the squared prediction error (SPE) and the squared distance to the mean of each row here: CSV, TSV, NPY
    /// or Parquet by extension
    ///
    /// With missing values also the degrees of freedom and the limits of each row, which depend on what is observed
    #[arg(short, long, value_name = "ROWS", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Write correlations, contributions and squared cosines of features and components, and communalities, here
    #[arg(long, value_name = "FEATURES", value_hint = ValueHint::FilePath)]
    pub(crate) features: Option<PathBuf>,
    /// The rows are from the fit
    ///
    /// T2 of fitted rows has a beta distribution, T2 of new rows an F distribution. The limits for SPE follow from
    /// fitted rows: for these from their errors, for new rows from their errors under fits without them. Both are then
    /// shown. A model of fit --limits keeps the limits for new rows. With missing values they follow from the errors of the
    /// rows of the fit, of 1,000 rows and 100,000 entries or more from the noise variance of the model
    #[arg(long)]
    pub(crate) fitted: bool,
    /// Weight of every row in the limits for SPE, as in the fit: a column of DATA, or a file
    #[arg(long, value_name = "FILE|COLUMN", value_hint = ValueHint::FilePath, requires = "fitted")]
    pub(crate) weights: Option<PathBuf>,
    /// Share of normal rows within a limit
    #[arg(long, value_name = "SHARE", default_value_t = 0.99)]
    pub(crate) level: f64,
    /// Independent rows of the fit, in the limit of T2
    ///
    /// For rows that depend on one another, as the rows of a time series: of n rows with autocorrelation r at lag one,
    /// n (1 - r^2) / (1 + r^2). By default the rows, or what their weights count as
    #[arg(long, value_name = "N")]
    pub(crate) observations: Option<f64>,
    #[arg(long, help = FORCE)]
    pub(crate) force: bool,
    /// Print no progress and no summary
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) triples: TriplesArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  karhunen reconstruct counties.model scores.csv -o counties.csv
  karhunen reconstruct counties.model scores.npy --from scores --only 2-4
  karhunen reconstruct counties.model new_counties.csv --label state
  karhunen reconstruct large.model large.npy --memory-limit 2GB -o again.npy")]
pub(crate) struct ReconstructArgs {
    /// Model written by fit -o; - for the standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) model: PathBuf,
    /// Scores (columns PC1, PC2, …, or RC1, RC2, …), or rows with the model's features; - for the standard input
    #[arg(value_name = "DATA|SCORES", value_hint = ValueHint::FilePath)]
    pub(crate) data: PathBuf,
    /// Write the reconstruction here: CSV, TSV, NPY or Parquet by extension
    #[arg(short, long, value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Content of the input [default: detected by the names and the number of its columns]
    #[arg(long, value_enum)]
    pub(crate) from: Option<ReconstructFrom>,
    /// Reconstruct from these components only, such as 1,3-5; the others count as zero
    #[arg(long, value_name = "LIST", value_parser = component_list)]
    pub(crate) only: Option<ComponentList>,
    /// The scores are whitened
    #[arg(long)]
    pub(crate) whiten: bool,
    #[arg(long, help = FORCE)]
    pub(crate) force: bool,
    /// Print no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  karhunen impute missing.model missing.csv -o filled.csv
  karhunen impute missing.model missing.tsv --delimiter tab
  karhunen impute missing.model large.npy --memory-limit 2GB -o filled.npy")]
pub(crate) struct ImputeArgs {
    /// Model written by fit --missing -o; - for the standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) model: PathBuf,
    /// Table to fill, matched with the model's columns by name where both have names; - for the standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) data: PathBuf,
    /// Write the filled table here: CSV, TSV, NPY or Parquet by extension
    ///
    /// From CSV to CSV every byte except the missing cells is unchanged
    #[arg(short, long, value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    #[arg(long, help = FORCE)]
    pub(crate) force: bool,
    /// Print no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  karhunen predict ratings.model wanted.csv -o predicted.csv
  karhunen predict ratings.model wanted.csv --pairs user,item --unknown nan
  karhunen predict ratings.model wanted.txt --pairs 1,2 --delimiter space
  karhunen predict ratings.model all.csv.gz --memory-limit 1GB -o all.npy

Pairs are read twice, and predicted block by block while they are written. The memory does not grow with their number.
Rows and columns are those that were fitted. Of data without names of rows or columns they are counted from 1.")]
pub(crate) struct PredictArgs {
    /// Model written by fit --missing -o; - for the standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) model: PathBuf,
    /// Table with the id of a row and the id of a column in each line: CSV, TSV, Parquet or Arrow; - for the standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) pairs: PathBuf,
    /// Columns of PAIRS that hold the ids, by name, or by number from 1 [default: as in the fitted triples,
    /// otherwise row,column]
    #[arg(long = "pairs", value_name = "ROW,COLUMN", value_parser = pair)]
    pub(crate) columns: Option<[String; 2]>,
    /// Write the predictions here: CSV, TSV, NPY or Parquet by extension
    #[arg(short, long, value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Treatment of ids that the model does not know
    #[arg(long, value_enum, default_value_t = UnknownArg::Refuse)]
    pub(crate) unknown: UnknownArg,
    /// Standard deviation of the value without noise, rather than of a new observation
    #[arg(long)]
    pub(crate) noise_free: bool,
    /// Also write the lower and upper end of an interval that holds new observations with this probability, such as 95%:
    /// calibrated if the fit had --conformal, otherwise of normal errors
    #[arg(long, value_name = "LEVEL", value_parser = share, conflicts_with = "noise_free")]
    pub(crate) interval: Option<f64>,
    #[arg(long, help = FORCE)]
    pub(crate) force: bool,
    /// Print no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    /// Delimiter of a text table: one character, or tab, or space for any blanks [default: detected]
    #[arg(long, value_name = "CHARS", value_parser = delimiter, help_heading = "Input")]
    pub(crate) delimiter: Option<String>,
    #[command(flatten, next_help_heading = "Input")]
    pub(crate) header: HeaderArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
}

/// Treatment of pairs whose row or column the model does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum UnknownArg {
    /// An error that names the id and its line
    Refuse,
    /// NaN for value and standard deviation
    Nan,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  karhunen inspect counties.model
  karhunen inspect rows.npz --memory-limit 2GB
  karhunen inspect table.csv --label class --json | jq .feature_names")]
pub(crate) struct InspectArgs {
    /// A model or a data file; - for the standard input
    #[arg(value_name = "MODEL|DATA", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Print JSON; --json=full adds components and loadings of a model
    #[arg(
        long, value_enum, value_name = "EXTENT", num_args = 0..=1, require_equals = true,
        default_missing_value = "summary"
    )]
    pub(crate) json: Option<JsonExtent>,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
}

/// The input of `reconstruct`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReconstructFrom {
    /// Rows of features
    Data,
    /// Scores
    Scores,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_three_values_and_two_older_names() {
        let option = |line: &str| {
            let words = words(line.split_whitespace().map(OsString::from));
            match Cli::try_parse_from(words).unwrap().command {
                Command::Inspect(args) => (args.file, args.input.header.option()),
                other => panic!("{other:?}"),
            }
        };
        for (line, expected) in [
            ("x inspect t.csv", None),
            ("x inspect --header t.csv", Some(true)),
            ("x inspect t.csv --header", Some(true)),
            ("x inspect --header yes t.csv", Some(true)),
            ("x inspect --header=no t.csv", Some(false)),
            ("x inspect t.csv --header no", Some(false)),
            ("x inspect --header auto t.csv", None),
            ("x inspect --header -- t.csv", Some(true)),
        ] {
            assert_eq!(option(line), (PathBuf::from("t.csv"), expected), "{line}");
        }
        assert_eq!(option("x inspect --header -- yes"), (PathBuf::from("yes"), Some(true)));
    }
}
