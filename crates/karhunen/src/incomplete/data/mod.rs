//! The observed entries of a matrix, stored by rows and by columns.

mod build;
mod collect;
mod column_scales;
mod lines;
mod sample_weights;
mod split;

pub use crate::incomplete::data::column_scales::ColumnScales;
pub(crate) use crate::incomplete::data::column_scales::check_positive_weights;
pub(crate) use crate::incomplete::data::lines::{EntryLines, Rows, Segment};
pub(crate) use crate::incomplete::data::split::{HOLDING_OUT, Share};

use std::any::Any;
use std::sync::Arc;

use crate::choice::{Choice, Named, plain_names};
use crate::error::{Error, Result};
use crate::memory;
use crate::scalar::Scalar;

/// The phase in which entries are stored.
pub(crate) const ENTRIES: &str = "entries";
/// Rows and entries of a large table.
const MANY_ROWS: usize = 1000;
const MANY_ENTRIES: usize = 100_000;

/// Treatment of repeated (row, column) pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// Returns an error that names the row and the column.
    #[default]
    Refuse,
    /// Takes the (weighted) mean of the values and the sum of the weights.
    Average,
}

impl Choice for Duplicates {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Refuse, "refuse", "An error that names them and their lines"),
        Named::new(Self::Average, "average", "The mean, by weight"),
    ];
}

plain_names!(Duplicates);

/// Entries in coordinate format: `values[e]` was observed in row `rows[e]`, column `columns[e]`.
#[derive(Clone, Copy, Debug)]
pub struct Triples<'a, I, T> {
    /// Row of each entry, from zero.
    pub rows: &'a [I],
    /// Column of each entry, from zero.
    pub columns: &'a [I],
    /// Value of each entry; NaN is missing.
    pub values: &'a [T],
    /// Inverse variance of each entry, up to a common factor; ones if `None`. Entries of weight zero are missing.
    pub weights: Option<&'a [T]>,
}

/// The observed entries of a matrix of shape (n_samples, n_features), stored by rows and by columns: 16 bytes per
/// `f32` entry, 24 per `f64` entry. At most 2^32 - 1 rows and columns.
///
/// A stored zero is an observation; entries that are not stored, or NaN, are missing.
///
/// ```
/// use karhunen::{Dense, Observed};
/// let x = [1.0, f64::NAN, 0.0, 4.0];
/// let observed = Observed::from_dense(&Dense::row_major(&x, 2, 2)?)?;
/// assert_eq!((observed.n_observed(), observed.n_samples()), (3, 2));
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Observed<T> {
    rows: EntryLines<T>,
    columns: EntryLines<T>,
    /// Multiplicity of each row; `None` if all are one.
    multiplicity: Option<Arc<[f64]>>,
    /// Weight of each column; `None` if all are one.
    feature_weights: Option<Arc<[f64]>>,
}

impl<T: Scalar> Observed<T> {
    /// Number of rows.
    pub fn n_samples(&self) -> usize {
        self.rows.n_lines()
    }

    /// Number of columns.
    pub fn n_features(&self) -> usize {
        self.columns.n_lines()
    }

    /// The same entries by rows and by columns, without weights of rows or columns.
    fn of_lines(rows: EntryLines<T>, columns: EntryLines<T>) -> Self {
        Self { rows, columns, multiplicity: None, feature_weights: None }
    }

    /// No rows of `n_features` columns.
    pub(crate) fn none(n_features: usize) -> Self {
        let lines = |n: usize| EntryLines::new(vec![0; n + 1], Vec::new(), Vec::new(), None);
        Self::of_lines(lines(0), lines(n_features))
    }

    /// Returns a copy of the entries in double precision.
    pub(crate) fn widened(&self) -> Observed<f64> {
        Observed {
            rows: self.rows.widened(),
            columns: self.columns.widened(),
            multiplicity: self.multiplicity.clone(),
            feature_weights: self.feature_weights.clone(),
        }
    }

    /// (n_samples, n_features).
    pub fn shape(&self) -> (usize, usize) {
        (self.n_samples(), self.n_features())
    }

    /// Number of observed entries.
    pub fn n_observed(&self) -> usize {
        self.rows.n_entries()
    }

    /// False for tables so large that their rows follow a fit little, and to look at each takes long.
    pub(crate) fn has_few_rows(&self) -> bool {
        self.n_samples() < MANY_ROWS || self.n_observed() < MANY_ENTRIES
    }

    /// Number of entries observed in a row.
    ///
    /// # Panics
    /// If `row >= n_samples`.
    pub fn n_observed_in_row(&self, row: usize) -> usize {
        self.rows.count(row)
    }

    /// Number of entries observed in a column.
    ///
    /// # Panics
    /// If `column >= n_features`.
    pub fn n_observed_in_column(&self, column: usize) -> usize {
        self.columns.count(column)
    }

    /// The observed columns of a row, increasing, and their values.
    ///
    /// # Panics
    /// If `row >= n_samples`.
    pub fn row(&self, row: usize) -> (&[u32], &[T]) {
        let line = self.rows.line(row);
        (line.indices, line.values)
    }

    /// The rows in which a column was observed, increasing, and their values.
    ///
    /// # Panics
    /// If `column >= n_features`.
    pub fn column(&self, column: usize) -> (&[u32], &[T]) {
        let line = self.columns.line(column);
        (line.indices, line.values)
    }

    /// The weights of the entries of a row, in storage order; `None` if all are one.
    ///
    /// # Panics
    /// If `row >= n_samples`.
    pub fn row_weights(&self, row: usize) -> Option<&[T]> {
        self.rows.line(row).weights
    }

    /// Returns true if entries have weights.
    pub fn is_weighted(&self) -> bool {
        self.rows.is_weighted()
    }

    /// Bytes of the entries.
    pub(crate) fn bytes(&self) -> f64 {
        let values = if self.is_weighted() { 2 } else { 1 } * size_of::<T>();
        bytes_of(self.n_observed(), self.shape(), values)
    }

    /// The entries by rows.
    pub(crate) fn rows(&self) -> &EntryLines<T> {
        &self.rows
    }

    /// The entries by columns.
    pub(crate) fn columns(&self) -> &EntryLines<T> {
        &self.columns
    }
}

/// Observed entries whose element type is known.
pub(crate) enum Typed<'a> {
    F32(&'a Observed<f32>),
    F64(&'a Observed<f64>),
}

impl<T: Scalar> Observed<T> {
    /// Casts to the concrete element type, which SIMD code requires.
    pub(crate) fn typed(&self) -> Typed<'_> {
        let any: &dyn Any = self;
        match (any.downcast_ref(), any.downcast_ref()) {
            (Some(x), _) => Typed::F32(x),
            (_, Some(x)) => Typed::F64(x),
            // `Scalar` is sealed: there is no third type.
            (None, None) => unreachable!("an element type that is neither f32 nor f64"),
        }
    }
}

/// Bytes of `n_entries` entries stored by rows and by columns, with `values` bytes for the numbers of each.
pub(crate) fn bytes_of(n_entries: usize, (n_samples, n_features): (usize, usize), values: usize) -> f64 {
    let pointers = size_of::<usize>() as f64 * (n_samples as f64 + n_features as f64);
    2.0 * n_entries as f64 * (size_of::<u32>() + values) as f64 + pointers
}

/// Refuses shapes whose indices do not fit in 32 bits, and shapes whose pointers and per-line results do not fit
/// in memory.
fn check_shape(n_samples: usize, n_features: usize) -> Result<()> {
    const NUMBERS: f64 = 5.0;
    if n_samples > u32::MAX as usize || n_features > u32::MAX as usize {
        return Err(Error::TooLarge { n_samples, n_features });
    }
    let what = format!("indexing the entries of {n_samples} rows and {n_features} columns");
    memory::ask(&what, 8.0 * NUMBERS * (n_samples as f64 + n_features as f64), || {
        vec!["check the shape".into(), "leave out rows and columns without entries".into()]
    })
}
