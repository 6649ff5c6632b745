//! Scores of new rows: kernel values, block by block, times the coefficients, without a matrix of shape (n_new,
//! n).

use std::ops::Range;

use crate::error::{Error, OptionValue, Result, options};
use crate::exec::{Exec, Run};
use crate::kernel::checks::check_block;
use crate::kernel::features::Features;
use crate::kernel::function::{BlockKernel, Kernel};
use crate::kernel::model::{KernelBasis, KernelModel};
use crate::kernel::rows::Preparation;
use crate::linalg::tiles::exp::Exp;
use crate::linalg::tiles::pairs::width;
use crate::linalg::tiles::products::{Strips, add_tile_product};
use crate::linalg::{ColumnMap, Matrix};
use crate::operator::blocks;
use crate::pca::Transform;
use crate::scalar::{Scalar, compiled};
use crate::source::{Block, Source};

/// Number of new rows of a piece of work.
const ROWS: usize = 64;
/// Bytes of a tile.
const TILE_BYTES: usize = 256 << 10;

impl KernelModel {
    /// Scores of rows, shape (n_rows, n_components), in the type of `x`; for [`Kernel::Precomputed`], `x` holds
    /// the kernel values of new rows with those fitted, shape (n_rows, n_samples). Kernel values of f32 rows are
    /// computed in f32.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `x` has `n_features` columns; [`Error::NonFinite`] for NaN and infinite values;
    /// [`Error::NegativeValue`]; [`Error::Option`] if the user-defined kernel function is missing; errors of `x`
    /// or of that function.
    pub fn transform<T: Scalar>(&self, x: &dyn Source<T>) -> Result<Matrix<T>> {
        self.transform_with(x, Transform::default(), &Run::default())
    }

    /// As [`KernelModel::transform`], with options, and with threads and observer of `run`. Whitened scores of fitted
    /// rows have a mean square of one.
    ///
    /// # Errors
    /// As [`KernelModel::transform`], and [`Error::Stopped`] if the observer cancels.
    pub fn transform_with<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        how: Transform,
        run: &Run<'_>,
    ) -> Result<Matrix<T>> {
        let transform = compiled!(T, KernelModel::scores_of::<T>
            => fn(&KernelModel, &dyn Source<T>, Transform, &Run<'_>) -> Result<Matrix<T>>);
        transform(self, x, how, run)
    }

    fn scores_of<T: Scalar>(&self, x: &dyn Source<T>, how: Transform, run: &Run<'_>) -> Result<Matrix<T>> {
        check_new_rows(x, self.kernel(), self.function(), self.n_features())?;
        let n = x.shape().0;
        let k = self.n_components();
        let mut scores = Matrix::try_zeros("a matrix of scores", n, k)?;
        Exec::run(run, |exec| {
            let exec = exec.phase("scores");
            if T::EPSILON > f64::EPSILON {
                self.project::<T, f32>(x, how.whiten, scores.as_mut_slice(), &exec)
            } else {
                self.project::<T, f64>(x, how.whiten, scores.as_mut_slice(), &exec)
            }
        })?;
        match scores.as_slice().iter().position(|z| !z.to_f64().is_finite()) {
            Some(at) => Err(Error::KernelValue { row: at / k }),
            None => Ok(scores),
        }
    }

    /// Factors of the scores.
    pub(super) fn factors(&self, whiten: bool) -> Vec<f64> {
        let factor = |eigenvalue: f64| match eigenvalue {
            _ if !whiten => 1.0,
            0.0 => 0.0,
            eigenvalue => (self.parts().sum_of_weights / eigenvalue).sqrt(),
        };
        self.eigenvalues().iter().map(|eigenvalue| factor(*eigenvalue)).collect()
    }

    /// The features of new rows.
    fn features<E: Exp>(&self, exec: &Exec<'_>) -> Result<Features<'_, E>> {
        let parts = self.parts();
        let preparation = Preparation { shift: &parts.shift, normalize: self.kernel().normalizes() };
        match &parts.basis {
            KernelBasis::Frequencies(frequencies) => {
                Ok(Features::of_frequencies(*self.kernel(), frequencies, preparation))
            }
            KernelBasis::Rows(rows) | KernelBasis::Landmarks(rows) => {
                Features::of_rows(*self.kernel(), rows, self.function(), preparation, exec)
            }
            KernelBasis::Precomputed { n_samples } => Err(Error::Shape {
                what: "a precomputed kernel",
                axis: "rows",
                found: 0,
                expected: *n_samples,
            }),
        }
    }

    fn project<T: Scalar, E: Exp>(
        &self,
        x: &dyn Source<T>,
        whiten: bool,
        scores: &mut [T],
        exec: &Exec<'_>,
    ) -> Result<()> {
        let (n, k) = (x.shape().0, self.n_components());
        // Without rows there is no work.
        if n == 0 {
            return Ok(());
        }
        let factors = self.factors(whiten);
        let parts = self.parts();
        let coefficients =
            Matrix::from_fn(parts.basis.len(), k, |i, c| parts.coefficients[(i, c)] * factors[c]);
        let offsets: Vec<f64> = parts.offsets.iter().zip(&factors).map(|(o, f)| o * f).collect();
        if let KernelBasis::Precomputed { n_samples } = parts.basis {
            let map =
                ColumnMap { shift: &vec![0.0; n_samples], remainder: &[], factor: &vec![1.0; n_samples] };
            return x.visit(&mut |first, block| {
                check_block(&block, first, &parts.kernel)?;
                let out = &mut scores[first * k..(first + block.n_rows()) * k];
                let part = part_of(exec, first, block.n_rows(), n);
                blocks::project(&block, map, &coefficients, &part, out)?;
                for row in out.chunks_exact_mut(k.max(1)) {
                    row.iter_mut().zip(&offsets).for_each(|(z, o)| *z = T::from_f64(z.to_f64() - o));
                }
                Ok(())
            });
        }
        let projection = Projection {
            features: self.features::<E>(&exec.part(0.0, 0.0))?,
            coefficients: strips(&coefficients),
            offsets,
        };
        x.visit(&mut |first, block| {
            check_block(&block, first, &parts.kernel)?;
            let out = &mut scores[first * k..(first + block.n_rows()) * k];
            projection.all(&block, out, &part_of(exec, first, block.n_rows(), n))
        })
    }
}

/// Checks new rows, which must have `expected` columns.
pub(super) fn check_new_rows<T: Scalar>(
    x: &dyn Source<T>,
    kernel: &Kernel,
    function: Option<&dyn BlockKernel>,
    expected: usize,
) -> Result<()> {
    let found = x.shape().1;
    if found != expected {
        return Err(Error::Shape { what: "data to transform", axis: "columns", found, expected });
    }
    if *kernel == Kernel::Custom {
        if x.is_sparse() {
            let rule = "a kernel function is called with dense rows; give dense data";
            return Err(Error::option(options::KERNEL, OptionValue::name("custom"), rule));
        }
        if function.is_none() {
            let rule =
                "the model was made from plain data; give the kernel function by `with_function` first";
            return Err(Error::option(options::KERNEL, OptionValue::name("custom"), rule));
        }
    }
    Ok(())
}

fn part_of<'e>(exec: &Exec<'e>, first: usize, n_rows: usize, n: usize) -> Exec<'e> {
    exec.part(first as f64 / n as f64, (first + n_rows) as f64 / n as f64)
}

/// The coefficients in strips of columns, padded to whole strips of rows.
pub(super) fn strips<E: Exp>(coefficients: &Matrix) -> Vec<E> {
    let w = width::<E>();
    let (m, k) = coefficients.shape();
    let stride = m.next_multiple_of(w) * w;
    let mut values = vec![E::default(); k.div_ceil(w) * stride];
    for i in 0..m {
        for (c, value) in coefficients.row(i).iter().enumerate() {
            values[c / w * stride + i * w + c % w] = E::from_f64(*value);
        }
    }
    values
}

/// Features, coefficients and offsets that turn rows into scores.
pub(super) struct Projection<'a, E> {
    pub(super) features: Features<'a, E>,
    /// Coefficients in strips of columns.
    pub(super) coefficients: Vec<E>,
    pub(super) offsets: Vec<f64>,
}

impl<E: Exp> Projection<'_, E> {
    /// The scores of all rows of a block.
    pub(super) fn all<T: Scalar, U: Scalar>(
        &self,
        block: &Block<'_, T>,
        out: &mut [U],
        exec: &Exec<'_>,
    ) -> Result<()> {
        let k = self.offsets.len().max(1);
        exec.fill(out, ROWS * k, |piece, out| {
            self.rows(block, piece * ROWS..piece * ROWS + out.len() / k, out)
        })
    }

    /// The scores of some rows of a block.
    fn rows<T: Scalar, U: Scalar>(
        &self,
        block: &Block<'_, T>,
        rows: Range<usize>,
        out: &mut [U],
    ) -> Result<()> {
        let (w, k) = (width::<E>(), self.offsets.len());
        let loaded = self.features.load(block, rows)?;
        let n_left = loaded.n_left;
        let n = self.features.n().next_multiple_of(w);
        let columns = (TILE_BYTES / (n_left * size_of::<E>()) / w * w).min(n);
        let mut tile = vec![E::default(); n_left * columns];
        let mut sums = vec![0.0; k.div_ceil(w) * n_left * w];
        for start in (0..n).step_by(columns) {
            let columns = start..n.min(start + columns);
            let tile = &mut tile[..n_left * columns.len()];
            self.features.tile(&loaded, columns, tile)?;
            let values = &self.coefficients[start * w..];
            let q = Strips { values, stride: n * w, n_strips: k.div_ceil(w) };
            add_tile_product(tile, n_left, q, &mut sums, n_left * w);
        }
        for (i, out) in out.chunks_exact_mut(k.max(1)).enumerate() {
            for (c, out) in out.iter_mut().enumerate() {
                *out = U::from_f64(sums[(c / w * n_left + i) * w + c % w] - self.offsets[c]);
            }
        }
        Ok(())
    }
}
