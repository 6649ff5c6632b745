//! The options of kernel methods, as Python passes them.

use karhunen::{Gamma, Kernel, KernelPca, KernelRoute, Landmarks, Nystrom, PreImage};
use pyo3::prelude::*;

use crate::options::unknown;

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
            Some(Coefficient::Rule(name)) => match name.as_str() {
                "scale" => Gamma::Scale,
                "median" => Gamma::Median,
                _ => return Err(unknown("gamma", &name, "a number, None, 'scale', 'median'")),
            },
        };
        let (degree, coef0) = (self.degree, self.coef0);
        Ok(match self.kernel.as_str() {
            "linear" => Kernel::Linear,
            "poly" | "polynomial" => Kernel::Polynomial { degree, gamma, coef0 },
            "rbf" => Kernel::Rbf { gamma },
            "laplacian" => Kernel::Laplacian { gamma },
            "sigmoid" => Kernel::Sigmoid { gamma, coef0 },
            "cosine" => Kernel::Cosine,
            "additive_chi2" => Kernel::AdditiveChi2,
            "chi2" => Kernel::Chi2 { gamma },
            "precomputed" => Kernel::Precomputed,
            "custom" => Kernel::Custom,
            name => {
                let names = "'linear', 'poly', 'rbf', 'laplacian', 'sigmoid', 'cosine', 'additive_chi2', 'chi2', \
                             'precomputed', or give a function";
                return Err(unknown("kernel", name, names));
            }
        })
    }
}

/// The rule for landmarks of a name.
pub(crate) fn landmark_rule(name: &str) -> PyResult<Landmarks> {
    match name {
        "uniform" => Ok(Landmarks::Uniform),
        "kmeans++" => Ok(Landmarks::KMeansPlusPlus),
        "leverage" => Ok(Landmarks::LeverageScores),
        _ => Err(unknown("landmarks", name, "'uniform', 'kmeans++', 'leverage'")),
    }
}

/// Every option by its name in [`KernelPca`].
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct KernelOptions {
    kernel: KernelOption,
    n_components: Option<usize>,
    solver: String,
    landmarks: String,
    n_features: Option<usize>,
    pre_image: Option<String>,
    alpha: f64,
    tol: Option<f64>,
    max_iter: usize,
    memory_limit: Option<u64>,
    seed: u64,
    n_threads: Option<usize>,
    strict: bool,
}

impl KernelOptions {
    /// The engine's options.
    ///
    /// # Errors
    /// `ValueError` for names that the engine does not know.
    pub(crate) fn into_pca(self) -> PyResult<KernelPca> {
        let routes = [
            KernelRoute::Full,
            KernelRoute::Stored,
            KernelRoute::Tiles,
            KernelRoute::Nystrom,
            KernelRoute::Fourier,
        ];
        let solver = match self.solver.as_str() {
            "auto" => None,
            name => match routes.iter().find(|route| route.name() == name) {
                Some(route) => Some(*route),
                None => {
                    let names = routes.map(KernelRoute::name).join("', '");
                    return Err(unknown("solver", name, &format!("'auto', '{names}'")));
                }
            },
        };
        let pre_image = match self.pre_image.as_deref() {
            None => None,
            Some("ridge") => Some(PreImage::Ridge { alpha: self.alpha }),
            Some("fixed-point") => Some(PreImage::FixedPoint),
            Some("auto") => Some(PreImage::Auto { alpha: self.alpha }),
            Some(name) => return Err(unknown("pre_image", name, "'auto', 'ridge', 'fixed-point'")),
        };
        Ok(KernelPca {
            kernel: self.kernel.into_kernel()?,
            n_components: self.n_components,
            solver,
            landmarks: landmark_rule(&self.landmarks)?,
            n_features: self.n_features,
            pre_image,
            tol: self.tol,
            max_iter: self.max_iter,
            block_size: None,
            memory_limit: self.memory_limit,
            seed: self.seed,
            n_threads: self.n_threads,
            strict: self.strict,
        })
    }
}

/// Every option by its name in [`Nystrom`].
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct NystromOptions {
    kernel: KernelOption,
    n_landmarks: usize,
    landmarks: String,
    seed: u64,
    n_threads: Option<usize>,
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
            landmarks: landmark_rule(&self.landmarks)?,
            seed: self.seed,
            n_threads: self.n_threads,
        })
    }
}
