//! The one place that asks for the type of the data.

use karhunen::{Matrix, Observer, Result, Scalar, Source};
use numpy::PyArrayDyn;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::arrays::{LentDense, give_matrix};
use crate::sparse::LentSparse;

/// A type of data that numpy and the engine share.
pub(crate) trait Element: Scalar + numpy::Element {
    /// A matrix of this type, where the type is no longer known.
    fn erase(matrix: Matrix<Self>) -> AnyMatrix;
}

impl Element for f32 {
    fn erase(matrix: Matrix<f32>) -> AnyMatrix {
        AnyMatrix::F32(matrix)
    }
}

impl Element for f64 {
    fn erase(matrix: Matrix<f64>) -> AnyMatrix {
        AnyMatrix::F64(matrix)
    }
}

/// A matrix in the type of the data that it was made from.
pub(crate) enum AnyMatrix {
    F32(Matrix<f32>),
    F64(Matrix<f64>),
}

impl<'py> IntoPyObject<'py> for AnyMatrix {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        match self {
            AnyMatrix::F32(matrix) => give_matrix(py, matrix),
            AnyMatrix::F64(matrix) => give_matrix(py, matrix),
        }
    }
}

/// Work on data of either type.
pub(crate) trait Job: Send + 'static {
    type Output: Send + 'static;
    /// Does the work. `x` is read where Python keeps it.
    fn run<T: Element>(&self, x: &dyn Source<T>, observer: &dyn Observer) -> Result<Self::Output>;
}

/// Data lent by Python: a numpy matrix or a compressed sparse matrix of scipy.
pub(crate) enum Data {
    F32(Lent<f32>),
    F64(Lent<f64>),
}

pub(crate) enum Lent<T> {
    Dense(LentDense<T>),
    Sparse(LentSparse<T>),
}

impl Data {
    /// Multiplications of a product with `width` columns.
    pub(crate) fn product_cost(&self, width: usize) -> f64 {
        self.size().n_stored as f64 * width as f64
    }

    /// Multiplications of a product with its own transpose and of a decomposition of that, which a fit is about.
    pub(crate) fn fit_cost(&self) -> f64 {
        let size = self.size();
        let small = size.shape.0.min(size.shape.1) as f64;
        (size.n_stored as f64 + small * small) * small
    }

    fn size(&self) -> Size {
        match self {
            Data::F32(x) => x.size(),
            Data::F64(x) => x.size(),
        }
    }

    /// Does `job` on the data.
    pub(crate) fn run<J: Job>(&self, job: &J, observer: &dyn Observer) -> Result<J::Output> {
        match self {
            Data::F32(x) => x.run(job, observer),
            Data::F64(x) => x.run(job, observer),
        }
    }
}

struct Size {
    shape: (usize, usize),
    n_stored: usize,
}

impl<T: Element> Lent<T> {
    fn size(&self) -> Size {
        match self {
            Lent::Dense(x) => Size { shape: x.shape(), n_stored: x.shape().0 * x.shape().1 },
            Lent::Sparse(x) => Size { shape: x.shape(), n_stored: x.n_stored() },
        }
    }

    fn run<J: Job>(&self, job: &J, observer: &dyn Observer) -> Result<J::Output> {
        match self {
            Lent::Dense(x) => job.run(&x.view()?, observer),
            Lent::Sparse(x) => x.with_source(|x| job.run(x, observer)),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Data {
    type Error = PyErr;

    fn extract(x: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let x = &*x;
        if let Ok(array) = x.cast::<PyArrayDyn<f64>>() {
            return LentDense::new(array).map(|x| Data::F64(Lent::Dense(x)));
        }
        if let Ok(array) = x.cast::<PyArrayDyn<f32>>() {
            return LentDense::new(array).map(|x| Data::F32(Lent::Dense(x)));
        }
        if x.hasattr("indptr")? {
            let values = x.getattr("data")?;
            if values.cast::<PyArrayDyn<f64>>().is_ok() {
                return LentSparse::new(x).map(|x| Data::F64(Lent::Sparse(x)));
            }
            if values.cast::<PyArrayDyn<f32>>().is_ok() {
                return LentSparse::new(x).map(|x| Data::F32(Lent::Sparse(x)));
            }
        }
        let kind = x.get_type().name()?;
        Err(PyTypeError::new_err(format!(
            "expected a numpy array or scipy matrix of float32 or float64, got {kind}"
        )))
    }
}
