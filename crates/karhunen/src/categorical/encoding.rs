//! The columns of a fit, and how rows become a sparse matrix of standardised numbers and indicators.

use std::collections::HashMap;

use super::column::{Column, ColumnValues, n_rows};
use crate::error::{CategoryFault, Error, Result};
use crate::linalg::SparseMatrix;
use crate::memory;
use crate::scalar::largest;

/// The category of rows whose value is missing.
const MISSING: &str = "missing";

/// A column of a fit.
#[derive(Clone, Debug, PartialEq)]
pub enum Variable {
    /// A column of numbers.
    Numbers {
        /// Its name.
        name: String,
        /// The weighted mean.
        mean: f64,
        /// The weighted standard deviation, with the divisor sum of weights.
        deviation: f64,
    },
    /// A column of categories.
    Categories {
        /// Its name.
        name: String,
        /// The categories that rows of the fit had; the last holds missing values if `has_missing`.
        categories: Vec<String>,
        /// True if rows of the fit lacked a value.
        has_missing: bool,
    },
}

impl Variable {
    /// The name of the column.
    pub fn name(&self) -> &str {
        match self {
            Self::Numbers { name, .. } | Self::Categories { name, .. } => name,
        }
    }

    /// The categories; `None` of a column of numbers.
    pub fn categories(&self) -> Option<&[String]> {
        match self {
            Self::Numbers { .. } => None,
            Self::Categories { categories, .. } => Some(categories),
        }
    }

    /// The variable of a column of numbers of rows with these shares of the weight.
    fn of_numbers(column: &Column, shares: &[f64]) -> Result<Self> {
        let values = column.numbers()?;
        let with_weight = || values.iter().zip(shares).filter(|(_, share)| **share > 0.0);
        // A reference among the values keeps the digits of those far from zero.
        let reference = with_weight().next().map_or(0.0, |(value, _)| *value);
        if with_weight().all(|(value, _)| *value == reference) {
            return Err(Error::Categories(CategoryFault::Constant { column: column.name.clone() }));
        }
        let moved: f64 = with_weight().map(|(value, share)| share * (value - reference)).sum();
        let deviation =
            root_mean_square(|| with_weight().map(|(value, share)| (value - reference - moved, *share)));
        if !deviation.is_finite() {
            return Err(Error::Categories(CategoryFault::Range { column: column.name.clone() }));
        }
        Ok(Self::Numbers { name: column.name.clone(), mean: reference + moved, deviation })
    }

    /// The variable of a column of categories.
    fn of_categories(column: &Column) -> Result<Self> {
        let (names, codes) = column.categories()?;
        let mut occurs = vec![false; names.len()];
        codes.iter().flatten().for_each(|code| occurs[*code as usize] = true);
        let mut categories: Vec<String> =
            names.iter().zip(&occurs).filter(|(_, occurs)| **occurs).map(|(name, _)| name.clone()).collect();
        let has_missing = codes.contains(&None);
        if has_missing {
            let mut label = MISSING.to_owned();
            while categories.contains(&label) {
                label.push('_');
            }
            categories.push(label);
        }
        Ok(Self::Categories { name: column.name.clone(), categories, has_missing })
    }
}

/// The variables of a fit. In matrices, the columns of numbers come first, then the indicators of all categories.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Encoding {
    /// In the order of the table.
    pub(super) variables: Vec<Variable>,
}

impl Encoding {
    /// Finds the categories and the standards of numbers of rows with these shares of the weight.
    ///
    /// # Errors
    /// [`Error::Categories`] for numbers that are constant or not finite, and for codes without names.
    pub(super) fn of(columns: &[Column], shares: &[f64]) -> Result<Self> {
        let variable = |column: &Column| match column.values {
            ColumnValues::Numbers(_) => Variable::of_numbers(column, shares),
            ColumnValues::Categories { .. } => Variable::of_categories(column),
        };
        Ok(Self { variables: columns.iter().map(variable).collect::<Result<_>>()? })
    }

    /// Number of columns of numbers.
    pub(super) fn n_numbers(&self) -> usize {
        self.variables.iter().filter(|variable| variable.categories().is_none()).count()
    }

    /// The categories of each variable of categories.
    pub(super) fn of_categories(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.variables.iter().filter_map(|variable| Some((variable.name(), variable.categories()?)))
    }

    /// The first category of each variable of categories, and the number of all categories.
    pub(super) fn starts(&self) -> Vec<usize> {
        let mut starts = vec![0];
        let ends = self.of_categories().scan(0, |end, (_, categories)| {
            *end += categories.len();
            Some(*end)
        });
        starts.extend(ends);
        starts
    }

    /// The names of the columns of matrices: names of the numbers, then `column=category`.
    pub(super) fn feature_names(&self) -> Vec<String> {
        let numbers = self.variables.iter().filter(|variable| variable.categories().is_none());
        let of_variable = |(name, categories): (&str, &[String])| {
            categories.iter().map(|category| format!("{name}={category}")).collect::<Vec<_>>()
        };
        let numbers = numbers.map(|variable| variable.name().to_owned());
        numbers.chain(self.of_categories().flat_map(of_variable)).collect()
    }

    /// The standardised numbers and the indicators of rows, shape (rows, numbers and categories).
    ///
    /// # Errors
    /// [`Error::Categories`] if the columns or their order differ from the fit, a number is not finite, or a row
    /// has a category that no row of the fit had; [`Error::Shape`] for another number of columns; [`Error::Memory`].
    pub(super) fn matrix(&self, columns: &[Column]) -> Result<SparseMatrix<f64>> {
        self.matrix_of(columns, false)
    }

    /// As [`Encoding::matrix`]; with `ignore_unknown`, categories that no row of the fit had give indicators of zero.
    pub(super) fn matrix_of(&self, columns: &[Column], ignore_unknown: bool) -> Result<SparseMatrix<f64>> {
        let n = n_rows(columns)?;
        self.check_columns(columns)?;
        let (q, n_columns) = (columns.len(), self.n_numbers() + self.starts().last().copied().unwrap_or(0));
        let (what, bytes) = (format!("a sparse matrix of {n} rows and {q} variables"), 8.0 + 12.0 * q as f64);
        memory::ask(&what, n as f64 * bytes, || vec!["fit a part of the rows".into()])?;
        if u32::try_from(n_columns).is_err() {
            return Err(Error::TooLarge { n_samples: n, n_features: n_columns });
        }
        let (mut indices, mut values) = (vec![0u32; n * q], vec![1.0; n * q]);
        let (mut number, mut category) = (0, self.n_numbers());
        // Numbers come first in every row.
        let places = |first: usize| (0..n).map(move |i| i * q + first);
        let mut next_indicator = self.n_numbers();
        for (variable, column) in self.variables.iter().zip(columns) {
            match variable {
                Variable::Numbers { mean, deviation, .. } => {
                    for (at, value) in places(number).zip(column.numbers()?) {
                        (indices[at], values[at]) = (number as u32, (value - mean) / deviation);
                    }
                    number += 1;
                }
                Variable::Categories { categories, has_missing, .. } => {
                    let (names, codes) = column.categories()?;
                    let missing = has_missing.then(|| categories.len() as u32 - 1);
                    // A text that reads like the category of missing values is another category.
                    let known = places_in(&categories[..categories.len() - usize::from(*has_missing)], names);
                    for ((row, at), code) in places(next_indicator).enumerate().zip(codes) {
                        let place = code.map_or(missing, |code| known[code as usize]);
                        let Some(place) = place else {
                            if ignore_unknown {
                                (indices[at], values[at]) = (category as u32, 0.0);
                                continue;
                            }
                            return Err(Error::Categories(CategoryFault::Unknown {
                                column: column.name.clone(),
                                row,
                                found: code.map(|code| names[code as usize].clone()),
                                known: categories.clone(),
                            }));
                        };
                        indices[at] = category as u32 + place;
                    }
                    category += categories.len();
                    next_indicator += 1;
                }
            }
        }
        SparseMatrix::from_csr(n, n_columns, (0..=n).map(|i| i * q).collect(), indices, values)
    }

    /// Checks that a table has the columns of the fit.
    fn check_columns(&self, columns: &[Column]) -> Result<()> {
        let (found, expected) = (columns.len(), self.variables.len());
        if found != expected {
            return Err(Error::Shape { what: "the table", axis: "columns", found, expected });
        }
        let pairs = columns.iter().zip(&self.variables).enumerate();
        for (place, (column, variable)) in pairs {
            if column.name != variable.name() {
                let (found, expected) = (column.name.clone(), variable.name().to_owned());
                return Err(Error::Categories(CategoryFault::OtherColumn { place, found, expected }));
            }
        }
        Ok(())
    }
}

/// The square root of the mean of the squares of values, each with its share of the weight. Values are divided by the
/// largest before they are squared, because squares of values below 1e-154 or above 1e154 leave the range of numbers.
fn root_mean_square<I: Iterator<Item = (f64, f64)>>(values: impl Fn() -> I) -> f64 {
    let largest = largest(values().map(|(value, _)| value.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    largest * values().map(|(value, share)| share * (value / largest).powi(2)).sum::<f64>().sqrt()
}

/// The place of each name among the categories of the fit.
fn places_in(categories: &[String], names: &[String]) -> Vec<Option<u32>> {
    let places: HashMap<&str, u32> = categories.iter().map(String::as_str).zip(0..).collect();
    names.iter().map(|name| places.get(name.as_str()).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standards(values: &[f64], shares: &[f64]) -> (f64, f64) {
        match Variable::of_numbers(&Column::of_numbers("x", values.to_vec()), shares).unwrap() {
            Variable::Numbers { mean, deviation, .. } => (mean, deviation),
            Variable::Categories { .. } => panic!("categories"),
        }
    }

    #[test]
    fn deviations_of_any_size_scale_with_the_values() {
        let (values, shares) = ([1.0, 2.0, 3.0, 7.0], [0.25, 0.5, 0.25, 0.0]);
        for factor in [1e-300, 1e-200, 1e-155, 1.0, 1e155, 1e200, 1e300] {
            let (mean, deviation) = standards(&values.map(|value| value * factor), &shares);
            // The shares sum to one, so the mean is 2 and the variance one half; a few roundings.
            assert!((mean / factor - 2.0).abs() <= 8.0 * f64::EPSILON, "{factor}: {mean}");
            let expected = 0.5_f64.sqrt();
            assert!((deviation / factor - expected).abs() <= 8.0 * f64::EPSILON, "{factor}: {deviation}");
        }
    }
}
