//! Orthogonal rotations: varimax, quartimax and the family between and beyond them.

use crate::error::Result;
use crate::exec::Run;
use crate::growth::More;
use crate::linalg::Matrix;
use crate::rotation::Rotation;
use crate::rotation::normalized::normalized;
use crate::rotation::rotated::{ask, check_iteration, check_loadings, check_variances};

/// Orthogonal rotation that maximises, over the entries $b_{jc}$ of the rotated loadings of shape (p, k),
///
/// $$ \sum_c \left[ \sum_j b_{jc}^4 - \frac{\gamma}{p} \Bigl( \sum_j b_{jc}^2 \Bigr)^2 \right]. $$
///
/// $\gamma = 1$ is varimax (Kaiser 1958, doi:10.1007/BF02289233), $\gamma = 0$ quartimax (Neuhaus & Wrigley 1954,
/// doi:10.1111/j.2044-8317.1954.tb00147.x). Varimax normalises rows, as R's `varimax`; quartimax does not, as GPArotation
/// and psych. Rows of zeros do not count.
///
/// Each pair of components in turn is rotated in its plane by the angle that maximises the criterion, which has a closed
/// form; sweeps end when no angle exceeds `tol`. In contrast to iteration by singular value decompositions (R's
/// `varimax`) the criterion never falls, and a stationary point that is not a maximum in a plane is left. It is a local
/// maximum; with few components there is rarely another.
///
/// ```
/// use karhunen::Matrix;
/// use karhunen::rotation::Orthomax;
/// let loadings = Matrix::from_vec(3, 2, vec![0.8, 0.3, 0.7, 0.4, 0.6, -0.7])?;
/// let rotated = Orthomax { kaiser: false, ..Orthomax::quartimax() }.rotate(&loadings)?;
/// assert!(rotated.converged);
/// assert!((rotated.variances.iter().sum::<f64>() - 2.23).abs() < 1e-12);
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Orthomax {
    /// $\gamma$.
    pub gamma: f64,
    /// Normalise the rows.
    pub kaiser: bool,
    /// Largest angle of a sweep, in radians, that counts as converged.
    pub tol: f64,
    /// Most sweeps over all pairs.
    pub max_iter: usize,
    #[doc(hidden)]
    #[cfg_attr(feature = "serde", serde(skip))]
    pub more: More,
}

impl Default for Orthomax {
    fn default() -> Self {
        Self { gamma: 1.0, kaiser: true, tol: 1e-10, max_iter: 1000, more: More }
    }
}

impl Orthomax {
    /// Varimax, $\gamma = 1$, with normalised rows.
    pub fn varimax() -> Self {
        Self::default()
    }

    /// Quartimax, $\gamma = 0$, with rows as they are.
    pub fn quartimax() -> Self {
        Self { gamma: 0.0, kaiser: false, ..Self::default() }
    }

    /// Rotates loadings of shape (p, k).
    ///
    /// # Errors
    /// [`crate::error::Error::Option`] for no component, one without variance, or a tolerance or number of iterations
    /// outside its rule; [`crate::error::Error::NonFinite`]. If the sweeps do not converge, [`Rotation::converged`] is
    /// false.
    pub fn rotate(&self, loadings: &Matrix) -> Result<Rotation> {
        self.rotate_with(loadings, &Run::default())
    }

    /// As [`Orthomax::rotate`], with the observer of `run`, which is asked before every sweep.
    ///
    /// # Errors
    /// As [`Orthomax::rotate`], and [`crate::error::Error::Stopped`].
    pub fn rotate_with(&self, loadings: &Matrix, run: &Run<'_>) -> Result<Rotation> {
        let (rotation, n_iter, converged) = self.matrix(loadings, run)?;
        Rotation::in_order(loadings, &rotation, (n_iter, converged))
    }

    /// The rotation, the number of sweeps, and true if they converged.
    pub(super) fn matrix(&self, loadings: &Matrix, run: &Run<'_>) -> Result<(Matrix, usize, bool)> {
        check_loadings(loadings)?;
        check_variances(loadings)?;
        check_iteration(self.tol, self.max_iter)?;
        let k = loadings.n_cols();
        // Columns as rows, so that a pair is two slices.
        let mut columns = normalized(loadings, self.kaiser).transposed();
        let mut rotation = Matrix::from_fn(k, k, |i, j| f64::from(u8::from(i == j)));
        for sweep in 1..=self.max_iter {
            ask(run)?;
            let mut largest = 0.0_f64;
            for first in 0..k {
                for second in first + 1..k {
                    let angle = best_angle(columns.row(first), columns.row(second), self.gamma);
                    if angle != 0.0 {
                        turn(&mut columns, first, second, angle);
                        turn(&mut rotation, first, second, angle);
                    }
                    largest = largest.max(angle.abs());
                }
            }
            if largest <= self.tol {
                return Ok((rotation.transposed(), sweep, true));
            }
        }
        Ok((rotation.transposed(), self.max_iter, false))
    }
}

/// The angle, between -45 and 45 degrees, that maximises the criterion in the plane of two columns: Kaiser (1959),
/// doi:10.1177/001316445901900314, with gamma.
fn best_angle(x: &[f64], y: &[f64], gamma: f64) -> f64 {
    if x.is_empty() {
        return 0.0;
    }
    let (mut a, mut b, mut c, mut d) = (0.0, 0.0, 0.0, 0.0);
    for (x, y) in x.iter().zip(y) {
        let (u, v) = ((x - y) * (x + y), 2.0 * x * y);
        a += u;
        b += v;
        c += (u - v) * (u + v);
        d += 2.0 * u * v;
    }
    let p = x.len() as f64;
    let (sine, cosine) = (d - 2.0 * gamma * a * b / p, c - gamma * (a - b) * (a + b) / p);
    // Both are sums of fourth powers of entries of about one: a smaller pair is rounding, and every angle is as good.
    if sine.hypot(cosine) <= 1e-14 * p { 0.0 } else { sine.atan2(cosine) / 4.0 }
}

/// Rotates rows `first` and `second` by `angle`, from the first towards the second.
fn turn(rows: &mut Matrix, first: usize, second: usize, angle: f64) {
    let (sin, cos) = angle.sin_cos();
    for j in 0..rows.n_cols() {
        let (x, y) = (rows[(first, j)], rows[(second, j)]);
        rows[(first, j)] = cos * x + sin * y;
        rows[(second, j)] = cos * y - sin * x;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dense::small::multiply;
    use crate::testing::test_matrices::{gaussian, identity_error, max_difference, orthonormal};

    fn criterion(loadings: &Matrix, gamma: f64) -> f64 {
        let (p, k) = loadings.shape();
        (0..k)
            .map(|c| {
                let squares = (0..p).map(|j| loadings[(j, c)].powi(2));
                squares.clone().map(|s| s * s).sum::<f64>() - gamma / p as f64 * squares.sum::<f64>().powi(2)
            })
            .sum()
    }

    #[test]
    fn no_random_rotation_has_a_larger_criterion() {
        for (p, k, gamma) in [(5, 2, 1.0), (8, 3, 1.0), (12, 4, 0.0), (20, 5, 0.5), (9, 3, 0.0)] {
            let loadings = gaussian(p, k, p as u64, 0);
            for kaiser in [false, true] {
                let rotated = Orthomax { gamma, kaiser, ..Orthomax::varimax() }.rotate(&loadings).unwrap();
                assert!(rotated.converged && identity_error(&rotated.rotation) < 1e-12);
                assert!(identity_error(&rotated.component_correlations) < 1e-12);
                let rows = normalized(&loadings, kaiser);
                let best = criterion(&multiply(&rows, &rotated.rotation), gamma);
                for seed in 0..200 {
                    let other = criterion(&multiply(&rows, &orthonormal(k, k, 1000 + seed)), gamma);
                    assert!(other <= best * (1.0 + 1e-12), "{p} {k} {gamma} {kaiser}: {other} {best}");
                }
            }
        }
    }

    #[test]
    fn communalities_and_their_sum_stay() {
        let loadings = gaussian(10, 4, 3, 0);
        let rotated = Orthomax::varimax().rotate(&loadings).unwrap();
        for j in 0..10 {
            let of = |a: &Matrix| a.row(j).iter().map(|x| x * x).sum::<f64>();
            assert!((of(&rotated.pattern) - of(&loadings)).abs() < 1e-13);
            assert!((rotated.communalities[j] - of(&loadings)).abs() < 1e-13);
        }
        let (sum, total): (f64, f64) = (rotated.variances.iter().sum(), rotated.communalities.iter().sum());
        assert!((sum - total).abs() < 1e-12 * total);
        assert!(rotated.variances.windows(2).all(|w| w[0] >= w[1]));
        assert_eq!(rotated.shares(2.0)[0], rotated.variances[0] / 2.0);
        assert!(max_difference(&rotated.pattern, &rotated.structure) < 1e-12);
    }

    #[test]
    fn the_size_of_the_loadings_changes_no_rotation() {
        let loadings = gaussian(7, 3, 4, 0);
        for kaiser in [false, true] {
            let rule = Orthomax { kaiser, ..Orthomax::varimax() };
            let plain = rule.rotate(&loadings).unwrap();
            for factor in [1e-100, 1e100] {
                let scaled = Matrix::from_fn(7, 3, |j, c| loadings[(j, c)] * factor);
                assert!(max_difference(&rule.rotate(&scaled).unwrap().rotation, &plain.rotation) < 1e-9);
            }
        }
    }

    #[test]
    fn a_row_of_rounding_errors_changes_no_rotation() {
        let loadings = gaussian(8, 3, 4, 0);
        let with =
            Matrix::from_fn(9, 3, |j, c| if j < 8 { loadings[(j, c)] } else { [7e-17, -9e-17, 3e-17][c] });
        for kaiser in [false, true] {
            let rule = Orthomax { kaiser, ..Orthomax::varimax() };
            let (a, b) = (rule.rotate(&loadings).unwrap(), rule.rotate(&with).unwrap());
            assert!(max_difference(&a.rotation, &b.rotation) < 1e-9);
        }
    }

    #[test]
    fn a_rotation_stops_when_the_observer_says_so() {
        use crate::exec::{Flow, Observer};
        struct Stop;
        impl Observer for Stop {
            fn update(&self, _: &'static str, _: f64) -> Flow {
                Flow::Stop
            }
        }
        let run = Run { observer: &Stop, ..Run::default() };
        let found = Orthomax::varimax().rotate_with(&gaussian(8, 3, 4, 0), &run);
        assert!(matches!(found, Err(crate::error::Error::Stopped { .. })));
    }

    #[test]
    fn one_component_and_empty_rows_are_rotated() {
        let one = Matrix::from_vec(3, 1, vec![-0.9, 0.5, 0.0]).unwrap();
        let rotated = Orthomax::varimax().rotate(&one).unwrap();
        assert_eq!(rotated.pattern.as_slice(), [0.9, -0.5, 0.0]);
        assert!(rotated.converged);
        let empty_row = Matrix::from_vec(3, 2, vec![0.6, 0.6, 0.0, 0.0, 0.5, -0.5]).unwrap();
        let rotated = Orthomax::varimax().rotate(&empty_row).unwrap();
        assert_eq!(rotated.pattern.row(1), [0.0, 0.0]);
        let zeros = Orthomax::varimax().rotate(&Matrix::zeros(3, 2)).unwrap();
        assert_eq!(zeros.pattern, Matrix::zeros(3, 2));
    }

    #[test]
    fn invalid_options_and_loadings_are_refused() {
        let loadings = gaussian(4, 2, 1, 0);
        assert!(Orthomax { tol: 0.0, ..Orthomax::varimax() }.rotate(&loadings).is_err());
        assert!(Orthomax { max_iter: 0, ..Orthomax::varimax() }.rotate(&loadings).is_err());
        assert!(Orthomax::varimax().rotate(&Matrix::zeros(3, 0)).is_err());
        let error = Orthomax::varimax().rotate(&Matrix::from_vec(1, 2, vec![1.0, f64::NAN]).unwrap());
        assert!(matches!(error, Err(crate::error::Error::NonFinite { row: 0, column: 1, .. })));
        let few = Orthomax { max_iter: 1, ..Orthomax::varimax() }.rotate(&gaussian(9, 4, 2, 0)).unwrap();
        assert!(!few.converged && few.n_iter == 1);
    }
}
