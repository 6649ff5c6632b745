//! The options of an incremental fit.

use std::ops::RangeInclusive;

use crate::choice::{Choice, Named, plain_names};
use crate::error::{Error, OptionName, OptionValue, Result, options};
use crate::growth::More;
use crate::moments::check_size;
use crate::pca::{NComponents, Pca};
use crate::weights::Weighting;

/// The range of given scales, whose squares must not leave the range of f64.
const SCALES: RangeInclusive<f64> = 1e-50..=1e50;

/// The statistics that an incremental fit keeps of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncrementalMethod {
    /// The scatter matrix if two of them fit in the memory limit, else the sketch.
    #[default]
    Auto,
    /// The scatter matrix, shape (n_features, n_features): exact.
    Scatter,
    /// The leading directions, and a probe that measures the error.
    Sketch,
}

impl Choice for IncrementalMethod {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Auto, "auto", "Scatter if two matrices of all columns fit in memory, else sketch"),
        Named::new(Self::Scatter, "scatter", "The covariance of all columns: exact"),
        Named::new(Self::Sketch, "sketch", "The leading directions, with a measured error"),
    ];
}

plain_names!(IncrementalMethod);

/// PCA of rows that come in batches: the options as plain data, and [`IncrementalPca::start`].
///
/// ```
/// use karhunen::incremental::IncrementalPca;
/// use karhunen::source::Block;
/// use karhunen::{Dense, Run};
/// let run = Run::default();
/// let mut fit = IncrementalPca::new(1).start(2)?;
/// for batch in [&[1.0, 2.0, 3.0, 4.0][..], &[5.0, 6.0]] {
///     let rows = Dense::row_major(batch, batch.len() / 2, 2)?;
///     fit.push(&Block::Dense(rows), None, &run)?;
/// }
/// let model = fit.model(&run)?;
/// assert_eq!(model.pca().mean(), [3.0, 4.0]);
/// assert!((model.pca().explained_variance()[0] - 8.0).abs() < 1e-12);
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct IncrementalPca {
    /// Number of components to keep; a count for a sketch. A model has fewer components while there are fewer rows;
    /// with a sketch, also while the rows vary in fewer directions.
    pub n_components: NComponents,
    /// Subtract the mean of each column.
    pub center: bool,
    /// Divide each column by its standard deviation, with the divisor of the weighting. A sketch needs fixed
    /// scales: see `column_scale` and `warm_rows`.
    pub scale: bool,
    /// Meaning of the sample weights.
    pub weighting: Weighting,
    /// The statistics that are kept of the rows.
    pub method: IncrementalMethod,
    /// Directions of a sketch beyond the components; max(n_components + 10, 32) if `None`.
    pub n_oversamples: Option<usize>,
    /// Rows of one update of a sketch; if `None`, for l directions max(2 l, 64) dense rows or max(4 l, 256)
    /// sparse ones.
    pub batch_size: Option<usize>,
    /// Factor of the weights of all earlier rows when a batch comes in, above 0 and at most 1. Below 1, the
    /// result depends on how the rows are divided into batches.
    pub forget: f64,
    /// Weight of later rows after which the weight of a row has halved: with unit weights, a number of rows.
    /// Unlike `forget` it does not depend on the batches. No decay if `None`.
    pub half_life: Option<f64>,
    /// For a sketch with `scale`: the positive scale of each column, used from the first row on.
    pub column_scale: Option<Vec<f64>>,
    /// For a sketch with `scale` but without `column_scale`: number of first rows whose standard deviations become
    /// the scales, dense and sparse batches alike; rows of weight zero do not count. These rows are kept in memory until
    /// then; fewer are used if these take half of the memory limit. Where their weights are too small for the divisor of the
    /// weighting, it is their sum.
    /// Later rows do not change the scales ([`crate::incremental::Note::ScaleFrozen`]).
    pub warm_rows: usize,
    /// Bytes that decide the method `auto`: scatter if two matrices of shape (n_features, n_features) fit.
    pub memory_limit: u64,
    /// Seed of the probe of a sketch, and of iterations.
    pub seed: u64,
    #[doc(hidden)]
    #[cfg_attr(feature = "serde", serde(skip))]
    pub more: More,
}

impl Default for IncrementalPca {
    fn default() -> Self {
        Self {
            n_components: NComponents::All,
            center: true,
            scale: false,
            weighting: Weighting::Frequency,
            method: IncrementalMethod::Auto,
            n_oversamples: None,
            batch_size: None,
            forget: 1.0,
            half_life: None,
            column_scale: None,
            warm_rows: 10_000,
            memory_limit: 512_000_000,
            seed: 0,
            more: More,
        }
    }
}

impl IncrementalPca {
    /// Keeps `n_components` components; all other options at their defaults.
    pub fn new(n_components: usize) -> Self {
        Self { n_components: NComponents::Count(n_components), ..Self::default() }
    }

    /// The engine for `n_features` columns, never [`IncrementalMethod::Auto`].
    ///
    /// ```
    /// use karhunen::incremental::{IncrementalMethod, IncrementalPca};
    /// let pca = IncrementalPca::new(10);
    /// assert_eq!(pca.method_for(5_000), IncrementalMethod::Scatter);
    /// assert_eq!(pca.method_for(6_000), IncrementalMethod::Sketch);
    /// ```
    pub fn method_for(&self, n_features: usize) -> IncrementalMethod {
        let fits = 16.0 * (n_features as f64).powi(2) <= self.memory_limit as f64;
        match self.method {
            IncrementalMethod::Auto if fits && self.column_scale.is_none() => IncrementalMethod::Scatter,
            IncrementalMethod::Auto => IncrementalMethod::Sketch,
            method => method,
        }
    }

    /// The first option in which `other` differs, with its value here and there. The memory limit is not
    /// compared: it decides the method alone.
    ///
    /// ```
    /// use karhunen::error::options;
    /// use karhunen::incremental::IncrementalPca;
    /// let (here, there) = (IncrementalPca::new(3), IncrementalPca { forget: 0.5, ..IncrementalPca::new(3) });
    /// let (option, mine, theirs) = here.difference(&there).unwrap();
    /// assert_eq!((option, mine, theirs), (options::FORGET, 1.0.into(), 0.5.into()));
    /// assert_eq!(here.difference(&IncrementalPca { memory_limit: 1, ..here.clone() }), None);
    /// ```
    pub fn difference(&self, other: &Self) -> Option<(OptionName, OptionValue, OptionValue)> {
        let (a, b) = (self, other);
        let scales = |scales: &Option<Vec<f64>>| match scales {
            Some(_) => OptionValue::Given,
            None => OptionValue::NotGiven,
        };
        let pairs = [
            (options::METHOD, a.method == b.method, a.method.value(), b.method.value()),
            (options::CENTER, a.center == b.center, a.center.into(), b.center.into()),
            (options::SCALE, a.scale == b.scale, a.scale.into(), b.scale.into()),
            (options::WEIGHTING, a.weighting == b.weighting, a.weighting.value(), b.weighting.value()),
            (options::FORGET, a.forget == b.forget, a.forget.into(), b.forget.into()),
            (options::HALF_LIFE, a.half_life == b.half_life, a.half_life.into(), b.half_life.into()),
            (options::SEED, a.seed == b.seed, a.seed.into(), b.seed.into()),
            (
                options::COLUMN_SCALE,
                a.column_scale == b.column_scale,
                scales(&a.column_scale),
                scales(&b.column_scale),
            ),
            (
                options::N_COMPONENTS,
                a.n_components == b.n_components,
                a.n_components.value(),
                b.n_components.value(),
            ),
            (
                options::N_OVERSAMPLES,
                a.n_oversamples == b.n_oversamples,
                a.n_oversamples.into(),
                b.n_oversamples.into(),
            ),
            (options::BATCH_SIZE, a.batch_size == b.batch_size, a.batch_size.into(), b.batch_size.into()),
            (options::WARM_ROWS, a.warm_rows == b.warm_rows, a.warm_rows.into(), b.warm_rows.into()),
        ];
        let (option, _, mine, theirs) = pairs.into_iter().find(|(_, same, ..)| !same)?;
        Some((option, mine, theirs))
    }

    /// Checks every rule of the options for `p` columns.
    pub(super) fn check(&self, p: usize) -> Result<()> {
        if p == 0 {
            return Err(Error::Empty { n_samples: 0, n_features: 0 });
        }
        check_size((0, p))?;
        let refuse = |option, value: OptionValue, rule: &'static str| Err(Error::option(option, value, rule));
        self.n_components.check_fraction()?;
        if let Some(k) = self.n_components.given().filter(|&k| k > p) {
            let rule = format!("there are {p} columns, and no more components than columns");
            return Err(Error::option(options::N_COMPONENTS, k, rule));
        }
        match (self.forget, self.half_life) {
            (forget, _) if !(forget > 0.0 && forget <= 1.0) => {
                return refuse(options::FORGET, forget.into(), "it lies above 0 and is at most 1");
            }
            (_, Some(rows)) if !(rows > 0.0 && rows.is_finite()) => {
                return refuse(options::HALF_LIFE, rows.into(), "it is a positive number of rows");
            }
            (forget, Some(rows)) if forget < 1.0 => {
                let rule = "old rows are forgotten by one rule: leave out the half-life, or `forget`";
                return refuse(options::HALF_LIFE, rows.into(), rule);
            }
            _ => {}
        }
        if self.batch_size == Some(0) {
            return refuse(options::BATCH_SIZE, 0usize.into(), "an update takes at least one row");
        }
        if self.warm_rows < 2 {
            return refuse(options::WARM_ROWS, self.warm_rows.into(), "one row has no standard deviation");
        }
        self.check_method(p)
    }

    /// Checks the options that belong to one method.
    fn check_method(&self, p: usize) -> Result<()> {
        let refuse = |option, value: OptionValue, rule: &'static str| Err(Error::option(option, value, rule));
        let is_sketch = self.method_for(p) == IncrementalMethod::Sketch;
        let scales = match &self.column_scale {
            None => None,
            Some(_) if !self.scale => {
                return refuse(options::COLUMN_SCALE, OptionValue::Given, "columns are scaled with `scale`");
            }
            Some(_) if !is_sketch => {
                let rule = "the method scatter takes the scales from all rows";
                return refuse(options::COLUMN_SCALE, OptionValue::Given, rule);
            }
            Some(scales) => Some(scales),
        };
        if let Some(scales) = scales {
            if scales.len() != p {
                let (found, expected) = (scales.len(), p);
                return Err(Error::Shape { what: "the column scales", axis: "values", found, expected });
            }
            if let Some(scale) = scales.iter().find(|scale| !SCALES.contains(*scale)) {
                return refuse(options::COLUMN_SCALE, (*scale).into(), "a scale lies between 1e-50 and 1e50");
            }
        }
        match self.n_components {
            NComponents::Count(_) => {}
            _ if is_sketch => {
                let rule = "a sketch needs the number of components";
                return refuse(options::N_COMPONENTS, OptionValue::NotGiven, rule);
            }
            _ => {}
        }
        if is_sketch && self.scale && scales.is_none() && self.forget < 1.0 {
            let rule =
                "a sketch that forgets by batches needs fixed scales: give `column_scale`, or a half-life";
            return refuse(options::FORGET, self.forget.into(), rule);
        }
        Ok(())
    }

    /// The options of a fit of all rows at once.
    pub(super) fn pca(&self, n_components: NComponents) -> Pca {
        let Self { center, scale, weighting, seed, .. } = *self;
        let (center, scale) = (center.into(), scale.into());
        Pca { n_components, center, scale, weighting, seed, ..Pca::default() }
    }
}
