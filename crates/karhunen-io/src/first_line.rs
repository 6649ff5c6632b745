//! Readings of the first line of a text table, and the warnings of uncertain ones.

use karhunen::error::{OptionValue, Phrase};

use crate::option_names;

/// The content of the first line of a text table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstLine {
    /// Values, certain.
    Values,
    /// Names, certain.
    Names,
    /// Numbers, read as names on two or more pieces of evidence.
    CountingNames,
    /// Numbers, read as names on one piece of evidence.
    LikelyNames,
    /// Years in equal steps, or numbers of which the first column has none, read as names on one piece of evidence.
    TitledNames,
    /// The names in the model, all of them numbers, in another order.
    MovedNames,
    /// The names in the model, all of them numbers that could also be a row.
    KnownNumbers,
    /// Increasing or decreasing numbers without further evidence: values.
    CountingValues,
    /// Years, or whole numbers beside the title of a column of texts: values.
    TitledValues,
    /// Different words for missing values: values.
    MissingWords,
    /// Integers over decimals: values.
    WholeValues,
}

impl FirstLine {
    /// The reading of numbers that would be taken as names, under a model whose features have no such names: values.
    pub(crate) fn under_a_model(self) -> Option<Self> {
        match self {
            Self::LikelyNames | Self::CountingNames => Some(Self::CountingValues),
            Self::TitledNames => Some(Self::TitledValues),
            _ => None,
        }
    }

    /// Returns true if the line is read as names.
    pub(crate) fn holds_names(self) -> bool {
        matches!(
            self,
            Self::Names
                | Self::CountingNames
                | Self::LikelyNames
                | Self::TitledNames
                | Self::MovedNames
                | Self::KnownNumbers
        )
    }

    /// The note for the report of a command.
    pub(crate) fn note(self) -> Option<&'static str> {
        (self == Self::CountingNames).then_some("the first line counts up or down and was taken as names")
    }

    /// The warning that every command prints, since the guess may be wrong.
    pub(crate) fn warning(self) -> Option<Phrase> {
        let (guess, header, otherwise) = match self {
            Self::Values | Self::Names | Self::CountingNames => return None,
            Self::LikelyNames => (
                "the first line holds numbers that count up or down, and was taken as names",
                false,
                "if it is data",
            ),
            Self::TitledNames => (
                "the first line holds numbers that may name columns, and was taken as names",
                false,
                "if it is data",
            ),
            Self::MovedNames => (
                "the first line holds the numbers that name the model's features, in another order, and was taken as names",
                false,
                "if it is data",
            ),
            Self::KnownNumbers => (
                "the first line holds the numbers that name the model's features, as a row could, and was taken as names",
                false,
                "if it is data",
            ),
            Self::CountingValues => (
                "the first line holds numbers that count up or down, and was taken as values",
                true,
                "if it holds names",
            ),
            Self::TitledValues => (
                "the first line holds numbers that may name columns, and was taken as values",
                true,
                "if it holds names",
            ),
            Self::MissingWords => (
                "the first line holds different words for missing values and was taken as values",
                true,
                "if it holds names",
            ),
            Self::WholeValues => (
                "the first line holds whole numbers over decimals and was taken as values",
                true,
                "if it holds names",
            ),
        };
        let warning =
            Phrase::new(guess).text("; use ").setting(option_names::HEADER, OptionValue::Flag(header));
        Some(warning.text(" ").text(otherwise))
    }
}
