//! The arguments about reading data.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use karhunen::{Observer, Run};
use karhunen_io::genotypes::GenotypeOptions;
use karhunen_io::{Log1p, ReadOptions, RowNames};

use crate::error::{Failure, Result};
use crate::values::{at_least_one, delimiter, log1p, memory};

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ThreadArgs {
    /// Number of threads; the result does not depend on it [default: all]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    threads: Option<NonZeroUsize>,
}

impl ThreadArgs {
    /// The requested number; `None` for all.
    pub(crate) fn number(self) -> Option<usize> {
        self.threads.map(usize::from)
    }

    /// Returns a run on these threads that reports to `observer`.
    pub(crate) fn run(self, observer: &dyn Observer) -> Run<'_> {
        Run { n_threads: self.number(), observer, ..Run::default() }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArgs {
    /// Delimiter of a text table: one character, or tab, or space for any blanks [default: detected]
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,
    #[command(flatten)]
    pub(crate) header: HeaderArgs,
    /// Column that names the rows, by name (by number, from 1, without names), none, or auto: that of the model,
    /// or a first column of unique texts [default: auto]
    #[arg(long, value_name = "COLUMN|none|auto", alias = "id-column")]
    pub(crate) row_names: Option<String>,
    /// Column to set aside; may be repeated
    ///
    /// A column that is not a feature, such as a class: by name, or by number from 1 if there are no names
    #[arg(long = "label", value_name = "NAME")]
    pub(crate) labels: Vec<String>,
    /// The decimal sign is a comma [default: detected]
    #[arg(long, conflicts_with = "decimal_point")]
    pub(crate) decimal_comma: bool,
    /// The decimal sign is a point
    #[arg(long)]
    pub(crate) decimal_point: bool,
    /// Names of the features from a text file, one on each line, if DATA has none or instead of its own
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) feature_names: Option<PathBuf>,
    /// Names of the rows from a text file, one on each line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) sample_names: Option<PathBuf>,
    /// Swap rows and columns of a Matrix Market file or of an array
    #[arg(long)]
    pub(crate) transpose: bool,
    /// Array of an NPZ archive, or genome of Cell Ranger, to read [default: the only one]
    #[arg(long, value_name = "NAME")]
    pub(crate) array: Option<String>,
    /// Layer of an AnnData to read, or raw, in place of X
    #[arg(long, value_name = "NAME")]
    pub(crate) layer: Option<String>,
    /// Column of var of an AnnData, true for the genes to use, such as highly_variable
    #[arg(long, value_name = "COLUMN")]
    pub(crate) mask: Option<String>,
    /// Normalise counts: each row to the sum N (or the median of all rows), then ln(1 + x)
    ///
    /// As normalize_total and log1p of scanpy. Sums are those of all columns, also of those that --mask leaves out. The
    /// model keeps N, and commands that read rows for it normalise them in the same way
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "median",
          value_parser = log1p)]
    pub(crate) log1p: Option<Log1p>,
    /// Maximum size of a decompressed file, pipe or device, such as 500MB, 64GB or 64GiB [default: 16GiB]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub(crate) max_unpacked: Option<u64>,
}

impl InputArgs {
    /// The words of the command line that read the same table again.
    pub(crate) fn words(&self) -> Vec<String> {
        let path = |path: &PathBuf| path.display().to_string();
        let delimiter = self.delimiter.map(|delimiter| match delimiter {
            b'\t' => "tab".to_owned(),
            b' ' => "space".to_owned(),
            other => char::from(other).to_string(),
        });
        let header = self.header.option().map(|names| if names { "yes" } else { "no" });
        let mut words = Vec::new();
        let mut add = |flag: &str, value: Option<String>| {
            words.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
        };
        add("--delimiter", delimiter);
        add("--row-names", self.row_names.clone());
        self.labels.iter().for_each(|label| add("--label", Some(label.clone())));
        add("--feature-names", self.feature_names.as_ref().map(path));
        add("--sample-names", self.sample_names.as_ref().map(path));
        add("--array", self.array.clone());
        add("--layer", self.layer.clone());
        add("--mask", self.mask.clone());
        words.extend(header.map(|header| format!("--header={header}")));
        let flags = [
            ("--decimal-comma", self.decimal_comma),
            ("--decimal-point", self.decimal_point),
            ("--transpose", self.transpose),
        ];
        words.extend(flags.iter().filter(|(_, on)| *on).map(|(flag, _)| (*flag).to_owned()));
        words.extend(self.log1p.map(|log1p| match log1p {
            Log1p::Median => "--log1p".to_owned(),
            Log1p::To(sum) => format!("--log1p={sum}"),
        }));
        words.extend(self.max_unpacked.map(|size| format!("--max-unpacked={size}")));
        words
    }
}

/// The options for reading a table.
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
        layer: input.layer.clone(),
        mask: input.mask.clone(),
        log1p: input.log1p,
        max_unpacked: input.max_unpacked,
        memory_limit: None,
        cache_dir: None,
        genotypes: GenotypeOptions::default(),
        n_threads: threads.number(),
        more: karhunen::More,
    }
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Memory")]
pub(crate) struct MemoryArgs {
    /// Maximum memory, such as 500MB, 2GB or 2GiB: a larger table stays in its file and is read in every pass [default:
    /// half of the machine's]
    ///
    /// With --missing, the memory of the observed entries and their fit; with --kernel, that of the fit beside the data
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub(crate) memory_limit: Option<u64>,
    /// Folder for temporary copies of the values of a large text [default: that of the system]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cache: Option<PathBuf>,
}

impl MemoryArgs {
    /// Refuses options about tables that stay in their files, where the table is held in memory.
    ///
    /// # Errors
    /// [`Failure::Usage`].
    pub(crate) fn check_unused(&self) -> Result<()> {
        let given = [("--memory-limit", self.memory_limit.is_some()), ("--cache", self.cache.is_some())];
        match given.into_iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((option, _)) => Err(Failure::Usage(format!(
                "{option} has no effect with this model, for which the table is held in memory; leave it out"
            ))),
        }
    }

    /// Lets values that would take more than half of the memory limit stay in their file.
    pub(crate) fn within(&self, options: ReadOptions) -> ReadOptions {
        let most = karhunen::memory::limit(self.memory_limit).bytes / 2.0;
        ReadOptions { memory_limit: Some(most as u64), cache_dir: self.cache.clone(), ..options }
    }

    /// Lets all but small tables stay in their file while their observed entries are collected, which take the
    /// memory.
    pub(crate) fn within_entries(&self, options: ReadOptions) -> ReadOptions {
        /// Part of the memory limit that a table may take beside its entries.
        const SHARE: f64 = 1.0 / 16.0;
        let most = SHARE * karhunen::memory::limit(self.memory_limit).bytes;
        ReadOptions { memory_limit: Some(most as u64), cache_dir: self.cache.clone(), ..options }
    }
}

/// Reading of the first line of a text table: as names or as values.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct HeaderArgs {
    /// Read the first line as names (yes, also --header alone), as values (no), or decide from the model and the table
    /// (auto) [default: auto]
    #[arg(
        long, value_enum, value_name = "yes|no|auto", num_args = 0..=1, require_equals = true,
        default_missing_value = "yes", conflicts_with = "no_header"
    )]
    header: Option<HeaderArg>,
    /// The first line holds values: --header no
    #[arg(long)]
    no_header: bool,
}

impl HeaderArgs {
    /// The option of the readers.
    pub(crate) fn option(self) -> Option<bool> {
        match self.header {
            Some(HeaderArg::Yes) => Some(true),
            Some(HeaderArg::No) => Some(false),
            None if self.no_header => Some(false),
            Some(HeaderArg::Auto) | None => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HeaderArg {
    /// It holds names
    Yes,
    /// It holds values
    No,
    /// Decided by the model and by the content of the table
    Auto,
}
