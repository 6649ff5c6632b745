//! What can be typed about kernels.

use std::num::NonZeroUsize;

use clap::{Args, ValueEnum};
use karhunen::{Gamma, Kernel, Landmarks, PreImage};

use crate::error::{Failure, Result};
use crate::values::{at_least_one, memory};

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Kernel")]
pub(crate) struct KernelArgs {
    /// Find components in the feature space of a kernel
    #[arg(long, value_enum)]
    pub(crate) kernel: Option<KernelArg>,
    /// Coefficient of the kernel: a number, scale for 1 / (columns * variance), median for 1 / the median distance (squared
    /// for rbf), or auto for 1 / columns [default: auto]
    #[arg(long, value_name = "NUMBER|scale|median|auto", value_parser = gamma)]
    pub(crate) gamma: Option<Gamma>,
    /// Power of the kernel polynomial [default: 3]
    #[arg(long, value_name = "POWER")]
    pub(crate) degree: Option<f64>,
    /// What the kernels polynomial and sigmoid add to the inner product [default: 1]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub(crate) coef0: Option<f64>,
    /// How --solver nystrom chooses its landmarks [default: uniform]
    #[arg(long, value_enum)]
    pub(crate) landmarks: Option<LandmarksArg>,
    /// Landmarks of --solver nystrom, or features of --solver fourier [default: 1000, or four times -k if that is more]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) kernel_features: Option<NonZeroUsize>,
    /// Memory that the fit may take beside the data, such as 500MB, 2GB or 2GiB [default: half of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub(crate) memory_limit: Option<u64>,
    /// Keep what reconstruct finds rows from scores with; the ridge of a regression is --alpha
    #[arg(long, value_enum)]
    pub(crate) pre_image: Option<PreImageArg>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KernelArg {
    /// x.y: principal component analysis itself
    Linear,
    /// (gamma x.y + coef0)^degree
    #[value(alias = "poly")]
    Polynomial,
    /// exp(-gamma |x - y|^2)
    Rbf,
    /// exp(-gamma |x - y|_1)
    Laplacian,
    /// tanh(gamma x.y + coef0)
    Sigmoid,
    /// x.y / (|x| |y|)
    Cosine,
    /// -sum (x - y)^2 / (x + y)
    #[value(alias = "additive_chi2")]
    AdditiveChi2,
    /// exp(-gamma sum (x - y)^2 / (x + y))
    Chi2,
    /// DATA is the kernel matrix
    Precomputed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LandmarksArg {
    /// Any rows
    Uniform,
    /// Rows far from each other
    #[value(name = "kmeans++")]
    KMeansPlusPlus,
    /// By approximate ridge leverage scores
    Leverage,
}

impl From<LandmarksArg> for Landmarks {
    fn from(arg: LandmarksArg) -> Self {
        match arg {
            LandmarksArg::Uniform => Landmarks::Uniform,
            LandmarksArg::KMeansPlusPlus => Landmarks::KMeansPlusPlus,
            LandmarksArg::Leverage => Landmarks::LeverageScores,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PreImageArg {
    /// Fixed-point where it is defined, which is the better, otherwise ridge
    Auto,
    /// Kernel ridge regression of the rows on their scores
    Ridge,
    /// Fixed-point iteration, for rbf on the exact solvers
    FixedPoint,
}

impl KernelArgs {
    /// The first option given, of those that say nothing without `--kernel`.
    fn given(&self) -> Option<&'static str> {
        let options = [
            ("--gamma", self.gamma.is_some()),
            ("--degree", self.degree.is_some()),
            ("--coef0", self.coef0.is_some()),
            ("--landmarks", self.landmarks.is_some()),
            ("--kernel-features", self.kernel_features.is_some()),
            ("--memory-limit", self.memory_limit.is_some()),
            ("--pre-image", self.pre_image.is_some()),
        ];
        options.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }

    /// Refuses options that only fits with a kernel have a use for.
    ///
    /// # Errors
    /// [`Failure::Usage`].
    pub(crate) fn check_unused(&self) -> Result<()> {
        match self.given() {
            None => Ok(()),
            Some(option) => Err(Failure::Usage(format!(
                "{option} has no effect without a kernel; say --kernel rbf or another, or leave it out"
            ))),
        }
    }

    /// The kernel with its parameters.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a parameter that the kernel does not have.
    pub(crate) fn kernel(&self, kernel: KernelArg) -> Result<Kernel> {
        const DEGREE: f64 = 3.0;
        const COEF0: f64 = 1.0;
        let gamma = self.gamma.unwrap_or_default();
        let (degree, coef0) = (self.degree.unwrap_or(DEGREE), self.coef0.unwrap_or(COEF0));
        let (kernel, has_coef0, has_degree) = match kernel {
            KernelArg::Linear => (Kernel::Linear, false, false),
            KernelArg::Polynomial => (Kernel::Polynomial { degree, gamma, coef0 }, true, true),
            KernelArg::Rbf => (Kernel::Rbf { gamma }, false, false),
            KernelArg::Laplacian => (Kernel::Laplacian { gamma }, false, false),
            KernelArg::Sigmoid => (Kernel::Sigmoid { gamma, coef0 }, true, false),
            KernelArg::Cosine => (Kernel::Cosine, false, false),
            KernelArg::AdditiveChi2 => (Kernel::AdditiveChi2, false, false),
            KernelArg::Chi2 => (Kernel::Chi2 { gamma }, false, false),
            KernelArg::Precomputed => (Kernel::Precomputed, false, false),
        };
        let useless = [
            ("--gamma", self.gamma.is_some() && kernel.gamma().is_none()),
            ("--degree", self.degree.is_some() && !has_degree),
            ("--coef0", self.coef0.is_some() && !has_coef0),
        ];
        match useless.into_iter().find(|(_, useless)| *useless) {
            None => Ok(kernel),
            Some((option, _)) => Err(Failure::Usage(format!(
                "{option} has no effect with --kernel {}; leave it out",
                kernel.name()
            ))),
        }
    }

    /// How rows are to be found from scores; `alpha` is the ridge.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a ridge without a regression.
    pub(crate) fn pre_image(&self, alpha: Option<f64>) -> Result<Option<PreImage>> {
        /// scikit-learn's.
        const ALPHA: f64 = 1.0;
        let ridge = alpha.unwrap_or(ALPHA);
        match (self.pre_image, alpha) {
            (Some(PreImageArg::Auto), _) => Ok(Some(PreImage::Auto { alpha: ridge })),
            (Some(PreImageArg::Ridge), _) => Ok(Some(PreImage::Ridge { alpha: ridge })),
            (_, Some(_)) => Err(Failure::Usage(
                "--alpha is the ridge of --pre-image ridge or auto; say which, or leave it out".to_owned(),
            )),
            (Some(PreImageArg::FixedPoint), None) => Ok(Some(PreImage::FixedPoint)),
            (None, None) => Ok(None),
        }
    }
}

fn gamma(text: &str) -> std::result::Result<Gamma, String> {
    match text {
        "scale" => return Ok(Gamma::Scale),
        "median" => return Ok(Gamma::Median),
        "auto" => return Ok(Gamma::PerFeature),
        _ => {}
    }
    let number = text.parse::<f64>().ok().filter(|gamma| *gamma > 0.0 && gamma.is_finite());
    number.map(Gamma::Value).ok_or_else(|| "give a positive number, scale, median or auto".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients() {
        assert_eq!(gamma("scale"), Ok(Gamma::Scale));
        assert_eq!(gamma("median"), Ok(Gamma::Median));
        assert_eq!(gamma("auto"), Ok(Gamma::PerFeature));
        assert_eq!(gamma("1e-3"), Ok(Gamma::Value(1e-3)));
        for text in ["", "0", "-1", "nan", "inf", "Scale", "1/3"] {
            assert!(gamma(text).is_err(), "{text}");
        }
    }
}
