//! Data and weights that kernels refuse.

use crate::error::{Error, OptionValue, Result, options};
use crate::kernel::rows::lines;
use crate::scalar::Scalar;
use crate::source::Source;
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
    x.visit(&mut |first, block| {
        let mut line = vec![0.0; block.n_cols()];
        for i in 0..block.n_rows() {
            lines(&block, i..i + 1, &mut line)?;
            if let Some(column) = line.iter().position(|value| *value < 0.0) {
                return Err(Error::NegativeValue { row: first + i, column, value: line[column], kernel });
            }
        }
        Ok(())
    })
}
