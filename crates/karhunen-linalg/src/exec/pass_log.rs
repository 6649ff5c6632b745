//! Results of passes that outlive a fit.

use crate::error::{Error, OptionName, OptionValue, Result};

/// Keeps the result of every pass of a fit over its data, so that a fit that was interrupted makes only the passes that
/// are missing when it is started again. A fit makes the same passes in the same order whenever its data and options
/// are the same, so the model has the same bits as without the interruption.
///
/// ```
/// use std::sync::Mutex;
/// use karhunen::exec::{Fact, PassLog};
/// use karhunen::{Dense, Pca, Result, Run, Weights};
/// /// Passes in memory, and how many of them are yet to be taken.
/// #[derive(Default)]
/// struct InMemory(Mutex<(Vec<Vec<f64>>, usize)>);
/// impl PassLog for InMemory {
///     fn begin(&self, _: &[Fact]) -> Result<()> {
///         self.0.lock().unwrap().1 = 0;
///         Ok(())
///     }
///     fn take(&self, _: &'static str) -> Result<Option<Vec<f64>>> {
///         let (passes, taken) = &mut *self.0.lock().unwrap();
///         *taken += 1;
///         Ok(passes.get(*taken - 1).cloned())
///     }
///     fn keep(&self, _: &'static str, result: &[f64]) -> Result<()> {
///         self.0.lock().unwrap().0.push(result.to_vec());
///         Ok(())
///     }
/// }
/// let x = [1.0, 2.0, 3.0, 4.0, 5.0, 7.0];
/// let (x, weights, log) = (Dense::row_major(&x, 3, 2)?, Weights::default(), InMemory::default());
/// let pca = Pca { solver: Some(karhunen::pca::Route::Covariance), ..Pca::new(1) };
/// let model = pca.fit_logged(&x, &weights, &log, &Run::default())?;
/// assert_eq!(pca.fit_logged(&x, &weights, &log, &Run::default())?, model); // without a pass
/// # Ok::<(), karhunen::Error>(())
/// ```
pub trait PassLog: Sync {
    /// Called once, before the first pass, with the facts that the passes depend on.
    ///
    /// # Errors
    /// [`Fact::differs_from`] if the log holds passes of another fit.
    fn begin(&self, fit: &[Fact]) -> Result<()>;

    /// Returns the result of the next pass, called `name`, if the log holds it.
    ///
    /// # Errors
    /// [`Error::OtherFit`] for a pass of another name; errors of reading.
    fn take(&self, name: &'static str) -> Result<Option<Vec<f64>>>;

    /// Keeps the result of the next pass, called `name`, which was just made.
    ///
    /// # Errors
    /// An error ends the fit. A log that cannot be written should report it and let the fit continue.
    fn keep(&self, name: &'static str, result: &[f64]) -> Result<()>;
}

/// An option or a property of the data on which the passes of a fit depend.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// An option and its value.
    Option(OptionName, OptionValue),
    /// A property of the data: its name in the plural, for messages, and its value.
    Data(&'static str, String),
}

impl Fact {
    /// Its name, which is the same in every version.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Option(option, _) => option.field(),
            Self::Data(what, _) => what,
        }
    }

    /// Its value as text.
    pub fn value(&self) -> String {
        match self {
            Self::Option(_, value) => value.to_string(),
            Self::Data(_, value) => value.clone(),
        }
    }

    /// The error for a log that was made with the value `found`.
    pub fn differs_from(&self, found: &str) -> Error {
        match self {
            Self::Option(option, value) => {
                let found = Box::new(value_of(found));
                Error::OtherOption { option: *option, found, expected: Box::new(value.clone()) }
            }
            Self::Data(what, value) => {
                Error::OtherFit { what, found: found.to_owned(), expected: value.clone() }
            }
        }
    }
}

/// Returns the value of an option from its text.
fn value_of(text: &str) -> OptionValue {
    match (text, text.parse(), text.parse()) {
        ("none", ..) => OptionValue::NotGiven,
        ("all", ..) => OptionValue::All,
        ("true" | "false", ..) => OptionValue::Flag(text == "true"),
        (_, Ok(whole), _) => OptionValue::Whole(whole),
        (_, _, Ok(number)) => OptionValue::Number(number),
        _ => OptionValue::Text(text.to_owned()),
    }
}
