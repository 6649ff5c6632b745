//! The options of reading that errors name.

use karhunen::error::OptionName;

/// The label columns.
pub const LABELS: OptionName = OptionName::new("labels");
/// The columns of pairs to predict.
pub const PAIRS: OptionName = OptionName::new("pairs");
/// The column of row names.
pub const ROW_NAMES: OptionName = OptionName::new("row_names");
/// The columns of triples.
pub const TRIPLES: OptionName = OptionName::new("triples");
/// The column of weights.
pub const WEIGHTS_COLUMN: OptionName = OptionName::new("weights_column");
