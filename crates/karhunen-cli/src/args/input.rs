//! The arguments about reading data.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use karhunen::{Observer, Run};
use karhunen_io::genotypes::GenotypeOptions;
use karhunen_io::{Comment, Log1p, OfFile, ReadOptions, RowNames, SkippedLines};

use crate::args::values::{
    at_least_one, comment, decimal, delimiter, joined, log1p, memory, sign, skipped, split,
};
use crate::error::{Failure, Result};

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

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArgs {
    /// Delimiter of a text table: a character or a few such as ::, tab, or space for any blanks [default: detected]
    #[arg(long, value_name = "CHARS", value_parser = delimiter)]
    pub(crate) delimiter: Option<String>,
    #[command(flatten)]
    pub(crate) header: HeaderArgs,
    /// Column that names the rows, by name (by number, from 1, without names), none, or auto: as in the model,
    /// or a first column of unique texts [default: auto]
    #[arg(long, value_name = "COLUMN|none|auto")]
    pub(crate) row_names: Option<String>,
    /// Column to exclude; may be repeated
    ///
    /// A column that is not a feature, such as a class: by name, or by number from 1 if there are no names
    #[arg(long = "label", value_name = "NAME")]
    pub(crate) labels: Vec<String>,
    /// Columns to fit, between commas; all others are left out
    ///
    /// By name, or by number from 1 if there are no names, in quotes if it has a comma; may be repeated
    #[arg(long, value_name = "NAME,...")]
    pub(crate) columns: Vec<String>,
    /// Decimal sign of a text table, a point or a comma [default: as the numbers show]
    #[arg(long, value_name = "CHAR", value_parser = decimal)]
    pub(crate) decimal: Option<char>,
    /// Sign that groups the thousands in a text table: a comma, a point, an apostrophe, or space
    #[arg(long, value_name = "CHAR", value_parser = sign)]
    pub(crate) thousands: Option<char>,
    /// Words and numbers for missing values in a text table, between commas, such as ?,n.d.,-999
    ///
    /// Besides the empty cell, NA, N/A, NaN and null in any case; a word with a comma in quotes; may be repeated
    #[arg(long, value_name = "WORD,...", allow_hyphen_values = true)]
    pub(crate) na: Vec<String>,
    /// Leave out lines that begin with CHAR, or no lines [default: those above a text table that begin with #]
    #[arg(long, value_name = "CHAR|none", value_parser = comment)]
    pub(crate) comment: Option<Comment>,
    /// Leave out the first N lines of a text table, or the lines N to M directly below its names; may be repeated
    #[arg(long, value_name = "N|N-M", value_parser = skipped)]
    pub(crate) skip: Vec<SkippedLines>,
    /// Names of the features from a text file, one on each line, if DATA has none or instead of its own
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) feature_names: Option<PathBuf>,
    /// Names of the rows from a text file, one on each line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) sample_names: Option<PathBuf>,
    /// Swap rows and columns of a text table, a Matrix Market file or an array
    #[arg(long)]
    pub(crate) transpose: bool,
    /// Array of an NPZ archive, or genome of Cell Ranger, to read [default: the only one]
    #[arg(long, value_name = "NAME")]
    pub(crate) array: Option<String>,
    /// Layer of an AnnData to read, or raw, instead of X
    #[arg(long, value_name = "NAME")]
    pub(crate) layer: Option<String>,
    /// Column of var of an AnnData, true for the genes to use, such as highly_variable
    #[arg(long, value_name = "COLUMN")]
    pub(crate) mask: Option<String>,
    /// Normalise counts: each row to the sum N (or the median of all rows), then ln(1 + x)
    ///
    /// As normalize_total and log1p of scanpy. Sums are over all columns, also the columns that --mask leaves out. The
    /// model keeps N, and commands that read rows for it normalise them in the same way
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "median",
          value_parser = log1p)]
    pub(crate) log1p: Option<Log1p>,
    /// Maximum size of a decompressed file, pipe or device, such as 500MB, 64GB or 64GiB [default: 16GiB]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub(crate) max_unpacked: Option<u64>,
}

impl InputArgs {
    /// The words of the command line that read the table as the fit did: the options that were typed, and what the model keeps
    /// of the fitted file. `features` are the names of the columns that were fitted.
    pub(crate) fn words_as(&self, fitted: &OfFile, features: Option<&[String]>) -> Vec<String> {
        let OfFile { set_aside, id_column, na, transposed } = fitted;
        let mut all = self.clone();
        let few = |features: &&[String]| features.len() < set_aside.len();
        match features.filter(few) {
            _ if !self.columns.is_empty() => {}
            Some(features) => all.columns = vec![joined(features)],
            None => all.labels.extend(set_aside.iter().filter(|name| !self.labels.contains(name)).cloned()),
        }
        if !all.columns.is_empty() {
            all.labels.clear();
        }
        if all.na.is_empty() && !na.is_empty() {
            all.na = vec![joined(na)];
        }
        all.row_names = all.row_names.or_else(|| id_column.clone());
        all.transpose |= *transposed;
        all.words()
    }

    /// The words of the command line that read the same table again.
    fn words(&self) -> Vec<String> {
        let path = |path: &PathBuf| path.display().to_string();
        let named = |sign: String| match sign.as_str() {
            "\t" => "tab".to_owned(),
            " " => "space".to_owned(),
            _ => sign,
        };
        let lines = |skip: SkippedLines| match skip {
            SkippedLines { first: 1, last } => last.to_string(),
            SkippedLines { first, last } => format!("{first}-{last}"),
        };
        let comment = |comment: Comment| match comment {
            Comment::Mark(mark) => char::from(mark).to_string(),
            Comment::Default | Comment::None => "none".to_owned(),
        };
        let list = |words: &[String]| (!words.is_empty()).then(|| words.join(","));
        let header = self.header.option().map(|names| if names { "yes" } else { "no" });
        let mut words = Vec::new();
        let mut add = |flag: &str, value: Option<String>| {
            words.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
        };
        add("--delimiter", self.delimiter.clone().map(named));
        add("--decimal", self.decimal.map(String::from));
        add("--thousands", self.thousands.map(String::from).map(named));
        add("--na", list(&self.na));
        add("--comment", self.comment.map(comment));
        self.skip.iter().for_each(|skip| add("--skip", Some(lines(*skip))));
        add("--columns", list(&self.columns));
        add("--row-names", self.row_names.clone());
        self.labels.iter().for_each(|label| add("--label", Some(label.clone())));
        add("--feature-names", self.feature_names.as_ref().map(path));
        add("--sample-names", self.sample_names.as_ref().map(path));
        add("--array", self.array.clone());
        add("--layer", self.layer.clone());
        add("--mask", self.mask.clone());
        words.extend(header.map(|header| format!("--header={header}")));
        words.extend(self.transpose.then(|| "--transpose".to_owned()));
        words.extend(self.log1p.map(|log1p| match log1p {
            Log1p::Median => "--log1p".to_owned(),
            Log1p::To(sum) | Log1p::OfFit(sum) => format!("--log1p={sum}"),
        }));
        words.extend(self.max_unpacked.map(|size| format!("--max-unpacked={size}")));
        words
    }
}

/// The options for reading a table.
pub(crate) fn read_options(input: &InputArgs, threads: &ThreadArgs) -> ReadOptions {
    ReadOptions {
        delimiter: input.delimiter.clone(),
        comment: input.comment.unwrap_or_default(),
        skip: input.skip.clone(),
        na: split(&input.na),
        columns: split(&input.columns),
        decimal: input.decimal,
        thousands: input.thousands,
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
    /// With --missing, memory of the observed entries and their fit; with --kernel, memory of the fit without the data
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub(crate) memory_limit: Option<u64>,
    /// Folder for temporary copies of the values of a large text [default: the system's]
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
        /// Part of the memory limit that a table may take in addition to its entries.
        const SHARE: f64 = 1.0 / 16.0;
        let most = SHARE * karhunen::memory::limit(self.memory_limit).bytes;
        ReadOptions { memory_limit: Some(most as u64), cache_dir: self.cache.clone(), ..options }
    }
}

/// Reading of the first line of a text table: as names or as values.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct HeaderArgs {
    /// Read the first line as names (yes, also --header alone) or as values (no) [default: as its content shows, or ask]
    #[arg(
        long, value_enum, value_name = "yes|no", num_args = 0..=1, require_equals = true,
        default_missing_value = "yes"
    )]
    header: Option<HeaderArg>,
}

impl HeaderArgs {
    /// The option of the readers.
    pub(crate) fn option(self) -> Option<bool> {
        match self.header {
            Some(HeaderArg::Yes) => Some(true),
            Some(HeaderArg::No) => Some(false),
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
    /// As the content of the table shows, or asked about
    Auto,
}
