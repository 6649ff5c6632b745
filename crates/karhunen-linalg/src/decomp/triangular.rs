//! Inverses of triangular matrices, and products of many vectors with them: the last step of orthonormalization.
//!
//! Narrow blocks, which iterations use often, take short loops and the kernels of panels; wide ones take faer's
//! blocked algorithms, piece by piece, each on one thread.

use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::linalg::triangular_inverse::invert_upper_triangular;
use faer::{Accum, MatMut, MatRef, Par};

use crate::Matrix;
use crate::dense::panel::{Panel, add_product};
use crate::dense::small::faer_view;
use crate::error::Result;
use crate::exec::Exec;

/// Width up to which short loops are faster.
const NARROW: usize = 48;

/// `R^-1` of upper triangular `r`.
pub fn inverse_upper(r: &Matrix) -> Matrix {
    let l = r.n_rows();
    let mut inverse = Matrix::zeros(l, l);
    if l > NARROW {
        let target = MatMut::from_row_major_slice_mut(inverse.as_mut_slice(), l, l);
        invert_upper_triangular(target, faer_view(r), Par::Seq);
        return inverse;
    }
    for j in 0..l {
        inverse[(j, j)] = 1.0 / r[(j, j)];
        for i in (0..j).rev() {
            let along: f64 = (i + 1..=j).map(|k| r[(i, k)] * inverse[(k, j)]).sum();
            inverse[(i, j)] = -along / r[(i, i)];
        }
    }
    inverse
}

/// `W <- W S` for upper triangular `s`.
pub fn multiply_columns(w: &mut Matrix, s: &Matrix, exec: &Exec<'_>) -> Result<()> {
    const ROWS: usize = 256;
    let l = w.n_cols();
    exec.fill(w.as_mut_slice(), ROWS * l.max(1), |_, rows| {
        let before = rows.to_vec();
        let n_rows = before.len() / l;
        rows.fill(0.0);
        if l <= NARROW {
            add_product(1.0, Panel { data: &before, stride: l, n_cols: l }, s.as_slice(), l, rows);
            return Ok(());
        }
        let target = MatMut::from_row_major_slice_mut(rows, n_rows, l);
        let before = MatRef::from_row_major_slice(&before, n_rows, l);
        upper_product(
            target,
            before,
            BlockStructure::Rectangular,
            faer_view(s),
            BlockStructure::TriangularUpper,
        );
        Ok(())
    })
}

/// `W <- S' W`, in place, for upper triangular `s`.
pub fn multiply_rows(s: &Matrix, w: &mut Matrix, exec: &Exec<'_>) -> Result<()> {
    const COLUMNS: usize = 256;
    let (k, p) = w.shape();
    if p == 0 {
        return Ok(());
    }
    // The segments of all rows in each run of columns.
    let mut runs: Vec<Vec<&mut [f64]>> = (0..p.div_ceil(COLUMNS)).map(|_| Vec::with_capacity(k)).collect();
    for row in w.as_mut_slice().chunks_exact_mut(p) {
        for (run, part) in runs.iter_mut().zip(row.chunks_mut(COLUMNS)) {
            run.push(part);
        }
    }
    let narrow = (k <= NARROW).then(|| s.transposed());
    exec.fill(&mut runs, 1, |_, run| {
        let rows = &mut run[0];
        let mut before = Vec::with_capacity(k * rows[0].len());
        rows.iter().for_each(|row| before.extend_from_slice(row));
        let mut after = vec![0.0; before.len()];
        let width = before.len() / k;
        if let Some(lower) = &narrow {
            add_product(
                1.0,
                Panel { data: lower.as_slice(), stride: k, n_cols: k },
                &before,
                width,
                &mut after,
            );
        } else {
            let target = MatMut::from_row_major_slice_mut(&mut after, k, width);
            let before = MatRef::from_row_major_slice(&before, k, width);
            let lower = faer_view(s).transpose();
            upper_product(
                target,
                lower,
                BlockStructure::TriangularLower,
                before,
                BlockStructure::Rectangular,
            );
        }
        for (row, after) in rows.iter_mut().zip(after.chunks_exact(width)) {
            row.copy_from_slice(after);
        }
        Ok(())
    })
}

/// `A B`, one factor of which is a triangle.
fn upper_product(
    target: MatMut<'_, f64>,
    a: MatRef<'_, f64>,
    structure_of_a: BlockStructure,
    b: MatRef<'_, f64>,
    structure_of_b: BlockStructure,
) {
    let rectangular = BlockStructure::Rectangular;
    matmul(target, rectangular, Accum::Replace, a, structure_of_a, b, structure_of_b, 1.0, Par::Seq);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decomp::cholesky::cholesky;
    use crate::dense::small::{multiply, t_multiply};
    use crate::exec::Run;
    use crate::scalar::largest_magnitude;
    use crate::testing::test_matrices::{gaussian, identity_error, max_difference};

    /// Widths of both algorithms: short loops, and blocked.
    const WIDTHS: [usize; 5] = [1, 7, NARROW, NARROW + 1, 3 * NARROW];

    #[test]
    fn triangular_inverses_and_products_agree_with_their_definition() {
        for l in WIDTHS {
            let x = gaussian(2 * l + 300, l, 1, 0);
            let gram = t_multiply(&x, &x);
            let (r, least) = cholesky(&gram).unwrap();
            assert!((0..l).all(|i| (0..i).all(|j| r[(i, j)] == 0.0)), "upper");
            let scale = largest_magnitude(gram.as_slice());
            // Rounding errors of sums of `l` products.
            assert!(max_difference(&t_multiply(&r, &r), &gram) < 1e-15 * (l + 4) as f64 * scale);
            assert!(least > 0.0 && least <= 1.0, "{least}");
            let inverse = inverse_upper(&r);
            let identity = Matrix::from_fn(l, l, |i, j| f64::from(u8::from(i == j)));
            assert!(max_difference(&multiply(&r, &inverse), &identity) < 1e-13);

            let exec = Exec::sequential();
            let mut columns = x.clone();
            multiply_columns(&mut columns, &inverse, &exec).unwrap();
            assert!(max_difference(&columns, &multiply(&x, &inverse)) < 1e-13);
            assert!(identity_error(&columns) < 1e-13);
            let mut rows = x.transposed();
            multiply_rows(&inverse, &mut rows, &exec).unwrap();
            assert!(max_difference(&rows.transposed(), &columns) < 1e-13);
            for threads in [2, 3] {
                let (mut c, mut r) = (x.clone(), x.transposed());
                Exec::run(&Run::threads(threads), |exec| {
                    multiply_columns(&mut c, &inverse, exec)?;
                    multiply_rows(&inverse, &mut r, exec)
                })
                .unwrap();
                assert_eq!((c, r), (columns.clone(), rows.clone()), "{threads} threads");
            }
        }
    }
}
