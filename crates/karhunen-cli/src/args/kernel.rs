//! The arguments about kernels.

use std::num::NonZeroUsize;

use clap::Args;
use clap::builder::TypedValueParser;
use karhunen::KernelPca;
use karhunen::choice::Choice;
use karhunen::kernel::{Gamma, Kernel, Landmarks, PreImage};

use crate::args::given::{Given, set};
use crate::args::values::{at_least_one, choice, choice_of};
use crate::error::{Failure, Result};

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Kernel")]
pub(crate) struct KernelArgs {
    /// Find components in the feature space of a kernel
    #[arg(long, value_parser = kernel())]
    pub(crate) kernel: Option<Kernel>,
    /// Coefficient of the kernel: a number, scale for 1 / (columns * variance), median for 1 / the median distance (squared
    /// for rbf), or auto for 1 / columns [default: auto]
    #[arg(long, value_name = "NUMBER|scale|median|auto", value_parser = gamma)]
    pub(crate) gamma: Option<Gamma>,
    /// Power of the kernel polynomial [default: 3]
    #[arg(long, value_name = "POWER")]
    pub(crate) degree: Option<f64>,
    /// Constant that the kernels polynomial and sigmoid add to the inner product [default: 1]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub(crate) coef0: Option<f64>,
    /// Selection of the landmarks of --solver nystrom [default: uniform]
    #[arg(long, value_parser = choice::<Landmarks>())]
    pub(crate) landmarks: Option<Landmarks>,
    /// Landmarks of --solver nystrom, or features of --solver fourier [default: 1000, or 4 times -k if larger]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) kernel_features: Option<NonZeroUsize>,
    /// Keep what reconstruct needs to map scores to rows; the ridge of a regression is --alpha
    #[arg(long, value_parser = choice::<PreImage>())]
    pub(crate) pre_image: Option<PreImage>,
}

impl KernelArgs {
    /// Sets the options that were given, except the kernel and the method of pre-images.
    pub(crate) fn apply(&self, pca: &mut KernelPca) {
        set(&mut pca.landmarks, self.landmarks);
        pca.n_features = self.kernel_features.map(usize::from);
    }

    /// The kernel with its parameters.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a parameter that the kernel does not have.
    pub(crate) fn kernel(&self, mut kernel: Kernel) -> Result<Kernel> {
        let (gamma, degree, coef0) = kernel.parameters_mut();
        let parameters = [
            ("--gamma", set_parameter(gamma, self.gamma)),
            ("--degree", set_parameter(degree, self.degree)),
            ("--coef0", set_parameter(coef0, self.coef0)),
        ];
        match parameters.into_iter().find(|(_, is_known)| !is_known) {
            None => Ok(kernel),
            Some((option, _)) => Err(Failure::Usage(format!(
                "{option} has no effect with --kernel {}; leave it out",
                kernel.name()
            ))),
        }
    }

    /// The pre-image method; `alpha` is the ridge.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a ridge without regression.
    pub(crate) fn pre_image(&self, alpha: Option<f64>) -> Result<Option<PreImage>> {
        match (self.pre_image, alpha) {
            (way, None) => Ok(way),
            (Some(way @ (PreImage::Auto { .. } | PreImage::Ridge { .. })), Some(alpha)) => {
                Ok(Some(way.with_ridge(alpha)))
            }
            (_, Some(_)) => Err(Failure::Usage(
                "--alpha is the ridge of --pre-image ridge or auto; say which, or leave it out".to_owned(),
            )),
        }
    }
}

/// A kernel by its name; the command line has no functions.
fn kernel() -> impl TypedValueParser<Value = Kernel> {
    choice_of(|row| row.choice != Kernel::Custom)
}

/// Sets a parameter that was given; whether the kernel has it, if it was.
fn set_parameter<T>(place: Option<&mut T>, given: Option<T>) -> bool {
    match place {
        Some(place) => {
            set(place, given);
            true
        }
        None => given.is_none(),
    }
}

/// Refuses options that require a kernel.
///
/// # Errors
/// [`Failure::Usage`].
pub(crate) fn check_unused(given: &Given) -> Result<()> {
    match given.first_of::<KernelArgs>(&[]) {
        None => Ok(()),
        Some(option) => Err(Failure::Usage(format!(
            "{option} has no effect without a kernel; use --kernel rbf or another, or leave it out"
        ))),
    }
}

fn gamma(text: &str) -> std::result::Result<Gamma, String> {
    let number = || text.parse().ok().filter(|gamma: &f64| *gamma > 0.0 && gamma.is_finite());
    Gamma::of_name(text)
        .or_else(|| number().map(Gamma::Value))
        .ok_or_else(|| "give a positive number, scale, median or auto".to_owned())
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
