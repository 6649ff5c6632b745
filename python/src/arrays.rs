//! numpy arrays: inputs are borrowed, outputs are moved to numpy.

use karhunen::{Dense, Matrix, Scalar, matrix};
use karhunen_io::OwnedBlock;
use numpy::ndarray::ArrayViewD;
use numpy::{PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::dtype::Element;
use crate::errors::to_python;
use crate::observer::{Effort, run};

/// The memory of a numpy array, kept alive by a reference to the array and readable from any thread.
pub(crate) struct LentVector<T> {
    start: *const T,
    len: usize,
    /// Released by the last reader, on any thread.
    _owner: Py<PyAny>,
}

// SAFETY: the values are only read, and `_owner` keeps them in place; a `Py` may be dropped on any thread.
#[allow(unsafe_code)]
unsafe impl<T: Sync> Send for LentVector<T> {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl<T: Sync> Sync for LentVector<T> {}

impl<T> LentVector<T> {
    /// All values of the span, including those skipped by strides.
    #[allow(unsafe_code)]
    pub(crate) fn as_slice(&self) -> &[T] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: `layout` checked that the span is aligned and consists of whole values, and numpy that its
        // memory belongs to one buffer, which `_owner` holds. As with every numpy function that releases the
        // interpreter lock, the caller must not write to the array meanwhile.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

/// Positions of the entries of an array in its memory. Strides and offset count values.
struct Layout {
    strides: Vec<isize>,
    offset: usize,
    len: usize,
}

/// An array of whole, aligned values: the array itself, or a copy of values that start at any byte, as they may in memory that
/// came from another process.
fn aligned<'py, T: numpy::Element>(array: &Bound<'py, PyArrayDyn<T>>) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let size = size_of::<T>() as isize;
    if array.is_aligned() && array.strides().iter().all(|stride| stride % size == 0) {
        return Ok(array.clone());
    }
    Ok(array.call_method0("copy")?.cast_into()?)
}

/// The layout of an array of whole, aligned values.
fn layout<T: numpy::Element>(array: &Bound<'_, PyArrayDyn<T>>) -> Layout {
    let size = size_of::<T>() as isize;
    let strides: Vec<isize> = array.strides().iter().map(|stride| stride / size).collect();
    if array.is_empty() {
        return Layout { strides, offset: 0, len: 0 };
    }
    // The stride of an axis with one entry is arbitrary.
    let reach = array.shape().iter().zip(&strides).map(|(n, stride)| (*n as isize - 1) * stride);
    let (before, after) =
        reach.fold((0, 0), |(before, after), reach| (before + reach.min(0), after + reach.max(0)));
    Layout { strides, offset: -before as usize, len: (after - before) as usize + 1 }
}

fn lend<T: numpy::Element>(array: &Bound<'_, PyArrayDyn<T>>, layout: &Layout) -> LentVector<T> {
    let start = array.data().cast_const().wrapping_sub(layout.offset);
    LentVector { start, len: layout.len, _owner: array.clone().into_any().unbind() }
}

/// A matrix in numpy's memory, in any order and with any strides.
pub(crate) struct LentDense<T> {
    values: LentVector<T>,
    shape: (usize, usize),
    strides: (isize, isize),
    offset: usize,
}

impl<T: Element> LentDense<T> {
    /// Borrows a two-dimensional array.
    pub(crate) fn new(array: &Bound<'_, PyArrayDyn<T>>) -> PyResult<Self> {
        let &[n_rows, n_cols] = array.shape() else {
            return Err(PyValueError::new_err(format!("expected a matrix, got {} axes", array.ndim())));
        };
        let array = &aligned(array)?;
        let layout = layout(array);
        Ok(Self {
            values: lend(array, &layout),
            shape: (n_rows, n_cols),
            strides: (layout.strides[0], layout.strides[1]),
            offset: layout.offset,
        })
    }

    pub(crate) fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// A copy of the rows.
    pub(crate) fn owned<U: Scalar>(&self) -> karhunen::Result<OwnedBlock<U>> {
        let x = self.view()?;
        let ((n_rows, n_cols), column_major) =
            (self.shape, self.strides.0.unsigned_abs() == 1 && self.strides.1 != 1);
        let convert = |value: T| U::from_f64(value.to_f64());
        let mut values = Vec::with_capacity(n_rows * n_cols);
        if column_major {
            values.extend((0..n_cols).flat_map(|j| (0..n_rows).map(move |i| convert(x.get(i, j)))));
        } else {
            for i in 0..n_rows {
                match x.contiguous_row(i) {
                    Some(row) => values.extend(row.iter().map(|&value| convert(value))),
                    None => values.extend((0..n_cols).map(|j| convert(x.get(i, j)))),
                }
            }
        }
        Ok(OwnedBlock::Dense { values, n_rows, column_major })
    }

    pub(crate) fn view(&self) -> karhunen::Result<Dense<'_, T>> {
        Dense::strided(self.values.as_slice(), self.shape, self.strides, self.offset)
    }
}

/// Borrows a contiguous one-dimensional array.
pub(crate) fn lend_vector<T: numpy::Element>(array: &Bound<'_, PyAny>) -> PyResult<LentVector<T>> {
    let array = array.cast::<PyArrayDyn<T>>()?;
    if array.ndim() != 1 || !array.is_c_contiguous() {
        return Err(PyValueError::new_err("expected a contiguous array of one axis"));
    }
    let array = &aligned(array)?;
    Ok(lend(array, &layout(array)))
}

/// A matrix of zeros allocated by numpy, which requests large pages unlike `Vec`, to be filled on any thread
/// before Python sees it.
pub(crate) struct Fresh {
    array: Py<PyAny>,
    start: *mut u8,
    len: usize,
    dtype: &'static str,
}

// SAFETY: no other code has the array until `into_array`; a `Py` may be dropped on any thread.
#[allow(unsafe_code)]
unsafe impl Send for Fresh {}

impl Fresh {
    /// Allocates zeros of type `T`.
    ///
    /// # Errors
    /// Python's `MemoryError`.
    pub(crate) fn zeros<T: Element>(py: Python<'_>, shape: (usize, usize)) -> PyResult<Self> {
        let array = py.import("numpy")?.call_method1("zeros", (shape, numpy::dtype::<T>(py)))?;
        let typed = array.cast::<PyArray2<T>>()?;
        let (start, len) = (typed.data().cast(), typed.len());
        Ok(Self { array: array.unbind(), start, len, dtype: T::NAME })
    }

    /// The values in row-major order.
    ///
    /// # Panics
    /// If the values are not of type `T`.
    #[allow(unsafe_code)]
    pub(crate) fn values<T: Element>(&mut self) -> &mut [T] {
        assert_eq!(self.dtype, T::NAME);
        if self.len == 0 {
            return &mut [];
        }
        // SAFETY: numpy made the array of `len` contiguous, aligned values of type `T`; no other code has it.
        unsafe { std::slice::from_raw_parts_mut(self.start.cast(), self.len) }
    }

    /// The array.
    pub(crate) fn into_array(self) -> Py<PyAny> {
        self.array
    }
}

/// Values rounded to float32, of a contiguous array of one axis; `None` if the largest is outside the range of float32.
#[pyfunction]
#[pyo3(signature = (values, n_threads=None))]
pub(crate) fn round_to_single<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    n_threads: Option<usize>,
) -> PyResult<Option<Bound<'py, PyArray1<f32>>>> {
    let values = lend_vector::<f64>(values)?;
    let effort = Effort::new(values.len as f64, n_threads);
    let rounded = run(py, effort, None, move |run| matrix::round_to_single(values.as_slice(), run))?;
    Ok(rounded.map(|rounded| PyArray1::from_vec(py, rounded)))
}

/// Moves a matrix to numpy.
pub(crate) fn give_matrix<T: Element>(py: Python<'_>, matrix: Matrix<T>) -> PyResult<Bound<'_, PyAny>> {
    let shape = [matrix.n_rows(), matrix.n_cols()];
    Ok(PyArray1::from_vec(py, matrix.into_vec()).reshape(shape)?.into_any())
}

/// A read-only array that borrows from `owner`.
///
/// # Safety
/// `values` must stay in place and unchanged while `owner` exists.
#[allow(unsafe_code)]
pub(crate) unsafe fn show_array<'py, T: numpy::Element>(
    shape: &[usize],
    values: &[T],
    owner: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let view =
        ArrayViewD::from_shape(shape, values).map_err(|error| PyValueError::new_err(error.to_string()))?;
    // SAFETY: guaranteed by the caller; the array is read-only.
    let array = unsafe { PyArrayDyn::borrow_from_array(&view, owner.clone()) };
    array.readwrite().make_nonwriteable();
    Ok(array.into_any())
}

/// A view of a matrix, as [`show_array`].
///
/// # Safety
/// As [`show_array`].
#[allow(unsafe_code)]
pub(crate) unsafe fn show_matrix<'py>(
    matrix: &Matrix,
    owner: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: guaranteed by the caller.
    unsafe { show_array(&[matrix.n_rows(), matrix.n_cols()], matrix.as_slice(), owner) }
}

/// A copy of a vector of numbers.
pub(crate) fn copy_vector(array: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    Ok(lend_vector::<f64>(array)?.as_slice().to_vec())
}

/// A copy of a matrix of numbers.
pub(crate) fn copy_matrix(array: &Bound<'_, PyAny>) -> PyResult<Matrix> {
    let lent = LentDense::<f64>::new(array.cast()?)?;
    let view = lent.view().map_err(to_python)?;
    Ok(Matrix::from_fn(view.n_rows(), view.n_cols(), |i, j| view.get(i, j)))
}
