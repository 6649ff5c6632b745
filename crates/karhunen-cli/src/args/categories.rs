//! The arguments about categories.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use karhunen::categorical::Analysis;

use crate::args::given::Given;
use crate::error::{Failure, Result};

/// The options of MCA and FAMD.
#[derive(Debug, Args)]
#[command(next_help_heading = "Categories")]
pub(crate) struct CategoryArgs {
    /// Multiple correspondence analysis: all columns hold categories, integers too
    ///
    /// Weights are numbers of respondents; use --weighting for others, such as survey weights. Texts are sorted,
    /// dictionaries of Parquet and Arrow keep their order, and rows whose value is missing have the category "missing".
    /// Values agree with FactoMineR
    #[arg(long, conflicts_with_all = ["famd", "kernel", "missing", "from_moments", "from_covariance"])]
    pub(crate) mca: bool,
    /// Factor analysis of mixed data: columns whose values are all numbers hold numbers, others categories
    #[arg(long, conflicts_with_all = ["kernel", "missing", "from_moments", "from_covariance"])]
    pub(crate) famd: bool,
    /// Write shares, coordinates, contributions, squared cosines and v-tests of the categories here
    ///
    /// CSV, TSV or Parquet by extension
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) categories: Option<PathBuf>,
}

impl CategoryArgs {
    /// The analysis, if one was asked for.
    pub(crate) fn analysis(&self) -> Option<Analysis> {
        match (self.mca, self.famd) {
            (true, _) => Some(Analysis::Mca),
            (_, true) => Some(Analysis::Famd),
            _ => None,
        }
    }
}

/// Refuses options that require an analysis of categories.
///
/// # Errors
/// [`Failure::Usage`].
pub(crate) fn check_unused(given: &Given) -> Result<()> {
    match given.first_of::<CategoryArgs>(&[]) {
        None => Ok(()),
        Some(option) => Err(Failure::Usage(format!(
            "{option} has no effect without --mca or --famd; say which, or leave it out"
        ))),
    }
}
