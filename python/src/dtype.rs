//! Dispatches on the type of the data; no other module does.

use karhunen::{Error, Observed, Result, Run, Scalar, Source};
use karhunen_io::{Columns, Data as TableData, OwnedBlock};
use numpy::PyArrayDyn;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::arrays::{Fresh, LentDense};
use crate::entries::Stored;
use crate::observer::Effort;
use crate::row_source::RowSource;
use crate::sparse::LentSparse;
use crate::table::{FileTable, SharedData};

/// A scalar type that numpy and the engine share.
pub(crate) trait Element: Scalar + numpy::Element {
    /// Entries of this type.
    fn stored(entries: Observed<Self>) -> Stored;
}

impl Element for f32 {
    fn stored(entries: Observed<Self>) -> Stored {
        Stored::F32(entries)
    }
}

impl Element for f64 {
    fn stored(entries: Observed<Self>) -> Stored {
        Stored::F64(entries)
    }
}

/// Work on data of either type.
pub(crate) trait Job: Send + 'static {
    type Output: Send + 'static;
    /// Does the work. `x` borrows Python's memory.
    fn run<T: Element>(self, x: &dyn Source<T>, run: &Run<'_>) -> Result<Self::Output>;
}

/// A [`Job`] written where it is run: values that it takes, as a closure would, and a body that is generic over the type `T`
/// of the rows.
macro_rules! job {
    ($($name:ident: $kind:ty $(= $value:expr)?,)* |$x:ident, $run:tt| -> $output:ty $body:block) => {{
        struct Work { $($name: $kind),* }
        impl $crate::dtype::Job for Work {
            type Output = $output;
            fn run<T: $crate::dtype::Element>(
                self,
                $x: &dyn ::karhunen::Source<T>,
                $run: &::karhunen::Run<'_>,
            ) -> ::karhunen::Result<$output> {
                let Self { $($name),* } = self;
                $body
            }
        }
        Work { $($name $(: $value)?),* }
    }};
}
pub(crate) use job;

/// Data borrowed from Python: a numpy matrix or a compressed sparse matrix of scipy; or rows that the engine reads
/// itself.
pub(crate) enum Data {
    F32(LentMatrix<f32>),
    F64(LentMatrix<f64>),
    Shared(SharedData),
}

pub(crate) enum LentMatrix<T> {
    Dense(LentDense<T>),
    Sparse(LentSparse<T>),
}

impl Data {
    /// Number of multiplications of a product with `width` columns.
    pub(crate) fn product_cost(&self, width: usize) -> f64 {
        self.cost(width, 8.0)
    }

    /// Number of multiplications of the products of all columns with each other.
    pub(crate) fn scatter_cost(&self) -> f64 {
        self.cost(self.shape().1 / 2 + 1, 16.0)
    }

    /// Number of multiplications of a product with `width` columns. Dense rows fill the caches and registers: `dense` of their
    /// multiplications take as long as one of other products, and every value is read.
    fn cost(&self, width: usize, dense: f64) -> f64 {
        let of_value = if self.is_dense() { (width as f64 / dense).max(1.0) } else { width as f64 };
        self.reading_cost() + self.size().n_stored as f64 * of_value
    }

    fn is_dense(&self) -> bool {
        matches!(self, Data::F32(LentMatrix::Dense(_)) | Data::F64(LentMatrix::Dense(_)))
    }

    /// Number of multiplications that take as long as a visit waits for its rows.
    fn reading_cost(&self) -> f64 {
        match self {
            Data::Shared(rows) if rows.is_read_again() => Effort::LONG,
            Data::F32(_) | Data::F64(_) | Data::Shared(_) => 0.0,
        }
    }

    /// Approximate number of multiplications of a fit: a product with the transpose and its decomposition. Eight of
    /// them for dense rows take as long as one of other products.
    pub(crate) fn fit_cost(&self) -> f64 {
        let size = self.size();
        let small = size.shape.0.min(size.shape.1) as f64;
        let cost = (size.n_stored as f64 + small * small) * small;
        self.reading_cost() + if self.is_dense() { cost / 8.0 } else { cost }
    }

    /// Approximate number of multiplications of a kernel fit, with all rows or with landmarks.
    pub(crate) fn kernel_cost(&self) -> f64 {
        const LANDMARKS: usize = 1000;
        const PASSES: f64 = 20.0;
        let (n, _) = self.shape();
        (self.product_cost(1) + n as f64) * n.min(LANDMARKS) as f64 * PASSES
    }

    /// (n_rows, n_columns).
    pub(crate) fn shape(&self) -> (usize, usize) {
        self.size().shape
    }

    fn size(&self) -> Size {
        match self {
            Data::F32(x) => x.size(),
            Data::F64(x) => x.size(),
            Data::Shared(rows) => {
                let shape = rows.data().shape();
                Size { shape, n_stored: shape.0 * shape.1 }
            }
        }
    }

    /// Runs `look` on rows that are held densely in memory; `None` of others.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&dyn Columns) -> R) -> Result<Option<R>> {
        Ok(match self {
            Data::F32(LentMatrix::Dense(x)) => Some(look(&x.view()?)),
            Data::F64(LentMatrix::Dense(x)) => Some(look(&x.view()?)),
            Data::F32(LentMatrix::Sparse(_)) | Data::F64(LentMatrix::Sparse(_)) => None,
            Data::Shared(rows) => Some(look(rows.data())),
        })
    }

    /// Allocates one row of `width` values, in the type of the data, for every row.
    pub(crate) fn room(&self, py: Python<'_>, width: usize) -> PyResult<Fresh> {
        let shape = (self.size().shape.0, width);
        match self {
            Data::F32(_) => Fresh::zeros::<f32>(py, shape),
            Data::F64(_) => Fresh::zeros::<f64>(py, shape),
            Data::Shared(rows) if rows.data().dtype() == f32::NAME => Fresh::zeros::<f32>(py, shape),
            Data::Shared(_) => Fresh::zeros::<f64>(py, shape),
        }
    }

    /// Runs `job` on the data.
    pub(crate) fn run<J: Job>(&self, job: J, run: &Run<'_>) -> Result<J::Output> {
        match self {
            Data::F32(x) => x.run(job, run),
            Data::F64(x) => x.run(job, run),
            Data::Shared(rows) => {
                let output = match rows.data() {
                    TableData::F32(values) => job.run(&*values.source()?, run),
                    TableData::F64(values) => job.run(&*values.source()?, run),
                };
                // A change of the file explains any other error.
                rows.data()
                    .check_unchanged()
                    .map_err(|error| Error::Read { row: None, source: Box::new(error) })?;
                output
            }
        }
    }
}

struct Size {
    shape: (usize, usize),
    n_stored: usize,
}

impl<T: Element> LentMatrix<T> {
    fn size(&self) -> Size {
        match self {
            LentMatrix::Dense(x) => Size { shape: x.shape(), n_stored: x.shape().0 * x.shape().1 },
            LentMatrix::Sparse(x) => Size { shape: x.shape(), n_stored: x.n_stored() },
        }
    }

    /// A copy of the rows, of CSR rows with sorted indices.
    pub(crate) fn owned<U: Scalar>(&self) -> Result<OwnedBlock<U>> {
        match self {
            LentMatrix::Dense(x) => x.owned(),
            LentMatrix::Sparse(x) => x.owned().map(OwnedBlock::Sparse),
        }
    }

    fn run<J: Job>(&self, job: J, run: &Run<'_>) -> Result<J::Output> {
        match self {
            LentMatrix::Dense(x) => job.run(&x.view()?, run),
            LentMatrix::Sparse(x) => x.with_source(|x| job.run(x, run)),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Data {
    type Error = PyErr;

    fn extract(x: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let x = &*x;
        if let Ok(table) = x.cast::<FileTable>() {
            return Ok(Data::Shared(table.get().share()));
        }
        if let Ok(rows) = x.cast::<RowSource>() {
            return Ok(Data::Shared(rows.get().share()));
        }
        if let Ok(array) = x.cast::<PyArrayDyn<f64>>() {
            return LentDense::new(array).map(|x| Data::F64(LentMatrix::Dense(x)));
        }
        if let Ok(array) = x.cast::<PyArrayDyn<f32>>() {
            return LentDense::new(array).map(|x| Data::F32(LentMatrix::Dense(x)));
        }
        if x.hasattr("indptr")? {
            let values = x.getattr("data")?;
            if values.cast::<PyArrayDyn<f64>>().is_ok() {
                return LentSparse::new(x).map(|x| Data::F64(LentMatrix::Sparse(x)));
            }
            if values.cast::<PyArrayDyn<f32>>().is_ok() {
                return LentSparse::new(x).map(|x| Data::F32(LentMatrix::Sparse(x)));
            }
        }
        let kind = x.get_type().name()?;
        Err(PyTypeError::new_err(format!(
            "expected a numpy array or scipy matrix of float32 or float64, got {kind}"
        )))
    }
}
