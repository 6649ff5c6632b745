//! Singular value decomposition by one-sided Jacobi rotations: slow, short, and accurate for small singular values
//! too.

use crate::compare::largest;
use crate::rows::Rows;

/// `A = U S V'` of an (m, n) matrix, with `r = min(m, n)` triplets, largest first.
#[derive(Clone, Debug)]
pub struct Svd {
    /// Left singular vectors, one per entry, each of length m.
    pub left: Rows,
    /// Singular values, decreasing.
    pub values: Vec<f64>,
    /// Right singular vectors, one per entry, each of length n.
    pub right: Rows,
}

/// Rotates pairs of columns until all are orthogonal (Hestenes 1958; Demmel & Veselic 1992 on its accuracy).
///
/// Vectors of zero singular values complete an orthonormal set.
///
/// # Panics
/// If the rotations do not converge, which finite input never causes.
pub fn svd(rows: &[Vec<f64>]) -> Svd {
    let (m, n) = (rows.len(), rows.first().map_or(0, Vec::len));
    if m < n {
        // The columns of the transposed matrix are the rows of this one.
        let Svd { left, values, right } = tall(rows.to_vec());
        return Svd { left: right, values, right: left };
    }
    tall((0..n).map(|j| rows.iter().map(|row| row[j]).collect()).collect())
}

/// The decomposition of a matrix with at least as many rows as columns, given by columns.
fn tall(mut columns: Rows) -> Svd {
    let n = columns.len();
    let largest = largest(columns.iter().flatten().copied());
    if largest > 0.0 {
        columns.iter_mut().flatten().for_each(|x| *x /= largest);
    }
    let mut rotations: Rows = (0..n).map(|j| unit(n, j)).collect();
    rotate_until_orthogonal(&mut columns, &mut rotations);

    let norms: Vec<f64> = columns.iter().map(|c| dot(c, c).sqrt()).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| norms[b].total_cmp(&norms[a]));
    let values = order.iter().map(|&j| norms[j] * largest).collect();
    let right = order.iter().map(|&j| rotations[j].clone()).collect();
    let mut left: Rows = Vec::with_capacity(n);
    for &j in &order {
        // Below this norm, the direction of the column is rounding error.
        let direction = (norms[j] > norms[order[0]] * f64::EPSILON * 0.01)
            .then(|| columns[j].iter().map(|x| x / norms[j]).collect());
        let next = direction.unwrap_or_else(|| orthogonal_to(&left, columns[j].len()));
        left.push(next);
    }
    Svd { left, values, right }
}

fn rotate_until_orthogonal(columns: &mut [Vec<f64>], rotations: &mut [Vec<f64>]) {
    let n = columns.len();
    let tiny = largest(columns.iter().map(|c| dot(c, c))) * 1e-40;
    for _ in 0..100 {
        let mut rotated = false;
        for i in 0..n {
            for j in i + 1..n {
                let (a, b, c) = (
                    dot(&columns[i], &columns[i]),
                    dot(&columns[j], &columns[j]),
                    dot(&columns[i], &columns[j]),
                );
                if c.abs() <= 1e-15 * (a * b).sqrt() || a.min(b) <= tiny {
                    continue;
                }
                rotated = true;
                let zeta = (b - a) / (2.0 * c);
                let tangent = 1.0_f64.copysign(zeta) / (zeta.abs() + zeta.hypot(1.0));
                let cosine = 1.0 / tangent.hypot(1.0);
                for lines in [&mut *columns, &mut *rotations] {
                    let (head, rest) = lines.split_at_mut(j);
                    for (x, y) in head[i].iter_mut().zip(&mut rest[0]) {
                        (*x, *y) = (cosine * (*x - tangent * *y), cosine * (tangent * *x + *y));
                    }
                }
            }
        }
        if !rotated {
            return;
        }
    }
    panic!("one-sided Jacobi did not settle in 100 sweeps");
}

/// A unit vector orthogonal to orthonormal ones, from the coordinate vector farthest from their span.
fn orthogonal_to(vectors: &[Vec<f64>], len: usize) -> Vec<f64> {
    let in_span = |j: usize| vectors.iter().map(|v| v[j] * v[j]).sum::<f64>();
    let start = (0..len).min_by(|&a, &b| in_span(a).total_cmp(&in_span(b))).unwrap_or(0);
    let mut x = unit(len, start);
    for _ in 0..2 {
        for v in vectors {
            let c = dot(&x, v);
            x.iter_mut().zip(v).for_each(|(x, v)| *x -= c * v);
        }
        let norm = dot(&x, &x).sqrt();
        x.iter_mut().for_each(|x| *x /= norm);
    }
    x
}

fn unit(len: usize, j: usize) -> Vec<f64> {
    let mut x = vec![0.0; len];
    x[j] = 1.0;
    x
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tolerance, assert_close, gaussian};

    fn assert_decomposes(rows: &[Vec<f64>]) -> Svd {
        let svd = svd(rows);
        let tolerance = Tolerance { multiple: 50.0, epsilon: f64::EPSILON, norm: svd.values[0].max(1.0) };
        for (i, row) in rows.iter().enumerate() {
            let product: Vec<f64> = (0..row.len())
                .map(|j| {
                    (0..svd.values.len()).map(|r| svd.left[r][i] * svd.values[r] * svd.right[r][j]).sum()
                })
                .collect();
            assert_close("U S V'", &product, row, tolerance);
        }
        for vectors in [&svd.left, &svd.right] {
            for (a, x) in vectors.iter().enumerate() {
                let products: Vec<f64> = vectors.iter().map(|y| dot(x, y)).collect();
                assert_close(
                    "orthonormal",
                    &products,
                    &unit(vectors.len(), a),
                    Tolerance { norm: 1.0, ..tolerance },
                );
            }
        }
        assert!(svd.values.is_sorted_by(|a, b| a >= b));
        svd
    }

    #[test]
    fn tall_wide_and_square_matrices_are_decomposed() {
        for (m, n) in [(1, 1), (7, 3), (3, 7), (6, 6), (40, 12)] {
            assert_decomposes(&gaussian(m, n, 3));
        }
    }

    #[test]
    fn a_matrix_of_low_rank_has_zero_values_and_orthonormal_vectors() {
        let svd = assert_decomposes(&[vec![1.0, 2.0, 3.0], vec![2.0, 4.0, 6.0], vec![-1.0, -2.0, -3.0]]);
        assert!((svd.values[0] - 84.0_f64.sqrt()).abs() < 1e-14 && svd.values[1] < 1e-15);
        let zero = assert_decomposes(&vec![vec![0.0; 3]; 4]);
        assert_eq!(zero.values, [0.0; 3]);
    }

    #[test]
    fn small_singular_values_have_small_relative_errors() {
        let svd = svd(&[vec![1.0, 0.0], vec![1.0, 1e-9], vec![0.0, 1e-9]]);
        // A'A = [[2, e], [e, 2 e^2]] has the determinant 3 e^2.
        assert!((svd.values[0] * svd.values[1] / (3.0_f64.sqrt() * 1e-9) - 1.0).abs() < 1e-14);
    }
}
