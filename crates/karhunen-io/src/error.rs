//! Errors of reading and writing: the problem, the file, the line and column, and the remedy.

use std::path::{Path, PathBuf};

use karhunen::error::{Fields, OptionName, OptionValue, Phrase, Surface};

use crate::names::shortened;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The general kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// An option for reading or writing violates its rule, or names a part that the file does not have.
    Argument,
    /// The content cannot be used as it is.
    Data,
    /// The system could not read or write.
    Io,
    /// The content needs more memory than is available.
    Memory,
}

/// An error in a file: `path: line L, column C: message`.
#[derive(Debug, thiserror::Error)]
#[error("{}{}: {cause}", display_path(.path, .cause), .place)]
pub struct Error {
    /// The file; `-` for a standard stream.
    pub path: PathBuf,
    /// The place in the file.
    pub place: Place,
    /// The problem and the remedy.
    #[source]
    pub cause: Box<Cause>,
}

/// A place in a file, as far as it is known. Lines, rows and columns count from one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Line of a text file, header included.
    pub line: Option<u64>,
    /// Row of a file without lines: Parquet, Arrow, NPY.
    pub row: Option<u64>,
    /// Column of a table.
    pub column: Option<u64>,
    /// Name of the column, or of the array in an archive.
    pub name: Option<String>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(line) = self.line {
            write!(f, ": line {line}")?;
        }
        if let Some(row) = self.row {
            write!(f, ": row {row}")?;
        }
        match (self.column, self.name.as_deref().map(shortened)) {
            (Some(column), Some(name)) => write!(f, ": column {column} (`{name}`)"),
            (Some(column), None) => write!(f, ": column {column}"),
            (None, Some(name)) => write!(f, ": `{name}`"),
            (None, None) => Ok(()),
        }
    }
}

/// The problem. Each message also names the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// An error of the operating system.
    #[error("{action} failed: {source}")]
    Io {
        /// `"opening"`, `"reading"`, `"writing"`.
        action: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file that was written to while it was read.
    #[error("{}", changed(*before, *after))]
    Changed {
        /// Length of the file in bytes when it was opened.
        before: u64,
        /// Length of the file in bytes after reading.
        after: u64,
    },
    /// An option that does not fit the file.
    #[error("{0}")]
    Option(Phrase),
    /// An option that names an unsuitable column.
    #[error("{}", of_column(&Fields, *option, wanted, problem))]
    Column {
        /// The option.
        option: OptionName,
        /// The column in the value of the option.
        wanted: String,
        /// The problem and the remedy.
        problem: String,
    },
    /// A file that is damaged, of an unexpected format, or not supported.
    #[error("{0}")]
    Format(Phrase),
    /// A format that this build does not read or write, because a feature of Cargo is off.
    #[error(
        "{what} needs the feature {feature}, which this build of karhunen leaves out; build it with --features \
         {feature}"
    )]
    LeftOut {
        /// The format.
        what: &'static str,
        /// The feature.
        feature: &'static str,
    },
    /// A value that is not a number, or not an allowed one.
    #[error("{0}")]
    Value(Phrase),
    /// A missing value.
    #[error("{}", Self::missing_value(.0))]
    Missing(String),
    /// Text instead of numbers, and the remedy.
    #[error("{0}; {1}")]
    Text(String, Phrase),
    /// Columns of text instead of numbers, which may hold categories, and the remedy.
    #[error("{0}; {1}")]
    TextColumns(String, Phrase),
    /// An error of the library.
    #[error(transparent)]
    Library(Box<karhunen::Error>),
}

impl From<karhunen::Error> for Cause {
    fn from(error: karhunen::Error) -> Self {
        Self::Library(Box::new(error))
    }
}

impl Cause {
    /// An option that does not fit the file.
    pub(crate) fn option(message: impl Into<Phrase>) -> Self {
        Self::Option(message.into())
    }

    /// A file that is damaged, of an unexpected format, or not supported.
    pub(crate) fn format(message: impl Into<Phrase>) -> Self {
        Self::Format(message.into())
    }

    /// A value that is not allowed.
    pub(crate) fn value(message: impl Into<Phrase>) -> Self {
        Self::Value(message.into())
    }

    fn missing_value(what: &str) -> Phrase {
        Phrase::new(format!("{what}; PCA needs every value: drop the row or the column, fill it in, or "))
            .fit_missing()
    }

    /// The message, with options as `surface` writes them.
    fn text_for(&self, surface: &dyn Surface) -> String {
        match self {
            Self::Library(error) => error.text_for(surface),
            Self::Column { option, wanted, problem } => of_column(surface, *option, wanted, problem),
            Self::Option(message) | Self::Format(message) | Self::Value(message) => message.text_for(surface),
            Self::Missing(what) => Self::missing_value(what).text_for(surface),
            Self::Text(what, advice) | Self::TextColumns(what, advice) => {
                format!("{what}; {}", advice.text_for(surface))
            }
            Self::Io { .. } | Self::Changed { .. } | Self::LeftOut { .. } => self.to_string(),
        }
    }
}

impl Error {
    /// An error of the whole file.
    pub fn new(path: &Path, cause: Cause) -> Self {
        Self { path: path.to_owned(), place: Place::default(), cause: Box::new(cause) }
    }

    /// An error at a place.
    pub fn at(path: &Path, place: Place, cause: Cause) -> Self {
        Self { path: path.to_owned(), place, cause: Box::new(cause) }
    }

    /// An error of the system.
    pub fn io(path: &Path, action: &'static str, source: std::io::Error) -> Self {
        Self::new(path, Cause::Io { action, source })
    }

    /// The message, with options as `surface` writes them.
    pub fn text_for(&self, surface: &dyn Surface) -> String {
        format!("{}{}: {}", display_path(&self.path, &self.cause), self.place, self.cause.text_for(surface))
    }

    /// The general kind.
    pub fn kind(&self) -> ErrorKind {
        match &*self.cause {
            Cause::Io { .. } | Cause::Changed { .. } => ErrorKind::Io,
            Cause::Option(_) | Cause::Column { .. } => ErrorKind::Argument,
            Cause::Format(_)
            | Cause::LeftOut { .. }
            | Cause::Value(_)
            | Cause::Missing(_)
            | Cause::Text(..)
            | Cause::TextColumns(..) => ErrorKind::Data,
            Cause::Library(error) => match error.kind() {
                karhunen::ErrorKind::Argument => ErrorKind::Argument,
                karhunen::ErrorKind::Io => ErrorKind::Io,
                karhunen::ErrorKind::Memory => ErrorKind::Memory,
                _ => ErrorKind::Data,
            },
        }
    }
}

fn changed(before: u64, after: u64) -> String {
    let what = match after.cmp(&before) {
        std::cmp::Ordering::Less => format!("became shorter, from {before} bytes to {after},"),
        std::cmp::Ordering::Greater => format!("became longer, from {before} bytes to {after},"),
        std::cmp::Ordering::Equal => "was written to".to_owned(),
    };
    format!("the file {what} while it was read; try again when no other program writes to it")
}

fn of_column(surface: &dyn Surface, option: OptionName, wanted: &str, problem: &str) -> String {
    format!("{}: {problem}", surface.setting(option, &OptionValue::Text(wanted.to_owned())))
}

fn display_path(path: &Path, cause: &Cause) -> String {
    match cause {
        _ if path.as_os_str() != "-" => path.display().to_string(),
        Cause::Io { action: "writing", .. } => "standard output".to_owned(),
        _ => "standard input".to_owned(),
    }
}
