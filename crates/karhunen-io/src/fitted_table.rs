//! The columns of the table that a model was fitted to.

use serde::{Deserialize, Serialize};

/// How the fitted file was read, so that later files are read in the same way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OfFile {
    /// Columns that are not features, by name, or by number from 1 without names: weights, labels, and what
    /// [`crate::ReadOptions::columns`] leaves out.
    pub set_aside: Vec<String>,
    /// The column that was chosen for row names by an option.
    pub id_column: Option<String>,
    /// Words and numbers that marked missing values, besides the usual ones.
    pub na: Vec<String>,
    /// True if the features were the rows of the file.
    pub transposed: bool,
}

/// The columns of a fitted table, as its model records them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FittedTable {
    /// One name for each feature, if the table had column names.
    pub feature_names: Option<Vec<String>>,
    /// Number of features.
    pub n_features: usize,
    /// How its file was read.
    pub of_file: OfFile,
    /// The sum of each row to which counts were normalised before the fit.
    pub log1p: Option<f64>,
    /// Names of the scores under the model, if the table may hold scores instead of rows.
    pub score_names: Vec<String>,
}

impl FittedTable {
    /// The indices of the excluded columns and of the one that names the rows, in a table without names that has
    /// as many columns as the fitted table.
    pub(crate) fn numbered(&self, n_columns: usize) -> Option<(Vec<usize>, Option<usize>)> {
        let place =
            |number: &String| number.parse::<usize>().ok()?.checked_sub(1).filter(|at| *at < n_columns);
        let set_aside: Option<Vec<usize>> = self.of_file.set_aside.iter().map(place).collect();
        let (set_aside, id) = (set_aside?, self.of_file.id_column.as_ref().and_then(place));
        let n_known = self.n_features + set_aside.len() + usize::from(id.is_some());
        // A further column may name the rows even though no option requested it.
        let fits = n_known == n_columns || (id.is_none() && n_known + 1 == n_columns);
        (self.feature_names.is_none() && fits).then_some((set_aside, id))
    }

    /// Tests whether all columns but the first are the scores under the model, and the first, neither a score nor a
    /// feature, names the rows. Earlier versions wrote `pc1`.
    pub(crate) fn are_names_and_scores(&self, names: &[String]) -> bool {
        let Some((first, rest)) = names.split_first() else { return false };
        let word = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_ascii_uppercase();
        let is_same = |(name, score): (&String, &String)| name.eq_ignore_ascii_case(score);
        !rest.is_empty()
            && rest.len() == self.score_names.len()
            && rest.iter().zip(&self.score_names).all(is_same)
            && self.score_names.iter().all(|score| word(first) != word(score))
            && !is_feature(first, Some(self))
    }
}

/// Returns true if the model has a feature of this name: the column then does not name rows.
pub(crate) fn is_feature(name: &str, fitted: Option<&FittedTable>) -> bool {
    let known = fitted.and_then(|fitted| fitted.feature_names.as_deref());
    known.is_some_and(|known| known.iter().any(|feature| feature == name))
}
