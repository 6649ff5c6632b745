//! Results by category and by variable: functions of the model alone.

use super::model::CategoricalModel;
use super::options::Analysis;
use crate::linalg::Matrix;

/// Least number of observations for v-tests.
const FEWEST_ROWS: f64 = 2.0;

/// Results by category, each of shape (n_categories, n_components). Where the share of a category is zero, all are NaN;
/// where all rows with weight have it, squared cosines and v-tests are.
#[derive(Clone, Debug, PartialEq)]
pub struct CategoryResults {
    /// Principal coordinates: in FAMD the mean of the coordinates of the rows with a category, in MCA this mean over
    /// the square root of the eigenvalue.
    pub coordinates: Matrix,
    /// The share of a category in the variance of a component.
    pub contributions: Matrix,
    /// The share of the squared distance of a category from the mean along a component: in MCA the distance of its
    /// profile, in FAMD of the mean of its rows.
    pub cos2: Matrix,
    /// Deviations of the mean of the rows with a category from zero, in standard errors of drawing so many rows at
    /// random without replacement (Lebart, Morineau & Piron 1995, Statistique exploratoire multidimensionnelle, 1.3.3).
    /// The rows are so many as the weights mean ([`super::CategoricalPca::weighting`]); NaN if these are fewer than two.
    pub v_tests: Matrix,
}

impl CategoricalModel {
    /// True if v-tests are defined: there are two observations at least.
    pub fn has_v_tests(&self) -> bool {
        self.pca().n_observations() >= FEWEST_ROWS
    }

    /// Coordinates, contributions, squared cosines and v-tests of the categories.
    pub fn categories(&self) -> CategoryResults {
        let (pca, variances) = (self.pca(), self.eigenvalues());
        let (first, n, k) = (self.encoding().n_numbers(), self.shares().len(), self.n_components());
        let (total, alone) = (pca.n_observations(), self.alone());
        // Sums of the matrix X over the rows of a category follow from the fit: lambda v = X'WX v.
        let mean = |i: usize, c: usize| {
            variances[c] * pca.components()[(c, first + i)] * pca.scale()[first + i] / self.shares()[i]
        };
        let coordinate = |i: usize, c: usize| match self.options().analysis {
            Analysis::Mca => mean(i, c) / variances[c].sqrt(),
            Analysis::Famd => mean(i, c),
        };
        let v_test = |i: usize, c: usize| {
            let share = self.shares()[i];
            mean(i, c) / variances[c].sqrt() * (share * (total - 1.0) / (1.0 - share)).sqrt()
        };
        let where_defined = |defined: &dyn Fn(usize) -> bool, value: &dyn Fn(usize, usize) -> f64| {
            Matrix::from_fn(n, k, |i, c| if defined(i) { value(i, c) } else { f64::NAN })
        };
        let has_share = |i: usize| self.shares()[i] > 0.0;
        let differs = |i: usize| has_share(i) && !alone[i];
        CategoryResults {
            coordinates: where_defined(&has_share, &coordinate),
            contributions: where_defined(&has_share, &|i, c| pca.components()[(c, first + i)].powi(2)),
            cos2: where_defined(&differs, &|i, c| coordinate(i, c).powi(2) / self.distances()[i]),
            v_tests: where_defined(&|i| differs(i) && self.has_v_tests(), &v_test),
        }
    }

    /// Correlation ratios of the variables of categories and the components, shape (n_variables_of_categories,
    /// n_components): the share of the variance of the coordinates of the rows between the categories of a variable.
    pub fn eta2(&self) -> Matrix {
        let (starts, first) = (self.encoding().starts(), self.encoding().n_numbers());
        Matrix::from_fn(starts.len() - 1, self.n_components(), |v, c| {
            let loadings =
                (starts[v]..starts[v + 1]).map(|i| self.pca().components()[(c, first + i)].powi(2));
            loadings.sum::<f64>() * self.eigenvalues()[c] * self.weight_of_variables()
        })
    }

    /// Correlations of the columns of numbers and the components, shape (n_numbers, n_components).
    pub fn number_correlations(&self) -> Matrix {
        Matrix::from_fn(self.encoding().n_numbers(), self.n_components(), |j, c| {
            self.pca().components()[(c, j)] * self.eigenvalues()[c].sqrt()
        })
    }

    /// The share of a column of numbers in the variance of a component, shape (n_numbers, n_components).
    pub fn number_contributions(&self) -> Matrix {
        Matrix::from_fn(self.encoding().n_numbers(), self.n_components(), |j, c| {
            self.pca().components()[(c, j)].powi(2)
        })
    }

    /// Number of categories of rows with weight, of each variable of categories.
    pub(super) fn n_kept(&self) -> Vec<usize> {
        let starts = self.encoding().starts();
        let kept = |ends: &[usize]| self.shares()[ends[0]..ends[1]].iter().filter(|p| **p > 0.0).count();
        starts.windows(2).map(kept).collect()
    }

    /// For each category, true if all rows with weight have one category of its variable.
    fn alone(&self) -> Vec<bool> {
        let starts = self.encoding().starts();
        let counts = starts.windows(2).map(|ends| ends[1] - ends[0]);
        self.n_kept().iter().zip(counts).flat_map(|(kept, n)| std::iter::repeat_n(*kept == 1, n)).collect()
    }
}
