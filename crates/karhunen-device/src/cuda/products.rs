//! Products of dense matrices by cuBLAS.
#![allow(unsafe_code)]

use cudarc::cublas::result::{self as calls, CublasError};
use cudarc::cublas::sys::{self, cublasFillMode_t, cublasOperation_t};
use cudarc::driver::{CudaSlice, CudaView, CudaViewMut, DevicePtr as _, DevicePtrMut as _};
use karhunen::Matrix;

use crate::DeviceError;
use crate::cuda::gpu::{Gpu, Result, count};

/// The error for a failure of `call`.
pub(super) fn failure(call: &'static str) -> impl Fn(CublasError) -> DeviceError {
    move |error| DeviceError::Failed { call, status: format!("{:?}", error.0) }
}

impl Gpu {
    /// `C = A B + beta C` of row-major matrices: `a` of shape (m, k), transposed if `a_t` (stored (k, m)),
    /// `b` of shape (k, n).
    pub(super) fn multiply(
        &self,
        (m, k, n): (usize, usize, usize),
        (a, a_t): (&CudaView<'_, f64>, bool),
        b: &CudaView<'_, f64>,
        beta: f64,
        c: &mut CudaViewMut<'_, f64>,
    ) -> Result<()> {
        // Column-major, as cuBLAS has it: C' = B' A'.
        let (what, alpha) = ("rows or columns", 1.0f64);
        let (op, lda) = if a_t {
            (cublasOperation_t::CUBLAS_OP_T, count(what, m)?)
        } else {
            (cublasOperation_t::CUBLAS_OP_N, count(what, k)?)
        };
        let (rows, columns, inner) = (count(what, n)?, count(what, m)?, count(what, k)?);
        let (a, _a) = a.device_ptr(&self.stream);
        let (b, _b) = b.device_ptr(&self.stream);
        let (c, _c) = c.device_ptr_mut(&self.stream);
        // SAFETY: shapes and leading dimensions match the arguments, which the callers allocate by
        // them.
        unsafe {
            calls::dgemm(
                *self.blas.handle(),
                cublasOperation_t::CUBLAS_OP_N,
                op,
                rows,
                columns,
                inner,
                &raw const alpha,
                b as *const f64,
                rows,
                a as *const f64,
                lda,
                &raw const beta,
                c as *mut f64,
                rows,
            )
        }
        .map_err(failure("cublasDgemm"))
    }

    /// Adds `P'P`, shape (width, width), of the row-major panel `P`, shape (rows, width), or `P P'`, shape
    /// (rows, rows), if `of_rows`, to `c`, of which the upper triangle (row-major) is computed.
    pub(super) fn add_square(
        &self,
        panel: &CudaSlice<f64>,
        (rows, width): (usize, usize),
        of_rows: bool,
        c: &mut CudaSlice<f64>,
    ) -> Result<()> {
        let (what, one) = ("rows or columns", 1.0f64);
        let (r, w) = (count(what, rows)?, count(what, width)?);
        let (op, dim, inner) = if of_rows {
            (cublasOperation_t::CUBLAS_OP_T, r, w)
        } else {
            (cublasOperation_t::CUBLAS_OP_N, w, r)
        };
        let (a, _a) = panel.device_ptr(&self.stream);
        let (c, _c) = c.device_ptr_mut(&self.stream);
        // SAFETY: the panel is column-major of shape (width, rows) with the leading dimension width; c has
        // dim^2 values.
        let status = unsafe {
            sys::cublasDsyrk_v2(
                *self.blas.handle(),
                cublasFillMode_t::CUBLAS_FILL_MODE_LOWER,
                op,
                dim,
                inner,
                &raw const one,
                a as *const f64,
                w,
                &raw const one,
                c as *mut f64,
                dim,
            )
        };
        status.result().map_err(failure("cublasDsyrk"))
    }

    /// The sums `x' a` over the rows of `x`, shape (n, l), row-major.
    pub(super) fn row_sums(
        &self,
        x: &CudaSlice<f64>,
        (n, l): (usize, usize),
        a: &CudaSlice<f64>,
    ) -> Result<CudaSlice<f64>> {
        let mut out = self.zeros("sums of products", l)?;
        self.multiply((1, n, l), (&a.slice(..n), false), &x.slice(..n * l), 0.0, &mut out.slice_mut(..l))?;
        Ok(out)
    }
}

/// The symmetric matrix whose upper triangle is in the memory of the GPU.
pub(super) fn symmetric(gpu: &Gpu, upper: &CudaSlice<f64>, dim: usize) -> karhunen::Result<Matrix> {
    /// Columns and rows of a tile that stays in a cache.
    const TILE: usize = 64;
    let mut square = gpu.get_matrix(upper, (dim, dim))?;
    let values = square.as_mut_slice();
    for top in (0..dim).step_by(TILE) {
        for left in (0..=top).step_by(TILE) {
            for i in top..dim.min(top + TILE) {
                for j in left..i.min(left + TILE) {
                    values[i * dim + j] = values[j * dim + i];
                }
            }
        }
    }
    Ok(square)
}
