//! Promax.

use crate::error::{Error, OptionName, Result};
use crate::exec::Run;
use crate::linalg::Matrix;
use crate::linalg::decomp::cholesky::solve;
use crate::linalg::dense::small::{multiply, t_multiply};
use crate::rotation::{Orthomax, Rotation};
use crate::scalar::largest_magnitude;

/// Oblique rotation towards powers of orthogonally rotated loadings: Hendrickson & White (1964),
/// doi:10.1111/j.2044-8317.1964.tb00244.x.
///
/// The loadings are rotated by `orthomax` to Z; the target is $z \, |z|^{\mathrm{power} - 1}$ of each entry, and
/// $U = (Z^\top Z)^{-1} Z^\top Q$ fits Z to the target Q by least squares. Columns of U are scaled so that the
/// components have variance one. As in R's `promax` and psych's `Promax`, the target is made of loadings without Kaiser
/// normalisation, whether varimax took it or not. R's `promax` stops its varimax at a relative change of 1e-5, so its
/// results agree to about three digits.
///
/// ```
/// use karhunen::Matrix;
/// use karhunen::rotation::Promax;
/// let loadings = Matrix::from_vec(4, 2, vec![0.9, 0.2, 0.8, 0.3, 0.6, -0.6, 0.5, -0.7])?;
/// let rotated = Promax::default().rotate(&loadings)?;
/// assert!((rotated.component_correlations[(0, 0)] - 1.0).abs() < 1e-12);
/// assert!((rotated.component_correlations[(0, 1)]).abs() > 0.1);
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Promax {
    /// The power, above 1; 4 by default.
    pub power: f64,
    /// The orthogonal rotation before; varimax by default.
    pub orthomax: Orthomax,
}

/// The power, in errors.
const POWER: OptionName = OptionName::new("power");

impl Default for Promax {
    fn default() -> Self {
        Self { power: 4.0, orthomax: Orthomax::varimax() }
    }
}

impl Promax {
    /// Rotates loadings of shape (p, k).
    ///
    /// # Errors
    /// As [`Orthomax::rotate`]; [`Error::Option`] for a power of at most 1; [`Error::Decomposition`] if the loadings or the
    /// target are of lower rank than k, but not zero.
    pub fn rotate(&self, loadings: &Matrix) -> Result<Rotation> {
        self.rotate_with(loadings, &Run::default())
    }

    /// As [`Promax::rotate`], with the observer of `run`.
    ///
    /// # Errors
    /// As [`Promax::rotate`], and [`Error::Stopped`].
    pub fn rotate_with(&self, loadings: &Matrix, run: &Run<'_>) -> Result<Rotation> {
        if !(self.power > 1.0 && self.power.is_finite()) {
            return Err(Error::option(POWER, self.power, "promax needs a power above 1"));
        }
        let (orthogonal, n_iter, converged) = self.orthomax.matrix(loadings, run)?;
        let mut z = multiply(loadings, &orthogonal);
        // Powers of entries of one at most: the size of the loadings changes no rotation.
        let size = largest_magnitude(z.as_slice());
        if size == 0.0 {
            // No component has variance, and nothing says how to rotate.
            return Rotation::in_order(loadings, &orthogonal, (n_iter, converged));
        }
        z.as_mut_slice().iter_mut().for_each(|x| *x /= size);
        let (p, k) = z.shape();
        let q = Matrix::from_fn(p, k, |j, c| z[(j, c)] * z[(j, c)].abs().powf(self.power - 1.0));
        let mut u = solve(&t_multiply(&z, &z), &t_multiply(&z, &q))?;
        // The size of a column is arbitrary; of length one they lose no digits below.
        scale_columns(&mut u, |u, c| (0..k).map(|i| u[(i, c)].powi(2)).sum::<f64>().sqrt().recip());
        let identity = Matrix::from_fn(k, k, |i, j| f64::from(u8::from(i == j)));
        let inverse = solve(&t_multiply(&u, &u), &identity)?;
        scale_columns(&mut u, |_, c| inverse[(c, c)].sqrt());
        Rotation::in_order(loadings, &multiply(&orthogonal, &u), (n_iter, converged))
    }
}

fn scale_columns(u: &mut Matrix, factor: impl Fn(&Matrix, usize) -> f64) {
    let factors: Vec<f64> = (0..u.n_cols()).map(|c| factor(u, c)).collect();
    for i in 0..u.n_rows() {
        u.row_mut(i).iter_mut().zip(&factors).for_each(|(value, factor)| *value *= factor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_matrices::{gaussian, max_difference};

    #[test]
    fn rotated_scores_have_the_correlations_and_reproduce_the_data() {
        let loadings = gaussian(8, 3, 5, 0);
        let rotated = Promax::default().rotate(&loadings).unwrap();
        let m = &rotated.rotation;
        let of_scores = t_multiply(&rotated.score_rotation, &rotated.score_rotation);
        assert!(max_difference(&of_scores, &rotated.component_correlations) < 1e-12);
        let product = multiply(m, &rotated.score_rotation.transposed());
        let identity = Matrix::from_fn(3, 3, |i, j| f64::from(u8::from(i == j)));
        assert!(max_difference(&product, &identity) < 1e-12);
        for c in 0..3 {
            assert!((rotated.component_correlations[(c, c)] - 1.0).abs() < 1e-12);
        }
        let (sum, total): (f64, f64) = (rotated.variances.iter().sum(), rotated.communalities.iter().sum());
        assert!((sum - total).abs() < 1e-11 * total);
        // Scores of variances 4, 1, 0.25 whose standardised rows are the identity.
        let scores = Matrix::from_fn(3, 3, |i, j| if i == j { [2.0, 1.0, 0.5][i] } else { 0.0 });
        assert!(
            max_difference(&rotated.scores(&scores, &[4.0, 1.0, 0.25]).unwrap(), &rotated.score_rotation)
                < 1e-14
        );
        assert!(rotated.scores(&scores, &[4.0, 1.0]).is_err());
    }

    #[test]
    fn a_power_of_one_and_dependent_loadings_are_refused() {
        let loadings = gaussian(8, 3, 5, 0);
        let error = Promax { power: 1.0, ..Promax::default() }.rotate(&loadings).unwrap_err();
        assert!(error.to_string().contains("power"), "{error}");
        let dependent = Matrix::from_fn(6, 2, |j, c| if c == 0 { 1.0 + j as f64 } else { 0.0 });
        let error = Promax::default().rotate(&dependent).unwrap_err();
        assert!(error.to_string().contains("component 2 has no variance"), "{error}");
        let twice = Matrix::from_fn(6, 2, |j, _| 1.0 + j as f64);
        assert!(matches!(Promax::default().rotate(&twice), Err(Error::Decomposition { .. })));
    }

    #[test]
    fn the_size_of_the_loadings_changes_no_rotation() {
        let loadings = gaussian(8, 3, 5, 0);
        let plain = Promax::default().rotate(&loadings).unwrap();
        for size in [1e-150, 1e150] {
            let sized = Matrix::from_fn(8, 3, |j, c| size * loadings[(j, c)]);
            let found = Promax::default().rotate(&sized).unwrap();
            assert!(max_difference(&found.rotation, &plain.rotation) < 1e-9);
        }
    }
}
