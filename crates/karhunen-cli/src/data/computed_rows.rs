//! Rows that are computed from a table that stays in its file, while they are written.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use karhunen::pca::Transform;
use karhunen::source::Block;
use karhunen::{Matrix, PcaModel, Run, Scalar, Source};
use karhunen_io::{NamedMatrix, RowWriter, RowsToWrite};

use crate::error::{Failure, Result};
use crate::files::outputs::Outputs;
use crate::selection::chosen::Chosen;

/// Receives blocks of computed rows, in order.
type Receive<'f, U> = dyn FnMut(&Matrix<U>) -> karhunen::Result<()> + Send + 'f;
/// Computes all rows, a block at a time.
type Compute<'a, U> = dyn Fn(&mut Receive<'_, U>) -> karhunen::Result<()> + Sync + 'a;

/// Rows of a source, a block at a time.
pub(crate) struct ComputedRows<'a, U> {
    shape: (usize, usize),
    compute: Box<Compute<'a, U>>,
    /// The error that ended the computation.
    failure: Mutex<Option<karhunen::Error>>,
}

impl<'a, U: Scalar> ComputedRows<'a, U> {
    /// Rows of this shape that `map` returns for a block of rows of `source`.
    pub(crate) fn of_blocks<T: Scalar>(
        source: &'a dyn Source<T>,
        n_cols: usize,
        map: impl Fn(&dyn Source<T>) -> karhunen::Result<Matrix<U>> + Sync + 'a,
    ) -> Self {
        let compute = move |receive: &mut Receive<'_, U>| {
            source.visit(&mut |first, block| {
                let rows = match &block {
                    Block::Dense(rows) => map(rows),
                    Block::Sparse(rows) => map(rows),
                };
                receive(&rows.map_err(|error| error.of_rows_from(first))?)
            })
        };
        Self::new((source.shape().0, n_cols), compute)
    }

    fn new(
        shape: (usize, usize),
        compute: impl Fn(&mut Receive<'_, U>) -> karhunen::Result<()> + Sync + 'a,
    ) -> Self {
        Self { shape, compute: Box::new(compute), failure: Mutex::new(None) }
    }

    /// Computes and writes the rows. `explain` translates errors of the computation.
    ///
    /// # Errors
    /// Errors of the model, of the source and of [`Outputs::table`].
    pub(crate) fn write_to(
        self,
        outputs: &mut Outputs,
        path: &Path,
        (row_header, row_names): (&str, Option<&[String]>),
        column_names: &[String],
        explain: impl Fn(karhunen::Error) -> Failure,
    ) -> Result<()> {
        let table = NamedMatrix {
            matrix: &self,
            row_names,
            row_header,
            labels: &[],
            column_names,
            numeric_ids: false,
        };
        let written = outputs.table(path, &table);
        match (written, self.failure.into_inner().unwrap_or_else(PoisonError::into_inner)) {
            (Err(_), Some(error)) => Err(explain(error)),
            (written, _) => written,
        }
    }
}

impl<'a, T: Scalar> ComputedRows<'a, T> {
    /// The scores of rows under a model of complete data.
    pub(crate) fn scores(
        model: &'a PcaModel,
        source: &'a dyn Source<T>,
        how: Transform,
        run: &'a Run<'a>,
    ) -> Self {
        let shape = (source.shape().0, model.n_components());
        Self::new(shape, move |receive| {
            model.transform_each(source, how, run, &mut |_, scores| receive(scores))
        })
    }

    /// Rows from their scores under a model of complete data.
    pub(crate) fn reconstructed(
        model: &'a PcaModel,
        source: &'a dyn Source<T>,
        (how, chosen): (Transform, &'a Chosen),
        run: &'a Run<'a>,
    ) -> Self {
        let shape = (source.shape().0, model.n_features());
        Self::new(shape, move |receive| {
            model.transform_each(source, how, run, &mut |_, scores| {
                receive(&model.inverse_transform_with(&chosen.of_scores(scores), how, run)?)
            })
        })
    }
}

impl<U: Scalar> RowsToWrite<U> for ComputedRows<'_, U> {
    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    fn each(&self, f: &mut RowWriter<'_, U>) -> std::io::Result<()> {
        let mut written = Ok(());
        let computed = (self.compute)(&mut |rows| {
            written = f(rows);
            // Ends the visit; the error of the writer is returned below.
            if written.is_ok() { Ok(()) } else { Err(karhunen::Error::Stopped { phase: "writing" }) }
        });
        written?;
        computed.map_err(|error| {
            let message = error.to_string();
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            std::io::Error::other(message)
        })
    }
}
