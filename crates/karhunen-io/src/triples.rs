//! Tables of triples: in each line the id of a row, the id of a column, and a value.

use serde::{Deserialize, Serialize};

/// The columns of a table of triples, by name or, where there are no names, by number from one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TripleColumns {
    /// The ids of the rows: users.
    pub row: String,
    /// The ids of the columns: items.
    pub column: String,
    /// The values: ratings.
    pub value: String,
    /// The weights of the entries, inverse variances up to a factor, if there are any.
    pub weight: Option<String>,
}
