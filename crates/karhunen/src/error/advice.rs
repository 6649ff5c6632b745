//! What to do about an error.

use crate::error::memory::{rounded_up, size};
use crate::error::option::{OptionName, OptionValue, options};
use crate::error::phrase::{Phrase, Surface};

/// What to do about an error.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Advice {
    /// Raise one of some options.
    Raise(Vec<OptionName>),
    /// Ask for fewer components.
    FewerComponents,
    /// Take fewer features of an approximation.
    FewerFeatures,
    /// Ask for fewer threads.
    FewerThreads,
    /// Choose another kernel.
    AnotherKernel,
    /// Choose another route.
    AnotherSolver,
    /// Choose this route, which needs so many bytes.
    Solver {
        /// The route.
        route: Box<OptionValue>,
        /// Its need of memory.
        bytes: f64,
    },
    /// Set the option `memory_limit` to at least so many bytes.
    MemoryLimit {
        /// The smallest limit that suffices.
        bytes: f64,
    },
    /// Give the process more memory.
    RaiseLimit,
    /// Make a sparse matrix dense whose columns are far from zero, or choose the route `svd`.
    MakeDense {
        /// Whether the route `svd` helps as well.
        svd: bool,
    },
    /// Anything else.
    Do(Phrase),
}

impl Advice {
    /// As a surface writes it.
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
                format!("say {}, which needs {}", surface.setting(options::SOLVER, route), size(*bytes))
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
                    |svd| format!("{problem}, or say {svd} if it has at least as many rows as columns"),
                )
            }
            Self::Do(phrase) => phrase.text_for(surface),
        }
    }

    /// Several, of which one will do.
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
