//! Errors of the engine as exceptions of Python.

use karhunen::choice::Choice;
use karhunen::error::{Advice, CategoryFault, OptionName, OptionValue, Phrase, Surface, Weighed, options};
use karhunen::kernel::Kernel;
use karhunen::{Error, ErrorKind};
use karhunen_io::Cause;
use pyo3::exceptions::{
    PyKeyboardInterrupt, PyMemoryError, PyOSError, PyPermissionError, PyRuntimeError, PyValueError,
};
use pyo3::prelude::*;

pyo3::create_exception!(
    karhunen,
    NotConvergedError,
    PyRuntimeError,
    "An iteration stopped before its tolerance, and `strict` was asked for."
);

/// The exception for an error of the library.
pub(crate) fn to_python(error: Error) -> PyErr {
    if let Some(exception) = exception_within(&error) {
        return exception;
    }
    let exception = of_kind(error.kind(), message_of(&error));
    // Estimators use these attributes to show arguments as given and to add names of columns; the message is complete
    // without them.
    let place = |row: usize, column: usize, repeated: bool| {
        let template = error.text_for(&NamedColumn);
        vec![
            ("row", Attribute::Index(row)),
            ("column", Attribute::Index(column)),
            ("template", Attribute::Text(format!("{template}{COUNTED}"))),
            ("is_repeated", Attribute::Flag(repeated)),
        ]
    };
    let within = if let Error::Part { source, .. } = &error { source } else { &error };
    let attributes = match within {
        Error::Option { option, rule, .. } => vec![
            ("option", Attribute::Text(name(*option).to_owned())),
            ("rule", Attribute::Text(rule.text_for(&Parameters))),
        ],
        Error::ColumnValue { column, .. } => vec![
            ("column", Attribute::Index(*column)),
            ("template", Attribute::Text(error.text_for(&NamedColumn))),
        ],
        Error::DuplicateEntry { row, column } => place(*row, *column, true),
        Error::NonFinite { row, column, .. }
        | Error::NonFiniteUnweighted { row, column, .. }
        | Error::NoCount { row, column, .. }
        | Error::NegativeValue { row, column, .. }
        | Error::EntryWeight { row, column, .. } => place(*row, *column, false),
        _ => Vec::new(),
    };
    Python::attach(|py| {
        for (name, attribute) in attributes {
            let _ = match attribute {
                Attribute::Index(index) => exception.value(py).setattr(name, index),
                Attribute::Flag(flag) => exception.value(py).setattr(name, flag),
                Attribute::Text(text) => exception.value(py).setattr(name, text),
            };
        }
    });
    exception
}

/// The end of messages with row numbers.
const COUNTED: &str = "; rows and columns count from 0";

/// The message of an error, with the names of parameters.
fn message_of(error: &Error) -> String {
    let message = match *error {
        Error::Part { part, ref source } => return format!("part {part}: {}", message_of(source)),
        // The wording of scikit-learn, which tests of other projects match.
        Error::NComponents { requested, min, max, n_samples, n_features } => {
            let limit =
                if max == n_samples.min(n_features) { "min(n_samples, n_features)" } else { "n_samples" };
            format!(
                "n_components={requested} must be between {min} and {limit}={max} for X of shape ({n_samples}, \
                 {n_features}); ask for at most {max}, or add rows or columns"
            )
        }
        Error::Option {
            option: options::N_COMPONENTS,
            value: OptionValue::Name { name: "mle", .. },
            ref rule,
        } => format!(
            "n_components='mle' is only supported if n_samples >= n_features: {rule}; give a number of components"
        ),
        Error::NegativeEigenvalue { .. } => {
            format!("There are significant negative eigenvalues: {}", error.text_for(&Parameters))
        }
        Error::FrequencyTooSmall { sum } => format!(
            "sample_weight sums to {sum:?}, but a variance with the divisor sum - 1 needs at least 2 observations; use \
             weighting='importance' (a constant factor changes nothing) or weighting='population' (divisor sum), or give \
             the number of times each row was seen"
        ),
        Error::WeightLength { of, found, expected } => {
            format!("{} has {found} entries; X has {expected} {}", name(of.option()), lines(of))
        }
        Error::WeightValue { of, index, value } => {
            format!("{}[{index}] is {value}; a weight must be finite and not negative", name(of.option()))
        }
        Error::WeightsAllZero { of, n } => {
            format!("{}: all {n} entries are zero; at least one must be positive", name(of.option()))
        }
        Error::Categories(ref fault) => of_categories(fault).unwrap_or_else(|| error.text_for(&Parameters)),
        Error::Shape { what: "the table", axis: "columns", found, expected } => {
            format!("X has {found} columns, the fit had {expected}")
        }
        Error::Truncated { rule: "the correction", kept, .. } => {
            format!("the correction needs the components that n_components = {kept} left out")
        }
        // The wording of scikit-learn, which its checks of estimators require.
        Error::NegativeValue { row, column, value, kernel } => {
            let error = Error::NegativeValue { row, column, value, kernel: kernel_name(kernel) };
            format!("Negative values in data: {}", error.text_for(&Parameters))
        }
        _ => error.text_for(&Parameters),
    };
    if names_row(error) { format!("{message}{COUNTED}") } else { message }
}

/// The message of a fault in a table of categories, if it has other words or names in Python: rows and columns count from
/// 0, and texts are literals.
fn of_categories(fault: &CategoryFault) -> Option<String> {
    Some(match fault {
        CategoryFault::Unknown { column, row, found, known } => {
            let found = match found {
                Some(found) => format!("is {}, which no row of the fit was", text(found)),
                None => "lacks a value; none of the fit did".to_owned(),
            };
            let mut listed: Vec<String> = known.iter().take(LISTED).map(|name| text(name)).collect();
            if known.len() > LISTED {
                listed.push("...".to_owned());
            }
            format!(
                "column {}: row {row} {found}; its categories are {}; handle_unknown = \"ignore\" takes such rows by their \
                 other columns",
                text(column),
                listed.join(", ")
            )
        }
        CategoryFault::Number { column, row, value } => {
            let found = if value.is_nan() { "nan".to_owned() } else { value.to_string() };
            format!(
                "column {}: row {row} is {found}; complete the numbers first, for example with karhunen.completion, or \
                 leave such rows out",
                text(column)
            )
        }
        CategoryFault::Constant { column } => format!("column {} is constant; leave it out", text(column)),
        CategoryFault::Range { column } => format!(
            "column {}: deviations from the mean exceed the largest number; divide it by a constant",
            text(column)
        ),
        CategoryFault::OneKind { kind, .. } => {
            let instead = if *kind == "numbers" { "PCA(scale=True)" } else { "MCA" };
            format!("all columns hold {kind}; use {instead}, or give columns of both kinds")
        }
        CategoryFault::OtherColumn { place, found, expected } => format!(
            "X has other columns than the fit had: column {place} is {}, and was {}",
            text(found),
            text(expected)
        ),
        CategoryFault::Twice { name } => {
            format!("{} names two categories; rename a column or a category", text(name))
        }
        _ => return None,
    })
}

/// Most categories in a message.
const LISTED: usize = 8;

/// A text as a literal.
fn text(text: &str) -> String {
    literal(&OptionValue::Text(text.into()))
}

/// The error of reading `what`, which holds an exception.
pub(crate) fn while_reading(what: &str, exception: PyErr) -> karhunen_io::Error {
    karhunen_io::Error::io(what.as_ref(), "reading", std::io::Error::other(exception))
}

/// The exception that Python raised while rows were read.
fn exception_within(error: &Error) -> Option<PyErr> {
    let Error::Read { source, .. } = (if let Error::Part { source, .. } = error { source } else { error })
    else {
        return None;
    };
    let Cause::Io { source, .. } = &*source.downcast_ref::<karhunen_io::Error>()?.cause else { return None };
    let exception = source.get_ref()?.downcast_ref::<PyErr>()?;
    Some(Python::attach(|py| exception.clone_ref(py)))
}

/// A typed part of an error, on its exception.
enum Attribute {
    Index(usize),
    Flag(bool),
    Text(String),
}

/// Returns true if the message of an error names a row of the data by its number.
fn names_row(error: &Error) -> bool {
    matches!(
        error,
        Error::NonFinite { .. }
            | Error::NonFiniteUnweighted { .. }
            | Error::NoCount { .. }
            | Error::NegativeValue { .. }
            | Error::EntryWeight { .. }
            | Error::DuplicateEntry { .. }
            | Error::KernelValue { .. }
            | Error::NotSymmetric { .. }
            | Error::ScoreOverflow { .. }
            | Error::ImportanceSingle { row: Some(_) }
            | Error::Categories(
                CategoryFault::Unknown { .. }
                    | CategoryFault::Number { .. }
                    | CategoryFault::OtherColumn { .. }
            )
    )
}

/// The surface of Python: options are parameters.
struct Parameters;

impl Surface for Parameters {
    fn option(&self, option: OptionName) -> String {
        match is_of_read(option) {
            true => format!("karhunen.read(path, {}=...)", name(option)),
            false => name(option).to_owned(),
        }
    }

    fn setting(&self, option: OptionName, value: &OptionValue) -> String {
        match (option, value) {
            // The default methods, in effect unless `pre_image` is given.
            (options::PRE_IMAGE, OptionValue::Given | OptionValue::Name { name: "ridge", .. }) => {
                "fit_inverse_transform = True".to_owned()
            }
            (options::REGULARIZATION, OptionValue::Name { name: "none", .. }) => {
                "regularization = 0".to_owned()
            }
            (_, OptionValue::Given) => name(option).to_owned(),
            (option, value) if is_of_read(option) => {
                format!("karhunen.read(path, {}={})", name(option), of_read(option, value))
            }
            _ => format!("{} = {}", name(option), literal(value)),
        }
    }

    fn fit_missing(&self) -> &'static str {
        "use karhunen.IncompletePCA, which takes missing values"
    }
}

/// Formats a phrase.
pub(crate) fn said(phrase: &Phrase) -> String {
    phrase.text_for(&Parameters)
}

/// Formats a remedy.
pub(crate) fn remedy(advice: &Advice) -> String {
    advice.text_for(&Parameters)
}

/// As [`Parameters`], with the placeholder `{name}` for the name of a column.
struct NamedColumn;

impl Surface for NamedColumn {
    fn option(&self, option: OptionName) -> String {
        Parameters.option(option)
    }

    fn setting(&self, option: OptionName, value: &OptionValue) -> String {
        Parameters.setting(option, value)
    }

    fn column(&self, column: usize) -> String {
        format!("column {column} ({{name}})")
    }

    fn fit_missing(&self) -> &'static str {
        Parameters.fit_missing()
    }
}

/// Tests for an option of `karhunen.read`.
fn is_of_read(option: OptionName) -> bool {
    use karhunen_io::option_names as O;
    [
        [O::ARRAY, O::COLUMNS, O::COMMENT, O::DECIMAL, O::DELIMITER, O::HEADER, O::LABELS].as_slice(),
        &[O::MAX_UNPACKED, O::NA, O::ROW_NAMES, O::SKIP, O::THOUSANDS, O::TRANSPOSE, O::WEIGHTS_COLUMN],
    ]
    .concat()
    .contains(&option)
}

/// Formats a value of an option of `karhunen.read` as a Python literal.
fn of_read(option: OptionName, value: &OptionValue) -> String {
    use karhunen_io::option_names as O;
    match (option, value) {
        (O::SKIP, OptionValue::Text(lines)) => match lines.split_once('-') {
            Some((first, last)) => format!("({first}, {last})"),
            None => lines.clone(),
        },
        (O::NA, OptionValue::Text(words)) => format!("{:?}", words.split(',').collect::<Vec<_>>()),
        _ => literal(value),
    }
}

/// The parameters that errors name.
#[pyfunction]
pub(crate) fn named_parameters() -> Vec<&'static str> {
    options::ALL.iter().chain(karhunen_io::option_names::ALL).map(|option| name(*option)).collect()
}

/// The parameter of an option.
fn name(option: OptionName) -> &'static str {
    match option {
        options::SAMPLE_WEIGHTS => "sample_weight",
        options::FEATURE_WEIGHTS => "feature_weight",
        options::ENTRY_WEIGHTS => "entry_weight",
        options::N_LANDMARKS => "n_components",
        options::SEED => "random_state",
        karhunen_io::option_names::WEIGHTS_COLUMN => "weights",
        option => option.field(),
    }
}

/// Returns the name of the objects that have weights.
fn lines(of: Weighed) -> &'static str {
    match of {
        Weighed::Samples => "rows",
        Weighed::Features => "columns",
        Weighed::Entries => "entries",
    }
}

/// scikit-learn's name of a kernel.
fn kernel_name(name: &str) -> &str {
    Kernel::of_name(name).map_or(name, |kernel| kernel.named().python)
}

/// Formats a value of an option as a Python literal.
fn literal(value: &OptionValue) -> String {
    match value {
        OptionValue::Name { python, .. } => format!("'{python}'"),
        OptionValue::Sized(name, size) => format!("('{name}', {size})"),
        OptionValue::Pair(first, second) => format!("({first}, {second})"),
        OptionValue::Text(text) => format!("'{}'", text.escape_debug()),
        OptionValue::Texts(texts) => match &texts[..] {
            [text] => format!("'{}'", text.escape_debug()),
            texts => format!("{texts:?}"),
        },
        OptionValue::Flag(true) => "True".to_owned(),
        OptionValue::Flag(false) => "False".to_owned(),
        OptionValue::All | OptionValue::NotGiven => "None".to_owned(),
        value => value.to_string(),
    }
}

fn of_kind(kind: ErrorKind, message: String) -> PyErr {
    match kind {
        ErrorKind::Argument | ErrorKind::Data => PyValueError::new_err(message),
        ErrorKind::Io => PyOSError::new_err(message),
        ErrorKind::Memory => PyMemoryError::new_err(message),
        ErrorKind::NotConverged => NotConvergedError::new_err(message),
        ErrorKind::Stopped => PyKeyboardInterrupt::new_err(message),
    }
}

/// Converts an error of a file to an exception: a subclass of `OSError` such as `FileNotFoundError` for system errors.
pub(crate) fn file_to_python(error: karhunen_io::Error) -> PyErr {
    match &*error.cause {
        Cause::Io { source, .. } => match source.raw_os_error() {
            // With a number, OSError becomes its own subclass, and shows the path.
            Some(number) => {
                // Python shows the number itself, so Rust's copy in the reason is removed.
                let text = source.to_string();
                let reason = text.strip_suffix(&format!(" (os error {number})")).unwrap_or(&text).to_owned();
                PyOSError::new_err((number, reason, error.path.as_os_str().to_owned()))
            }
            None if source.kind() == std::io::ErrorKind::PermissionDenied => {
                PyPermissionError::new_err(format!("{error}; give another name, or remove it first"))
            }
            None => PyOSError::new_err(error.to_string()),
        },
        Cause::Changed { .. } => PyOSError::new_err(error.to_string()),
        Cause::Library(inner) => of_kind(inner.kind(), error.to_string()),
        _ => PyValueError::new_err(error.text_for(&Parameters)),
    }
}
