//! Data on a GPU as a linear operator.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use karhunen::exec::Exec;
use karhunen::moments::Moments;
use karhunen::source::Block;
use karhunen::{Error, LinOp, Matrix, Profile, Result, Scalar, Side, Source, Standard};

use crate::cuda::dense::DenseRows;
use crate::cuda::gpu::Gpu;
use crate::cuda::sparse_rows::SparseRows;
use crate::cuda::standard::By;
use crate::cuda::upload::Upload;

/// Most columns of dense data whose covariance matrix is formed: an iteration converts every value of the
/// data several times, and multiplies so few vectors that it gains nothing below.
const SQUARES_UP_TO: usize = 5_000;

/// A matrix in the memory of a GPU, made by [`crate::Device::copy`].
///
/// All products are computed in f64 and have the same bits for every number of threads of the host, on the
/// same GPU with the same libraries. Memory in addition to the data: a panel of 256 MB, or of one row or column that
/// has more (dense data and covariance matrices), and the matrices of a product, with 8 bytes for each of
/// (n_samples + 2 n_features) l values.
#[derive(Debug)]
pub struct DeviceMatrix {
    gpu: Arc<Gpu>,
    shape: (usize, usize),
    dtype: &'static str,
    is_sparse: bool,
    rows: Mutex<Rows>,
}

impl Drop for DeviceMatrix {
    /// Binds the GPU to this thread, which frees the memory.
    fn drop(&mut self) {
        self.gpu.bind().ok();
    }
}

#[derive(Debug)]
enum Rows {
    Dense(DenseRows),
    Sparse(SparseRows),
}

impl DeviceMatrix {
    pub(super) fn copy_of<T: Scalar>(gpu: Arc<Gpu>, x: &dyn Source<T>) -> Result<Self> {
        gpu.bind()?;
        let (shape, dtype, is_sparse) = (x.shape(), T::NAME, x.is_sparse());
        let (n_samples, n_features) = shape;
        if n_samples == 0 || n_features == 0 {
            return Err(Error::Empty { n_samples, n_features });
        }
        let rows = if is_sparse {
            let mut rows = SparseRows::new(shape);
            x.visit(&mut |first, block| match block {
                Block::Sparse(block) => rows.push(&gpu, first, &block),
                Block::Dense(block) => rows.push_dense(&gpu, first, &block),
            })?;
            Rows::Sparse(rows)
        } else {
            let (mut rows, mut upload) = (DenseRows::room::<T>(&gpu, shape)?, Upload::new(&gpu));
            x.visit(&mut |first, block| match block {
                Block::Dense(block) => rows.put(&mut upload, first, &block),
                Block::Sparse(block) => rows.put_sparse(&mut upload, first, &block),
            })?;
            Rows::Dense(rows)
        };
        Ok(Self { gpu, shape, dtype, is_sparse, rows: Mutex::new(rows) })
    }

    /// The rows, for one product at a time: its work uses memory that all products share.
    fn rows(&self) -> Result<MutexGuard<'_, Rows>> {
        self.gpu.bind()?;
        Ok(self.rows.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Calls `f` with what leaves the matrix as it is.
    fn unchanged<R>(&self, f: impl FnOnce(By<'_>) -> Result<R>) -> Result<R> {
        let p = self.shape.1;
        f(By { center: &vec![0.0; p], factor: &vec![1.0; p], shares: None, common: 1.0 })
    }

    fn project_t(&self, by: By<'_>, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        match &mut *self.rows()? {
            Rows::Dense(rows) => rows.project_t(&self.gpu, by, u, exec),
            Rows::Sparse(rows) => rows.project_t(&self.gpu, by, u),
        }
    }

    fn moments_of(&self, shares: Option<&[f64]>, exec: &Exec<'_>) -> Result<Moments> {
        let (mean, sum_of_squares) = match &mut *self.rows()? {
            Rows::Dense(rows) => rows.moments(&self.gpu, shares, exec)?,
            Rows::Sparse(rows) => rows.moments(&self.gpu, shares)?,
        };
        let of_weights = Moments::of_weights(shares, self.shape.0);
        Ok(Moments { mean, mean_rest: Vec::new(), sum_of_squares, whole: shares.is_none(), ..of_weights })
    }
}

impl LinOp for DeviceMatrix {
    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    fn profile(&self) -> Profile {
        Profile {
            dtype: self.dtype,
            squares_up_to: if self.is_sparse { 0 } else { SQUARES_UP_TO },
            centers_first: !self.is_sparse,
            place: Some(format!("{}, in f64", self.gpu.name)),
        }
    }

    fn apply(&self, v: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        self.unchanged(|by| match &mut *self.rows()? {
            Rows::Dense(rows) => rows.project(&self.gpu, by, v, exec),
            Rows::Sparse(rows) => rows.project(&self.gpu, by, v),
        })
    }

    fn apply_t(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        self.unchanged(|by| self.project_t(by, u, exec))
    }

    fn moments(&self, exec: &Exec<'_>) -> Result<Moments> {
        self.moments_of(None, exec)
    }

    fn weighted_moments(&self, shares: &[f64], exec: &Exec<'_>) -> Result<Moments> {
        self.moments_of(Some(shares), exec)
    }

    fn standard_t(&self, by: Standard<'_>, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        self.project_t(By::of(by, self.shape.0), u, exec)
    }

    fn normal(&self, by: Standard<'_>, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let by = By::of(by, self.shape.0);
        match &mut *self.rows()? {
            Rows::Dense(rows) => rows.normal(&self.gpu, by, q, exec),
            Rows::Sparse(rows) => rows.normal(&self.gpu, by, q),
        }
    }

    fn normal_t(&self, by: Standard<'_>, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let by = By::of(by, self.shape.0);
        match &mut *self.rows()? {
            Rows::Dense(rows) => rows.normal_t(&self.gpu, by, u, exec),
            Rows::Sparse(rows) => rows.normal_t(&self.gpu, by, u),
        }
    }

    fn square(&self, by: Standard<'_>, side: Side, exec: &Exec<'_>) -> Result<Option<Matrix>> {
        let by = By::of(by, self.shape.0);
        match (&mut *self.rows()?, side) {
            (Rows::Dense(rows), side) => rows.square(&self.gpu, by, side, exec).map(Some),
            (Rows::Sparse(rows), Side::Columns) => rows.square(&self.gpu, by, exec).map(Some),
            (Rows::Sparse(_), Side::Rows) => Ok(None),
        }
    }
}
