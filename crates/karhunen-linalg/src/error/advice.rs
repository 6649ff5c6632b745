//! Remedies for errors.

use crate::error::memory::{rounded_up, size};
use crate::error::option::{OptionName, OptionValue, options};
use crate::error::phrase::{Phrase, Surface};

/// A remedy for an error.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Advice {
    /// Raise the value of one of these options.
    Raise(Vec<OptionName>),
    /// Request fewer components.
    FewerComponents,
    /// Use fewer features in an approximation.
    FewerFeatures,
    /// Request fewer threads.
    FewerThreads,
    /// Choose another kernel.
    AnotherKernel,
    /// Choose another route.
    AnotherSolver,
    /// Choose this route, whose memory estimate is `bytes`.
    Solver {
        /// The route.
        route: Box<OptionValue>,
        /// Memory estimate of the route in bytes.
        bytes: f64,
    },
    /// Raise the option `memory_limit` to at least `bytes`.
    MemoryLimit {
        /// Smallest sufficient limit, in bytes.
        bytes: f64,
    },
    /// Raise the memory limit of the process.
    RaiseLimit,
    /// Convert a sparse matrix, whose columns are far from zero, to a dense one, or choose the route `svd`.
    MakeDense {
        /// True if the route `svd` is an alternative remedy.
        svd: bool,
    },
    /// Any other remedy.
    Do(Phrase),
}

impl Advice {
    /// Formats the remedy for a surface.
    pub fn text_for(&self, surface: &dyn Surface) -> String {
        match self {
            Self::Raise(options) => {
                let options: Vec<_> = options.iter().map(|option| surface.option(*option)).collect();
                format!("raise {}", options.join(" or "))
            }
            Self::FewerComponents => {
                format!("ask for fewer components ({})", surface.option(options::N_COMPONENTS))
            }
            Self::FewerFeatures => format!("take fewer features ({})", surface.option(options::N_FEATURES)),
            Self::FewerThreads => format!("ask for fewer ({})", surface.option(options::N_THREADS)),
            Self::AnotherKernel => "choose another kernel".to_owned(),
            Self::AnotherSolver => format!("choose another {}", surface.option(options::SOLVER)),
            Self::Solver { route, bytes } => {
                format!("use {}, which needs {}", surface.setting(options::SOLVER, route), size(*bytes))
            }
            Self::MemoryLimit { bytes } => format!(
                "set {} to at least {}",
                surface.option(options::MEMORY_LIMIT),
                size(rounded_up(*bytes))
            ),
            Self::RaiseLimit => "raise the limit of memory".to_owned(),
            Self::MakeDense { svd } => {
                let problem = "centring costs this sparse matrix its digits, because its columns are far from zero: give it \
                               as dense";
                let svd = svd.then(|| surface.setting(options::SOLVER, &OptionValue::name("svd")));
                svd.map_or_else(
                    || problem.to_owned(),
                    |svd| format!("{problem}, or use {svd} if it has at least as many rows as columns"),
                )
            }
            Self::Do(phrase) => phrase.text_for(surface),
        }
    }

    /// Formats alternative remedies for a surface, joined by `or`.
    pub fn text_for_all(advice: &[Self], surface: &dyn Surface) -> String {
        let ways: Vec<_> = advice.iter().map(|way| way.text_for(surface)).collect();
        ways.join(", or ")
    }
}

impl<P: Into<Phrase>> From<P> for Advice {
    fn from(phrase: P) -> Self {
        Self::Do(phrase.into())
    }
}
