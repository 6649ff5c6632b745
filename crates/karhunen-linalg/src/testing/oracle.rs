//! Test arrays in every memory order, and their mapped values from the definition.

use karhunen_linalg::{ColumnMap, Dense, Matrix, Scalar};

/// `len` values in -0.5..0.5, determined by `seed`.
pub(crate) fn values<T: Scalar>(len: usize, seed: u64) -> Vec<T> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        T::from_f64((state >> 11) as f64 / (1u64 << 53) as f64 - 0.5)
    };
    (0..len).map(|_| next()).collect()
}

/// An array in one memory order, with a map.
pub(crate) struct Case<T> {
    pub layout: &'static str,
    buffer: Vec<T>,
    shape: (usize, usize),
    strides: (isize, isize),
    offset: usize,
    shift: Vec<f64>,
    factor: Vec<f64>,
}

impl<T: Scalar> Case<T> {
    pub(crate) fn view(&self) -> Dense<'_, T> {
        Dense::strided(&self.buffer, self.shape, self.strides, self.offset).unwrap()
    }

    pub(crate) fn map(&self) -> ColumnMap<'_> {
        ColumnMap { shift: &self.shift, remainder: &[], factor: &self.factor }
    }

    /// `(x - shift) * factor`, entry by entry.
    pub(crate) fn mapped(&self) -> Matrix {
        Matrix::from_fn(self.shape.0, self.shape.1, |i, j| {
            (self.view().get(i, j).to_f64() - self.shift[j]) * self.factor[j]
        })
    }
}

/// An array of this shape in every memory order: contiguous, with gaps, reversed, repeated.
pub(crate) fn cases<T: Scalar>((n, p): (usize, usize)) -> Vec<Case<T>> {
    let (rows, cols) = (n as isize, p as isize);
    let all = [
        ("row-major", (cols, 1), 0),
        ("column-major", (1, rows), 0),
        ("row-major with gaps", (cols + 3, 1), 2),
        ("column-major backwards", (1, -rows), n * (p - 1)),
        ("both strided", (2 * cols, 2), 1),
        ("rows backwards", (-cols, 1), p * (n - 1)),
        ("one row repeated", (0, 1), 0),
        ("one column repeated", (1, 0), 0),
    ];
    all.into_iter()
        .map(|(layout, strides, offset)| Case {
            layout,
            buffer: values(2 * (n + 1) * (p + 3), 1),
            shape: (n, p),
            strides,
            offset,
            shift: values::<f64>(p, 2),
            factor: (0..p).map(|j| 0.5 + (j % 3) as f64).collect(),
        })
        .collect()
}
