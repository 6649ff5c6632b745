//! The options of reading that errors name.

use karhunen::error::{OptionName, OptionValue, Phrase, options};

/// True if variants of a model may lack.
pub const ALLOW_UNMATCHED: OptionName = OptionName::new("allow_unmatched");
/// The array of an archive.
pub const ARRAY: OptionName = OptionName::new("array");
/// The columns that are features.
pub const COLUMNS: OptionName = OptionName::new("columns");
/// The mark of lines that are comments.
pub const COMMENT: OptionName = OptionName::new("comment");
/// The decimal sign.
pub const DECIMAL: OptionName = OptionName::new("decimal");
/// The delimiter of fields.
pub const DELIMITER: OptionName = OptionName::new("delimiter");
/// True if values are read as 64-bit numbers.
pub const DOUBLE: OptionName = OptionName::new("double");
/// A file of feature names.
pub const FEATURE_NAMES: OptionName = OptionName::new("feature_names");
/// True if the first line holds names.
pub const HEADER: OptionName = OptionName::new("header");
/// The label columns.
pub const LABELS: OptionName = OptionName::new("labels");
/// The layer of an AnnData.
pub const LAYER: OptionName = OptionName::new("layer");
/// The normalisation of counts.
pub const LOG1P: OptionName = OptionName::new("log1p");
/// The column of an AnnData that chooses columns.
pub const MASK: OptionName = OptionName::new("mask");
/// The most bytes that a compressed file may hold.
pub const MAX_UNPACKED: OptionName = OptionName::new("max_unpacked");
/// The words for missing values.
pub const NA: OptionName = OptionName::new("na");
/// The columns of pairs to predict.
pub const PAIRS: OptionName = OptionName::new("pairs");
/// The column of row names.
pub const ROW_NAMES: OptionName = OptionName::new("row_names");
/// A file of sample names.
pub const SAMPLE_NAMES: OptionName = OptionName::new("sample_names");
/// The lines to leave out.
pub const SKIP: OptionName = OptionName::new("skip");
/// The sign that groups the thousands.
pub const THOUSANDS: OptionName = OptionName::new("thousands");
/// True if rows and columns are swapped.
pub const TRANSPOSE: OptionName = OptionName::new("transpose");
/// The columns of triples.
pub const TRIPLES: OptionName = OptionName::new("triples");
/// The column of weights.
pub const WEIGHTS_COLUMN: OptionName = OptionName::new("weights_column");

/// The option that averages entries of the same row and column.
pub(crate) fn average() -> Phrase {
    Phrase::default().setting(options::DUPLICATES, OptionValue::name("average"))
}
