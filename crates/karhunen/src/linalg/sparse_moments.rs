//! Weighted mean and squared deviations of the columns of a sparse matrix, in two passes over the stored entries.

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::sparse::Indices;
use crate::linalg::{Major, Matrix, Sparse};
use crate::scalar::Scalar;

/// Stored entries of a piece of work, about.
const PIECE: usize = 1 << 17;

/// The weighted mean of each column, and the weighted sum of squared deviations from it: entries that are not stored
/// are zeros. `weight` is the sum of the weights, `n_rows` without weights.
///
/// # Errors
/// [`crate::Error::Stopped`].
pub(crate) fn moments<T: Scalar>(
    x: &Sparse<'_, T>,
    weights: Option<&[f64]>,
    weight: f64,
    exec: &Exec<'_>,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let p = x.n_cols();
    let sums = column_sums(x, &vec![0.0; p], weights, &exec.part(0.0, 0.5))?;
    let mean: Vec<f64> =
        (0..p).map(|j| if weight > 0.0 { sums[(j, 0)] / weight } else { sums[(j, 0)] }).collect();
    let about = column_sums(x, &mean, weights, &exec.part(0.5, 1.0))?;
    let squares = (0..p)
        .map(|j| {
            // Rounding may leave a column that is stored in full with a little weight too much or too little.
            let missing = weight - about[(j, 2)];
            let missing =
                if missing.abs() <= weight * f64::EPSILON * x.n_rows() as f64 { 0.0 } else { missing };
            about[(j, 1)] + missing * mean[j] * mean[j]
        })
        .collect();
    Ok((mean, squares))
}

/// For each column, over its stored entries: the sums of `w (x - c)`, `w (x - c)^2` and `w`, shape (p, 3).
fn column_sums<T: Scalar>(
    x: &Sparse<'_, T>,
    centre: &[f64],
    weights: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    let lines = x.pointers().len() - 1;
    let per_piece = (PIECE * lines / x.n_stored().max(1)).clamp(1, lines.max(1));
    let add = |line: usize, sums: &mut [f64]| {
        entries(x, line, |other, value| {
            let (i, j, at) = match x.major() {
                Major::Rows => (line, other, other * 3),
                Major::Columns => (other, line, 0),
            };
            let w = weights.map_or(1.0, |w| w[i]);
            let deviation = value.to_f64() - centre[j];
            sums[at] += w * deviation;
            sums[at + 1] += w * deviation * deviation;
            sums[at + 2] += w;
        });
    };
    match x.major() {
        Major::Rows => {
            // A private sum costs as much as that many entries.
            let per_piece = per_piece.max(lines.div_ceil(1 + x.n_stored() / (8 * x.n_cols().max(1))));
            exec.fold(
                lines.div_ceil(per_piece),
                || Matrix::zeros(x.n_cols(), 3),
                |piece, sums| {
                    let last = ((piece + 1) * per_piece).min(lines);
                    (piece * per_piece..last).for_each(|line| add(line, sums.as_mut_slice()));
                    Ok(())
                },
            )
        }
        Major::Columns => {
            let mut sums = Matrix::zeros(lines, 3);
            exec.fill(sums.as_mut_slice(), 3 * per_piece, |piece, out| {
                for (line, sums) in out.chunks_exact_mut(3).enumerate() {
                    add(piece * per_piece + line, sums);
                }
                Ok(())
            })?;
            Ok(sums)
        }
    }
}

/// Calls `f` with the index and the value of each entry of a line.
#[inline(always)]
fn entries<T: Scalar>(x: &Sparse<'_, T>, line: usize, mut f: impl FnMut(usize, T)) {
    let range = x.pointers()[line]..x.pointers()[line + 1];
    let values = &x.values()[range.clone()];
    match x.indices() {
        Indices::U32(indices) => indices[range].iter().zip(values).for_each(|(&i, &v)| f(i as usize, v)),
        Indices::U64(indices) => indices[range].iter().zip(values).for_each(|(&i, &v)| f(i as usize, v)),
    }
}

/// The first stored entry, in the order of rows, that is NaN or infinite.
pub(crate) fn first_non_finite<T: Scalar>(x: &Sparse<'_, T>) -> Option<(usize, usize, f64)> {
    let mut first: Option<(usize, usize, f64)> = None;
    for line in 0..x.pointers().len() - 1 {
        entries(x, line, |other, value| {
            let value = value.to_f64();
            if value.is_finite() {
                return;
            }
            let place = match x.major() {
                Major::Rows => (line, other),
                Major::Columns => (other, line),
            };
            if first.is_none_or(|(row, column, _)| place < (row, column)) {
                first = Some((place.0, place.1, value));
            }
        });
        if x.major() == Major::Rows && first.is_some() {
            break;
        }
    }
    first
}

/// Writes the rows `rows` into `out` (row-major, rows.len() x p), zeros where nothing is stored.
pub(crate) fn densify<T: Scalar>(x: &Sparse<'_, T>, rows: std::ops::Range<usize>, out: &mut [f64]) {
    let p = x.n_cols();
    out.fill(0.0);
    match x.major() {
        Major::Rows => {
            for (i, line) in rows.zip(out.chunks_exact_mut(p)) {
                entries(x, i, |j, value| line[j] = value.to_f64());
            }
        }
        Major::Columns => {
            for j in 0..p {
                let column = x.pointers()[j]..x.pointers()[j + 1];
                let values = &x.values()[column.clone()];
                let mut write = |i: usize, at: usize| out[(i - rows.start) * p + j] = values[at].to_f64();
                match x.indices() {
                    Indices::U32(indices) => {
                        let indices = &indices[column];
                        let from = indices.partition_point(|&i| (i as usize) < rows.start);
                        let until = indices.partition_point(|&i| (i as usize) < rows.end);
                        (from..until).for_each(|at| write(indices[at] as usize, at));
                    }
                    Indices::U64(indices) => {
                        let indices = &indices[column];
                        let from = indices.partition_point(|&i| (i as usize) < rows.start);
                        let until = indices.partition_point(|&i| (i as usize) < rows.end);
                        (from..until).for_each(|at| write(indices[at] as usize, at));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::SparseMatrix;

    // [[1, 0, 2], [0, 3, 2], [5, 0, 2]]
    const DENSE: [[f64; 3]; 3] = [[1.0, 0.0, 2.0], [0.0, 3.0, 2.0], [5.0, 0.0, 2.0]];

    fn both() -> [SparseMatrix<f64>; 2] {
        let rows = SparseMatrix::canonical(
            Major::Rows,
            3,
            3,
            &[0, 2, 4, 6],
            &[0u32, 2, 1, 2, 0, 2],
            &[1.0, 2.0, 3.0, 2.0, 5.0, 2.0],
        );
        let columns = SparseMatrix::canonical(
            Major::Columns,
            3,
            3,
            &[0, 2, 3, 6],
            &[0u32, 2, 1, 0, 1, 2],
            &[1.0, 5.0, 3.0, 2.0, 2.0, 2.0],
        );
        [rows.unwrap(), columns.unwrap()]
    }

    #[test]
    fn moments_count_what_is_not_stored_as_zeros() {
        for x in both() {
            let exec = Exec::sequential();
            let (mean, squares) = moments(&x.view(), None, 3.0, &exec).unwrap();
            assert_eq!((mean, squares), (vec![2.0, 1.0, 2.0], vec![14.0, 6.0, 0.0]));
            let (mean, squares) = moments(&x.view(), Some(&[2.0, 0.0, 1.0]), 3.0, &exec).unwrap();
            let about = |j: usize, m: f64| 2.0 * (DENSE[0][j] - m).powi(2) + (DENSE[2][j] - m).powi(2);
            for j in 0..3 {
                assert!((mean[j] - (2.0 * DENSE[0][j] + DENSE[2][j]) / 3.0).abs() < 1e-15);
                assert!((squares[j] - about(j, mean[j])).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn densified_rows_hold_every_entry() {
        for x in both() {
            let mut out = [7.0; 6];
            densify(&x.view(), 1..3, &mut out);
            assert_eq!(out, [0.0, 3.0, 2.0, 5.0, 0.0, 2.0]);
        }
    }

    #[test]
    fn the_first_bad_entry_in_the_order_of_rows_is_found() {
        let (pointers, indices) = ([0usize, 2, 4], [0u32, 1, 0, 1]);
        let values = [1.0, f64::INFINITY, f64::NAN, 2.0];
        for (major, place) in [(Major::Rows, (0, 1)), (Major::Columns, (0, 1))] {
            let x = SparseMatrix::canonical(major, 2, 2, &pointers, &indices, &values).unwrap();
            let (row, column, _) = first_non_finite(&x.view()).unwrap();
            assert_eq!((row, column), place);
        }
        assert_eq!(first_non_finite(&both()[0].view()), None);
    }
}
