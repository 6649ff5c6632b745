//! Validation of compressed arrays: pointers that increase, indices in range and in order.

use std::borrow::Cow;

use crate::Major;
use crate::error::{Error, Result};
use crate::sparse::view::{IndexInt, Indices};

/// Converts the pointers to `usize` and checks that they increase from zero to the number of entries.
///
/// # Errors
/// [`Error::SparsePointer`] names the first invalid pointer; [`Error::Shape`] for arrays of the wrong length.
pub fn check_pointers<'a, P: IndexInt>(
    n_major: usize,
    indptr: &'a [P],
    n_indices: usize,
    n_values: usize,
) -> Result<Cow<'a, [usize]>> {
    if indptr.len() != n_major + 1 {
        return Err(Error::Shape {
            what: "the sparse pointer array",
            axis: "values",
            found: indptr.len(),
            expected: n_major + 1,
        });
    }
    if n_indices != n_values {
        return Err(Error::Shape {
            what: "the sparse index array",
            axis: "values",
            found: n_indices,
            expected: n_values,
        });
    }
    let mut previous = 0;
    for (index, pointer) in indptr.iter().enumerate() {
        let value = pointer.widen();
        let rule = if index == 0 && value != 0 {
            "but the first must be 0"
        } else if value < previous {
            "smaller than the one before"
        } else if value > n_values as i128 {
            "past the last stored entry"
        } else {
            previous = value;
            continue;
        };
        return Err(Error::SparsePointer { index, value, rule });
    }
    if previous != n_values as i128 {
        let rule = "but the last must be the number of stored entries";
        return Err(Error::SparsePointer { index: n_major, value: previous, rule });
    }
    let native = size_of::<P>() == size_of::<usize>();
    Ok(match bytemuck::try_cast_slice::<P, usize>(indptr) {
        Ok(pointers) if native => Cow::Borrowed(pointers),
        _ => Cow::Owned(indptr.iter().map(|p| p.widen() as usize).collect()),
    })
}

/// Checks that indices are below `n_minor` and, if `ordered`, increase strictly within each line.
///
/// # Errors
/// [`Error::SparseIndex`] or [`Error::SparseOrder`] names the first invalid index.
pub fn check_indices<I: IndexInt>(
    major: Major,
    n_minor: usize,
    pointers: &[usize],
    indices: &[I],
    ordered: bool,
) -> Result<()> {
    let largest = (n_minor as u64).checked_sub(1).map(|last| last.min(I::LARGEST));
    let fine = match Indices::of(indices) {
        Indices::U32(indices) => is_fine(indices, largest, pointers, ordered),
        Indices::U64(indices) => is_fine(indices, largest, pointers, ordered),
    };
    if fine { Ok(()) } else { first_fault(major, n_minor, pointers, indices, ordered) }
}

/// Vectorized check: the largest index, and whether as many indices fail to increase as lines begin.
fn is_fine<U: Copy + Ord + Into<u64>>(
    indices: &[U],
    largest: Option<u64>,
    pointers: &[usize],
    ordered: bool,
) -> bool {
    let Some(&first) = indices.first() else { return true };
    let (most, n_descents) = pulp::Arch::new().dispatch(|| most_and_descents(indices, first));
    if largest.is_none_or(|largest| most.into() > largest) {
        return false;
    }
    // Empty lines begin where the next one does.
    let starts = pointers.windows(2).filter(|line| line[0] < line[1] && line[0] > 0);
    !ordered || n_descents == starts.filter(|line| indices[line[0]] <= indices[line[0] - 1]).count()
}

/// The largest index, and the number of indices no larger than the one before.
#[inline(always)]
fn most_and_descents<U: Copy + Ord>(indices: &[U], first: U) -> (U, usize) {
    /// Counts of a run fit the lanes of indices.
    const RUN: usize = 4096;
    let (mut most, mut n_descents) = (first, 0);
    for (before, after) in indices[..indices.len() - 1].chunks(RUN).zip(indices[1..].chunks(RUN)) {
        let mut descents = 0u32;
        for (before, after) in before.iter().zip(after) {
            most = most.max(*after);
            descents += u32::from(after <= before);
        }
        n_descents += descents as usize;
    }
    (most, n_descents)
}

/// Finds the first invalid index and returns its error.
fn first_fault<I: IndexInt>(
    major: Major,
    n_minor: usize,
    pointers: &[usize],
    indices: &[I],
    ordered: bool,
) -> Result<()> {
    let axis = if major == Major::Rows { "row" } else { "column" };
    for (line, window) in pointers.windows(2).enumerate() {
        let mut previous = -1;
        for index in &indices[window[0]..window[1]] {
            let index = index.widen();
            if index < 0 || index >= n_minor as i128 {
                return Err(Error::SparseIndex { axis, major: line, index, bound: n_minor });
            }
            if ordered && index <= previous {
                let (previous, next) = (previous as usize, index as usize);
                return Err(Error::SparseOrder { axis, major: line, previous, next });
            }
            previous = index;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn negative_indices_are_not_read_as_large_ones() {
        // As an unsigned number, -2^31 + 1 would be in range.
        let error =
            check_indices(Major::Rows, 3_000_000_000, &[0, 2], &[5i32, i32::MIN + 1], true).unwrap_err();
        assert_eq!(error.to_string(), "sparse row 0 holds the index -2147483647, outside 0..3000000000");
        assert!(check_indices(Major::Rows, 3_000_000_000, &[0, 1], &[2_147_483_649u32], true).is_ok());
        assert!(check_indices::<u64>(Major::Rows, 0, &[0, 0], &[], true).is_ok());
        assert!(check_indices(Major::Rows, 0, &[0, 1], &[0u64], true).is_err());
    }

    proptest! {
        #[test]
        fn the_vectorized_check_agrees_with_one_by_one_checks(
            lines in proptest::collection::vec(proptest::collection::btree_set(0u32..12, 0..5), 1..8),
            change in proptest::option::of((0usize..40, -2i64..14)),
            ordered: bool,
        ) {
            let mut indices: Vec<i64> = lines.iter().flatten().map(|&index| i64::from(index)).collect();
            let mut pointers = vec![0];
            lines.iter().for_each(|line| pointers.push(pointers[pointers.len() - 1] + line.len()));
            if let Some((at, value)) = change && at < indices.len() {
                indices[at] = value;
            }
            let quick = check_indices(Major::Rows, 12, &pointers, &indices, ordered).is_ok();
            prop_assert_eq!(quick, first_fault(Major::Rows, 12, &pointers, &indices, ordered).is_ok());
            let narrow: Vec<i32> = indices.iter().map(|&index| index as i32).collect();
            prop_assert_eq!(quick, check_indices(Major::Rows, 12, &pointers, &narrow, ordered).is_ok());
        }
    }
}
