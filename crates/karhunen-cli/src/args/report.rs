//! The arguments of `karhunen report`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::args::given::Given;
use crate::args::input::{InputArgs, MemoryArgs, ThreadArgs};
use crate::args::missing::TriplesArgs;
use crate::files::overwrite::FORCE;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  karhunen report wine.model wine.csv --label class -o wine.html
  karhunen report wine.model -o model.html
  karhunen report wine.model new.csv --level 0.99 --title May -o may.html
  karhunen report large.model large.npy --memory-limit 2GB -o large.html
  karhunen report us.model us.csv --weights population -o us.html
  karhunen report r.model r.csv --triples user,item,rating -o r.html

The page is one file that opens without a network. Rows count as rows of the fit if there are as many,
with the variances or scores of the fit.")]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) given: Given,
    /// Model written by fit -o; - for the standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) model: PathBuf,
    /// Rows to show, matched with the model's features by name where both have names; - for the standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) data: Option<PathBuf>,
    /// Write the page here: HTML; - for the standard output
    #[arg(short, long, value_name = "PAGE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Share of normal rows within a limit [default: 0.95]
    #[arg(long, value_name = "SHARE", requires = "data")]
    pub(crate) level: Option<f64>,
    /// Weight of every row, as in the fit: a column of DATA, or a file
    ///
    /// Rows of complete data count as rows of a weighted fit only with its weights. Of data with missing values, limits
    /// of SPE are then of weighted rows
    #[arg(long, value_name = "FILE|COLUMN", value_hint = ValueHint::FilePath, requires = "data")]
    pub(crate) weights: Option<PathBuf>,
    /// Title of the page [default: the name of the data, or of the model]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
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
    #[command(flatten)]
    pub(crate) triples: TriplesArgs,
}
