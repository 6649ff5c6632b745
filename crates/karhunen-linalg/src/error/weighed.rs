//! The kinds of weights that errors name.

use crate::error::option::{OptionName, options};

/// Kind of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighed {
    /// Weights of rows.
    Samples,
    /// Weights of columns.
    Features,
    /// Weights of entries.
    Entries,
}

impl Weighed {
    /// Returns the option that sets the weights.
    pub fn option(self) -> OptionName {
        match self {
            Self::Samples => options::SAMPLE_WEIGHTS,
            Self::Features => options::FEATURE_WEIGHTS,
            Self::Entries => options::ENTRY_WEIGHTS,
        }
    }

    /// Returns the name of one weight, such as `sample weight`.
    pub fn singular(self) -> &'static str {
        match self {
            Self::Samples => "sample weight",
            Self::Features => "feature weight",
            Self::Entries => "entry weight",
        }
    }

    /// Returns the name of the object that has a weight: `row`, `column` or `entry`.
    pub fn line(self) -> &'static str {
        match self {
            Self::Samples => "row",
            Self::Features => "column",
            Self::Entries => "entry",
        }
    }
}
