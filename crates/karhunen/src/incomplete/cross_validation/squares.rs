//! Sums of squares of entries by column.

use crate::error::Result;
use crate::incomplete::data::{ColumnScales, Observed};
use crate::incomplete::options::MeanMode;
use crate::scalar::Scalar;

/// Sums that the data alone determine: over the held-out entries of every fold, and at last over all entries.
pub(super) struct Sums {
    pub(super) parts: Vec<ColumnSums>,
}

impl Sums {
    /// Number of columns of all parts.
    pub(super) fn n_values(&self) -> usize {
        self.parts.iter().map(|part| part.columns.len()).sum()
    }

    /// Cuts [`Sums::n_values`] values into the values of each part.
    pub(super) fn parts<'a>(&self, values: &'a [f64]) -> Vec<&'a [f64]> {
        let mut rest = values;
        let cut = |part: &ColumnSums| {
            let (of_part, after) = rest.split_at(part.columns.len());
            rest = after;
            of_part
        };
        self.parts.iter().map(cut).collect()
    }

    /// The folds, and all entries.
    pub(super) fn split(&self) -> (&[ColumnSums], &ColumnSums) {
        let last = self.parts.len() - 1;
        (&self.parts[..last], &self.parts[last])
    }
}

/// Sums over the entries of some columns each, in the units of the scales.
#[derive(Default)]
pub(super) struct ColumnSums {
    /// The columns, ascending.
    pub(super) columns: Vec<u32>,
    /// Sum of the weights of the entries.
    pub(super) weights: Vec<f64>,
    /// Sum of squares about the means of all entries.
    pub(super) spread: Vec<f64>,
    /// Sum of squares about the means of the entries that are fitted.
    pub(super) of_means: Vec<f64>,
}

impl ColumnSums {
    /// Sums over `entries` of some columns, about the means of all entries and about the means of the fitted entries.
    pub(super) fn of<T: Scalar>(
        (entries, columns): (&Observed<T>, Vec<u32>),
        [of_all, of_fitted]: [&[f64]; 2],
        scales: &ColumnScales,
    ) -> Result<Self> {
        let about = |means: &[f64]| squares(entries, &columns, scales, |_, column| Ok(means[column]));
        Ok(Self {
            weights: columns.iter().map(|column| entries.columns().weight(*column as usize)).collect(),
            spread: about(of_all)?,
            of_means: about(of_fitted)?,
            columns,
        })
    }

    /// Sum of all weights.
    pub(super) fn weight(&self) -> f64 {
        self.weights.iter().sum()
    }
}

/// The columns with entries.
pub(super) fn columns_of<T: Scalar>(entries: &Observed<T>) -> Vec<u32> {
    let columns = (0..entries.n_features()).filter(|column| entries.n_observed_in_column(*column) > 0);
    columns.map(|column| column as u32).collect()
}

/// Weighted sums of the squared differences of the entries of some columns and their predictions, in the units of `scales`.
/// Column by column, so that they have the same bits whatever else is computed with them.
pub(super) fn squares<T: Scalar>(
    entries: &Observed<T>,
    columns: &[u32],
    scales: &ColumnScales,
    predict: impl Fn(usize, usize) -> Result<f64>,
) -> Result<Vec<f64>> {
    columns
        .iter()
        .map(|column| {
            let (line, column) = (entries.columns().line(*column as usize), *column as usize);
            let mut sum = 0.0;
            for (e, (row, value)) in line.indices.iter().zip(line.values).enumerate() {
                // Weights of columns hold the multiplicities of the rows.
                let weight = line.weights.map_or(1.0, |weights| weights[e].to_f64());
                let away = scales.factor(column) * (predict(*row as usize, column)? - value.to_f64());
                sum += weight * away * away;
            }
            Ok(sum)
        })
        .collect()
}

/// The weighted mean of the entries of each column, or zero without a mean. A column without entries has mean zero.
pub(super) fn means<T: Scalar>(entries: &Observed<T>, mean: MeanMode) -> Vec<f64> {
    (0..entries.n_features())
        .map(|column| {
            let line = entries.columns().line(column);
            let Some(first) = line.values.first().filter(|_| mean != MeanMode::None) else { return 0.0 };
            // About the first entry, so that the mean of equal entries is their value.
            let origin = first.to_f64();
            let (mut sum, mut total) = (0.0, 0.0);
            for (e, value) in line.values.iter().enumerate() {
                let weight = line.weights.map_or(1.0, |weights| weights[e].to_f64());
                sum += weight * (value.to_f64() - origin);
                total += weight;
            }
            origin + sum / total
        })
        .collect()
}
