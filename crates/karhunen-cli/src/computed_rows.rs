//! Scores and reconstructed rows of a table that stays in its file, computed while they are written.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use karhunen::pca::Transform;
use karhunen::{Matrix, PcaModel, Run, Scalar, Source};
use karhunen_io::{NamedMatrix, RowWriter, RowsToWrite};

use crate::error::{Failure, Result};
use crate::outputs::Outputs;

/// The rows that are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Computed {
    /// Scores.
    Scores,
    /// Rows from their scores.
    Rows,
}

/// Scores or rows of a source, a block at a time.
pub(crate) struct ComputedRows<'a, T> {
    what: Computed,
    model: &'a PcaModel,
    source: &'a dyn Source<T>,
    how: Transform,
    run: &'a Run<'a>,
    /// The error that ended the computation.
    failure: Mutex<Option<karhunen::Error>>,
}

impl<'a, T: Scalar> ComputedRows<'a, T> {
    pub(crate) fn new(
        what: Computed,
        model: &'a PcaModel,
        source: &'a dyn Source<T>,
        how: Transform,
        run: &'a Run<'a>,
    ) -> Self {
        Self { what, model, source, how, run, failure: Mutex::new(None) }
    }

    /// Computes and writes the rows. `explain` translates errors of the computation.
    ///
    /// # Errors
    /// Those of the model and of the source; those of [`Outputs::table`].
    pub(crate) fn write_to(
        self,
        outputs: &mut Outputs,
        path: &Path,
        row_names: Option<&[String]>,
        column_names: &[String],
        explain: impl Fn(karhunen::Error) -> Failure,
    ) -> Result<()> {
        let table = NamedMatrix {
            matrix: &self,
            row_names,
            row_header: "sample",
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

    fn write(&self, scores: &Matrix<T>, f: &mut RowWriter<'_, T>) -> karhunen::Result<std::io::Result<()>> {
        match self.what {
            Computed::Scores => Ok(f(scores)),
            Computed::Rows => Ok(f(&self.model.inverse_transform_with(scores, self.how, self.run)?)),
        }
    }
}

impl<T: Scalar> RowsToWrite<T> for ComputedRows<'_, T> {
    fn shape(&self) -> (usize, usize) {
        let n_rows = self.source.shape().0;
        match self.what {
            Computed::Scores => (n_rows, self.model.n_components()),
            Computed::Rows => (n_rows, self.model.n_features()),
        }
    }

    fn each(&self, f: &mut RowWriter<'_, T>) -> std::io::Result<()> {
        let mut written = Ok(());
        let computed = self.model.transform_each(self.source, self.how, self.run, &mut |_, scores| {
            written = self.write(scores, f)?;
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
