//! The arguments of `update`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use karhunen::incremental::IncrementalMethod;
use karhunen::{IncrementalPca, NComponents};

use crate::args::fit::{PcaArgs, RowWeightArgs, SummaryArgs, n_components};
use crate::args::given::set;
use crate::args::input::{InputArgs, MemoryArgs, ThreadArgs};
use crate::args::values::{at_least_one, choice};
use crate::files::overwrite::FORCE;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  karhunen update days.stream monday.csv -k 10
  karhunen update days.stream tuesday.csv wednesday.csv -o days.model
  karhunen update days.stream thursday.csv --weights counts --json
  karhunen update prices.stream today.csv -k 5 --scale --half-life 5000
  karhunen update words.stream new.npz -k 20 --method sketch --oversamples 60
  karhunen update large.stream new.parquet --memory-limit 2GB
  karhunen update days.stream friday.tsv --delimiter tab --label group

The options of a fit are those with which it began: -k and the options below Fit and Stream may be repeated, but do not
change. A failed or interrupted update leaves STATE as it was.")]
pub(crate) struct UpdateArgs {
    /// State of the fit, which the update replaces; -k begins one if there is no such file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) state: PathBuf,
    /// New rows, matched with the columns of the state by name where both have names; - for the standard input
    ///
    /// Several files, or a folder of them, are one batch, one table below the other
    #[arg(value_hint = ValueHint::FilePath, required = true)]
    pub(crate) data: Vec<PathBuf>,
    /// Components to keep: 10, 95% of the variance, or all; needed to begin
    ///
    /// A number (10), a fraction of the variance to reach (0.95 or 95%), or all. A sketch needs a number
    #[arg(short = 'k', long = "components", value_name = "K", value_parser = n_components, allow_negative_numbers = true)]
    pub(crate) n_components: Option<NComponents>,
    #[command(flatten)]
    pub(crate) complete: PcaArgs,
    #[command(flatten)]
    pub(crate) stream: StreamArgs,
    #[command(flatten)]
    pub(crate) weights: RowWeightArgs,
    #[command(flatten)]
    pub(crate) output: UpdateOutputArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Stream")]
pub(crate) struct StreamArgs {
    /// Factor of the weights of all earlier rows at each update, above 0 and at most 1 [default: 1]
    #[arg(long, value_name = "F")]
    pub(crate) forget: Option<f64>,
    /// Sum of later weights after which the weight of a row has halved: a number of rows without weights
    #[arg(long, value_name = "ROWS")]
    pub(crate) half_life: Option<f64>,
    /// Statistics that are kept of the rows [default: auto]
    #[arg(long, value_parser = choice::<IncrementalMethod>())]
    pub(crate) method: Option<IncrementalMethod>,
    /// Directions of a sketch beyond the components [default: K + 10, at least 32]
    #[arg(long, value_name = "N")]
    pub(crate) oversamples: Option<usize>,
    /// Rows of one step of a sketch [default: twice its directions, at least 64; of sparse rows four times, at least 256]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) batch_size: Option<NonZeroUsize>,
    /// Scales of the columns for a sketch with --scale: a file of one column with or without a header
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) column_scale: Option<PathBuf>,
    /// For a sketch with --scale and without --column-scale: the number of first rows that give the scales
    /// [default: 10000]
    #[arg(long, value_name = "N")]
    pub(crate) warm_rows: Option<usize>,
    /// Seed of the random vectors that measure the error of a sketch [default: 0]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct UpdateOutputArgs {
    /// Write a model of all rows so far, for transform and reconstruct
    ///
    /// A safetensors file, which inspect describes; - for the standard output. transform and reconstruct read STATE too
    #[arg(short = 'o', long = "output", value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub(crate) model: Option<PathBuf>,
    #[arg(long, help = FORCE)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) summary: SummaryArgs,
}

impl UpdateArgs {
    /// Sets the options that were given, except the scales, whose file belongs to the columns of the data.
    pub(crate) fn apply(&self, pca: &mut IncrementalPca) {
        set(&mut pca.n_components, self.n_components);
        set(&mut pca.scale, self.complete.scale.is_some().then_some(true));
        set(&mut pca.center, self.complete.no_center.then_some(false));
        set(&mut pca.weighting, self.weights.weighting);
        let StreamArgs { forget, half_life, method, oversamples, batch_size, warm_rows, seed, .. } =
            self.stream;
        set(&mut pca.forget, forget);
        set(&mut pca.half_life, half_life.map(Some));
        set(&mut pca.method, method);
        set(&mut pca.n_oversamples, oversamples.map(Some));
        set(&mut pca.batch_size, batch_size.map(|rows| Some(usize::from(rows))));
        set(&mut pca.warm_rows, warm_rows);
        set(&mut pca.seed, seed);
    }
}
