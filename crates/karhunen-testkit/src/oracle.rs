//! Weighted principal component analysis from its definition: dense, in f64, and slow.

use crate::compare::largest;
use crate::jacobi::{dot, svd};
use crate::rows::Rows;

/// The meaning of a sample weight, which decides the divisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighting {
    /// Variances divide by the sum of the weights.
    Population,
    /// Row i was seen w_i times: variances divide by the sum minus one.
    Frequency,
    /// Only ratios matter: variances divide by the sum times `1 - sum v^2`, `v` the weights divided by their sum.
    Importance,
}

/// Options of a fit.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// One weight per row; ones if `None`.
    pub sample_weights: Option<&'a [f64]>,
    /// One weight per column; ones if `None`.
    pub feature_weights: Option<&'a [f64]>,
    /// Subtract the weighted mean.
    pub center: bool,
    /// Divide columns by their standard deviation (about zero if not centred), with the divisor of the weighting.
    pub scale: bool,
    /// The meaning of the sample weights.
    pub weighting: Weighting,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            sample_weights: None,
            feature_weights: None,
            center: true,
            scale: false,
            weighting: Weighting::Frequency,
        }
    }
}

/// A fit with all `min(n, p)` components.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Weighted mean of each column; zeros if not centred.
    pub mean: Vec<f64>,
    /// Divisor of each column; ones if not scaled, and for constant columns.
    pub scale: Vec<f64>,
    /// Square roots of the feature weights.
    pub root_feature_weights: Vec<f64>,
    /// Orthonormal rows, shape (min(n, p), p), the entry of largest absolute value positive.
    pub components: Rows,
    /// Variances along the components, with the divisor of the weighting.
    pub explained_variance: Vec<f64>,
    /// Variances divided by the total; zeros if the total is zero.
    pub explained_variance_ratio: Vec<f64>,
    /// The sum of the variances of all standardized columns, with the divisor of the weighting.
    pub total_variance: f64,
    /// Scores of the rows, shape (n, min(n, p)).
    pub scores: Rows,
    /// Ratio of the reported to the population variance.
    pub factor: f64,
    pivot: Vec<f64>,
    mean_beyond_pivot: Vec<f64>,
}

/// Fits `rows`.
///
/// Means are computed about the heaviest row by compensated sums, so that a large common offset costs no digits.
/// Components come from a singular value decomposition of the weighted data, without squaring the condition
/// number.
///
/// # Panics
/// For input without a defined fit: no rows, different lengths, a divisor that is not positive.
pub fn weighted_pca(rows: &[Vec<f64>], options: &Options<'_>) -> Fit {
    let (n, p) = (rows.len(), rows[0].len());
    let ones = vec![1.0; n.max(p)];
    let weights = options.sample_weights.unwrap_or(&ones[..n]);
    let feature_weights = options.feature_weights.unwrap_or(&ones[..p]);
    assert!(rows.iter().all(|row| row.len() == p) && weights.len() == n && feature_weights.len() == p);
    let sum = compensated(weights.iter().copied());
    let v: Vec<f64> = weights.iter().map(|w| w / sum).collect();
    let factor = factor(options.weighting, sum, &v);
    assert!(factor > 0.0 && factor.is_finite(), "no variance is defined: the divisor is not positive");

    let heaviest = (0..n).max_by(|&a, &b| v[a].total_cmp(&v[b]).then(b.cmp(&a))).unwrap_or(0);
    let pivot = if options.center { rows[heaviest].clone() } else { vec![0.0; p] };
    let beyond = |j: usize| compensated(rows.iter().zip(&v).map(|(row, v)| v * (row[j] - pivot[j])));
    let mean_beyond_pivot: Vec<f64> = (0..p).map(|j| if options.center { beyond(j) } else { 0.0 }).collect();
    let mut fit = Fit {
        mean: pivot.iter().zip(&mean_beyond_pivot).map(|(a, b)| a + b).collect(),
        scale: vec![1.0; p],
        root_feature_weights: feature_weights.iter().map(|c| c.sqrt()).collect(),
        components: Vec::new(),
        explained_variance: Vec::new(),
        explained_variance_ratio: Vec::new(),
        total_variance: 0.0,
        scores: Vec::new(),
        factor,
        pivot,
        mean_beyond_pivot,
    };
    if options.scale {
        fit.scale = (0..p).map(|j| spread(rows, &v, &fit, j)).collect();
    }

    let standardized = fit.standardized(rows);
    let weighted: Rows =
        standardized.iter().zip(&v).map(|(row, v)| row.iter().map(|x| v.sqrt() * x).collect()).collect();
    let svd = svd(&weighted);
    fit.total_variance = factor * compensated(weighted.iter().flatten().map(|x| x * x));
    fit.explained_variance = svd.values.iter().map(|s| factor * s * s).collect();
    let total = fit.total_variance;
    fit.explained_variance_ratio =
        fit.explained_variance.iter().map(|x| if total > 0.0 { x / total } else { 0.0 }).collect();
    fit.components = svd.right.into_iter().map(with_sign).collect();
    fit.scores = fit.transform(rows);
    fit
}

impl Fit {
    /// Rows centred, scaled and multiplied by the square roots of the feature weights.
    pub fn standardized(&self, rows: &[Vec<f64>]) -> Rows {
        let entry = |row: &[f64], j: usize| {
            (row[j] - self.pivot[j] - self.mean_beyond_pivot[j]) / self.scale[j]
                * self.root_feature_weights[j]
        };
        rows.iter().map(|row| (0..row.len()).map(|j| entry(row, j)).collect()).collect()
    }

    /// Scores of any rows on all components.
    pub fn transform(&self, rows: &[Vec<f64>]) -> Rows {
        let standardized = self.standardized(rows);
        standardized.iter().map(|row| self.components.iter().map(|c| dot(row, c)).collect()).collect()
    }

    /// Rows rebuilt from their first `k` scores. Columns of feature weight zero are rebuilt as their mean.
    pub fn reconstruction(&self, rows: &[Vec<f64>], k: usize) -> Rows {
        let rebuild = |scores: &Vec<f64>, j: usize| {
            let standardized: f64 = (0..k).map(|r| scores[r] * self.components[r][j]).sum();
            let c = self.root_feature_weights[j];
            self.mean[j] + if c > 0.0 { standardized / c * self.scale[j] } else { 0.0 }
        };
        let scores = self.transform(rows);
        scores.iter().map(|scores| (0..self.mean.len()).map(|j| rebuild(scores, j)).collect()).collect()
    }

    /// The mean variance of the components after the first `k`; zero if there are none.
    pub fn noise_variance(&self, k: usize) -> f64 {
        let discarded = &self.explained_variance[k..];
        if discarded.is_empty() {
            0.0
        } else {
            compensated(discarded.iter().copied()) / discarded.len() as f64
        }
    }
}

fn factor(weighting: Weighting, sum: f64, v: &[f64]) -> f64 {
    match weighting {
        Weighting::Population => 1.0,
        Weighting::Frequency => sum / (sum - 1.0),
        Weighting::Importance => {
            // 1 - sum v_i^2 is the sum of v_i v_j over i != j, without cancellation.
            let others = |i: usize| compensated((0..v.len()).filter(|&j| j != i).map(|j| v[j]));
            1.0 / compensated((0..v.len()).map(|i| v[i] * others(i)))
        }
    }
}

/// Standard deviation of column `j`, one if it is zero; values are scaled to near one before they are squared.
fn spread(rows: &[Vec<f64>], v: &[f64], fit: &Fit, j: usize) -> f64 {
    let centred = |row: &Vec<f64>| row[j] - fit.pivot[j] - fit.mean_beyond_pivot[j];
    let weighted = |(row, v): (&Vec<f64>, &f64)| v.sqrt() * centred(row);
    let largest = largest(rows.iter().zip(v).map(weighted));
    if largest == 0.0 {
        return 1.0;
    }
    largest
        * (fit.factor * compensated(rows.iter().zip(v).map(|pair| (weighted(pair) / largest).powi(2)))).sqrt()
}

fn with_sign(component: Vec<f64>) -> Vec<f64> {
    let largest = component.iter().fold(0.0, |a: f64, x| if x.abs() > a.abs() { *x } else { a });
    component.into_iter().map(|x| x * largest.signum()).collect()
}

/// A compensated sum (Neumaier 1974).
fn compensated(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0, 0.0);
    for x in values {
        let next: f64 = sum + x;
        lost += if f64::abs(sum) >= f64::abs(x) { (sum - next) + x } else { (x - next) + sum };
        sum = next;
    }
    sum + lost
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Planted, Tolerance, assert_close, assert_components, gaussian, integer_weights, planted, power_law,
        repeat_rows, with_constant_column,
    };

    const ROUNDING: Tolerance = Tolerance { multiple: 20.0, epsilon: f64::EPSILON, norm: 10.0 };

    fn three_rows() -> Rows {
        vec![vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0, 6.0]]
    }

    #[test]
    fn three_weighted_rows_give_the_worked_example() {
        let half = 0.5_f64.sqrt();
        let variances =
            [(Weighting::Population, 4.0), (Weighting::Frequency, 16.0 / 3.0), (Weighting::Importance, 6.4)];
        for (weighting, variance) in variances {
            let options = Options { sample_weights: Some(&[1.0, 2.0, 1.0]), weighting, ..Options::default() };
            let fit = weighted_pca(&three_rows(), &options);
            assert_close("mean", &fit.mean, &[3.0, 4.0], ROUNDING);
            assert_close("component", &fit.components[0], &[half, half], ROUNDING);
            assert_close("variance", &fit.explained_variance, &[variance, 0.0], ROUNDING);
            assert_close("total", &[fit.total_variance], &[variance], ROUNDING);
            assert_close("ratio", &fit.explained_variance_ratio, &[1.0, 0.0], ROUNDING);
            let scores: Vec<f64> = fit.scores.iter().map(|row| row[0]).collect();
            assert_close("scores", &scores, &[-4.0 * half, 0.0, 4.0 * half], ROUNDING);
        }
    }

    #[test]
    fn two_columns_give_the_closed_form() {
        // Population covariance [[2, 1], [1, 2]]: variances 3 and 1 along (1, 1) and (1, -1).
        let rows =
            vec![vec![2.0, 1.0], vec![-2.0, -1.0], vec![0.0, 3.0_f64.sqrt()], vec![0.0, -(3.0_f64.sqrt())]];
        let options = Options { weighting: Weighting::Population, ..Options::default() };
        let fit = weighted_pca(&rows, &options);
        assert_close("variance", &fit.explained_variance, &[3.0, 1.0], ROUNDING);
        let half = 0.5_f64.sqrt();
        assert_components(
            "components",
            &fit.components,
            &[vec![half, half], vec![half, -half]],
            &[3.0, 1.0],
            ROUNDING,
        );
    }

    #[test]
    fn the_largest_entry_of_each_component_is_positive() {
        assert_eq!(with_sign(vec![0.6, -0.8]), [-0.6, 0.8]);
        assert_eq!(with_sign(vec![0.8, -0.6]), [0.8, -0.6]);
        let fit = weighted_pca(&gaussian(20, 7, 1), &Options::default());
        for component in &fit.components {
            let extremes = component.iter().fold((0.0_f64, 0.0_f64), |(a, b), &x| (a.min(x), b.max(x)));
            assert!(extremes.1 > -extremes.0);
        }
    }

    #[test]
    fn diagonal_data_are_fitted_without_centring() {
        let rows = vec![vec![3.0, 0.0], vec![0.0, -1.0]];
        let options = Options { center: false, weighting: Weighting::Population, ..Options::default() };
        let fit = weighted_pca(&rows, &options);
        assert_eq!(fit.mean, [0.0, 0.0]);
        assert_close("variance", &fit.explained_variance, &[4.5, 0.5], ROUNDING);
        assert_eq!(fit.components, [[1.0, 0.0], [0.0, 1.0]]);
        // Without centring, scaling divides by the root mean square.
        let fit = weighted_pca(&rows, &Options { scale: true, ..options });
        assert_close("scale", &fit.scale, &[4.5_f64.sqrt(), 0.5_f64.sqrt()], ROUNDING);
        assert_close("variance", &fit.explained_variance, &[1.0, 1.0], ROUNDING);
    }

    #[test]
    fn feature_weights_multiply_variances() {
        let rows = vec![vec![3.0, 0.0], vec![-3.0, 0.0], vec![0.0, 1.0], vec![0.0, -1.0]];
        let feature_weights = [0.0, 4.0];
        let options = Options {
            feature_weights: Some(&feature_weights),
            weighting: Weighting::Population,
            ..Options::default()
        };
        let fit = weighted_pca(&rows, &options);
        assert_close("variance", &fit.explained_variance, &[2.0, 0.0], ROUNDING);
        assert_close("component", &fit.components[0], &[0.0, 1.0], ROUNDING);
        let rebuilt = fit.reconstruction(&rows, 2);
        assert_close(
            "column of weight zero",
            &rebuilt.concat(),
            &[0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, -1.0],
            ROUNDING,
        );
    }

    #[test]
    fn planted_variances_are_found_for_tall_wide_and_offset_data() {
        for (n, p, offset) in [(40, 6, 0.0), (12, 30, 3.0), (40, 6, 1e8)] {
            let Planted { rows, variances, components, .. } = planted(n, p, &power_law(5, 1.0), offset, 8);
            let options = Options { weighting: Weighting::Population, ..Options::default() };
            let fit = weighted_pca(&rows, &options);
            // Storing the data rounds them to eps * offset; the oracle adds only its own rounding errors.
            let stored = Tolerance { multiple: 20.0, epsilon: f64::EPSILON, norm: 1.0 + offset };
            assert_close("variance", &fit.explained_variance[..5], &variances, stored);
            assert_components("components", &fit.components[..5], &components, &variances, stored);
            assert_close("noise", &[fit.noise_variance(5)], &[0.0], stored);
            assert_eq!(fit.components.len(), n.min(p));
        }
    }

    #[test]
    fn integer_weights_equal_repeated_rows() {
        let (rows, counts) = (gaussian(12, 4, 2), integer_weights(12, 3, 2));
        let weights: Vec<f64> = counts.iter().map(|&w| f64::from(w)).collect();
        let weighted = weighted_pca(
            &rows,
            &Options { sample_weights: Some(&weights), scale: true, ..Options::default() },
        );
        let repeated = repeat_rows(&rows, &counts);
        let plain = weighted_pca(&repeated, &Options { scale: true, ..Options::default() });
        assert_close("mean", &weighted.mean, &plain.mean, ROUNDING);
        assert_close("scale", &weighted.scale, &plain.scale, ROUNDING);
        assert_close("variance", &weighted.explained_variance, &plain.explained_variance, ROUNDING);
        let scores = repeat_rows(&weighted.scores, &counts);
        assert_close(
            "scores",
            &scores.concat(),
            &plain.scores.concat(),
            Tolerance { multiple: 100.0, ..ROUNDING },
        );
    }

    #[test]
    fn all_components_rebuild_the_rows() {
        let rows = gaussian(9, 4, 11);
        let fit = weighted_pca(&rows, &Options { scale: true, ..Options::default() });
        assert_close("rows", &fit.reconstruction(&rows, 4).concat(), &rows.concat(), ROUNDING);
        let ratio: f64 = fit.explained_variance_ratio.iter().sum();
        assert_close("ratio", &[ratio], &[1.0], ROUNDING);
    }

    #[test]
    fn constant_columns_have_scale_one_and_no_variance() {
        let rows = with_constant_column(gaussian(9, 3, 1), 1, 0.1);
        let fit = weighted_pca(&rows, &Options { scale: true, ..Options::default() });
        assert_eq!((fit.mean[1], fit.scale[1]), (0.1, 1.0));
        assert_close("total", &[fit.total_variance], &[2.0], ROUNDING);
        assert_eq!(fit.components[0][1], 0.0);
    }

    #[test]
    fn one_dominant_weight_costs_no_digits() {
        let rows = vec![vec![1e8 + 1.0], vec![1e8]];
        let weights = [1.0, 1e-30];
        let options = Options {
            sample_weights: Some(&weights),
            weighting: Weighting::Importance,
            ..Options::default()
        };
        let fit = weighted_pca(&rows, &options);
        // v = (1, e): population variance e, factor 1 / (2 e).
        assert_close("variance", &fit.explained_variance, &[0.5], ROUNDING);
    }

    #[test]
    #[should_panic(expected = "the divisor is not positive")]
    fn one_row_has_no_frequency_variance() {
        weighted_pca(&three_rows()[..1], &Options::default());
    }
}
