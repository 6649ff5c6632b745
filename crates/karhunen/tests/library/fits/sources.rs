//! The same rows in every kind of source.

use karhunen::source::Block;
use karhunen::{Dense, RowBlocks, Scalar, Source, Sparse};
use karhunen_testkit::{Rows, SparseArrays, column_major, row_major};

/// Layout of rows for the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    RowMajor,
    ColumnMajor,
    /// Last row first, with gaps between the values, filled with NaN.
    Strided,
    /// Compressed rows, pointers and indices of 32 bits.
    Csr32,
    /// Compressed rows, pointers and indices of 64 bits.
    Csr64,
    /// Compressed columns, unsigned pointers, 32-bit indices.
    Csc32,
    /// Compressed columns, 64-bit signed.
    Csc64,
    /// A dense, a sparse and a column-major block, of different heights.
    Blocks,
    /// Blocks of different heights, all dense.
    DenseBlocks,
}

impl Layout {
    pub(crate) const ALL: [Self; 9] = [
        Self::RowMajor,
        Self::ColumnMajor,
        Self::Strided,
        Self::Csr32,
        Self::Csr64,
        Self::Csc32,
        Self::Csc64,
        Self::Blocks,
        Self::DenseBlocks,
    ];

    /// The layouts that store every value.
    pub(crate) const DENSE: [Self; 4] = [Self::RowMajor, Self::ColumnMajor, Self::Strided, Self::DenseBlocks];

    /// One layout for each code path.
    pub(crate) const FEW: [Self; 5] =
        [Self::RowMajor, Self::ColumnMajor, Self::Csr32, Self::Csc64, Self::Blocks];

    /// Calls `f` with `rows` in this layout.
    pub(crate) fn with<T: Scalar, R>(self, rows: &[Vec<f64>], f: impl FnOnce(&dyn Source<T>) -> R) -> R {
        let (n, p) = (rows.len(), rows[0].len());
        match self {
            Self::RowMajor => f(&Dense::row_major(&convert(&row_major(rows)), n, p).unwrap()),
            Self::ColumnMajor => f(&Dense::column_major(&convert(&column_major(rows)), n, p).unwrap()),
            Self::Strided => with_strided(rows, f),
            Self::Csr32 => {
                let a = SparseArrays::of_rows(rows);
                let (indptr, indices) = (integers::<i32>(&a.indptr), integers::<i32>(&a.indices));
                f(&Sparse::csr(n, p, &indptr, &indices, &convert(&a.values)).unwrap())
            }
            Self::Csr64 => {
                let a = SparseArrays::of_rows(rows);
                let (indptr, indices) = (integers::<u64>(&a.indptr), integers::<i64>(&a.indices));
                f(&Sparse::csr(n, p, &indptr, &indices, &convert(&a.values)).unwrap())
            }
            Self::Csc32 => {
                let a = SparseArrays::of_rows(rows).by_columns();
                let indices = integers::<u32>(&a.indices);
                f(&Sparse::csc(n, p, &a.indptr, &indices, &convert(&a.values)).unwrap())
            }
            Self::Csc64 => {
                let a = SparseArrays::of_rows(rows).by_columns();
                let (indptr, indices) = (integers::<i64>(&a.indptr), integers::<i64>(&a.indices));
                f(&Sparse::csc(n, p, &indptr, &indices, &convert(&a.values)).unwrap())
            }
            Self::Blocks => with_blocks(rows, true, f),
            Self::DenseBlocks => with_blocks(rows, false, f),
        }
    }
}

fn with_strided<T: Scalar, R>(rows: &[Vec<f64>], f: impl FnOnce(&dyn Source<T>) -> R) -> R {
    let (n, p) = (rows.len(), rows[0].len());
    let (row_stride, col_stride) = (2 * p + 1, 2);
    let mut buffer = vec![T::from_f64(f64::NAN); n * row_stride];
    let offset = (n - 1) * row_stride;
    for (i, row) in rows.iter().enumerate() {
        for (j, &x) in row.iter().enumerate() {
            buffer[offset - i * row_stride + j * col_stride] = T::from_f64(x);
        }
    }
    f(&Dense::strided(&buffer, (n, p), (-(row_stride as isize), col_stride as isize), offset).unwrap())
}

fn with_blocks<T: Scalar, R>(
    rows: &[Vec<f64>],
    middle_is_sparse: bool,
    f: impl FnOnce(&dyn Source<T>) -> R,
) -> R {
    let p = rows[0].len();
    let (top, rest) = rows.split_at(rows.len().div_ceil(2));
    let (middle, bottom) = rest.split_at(rest.len().div_ceil(3));
    let top_values = convert::<T>(&row_major(top));
    let arrays = SparseArrays::of_rows(middle);
    let values = if middle_is_sparse { arrays.values.clone() } else { row_major(middle) };
    let middle_values = convert::<T>(&values);
    let bottom_values = if bottom.is_empty() { Vec::new() } else { convert::<T>(&column_major(bottom)) };
    let mut blocks = vec![Block::Dense(Dense::row_major(&top_values, top.len(), p).unwrap())];
    if middle_is_sparse && !middle.is_empty() {
        let sparse = Sparse::csr(middle.len(), p, &arrays.indptr, &arrays.indices, &middle_values);
        blocks.push(Block::Sparse(sparse.unwrap()));
    } else if !middle.is_empty() {
        blocks.push(Block::Dense(Dense::row_major(&middle_values, middle.len(), p).unwrap()));
    }
    if !bottom.is_empty() {
        blocks.push(Block::Dense(Dense::column_major(&bottom_values, bottom.len(), p).unwrap()));
    }
    f(&RowBlocks::new(blocks).unwrap())
}

/// Values rounded to the type under test.
pub(crate) fn convert<T: Scalar>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&x| T::from_f64(x)).collect()
}

/// Rows rounded to the type under test.
pub(crate) fn rounded<T: Scalar>(rows: &[Vec<f64>]) -> Rows {
    rows.iter().map(|row| row.iter().map(|&x| T::from_f64(x).to_f64()).collect()).collect()
}

fn integers<I: TryFrom<usize>>(values: &[usize]) -> Vec<I> {
    values.iter().map(|&x| I::try_from(x).ok().unwrap()).collect()
}
