//! The first penalty of a path.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::{EntryLines, Observed, Rows, Segment};
use crate::linalg::normals::gaussian;
use crate::linalg::simd::Lane;
use crate::random::Purpose;

/// Most power iterations.
const MOST_ROUNDS: usize = 200;
/// Relative increase of the norm at convergence.
const SETTLED: f64 = 1e-6;

/// The ridge above which all components are zero: the spectral norm of the (weighted) deviations of the entries
/// from `mean` and from row offsets with this `penalty`; zero without entries. Computed by power iteration, from
/// below.
pub(crate) fn largest_penalty<T: Lane>(
    data: &Observed<T>,
    mean: &[f64],
    penalty: Option<f64>,
    exec: &Exec<'_>,
) -> Result<f64> {
    let (n, p) = data.shape();
    let offsets = match penalty {
        None => vec![0.0; n],
        Some(penalty) => {
            let sums = product(data.rows(), n, exec, |_, index, value| value - mean[index])?;
            let weight = |row: usize| data.rows().weight(row) + penalty;
            let mean_of = |(row, sum): (usize, &f64)| if weight(row) > 0.0 { sum / weight(row) } else { 0.0 };
            sums.iter().enumerate().map(mean_of).collect()
        }
    };
    let away = |row: usize, column: usize, value: f64| value - mean[column] - offsets[row];
    let mut right = unit(gaussian(p, 1, Purpose::PathStart.of(0)).into_vec());
    let mut norm = 0.0;
    for _ in 0..MOST_ROUNDS {
        let left =
            product(data.rows(), n, exec, |line, index, value| away(line, index, value) * right[index])?;
        let image =
            product(data.columns(), p, exec, |line, index, value| away(index, line, value) * left[index])?;
        let before = norm;
        norm = length(&image).sqrt();
        if norm == 0.0 || norm - before <= SETTLED * norm {
            break;
        }
        right = unit(image);
    }
    Ok(norm)
}

/// The weighted sum of `term(line, index, value)` over the entries of each line.
fn product<T: Lane>(
    lines: &EntryLines<T>,
    n: usize,
    exec: &Exec<'_>,
    term: impl Fn(usize, usize, f64) -> f64 + Sync,
) -> Result<Vec<f64>> {
    let mut sums = vec![T::default(); n];
    let gather = |segment: Segment<'_, T>, acc: &mut [f64]| {
        for (e, (index, value)) in segment.indices.iter().zip(segment.values).enumerate() {
            let weight = segment.weights.map_or(1.0, |w| w[e].to_f64());
            acc[0] += weight * term(segment.line, *index as usize, value.to_f64());
        }
    };
    lines.pass(exec, (1, 0), [Rows { data: &mut sums, width: 1 }], gather, |_, acc, [row]| {
        row[0] = T::from_f64(acc[0]);
        Ok([])
    })?;
    Ok(sums.iter().map(|x| x.to_f64()).collect())
}

fn length(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn unit(mut x: Vec<f64>) -> Vec<f64> {
    let length = length(&x);
    x.iter_mut().for_each(|x| *x /= length);
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::decomp::svd::svd;
    use crate::linalg::{Dense, Matrix};
    use crate::testing::test_matrices::gaussian;

    #[test]
    fn the_norm_is_the_largest_singular_value() {
        let (n, p) = (30, 8);
        let full = gaussian(n, p, 3, 0);
        let entries: Vec<f64> =
            full.as_slice().iter().enumerate().map(|(e, x)| if e % 5 == 2 { f64::NAN } else { *x }).collect();
        let data = Observed::from_dense(&Dense::row_major(&entries, n, p).unwrap()).unwrap();
        let filled = Matrix::from_fn(n, p, |i, j| {
            let x = entries[i * p + j];
            if x.is_nan() { 0.0 } else { x - 0.1 * j as f64 }
        });
        let mean: Vec<f64> = (0..p).map(|j| 0.1 * j as f64).collect();
        let found = largest_penalty(&data, &mean, None, &Exec::sequential()).unwrap();
        let expected = svd(&filled).unwrap().s[0];
        assert!((found - expected).abs() < 1e-3 * expected, "{found} {expected}");
    }
}
