//! Orthogonal rotation to a target.

use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::linalg::decomp::polar::orthogonal_factor;
use crate::linalg::dense::small::t_multiply;
use crate::rotation::Rotation;
use crate::rotation::rotated::check_loadings;

/// Rotates loadings of shape (p, k) orthogonally to the least squared distance from `target` (p, k). Reflections are
/// allowed; order and signs follow the target.
///
/// Schoenemann (1966), doi:10.1007/BF02289451: $M = U V^\top$ for the singular value decomposition
/// $L^\top B = U \Sigma V^\top$ of loadings L and target B. If that product is of lower rank than k, directions without
/// a counterpart in the target are arbitrary.
///
/// ```
/// use karhunen::Matrix;
/// use karhunen::rotation::procrustes;
/// let loadings = Matrix::from_vec(3, 2, vec![0.6, 0.6, 0.5, 0.5, 0.6, -0.6])?;
/// let target = Matrix::from_vec(3, 2, vec![0.0, 1.0, 0.0, 1.0, 1.0, 0.0])?;
/// let rotated = procrustes(&loadings, &target)?;
/// assert!((rotated.pattern[(0, 1)] - 0.72_f64.sqrt()).abs() < 1e-12);
/// # Ok::<(), karhunen::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`] for a target of another shape; [`Error::NonFinite`]; [`Error::Option`] for no component.
pub fn procrustes(loadings: &Matrix, target: &Matrix) -> Result<Rotation> {
    check_loadings(loadings)?;
    for (axis, found, expected) in
        [("rows", target.n_rows(), loadings.n_rows()), ("columns", target.n_cols(), loadings.n_cols())]
    {
        if found != expected {
            return Err(Error::Shape { what: "the target", axis, found, expected });
        }
    }
    check_loadings(target)?;
    let rotation = orthogonal_factor(&t_multiply(loadings, target))?;
    Rotation::of(loadings, rotation, (1, true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dense::small::multiply;
    use crate::testing::test_matrices::{gaussian, identity_error, max_difference, orthonormal};

    #[test]
    fn a_known_rotation_is_found_and_noise_has_the_least_distance() {
        for k in [1, 2, 4] {
            let loadings = gaussian(9, k, 1, 0);
            let turned = orthonormal(k, k, 5);
            let target = multiply(&loadings, &turned);
            let rotated = procrustes(&loadings, &target).unwrap();
            assert!(max_difference(&rotated.rotation, &turned) < 1e-12);
            let noise = gaussian(9, k, 2, 0);
            let target = Matrix::from_fn(9, k, |j, c| target[(j, c)] + noise[(j, c)]);
            let distance = |m: &Matrix| {
                let moved = multiply(&loadings, m);
                moved.as_slice().iter().zip(target.as_slice()).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
            };
            let best = distance(&procrustes(&loadings, &target).unwrap().rotation);
            for seed in 0..200 {
                assert!(distance(&orthonormal(k, k, 100 + seed)) >= best * (1.0 - 1e-12));
            }
        }
    }

    #[test]
    fn a_target_of_lower_rank_gives_a_rotation_and_another_shape_is_refused() {
        let loadings = gaussian(6, 3, 1, 0);
        let target = Matrix::from_fn(6, 3, |j, c| if c == 1 { loadings[(j, 0)] } else { 0.0 });
        let rotated = procrustes(&loadings, &target).unwrap();
        assert!(identity_error(&rotated.rotation) < 1e-12);
        let error = procrustes(&loadings, &Matrix::zeros(6, 2)).unwrap_err().to_string();
        assert!(error.contains("the target"), "{error}");
    }
}
