//! Scatter and Gram matrices of sparse data, centred and scaled on the fly, from the stored entries alone.
//!
//! Both are sums of outer products of sparse vectors, `sum_i w_i a_i a_i'`: over the rows of X for the scatter
//! matrix, over its columns for the Gram matrix. The result is cut into panels of eight columns; the entries of a
//! vector that fall into a panel multiply, as one register, every following entry of the vector. Only the upper
//! triangle is summed. A piece of work owns some panels, which stay in the second-level cache while it reads the
//! vectors; vectors of the other orientation are transposed first, a bounded number of entries at a time. If
//! these have few entries, their products are added one by one ([`crate::moments::few_entries`]).
#![allow(unsafe_code)] // Unchecked access to rows by indices that the constructors of `Sparse` checked.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::prefetch::prefetch;
use crate::linalg::simd::dispatch;
use crate::linalg::sparse::lanes::{Scale, add_outer};
use crate::linalg::sparse::lines::{Index, LineNumber, Lines, Transposed, runs, with_lines};
use crate::linalg::sparse::places::Places;
use crate::linalg::sparse::products::{check_map, check_weights};
use crate::linalg::{ColumnMap, Major, Matrix, Sparse};
use crate::moments::far_columns;
use crate::moments::few_entries::{Part, add_by_entry};
use crate::moments::sparse_sums::column_sums;
use crate::scalar::Scalar;

/// Number of columns of a panel.
const WIDTH: usize = 8;

/// Offsets of the columns of a panel.
const LANES: [f64; WIDTH] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

/// Prefetch distance in lines.
const AHEAD: usize = 8;

/// Bytes of the panels that a piece of work sums at a time.
const PANEL_BYTES: usize = 512 << 10;

/// Number of entries read while the panels are in the cache: 8 to 16 MB of them.
const RUN_ENTRIES: usize = 1 << 20;

/// Least share of stored entries, as a divisor, from which panels are worth their zeros.
const DENSE_ENOUGH: usize = 8;

/// Number of parts of such a run, prepared in parallel.
const PARTS: usize = 16;

/// Bytes of the positions at which lines cross the boundaries between pieces of work.
const PLACES_BYTES: usize = 8 << 20;

/// `M' W M`, shape (p, p), where M has the entries `(x_ij - shift_j) * factor_j` and W is the diagonal matrix of
/// `row_weights` (1 where `None`). Summed in f64; costs half the sum of the squared numbers of entries of the
/// rows. Columns far from zero are centred before they are multiplied.
///
/// # Errors
/// [`crate::Error::Shape`] if the length of `map` or `row_weights` is wrong; [`crate::Error::Stopped`].
pub(crate) fn scatter<T: Scalar>(
    x: &Sparse<'_, T>,
    map: &ColumnMap<'_>,
    row_weights: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    check_map(x, map)?;
    check_weights(x, row_weights)?;
    let (sums, _) = column_sums(x, row_weights, &exec.part(0.0, 0.05))?;
    let total = row_weights.map_or(x.n_rows() as f64, |weights| weights.iter().sum());
    let mut out = cross(x, row_weights.map_or(Scale::One, Scale::Factors), &exec.part(0.05, 0.95))?;
    let shift = |j: usize| map.shift[j];
    finish(&mut out, shift, &sums, total, |j| map.factor[j], &exec.part(0.95, 0.97))?;
    far_columns::recompute(x, map, row_weights, total, &mut out, &exec.part(0.97, 1.0))?;
    Ok(out)
}

/// `R M M' R`, shape (n, n), where M has the entries `(x_ij - shift_j) * factor_j` and R is the diagonal matrix of
/// `row_factors` (1 where `None`). Summed in f64; costs half the sum of the squared numbers of entries of the
/// columns.
///
/// # Errors
/// [`crate::Error::Shape`] if the length of `map` or `row_factors` is wrong; [`crate::Error::Stopped`].
pub(crate) fn gram<T: Scalar>(
    x: &Sparse<'_, T>,
    map: &ColumnMap<'_>,
    row_factors: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    check_map(x, map)?;
    check_weights(x, row_factors)?;
    let weights: Vec<f64> =
        map.factor.iter().zip(map.shift).map(|(factor, shift)| factor * factor * shift).collect();
    let total = weights.iter().zip(map.shift).map(|(weight, shift)| weight * shift).sum();
    let transposed = x.t();
    let (sums, _) = column_sums(&transposed, Some(&weights), &exec.part(0.0, 0.05))?;
    let mut out = cross(&transposed, Scale::Squares(map.factor), &exec.part(0.05, 0.95))?;
    let factor = |i: usize| row_factors.map_or(1.0, |factors| factors[i]);
    finish(&mut out, |_| 1.0, &sums, total, factor, &exec.part(0.95, 1.0))?;
    Ok(out)
}

/// The upper triangle of `X' D X`, where D is the diagonal matrix of `weights`.
fn cross<T: Scalar>(x: &Sparse<'_, T>, weights: Scale<'_>, exec: &Exec<'_>) -> Result<Matrix> {
    let mut out = Matrix::zeros(x.n_cols(), x.n_cols());
    with_lines!(x, |lines| match x.major() {
        Major::Rows => {
            let runs = lines.runs(RUN_ENTRIES / PARTS);
            for (index, run) in runs.chunks(PARTS).enumerate() {
                let share = PARTS as f64 / runs.len() as f64;
                let exec = exec.part(index as f64 * share, ((index + 1) as f64 * share).min(1.0));
                let parts: Vec<_> = run.iter().map(|run| (run.start, lines.slice(run.clone()))).collect();
                add_cross(&parts, weights, &mut out, &exec)?;
            }
        }
        Major::Columns if lines.len() <= u16::MOST => {
            cross_transposed::<u16, _, _>(&lines, weights, &mut out, exec)?;
        }
        Major::Columns => cross_transposed::<u32, _, _>(&lines, weights, &mut out, exec)?,
    });
    Ok(out)
}

/// Adds the upper triangle of `A D A'` to `out`; A is the matrix of the lines, of which there are no more than `N` has
/// numbers.
fn cross_transposed<N: LineNumber, I: Index, T: Scalar>(
    lines: &Lines<'_, I, T>,
    weights: Scale<'_>,
    out: &mut Matrix,
    exec: &Exec<'_>,
) -> Result<()> {
    let mut pointers = vec![0usize; lines.n_minor() + 1];
    for i in 0..lines.len() {
        for index in lines.line(i).0 {
            pointers[index.at() + 1] += 1;
        }
    }
    for j in 0..lines.n_minor() {
        pointers[j + 1] += pointers[j];
    }
    let runs = runs(&pointers, RUN_ENTRIES / PARTS);
    let mut places = Places::new(lines.len());
    // Panels hold one entry each, or little more, so that most of their products would be zeros.
    let is_scattered = lines.n_stored() < lines.n_minor().saturating_mul(lines.len()) / DENSE_ENOUGH;
    for (index, run) in runs.chunks(PARTS).enumerate() {
        let share = PARTS as f64 / runs.len() as f64;
        let exec = exec.part(index as f64 * share, ((index + 1) as f64 * share).min(1.0));
        let boundaries: Vec<usize> =
            run.iter().map(|columns| columns.start).chain(run.last().map(|columns| columns.end)).collect();
        places.advance(lines, &boundaries, &exec.part(0.0, 0.05))?;
        let mut parts: Vec<Option<Transposed<N, T>>> = run.iter().map(|_| None).collect();
        exec.part(0.05, 0.2).fill(&mut parts, 1, |part, transposed| {
            let (starts, ends) = (places.below(part), places.below(part + 1));
            transposed[0] = Some(Transposed::of(lines, run[part].clone(), &pointers, starts, ends));
            Ok(())
        })?;
        if is_scattered {
            let parts: Vec<_> = (run.iter().zip(parts.iter().flatten()).enumerate())
                .map(|(b, (columns, transposed))| Part {
                    transposed,
                    first: columns.start,
                    starts: places.below(b),
                })
                .collect();
            add_by_entry(lines, &parts, weights, out, &exec.part(0.2, 1.0))?;
            continue;
        }
        let parts: Vec<(usize, Lines<'_, N, T>)> = (run.iter().zip(&parts))
            .filter_map(|(columns, part)| part.as_ref().map(|part| (columns.start, part.lines())))
            .collect();
        add_cross(&parts, weights, out, &exec.part(0.2, 1.0))?;
    }
    Ok(())
}

/// Adds the upper triangle of `sum_i w_i a_i a_i'` over all lines of all parts to `out`. The number with each part is
/// the index of its first line in `weights`.
fn add_cross<I: Index, T: Scalar>(
    parts: &[(usize, Lines<'_, I, T>)],
    weights: Scale<'_>,
    out: &mut Matrix,
    exec: &Exec<'_>,
) -> Result<()> {
    let p = out.n_cols();
    let n_panels = (PANEL_BYTES / (WIDTH * size_of::<f64>() * p.max(1))).clamp(1, 64);
    let shift = (n_panels * WIDTH).ilog2();
    let width = 1 << shift;
    let n_lines: usize = parts.iter().map(|(_, lines)| lines.len()).sum();
    let n_pieces = (PLACES_BYTES / size_of::<usize>() / n_lines.max(1)).max(1);
    let mut places: Vec<Places> = parts.iter().map(|(_, lines)| Places::new(lines.len())).collect();
    for start in (0..p).step_by(n_pieces * width) {
        let end = p.min(start + n_pieces * width);
        let exec = exec.part(start as f64 / p as f64, end as f64 / p as f64);
        exec.part(0.0, 0.1).fill(&mut places, 1, |part, places| {
            places[0].advance_evenly(&parts[part].1, start, shift, (end - start).div_ceil(width));
            Ok(())
        })?;
        exec.part(0.1, 1.0).fill(&mut out.as_mut_slice()[start * p..end * p], width * p, |piece, rows| {
            let first = start + piece * width;
            let columns = first..first + rows.len() / p;
            let mut panels = vec![[0.0; WIDTH]; columns.len().div_ceil(WIDTH) * (p - first)];
            for (&(line, lines), places) in parts.iter().zip(&places) {
                let (starts, columns) = (places.below(piece), columns.clone());
                dispatch(AddPanels { lines, line, weights, starts, columns, sums: &mut panels });
            }
            for (j, row) in rows.chunks_exact_mut(p).enumerate() {
                let panel = &panels[j / WIDTH * (p - first)..][..p - first];
                for (value, sums) in row[first..].iter_mut().zip(panel).skip(j) {
                    *value += sums[j % WIDTH];
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Adds the outer products of the lines to panels of the columns `columns`: one panel after the other, each with
/// `n_minor - columns.start` rows.
struct AddPanels<'a, I, T> {
    lines: Lines<'a, I, T>,
    /// Index of the first line in `weights`.
    line: usize,
    weights: Scale<'a>,
    /// The number of entries of each line before the columns.
    starts: &'a [usize],
    columns: Range<usize>,
    sums: &'a mut [[f64; WIDTH]],
}

impl<I: Index, T: Scalar> WithSimd for AddPanels<'_, I, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { lines, line, weights, starts, columns, sums } = self;
        let (first, n_rows) = (columns.start, lines.n_minor() - columns.start);
        let lanes: &[S::f64s] = bytemuck::cast_slice(&LANES);
        for (i, &start) in starts.iter().enumerate() {
            // The hardware does not predict the entry point of the next line.
            if let Some(&start) = starts.get(i + AHEAD) {
                let (indices, values) = lines.line(i + AHEAD);
                prefetch(indices[start..].first_chunk::<1>().map_or(&[], |first| first));
                prefetch(values[start..].first_chunk::<1>().map_or(&[], |first| first));
            }
            let (indices, values) = lines.line(i);
            let (mut indices, mut values) = (&indices[start..], &values[start..]);
            let weight = weights.at(line + i);
            while let Some(index) = indices.first().map(|index| index.at()).filter(|&j| j < columns.end) {
                let panel = (index - first) / WIDTH;
                let origin = first + panel * WIDTH;
                // Assembled in registers: a load from memory just written element by element would stall.
                let mut factors = [simd.splat_f64s(0.0); WIDTH];
                let mut taken = 0;
                for (index, value) in indices.iter().zip(values) {
                    let lane = index.at() - origin;
                    if lane >= WIDTH {
                        break;
                    }
                    let (lane, factor) =
                        (simd.splat_f64s(lane as f64), simd.splat_f64s(weight * value.to_f64()));
                    for (factors, &lanes) in factors.iter_mut().zip(lanes) {
                        *factors = simd.select_f64s(simd.equal_f64s(lanes, lane), factor, *factors);
                    }
                    taken += 1;
                }
                let rows = &mut sums[panel * n_rows..(panel + 1) * n_rows];
                // SAFETY: indices increase, so those from here on are at least `first`, and they are below
                // `n_minor`.
                unsafe {
                    add_outer::<S, I, T, f64, WIDTH>(simd, (indices, values), &factors, &[], first, rows);
                }
                (indices, values) = (&indices[taken..], &values[taken..]);
            }
        }
    }
}

/// Turns the upper triangle of `X' D X` into the whole of `h_j h_k (x_jk - a_j b_k - a_k b_j + c a_j a_k)`: the
/// rank-one terms of the shift, and factors. With the mean as shift `b_j - c a_j` is near zero, so it is formed
/// first.
fn finish(
    out: &mut Matrix,
    a: impl Fn(usize) -> f64 + Sync,
    b: &[f64],
    c: f64,
    h: impl Fn(usize) -> f64 + Sync,
    exec: &Exec<'_>,
) -> Result<()> {
    let p = out.n_cols();
    exec.fill(out.as_mut_slice(), p, |j, row| {
        let (a_j, rest, h_j) = (a(j), b[j] - c * a(j), h(j));
        for k in j..p {
            row[k] = h_j * h(k) * (row[k] - a_j * b[k] - a(k) * rest);
        }
        Ok(())
    })?;
    out.mirror_upper();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cases::{Case, assert_near, cases, for_all_threads, product, weighted};

    fn check<T: Scalar>(case: &Case, major: Major) {
        let name = format!("{} {} {major:?}", case.name, T::NAME);
        let (x, map) = (case.sparse::<T>(major), case.map());
        let (m, size) = (case.mapped(), case.size());
        // Sums are in f64 for every data type; the errors of thousands of additions partly cancel.
        let tolerance = 128.0 * f64::EPSILON;
        for weights in [None, Some(case.weights.as_slice())] {
            if m.n_cols() <= 600 {
                let found =
                    for_all_threads(&name, |exec| Ok(scatter(&x.view(), &map, weights, exec)?.into_vec()));
                let expected = product(&m.transposed(), &weighted(&m, weights));
                let scale = product(&size.transposed(), &size);
                assert_near(&name, &found, expected.as_slice(), scale.as_slice(), tolerance);
            }
            if m.n_rows() <= 600 {
                let found =
                    for_all_threads(&name, |exec| Ok(gram(&x.view(), &map, weights, exec)?.into_vec()));
                let scaled = weighted(&m, weights);
                let expected = product(&scaled, &scaled.transposed());
                let scale = product(&size, &size.transposed());
                assert_near(&name, &found, expected.as_slice(), scale.as_slice(), tolerance);
            }
        }
    }

    #[test]
    fn scatter_and_gram_agree_with_the_dense_matrix_for_any_number_of_threads() {
        for case in &cases() {
            for major in [Major::Rows, Major::Columns] {
                check::<f32>(case, major);
                check::<f64>(case, major);
            }
        }
    }

    #[test]
    fn numbers_of_lines_of_any_width_give_the_same_bits() {
        // Few entries, added one by one, and many, in panels.
        for density in [0.05, 0.8] {
            let case = Case::new("numbers", 300, 2000, |_, _| density);
            let x = case.sparse::<f32>(Major::Rows);
            let found = |wide: bool| {
                let (x, exec, mut out) = (x.view(), Exec::sequential(), Matrix::zeros(300, 300));
                let x = x.t();
                with_lines!(&x, |lines| match wide {
                    true => cross_transposed::<u32, _, _>(&lines, Scale::One, &mut out, &exec),
                    false => cross_transposed::<u16, _, _>(&lines, Scale::One, &mut out, &exec),
                })
                .unwrap();
                out
            };
            assert_eq!(found(true), found(false));
        }
    }

    #[test]
    fn results_are_exactly_symmetric() {
        let case = &cases()[6];
        let x = case.sparse::<f32>(Major::Rows);
        let s = scatter(&x.view(), &case.map(), Some(&case.weights), &Exec::sequential()).unwrap();
        assert_eq!(s, s.transposed());
        let g = gram(&x.view(), &case.map(), None, &Exec::sequential()).unwrap();
        assert_eq!(g, g.transposed());
    }

    #[test]
    fn matrices_with_more_entries_than_a_run_are_summed() {
        let case = Case::new("runs", 3000, 500, |_, _| 0.8);
        check::<f32>(&case, Major::Rows);
        check::<f32>(&case, Major::Columns);
        // Few entries, in several parts of a run.
        check::<f32>(&Case::new("parts", 250, 7000, |_, _| 0.1), Major::Rows);
        assert_eq!(runs(&[0, 2, 2, 5, 20, 21], 5), [0..3, 3..4, 4..5]);
    }
}
