//! Products of a sparse matrix, centred and scaled on the fly, with blocks of vectors.
//!
//! M is the matrix with entries `(x_ij - shift_j) * factor_j`; it is never formed. With `Q' = factor * Q` (row by
//! row), `M Q = X Q' - 1 (shift' Q')` and `M' U = factor * (X' U - shift (1' U))`. The rank-one terms use the
//! vectors as rounded for the products with X, so that M is the same matrix in both.
//!
//! A is X for CSR and X' for CSC: its rows are the stored lines. Each product of M is one of four of A: along the
//! lines (`gather`), across them (`spread`), and the two chained products, `A' D A` line by line and `A D A'` by
//! blocks of columns of A, which read the entries once while they are in the cache.
//!
//! The division of work depends on the shape and the number of entries alone: results have the same bits for every
//! number of threads.

use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::scalar::Scalar;
use crate::sparse::lanes::{Middle, Scale};
use crate::sparse::lines::{TypedPanel, groups, with_typed};
use crate::sparse::passes::{
    Target, chain_blocks, chain_lines, finish_group, gather_into, spread_into, weighted_sum,
};
use crate::{ColumnMap, Major, Matrix, Sparse};

/// Writes `M q`, shape (n, l), row-major into `out`; `q` has shape (p, l). One multiply-add per stored entry and
/// column.
///
/// # Errors
/// [`Error::Shape`] if the size of `q`, `map` or `out` is wrong; [`Error::Stopped`].
pub fn project<T: Scalar, U: Scalar>(
    x: &Sparse<'_, T>,
    map: &ColumnMap<'_>,
    q: &Matrix,
    exec: &Exec<'_>,
    out: &mut [U],
) -> Result<()> {
    check_map(x, map)?;
    check_length("the block of vectors", "rows", q.n_rows(), x.n_cols())?;
    check_length("the output", "values", out.len(), x.n_rows() * q.n_cols())?;
    with_typed!(x, |x| for group in groups(q.n_cols()) {
        let panel = TypedPanel::pack(q, &group, Some(map.factor), &exec.part(0.0, 0.05))?;
        let offset = weighted_sum(&panel, Scale::Factors(map.shift), &exec.part(0.05, 0.1))?;
        let finish = Middle { scale: Scale::One, shift: None, offset };
        let target = Target::Columns { out: &mut *out, stride: q.n_cols(), columns: group.columns };
        match x.major() {
            Major::Rows => gather_into(x, &panel, target, &finish, &exec.part(0.1, 1.0))?,
            Major::Columns => spread_into(x, &panel, target, &finish, &exec.part(0.1, 1.0))?,
        }
    });
    Ok(())
}

/// `M' u`, shape (p, l); `u` has shape (n, l).
///
/// # Errors
/// [`Error::Shape`] if the size of `u` or `map` is wrong; [`Error::Stopped`].
pub fn apply_t<T: Scalar>(
    x: &Sparse<'_, T>,
    map: &ColumnMap<'_>,
    u: &Matrix,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    let mut out = Matrix::zeros(x.n_cols(), u.n_cols());
    multiply_t(x, map, u, Layout::Columns, out.as_mut_slice(), exec)?;
    Ok(out)
}

/// `u' M`, the transposed [`apply_t`], shape (l, p); `u` has shape (n, l).
///
/// # Errors
/// As [`apply_t`].
pub fn apply_t_transposed<T: Scalar>(
    x: &Sparse<'_, T>,
    map: &ColumnMap<'_>,
    u: &Matrix,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    let mut out = Matrix::zeros(u.n_cols(), x.n_cols());
    multiply_t(x, map, u, Layout::Rows, out.as_mut_slice(), exec)?;
    Ok(out)
}

/// Places of the columns of a product in an output.
#[derive(Clone, Copy)]
enum Layout {
    Columns,
    /// A row for each column: the transposed product.
    Rows,
}

/// Writes `M' u`.
fn multiply_t<T: Scalar>(
    x: &Sparse<'_, T>,
    map: &ColumnMap<'_>,
    u: &Matrix,
    layout: Layout,
    out: &mut [f64],
    exec: &Exec<'_>,
) -> Result<()> {
    check_map(x, map)?;
    check_length("the block of vectors", "rows", u.n_rows(), x.n_rows())?;
    let (p, l) = (x.n_cols(), u.n_cols());
    with_typed!(x, |x| for group in groups(l) {
        let panel = TypedPanel::pack(u, &group, None, &exec.part(0.0, 0.05))?;
        let total = weighted_sum(&panel, Scale::One, &exec.part(0.05, 0.1))?;
        let finish = unmap(map, total);
        let target = match layout {
            Layout::Columns => Target::Columns { out: &mut *out, stride: l, columns: group.columns },
            Layout::Rows => {
                Target::Rows { out: &mut out[group.columns.start * p..group.columns.end * p], len: p }
            }
        };
        match x.major() {
            Major::Rows => spread_into(x, &panel, target, &finish, &exec.part(0.1, 1.0))?,
            Major::Columns => gather_into(x, &panel, target, &finish, &exec.part(0.1, 1.0))?,
        }
    });
    Ok(())
}

/// `M' W M q`, shape (p, l), with the diagonal matrix W of `row_weights` (1 if `None`); `q` has shape (p, l).
/// Reads the entries once.
///
/// # Errors
/// [`Error::Shape`] if the size of `q`, `map` or `row_weights` is wrong; [`Error::Stopped`].
pub fn normal<T: Scalar>(
    x: &Sparse<'_, T>,
    map: &ColumnMap<'_>,
    row_weights: Option<&[f64]>,
    q: &Matrix,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    check_map(x, map)?;
    check_weights(x, row_weights)?;
    check_length("the block of vectors", "rows", q.n_rows(), x.n_cols())?;
    let mut out = Matrix::zeros(x.n_cols(), q.n_cols());
    with_typed!(x, |x| for group in groups(q.n_cols()) {
        let panel = TypedPanel::pack(q, &group, Some(map.factor), &exec.part(0.0, 0.05))?;
        let offset = weighted_sum(&panel, Scale::Factors(map.shift), &exec.part(0.05, 0.1))?;
        let scale = row_weights.map_or(Scale::One, Scale::Factors);
        let middle = Middle { scale, shift: None, offset };
        let (sums, moment) = match x.major() {
            Major::Rows => chain_lines(x, &panel, &middle, &exec.part(0.1, 0.95))?,
            Major::Columns => chain_blocks(x, &panel, &middle, &exec.part(0.1, 0.95))?,
        };
        let finish = unmap(map, moment);
        finish_group(&mut out, &group, sums, &finish, &exec.part(0.95, 1.0))?;
    });
    Ok(out)
}

/// `M M' u`, shape (n, l); `u` has shape (n, l). Reads the entries once.
///
/// # Errors
/// [`Error::Shape`] if the size of `u` or `map` is wrong; [`Error::Stopped`].
pub fn normal_t<T: Scalar>(
    x: &Sparse<'_, T>,
    map: &ColumnMap<'_>,
    u: &Matrix,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    check_map(x, map)?;
    check_length("the block of vectors", "rows", u.n_rows(), x.n_rows())?;
    let mut out = Matrix::zeros(x.n_rows(), u.n_cols());
    with_typed!(x, |x| for group in groups(u.n_cols()) {
        let panel = TypedPanel::pack(u, &group, None, &exec.part(0.0, 0.05))?;
        let offset = weighted_sum(&panel, Scale::One, &exec.part(0.05, 0.1))?;
        let middle = Middle { scale: Scale::Squares(map.factor), shift: Some(map.shift), offset };
        let (sums, moment) = match x.major() {
            Major::Rows => chain_blocks(x, &panel, &middle, &exec.part(0.1, 0.95))?,
            Major::Columns => chain_lines(x, &panel, &middle, &exec.part(0.1, 0.95))?,
        };
        let finish = Middle { scale: Scale::One, shift: None, offset: moment };
        finish_group(&mut out, &group, sums, &finish, &exec.part(0.95, 1.0))?;
    });
    Ok(out)
}

/// `factor_j (sums - shift_j total)`.
fn unmap<'a>(map: &ColumnMap<'a>, total: Vec<f64>) -> Middle<'a> {
    Middle { scale: Scale::Factors(map.factor), shift: Some(map.shift), offset: total }
}

/// Checks that a map of columns has one entry for each column of the matrix.
pub fn check_map<T: Scalar>(x: &Sparse<'_, T>, map: &ColumnMap<'_>) -> Result<()> {
    check_length("the column shift", "values", map.shift.len(), x.n_cols())?;
    check_length("the column factor", "values", map.factor.len(), x.n_cols())
}

/// Checks that there are as many weights as rows, if any.
pub fn check_weights<T: Scalar>(x: &Sparse<'_, T>, row_weights: Option<&[f64]>) -> Result<()> {
    let found = row_weights.map_or(x.n_rows(), <[f64]>::len);
    check_length("the array of row weights", "values", found, x.n_rows())
}

fn check_length(what: &'static str, axis: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Shape { what, axis, found, expected }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SparseMatrix;
    use crate::sparse::plan::Extent;
    use crate::testing::cases::{
        Case, Numbers, absolute, assert_near, cases, for_all_threads, product, weighted,
    };

    /// Several times the rounding error of a sum of thousands of products.
    fn tolerance<T: Scalar>() -> f64 {
        32.0 * T::EPSILON
    }

    fn check_products<T: Scalar>(case: &Case, major: Major, l: usize) {
        let name = format!("{} {} {major:?} l = {l}", case.name, T::NAME);
        let x = case.sparse::<T>(major);
        let (x, map, m) = (x.view(), case.map(), case.mapped());
        let (n, p) = m.shape();
        let mut numbers = Numbers::new(l as u64);
        let (q, u) = (numbers.matrix(p, l), numbers.matrix(n, l));
        let (size, size_q, size_u) = (case.size(), absolute(&q), absolute(&u));

        let found = for_all_threads(&name, |exec| {
            let mut out = vec![0.0; n * l];
            project(&x, &map, &q, exec, &mut out).map(|()| out)
        });
        let (expected, scale) = (product(&m, &q), product(&size, &size_q));
        assert_near(&name, &found, expected.as_slice(), scale.as_slice(), tolerance::<T>());

        let found = for_all_threads(&name, |exec| Ok(apply_t(&x, &map, &u, exec)?.into_vec()));
        let (expected, scale) = (product(&m.transposed(), &u), product(&size.transposed(), &size_u));
        assert_near(&name, &found, expected.as_slice(), scale.as_slice(), tolerance::<T>());
        let transposed = for_all_threads(&name, |exec| {
            Ok(apply_t_transposed(&x, &map, &u, exec)?.transposed().into_vec())
        });
        assert_eq!(transposed, found, "{name}");

        for weights in [None, Some(case.weights.as_slice())] {
            let found = for_all_threads(&name, |exec| Ok(normal(&x, &map, weights, &q, exec)?.into_vec()));
            let expected = product(&m.transposed(), &weighted(&product(&m, &q), weights));
            let scale = product(&size.transposed(), &product(&size, &size_q));
            assert_near(&name, &found, expected.as_slice(), scale.as_slice(), tolerance::<T>());
        }

        let found = for_all_threads(&name, |exec| Ok(normal_t(&x, &map, &u, exec)?.into_vec()));
        let expected = product(&m, &product(&m.transposed(), &u));
        let scale = product(&size, &product(&size.transposed(), &size_u));
        assert_near(&name, &found, expected.as_slice(), scale.as_slice(), tolerance::<T>());
    }

    #[test]
    fn products_agree_with_the_dense_matrix_for_any_number_of_threads() {
        for case in &cases() {
            for major in [Major::Rows, Major::Columns] {
                check_products::<f32>(case, major, 8);
                check_products::<f64>(case, major, 5);
            }
        }
    }

    #[test]
    fn products_are_right_for_every_width() {
        let case = &cases()[5];
        for l in [1, 2, 4, 7, 8, 13, 16, 29, 50, 64, 65, 100] {
            check_products::<f32>(case, Major::Rows, l);
            check_products::<f64>(case, Major::Columns, l);
        }
    }

    #[test]
    fn large_matrices_take_the_fused_paths() {
        let tall = Case::new("fused tall", 6000, 12, |_, _| 0.5);
        let wide = Case::new("fused wide", 12, 6000, |_, _| 0.5);
        let extent = Extent { lines: 6000, minors: 12, stored: 36_000 };
        assert!(extent.private_piece(32).is_some() && extent.transposed().chained(32).is_some());
        for case in [&tall, &wide] {
            for major in [Major::Rows, Major::Columns] {
                check_products::<f32>(case, major, 8);
                check_products::<f64>(case, major, 8);
            }
        }
    }

    #[test]
    fn blocks_of_more_lines_than_f32_can_sum_use_f64() {
        let case = Case::new("many lines", 4200, 1700, |_, _| 0.1);
        let x = case.sparse::<f32>(Major::Rows);
        let extent = Extent { lines: 4200, minors: 1700, stored: x.view().n_stored() };
        assert!(extent.chained(16).is_some());
        let (m, size) = (case.mapped(), case.size());
        let u = Numbers::new(4).matrix(4200, 2);
        let found = normal_t(&x.view(), &case.map(), &u, &Exec::sequential()).unwrap();
        let expected = product(&m, &product(&m.transposed(), &u));
        let scale = product(&size, &product(&size.transposed(), &absolute(&u)));
        assert_near("many lines", found.as_slice(), expected.as_slice(), scale.as_slice(), 2e-6);
    }

    #[test]
    fn both_orientations_and_index_types_agree() {
        let case = &cases()[6];
        let (pointers, indices, values) = case.compressed(Major::Rows);
        let narrow: Vec<i32> = indices.iter().map(|&j| j as i32).collect();
        let (n, p) = case.dense.shape();
        let wide = Sparse::csr(n, p, &pointers, &indices, &values).unwrap();
        let narrow = Sparse::csr(n, p, &pointers, &narrow, &values).unwrap();
        let q = Numbers::new(1).matrix(p, 9);
        let exec = Exec::sequential();
        let a = normal(&wide, &case.map(), None, &q, &exec).unwrap();
        let b = normal(&narrow, &case.map(), None, &q, &exec).unwrap();
        assert_eq!(a, b);
        let (mut projected, mut rounded) = (vec![0.0f64; n * 9], vec![0.0f32; n * 9]);
        project(&narrow, &case.map(), &q, &exec, &mut projected).unwrap();
        project(&narrow, &case.map(), &q, &exec, &mut rounded).unwrap();
        assert!(projected.iter().zip(&rounded).all(|(a, b)| *a as f32 == *b));
    }

    #[test]
    fn products_are_adjoint() {
        for case in &cases() {
            let (n, p) = case.dense.shape();
            let x = case.sparse::<f64>(Major::Rows);
            let mut numbers = Numbers::new(11);
            let (q, u) = (numbers.matrix(p, 1), numbers.matrix(n, 1));
            let mut projected = vec![0.0; n];
            project(&x.view(), &case.map(), &q, &Exec::sequential(), &mut projected).unwrap();
            let back = apply_t(&x.view(), &case.map(), &u, &Exec::sequential()).unwrap();
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let (left, right) = (dot(&projected, u.as_slice()), dot(q.as_slice(), back.as_slice()));
            assert_near(case.name, &[left], &[right], &[(n * p) as f64], 32.0 * f64::EPSILON);
        }
    }

    #[test]
    fn operands_of_the_wrong_size_are_refused() {
        let x = SparseMatrix::from_triples(2, 3, &[0, 1], &[2, 0], &[1.0, 2.0]).unwrap();
        let (x, exec) = (x.view(), Exec::sequential());
        let map = ColumnMap { shift: &[0.0; 3], remainder: &[], factor: &[1.0; 3] };
        let message = |result: Result<Matrix>| result.unwrap_err().to_string();
        let (two, three) = (Matrix::zeros(2, 1), Matrix::zeros(3, 1));
        assert_eq!(
            message(apply_t(&x, &map, &three, &exec)),
            "the block of vectors: 3 rows, but 2 are needed"
        );
        assert_eq!(
            message(normal(&x, &map, Some(&[1.0; 3]), &three, &exec)),
            "the array of row weights: 3 values, but 2 are needed"
        );
        let short = ColumnMap { shift: &[0.0; 2], remainder: &[], factor: &[1.0; 3] };
        assert_eq!(
            message(normal_t(&x, &short, &two, &exec)),
            "the column shift: 2 values, but 3 are needed"
        );
        let error = project(&x, &map, &three, &exec, &mut [0.0f64; 3]).unwrap_err();
        assert_eq!(error.to_string(), "the output: 3 values, but 2 are needed");
    }
}
