//! Orthonormal bases of the span of given columns, which may be linearly dependent.

use crate::decomp::basis::{Basis, multiply_then_gram, tall_t_product};
use crate::decomp::cholesky::cholesky;
use crate::decomp::triangular::{inverse_upper, multiply_columns, multiply_rows};
use crate::dense::rank_k;
use crate::dense::small::multiply;
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::normals::gaussian;
use crate::random::{Purpose, Stream};
use crate::scalar::largest;
use crate::{ColumnMap, Dense, Matrix};

/// Relative pivot (squared sine of the angle to the previous columns) from which a Cholesky factor is accurate
/// without another projection.
const SAFE_PIVOT: f64 = 1e-4;
/// Smallest squared singular value of columns of unit length below which they are orthonormalized in several rounds.
const LEAST_SQUARE: f64 = 1e-8;

/// `W = Q R`, except for columns below a floor.
#[derive(Clone, Debug)]
pub struct Orthonormal {
    /// Orthonormal columns, shape (dim, width).
    pub q: Matrix,
    /// `Q' W`, shape (width, l). Not triangular if columns were dependent.
    pub r: Matrix,
}

/// An orthonormal basis of the columns of `w`, shape (n, l), with min(n, l) columns. Columns that depend on others
/// to rounding are replaced by random ones, orthonormal to the rest.
///
/// Cholesky QR, twice, on sums in fixed order (Yamamoto, Nakatsukasa, Yanagisawa & Fukaya 2015,
/// doi:10.1553/etna_vol44s306), in rounds of well-conditioned columns if the Gram matrix is near singular.
///
/// # Errors
/// [`Error::Stopped`]; [`Error::Decomposition`] if an entry is not finite.
pub fn orthonormalize(mut w: Matrix, seed: u64, exec: &Exec<'_>) -> Result<Orthonormal> {
    let unit = crate::dense::small::binade(w.as_slice()).unwrap_or(1.0);
    w.as_mut_slice().iter_mut().for_each(|x| *x /= unit);
    let gram = tall_t_product(&w, &w, exec)?;
    let largest = largest((0..w.n_cols()).map(|j| gram[(j, j)])).sqrt();
    let mut fresh = Fresh::new(Purpose::Completion.of(seed));
    let basis = Basis::new(w.n_rows(), 0);
    let mut result = orthonormalize_against(&basis, w, &gram, 1e-14 * largest, &mut fresh, exec)?;
    result.r.as_mut_slice().iter_mut().for_each(|x| *x *= unit);
    Ok(result)
}

/// A source of random columns.
#[derive(Clone, Debug)]
pub struct Fresh {
    stream: Stream,
    calls: u64,
}

impl Fresh {
    /// Columns that depend on `stream` and on the number of calls of [`Fresh::columns`].
    pub fn new(stream: Stream) -> Self {
        Self { stream, calls: 0 }
    }

    /// Gaussian columns, scaled to norm near 1.
    pub fn columns(&mut self, dim: usize, n: usize) -> Matrix {
        let mut columns = gaussian(dim, n, self.stream.number(self.calls));
        self.calls += 1;
        let scale = 1.0 / (dim as f64).sqrt();
        columns.as_mut_slice().iter_mut().for_each(|x| *x *= scale);
        columns
    }
}

/// An orthonormal basis of the columns of `w`, which are orthogonal to `basis`, with `gram = W'W`. Its width is
/// the rank of `w`, or the dimension left by `basis` if that is less. Columns whose part orthogonal to the others has
/// a norm of at most `floor` are replaced by `fresh` ones.
///
/// # Errors
/// [`Error::Stopped`]; [`Error::Decomposition`] if an entry is not finite.
pub fn orthonormalize_against(
    basis: &Basis,
    mut w: Matrix,
    gram: &Matrix,
    floor: f64,
    fresh: &mut Fresh,
    exec: &Exec<'_>,
) -> Result<Orthonormal> {
    let (dim, l) = w.shape();
    let width = l.min(dim - basis.len());
    if gram.as_slice().iter().any(|x| !x.is_finite()) {
        return Err(Error::Decomposition { decomposition: "eigendecomposition", n_rows: dim, n_cols: l });
    }
    if width == l {
        let above = (0..l).all(|j| gram[(j, j)].sqrt() > floor);
        if let Some((factor, pivot)) = above.then(|| cholesky(gram)).flatten() {
            let inverse = inverse_upper(&factor);
            // The pivots alone may be large where rounding errors of the earlier ones have grown in the later ones.
            let square = smallest_square(gram, &inverse);
            if square > LEAST_SQUARE {
                // Small angles magnify what rounding has left along the basis.
                let again = (pivot < SAFE_PIVOT || square < SAFE_PIVOT).then_some(basis);
                let r = finish_cholesky_qr(&mut w, (&factor, &inverse), again, exec)?;
                return Ok(Orthonormal { q: w, r });
            }
        }
    }
    in_rounds(basis, &w, width, floor, fresh, exec)
}

/// Deviation up to which one Cholesky QR suffices: its error grows with the squared condition number, here near 1.
const NEAR: f64 = 1e-2;
/// Deviation up to which columns count as orthonormal.
const CLEAN: f64 = 1e-14;

/// Orthonormal columns with the span of `w`, whose columns are orthonormal up to accumulated errors.
///
/// # Errors
/// As [`orthonormalize`].
pub fn polish(mut w: Matrix, seed: u64, exec: &Exec<'_>) -> Result<Matrix> {
    // The columns of a basis need not correspond to those given.
    Ok(if polish_near(&mut w, exec)? { w } else { orthonormalize(w, seed, exec)?.q })
}

/// As [`polish`], in place and column by column; returns false, and leaves the columns as they are, if they are far from
/// orthonormal.
///
/// # Errors
/// [`Error::Stopped`].
pub fn polish_near(w: &mut Matrix, exec: &Exec<'_>) -> Result<bool> {
    let p = w.n_cols();
    if p == 0 {
        return Ok(true);
    }
    let unchanged = ColumnMap { shift: &vec![0.0; p], remainder: &[], factor: &vec![1.0; p] };
    let gram = rank_k::scatter(Dense::from(&*w), unchanged, None, exec)?;
    match deviation(&gram) {
        near if near <= NEAR => {
            if let Some((factor, _)) = (near > CLEAN).then(|| cholesky(&gram)).flatten() {
                multiply_columns(w, &inverse_upper(&factor), exec)?;
            }
            Ok(true)
        }
        // Far from orthonormal, or NaN.
        _ => Ok(false),
    }
}

/// As [`polish`], for the rows of `w`.
///
/// # Errors
/// As [`orthonormalize`].
pub fn polish_rows(mut w: Matrix, seed: u64, exec: &Exec<'_>) -> Result<Matrix> {
    if w.n_rows() == 0 {
        return Ok(w);
    }
    let p = w.n_cols();
    let unchanged = ColumnMap { shift: &vec![0.0; p], remainder: &[], factor: &vec![1.0; p] };
    let gram = rank_k::gram(Dense::from(&w), unchanged, None, &exec.part(0.0, 0.5))?;
    let exec = exec.part(0.5, 1.0);
    match deviation(&gram) {
        near if near <= NEAR => {
            if let Some((factor, _)) = (near > CLEAN).then(|| cholesky(&gram)).flatten() {
                multiply_rows(&inverse_upper(&factor), &mut w, &exec)?;
            }
            Ok(w)
        }
        // Far from orthonormal, or NaN.
        _ => {
            let columns = w.transposed_by(&exec.part(0.0, 0.0))?;
            orthonormalize(columns, seed, &exec.part(0.0, 0.0))?.q.transposed_by(&exec)
        }
    }
}

/// The largest absolute entry of `G - I`; NaN if an entry is.
fn deviation(gram: &Matrix) -> f64 {
    let n = gram.n_rows();
    let error = |i: usize, j: usize| (gram[(i, j)] - f64::from(u8::from(i == j))).abs();
    let errors = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).map(|(i, j)| error(i, j));
    largest(errors)
}

/// A lower bound of the smallest squared singular value of columns scaled to unit length, from their Gram matrix and the
/// inverse of its Cholesky factor. The relative error of the factor is a rounding error divided by it.
fn smallest_square(gram: &Matrix, inverse: &Matrix) -> f64 {
    let l = gram.n_rows();
    let squares = (0..l).map(|i| gram[(i, i)] * inverse.row(i).iter().map(|x| x * x).sum::<f64>());
    1.0 / squares.sum::<f64>()
}

/// `W <- W R1^-1 R2^-1`, returning `R2 R1`, for the factor `R1` and its inverse; projects out `basis`, if not empty, in
/// between.
fn finish_cholesky_qr(
    w: &mut Matrix,
    (factor, inverse): (&Matrix, &Matrix),
    basis: Option<&Basis>,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    let mut gram = multiply_then_gram(w, inverse, exec)?;
    if let Some(basis) = basis {
        gram = basis.project_out(w, exec)?;
    }
    let Some((second, _)) = cholesky(&gram) else {
        let (n_rows, n_cols) = w.shape();
        return Err(Error::Decomposition { decomposition: "QR decomposition", n_rows, n_cols });
    };
    multiply_then_gram(w, &inverse_upper(&second), exec)?;
    Ok(multiply(&second, factor))
}

/// Orthonormalizes well-conditioned subsets of the remaining columns, largest first, up to `width`; then random
/// ones.
fn in_rounds(
    basis: &Basis,
    w: &Matrix,
    width: usize,
    floor: f64,
    fresh: &mut Fresh,
    exec: &Exec<'_>,
) -> Result<Orthonormal> {
    let dim = w.n_rows();
    let mut found = Basis::new(dim, width);
    let mut rest = w.clone();
    let mut floor = floor;
    while found.len() < width {
        if rest.n_cols() == 0 {
            rest = fresh.columns(dim, width - found.len());
            floor = f64::MIN_POSITIVE;
        }
        let gram = project_out_both(basis, &found, &mut rest, exec)?;
        let (taken, left) = pivots(&gram, floor, width - found.len());
        if taken.is_empty() {
            rest = Matrix::zeros(dim, 0);
            continue;
        }
        let mut group = select(&rest, &taken);
        let Some((factor, _)) = cholesky(&select(&select(&gram, &taken).transposed(), &taken)) else {
            return Err(Error::Decomposition {
                decomposition: "QR decomposition",
                n_rows: dim,
                n_cols: taken.len(),
            });
        };
        multiply_then_gram(&mut group, &inverse_upper(&factor), exec)?;
        project_out_both(basis, &found, &mut group, exec)?;
        let gram = tall_t_product(&group, &group, exec)?;
        if let Some((factor, _)) = cholesky(&gram) {
            finish_cholesky_qr(&mut group, (&factor, &inverse_upper(&factor)), None, exec)?;
            found.append(&group, exec)?;
        }
        rest = select(&rest, &left);
    }
    let all = Matrix::from_fn(width, width, |i, j| f64::from(u8::from(i == j)));
    let q = found.combine(&all, exec)?;
    let r = tall_t_product(&q, w, exec)?;
    Ok(Orthonormal { q, r })
}

fn project_out_both(first: &Basis, second: &Basis, w: &mut Matrix, exec: &Exec<'_>) -> Result<Matrix> {
    first.project_out(w, exec)?;
    second.project_out(w, exec)?;
    // The second projection changed `w` by rounding only.
    second.project_out(w, exec)
}

/// Columns of the next round, at most `most`, by pivoted Cholesky factorization of the equilibrated Gram matrix;
/// and the columns left for later rounds, without columns of norm at most `floor`.
fn pivots(gram: &Matrix, floor: f64, most: usize) -> (Vec<usize>, Vec<usize>) {
    let norms: Vec<f64> = (0..gram.n_rows()).map(|j| gram[(j, j)].sqrt()).collect();
    let mut left: Vec<usize> = (0..norms.len()).filter(|&j| norms[j] > floor).collect();
    // Rows of the factor over all columns, and the residual squared norm of each column.
    let mut factor: Vec<Vec<f64>> = Vec::new();
    let mut remaining = vec![1.0f64; norms.len()];
    let mut taken = Vec::new();
    while taken.len() < most {
        // In a tie the longest column first: it has the most accurate digits.
        let by_size = |&a: &usize, &b: &usize| {
            remaining[a].total_cmp(&remaining[b]).then(norms[a].total_cmp(&norms[b]))
        };
        let Some(best) = left.iter().copied().max_by(by_size) else { break };
        if !taken.is_empty() && remaining[best] < SAFE_PIVOT {
            break;
        }
        let root = remaining[best].sqrt();
        let row: Vec<f64> = (0..norms.len())
            .map(|j| {
                let along: f64 = factor.iter().map(|row| row[best] * row[j]).sum();
                (gram[(best, j)] / (norms[best] * norms[j]).max(f64::MIN_POSITIVE) - along) / root
            })
            .collect();
        for (remaining, x) in remaining.iter_mut().zip(&row) {
            *remaining -= x * x;
        }
        factor.push(row);
        left.retain(|&j| j != best);
        taken.push(best);
    }
    (taken, left)
}

fn select(a: &Matrix, columns: &[usize]) -> Matrix {
    Matrix::from_fn(a.n_rows(), columns.len(), |i, j| a[(i, columns[j])])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::small::t_multiply;
    use crate::exec::Run;
    use crate::scalar::largest_magnitude;
    use crate::testing::test_matrices::{
        gaussian, identity_error, max_difference, orthonormal, with_singular_values,
    };

    /// Number of columns of `q` in the span of `W`; the others are random.
    fn n_given(result: &Orthonormal) -> usize {
        let largest = largest_magnitude(result.r.as_slice());
        (0..result.r.n_rows())
            .filter(|&i| largest > 0.0 && result.r.row(i).iter().any(|x| x.abs() > 1e-13 * largest))
            .count()
    }

    fn check(w: &Matrix, rank: usize) -> Orthonormal {
        let exec = Exec::sequential();
        let scale = largest_magnitude(w.as_slice());
        let result = orthonormalize(w.clone(), 1, &exec).unwrap();
        let width = w.n_cols().min(w.n_rows());
        assert_eq!(result.q.shape(), (w.n_rows(), width));
        assert_eq!(n_given(&result), rank);
        assert!(
            identity_error(&result.q) < 3e-15 * (width as f64).max(4.0),
            "{:e}",
            identity_error(&result.q)
        );
        let error = max_difference(&multiply(&result.q, &result.r), w);
        assert!(error <= 1e-13 * scale, "{error:e}");
        result
    }

    #[test]
    fn well_conditioned_columns_are_orthonormalized() {
        for (n, l) in [(1, 1), (8, 8), (500, 16), (4000, 60)] {
            check(&gaussian(n, l, 1, 0), l);
        }
    }

    #[test]
    fn ill_conditioned_columns_keep_every_direction() {
        for exponent in [3, 5, 7, 9, 11] {
            let s: Vec<f64> = (0..10).map(|j| 10f64.powf(-f64::from(exponent * j) / 9.0)).collect();
            check(&with_singular_values(700, &s, 2), 10);
        }
    }

    #[test]
    fn columns_of_very_different_length_are_orthonormalized() {
        let w = Matrix::from_fn(300, 12, |i, j| {
            10f64.powi(-(j as i32)) * ((i * 7 + j * 13) % 31) as f64 - 10f64.powi(-(j as i32)) * 15.0
        });
        check(&w, 12);
    }

    #[test]
    fn dependent_columns_are_replaced() {
        let x = gaussian(200, 3, 4, 0);
        check(&multiply(&x, &gaussian(3, 8, 5, 0)), 3);
        check(&Matrix::zeros(20, 4), 0);
        check(&gaussian(5, 9, 6, 0), 5);
        check(&Matrix::from_fn(50, 3, |i, j| if j == 1 { 0.0 } else { (i + j) as f64 }), 2);
    }

    #[test]
    fn the_scale_of_the_columns_does_not_matter() {
        for scale in [1e-200, 1e200, 1e-300] {
            let mut w = gaussian(90, 5, 7, 0);
            w.as_mut_slice().iter_mut().for_each(|x| *x *= scale);
            check(&w, 5);
        }
    }

    #[test]
    fn polishing_restores_orthonormality() {
        let exec = Exec::sequential();
        let mut q = orthonormal(500, 20, 12);
        let clean = q.clone();
        q = polish(q, 0, &exec).unwrap();
        assert_eq!(q, clean);
        let noise = gaussian(500, 20, 13, 0);
        for (x, e) in q.as_mut_slice().iter_mut().zip(noise.as_slice()) {
            *x += 1e-9 * e;
        }
        assert!(identity_error(&q) > 1e-10);
        q = polish(q, 0, &exec).unwrap();
        assert!(identity_error(&q) < 1e-14 && max_difference(&q, &clean) < 1e-8);
    }

    #[test]
    fn polishing_rows_equals_polishing_columns() {
        let exec = Exec::sequential();
        for (p, k, noise) in [(700, 9, 1e-9), (300, 4, 1e-4), (60, 5, 0.3)] {
            let mut q = orthonormal(p, k, 12);
            for (x, e) in q.as_mut_slice().iter_mut().zip(gaussian(p, k, 13, 0).as_slice()) {
                *x += noise * e;
            }
            let rows = polish_rows(q.transposed(), 0, &exec).unwrap();
            assert!(identity_error(&rows.transposed()) < 1e-14);
            let columns = polish(q.clone(), 0, &exec).unwrap();
            assert!(max_difference(&rows.transposed(), &columns) < 1e-12);
            for threads in [2, 3] {
                let several = Exec::run(&Run::threads(threads), |exec| polish_rows(q.transposed(), 0, exec));
                assert_eq!(several.unwrap(), rows);
            }
        }
    }

    #[test]
    fn new_columns_stay_orthogonal_to_a_basis() {
        let exec = Exec::sequential();
        let v = orthonormal(400, 30, 8);
        let mut basis = Basis::new(400, 30);
        basis.append(&v, &exec).unwrap();
        let mut w = multiply(&gaussian(400, 2, 9, 0), &gaussian(2, 6, 10, 0));
        let gram = basis.project_out(&mut w, &exec).unwrap();
        let found = orthonormalize_against(
            &basis,
            w,
            &gram,
            1e-10,
            &mut Fresh::new(Purpose::Completion.of(1)),
            &exec,
        )
        .unwrap();
        assert_eq!(n_given(&found), 2);
        assert!(identity_error(&found.q) < 1e-14);
        assert!(t_multiply(&v, &found.q).as_slice().iter().all(|x| x.abs() < 1e-14));
    }

    /// Every pivot of these columns is large, but the smallest singular value is not.
    #[test]
    fn columns_at_small_angles_stay_orthogonal_to_a_basis() {
        let (exec, l) = (Exec::sequential(), 32);
        let v = orthonormal(2000, 100, 8);
        let mut basis = Basis::new(2000, 100);
        basis.append(&v, &exec).unwrap();
        let kahan = Matrix::from_fn(l, l, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Less => -0.8 / ((j + 1) as f64).sqrt(),
            std::cmp::Ordering::Equal => 0.6,
            std::cmp::Ordering::Greater => 0.0,
        });
        let mut own = gaussian(2000, l, 9, 0);
        basis.project_out(&mut own, &exec).unwrap();
        let own = orthonormalize(own, 1, &exec).unwrap().q;
        let mut w = multiply(&own, &kahan);
        let along = multiply(&v, &gaussian(100, l, 10, 0));
        w.as_mut_slice().iter_mut().zip(along.as_slice()).for_each(|(w, along)| *w += along);
        basis.project_out(&mut w, &exec).unwrap();
        let gram = basis.project_out(&mut w, &exec).unwrap();
        let mut fresh = Fresh::new(Purpose::Completion.of(1));
        let found = orthonormalize_against(&basis, w, &gram, 1e-10, &mut fresh, &exec).unwrap();
        assert!(identity_error(&found.q) < 1e-14);
        let along = largest_magnitude(t_multiply(&v, &found.q).as_slice());
        assert!(along < 1e-14, "{along:e}");
    }

    #[test]
    fn same_bits_for_every_number_of_threads() {
        let w = with_singular_values(5000, &[1.0, 0.5, 1e-3, 1e-7, 1e-9, 0.0], 11);
        let run =
            |threads| Exec::run(&Run::threads(threads), |exec| orthonormalize(w.clone(), 3, exec)).unwrap();
        let one = run(1);
        for threads in [2, 3] {
            let several = run(threads);
            assert_eq!((&one.q, &one.r), (&several.q, &several.r));
        }
    }

    /// Each column but the last is at a small angle to those before it, so that rounding errors grow from pivot to pivot and
    /// hide that the last column depends on the others.
    #[test]
    fn a_dependent_column_behind_small_angles_is_replaced() {
        let exec = Exec::sequential();
        for seed in 0..50 {
            let (n, rank) = (9, 4 + seed as usize % 3);
            let last = gaussian(rank, 1, seed, 1);
            let of = |k: usize, j: usize| match j {
                _ if j == rank => last[(k, 0)],
                _ if k + 1 == j || (k, j) == (0, 0) => 1.0,
                _ if k == j => 3e-4,
                _ => 0.0,
            };
            let w = multiply(&orthonormal(n, rank, seed), &Matrix::from_fn(rank, rank + 1, of));
            let found = orthonormalize(w.clone(), 1, &exec).unwrap();
            assert!(identity_error(&found.q) < 1e-14, "{seed}: {:e}", identity_error(&found.q));
            assert!(max_difference(&multiply(&found.q, &found.r), &w) < 1e-13);
        }
    }
}
