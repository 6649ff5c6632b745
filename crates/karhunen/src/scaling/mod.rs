//! Centring and scaling of the columns, as options of a fit.

use crate::choice::{Choice, Named};
use crate::error::{Error, OptionName, OptionValue, Result, options};

/// The value that a fit subtracts from each column.
///
/// Variances are second moments about it, with the divisor of the weighting: with [`Centring::None`] about zero, with
/// [`Centring::Given`] about the given values, as R's `prcomp(center = v)`.
///
/// ```
/// use karhunen::pca::Centring;
/// assert_eq!(Centring::from(true), Centring::Mean);
/// assert_eq!(Centring::from(vec![1.0, 2.0]), Centring::Given(vec![1.0, 2.0]));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Centring {
    /// Nothing: the fit is a truncated singular value decomposition.
    None,
    /// The weighted mean.
    #[default]
    Mean,
    /// One finite number for each column. Sparse data stay sparse.
    Given(Vec<f64>),
}

/// The number by which a fit divides each column.
///
/// Standard deviations are those about the value that is subtracted, with the divisor of the weighting. A column without
/// variance is divided by one.
///
/// ```
/// use karhunen::pca::Scaling;
/// assert_eq!(Scaling::from(true), Scaling::Deviation);
/// assert_eq!(Scaling::from(vec![1.0, 2.0]), Scaling::Given(vec![1.0, 2.0]));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Scaling {
    /// One: columns keep their units.
    #[default]
    None,
    /// The standard deviation: PCA of the correlation matrix, as R's `prcomp(scale. = TRUE)`.
    Deviation,
    /// The square root of the standard deviation, a compromise between none and [`Scaling::Deviation`]: van den Berg et al.
    /// (2006), doi:10.1186/1471-2164-7-142, table 1.
    Pareto,
    /// The largest less the smallest value of the rows of positive weight; zeros that are not stored count. It takes a pass
    /// over the rows (van den Berg et al. 2006, table 1).
    Range,
    /// `sqrt(2 f (1 - f))` with `f` half of the mean: the standard deviation of counts 0, 1, 2 of an allele of frequency
    /// `f` in Hardy-Weinberg equilibrium, Patterson, Price & Reich (2006), doi:10.1371/journal.pgen.0020190, equation 3. The
    /// mean is the value that is subtracted, if centres are given. It must lie within 0 and 2; at either end the column is
    /// divided by one.
    Binomial,
    /// One finite number > 0 for each column.
    Given(Vec<f64>),
}

impl Choice for Scaling {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::None, "none", "Columns keep their units"),
        Named::new(Self::Deviation, "deviation", "The standard deviation: PCA of the correlation matrix")
            .in_python("std"),
        Named::new(Self::Pareto, "pareto", "The square root of the standard deviation"),
        Named::new(Self::Range, "range", "The largest less the smallest value; one pass more"),
        Named::new(Self::Binomial, "binomial", "sqrt(2 f (1 - f)), for counts of alleles of frequency f"),
        Named::new(Self::Given(Vec::new()), "given", "One number for each column").with_number(),
    ];

    fn value(&self) -> OptionValue {
        match self {
            Self::None => false.into(),
            Self::Deviation => true.into(),
            Self::Given(_) => OptionValue::Given,
            Self::Pareto | Self::Range | Self::Binomial => {
                let Named { name, python, .. } = *self.named();
                OptionValue::Name { name, python }
            }
        }
    }
}

impl Centring {
    /// The values, if they are given.
    pub fn given(&self) -> Option<&[f64]> {
        if let Self::Given(values) = self { Some(values) } else { None }
    }

    /// The choice as errors carry it.
    pub(crate) fn value(&self) -> OptionValue {
        match self {
            Self::None => false.into(),
            Self::Mean => true.into(),
            Self::Given(_) => OptionValue::Given,
        }
    }

    /// Checks that given values are finite, and one for each of `p` columns.
    ///
    /// # Errors
    /// [`Error::Shape`]; [`Error::ColumnValue`].
    pub(crate) fn check(&self, p: usize) -> Result<()> {
        let Some(values) = self.given() else { return Ok(()) };
        check_length("the given centres", values, p)?;
        let rule = "it is subtracted, so it must be finite";
        check_values(options::CENTER, values, |center| center.is_finite(), rule)
    }
}

impl Scaling {
    /// The values, if they are given.
    pub fn given(&self) -> Option<&[f64]> {
        if let Self::Given(values) = self { Some(values) } else { None }
    }

    /// Checks that given values are finite, positive, and one for each of `p` columns.
    ///
    /// # Errors
    /// [`Error::Shape`]; [`Error::ColumnValue`].
    pub(crate) fn check(&self, p: usize) -> Result<()> {
        let Some(values) = self.given() else { return Ok(()) };
        check_length("the given scales", values, p)?;
        let rule = "the column is divided by it, so it must be finite and greater than zero";
        check_values(options::SCALE, values, |scale| scale > 0.0 && scale.is_finite(), rule)
    }
}

fn check_length(what: &'static str, values: &[f64], expected: usize) -> Result<()> {
    let found = values.len();
    if found == expected { Ok(()) } else { Err(Error::Shape { what, axis: "values", found, expected }) }
}

fn check_values(
    option: OptionName,
    values: &[f64],
    is_valid: fn(f64) -> bool,
    rule: &'static str,
) -> Result<()> {
    match values.iter().position(|value| !is_valid(*value)) {
        Some(column) => Err(Error::ColumnValue { option, column, value: values[column], rule }),
        None => Ok(()),
    }
}

impl From<bool> for Centring {
    /// The mean, or nothing.
    fn from(center: bool) -> Self {
        if center { Self::Mean } else { Self::None }
    }
}

impl From<bool> for Scaling {
    /// The standard deviation, or nothing.
    fn from(scale: bool) -> Self {
        if scale { Self::Deviation } else { Self::None }
    }
}

impl From<Vec<f64>> for Centring {
    fn from(values: Vec<f64>) -> Self {
        Self::Given(values)
    }
}

impl From<Vec<f64>> for Scaling {
    fn from(values: Vec<f64>) -> Self {
        Self::Given(values)
    }
}

mod divisor;
#[cfg(feature = "serde")]
mod stored;

pub(crate) use divisor::Scales;
/// Tests for a count out of two, which binomial scales need, or the rounded mean of such counts.
pub(crate) fn is_count(value: f64) -> bool {
    const ROUNDING: f64 = 1e-3;
    (-ROUNDING..=2.0 + ROUNDING).contains(&value)
}
