//! Files of weights and of names.

use std::path::Path;

use karhunen_io::{ReadOptions, read, read_weights};

use super::{Outcome, Verdict, accepted, hold};

pub(super) fn run(path: &Path) -> Verdict {
    // A table with three row names, which a file of names may match.
    let table = crate::corpus::home().join("corpus/list/three_rows.csv");
    let named = ReadOptions { sample_names: Some(path.to_owned()), ..ReadOptions::default() };
    match read(&table, &named) {
        Ok(table) => {
            let names = table.sample_names.unwrap_or_default();
            hold(names.len() == 3, || format!("{} names for 3 rows", names.len()))?;
        }
        Err(error) => super::check_error(&error.to_string())?,
    }
    let weights = accepted!(read_weights(path, None));
    hold(weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0), || {
        format!("weights that are none: {weights:?}")
    })?;
    match read_weights(path, Some(weights.len() + 1)) {
        Ok(_) => Err("one weight too few is taken".to_owned()),
        Err(error) => super::check_error(&error.to_string()).map(|()| Outcome::Accepted),
    }
}
