//! A GPU: its stream, the handles of its libraries, and its memory.

use std::ffi::c_int;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use cudarc::cublas::CudaBlas;
use cudarc::driver::sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY;
use cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, CudaView, DeviceRepr, DriverError, ValidAsZeroBits,
};
use karhunen::Matrix;

use crate::DeviceError;
use crate::cuda::kernels::Kernels;
use crate::cuda::products;
use crate::cuda::sparse::SparseHandle;
use crate::cuda::upload::Buffer;

pub(super) type Result<T> = std::result::Result<T, DeviceError>;

/// A GPU with the libraries that multiply on it: what `Device` and its matrices share.
#[derive(Debug)]
pub(super) struct Gpu {
    pub(super) name: String,
    pub(super) stream: Arc<CudaStream>,
    pub(super) blas: CudaBlas,
    pub(super) kernels: Kernels,
    pub(super) folders: Vec<PathBuf>,
    pub(super) sparse: OnceLock<SparseHandle>,
    pub(super) buffers: Mutex<Vec<Buffer>>,
}

/// The error for a failure of `call`.
pub(super) fn driver(call: &'static str) -> impl Fn(DriverError) -> DeviceError {
    move |error| DeviceError::Failed { call, status: status_of(error) }
}

fn status_of(error: DriverError) -> String {
    let text = error.error_string().map(|text| text.to_string_lossy().into_owned());
    text.unwrap_or_else(|_| format!("{:?}", error.0))
}

/// A count as the libraries take it.
pub(super) fn count(what: &'static str, n: usize) -> Result<c_int> {
    c_int::try_from(n).map_err(|_| DeviceError::TooLarge { what, found: n })
}

impl Gpu {
    /// Opens the first GPU. The driver and cuBLAS are loaded.
    pub(super) fn open(folders: &[PathBuf]) -> Result<Self> {
        let missing = |error| DeviceError::Missing { status: status_of(error) };
        let context = CudaContext::new(0).map_err(missing)?;
        let name = context.name().map_err(driver("cuDeviceGetName"))?;
        let kernels = Kernels::load(&context)?;
        let stream = context.default_stream();
        let blas = CudaBlas::new(Arc::clone(&stream)).map_err(products::failure("cublasCreate"))?;
        let (folders, buffers) = (folders.to_vec(), Mutex::default());
        Ok(Self { name, stream, blas, kernels, folders, sparse: OnceLock::new(), buffers })
    }

    /// Binds the GPU to this thread. Every public product begins with it.
    pub(super) fn bind(&self) -> Result<()> {
        self.stream.context().bind_to_thread().map_err(driver("cuCtxSetCurrent"))
    }

    /// Bytes of free memory.
    pub(super) fn free(&self) -> Result<f64> {
        let (free, _) = self.stream.context().mem_get_info().map_err(driver("cuMemGetInfo"))?;
        Ok(free as f64)
    }

    /// Refuses work that needs more memory than is free.
    pub(super) fn ask(&self, what: &'static str, needed: f64) -> Result<()> {
        let free = self.free()?;
        if needed > free { Err(DeviceError::Memory { what, needed, free }) } else { Ok(()) }
    }

    fn allocated<T>(
        &self,
        what: &'static str,
        n: usize,
        slice: std::result::Result<CudaSlice<T>, DriverError>,
    ) -> Result<CudaSlice<T>> {
        slice.map_err(|error| match error.0 {
            CUDA_ERROR_OUT_OF_MEMORY => {
                let free = self.free().unwrap_or(0.0);
                DeviceError::Memory { what, needed: (n * size_of::<T>()) as f64, free }
            }
            _ => driver("cuMemAlloc")(error),
        })
    }

    /// `n` zeros; at least one, because the driver allocates no empty memory.
    pub(super) fn zeros<T: DeviceRepr + ValidAsZeroBits>(
        &self,
        what: &'static str,
        n: usize,
    ) -> Result<CudaSlice<T>> {
        self.allocated(what, n, self.stream.alloc_zeros(n.max(1)))
    }

    /// Copies values to the GPU.
    pub(super) fn put<T: DeviceRepr + ValidAsZeroBits>(
        &self,
        what: &'static str,
        values: &[T],
    ) -> Result<CudaSlice<T>> {
        if values.is_empty() {
            return self.zeros(what, 0);
        }
        self.allocated(what, values.len(), self.stream.clone_htod(values))
    }

    /// Copies values to the host.
    pub(super) fn get(&self, values: &CudaSlice<f64>, n: usize) -> Result<Vec<f64>> {
        let mut host = vec![0.0; n];
        if n > 0 {
            self.stream.memcpy_dtoh(&values.slice(..n), &mut host).map_err(driver("cuMemcpyDtoH"))?;
            self.stream.synchronize().map_err(driver("cuStreamSynchronize"))?;
        }
        Ok(host)
    }

    /// Copies bytes to the host.
    pub(super) fn get_bytes(&self, values: &CudaView<'_, u8>) -> Result<Vec<u8>> {
        let mut host = vec![0; values.len()];
        self.stream.memcpy_dtoh(values, &mut host).map_err(driver("cuMemcpyDtoH"))?;
        self.stream.synchronize().map_err(driver("cuStreamSynchronize"))?;
        Ok(host)
    }

    /// Copies a row-major matrix to the host.
    pub(super) fn get_matrix(
        &self,
        values: &CudaSlice<f64>,
        (rows, columns): (usize, usize),
    ) -> karhunen::Result<Matrix> {
        Matrix::from_vec(rows, columns, self.get(values, rows * columns)?)
    }
}
