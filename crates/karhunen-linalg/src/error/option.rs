//! Options and their values in errors, independent of the spelling of a surface.

/// An option or argument, by the name of its field or parameter in Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OptionName(&'static str);

impl OptionName {
    /// Returns the option with the given field name.
    pub const fn new(field: &'static str) -> Self {
        Self(field)
    }

    /// Returns the name of the field.
    pub const fn field(self) -> &'static str {
        self.0
    }
}

/// Defines one constant per option, and the list of all options.
macro_rules! options {
    ($($constant:ident = $field:literal),* $(,)?) => {
        $(
            #[doc = concat!("`", $field, "`.")]
            pub const $constant: OptionName = OptionName::new($field);
        )*
        /// All options.
        pub const ALL: &[OptionName] = &[$($constant),*];
    };
}

/// The options in errors of this crate.
pub mod options {
    use super::OptionName;

    options! {
        ALPHA = "alpha",
        ANGLE_TOL = "angle_tol",
        BATCH_SIZE = "batch_size",
        BLOCK_SIZE = "block_size",
        CENTER = "center",
        COEF0 = "coef0",
        COLUMN = "column",
        COLUMN_SCALE = "column_scale",
        CONFORMAL = "conformal",
        DEGREE = "degree",
        DUPLICATES = "duplicates",
        EARLY_STOPPING = "early_stopping",
        ENTRY_WEIGHTS = "entry_weights",
        ERROR_BARS = "error_bars",
        FEATURE_WEIGHTS = "feature_weights",
        FORGET = "forget",
        GAMMA = "gamma",
        GRADIENT_TOL = "gradient_tol",
        HALF_LIFE = "half_life",
        HYPERPRIOR = "hyperprior",
        INNER_ITERATIONS = "inner_iterations",
        KERNEL = "kernel",
        LANDMARKS = "landmarks",
        LEARN_MEAN_PRIOR = "learn_mean_prior",
        LEVEL = "level",
        MAX_ITER = "max_iter",
        MEAN = "mean",
        MEAN_PRIOR = "mean_prior",
        MEMORY_LIMIT = "memory_limit",
        METHOD = "method",
        NOISE = "noise",
        NOISE_VARIANCE = "noise_variance",
        N_COMPONENTS = "n_components",
        N_FEATURES = "n_features",
        N_FOLDS = "n_folds",
        N_LANDMARKS = "n_landmarks",
        N_SAMPLES = "n_samples",
        N_OVERSAMPLES = "n_oversamples",
        N_STARTS = "n_starts",
        N_THREADS = "n_threads",
        ONLINE_RULE = "online_rule",
        PRE_IMAGE = "pre_image",
        PRIOR_VARIANCE = "prior_variance",
        REFIT = "refit",
        REGULARIZATION = "regularization",
        RMSE_TOL = "rmse_tol",
        ROW = "row",
        ROW_OFFSETS = "row_offsets",
        SAMPLE_WEIGHTS = "sample_weights",
        SCALE = "scale",
        SEED = "seed",
        SHARE = "share",
        SOLVER = "solver",
        START = "start",
        STEP = "step",
        TIME_LIMIT = "time_limit",
        TOL = "tol",
        WARM_ROWS = "warm_rows",
        WEIGHTING = "weighting",
        WHITEN = "whiten",
    }
}

/// The value of an option, or its absence.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum OptionValue {
    /// A number.
    Number(f64),
    /// An integer.
    Whole(i128),
    /// A Boolean.
    Flag(bool),
    /// A named choice.
    Name {
        /// Its name in Rust and on the command line.
        name: &'static str,
        /// Its name in Python.
        python: &'static str,
    },
    /// A named choice with a number: `weighted:0.5`.
    Sized(&'static str, f64),
    /// Two numbers: `22:3`.
    Pair(f64, f64),
    /// The choice `all`: as many as exist.
    All,
    /// Text of the user.
    Text(String),
    /// Several texts of the user.
    Texts(Vec<String>),
    /// A value that messages omit.
    Given,
    /// No value.
    NotGiven,
}

impl OptionValue {
    /// Returns a choice with the same name on every surface.
    pub const fn name(name: &'static str) -> Self {
        Self::Name { name, python: name }
    }
}

impl From<f64> for OptionValue {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<usize> for OptionValue {
    fn from(value: usize) -> Self {
        Self::Whole(value as i128)
    }
}

impl From<u64> for OptionValue {
    fn from(value: u64) -> Self {
        Self::Whole(value.into())
    }
}

impl From<i128> for OptionValue {
    fn from(value: i128) -> Self {
        Self::Whole(value)
    }
}

impl From<bool> for OptionValue {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl<V: Into<Self>> From<Option<V>> for OptionValue {
    fn from(value: Option<V>) -> Self {
        value.map_or(Self::NotGiven, Into::into)
    }
}

impl std::fmt::Display for OptionValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(value) => write!(f, "{}", Digits(*value)),
            Self::Whole(value) => write!(f, "{value}"),
            Self::Flag(value) => write!(f, "{value}"),
            Self::Name { name, .. } => f.write_str(name),
            Self::Sized(name, size) => write!(f, "{name}:{}", Digits(*size)),
            Self::Pair(first, second) => write!(f, "{}:{}", Digits(*first), Digits(*second)),
            Self::Text(text) => f.write_str(text),
            Self::Texts(texts) => write!(f, "{texts:?}"),
            Self::All => f.write_str("all"),
            Self::Given => f.write_str("given"),
            Self::NotGiven => f.write_str("none"),
        }
    }
}

/// Formats a number with the fewest digits that identify it: `2`, `0.5`, `1e-300`.
struct Digits(f64);

impl std::fmt::Display for Digits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(value) = *self;
        if value.fract() == 0.0 && value.abs() < 1e15 { write!(f, "{value}") } else { write!(f, "{value:?}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_short() {
        let shown = [2.0, -0.5, 1e-300, 1e18, f64::NAN].map(|value| OptionValue::from(value).to_string());
        assert_eq!(shown, ["2", "-0.5", "1e-300", "1e18", "NaN"]);
        assert_eq!(OptionValue::Pair(22.0, 3.5).to_string(), "22:3.5");
        assert_eq!(OptionValue::Sized("weighted", 0.5).to_string(), "weighted:0.5");
        assert_eq!(OptionValue::from(None::<f64>), OptionValue::NotGiven);
    }
}
