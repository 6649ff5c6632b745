//! Sparse matrices and their products by cuSPARSE.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr;

use cudarc::cusparse::{result as calls, sys};
use cudarc::driver::{CudaSlice, CudaView, CudaViewMut, DevicePtr as _, DevicePtrMut as _};

use crate::DeviceError;
use crate::cuda::gpu::{Gpu, Result, count, driver};
use crate::cuda::libraries;

/// Compressed lines of a sparse matrix.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) n_lines: usize,
    pub(super) n_indices: usize,
    pub(super) n_stored: usize,
    pub(super) start: CudaSlice<i32>,
    pub(super) index: CudaSlice<i32>,
    pub(super) value: CudaSlice<f64>,
}

/// The handle of cuSPARSE.
#[derive(Debug)]
pub(super) struct SparseHandle(sys::cusparseHandle_t);

// SAFETY: NVIDIA documents handles as usable from any thread; `DeviceMatrix` locks its work, and handles are
// not moved between contexts.
unsafe impl Send for SparseHandle {}
// SAFETY: as above.
unsafe impl Sync for SparseHandle {}

impl Drop for SparseHandle {
    fn drop(&mut self) {
        // SAFETY: the handle was created by `calls::create` and is destroyed once. Nothing can be done on
        // failure.
        let _ = unsafe { calls::destroy(self.0) };
    }
}

/// The matrices of a product, as cuSPARSE describes them.
struct Descriptors {
    a: sys::cusparseSpMatDescr_t,
    b: sys::cusparseDnMatDescr_t,
    c: sys::cusparseDnMatDescr_t,
}

impl Default for Descriptors {
    fn default() -> Self {
        Self { a: ptr::null_mut(), b: ptr::null_mut(), c: ptr::null_mut() }
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        // SAFETY: a descriptor that is not null was created and is destroyed once. Nothing can be done on
        // failure.
        unsafe {
            if !self.a.is_null() {
                let _ = sys::cusparseDestroySpMat(self.a.cast_const());
            }
            for descriptor in [self.b, self.c] {
                if !descriptor.is_null() {
                    let _ = sys::cusparseDestroyDnMat(descriptor.cast_const());
                }
            }
        }
    }
}

fn failure(call: &'static str) -> impl Fn(calls::CusparseError) -> DeviceError {
    move |error| DeviceError::Failed { call, status: format!("{:?}", error.0) }
}

impl Gpu {
    fn sparse_handle(&self) -> Result<sys::cusparseHandle_t> {
        if let Some(handle) = self.sparse.get() {
            return Ok(handle.0);
        }
        libraries::load_sparse(&self.folders)?;
        let handle = SparseHandle(calls::create().map_err(failure("cusparseCreate"))?);
        // SAFETY: both are valid; the stream outlives the handle, which `Gpu` holds with it.
        let status = unsafe { sys::cusparseSetStream(handle.0, self.stream.cu_stream() as _) };
        status.result().map_err(failure("cusparseSetStream"))?;
        Ok(self.sparse.get_or_init(|| handle).0)
    }

    /// The same matrix, compressed along the other axis.
    pub(super) fn transposed(&self, x: &Lines) -> Result<Lines> {
        let what = "the sparse matrix by columns";
        let handle = self.sparse_handle()?;
        let mut start = self.zeros::<i32>(what, x.n_indices + 1)?;
        let mut index = self.zeros::<i32>(what, x.n_stored)?;
        let mut value = self.zeros::<f64>(what, x.n_stored)?;
        let (m, n) = (count("rows or columns", x.n_lines)?, count("rows or columns", x.n_indices)?);
        let stored = count("stored entries", x.n_stored)?;
        if stored > 0 {
            let (values, _a) = x.value.device_ptr(&self.stream);
            let (starts, _b) = x.start.device_ptr(&self.stream);
            let (indices, _c) = x.index.device_ptr(&self.stream);
            let (new_values, _d) = value.device_ptr_mut(&self.stream);
            let (new_starts, _e) = start.device_ptr_mut(&self.stream);
            let (new_indices, _f) = index.device_ptr_mut(&self.stream);
            let mut bytes = 0;
            // SAFETY: the arrays have the lengths that the shape and the number of entries ask for.
            let status = unsafe {
                sys::cusparseCsr2cscEx2_bufferSize(
                    handle,
                    m,
                    n,
                    stored,
                    values as *const c_void,
                    starts as *const c_int,
                    indices as *const c_int,
                    new_values as *mut c_void,
                    new_starts as *mut c_int,
                    new_indices as *mut c_int,
                    sys::cudaDataType_t::CUDA_R_64F,
                    sys::cusparseAction_t::CUSPARSE_ACTION_NUMERIC,
                    sys::cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO,
                    sys::cusparseCsr2CscAlg_t::CUSPARSE_CSR2CSC_ALG1,
                    &raw mut bytes,
                )
            };
            status.result().map_err(failure("cusparseCsr2cscEx2_bufferSize"))?;
            let mut buffer = self.zeros::<u8>(what, bytes)?;
            let (buffer, _g) = buffer.device_ptr_mut(&self.stream);
            // SAFETY: as above, with the buffer that was asked for.
            let status = unsafe {
                sys::cusparseCsr2cscEx2(
                    handle,
                    m,
                    n,
                    stored,
                    values as *const c_void,
                    starts as *const c_int,
                    indices as *const c_int,
                    new_values as *mut c_void,
                    new_starts as *mut c_int,
                    new_indices as *mut c_int,
                    sys::cudaDataType_t::CUDA_R_64F,
                    sys::cusparseAction_t::CUSPARSE_ACTION_NUMERIC,
                    sys::cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO,
                    sys::cusparseCsr2CscAlg_t::CUSPARSE_CSR2CSC_ALG1,
                    buffer as *mut c_void,
                )
            };
            status.result().map_err(failure("cusparseCsr2cscEx2"))?;
        }
        let (n_lines, n_indices, n_stored) = (x.n_indices, x.n_lines, x.n_stored);
        Ok(Lines { n_lines, n_indices, n_stored, start, index, value })
    }

    /// `C = A B + beta C`: `a` sparse, shape (m, k), `b` of shape (k, l) and `c` of shape (m, l) row-major.
    pub(super) fn multiply_sparse(
        &self,
        a: &Lines,
        b: &CudaView<'_, f64>,
        l: usize,
        beta: f64,
        c: &mut CudaViewMut<'_, f64>,
    ) -> Result<()> {
        if a.n_stored == 0 {
            // cuSPARSE takes no matrix without entries.
            return if beta == 0.0 {
                self.stream.memset_zeros(c).map_err(driver("cuMemset"))
            } else {
                Ok(())
            };
        }
        let handle = self.sparse_handle()?;
        let (f64_type, i32_type) =
            (sys::cudaDataType_t::CUDA_R_64F, sys::cusparseIndexType_t::CUSPARSE_INDEX_32I);
        let row_major = sys::cusparseOrder_t::CUSPARSE_ORDER_ROW;
        let plain = sys::cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE;
        // The algorithm whose result has the same bits in every run.
        let algorithm = sys::cusparseSpMMAlg_t::CUSPARSE_SPMM_CSR_ALG3;
        let (start, _a) = a.start.device_ptr(&self.stream);
        let (index, _b) = a.index.device_ptr(&self.stream);
        let (value, _c) = a.value.device_ptr(&self.stream);
        let (b, _d) = b.device_ptr(&self.stream);
        let (c, _e) = c.device_ptr_mut(&self.stream);
        let alpha = 1.0f64;
        let mut matrices = Descriptors::default();
        // SAFETY: the arrays have the lengths of the shapes; descriptors are destroyed when `matrices` is
        // dropped.
        unsafe {
            sys::cusparseCreateCsr(
                &raw mut matrices.a,
                a.n_lines as i64,
                a.n_indices as i64,
                a.n_stored as i64,
                start as *mut c_void,
                index as *mut c_void,
                value as *mut c_void,
                i32_type,
                i32_type,
                sys::cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO,
                f64_type,
            )
            .result()
            .map_err(failure("cusparseCreateCsr"))?;
            for (descriptor, rows, values) in
                [(&raw mut matrices.b, a.n_indices, b), (&raw mut matrices.c, a.n_lines, c)]
            {
                let (rows, l) = (rows as i64, l as i64);
                sys::cusparseCreateDnMat(descriptor, rows, l, l, values as *mut c_void, f64_type, row_major)
                    .result()
                    .map_err(failure("cusparseCreateDnMat"))?;
            }
            let (alpha, beta) = ((&raw const alpha).cast(), (&raw const beta).cast());
            let Descriptors { a, b, c } = &matrices;
            let (a, b, c) = (*a, *b, *c);
            let mut bytes = 0;
            sys::cusparseSpMM_bufferSize(
                handle,
                plain,
                plain,
                alpha,
                a.cast_const(),
                b.cast_const(),
                beta,
                c,
                f64_type,
                algorithm,
                &raw mut bytes,
            )
            .result()
            .map_err(failure("cusparseSpMM_bufferSize"))?;
            let mut buffer = self.zeros::<u8>("a product of the sparse matrix", bytes)?;
            let (buffer, _f) = buffer.device_ptr_mut(&self.stream);
            sys::cusparseSpMM(
                handle,
                plain,
                plain,
                alpha,
                a.cast_const(),
                b.cast_const(),
                beta,
                c,
                f64_type,
                algorithm,
                buffer as *mut c_void,
            )
            .result()
            .map_err(failure("cusparseSpMM"))
        }
    }
}
