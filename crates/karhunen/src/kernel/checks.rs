//! Data and weights that kernels refuse.

use crate::error::{Error, OptionValue, Result, options};
use crate::kernel::function::Kernel;
use crate::moments::{check_finite, first_entry};
use crate::scalar::Scalar;
use crate::source::{Block, Passes, Source};
use crate::weights::Weights;

/// # Errors
/// [`Error::Option`] if the columns have weights.
pub(super) fn refuse_feature_weights(weights: &Weights<'_>) -> Result<()> {
    if weights.features.is_none() {
        return Ok(());
    }
    let rule = "kernels take no weights of features; multiply the columns by their roots instead";
    Err(Error::option(options::FEATURE_WEIGHTS, OptionValue::Given, rule))
}

/// Returns an error for the first negative value.
pub(super) fn refuse_negative<T: Scalar>(x: &dyn Source<T>, kernel: &'static str) -> Result<()> {
    x.visit(&mut |first, block| refuse_negative_in(&block, first, kernel))
}

/// Refuses a block with values for which the kernel is not defined; `first` is the number of its first row in the
/// source.
///
/// # Errors
/// [`Error::NonFinite`]; [`Error::NegativeValue`].
pub(super) fn check_block<T: Scalar>(block: &Block<'_, T>, first: usize, kernel: &Kernel) -> Result<()> {
    check_finite(block, first, None)?;
    if kernel.refuses_negative() { refuse_negative_in(block, first, kernel.name()) } else { Ok(()) }
}

fn refuse_negative_in<T: Scalar>(block: &Block<'_, T>, first: usize, kernel: &'static str) -> Result<()> {
    match first_entry(block, |_, value| value < 0.0) {
        Some((row, column, value)) => Err(Error::NegativeValue { row: first + row, column, value, kernel }),
        None => Ok(()),
    }
}

/// Refuses sources of one pass, because kernels compare all pairs of rows.
pub(super) fn refuse_one_pass<T: Scalar>(x: &dyn Source<T>, work: &str) -> Result<()> {
    match x.passes() {
        Passes::Once => Err(Error::OnePass {
            work: work.to_owned(),
            way_out: "give data that can be read again, such as a file or an array",
        }),
        Passes::Many => Ok(()),
    }
}
