//! Errors of the engine as exceptions of Python.

use karhunen::{Choice, Error, ErrorKind, Kernel};
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
    let message = match error {
        Error::NonFinite { row, column, value } if value.is_nan() => format!(
            "row {row}, column {column} is NaN; remove or impute it, or use karhunen.IncompletePCA, which takes missing \
             values"
        ),
        // scikit-learn's words, which other people's tests look for.
        Error::NComponents { requested, min, max, n_samples, n_features } => {
            let limit =
                if max == n_samples.min(n_features) { "min(n_samples, n_features)" } else { "n_samples" };
            format!(
                "n_components={requested} must be between {min} and {limit}={max} for X of shape ({n_samples}, \
                 {n_features}); ask for at most {max}, or add rows or columns"
            )
        }
        Error::Option { option: "n_components", ref value, rule } if value == "mle" => format!(
            "n_components='mle' is only supported if n_samples >= n_features: {rule}; give a number of components"
        ),
        Error::NegativeEigenvalue { .. } => format!("There are significant negative eigenvalues: {error}"),
        Error::FrequencyTooSmall { sum } => format!(
            "sample_weight sums to {sum:?}, but a variance with the divisor sum - 1 needs at least 2 observations; use \
             weighting='importance' (a constant factor changes nothing) or weighting='population' (divisor sum), or give \
             the number of times each row was seen"
        ),
        Error::WeightLength { what, axis, found, expected } => {
            format!("{} has {found} entries; X has {expected} {axis}", weights(what))
        }
        Error::WeightValue { what, index, value } => {
            format!("{}[{index}] is {value}; a weight must be finite and not negative", weights(what))
        }
        Error::WeightsAllZero { what, n } => {
            format!("{}: all {n} entries are zero; at least one must be positive", weights(what))
        }
        // scikit-learn's words, which its checks of estimators ask for.
        Error::NegativeValue { row, column, value, kernel } => {
            let error = Error::NegativeValue { row, column, value, kernel: kernel_name(kernel) };
            format!("Negative values in data: {error}")
        }
        Error::OtherOption { option, ref found, ref expected } => format!(
            "the checkpoint was made with {option} = {}, now it is {}; resume with the same, or fit anew",
            literal(option, found),
            literal(option, expected)
        ),
        Error::Option { option, ref value, rule } => {
            let (option, value) = argument(option, value);
            // The engine marks the options that a rule names.
            format!("{option} = {value} is not allowed: {}", rule.replace('`', ""))
        }
        // The engine marks the options that advice names.
        Error::Memory { .. } => error.to_string().replace('`', ""),
        _ => error.to_string(),
    };
    let message =
        if names_row(&error) { format!("{message}; rows and columns count from 0") } else { message };
    let exception = of_kind(error.kind(), message);
    if let Error::Option { option, rule, .. } = error {
        // Estimators tell the argument as it was given to them; without these attributes the message is still complete.
        Python::attach(|py| {
            let _ = exception.value(py).setattr("option", option);
            let _ = exception.value(py).setattr("rule", rule.replace('`', ""));
        });
    }
    let place = match error {
        Error::NonFinite { row, column, .. }
        | Error::NegativeValue { row, column, .. }
        | Error::EntryWeight { row, column, .. }
        | Error::DuplicateEntry { row, column } => Some((row, column)),
        _ => None,
    };
    if let Some((row, column)) = place {
        let place = [("row", row), ("column", column)];
        // Python adds the name of the column. Without these attributes the message is still complete.
        Python::attach(|py| {
            for (name, index) in place {
                let _ = exception.value(py).setattr(name, index);
            }
        });
    }
    exception
}

/// Whether the message of an error tells a row of the data by its number.
fn names_row(error: &Error) -> bool {
    matches!(
        error,
        Error::NonFinite { .. }
            | Error::NegativeValue { .. }
            | Error::EntryWeight { .. }
            | Error::DuplicateEntry { .. }
            | Error::KernelValue { .. }
            | Error::NotSymmetric { .. }
            | Error::ScoreOverflow { .. }
            | Error::ImportanceSingle { row: Some(_) }
    )
}

/// Weights as the argument that users give.
fn weights(what: &str) -> &str {
    match what {
        "sample weights" => "sample_weight",
        "feature weights" => "feature_weight",
        "entry weights" => "entry_weight",
        what => what,
    }
}

/// An option of the engine as the argument that users give.
fn argument<'a>(option: &'a str, value: &str) -> (&'a str, String) {
    match (option, value) {
        ("kernel", name) => (option, literal(option, kernel_name(name))),
        ("n_components", "all") => (option, "None".to_owned()),
        // The ways that are taken where `fit_inverse_transform` says nothing else.
        ("pre_image", "given" | "ridge") => ("fit_inverse_transform", "True".to_owned()),
        _ => (option, literal(option, value)),
    }
}

/// scikit-learn's name of a kernel.
fn kernel_name(name: &str) -> &str {
    Kernel::of_name(name).map_or(name, |kernel| kernel.named().python)
}

/// A value of an option as Python writes it.
fn literal(option: &str, value: &str) -> String {
    if let Some(size) = value.strip_prefix("weighted:") {
        return format!("('weighted', {size})");
    }
    match (option, value) {
        ("regularization", "none") => "0".to_owned(),
        ("mean", value) => format!("'{value}'"),
        (_, "none" | "not given") => "None".to_owned(),
        (_, "true") => "True".to_owned(),
        (_, "false") => "False".to_owned(),
        (_, value) if value.parse::<f64>().is_ok() => value.to_owned(),
        (_, value) => format!("'{value}'"),
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

/// The exception for an error of a file: `FileNotFoundError` and its like where the system gave a reason.
pub(crate) fn file_to_python(error: karhunen_io::Error) -> PyErr {
    match &*error.cause {
        Cause::Io { source, .. } => match source.raw_os_error() {
            // With a number, OSError becomes its own subclass, and shows the path.
            Some(number) => {
                // The number is shown beside the reason, which Rust repeats it in.
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
        _ => PyValueError::new_err(error.to_string()),
    }
}
