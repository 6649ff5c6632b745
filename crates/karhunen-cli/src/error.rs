//! Failures of commands, and their exit codes.

use std::io;
use std::path::{Path, PathBuf};

use karhunen::ErrorKind;
use karhunen::error::{OptionName, OptionValue, Phrase, Surface, Weighed, options};
use karhunen_io::{Cause, Table, option_names, shell_word, shortened};

use crate::args::values::joined;
use crate::component_names::of_component;
use crate::progress::stop_code;

/// A result of a command.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// Failure of a command. Each message names the place and the remedy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Options that exclude each other, or refer to parts that do not exist.
    #[error("{0}")]
    Usage(String),
    /// Data that cannot be used as they are.
    #[error("{0}")]
    Data(String),
    /// A file that could not be read or written, or whose content is refused.
    #[error("{}", .0.text_for(&Places::of_file("")))]
    File(#[from] karhunen_io::Error),
    /// A file that is write-protected, or another user's.
    #[error("{}; give another name, or use --force to replace it", .0.text_for(&Places::of_file("")))]
    Protected(karhunen_io::Error),
    /// An error of the library.
    #[error("{text}")]
    Library {
        /// Its kind.
        kind: ErrorKind,
        /// The message.
        text: String,
    },
    /// Work that needs more memory than is available.
    #[error("{0}")]
    Memory(String),
    /// A fit that did not converge under `--strict`.
    #[error("{0}")]
    NotConverged(String),
    /// The standard output cannot be written.
    #[error("standard output: writing failed: {0}")]
    StandardOutput(io::Error),
    /// The system refuses a handler of Ctrl-C.
    #[error("Ctrl-C cannot be handled: {0}")]
    Signals(io::Error),
    /// Ctrl-C.
    #[error("stopped; nothing was written")]
    Stopped,
    /// Ctrl-C after a checkpoint was written.
    #[error("stopped; --resume will continue from {}", .0.display())]
    StoppedAt(PathBuf),
    /// Ctrl-C after the last checkpoint could not be written, but an earlier one was.
    #[error(
        "stopped; the last checkpoint could not be written; --resume will continue from an earlier one, {}",
        .0.display()
    )]
    StoppedBehind(PathBuf),
}

/// The exit code for lack of memory.
pub(crate) const OUT_OF_MEMORY: u8 = 6;

impl Failure {
    /// Converts an error of the library; `places` spells its rows, columns and options.
    pub(crate) fn library(places: &Places<'_>, error: &karhunen::Error) -> Self {
        let (kind, text) = (error.kind(), format!("{}: {}", places.file, error.text_for(places)));
        Failure::Library { kind, text }
    }

    /// The refusal of `--whiten` for rotated components.
    pub(crate) fn whitened_rotation() -> Self {
        Failure::Usage(
            "--whiten has no effect on rotated components, whose scores have unit variance; leave it out"
                .to_owned(),
        )
    }

    /// The coarse kind, in the terms of the library.
    fn kind(&self) -> ErrorKind {
        match self {
            Failure::Usage(_) => ErrorKind::Argument,
            Failure::Data(_) => ErrorKind::Data,
            Failure::Memory(_) => ErrorKind::Memory,
            Failure::File(error) => match error.kind() {
                karhunen_io::ErrorKind::Argument => ErrorKind::Argument,
                karhunen_io::ErrorKind::Data => ErrorKind::Data,
                karhunen_io::ErrorKind::Io => ErrorKind::Io,
                karhunen_io::ErrorKind::Memory => ErrorKind::Memory,
            },
            Failure::Library { kind, .. } => *kind,
            Failure::NotConverged(_) => ErrorKind::NotConverged,
            Failure::Protected(_) | Failure::StandardOutput(_) | Failure::Signals(_) => ErrorKind::Io,
            Failure::Stopped | Failure::StoppedAt(_) | Failure::StoppedBehind(_) => ErrorKind::Stopped,
        }
    }

    /// The exit code of the process.
    pub(crate) fn exit_code(&self) -> u8 {
        match self.kind() {
            ErrorKind::Argument => 2,
            ErrorKind::Data => 3,
            ErrorKind::Io => 4,
            ErrorKind::NotConverged => 5,
            ErrorKind::Memory => OUT_OF_MEMORY,
            ErrorKind::Stopped => stop_code(),
        }
    }

    /// The file that was to be opened and does not exist.
    pub(crate) fn missing_file(&self) -> Option<&Path> {
        let Failure::File(error) = self else { return None };
        match &*error.cause {
            Cause::Io { action: "opening", source } if source.kind() == io::ErrorKind::NotFound => {
                Some(&error.path)
            }
            _ => None,
        }
    }

    /// Returns true if the reader of the standard output closed it, which is not a failure: `karhunen … | head`.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        let source = match self {
            Failure::StandardOutput(source) => source,
            Failure::File(karhunen_io::Error { path, cause, .. }) if path.as_os_str() == "-" => {
                match &**cause {
                    Cause::Io { source, .. } => source,
                    _ => return false,
                }
            }
            _ => return false,
        };
        source.kind() == io::ErrorKind::BrokenPipe
    }
}

/// Formats texts about a file, with options as flags.
pub(crate) fn with_flags(texts: &[Phrase]) -> Vec<String> {
    texts.iter().map(|text| text.text_for(&Places::of_file(""))).collect()
}

/// The surface of the command line: options are flags; rows and columns count from one and have their names.
pub(crate) struct Places<'a> {
    /// Name of the file in messages.
    pub(crate) file: &'a str,
    /// Names of the rows.
    pub(crate) samples: Option<&'a [String]>,
    /// Names of the columns.
    pub(crate) features: Option<&'a [String]>,
}

impl<'a> Places<'a> {
    /// Returns the places of a file whose rows and columns have no names.
    pub(crate) fn of_file(file: &'a str) -> Self {
        Self { file, samples: None, features: None }
    }

    /// Returns the places of a table read from `file`.
    pub(crate) fn of(file: &'a str, table: &'a Table) -> Self {
        Self { file, samples: table.sample_names.as_deref(), features: table.feature_names.as_deref() }
    }

    /// Converts an error of the library to a failure with the terms of the command line.
    pub(crate) fn explain(&self, error: karhunen::Error) -> Failure {
        use karhunen::Error as E;
        let file = self.file;
        match error {
            E::Stopped { .. } => Failure::Stopped,
            E::NonFinite { row, column, value } => {
                let advice = if value.is_nan() {
                    "remove or impute the row, or fit what was observed with --missing"
                } else {
                    "remove the row or replace the value by a finite number"
                };
                Failure::Data(format!(
                    "{file}: {}, {} is {}; {advice}",
                    self.row(row),
                    self.column(column),
                    if value.is_nan() { "missing (NaN)".to_owned() } else { value.to_string() }
                ))
            }
            E::ValueOverflow { row, column, dtype } => Failure::Data(format!(
                "{file}: {}: the value of column {} that the scores represent is beyond the range of \
                 {dtype}; check the scores",
                self.row(row),
                column + 1
            )),
            E::SpreadTooLarge { column, deviation, most, dtype } => Failure::Data(format!(
                "{file}: the observed values lie about {deviation:.1e} from the means of their columns, {} the farthest; \
                 fits with missing values add up squares, for which {dtype} has room up to deviations of {most:.0e}; {}",
                self.column(column),
                if dtype == "f32" {
                    "give the data as f64 (--dtype f64), or divide them by a constant"
                } else {
                    "divide the data by a constant"
                }
            )),
            E::ImportanceSingle { row: Some(row) } => Failure::Usage(format!(
                "{file}: {} holds all the importance weight, so there is no variance to estimate; use \
                 --weighting population, or give weight to at least two rows",
                self.row(row)
            )),
            E::OneSample => Failure::Data(format!(
                "{file}: the table has one row, which has no variance with the divisor n - 1; give at least two rows, \
                 or use --weighting population"
            )),
            E::FrequencyTooSmall { sum } => Failure::Usage(format!(
                "{file}: the weights sum to {sum:?}, but as frequencies (the times each row was seen) they must sum to \
                 at least 2; use --weighting importance for relative weights, or --weighting population"
            )),
            E::NComponents { requested, max, n_samples, n_features, .. } => Failure::Usage(format!(
                "{file}: -k {requested} is more than the {n_samples} x {n_features} table allows; ask for at most {max}"
            )),
            E::ColumnValue { option, column, value, rule } => Failure::Data(format!(
                "{} of {} is {value}: {rule}",
                self.setting(option, &OptionValue::Given),
                self.column(column)
            )),
            E::WeightValue { of: Weighed::Samples, index, value } => Failure::Data(format!(
                "{file}: the weight of {} is {value}; weights must be finite and not negative",
                self.row(index)
            )),
            E::WeightValue { of: Weighed::Features, index, value } => Failure::Data(format!(
                "{file}: the weight of {} is {value}; weights must be finite and not negative",
                self.column(index)
            )),
            E::EntryWeight { row, column, value } => Failure::Data(format!(
                "{file}: {}, {}: the weight is {value}; weights must be finite and not negative",
                self.row(row),
                self.column(column)
            )),
            E::DuplicateEntry { row, column } => Failure::Data(format!(
                "{file}: {}, {} is given more than once; give it once, or average it with --duplicates average",
                self.row(row),
                self.column(column)
            )),
            E::ScoreOverflow { row, component, dtype } => Failure::Data(format!(
                "{file}: {}: the score on {} is beyond the range of {dtype}; give the data as f64, or divide them and the \
                 model's data by a constant",
                self.row(row),
                of_component(component)
            )),
            E::KernelValue { row } => Failure::Data(format!(
                "{file}: a kernel value of {} is not a finite number; divide the data by a constant, or choose a smaller \
                 --gamma or --degree (a whole one where values are raised to it that may be negative)",
                self.row(row)
            )),
            E::Option { option, value, rule } => {
                Failure::Usage(format!("{}: {}", self.setting(option, &value), rule.text_for(self)))
            }
            error => Failure::library(self, &error),
        }
    }
}

impl Surface for Places<'_> {
    fn option(&self, option: OptionName) -> String {
        let name = match option {
            options::N_COMPONENTS => return "-k".to_owned(),
            options::CENTER => "no-center",
            options::ERROR_BARS => "no-error-bars",
            options::METHOD => "missing",
            options::N_FEATURES => "kernel-features",
            options::N_FOLDS => "folds",
            options::N_OVERSAMPLES => "oversamples",
            options::N_SAMPLES => "rows",
            options::N_STARTS => "starts",
            options::N_THREADS => "threads",
            options::SAMPLE_WEIGHTS | option_names::WEIGHTS_COLUMN => "weights",
            option_names::ALLOW_UNMATCHED => "unmatched",
            option_names::LABELS => "label",
            option_names::DOUBLE => "dtype",
            option => return format!("--{}", option.field().replace('_', "-")),
        };
        format!("--{name}")
    }

    fn setting(&self, option: OptionName, value: &OptionValue) -> String {
        use OptionValue as V;
        let flag = self.option(option);
        match (option, value) {
            (options::METHOD | options::EARLY_STOPPING, V::Name { .. } | V::Text(_) | V::Number(_)) => {
                format!("{flag}={value}")
            }
            (options::CENTER, V::Given) => "--center-values".to_owned(),
            (options::SCALE, V::Given) => "--scale-values".to_owned(),
            (options::SCALE, V::Name { name, .. }) => format!("{flag}={name}"),
            (options::CENTER | options::ERROR_BARS, V::Flag(false)) => flag,
            (options::CENTER | options::ERROR_BARS, _) => format!("no {flag}"),
            (option_names::DOUBLE, V::Flag(true)) => format!("{flag} f64"),
            // Of all commands that read rows for a model, `transform` alone has the option.
            (option_names::ALLOW_UNMATCHED, _) => "`karhunen transform --unmatched FILE`".to_owned(),
            (option_names::HEADER, V::Flag(holds)) => format!("{flag} {}", if *holds { "yes" } else { "no" }),
            (option_names::ROW_NAMES, V::NotGiven) => format!("{flag} none"),
            (option_names::THOUSANDS, V::Text(sign)) if sign == " " => format!("{flag} space"),
            (option_names::MAX_UNPACKED, V::Whole(bytes)) => format!("{flag} {}GB", bytes >> 30),
            (option_names::NA, V::Texts(words)) => format!("{flag} {}", shell_word(&joined(words))),
            (_, V::Text(text)) => format!("{flag} {}", shell_word(text)),
            (_, V::Texts(texts)) => {
                let each: Vec<_> = texts.iter().map(|text| format!("{flag} {}", shell_word(text))).collect();
                each.join(" ")
            }
            (_, V::Flag(true) | V::Given) => flag,
            // The name comes from the choice of `auto`, not from the user.
            (options::PRE_IMAGE, V::Name { name: "ridge", .. }) => flag,
            (_, V::Flag(false) | V::NotGiven) => format!("no {flag}"),
            _ => format!("{flag} {value}"),
        }
    }

    fn row(&self, row: usize) -> String {
        numbered("row", row, self.samples)
    }

    fn column(&self, column: usize) -> String {
        numbered("column", column, self.features)
    }

    fn fit_missing(&self) -> &'static str {
        "fit what was observed with --missing"
    }
}

fn numbered(axis: &str, index: usize, names: Option<&[String]>) -> String {
    match names.and_then(|names| names.get(index)) {
        Some(name) => format!("{axis} {} (`{}`)", index + 1, shortened(name)),
        None => format!("{axis} {}", index + 1),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use karhunen::error::{Advice, Phrase};

    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn places_count_from_one_and_name_what_has_a_name() {
        let features = names("height weight");
        let places = Places { file: "p.npy", samples: None, features: Some(&features) };
        let nan = karhunen::Error::NonFinite { row: 4, column: 1, value: f64::NAN };
        assert_eq!(
            places.explain(nan).to_string(),
            "p.npy: row 5, column 2 (`weight`) is missing (NaN); remove or impute the row, or fit what was \
             observed with --missing"
        );
        for (error, expected) in [
            (
                karhunen::Error::DuplicateEntry { row: 0, column: 1 },
                "p.npy: row 1, column 2 (`weight`) is given more than once; give it once, or average it with --duplicates \
                 average",
            ),
            (
                karhunen::Error::WeightValue { of: Weighed::Features, index: 0, value: f64::NAN },
                "p.npy: the weight of column 1 (`height`) is NaN; weights must be finite and not negative",
            ),
            (
                karhunen::Error::ScoreOverflow { row: 0, component: 0, dtype: "f32" },
                "p.npy: row 1: the score on PC1 is beyond the range of f32; give the data as f64, or divide them and the \
                 model's data by a constant",
            ),
        ] {
            assert_eq!(places.explain(error).to_string(), expected);
        }
        let overflow = karhunen::Error::Overflow { statistic: "mean", column: 0 };
        assert!(
            places
                .explain(overflow)
                .to_string()
                .starts_with("p.npy: the mean of column 1 (`height`) is beyond the range")
        );
    }

    #[test]
    fn options_are_spelled_as_they_are_typed() {
        use OptionValue as V;
        let places = Places { file: "p.npy", samples: None, features: None };
        let refit = Phrase::new("needs ").option(options::EARLY_STOPPING);
        for (option, value, rule, expected) in [
            (options::N_STARTS, V::Whole(0), "at least one".into(), "--starts 0: at least one"),
            (options::MEAN_PRIOR, V::Number(-1.0), "not negative".into(), "--mean-prior -1: not negative"),
            (options::REFIT, V::Flag(true), refit, "--refit: needs --early-stopping"),
            (options::METHOD, V::name("online"), "no weights".into(), "--missing=online: no weights"),
            (options::EARLY_STOPPING, V::Number(2.0), "a share".into(), "--early-stopping=2: a share"),
            (options::PRE_IMAGE, V::Given, "needs rows".into(), "--pre-image: needs rows"),
            (options::PRE_IMAGE, V::name("ridge"), "of scores".into(), "--pre-image: of scores"),
            (
                options::PRE_IMAGE,
                V::name("fixed-point"),
                "for rbf".into(),
                "--pre-image fixed-point: for rbf",
            ),
            (options::N_FEATURES, V::Whole(1), "at least two".into(), "--kernel-features 1: at least two"),
            (options::MEAN, V::name("none"), "no".into(), "--mean none: no"),
            (options::ERROR_BARS, V::Flag(false), "no".into(), "--no-error-bars: no"),
        ] {
            let error = karhunen::Error::option(option, value, rule);
            assert_eq!(places.explain(error).to_string(), expected);
        }
        let none = karhunen::Error::NothingSetAside {
            option: options::EARLY_STOPPING,
            share: 0.01,
            n_observed: 20,
            n_spare: 20,
        };
        assert_eq!(
            places.explain(none).to_string(),
            "p.npy: --early-stopping=0.01 holds out none of the 20 observed entries: 0.01 of them is 0.20, less than half an \
             entry; ask for at least 2.50e-2 of them"
        );
        let folds = karhunen::Error::Folds { n_folds: 99, n_spare: 12, n_observed: 15 };
        assert_eq!(
            places.explain(folds).to_string(),
            "p.npy: --folds 99 is more than the 12 entries that can be held out (of 15 observed, 3 are alone in their row \
             or column); ask for at most 12"
        );
        let strict = karhunen::Error::NotConverged {
            solver: "tiles",
            converged: 1,
            requested: 2,
            n_passes: 1,
            over: "the kernel matrix",
            residual: 0.1,
            tol: 1e-8,
            advice: Advice::Raise(vec![options::MAX_ITER, options::TOL]),
        };
        assert_eq!(
            places.explain(strict).to_string(),
            "p.npy: solver tiles: 1 of 2 components converged in 1 pass over the kernel matrix (worst residual 1.0e-1, \
             tol 1.0e-8); raise --max-iter or --tol"
        );
    }

    #[test]
    fn every_option_has_a_flag() {
        let command = crate::args::Cli::command();
        let flags: Vec<String> = command
            .get_subcommands()
            .flat_map(clap::Command::get_arguments)
            .flat_map(|arg| {
                let (short, long) = (arg.get_short(), arg.get_long());
                short.map(|flag| format!("-{flag}")).into_iter().chain(long.map(|flag| format!("--{flag}")))
            })
            .collect();
        // Arguments that only the command line itself sets, and the options of Python's Nystroem.
        let none = [
            options::COLUMN,
            options::ENTRY_WEIGHTS,
            options::N_LANDMARKS,
            options::NOISE_VARIANCE,
            options::ROW,
            options::SHARE,
            options::START,
        ];
        let places = Places::of_file("");
        let all = options::ALL.iter().chain(option_names::ALL).filter(|option| !none.contains(option));
        for option in all {
            let flag = places.option(*option);
            assert!(flags.contains(&flag), "{flag}");
        }
    }

    #[test]
    fn exit_codes() {
        let library = |error| Failure::library(&Places::of_file("x"), &error);
        let not_converged = karhunen::Error::NotConverged {
            solver: "block-krylov",
            converged: 1,
            requested: 2,
            n_passes: 3,
            over: "the data",
            residual: 0.1,
            tol: 1e-8,
            advice: Advice::Raise(vec![options::MAX_ITER, options::TOL]),
        };
        let missing = io::Error::from(io::ErrorKind::NotFound);
        let cases = [
            (Failure::Usage(String::new()), 2),
            (library(karhunen::Error::VarianceFraction { fraction: 2.0 }), 2),
            (Failure::Data(String::new()), 3),
            (library(karhunen::Error::Empty { n_samples: 0, n_features: 1 }), 3),
            (Failure::File(karhunen_io::Error::io("x".as_ref(), "opening", missing)), 4),
            (library(not_converged), 5),
            (Failure::Memory(String::new()), 6),
            (Failure::Stopped, 130),
        ];
        for (failure, code) in cases {
            assert_eq!(failure.exit_code(), code, "{failure:?}");
        }
    }

    #[test]
    fn only_a_closed_standard_output_is_forgiven() {
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(Failure::StandardOutput(closed()).is_broken_pipe());
        assert!(Failure::File(karhunen_io::Error::io("-".as_ref(), "writing", closed())).is_broken_pipe());
        assert!(
            !Failure::File(karhunen_io::Error::io("s.csv".as_ref(), "writing", closed())).is_broken_pipe()
        );
        assert!(!Failure::StandardOutput(io::Error::other("disk full")).is_broken_pipe());
    }
}
