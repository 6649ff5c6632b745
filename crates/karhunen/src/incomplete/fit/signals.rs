//! Measures of convergence other than the cost.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::{FactorSide, Factors};
use crate::incomplete::passes::gradient::gradient_pass;
use crate::linalg::Matrix;
use crate::linalg::decomp::eigh::eigh;
use crate::linalg::decomp::orthonormal::orthonormalize;
use crate::linalg::dense::small::{multiply, t_multiply};
use crate::linalg::simd::Lane;
use crate::scalar::largest;

/// `sqrt(sum g^2 / h / F)`, with `g` minus half the gradient of F and `h` half its second derivatives: the
/// predicted relative gain of a diagonal Newton step. Independent of the unit of the data.
pub(crate) fn relative_gradient<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &Factors<T>,
    cost: f64,
    exec: &Exec<'_>,
) -> Result<f64> {
    let mut total = 0.0;
    for side in [FactorSide::Scores, FactorSide::Loadings] {
        let mut gains = factors.of(side).zeros_like();
        gradient_pass(problem, factors, side, [&mut gains], exec, |g, h, [row]| {
            let gain = g.iter().zip(h).map(|(g, h)| if *h > 0.0 { g * g / h } else { 0.0 });
            row[0] = T::from_f64(gain.sum());
        })?;
        total += gains.sum_rows(1, exec, |_, row, sum| sum[0] += row[0].to_f64())?[0];
    }
    Ok((total / cost).sqrt())
}

/// Orthonormal basis of the span of the loadings, shape (n_features, c).
pub(crate) fn basis<T: Lane>(factors: &Factors<T>, exec: &Exec<'_>) -> Result<Matrix> {
    Ok(orthonormalize(factors.a.to_matrix(factors.c), 0, exec)?.q)
}

/// The largest principal angle between the spans of two orthonormal bases, in radians. Computed from its sine,
/// which keeps the digits of small angles.
pub(crate) fn largest_angle(x: &Matrix, y: &Matrix) -> Result<f64> {
    let inside = multiply(x, &t_multiply(x, y));
    let outside = Matrix::from_fn(y.n_rows(), y.n_cols(), |i, k| y[(i, k)] - inside[(i, k)]);
    let largest = largest(eigh(&t_multiply(&outside, &outside))?.values);
    Ok(largest.sqrt().min(1.0).asin())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incomplete::data::Observed;
    use crate::incomplete::factors::objective::{Diagonal, MeanRule};
    use crate::linalg::Dense;
    use crate::testing::test_matrices::gaussian;

    #[test]
    fn angles_keep_their_digits() {
        for angle in [0.0, 1e-12, 1e-8, 0.3, std::f64::consts::FRAC_PI_2] {
            // The second axis is rotated by the angle.
            let x = Matrix::from_fn(3, 2, |i, k| f64::from(u8::from(i == k)));
            let turned = [angle.cos(), angle.sin()];
            let y = Matrix::from_fn(3, 2, |i, k| match (i, k) {
                (0, 0) => 1.0,
                (1 | 2, 1) => turned[i - 1],
                _ => 0.0,
            });
            let found = largest_angle(&x, &y).unwrap();
            assert!(
                (found - angle).abs() <= 1e-14 + 1e-8 * f64::from(u8::from(angle > 1.0)),
                "{found} {angle}"
            );
        }
    }

    #[test]
    fn the_gradient_matches_finite_differences() {
        let (n, p, c) = (9, 6, 2);
        let x: Vec<f64> = gaussian(n, p, 5, 0).into_vec();
        let x: Vec<f64> = x.iter().enumerate().map(|(e, x)| if e % 4 == 1 { f64::NAN } else { *x }).collect();
        let data = Observed::from_dense(&Dense::row_major(&x, n, p).unwrap()).unwrap();
        let mean = MeanRule { kappa: 0.5, prior: 0.2, ..MeanRule::FLAT };
        let cost = |a: &Matrix, s: &Matrix, mu: &Matrix, b: &Matrix| {
            let mut f: f64 = 0.0;
            for (e, x) in x.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
                let (i, j) = (e / p, e % p);
                let products = (0..c).map(|k| a[(j, k)] * s[(i, k)]).sum::<f64>();
                f += (x - mu[(j, 0)] - b[(i, 0)] - products).powi(2);
            }
            let squares =
                |of: &Matrix, centre: f64| of.as_slice().iter().map(|x| (x - centre).powi(2)).sum::<f64>();
            f + 0.7 * squares(a, 0.0) + 0.3 * squares(s, 0.0) + 0.5 * squares(mu, 0.2) + 0.9 * squares(b, 0.0)
        };
        for offsets in [false, true] {
            let [loadings, scores] = [Diagonal::Same(0.7), Diagonal::Same(0.3)];
            let of_rows = offsets.then_some(Diagonal::Same(0.9));
            let width = c + usize::from(offsets);
            let problem = Objective { data: &data, loadings, scores, mean, offsets: of_rows, c: width };
            let mut b = gaussian(n, 1, 3, 0);
            b.scale(f64::from(u8::from(offsets)));
            let here = [gaussian(p, c, 1, 0), gaussian(n, c, 2, 0), Matrix::from_fn(p, 1, |_, _| 0.1), b];
            let value = |x: &[Matrix; 4]| cost(&x[0], &x[1], &x[2], &x[3]);
            let (now, step) = (value(&here), 1e-3);
            let mut total = 0.0;
            for part in 0..if offsets { 4 } else { 3 } {
                for at in 0..here[part].as_slice().len() {
                    let moved = |by: f64| {
                        let mut there = here.clone();
                        there[part].as_mut_slice()[at] += by;
                        value(&there)
                    };
                    // F is quadratic in each value: finite differences are exact.
                    let (up, down) = (moved(step), moved(-step));
                    let (g, h) = ((up - down) / (4.0 * step), (up - 2.0 * now + down) / (2.0 * step * step));
                    total += g * g / h;
                }
            }
            let expected = (total / now).sqrt();
            let of_rows = offsets.then(|| here[3].as_slice());
            let factors = Factors::with_offsets(&here[0], &here[1], here[2].as_slice(), of_rows);
            let found = relative_gradient(&problem, &factors, now, &Exec::sequential()).unwrap();
            // Second differences lose half of the digits.
            assert!((found - expected).abs() < 1e-6 * expected, "{offsets}: {found} {expected}");
        }
    }
}
