//! Text that refers to options, and the surfaces that spell it: Rust, the command line, Python.

use std::borrow::Cow;

use crate::error::option::{OptionName, OptionValue};

/// Spelling of options, rows and columns in the messages of a surface.
pub trait Surface {
    /// Formats an option.
    fn option(&self, option: OptionName) -> String;

    /// Formats an option with its value.
    fn setting(&self, option: OptionName, value: &OptionValue) -> String;

    /// Formats a row, counted from zero.
    fn row(&self, row: usize) -> String {
        format!("row {row}")
    }

    /// Formats a column, counted from zero.
    fn column(&self, column: usize) -> String {
        format!("column {column}")
    }

    /// Returns the remedy for missing values: a fit that accepts them.
    fn fit_missing(&self) -> &'static str;
}

/// The surface of Rust: options are fields.
#[derive(Clone, Copy, Debug)]
pub struct Fields;

impl Surface for Fields {
    fn option(&self, option: OptionName) -> String {
        format!("`{}`", option.field())
    }

    fn setting(&self, option: OptionName, value: &OptionValue) -> String {
        match value {
            OptionValue::Given => option.field().to_owned(),
            _ => format!("{} = {value}", option.field()),
        }
    }

    fn fit_missing(&self) -> &'static str {
        "fit an `IncompletePca`, which takes missing values"
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Fragment {
    Text(Cow<'static, str>),
    Option(OptionName),
    Setting(OptionName, OptionValue),
    FitMissing,
}

/// Text with symbolic options, which each surface spells in its own way.
///
/// ```
/// use karhunen::error::{Phrase, options};
/// let rule = Phrase::new("without ").option(options::EARLY_STOPPING).text(" all entries were fitted");
/// assert_eq!(rule.to_string(), "without `early_stopping` all entries were fitted");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phrase(Vec<Fragment>);

impl Phrase {
    /// Creates a phrase from text.
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self::default().text(text)
    }

    /// Appends text.
    #[must_use]
    pub fn text(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.0.push(Fragment::Text(text.into()));
        self
    }

    /// Appends an option.
    #[must_use]
    pub fn option(mut self, option: OptionName) -> Self {
        self.0.push(Fragment::Option(option));
        self
    }

    /// Appends an option with its value.
    #[must_use]
    pub fn setting(mut self, option: OptionName, value: impl Into<OptionValue>) -> Self {
        self.0.push(Fragment::Setting(option, value.into()));
        self
    }

    /// Appends [`Surface::fit_missing`].
    #[must_use]
    pub fn fit_missing(mut self) -> Self {
        self.0.push(Fragment::FitMissing);
        self
    }

    /// Appends another phrase.
    #[must_use]
    pub fn then(mut self, other: impl Into<Phrase>) -> Self {
        self.0.extend(other.into().0);
        self
    }

    /// Formats the phrase for a surface.
    pub fn text_for(&self, surface: &dyn Surface) -> String {
        let text = |part: &Fragment| match part {
            Fragment::Text(text) => text.clone(),
            Fragment::Option(option) => surface.option(*option).into(),
            Fragment::Setting(option, value) => surface.setting(*option, value).into(),
            Fragment::FitMissing => surface.fit_missing().into(),
        };
        self.0.iter().map(text).collect()
    }
}

impl From<&'static str> for Phrase {
    fn from(text: &'static str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Phrase {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl std::fmt::Display for Phrase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text_for(&Fields))
    }
}
