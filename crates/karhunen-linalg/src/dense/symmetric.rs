//! A symmetric matrix times a block of columns.

use crate::Matrix;
use crate::dense::panel::{Panel, add_product};
use crate::dense::small::multiply_into;
use crate::error::Result;
use crate::exec::Exec;

/// Number of rows of a piece, and of a piece with many columns.
const ROWS: usize = 64;
const MANY_ROWS: usize = 256;
/// Number of columns above which the panel kernels would read them from memory again for every piece.
const MANY: usize = 64;

/// `A Q` for symmetric `a`, shape (dim, dim), and `q`, shape (dim, l).
///
/// # Errors
/// [`crate::Error::Stopped`].
pub fn symmetric_product(a: &Matrix, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
    let (dim, l) = q.shape();
    let mut out = Matrix::zeros(dim, l);
    if l > MANY {
        exec.fill(out.as_mut_slice(), MANY_ROWS * l, |piece, panel| {
            let rows = &a.as_slice()[piece * MANY_ROWS * dim..][..panel.len() / l * dim];
            multiply_into(rows, q, panel);
            Ok(())
        })?;
        return Ok(out);
    }
    exec.fill(out.as_mut_slice(), ROWS * l, |piece, panel| {
        let rows = Panel { data: &a.as_slice()[piece * ROWS * dim..], stride: dim, n_cols: dim };
        add_product(1.0, rows, q.as_slice(), l, panel);
        Ok(())
    })?;
    Ok(out)
}
