//! Meanings of weights.

use karhunen::Weighting;
use pyo3::prelude::*;

use crate::arrays::lend_vector;
use crate::diagnostics::named;
use crate::errors::said;

/// The note on weights of this meaning, if there is one.
#[pyfunction]
pub(crate) fn note_of_weights(weighting: &str, weights: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let meaning: Weighting = named("weighting", weighting)?;
    let weights = lend_vector::<f64>(weights)?;
    Ok(meaning.note(weights.as_slice()).as_ref().map(said))
}
