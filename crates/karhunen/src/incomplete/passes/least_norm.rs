//! Linear systems that may be singular: Cholesky if regular, otherwise the solution of least norm.
//!
//! Means and offsets have the unit of the data, other unknowns have another unit. Curvatures define the norm: a
//! mean or offset is scaled so that its curvature equals the mean curvature of the components.

use crate::error::Result;
use crate::incomplete::data::Segment;
use crate::incomplete::factors::Factor;
use crate::linalg::Matrix;
use crate::linalg::decomp::cholesky::{BLOCK, LEAST_PIVOT, Upper};
use crate::linalg::decomp::eigh::{Eigh, eigh};
use crate::linalg::simd::Lane;

/// Replaces `b` by the solution of `G x = b`, of least norm if `G` is singular to rounding; returns `b'x`. The
/// first `free` unknowns share a unit.
pub(crate) fn solve(g: &mut Upper<'_>, b: &mut [f64], free: usize) -> Result<f64> {
    let mut workspace = vec![0.0; g.values.len() + g.m];
    solve_in(g, b, free, &mut workspace)
}

/// As [`solve`], with memory `workspace` for copies of `G` and `b`.
pub(crate) fn solve_in(g: &mut Upper<'_>, b: &mut [f64], free: usize, workspace: &mut [f64]) -> Result<f64> {
    let n = g.values.len();
    let (kept, rest) = workspace.split_at_mut(n);
    kept.copy_from_slice(g.values);
    let sides = &mut rest[..g.m];
    sides.copy_from_slice(&b[..g.m]);
    if let Some(explained) = g.factorize_and_solve(b) {
        return Ok(explained);
    }
    b[..g.m].copy_from_slice(sides);
    solve_singular(&mut Upper { values: kept, m: g.m, stride: g.stride }, b, free)
}

/// Replaces `b` by the solution of least norm for a singular or nearly singular `G`; ignores directions below
/// rounding. Returns `b'x`.
pub(crate) fn solve_singular(g: &mut Upper<'_>, b: &mut [f64], free: usize) -> Result<f64> {
    let (m, stride) = (g.m, g.stride);
    if b[..m].iter().all(|b| *b == 0.0) {
        // The solution is zero, whatever `G` is: rows of zeros need no decomposition.
        return Ok(0.0);
    }
    let diagonal = |k: usize| g.values[k * stride + k];
    let mean = (0..free).map(diagonal).sum::<f64>() / free.max(1) as f64;
    let lengths: Vec<f64> = (0..m).map(|k| if k < free { 1.0 } else { length(mean, diagonal(k)) }).collect();
    let full = Matrix::from_fn(m, m, |i, j| lengths[i] * lengths[j] * g.values[i.min(j) * stride + i.max(j)]);
    b[..m].iter_mut().zip(&lengths).for_each(|(b, length)| *b *= length);
    let explained = Range::of(&full)?.solve(&mut b[..m]);
    b[..m].iter_mut().zip(&lengths).for_each(|(b, length)| *b *= length);
    Ok(explained)
}

/// The directions in which a symmetric matrix without negative eigenvalues is not zero to rounding.
pub(crate) struct Range(Eigh);

impl Range {
    /// Decomposes the matrix.
    pub(crate) fn of(g: &Matrix) -> Result<Self> {
        let mut found = eigh(g)?;
        let least = found.values.first().map_or(0.0, |largest| largest * LEAST_PIVOT * g.n_rows() as f64);
        found.values.retain(|value| *value > least);
        Ok(Self(found))
    }

    /// Replaces `b` by the solution of least norm, `b'x` of which it returns.
    pub(crate) fn solve(&self, b: &mut [f64]) -> f64 {
        let Self(Eigh { values, vectors }) = self;
        let (mut x, mut explained) = (vec![0.0; b.len()], 0.0);
        for (k, value) in values.iter().enumerate() {
            let along: f64 = b.iter().enumerate().map(|(i, b)| vectors[(i, k)] * b).sum();
            explained += along * along / value;
            x.iter_mut().enumerate().for_each(|(i, x)| *x += vectors[(i, k)] * along / value);
        }
        b.copy_from_slice(&x);
        explained
    }

    /// Element `(k, l)` of the projection on the directions.
    pub(crate) fn projection(&self, k: usize, l: usize) -> f64 {
        let Self(Eigh { values, vectors }) = self;
        (0..values.len()).map(|at| vectors[(k, at)] * vectors[(l, at)]).sum()
    }
}

/// Overwrites `b` with the solution, inverts `G`, and returns `ln det G`. A `G` that is singular to rounding has
/// inverse zero and logarithm zero here. The first `free` unknowns share a unit.
pub(crate) fn solve_and_invert(
    g: &mut Upper<'_>,
    (b, free): (&mut [f64], usize),
    inverse: &mut [f64],
    workspace: &mut [f64],
) -> Result<f64> {
    let (m, stride) = (g.m, g.stride);
    workspace[..m * stride].copy_from_slice(&g.values[..m * stride]);
    if g.factorize() {
        g.solve(&mut b[..m]);
        let log_det = g.log_determinant();
        g.invert(inverse, workspace);
        return Ok(log_det);
    }
    solve_singular(&mut Upper { values: &mut workspace[..m * stride], m, stride }, &mut b[..m], free)?;
    inverse[..m * stride].fill(0.0);
    Ok(0.0)
}

/// Length of an unknown in the norm, from its curvature and the mean curvature of the components.
fn length(mean: f64, curvature: f64) -> f64 {
    let length = (mean / curvature).sqrt();
    if length > 0.0 && length.is_finite() { length } else { 1.0 }
}

/// Writes the solution of least norm of fewer equations `Z x = y` than unknowns, `x = W Z'(Z W Z')^-1 y`, which
/// has no residual. Returns `false` if the equations are dependent to rounding. `W` are the squared lengths of the
/// unknowns.
pub(crate) fn solve_few<T: Lane>(
    segment: Segment<'_, T>,
    other: &Factor<T>,
    (c, constant): (usize, T),
    (x, free): (&mut [f64], usize),
    workspace: &mut [f64],
) -> bool {
    let d = segment.indices.len();
    let stride = d.next_multiple_of(BLOCK);
    let (gram, y) = workspace.split_at_mut(d * stride);
    let root = |e: usize| segment.weights.map_or(1.0, |w| w[e].to_f64().sqrt());
    let m = x.len();
    let z = |e: usize| &other.row(segment.indices[e] as usize)[..m];
    x.fill(1.0);
    if free < m {
        let curvature = |k: usize| (0..d).map(|e| (root(e) * z(e)[k].to_f64()).powi(2)).sum::<f64>();
        let mean = (0..free).map(curvature).sum::<f64>() / free.max(1) as f64;
        (free..m).for_each(|k| x[k] = length(mean, curvature(k)).powi(2));
    }
    for (e, y) in y[..d].iter_mut().enumerate() {
        let row = other.row(segment.indices[e] as usize);
        *y = root(e) * (segment.values[e].to_f64() - constant.to_f64() * row[c].to_f64());
        for f in e..d {
            let products = z(e).iter().zip(z(f)).map(|(x, y)| x.to_f64() * y.to_f64());
            let dot: f64 = products.zip(&*x).map(|(product, w)| product * w).sum();
            gram[e * stride + f] = root(e) * root(f) * dot;
        }
    }
    let mut gram = Upper { values: gram, m: d, stride };
    if !gram.factorize() {
        return false;
    }
    gram.solve(&mut y[..d]);
    for (k, x) in x.iter_mut().enumerate() {
        *x *= (0..d).map(|e| root(e) * y[e] * z(e)[k].to_f64()).sum::<f64>();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_matrices::gaussian;
    use crate::testing::test_matrices::{triangle_of_squares, triangle_product};

    #[test]
    fn singular_systems_are_noticed_and_solved_with_least_norm() {
        let (m, stride) = (9, 16);
        let original = triangle_of_squares(m, 3, stride);
        let mut b = triangle_product(&original, m, stride, &[1.0; 9]);
        let image = b.clone();
        let mut g = original.clone();
        solve(&mut Upper { values: &mut g, m, stride }, &mut b, m).unwrap();
        let again = triangle_product(&original, m, stride, &b);
        assert!(again.iter().zip(&image).all(|(x, y)| (x - y).abs() < 1e-10));
        assert!(b.iter().map(|x| x * x).sum::<f64>() < 9.0);
        let mut zero = vec![0.0; stride];
        let mut x = [1.0];
        solve(&mut Upper { values: &mut zero, m: 1, stride }, &mut x, 1).unwrap();
        assert_eq!(x, [0.0]);
    }

    #[test]
    fn the_unit_of_a_constant_changes_nothing() {
        let (m, stride) = (5, 8);
        let original = triangle_of_squares(m, 3, stride);
        let solved = |unit: f64| {
            let of = |k: usize| if k == m - 1 { unit } else { 1.0 };
            let mut g = original.clone();
            (0..m).for_each(|i| (i..m).for_each(|j| g[i * stride + j] *= of(i) * of(j)));
            let mut b = triangle_product(&original, m, stride, &[1.0; 5]);
            b[m - 1] *= unit;
            solve(&mut Upper { values: &mut g, m, stride }, &mut b, m - 1).unwrap();
            b[m - 1] *= unit;
            b
        };
        let expected = solved(1.0);
        for unit in [1e-9, 1e9] {
            assert!(solved(unit).iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-9), "{unit}");
        }
    }

    /// Two entries of a row with three unknowns, of which the first `free` share a unit.
    fn few(rows: [[f64; 4]; 2], free: usize) -> (bool, [f64; 3]) {
        let mut other = Factor::<f64>::zeros(2, 4);
        (0..2).for_each(|i| other.row_mut(i)[..4].copy_from_slice(&rows[i]));
        let weights = [1.0, 4.0];
        let mut segment = Segment::whole(0, &[0, 1], &[3.0, -1.0]);
        segment.weights = Some(&weights);
        let mut x = [f64::NAN; 3];
        let found = solve_few(segment, &other, (3, 1.0), (&mut x, free), &mut [0.0; 64]);
        (found, x)
    }

    #[test]
    fn fewer_equations_than_unknowns() {
        let z = gaussian(2, 4, 4, 0);
        let rows = [0, 1].map(|i| std::array::from_fn(|k| z[(i, k)]));
        let (found, x) = few(rows, 3);
        assert!(found);
        for (row, value) in rows.iter().zip([3.0, -1.0]) {
            let fitted: f64 = row[3] + (0..3).map(|k| row[k] * x[k]).sum::<f64>();
            assert!((fitted - value).abs() < 1e-12, "{fitted} for {value}");
        }
        // Least norm: the solution is orthogonal to the null space of both rows.
        let across: [f64; 3] = std::array::from_fn(|k| {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            rows[0][i] * rows[1][j] - rows[0][j] * rows[1][i]
        });
        let outside: f64 = (0..3).map(|k| across[k] * x[k]).sum();
        assert!(outside.abs() < 1e-12, "{outside}");
        // Dependent equations go to the eigendecomposition.
        assert!(!few([rows[0], rows[0]], 3).0);
        // A change of the unit of the last unknown changes its value and not its length.
        let scaled = rows.map(|row| [row[0], row[1], 1e6 * row[2], row[3]]);
        let (one, other) = (few(rows, 2).1, few(scaled, 2).1);
        let expected = [one[0], one[1], 1e-6 * one[2]];
        assert!(
            other.iter().zip(expected).all(|(x, y)| (x / y - 1.0).abs() < 1e-9),
            "{other:?} {expected:?}"
        );
    }
}
