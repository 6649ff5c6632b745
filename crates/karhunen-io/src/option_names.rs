//! The options of reading that errors name.

use karhunen::error::{OptionName, OptionValue, Phrase, options};

/// Defines one constant per option, and the list of all.
macro_rules! option_names {
    ($($(#[$doc:meta])* $constant:ident = $field:literal),* $(,)?) => {
        $(
            $(#[$doc])*
            pub const $constant: OptionName = OptionName::new($field);
        )*
        /// All options of reading.
        pub const ALL: &[OptionName] = &[$($constant),*];
    };
}

option_names! {
    /// True if variants of a model may lack.
    ALLOW_UNMATCHED = "allow_unmatched",
    /// The array of an archive.
    ARRAY = "array",
    /// The columns that are features.
    COLUMNS = "columns",
    /// The mark of lines that are comments.
    COMMENT = "comment",
    /// The decimal sign.
    DECIMAL = "decimal",
    /// The delimiter of fields.
    DELIMITER = "delimiter",
    /// True if values are read as 64-bit numbers.
    DOUBLE = "double",
    /// A file of feature names.
    FEATURE_NAMES = "feature_names",
    /// True if the first line holds names.
    HEADER = "header",
    /// The label columns.
    LABELS = "labels",
    /// The layer of an AnnData.
    LAYER = "layer",
    /// The normalisation of counts.
    LOG1P = "log1p",
    /// The column of an AnnData that chooses columns.
    MASK = "mask",
    /// The most bytes that a compressed file may hold.
    MAX_UNPACKED = "max_unpacked",
    /// The words for missing values.
    NA = "na",
    /// The columns of pairs to predict.
    PAIRS = "pairs",
    /// The column of row names.
    ROW_NAMES = "row_names",
    /// A file of sample names.
    SAMPLE_NAMES = "sample_names",
    /// The lines to leave out.
    SKIP = "skip",
    /// The sign that groups the thousands.
    THOUSANDS = "thousands",
    /// True if rows and columns are swapped.
    TRANSPOSE = "transpose",
    /// The columns of triples.
    TRIPLES = "triples",
    /// The column of weights.
    WEIGHTS_COLUMN = "weights_column",
}

/// The option that averages entries of the same row and column.
pub(crate) fn average() -> Phrase {
    Phrase::default().setting(options::DUPLICATES, OptionValue::name("average"))
}
