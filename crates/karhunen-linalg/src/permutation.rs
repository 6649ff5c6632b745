//! Columns in another order, given by the new place of each.

use crate::error::{Error, Result};

/// Checks that `places` is a permutation of `p` columns.
///
/// # Errors
/// [`Error::Shape`] unless `places` holds each column once.
pub fn check_places(places: &[usize], p: usize) -> Result<()> {
    let mut is_taken = vec![false; p];
    let new = |place: &&usize| is_taken.get_mut(**place).is_some_and(|taken| !std::mem::replace(taken, true));
    let found = places.iter().filter(new).count();
    if found == p && places.len() == p {
        return Ok(());
    }
    let what = "the new places of columns";
    Err(Error::Shape { what, axis: "different columns", found, expected: p })
}
