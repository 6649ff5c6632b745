//! Rows of a part that Python yields in batches, once.

use karhunen::source::{Batch, Block};
use karhunen::{Error, Stream};
use numpy::PyArrayDyn;
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use crate::arrays::{LentDense, LentVector, lend_vector};
use crate::dtype::Element;
use crate::errors::while_reading;
use crate::observer::in_function;

/// An iterator over pairs of a matrix of `T` and its weights or None. A batch is released before the next is asked for.
pub(crate) struct PartStream<T> {
    pub(crate) batches: Py<PyIterator>,
    pub(crate) n_features: usize,
    pub(crate) held: Option<(LentDense<T>, Option<LentVector<f64>>)>,
}

impl<T: Element> PartStream<T> {
    fn step(&mut self) -> PyResult<()> {
        Python::attach(|py| {
            self.held = None;
            let Some(batch) = self.batches.bind(py).clone().next().transpose()? else { return Ok(()) };
            let (rows, weights): (Bound<'_, PyAny>, Option<Bound<'_, PyAny>>) = batch.extract()?;
            let rows = LentDense::new(rows.cast::<PyArrayDyn<T>>()?)?;
            self.held = Some((rows, weights.as_ref().map(lend_vector).transpose()?));
            Ok(())
        })
    }
}

impl<T: Element> Stream<T> for PartStream<T> {
    fn n_features(&self) -> usize {
        self.n_features
    }

    fn next(&mut self) -> karhunen::Result<Option<Batch<'_, T>>> {
        in_function(|| self.step())
            .map_err(|error| Error::Read { row: None, source: Box::new(while_reading("the part", error)) })?;
        let Some((rows, weights)) = &self.held else { return Ok(None) };
        let weights = weights.as_ref().map(LentVector::as_slice);
        Ok(Some(Batch { rows: Block::Dense(rows.view()?), weights }))
    }
}
