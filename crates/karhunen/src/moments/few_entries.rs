//! Products of sparse vectors with few entries, added one by one to rows of a Gram matrix.
#![allow(unsafe_code)] // Unchecked access to a row by numbers of lines.

use pulp::{Simd, WithSimd};

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::Matrix;
use crate::linalg::simd::dispatch;
use crate::linalg::sparse::lanes::Scale;
use crate::linalg::sparse::lines::{Index, LineNumber, Lines, RUN, Transposed};
use crate::scalar::Scalar;

/// Prefetch distance in columns.
const AHEAD: usize = 8;
/// Number of products that are added in one loop.
const BUFFER: usize = 512;

/// Some columns of the lines, transposed.
pub(super) struct Part<'a, N, T> {
    pub(super) transposed: &'a Transposed<N, T>,
    /// The first column.
    pub(super) first: usize,
    /// The number of entries of each line before the columns.
    pub(super) starts: &'a [usize],
}

/// Adds the upper triangle of `A D A'` to `out`, entry by entry, for the columns of all parts; A is the matrix of
/// the lines, D the diagonal matrix of `weights`. The row of the result stays in the first-level cache while its line
/// meets all columns.
pub(super) fn add_by_entry<N: LineNumber, I: Index, T: Scalar>(
    lines: &Lines<'_, I, T>,
    parts: &[Part<'_, N, T>],
    weights: Scale<'_>,
    out: &mut Matrix,
    exec: &Exec<'_>,
) -> Result<()> {
    const PIECE: usize = 8;
    let n = lines.len();
    exec.fill(out.as_mut_slice(), PIECE * n, |piece, rows| {
        for (i, row) in (piece * PIECE..).zip(rows.chunks_exact_mut(n)) {
            dispatch(AddLine { lines, parts, weights, i, row });
        }
        Ok(())
    })
}

/// Adds the products of line `i` with the lines from `i` on, over the columns of all parts, to `row`.
///
/// Columns have few entries, and a loop over one column would end by a branch that cannot be predicted. So [`RUN`]
/// products are written behind the products of earlier columns whatever the number of entries, those past the last are
/// overwritten by the next column, and long loops add the products.
struct AddLine<'a, 'p, N, I, T> {
    lines: &'a Lines<'a, I, T>,
    parts: &'a [Part<'p, N, T>],
    weights: Scale<'a>,
    i: usize,
    row: &'a mut [f64],
}

impl<N: LineNumber, I: Index, T: Scalar> WithSimd for AddLine<'_, '_, N, I, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { lines, parts, weights, i, row } = self;
        let (mut numbers, mut products) = ([N::default(); BUFFER + RUN], [0.0; BUFFER + RUN]);
        let mut len = 0;
        for &Part { transposed, first, starts } in parts {
            let positions = transposed.positions(i);
            let columns = &lines.line(i).0[starts[i]..][..positions.len()];
            for (e, (&position, column)) in positions.iter().zip(columns).enumerate() {
                if let Some(&next) = positions.get(e + AHEAD) {
                    transposed.prefetch(next as usize);
                }
                let (mut position, end) = (position as usize, transposed.end(column.at() - first));
                let factor = weights.at(column.at()) * transposed.value(position).to_f64();
                while position < end {
                    let (run, values) = transposed.run(position);
                    numbers[len..len + RUN].copy_from_slice(run);
                    for (product, value) in products[len..len + RUN].iter_mut().zip(values) {
                        *product = factor * value.to_f64();
                    }
                    let n_new = RUN.min(end - position);
                    (position, len) = (position + n_new, len + n_new);
                    if len >= BUFFER {
                        add(&numbers[..len], &products[..len], row);
                        len = 0;
                    }
                }
            }
        }
        add(&numbers[..len], &products[..len], row);
    }
}

/// Adds each product to the value of its line.
#[inline(always)]
fn add<N: LineNumber>(numbers: &[N], products: &[f64], row: &mut [f64]) {
    for (number, product) in numbers.iter().zip(products) {
        // SAFETY: the numbers index lines of a transposed copy, and `row` has a value for each line.
        unsafe { *row.get_unchecked_mut(number.at()) += product };
    }
}
