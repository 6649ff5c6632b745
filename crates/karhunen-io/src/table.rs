//! What every reader returns: values in memory or mapped, with the names that came with them.

use karhunen::{Block, Dense, Matrix, RowBlocks, Scalar, Source, SparseMatrix};

use crate::Result;
use crate::mapped::Mapped;

/// A table as read from a file.
#[derive(Debug)]
pub struct Table {
    /// The numbers, shape (n_samples, n_features).
    pub data: Data,
    /// One name for each row, from an id column.
    pub sample_names: Option<Vec<String>>,
    /// What the id column is called, if the table has names.
    pub id_name: Option<String>,
    /// One name for each column.
    pub feature_names: Option<Vec<String>>,
    /// Columns set aside by name ([`crate::ReadOptions::labels`]): not part of `data`.
    pub labels: Vec<Label>,
    /// The column set aside by [`crate::ReadOptions::weights_column`]: one number for each row.
    pub weights: Option<Vec<f64>>,
    /// The format that was found, as `inspect` names it: `"CSV"`, `"Matrix Market"`, …
    pub format: &'static str,
    /// What was decided on the way that the user may want to know: the delimiter found, an id column set aside.
    pub notes: Vec<String>,
    /// What may be wrong with the table as it was read: guesses that its look does not settle, values that were rounded. Each
    /// says what to do.
    pub warnings: Vec<String>,
}

/// A column set aside.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// Its name.
    pub name: String,
    /// One text for each row, as it stands in the file.
    pub values: Vec<String>,
}

/// Values in the type that the file holds them in: `f32` stays `f32`, all else becomes `f64`.
#[derive(Debug)]
pub enum Data {
    /// Single precision.
    F32(Values<f32>),
    /// Double precision.
    F64(Values<f64>),
}

/// Values in the layout that the file gives them.
#[derive(Debug)]
pub enum Values<T> {
    /// Rows or columns one after the other in one buffer.
    Dense {
        /// The values.
        buffer: Buffer<T>,
        /// Rows.
        n_rows: usize,
        /// Columns.
        n_cols: usize,
        /// Whether columns, not rows, lie side by side.
        column_major: bool,
    },
    /// Blocks of rows, as a parallel reader leaves them.
    Blocks(Vec<Matrix<T>>),
    /// Compressed rows or columns.
    Sparse(SparseMatrix<T>),
}

/// A buffer of values: owned, or a file mapped into memory.
#[derive(Debug)]
pub enum Buffer<T> {
    /// In memory.
    Owned(Vec<T>),
    /// A part of a mapped file.
    Mapped {
        /// The whole file.
        map: Mapped,
        /// Where the values begin, in bytes: a multiple of the size of `T`.
        offset: usize,
        /// Number of values.
        len: usize,
    },
}

impl<T: Scalar> Buffer<T> {
    /// The values.
    pub fn as_slice(&self) -> &[T] {
        match self {
            Buffer::Owned(values) => values,
            Buffer::Mapped { map, offset, len } => {
                bytemuck::cast_slice(&map[*offset..*offset + *len * size_of::<T>()])
            }
        }
    }
}

impl<T: Scalar> Values<T> {
    /// (rows, columns).
    pub fn shape(&self) -> (usize, usize) {
        match self {
            Values::Dense { n_rows, n_cols, .. } => (*n_rows, *n_cols),
            Values::Blocks(blocks) => {
                (blocks.iter().map(Matrix::n_rows).sum(), blocks.first().map_or(0, Matrix::n_cols))
            }
            Values::Sparse(matrix) => (matrix.view().n_rows(), matrix.view().n_cols()),
        }
    }

    /// Lends the values to a fit.
    ///
    /// # Errors
    /// Those of [`Dense`] and [`RowBlocks`] for a buffer that does not fit its shape.
    pub fn source(&self) -> karhunen::Result<Box<dyn Source<T> + '_>> {
        Ok(match self {
            Values::Dense { buffer, n_rows, n_cols, column_major: false } => {
                Box::new(Dense::row_major(buffer.as_slice(), *n_rows, *n_cols)?)
            }
            Values::Dense { buffer, n_rows, n_cols, column_major: true } => {
                Box::new(Dense::column_major(buffer.as_slice(), *n_rows, *n_cols)?)
            }
            Values::Blocks(blocks) => {
                Box::new(RowBlocks::new(blocks.iter().map(|b| Block::Dense(Dense::from(b))).collect())?)
            }
            Values::Sparse(matrix) => Box::new(matrix.view()),
        })
    }
}

impl Data {
    /// Checks that values which lie in a mapped file are still those that were read: to be called after their last use, before
    /// anything that came of them is relied upon. All other values are copies, for which there is nothing to check.
    ///
    /// # Errors
    /// Those of [`Mapped::check_unchanged`].
    pub fn check_unchanged(&self) -> Result<()> {
        match self {
            Data::F32(Values::Dense { buffer: Buffer::Mapped { map, .. }, .. })
            | Data::F64(Values::Dense { buffer: Buffer::Mapped { map, .. }, .. }) => map.check_unchanged(),
            _ => Ok(()),
        }
    }

    /// (n_samples, n_features).
    pub fn shape(&self) -> (usize, usize) {
        match self {
            Data::F32(values) => values.shape(),
            Data::F64(values) => values.shape(),
        }
    }

    /// `"f32"` or `"f64"`.
    pub fn dtype(&self) -> &'static str {
        match self {
            Data::F32(_) => f32::NAME,
            Data::F64(_) => f64::NAME,
        }
    }
}

/// A matrix with the names of its rows and columns.
#[derive(Clone, Copy, Debug)]
pub struct NamedMatrix<'a, T> {
    /// The values.
    pub matrix: &'a Matrix<T>,
    /// One name for each row, written as the first column.
    pub row_names: Option<&'a [String]>,
    /// What stands above the names of the rows.
    pub row_header: &'a str,
    /// More columns of text, behind the names of the rows.
    pub labels: &'a [Label],
    /// One name for each column.
    pub column_names: &'a [String],
    /// Whether names of rows and labels that are whole numbers, all of a column, are written as numbers: ids that belong to no
    /// other numbers. Otherwise text has quotes around them, so that they are not taken for data.
    pub numeric_ids: bool,
}

/// Texts as whole numbers, if all are some that would be written so again.
pub(crate) fn whole_numbers(texts: &[String]) -> Option<Vec<i64>> {
    let number = |text: &String| text.parse::<i64>().ok().filter(|number| number.to_string() == *text);
    texts.iter().map(number).collect()
}
