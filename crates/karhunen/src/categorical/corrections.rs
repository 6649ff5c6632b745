//! Eigenvalues of MCA, corrected for the coding of one variable by several columns.

use super::model::CategoricalModel;
use super::options::Analysis;
use crate::choice::{Choice, Named, plain_names};
use crate::error::{CategoryFault, Error, Result};

/// Variances within this share of the total are all of it.
const ROUNDING: f64 = 1e-9;

/// Eigenvalues that exceed 1 / q by at most this share of it are 1 / q, as for independent variables.
const EXCESS: f64 = 1e-12;

/// The total of which shares of corrected eigenvalues are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Correction {
    /// The sum of the corrected eigenvalues.
    #[default]
    Benzecri,
    /// The mean inertia of the tables of two variables.
    Greenacre,
}

impl Choice for Correction {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Benzecri, "benzecri", "Shares of the sum of the corrected eigenvalues"),
        Named::new(Self::Greenacre, "greenacre", "Shares of the mean inertia of the tables of two variables"),
    ];
}

plain_names!(Correction);

/// Corrected eigenvalues, one for each component.
#[derive(Clone, Debug, PartialEq)]
pub struct Corrected {
    /// Corrected eigenvalues; zero for eigenvalues of at most 1 / q.
    pub eigenvalues: Vec<f64>,
    /// Their shares.
    pub ratio: Vec<f64>,
}

impl CategoricalModel {
    /// The eigenvalues of an MCA, corrected. With q variables, those above $1/q$ become
    /// $(q / (q - 1) (\lambda - 1/q))^2$ (Greenacre & Blasius 2006, chapter 2).
    ///
    /// # Errors
    /// [`Error::Categories`] for FAMD, for one variable, and if all rows have the same category of a variable;
    /// [`Error::Truncated`] if the fit left out components that the correction needs.
    pub fn corrected_eigenvalues(&self, correction: Correction) -> Result<Corrected> {
        let refuse = |rule| Err(Error::Categories(CategoryFault::NoCorrection { rule }));
        if self.options().analysis == Analysis::Famd {
            return refuse("corrections are for multiple correspondence analysis");
        }
        let (found, kept) = (self.eigenvalues(), self.n_kept());
        let q = kept.iter().filter(|n| **n > 1).count();
        if q < 2 {
            return refuse("they are for two variables or more with several categories");
        }
        if q < kept.len() {
            return refuse("they are for variables with several categories; leave out those with one");
        }
        let (n_categories, q_count, q) = (kept.iter().sum::<usize>() as f64, q, q as f64);
        let is_complete = self.ratio().iter().sum::<f64>() > 1.0 - ROUNDING;
        let excess = |eigenvalue: f64| Some(eigenvalue - 1.0 / q).filter(|excess| *excess > EXCESS / q);
        let last = found.last().copied().unwrap_or(0.0);
        if !is_complete && (correction == Correction::Greenacre || excess(last).is_some()) {
            let all = kept.iter().sum::<usize>() - q_count;
            return Err(Error::Truncated { rule: "the correction", kept: found.len(), all });
        }
        let corrected =
            |eigenvalue: &f64| excess(*eigenvalue).map_or(0.0, |excess| (q / (q - 1.0) * excess).powi(2));
        let eigenvalues: Vec<f64> = found.iter().map(corrected).collect();
        let total = match correction {
            Correction::Benzecri => eigenvalues.iter().sum::<f64>(),
            Correction::Greenacre => {
                let squares: f64 = found.iter().map(|eigenvalue| eigenvalue.powi(2)).sum();
                q / (q - 1.0) * (squares - (n_categories - q) / q.powi(2))
            }
        };
        let share = |eigenvalue: &f64| if total > 0.0 { eigenvalue / total } else { 0.0 };
        let ratio = eigenvalues.iter().map(share).collect();
        Ok(Corrected { eigenvalues, ratio })
    }
}
