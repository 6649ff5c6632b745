//! How to read a table: everything is detected, and everything detected can be overridden.

/// Options of [`crate::read`]. What a format has no use for is refused, not ignored.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Between the fields of a text table; detected among comma, semicolon, tab, bar and blanks if `None`.
    pub delimiter: Option<u8>,
    /// Whether a text table begins with names; detected if `None`.
    pub header: Option<bool>,
    /// The column that names the rows.
    pub id_column: IdColumn,
    /// Columns to set aside, by name or (counted from 1, where there are no names) by number.
    pub labels: Vec<String>,
    /// A column of weights to set aside as numbers, by name or (counted from 1, where there are no names) by number.
    pub weights_column: Option<String>,
    /// Whether a comma separates the decimals; detected if `None`.
    pub decimal_comma: Option<bool>,
    /// Swap rows and columns of a Matrix Market file or of an array (10x Genomics files hold genes in rows).
    pub transpose: bool,
    /// Which array of an NPZ archive to read; the only one if `None`.
    pub array: Option<String>,
    /// Threads for parsing; all if `None`.
    pub n_threads: Option<usize>,
}

/// Which column names the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IdColumn {
    /// The first column if it is text without repetition, none otherwise.
    #[default]
    Detect,
    /// No column.
    None,
    /// The column of this name, or (counted from 1) of this number.
    Named(String),
}
