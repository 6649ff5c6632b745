//! Direct oblimin.

use crate::error::{Error, Result, options};
use crate::exec::Run;
use crate::growth::More;
use crate::linalg::Matrix;
use crate::linalg::decomp::cholesky::solve;
use crate::linalg::dense::small::{multiply, t_multiply};
use crate::rotation::normalized::normalized;
use crate::rotation::rotated::{ask, check_iteration, check_loadings, check_variances};
use crate::rotation::{Orthomax, Rotation};

/// Oblique rotation that minimises, over the entries of the pattern B of shape (p, k),
///
/// $$ \frac{1}{4} \sum_{c \ne d} \left[ \sum_j b_{jc}^2 b_{jd}^2 - \frac{\gamma}{p} \sum_j b_{jc}^2 \sum_j b_{jd}^2
/// \right]. $$
///
/// $\gamma = 0$, the default, is direct quartimin; negative values make the components less correlated, and for positive
/// ones the criterion may have no minimum, and variances (sums of pattern times structure) may be negative. Jennrich &
/// Sampson (1966), doi:10.1007/BF02289465. Minimised by the gradient projection of Jennrich (2002),
/// doi:10.1007/BF02294706, from the unrotated loadings, as R's `GPArotation::oblimin`, and from their varimax rotation; the
/// lower end is the result. Unrotated loadings may be a saddle of the criterion: of equal blocks of columns they are, and of
/// any two standardised columns. Rows are as they are by default, as in GPArotation; SPSS normalises them. Rows of
/// zeros do not count.
///
/// ```
/// use karhunen::Matrix;
/// use karhunen::rotation::Oblimin;
/// let loadings = Matrix::from_vec(4, 2, vec![0.9, 0.2, 0.8, 0.3, 0.6, -0.6, 0.5, -0.7])?;
/// let rotated = Oblimin::default().rotate(&loadings)?;
/// assert!(rotated.converged);
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Oblimin {
    /// $\gamma$, at most 0.8.
    pub gamma: f64,
    /// Normalise the rows.
    pub kaiser: bool,
    /// Norm of the projected gradient that counts as converged, over `1 + |gamma|`, for rows of mean squared length one.
    pub tol: f64,
    /// Most iterations.
    pub max_iter: usize,
    #[doc(hidden)]
    #[cfg_attr(feature = "serde", serde(skip))]
    pub more: More,
}

impl Default for Oblimin {
    fn default() -> Self {
        Self { gamma: 0.0, kaiser: false, tol: 1e-6, max_iter: 10_000, more: More }
    }
}

/// The most halvings of a step.
const HALVINGS: usize = 30;
/// Relative difference of two values within which they are equal, and the end from the unrotated loadings is the result.
const EQUAL: f64 = 1e-9;

impl Oblimin {
    /// Rotates loadings of shape (p, k).
    ///
    /// # Errors
    /// As [`super::Orthomax::rotate`]; [`Error::Option`] for gamma above 0.8; [`Error::Decomposition`] if the
    /// components become collinear, as they may for positive gamma.
    pub fn rotate(&self, loadings: &Matrix) -> Result<Rotation> {
        self.rotate_with(loadings, &Run::default())
    }

    /// As [`Oblimin::rotate`], with the observer of `run`, which is asked before every iteration.
    ///
    /// # Errors
    /// As [`Oblimin::rotate`], and [`Error::Stopped`].
    pub fn rotate_with(&self, loadings: &Matrix, run: &Run<'_>) -> Result<Rotation> {
        check_loadings(loadings)?;
        check_variances(loadings)?;
        check_iteration(self.tol, self.max_iter)?;
        if !(self.gamma <= 0.8 && self.gamma.is_finite()) {
            let rule = "oblimin needs a finite gamma of at most 0.8";
            return Err(Error::option(options::GAMMA, self.gamma, rule));
        }
        let a = normalized(loadings, self.kaiser);
        let k = a.n_cols();
        let unrotated = Matrix::from_fn(k, k, |i, j| f64::from(u8::from(i == j)));
        let mut end = self.descend(&a, unrotated, run)?;
        if k > 1 && a.n_rows() > 0 {
            let (varimax, ..) = Orthomax { kaiser: false, ..Orthomax::varimax() }.matrix(&a, run)?;
            let other = self.descend(&a, varimax, run)?;
            if other.point.value < end.point.value - EQUAL * end.point.value.abs() {
                end = other;
            }
        }
        Rotation::in_order(loadings, &end.point.inverse_t, (end.n_iter, end.converged))
    }

    /// Minimises the criterion of the pattern of `a` from a transformation T with columns of length one.
    fn descend(&self, a: &Matrix, start: Matrix, run: &Run<'_>) -> Result<End> {
        let k = a.n_cols();
        let mut at = Point::new(a, start, self.gamma)?;
        let (mut step, mut n_iter, mut converged) = (1.0, 0, k == 1);
        while !converged && n_iter < self.max_iter {
            ask(run)?;
            let (direction, norm) = at.projected_gradient();
            if norm <= self.tol * (1.0 + self.gamma.abs()) {
                converged = true;
                break;
            }
            n_iter += 1;
            step *= 2.0;
            let mut found = None;
            for _ in 0..HALVINGS {
                let next = unit_columns(Matrix::from_fn(k, k, |i, c| {
                    at.transform[(i, c)] - step * direction[(i, c)]
                }));
                // A step to collinear components is too long.
                if let Ok(next) = Point::new(a, next, self.gamma)
                    && at.value - next.value > 0.5 * norm * norm * step
                {
                    found = Some(next);
                    break;
                }
                step /= 2.0;
            }
            // Without a decrease beyond rounding, the present point is the result, not converged.
            let Some(next) = found else { break };
            at = next;
        }
        Ok(End { point: at, n_iter, converged })
    }
}

/// The end of a minimisation.
struct End {
    point: Point,
    n_iter: usize,
    converged: bool,
}

/// A transformation T with columns of length one, and what follows from it.
struct Point {
    transform: Matrix,
    /// T^-T, with pattern = A T^-T.
    inverse_t: Matrix,
    value: f64,
    /// Gradient of the value by T.
    gradient: Matrix,
}

impl Point {
    fn new(a: &Matrix, transform: Matrix, gamma: f64) -> Result<Self> {
        // T^-T = T (T'T)^-1.
        let k = transform.n_rows();
        let identity = Matrix::from_fn(k, k, |i, j| f64::from(u8::from(i == j)));
        let inverse_t = multiply(&transform, &solve(&t_multiply(&transform, &transform), &identity)?);
        let pattern = multiply(a, &inverse_t);
        let (value, by_pattern) = criterion(&pattern, gamma);
        // -(L' G T^-1)' = -T^-T G' L.
        let mut gradient = multiply(&inverse_t, &t_multiply(&by_pattern, &pattern));
        gradient.as_mut_slice().iter_mut().for_each(|g| *g = -*g);
        Ok(Self { transform, inverse_t, value, gradient })
    }

    /// The gradient without its part along each column of T, and its norm.
    fn projected_gradient(&self) -> (Matrix, f64) {
        let (t, g) = (&self.transform, &self.gradient);
        let k = t.n_rows();
        let along: Vec<f64> = (0..k).map(|c| (0..k).map(|i| t[(i, c)] * g[(i, c)]).sum()).collect();
        let projected = Matrix::from_fn(k, k, |i, c| g[(i, c)] - t[(i, c)] * along[c]);
        let norm = projected.as_slice().iter().map(|x| x * x).sum::<f64>().sqrt();
        (projected, norm)
    }
}

/// The criterion and its gradient by the pattern.
fn criterion(pattern: &Matrix, gamma: f64) -> (f64, Matrix) {
    let (p, k) = pattern.shape();
    let squares = Matrix::from_fn(p, k, |j, c| pattern[(j, c)].powi(2));
    let means: Vec<f64> =
        (0..k).map(|c| gamma * (0..p).map(|j| squares[(j, c)]).sum::<f64>() / p as f64).collect();
    let centred = Matrix::from_fn(p, k, |j, c| squares[(j, c)] - means[c]);
    // The sums of the other columns, from both ends: in the sum of all less its own a large entry would round small ones.
    let mut others = Matrix::<f64>::zeros(p, k);
    for j in 0..p {
        let (mut before, mut after) = (0.0, 0.0);
        for c in 0..k {
            others[(j, c)] += before;
            before += centred[(j, c)];
            let last = k - 1 - c;
            others[(j, last)] += after;
            after += centred[(j, last)];
        }
    }
    let value = squares.as_slice().iter().zip(others.as_slice()).map(|(s, o)| s * o).sum::<f64>() / 4.0;
    (value, Matrix::from_fn(p, k, |j, c| pattern[(j, c)] * others[(j, c)]))
}

fn unit_columns(t: Matrix) -> Matrix {
    let k = t.n_rows();
    let lengths: Vec<f64> = (0..k).map(|c| (0..k).map(|i| t[(i, c)].powi(2)).sum::<f64>().sqrt()).collect();
    Matrix::from_fn(k, k, |i, c| t[(i, c)] / lengths[c])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_matrices::gaussian;

    #[test]
    fn gradients_are_differences_of_the_criterion() {
        let a = gaussian(7, 3, 1, 0);
        let t = unit_columns(gaussian(3, 3, 1, 1));
        for gamma in [0.0, -0.7, 0.3] {
            let at = Point::new(&a, t.clone(), gamma).unwrap();
            for e in 0..9 {
                let moved = |h: f64| {
                    let mut t = t.clone();
                    t.as_mut_slice()[e] += h;
                    Point::new(&a, t, gamma).unwrap().value
                };
                let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                let found = at.gradient.as_slice()[e];
                assert!(
                    (found - difference).abs() < 1e-5 * (1.0 + found.abs()),
                    "{gamma} {e}: {found} {difference}"
                );
            }
        }
    }

    #[test]
    fn a_large_loading_does_not_round_the_others() {
        // A row of one large loading: the decreases of the value near the minimum are far below its roundings.
        let mut loadings = gaussian(12, 3, 4, 0);
        loadings.row_mut(4).copy_from_slice(&[1e4, 1e-3, 0.0]);
        let pattern = loadings.clone();
        let (value, _) = criterion(&pattern, 0.0);
        let squares = |j: usize, c: usize| pattern[(j, c)].powi(2);
        let pairs = |j: usize| {
            squares(j, 0) * squares(j, 1) + squares(j, 0) * squares(j, 2) + squares(j, 1) * squares(j, 2)
        };
        let expected: f64 = (0..12).map(pairs).sum::<f64>() / 2.0;
        assert!((value - expected).abs() < 1e-14 * expected, "{value:e} {expected:e}");
    }

    #[test]
    fn the_minimum_is_below_random_transformations_near_it() {
        let loadings = gaussian(10, 3, 8, 0);
        let rotated = Oblimin::default().rotate(&loadings).unwrap();
        assert!(rotated.converged);
        let a = normalized(&loadings, false);
        let best = criterion(&multiply(&a, &rotated.rotation), 0.0).0;
        for seed in 0..200 {
            let noise = gaussian(3, 3, seed, 1);
            let near = unit_columns(Matrix::from_fn(3, 3, |i, c| {
                rotated.score_rotation[(i, c)] + 0.05 * noise[(i, c)]
            }));
            assert!(Point::new(&a, near, 0.0).unwrap().value >= best * (1.0 - 1e-9));
        }
        for c in 0..3 {
            assert!((rotated.component_correlations[(c, c)] - 1.0).abs() < 1e-10);
        }
    }

    #[test]
    fn a_saddle_is_no_result() {
        // Unrotated loadings of two correlated blocks of three columns: equal in size, the second with a sign by block.
        let blocks = Matrix::from_fn(6, 2, |j, c| if c == 0 { 0.84 } else { [0.44, -0.44][j / 3] });
        let two = Matrix::from_vec(2, 2, vec![0.87, 0.5, 0.87, -0.5]).unwrap();
        for loadings in [blocks, two] {
            let rotated = Oblimin::default().rotate(&loadings).unwrap();
            assert!(rotated.converged);
            // The minimum, zero: each block has one component.
            for j in 0..loadings.n_rows() {
                let product = rotated.pattern[(j, 0)] * rotated.pattern[(j, 1)];
                assert!(product.abs() < 1e-6, "{:?}", rotated.pattern);
            }
        }
    }

    #[test]
    fn one_component_stays_and_a_large_gamma_is_refused() {
        let one = Matrix::from_vec(3, 1, vec![0.9, -0.5, 0.1]).unwrap();
        let rotated = Oblimin::default().rotate(&one).unwrap();
        assert!(rotated.converged && rotated.pattern == one);
        let zeros = Oblimin::default().rotate(&Matrix::zeros(3, 2)).unwrap();
        assert_eq!(zeros.pattern, Matrix::zeros(3, 2));
        assert!(Oblimin { gamma: 0.9, ..Oblimin::default() }.rotate(&one).is_err());
    }
}
