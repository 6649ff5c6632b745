//! The arguments of `moments`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::args::input::{InputArgs, MemoryArgs, ThreadArgs};
use crate::files::overwrite::FORCE;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  karhunen moments part1.csv -o part1.scatter
  karhunen moments part2.parquet --weights pop --label state -o part2.scatter
  karhunen moments large.npy --memory-limit 2GB -o large.scatter

Each machine sums its own part of the rows. `karhunen fit --from-moments part1.scatter part2.scatter` gives the model of
all of them.")]
pub(crate) struct MomentsArgs {
    /// Table or matrix, rows are samples; several files, or a folder of them, are one table; - for the standard input
    #[arg(value_hint = ValueHint::FilePath, required = true)]
    pub(crate) data: Vec<PathBuf>,
    /// Write the moments: weights, means, and the products of all pairs of columns
    ///
    /// A safetensors file, which inspect describes; - for the standard output
    #[arg(short, long, value_name = "MOMENTS", value_hint = ValueHint::FilePath, required = true)]
    pub(crate) output: PathBuf,
    /// Weight of every row: a column of DATA, or a file
    ///
    /// A column by name, or by number from 1 if there are no names; a file of one column, with or without a header
    #[arg(long, value_name = "FILE|COLUMN", value_hint = ValueHint::FilePath)]
    pub(crate) weights: Option<PathBuf>,
    #[arg(long, help = FORCE)]
    pub(crate) force: bool,
    /// Print the summary as JSON
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) json: bool,
    /// Print no summary and no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
}
