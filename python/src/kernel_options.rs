//! The options of kernel methods, as Python passes them.

use karhunen::KernelPca;
use karhunen::choice::Named;
use karhunen::kernel::{Gamma, Kernel, Nystrom, PreImage};
use pyo3::prelude::*;

use crate::options::{Wanted, choice, choice_of, choice_or_auto, n_components};

/// A coefficient, or the name of a rule.
#[derive(FromPyObject)]
pub(crate) enum Coefficient {
    Value(f64),
    Rule(String),
}

/// A kernel, by the names of scikit-learn.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct KernelOption {
    kernel: String,
    gamma: Option<Coefficient>,
    degree: f64,
    coef0: f64,
}

impl KernelOption {
    /// The engine's kernel; a function of the caller is called `"custom"`.
    ///
    /// # Errors
    /// `ValueError` for names that the engine does not know.
    pub(crate) fn into_kernel(self) -> PyResult<Kernel> {
        let gamma = match self.gamma {
            None => Gamma::PerFeature,
            Some(Coefficient::Value(value)) => Gamma::Value(value),
            Some(Coefficient::Rule(name)) => {
                let is_rule = |row: &Named<Gamma>| row.choice != Gamma::PerFeature && !row.takes_number;
                choice_of("gamma", &name, is_rule, ["a number, None, ", ""])?
            }
        };
        if self.kernel == Kernel::Custom.name() {
            return Ok(Kernel::Custom);
        }
        let is_name = |row: &Named<Kernel>| row.choice != Kernel::Custom;
        let mut kernel = choice_of("kernel", &self.kernel, is_name, ["", ", or give a function"])?;
        let (of_gamma, of_degree, of_coef0) = kernel.parameters_mut();
        if let Some(place) = of_gamma {
            *place = gamma;
        }
        for (place, value) in [(of_degree, self.degree), (of_coef0, self.coef0)] {
            if let Some(place) = place {
                *place = value;
            }
        }
        Ok(kernel)
    }
}

/// Every option by its name in [`KernelPca`], and the number of threads.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct KernelOptions {
    kernel: KernelOption,
    n_components: Option<Wanted>,
    solver: String,
    landmarks: String,
    n_features: Option<usize>,
    pre_image: Option<String>,
    alpha: f64,
    tol: Option<f64>,
    max_iter: usize,
    memory_limit: Option<u64>,
    seed: u64,
    pub(crate) n_threads: Option<usize>,
    strict: bool,
}

impl KernelOptions {
    /// The engine's options.
    ///
    /// # Errors
    /// `ValueError` for names that the engine does not know.
    pub(crate) fn into_pca(self) -> PyResult<KernelPca> {
        let pre_image = self.pre_image.map(|way| choice::<PreImage>("pre_image", &way)).transpose()?;
        Ok(KernelPca {
            kernel: self.kernel.into_kernel()?,
            n_components: n_components(self.n_components)?,
            solver: choice_or_auto("solver", &self.solver)?,
            landmarks: choice("landmarks", &self.landmarks)?,
            n_features: self.n_features,
            pre_image: pre_image.map(|way| way.with_ridge(self.alpha)),
            tol: self.tol,
            max_iter: self.max_iter,
            block_size: None,
            memory_limit: self.memory_limit,
            seed: self.seed,
            strict: self.strict,
            more: karhunen::More,
        })
    }
}

/// Every option by its name in [`Nystrom`], and the number of threads.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct NystromOptions {
    kernel: KernelOption,
    n_landmarks: usize,
    landmarks: String,
    seed: u64,
    pub(crate) n_threads: Option<usize>,
}

impl NystromOptions {
    /// The engine's options.
    ///
    /// # Errors
    /// `ValueError` for names that the engine does not know.
    pub(crate) fn into_nystrom(self) -> PyResult<Nystrom> {
        Ok(Nystrom {
            kernel: self.kernel.into_kernel()?,
            n_landmarks: self.n_landmarks,
            landmarks: choice("landmarks", &self.landmarks)?,
            seed: self.seed,
            more: karhunen::More,
        })
    }
}
