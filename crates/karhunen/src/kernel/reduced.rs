//! A fit in the span of features: landmarks or frequencies, moments, components, error, signs.

use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::kernel::approximate::{
    FeatureMoments, Projected, SAMPLE, Whitening, approximation, estimate, feature_matrix, moments, project,
    rounding,
};
use crate::kernel::features::Features;
use crate::kernel::fourier::frequencies;
use crate::kernel::function::{BlockKernel, Kernel};
use crate::kernel::landmarks::{Comparison, LandmarkChoice, among};
use crate::kernel::model::{Approximation, KernelBasis};
use crate::kernel::options::KernelPca;
use crate::kernel::route::KernelRoute;
use crate::kernel::rows::{KernelRows, Preparation};
use crate::kernel::sampling::Sample;
use crate::kernel::spectrum::zero_share;
use crate::linalg::Matrix;
use crate::linalg::dense::small::multiply;
use crate::random::Purpose;
use crate::scalar::{Scalar, largest, largest_magnitude};
use crate::solver::IterationOptions;
use crate::source::Source;

/// Input of a fit in the span of features.
pub(super) struct Reduced<'a, T: Scalar> {
    pub(super) options: &'a KernelPca,
    pub(super) route: KernelRoute,
    pub(super) kernel: Kernel,
    pub(super) x: &'a dyn Source<T>,
    pub(super) function: Option<&'a dyn BlockKernel>,
    pub(super) preparation: Preparation<'a>,
    pub(super) shares: &'a [f64],
    pub(super) tol: f64,
}

/// Result of a fit in the span of features.
pub(super) struct ReducedFit {
    pub(super) basis: KernelBasis,
    pub(super) projected: Projected,
    pub(super) approximation: Approximation,
}

impl<T: Scalar> Reduced<'_, T> {
    pub(super) fn fit(&self, exec: &Exec<'_>) -> Result<ReducedFit> {
        let m = self.options.features(self.x.shape().0, self.route);
        if self.route == KernelRoute::Fourier {
            let waves = frequencies(&self.kernel, m / 2, self.x.shape().1, self.options.seed)?;
            let features = Features::of_frequencies(self.kernel, &waves, self.preparation);
            let moments = moments(self.x, &features, &vec![0.0; m], self.shares, &exec.phase("features"))?;
            let (projected, approximation) = self.components(&moments, &features, None, exec)?;
            return Ok(ReducedFit { basis: KernelBasis::Frequencies(waves), projected, approximation });
        }
        let choice = LandmarkChoice { rule: self.options.landmarks, m, seed: self.options.seed };
        let choosing = exec.phase("landmarks");
        let (_, rows) = among(choice, self.x, &self.comparison(), self.shares, &choosing)?;
        let features = self.of_rows(&rows, exec)?;
        let values = feature_matrix(&features, &rows, exec)?;
        let whitening = Whitening::of(&values)?;
        // The mean of the sample is near the mean of all rows.
        let origin = column_means(&values);
        let moments = moments(self.x, &features, &origin, self.shares, &exec.phase("features"))?;
        let (projected, approximation) = self.components(&moments, &features, Some(&whitening), exec)?;
        drop(features);
        Ok(ReducedFit { basis: KernelBasis::Landmarks(rows), projected, approximation })
    }

    /// Components and the approximation error.
    fn components(
        &self,
        moments: &FeatureMoments,
        features: &Features<'_, f64>,
        whitening: Option<&Whitening>,
        exec: &Exec<'_>,
    ) -> Result<(Projected, Approximation)> {
        let iteration = IterationOptions {
            tol: self.tol,
            centring: 0.0,
            max_iter: self.options.max_iter,
            block_size: None,
            reading: None,
            seed: self.options.seed,
            start: None,
        };
        let m = features.n();
        if moments.covariance.as_slice().iter().any(|value| !value.is_finite()) {
            return Err(Error::KernelValue { row: self.row_beyond_range(features, exec)? });
        }
        let k = self.options.n_components.given().unwrap_or(m);
        let mut projected = project(moments, whitening, k, &iteration, &exec.phase("components"))?;
        let bound = whitening.map(|_| (moments.diagonal - projected.uncentred).max(0.0));
        projected.clear_rounding(zero_share(T::EPSILON > f64::EPSILON));
        projected.total += bound.unwrap_or(0.0);
        let sample = Sample::draw(self.shares, SAMPLE, Purpose::KernelError.of(self.options.seed));
        let rows = KernelRows::gather(self.x, &sample.rows)?;
        let exact = feature_matrix(&self.of_rows(&rows, exec)?, &rows, exec)?;
        let approximate = feature_matrix(features, &rows, exec)?;
        let estimate = estimate(&exact, &approximate, whitening, &sample.shares)?;
        choose_signs(&approximate, &mut projected);
        let largest = projected.values.first().copied().unwrap_or(0.0);
        let rounding = rounding(T::EPSILON, moments.diagonal, whitening, largest);
        Ok((projected, approximation(m, bound, estimate, rounding, largest)))
    }

    /// The first row with a feature that is not finite; if only sums are not, the row of the largest feature.
    fn row_beyond_range(&self, features: &Features<'_, f64>, exec: &Exec<'_>) -> Result<usize> {
        let n = self.x.shape().0;
        let (mut row, mut largest) = (0, 0.0);
        for start in (0..n).step_by(SAMPLE) {
            let rows: Vec<usize> = (start..n.min(start + SAMPLE)).collect();
            let values = feature_matrix(features, &KernelRows::gather(self.x, &rows)?, exec)?;
            for i in 0..rows.len() {
                if values.row(i).iter().any(|value| !value.is_finite()) {
                    return Ok(start + i);
                }
                let here = largest_magnitude(values.row(i));
                if here > largest {
                    (row, largest) = (start + i, here);
                }
            }
        }
        Ok(row)
    }

    fn of_rows<'b>(&'b self, rows: &'b KernelRows, exec: &Exec<'_>) -> Result<Features<'b, f64>> {
        self.comparison().with(rows, exec)
    }

    fn comparison(&self) -> Comparison<'_> {
        Comparison { kernel: self.kernel, function: self.function, preparation: self.preparation }
    }
}

/// Makes the score of largest absolute value on each component positive, among a sample of rows with the given
/// features.
fn choose_signs(features: &Matrix, projected: &mut Projected) {
    /// Entries within this relative distance count as equally large.
    const TIE: f64 = 1e-10;
    let mut scores = multiply(features, &projected.coefficients);
    for i in 0..scores.n_rows() {
        scores.row_mut(i).iter_mut().zip(&projected.offsets).for_each(|(z, offset)| *z -= offset);
    }
    for c in 0..scores.n_cols() {
        let largest = largest((0..scores.n_rows()).map(|i| scores[(i, c)].abs()));
        let decisive = (0..scores.n_rows()).find(|&i| scores[(i, c)].abs() >= largest * (1.0 - TIE));
        if decisive.is_some_and(|i| scores[(i, c)] < 0.0) {
            let m = projected.coefficients.n_rows();
            (0..m).for_each(|i| projected.coefficients[(i, c)] = -projected.coefficients[(i, c)]);
            projected.offsets[c] = -projected.offsets[c];
        }
    }
}

fn column_means(a: &Matrix) -> Vec<f64> {
    let n = a.n_rows() as f64;
    (0..a.n_cols()).map(|j| (0..a.n_rows()).map(|i| a[(i, j)]).sum::<f64>() / n).collect()
}
