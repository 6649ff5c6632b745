//! The result of every reader: values in memory or mapped, with their names.

use std::borrow::Cow;

use karhunen::error::Phrase;
use karhunen::matrix::SparseMatrix;
use karhunen::source::Block;
use karhunen::{Dense, Matrix, RowBlocks, Scalar, Source};

use crate::Result;
use crate::file_rows::{AnyRows, FileRows, Reading};
use crate::ids::{Ids, integer};
use crate::mapped::Mapped;

/// A table as read from a file.
#[derive(Debug)]
pub struct Table {
    /// The numbers, shape (n_samples, n_features).
    pub data: Data,
    /// One name for each row, from an id column.
    pub sample_names: Option<Vec<String>>,
    /// The name of the id column, if the table has names.
    pub id_name: Option<String>,
    /// One name for each column.
    pub feature_names: Option<Vec<String>>,
    /// Columns excluded by [`crate::ReadOptions::labels`]: not part of `data`.
    pub labels: Vec<Label>,
    /// The columns that [`crate::ReadOptions::columns`] leaves out, in the form of that option.
    pub left_out: Vec<String>,
    /// The column excluded by [`crate::ReadOptions::weights_column`]: one number for each row.
    pub weights: Option<Vec<f64>>,
    /// The sum of each row to which counts were normalised, if [`crate::ReadOptions::log1p`] or the fit asks for it.
    pub log1p: Option<f64>,
    /// The detected format, as `inspect` names it: `"CSV"`, `"Matrix Market"`, …
    pub format: &'static str,
    /// Choices made automatically that may interest the user: the delimiter found, an excluded id column.
    pub notes: Vec<String>,
    /// Possible faults of the table: guesses that its content does not settle, rounded values. Each states a
    /// remedy.
    pub warnings: Vec<Phrase>,
}

impl Table {
    /// Tests whether the features have names, or the numbers that they have in the file: no other column was taken out.
    pub fn is_numbered_as_its_file(&self) -> bool {
        let Self { sample_names, feature_names, labels, left_out, weights, .. } = self;
        let is_whole =
            sample_names.is_none() && labels.is_empty() && left_out.is_empty() && weights.is_none();
        feature_names.is_some() || is_whole
    }
}

/// An excluded column.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// Its name.
    pub name: String,
    /// One text for each row, as in the file.
    pub values: Vec<String>,
}

/// Values in the type of the file: `f32` stays `f32`, all other types become `f64`.
#[derive(Debug)]
pub enum Data {
    /// Single precision.
    F32(Values<f32>),
    /// Double precision.
    F64(Values<f64>),
}

/// Values in the layout of the file.
#[derive(Debug)]
pub enum Values<T> {
    /// Rows or columns in one contiguous buffer.
    Dense {
        /// The values.
        buffer: Buffer<T>,
        /// Number of rows.
        n_rows: usize,
        /// Number of columns.
        n_cols: usize,
        /// True if the values of a column are contiguous, false if the values of a row are.
        column_major: bool,
    },
    /// Blocks of rows, as returned by a parallel reader.
    Blocks(Vec<Matrix<T>>),
    /// Compressed rows or columns.
    Sparse(SparseMatrix<T>),
    /// Rows that are read from the file in every visit.
    InFile(FileRows<T>),
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
        /// Offset of the values in bytes: a multiple of the size of `T`.
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
            Values::InFile(rows) => rows.shape(),
        }
    }

    /// Borrows the values as a data source.
    ///
    /// # Errors
    /// Errors of [`Dense`] and [`RowBlocks`] for a buffer that does not fit its shape.
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
            Values::InFile(rows) => Box::new(rows),
        })
    }
}

impl From<AnyRows> for Data {
    fn from(rows: AnyRows) -> Self {
        match rows {
            AnyRows::F32(rows) => Self::F32(Values::InFile(rows)),
            AnyRows::F64(rows) => Self::F64(Values::InFile(rows)),
        }
    }
}

impl Data {
    /// Checks that values in a mapped file are unchanged since they were read. Call it after their last use and
    /// before using any result. Other values are copies and always pass.
    ///
    /// # Errors
    /// Same errors as [`Mapped::check_unchanged`].
    pub fn check_unchanged(&self) -> Result<()> {
        match self {
            Data::F32(Values::Dense { buffer: Buffer::Mapped { map, .. }, .. })
            | Data::F64(Values::Dense { buffer: Buffer::Mapped { map, .. }, .. }) => map.check_unchanged(),
            Data::F32(Values::InFile(rows)) => rows.check_unchanged(),
            Data::F64(Values::InFile(rows)) => rows.check_unchanged(),
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

    /// Number of stored entries of a sparse matrix; `None` for dense data.
    pub fn n_stored(&self) -> Option<usize> {
        fn of<T: Scalar>(values: &Values<T>) -> Option<usize> {
            match values {
                Values::Sparse(matrix) => Some(matrix.view().n_stored()),
                Values::InFile(rows) if rows.is_sparse() => Some(Source::n_stored(rows)),
                _ => None,
            }
        }
        match self {
            Data::F32(values) => of(values),
            Data::F64(values) => of(values),
        }
    }

    /// Returns the bytes and seconds of reading so far; `None` for values in memory.
    pub fn reading(&self) -> Option<Reading> {
        match self {
            Data::F32(Values::InFile(rows)) => Some(rows.reading()),
            Data::F64(Values::InFile(rows)) => Some(rows.reading()),
            _ => None,
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

/// Rows to write, in blocks: a matrix is one block; rows that are computed while they are written are many.
pub trait RowsToWrite<T>: Sync {
    /// (rows, columns).
    fn shape(&self) -> (usize, usize);

    /// Calls `f` with every block of rows, in order.
    ///
    /// # Errors
    /// Errors of `f`; errors of computing the rows, as [`std::io::Error::other`].
    fn each(&self, f: &mut RowWriter<'_, T>) -> std::io::Result<()>;
}

/// Writes a block of rows.
pub type RowWriter<'f, T> = dyn FnMut(&Matrix<T>) -> std::io::Result<()> + Send + 'f;

impl<T: Scalar> RowsToWrite<T> for Matrix<T> {
    fn shape(&self) -> (usize, usize) {
        Matrix::shape(self)
    }

    fn each(&self, f: &mut RowWriter<'_, T>) -> std::io::Result<()> {
        f(self)
    }
}

/// A matrix with the names of its rows and columns.
#[derive(Clone, Copy)]
pub struct NamedMatrix<'a, T> {
    /// The values.
    pub matrix: &'a dyn RowsToWrite<T>,
    /// One name for each row, written as the first column.
    pub row_names: Option<&'a [String]>,
    /// The header of the column of row names.
    pub row_header: &'a str,
    /// More columns of text, after the row names.
    pub labels: &'a [Label],
    /// One name for each column.
    pub column_names: &'a [String],
    /// If true, a column of row names or labels that are all integers is written as numbers: ids for use without
    /// other numbers. Otherwise text is quoted, so that it is not read as data.
    pub numeric_ids: bool,
}

/// The texts of a block of rows in one column.
#[derive(Clone, Copy)]
pub(crate) enum TextRows<'a> {
    Names(&'a [String]),
    Ids(&'a Ids),
}

impl TextRows<'_> {
    /// The text of a row of the block.
    pub(crate) fn text(&self, row: usize) -> Cow<'_, str> {
        match self {
            TextRows::Names(names) => names[row].as_str().into(),
            TextRows::Ids(ids) => ids.text(row),
        }
    }
}

/// A table as its writers see it: columns of text, then columns of numbers, in blocks of rows.
pub(crate) trait Written<T>: Sync {
    /// The headers of the columns of text; with each, true if all texts are integers, which are written as numbers.
    fn text_columns(&self) -> Vec<(&str, bool)>;

    /// The headers of the columns of numbers.
    fn column_names(&self) -> &[String];

    /// Calls `f` with the texts and numbers of every block of rows, in order.
    ///
    /// # Errors
    /// As [`RowsToWrite::each`].
    fn each_with_texts(&self, f: &mut WrittenRows<'_, T>) -> std::io::Result<()>;
}

/// Writes a block of rows, given their texts, column by column, and their numbers.
pub(crate) type WrittenRows<'f, T> =
    dyn FnMut(&[TextRows<'_>], &Matrix<T>) -> std::io::Result<()> + Send + 'f;

impl<T> NamedMatrix<'_, T> {
    /// The header and the texts of every column of text.
    fn texts(&self) -> impl Iterator<Item = (&str, &[String])> {
        let names = self.row_names.map(|names| (self.row_header, names));
        let labels = self.labels.iter().map(|label| (label.name.as_str(), label.values.as_slice()));
        names.into_iter().chain(labels)
    }
}

impl<T: Scalar> Written<T> for NamedMatrix<'_, T> {
    fn text_columns(&self) -> Vec<(&str, bool)> {
        let whole = |texts: &[String]| {
            self.numeric_ids && texts.iter().all(|text| integer(text.as_bytes()).is_some())
        };
        self.texts().map(|(name, texts)| (name, whole(texts))).collect()
    }

    fn column_names(&self) -> &[String] {
        self.column_names
    }

    fn each_with_texts(&self, f: &mut WrittenRows<'_, T>) -> std::io::Result<()> {
        let texts: Vec<&[String]> = self.texts().map(|(_, texts)| texts).collect();
        let mut first = 0;
        self.matrix.each(&mut |block| {
            let rows = first..first + block.n_rows();
            first = rows.end;
            let texts: Vec<_> = texts.iter().map(|texts| TextRows::Names(&texts[rows.clone()])).collect();
            f(&texts, block)
        })
    }
}
