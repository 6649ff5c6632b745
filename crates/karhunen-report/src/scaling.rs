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

/// The option on the command line and the argument in Python, if they are needed.
pub(crate) fn option(scaling: &Scaling) -> Option<[String; 2]> {
    let named = scaling.named();
    let [flag, argument] = match scaling {
        Scaling::None => return None,
        Scaling::Deviation => ["--scale".to_owned(), "scale=True".to_owned()],
        Scaling::Pareto | Scaling::Range | Scaling::Binomial => {
            [format!("--scale={}", named.name), format!("scale=\"{}\"", named.python)]
        }
        Scaling::Given(_) => ["--scale-values SCALES".to_owned(), "scale=scales".to_owned()],
    };
    Some([flag, argument])
}
