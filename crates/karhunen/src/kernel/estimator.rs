//! The fit methods of [`KernelPca`].

use std::sync::Arc;

#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::exec::{PassLog, Run};
use crate::kernel::fit;
use crate::kernel::function::BlockKernel;
#[cfg(doc)]
use crate::kernel::function::Kernel;
use crate::kernel::model::KernelModel;
use crate::kernel::options::KernelPca;
use crate::scalar::{Scalar, compiled};
use crate::source::Source;
use crate::weights::Weights;

impl KernelPca {
    /// Fits kernel principal components to `x`, shape (n_samples, n_features); for [`Kernel::Precomputed`], the
    /// kernel matrix, shape (n_samples, n_samples). `weights.samples` are multiplicities of the rows; weights of
    /// features are refused.
    ///
    /// # Errors
    /// [`Error::NComponents`] unless 1 <= n_components <= n_samples; [`Error::NonFinite`] for NaN and infinite
    /// values; [`Error::NegativeValue`] for a kernel of non-negative data; [`Error::NotSymmetric`] for a
    /// precomputed matrix; [`Error::NegativeEigenvalue`] if a wanted eigenvalue is far below zero; errors of
    /// weights; [`Error::Option`]; [`Error::NotConverged`] if `strict`; any error `x` raises while read.
    pub fn fit<T: Scalar>(&self, x: &dyn Source<T>, weights: &Weights<'_>) -> Result<KernelModel> {
        self.fit_with(x, weights, &Run::default())
    }

    /// Memory estimate of a fit of `x` in bytes, an upper bound, without `x` and memory in use before. It grows
    /// with the number of threads of `run`.
    ///
    /// ```
    /// use karhunen::{Dense, KernelPca, Run};
    /// let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    /// assert!(KernelPca::new(1).memory_need(&Dense::row_major(&x, 3, 2)?, &Run::default()) < 1e8);
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    pub fn memory_need<T: Scalar>(&self, x: &dyn Source<T>, run: &Run<'_>) -> f64 {
        compiled!(T, fit::memory_need::<T> => fn(&KernelPca, &dyn Source<T>, &Run<'_>) -> f64)(self, x, run)
    }

    /// As [`KernelPca::fit`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`KernelPca::fit`], and [`Error::Stopped`] if the observer cancels.
    pub fn fit_with<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        weights: &Weights<'_>,
        run: &Run<'_>,
    ) -> Result<KernelModel> {
        self.fitted(x, weights, (None, None), run)
    }

    /// As [`KernelPca::fit_with`] with a user-defined kernel function, which the model keeps; the option
    /// `kernel` must be [`Kernel::Custom`].
    ///
    /// # Errors
    /// As [`KernelPca::fit_with`]; errors of the function.
    pub fn fit_function<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        weights: &Weights<'_>,
        function: Arc<dyn BlockKernel>,
        run: &Run<'_>,
    ) -> Result<KernelModel> {
        self.fitted(x, weights, (Some(function), None), run)
    }

    /// As [`KernelPca::fit_with`]; `log` keeps the products with the kernel matrix, so that an interrupted fit, started
    /// again with the same data, weights and options, makes only those that are missing. The model has the same bits. Only
    /// the solvers stored and tiles iterate; of the others no pass is kept.
    ///
    /// # Errors
    /// As [`KernelPca::fit_with`]; errors of `log`, such as [`Error::OtherFit`] if it holds passes of another fit.
    pub fn fit_logged<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        weights: &Weights<'_>,
        log: &dyn PassLog,
        run: &Run<'_>,
    ) -> Result<KernelModel> {
        self.fitted(x, weights, (None, Some(log)), run)
    }

    fn fitted<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        weights: &Weights<'_>,
        with: (Option<Arc<dyn BlockKernel>>, Option<&dyn PassLog>),
        run: &Run<'_>,
    ) -> Result<KernelModel> {
        type With<'a> = (Option<Arc<dyn BlockKernel>>, Option<&'a dyn PassLog>);
        let fit = compiled!(T, fit::fit::<T>
            => fn(&KernelPca, &dyn Source<T>, &Weights<'_>, With<'_>, &Run<'_>) -> Result<KernelModel>);
        fit(self, x, weights, with, run)
    }
}
