//! The scaling of the features, in sentences and in calls that repeat a fit.

use karhunen::choice::Choice;
use karhunen::pca::Scaling;

/// The number that divided each feature, if any.
pub(crate) fn divisor(scaling: &Scaling) -> Option<&'static str> {
    match scaling {
        Scaling::None => None,
        Scaling::Deviation => Some("its standard deviation"),
        Scaling::Pareto => Some("the square root of its standard deviation (Pareto scaling)"),
        Scaling::Range => Some("its range"),
        Scaling::Binomial => Some("the standard deviation of binomial counts of its mean"),
        Scaling::Given(_) => Some("a given scale"),
    }
}

/// The option on the command line, if it is needed.
pub(crate) fn flag(scaling: &Scaling) -> Option<String> {
    match scaling {
        Scaling::None => None,
        Scaling::Deviation => Some("--scale".to_owned()),
        Scaling::Pareto | Scaling::Range | Scaling::Binomial => {
            Some(format!("--scale={}", scaling.named().name))
        }
        Scaling::Given(_) => Some("--scale-values SCALES".to_owned()),
    }
}

/// The argument in Python, if it is needed.
pub(crate) fn argument(scaling: &Scaling) -> Option<String> {
    match scaling {
        Scaling::None => None,
        Scaling::Deviation => Some("scale=True".to_owned()),
        Scaling::Pareto | Scaling::Range | Scaling::Binomial => {
            Some(format!("scale=\"{}\"", scaling.named().python))
        }
        Scaling::Given(_) => Some("scale=scales".to_owned()),
    }
}
