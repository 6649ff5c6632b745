//! The comparison of numbers, by absolute values, and the comparison of components.

use std::fmt;

use crate::jacobi::{dot, svd};

/// The largest difference allowed: `multiple * epsilon * norm`.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// Number of rounding errors that may accumulate; the reason stands at each use.
    pub multiple: f64,
    /// Unit of rounding of the arithmetic under test.
    pub epsilon: f64,
    /// Scale that rounding errors are relative to, such as the largest variance.
    pub norm: f64,
}

impl Tolerance {
    /// The largest difference allowed.
    pub fn allowed(&self) -> f64 {
        self.multiple * self.epsilon * self.norm
    }
}

/// The largest difference found.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// Name of the quantity.
    pub what: String,
    /// Index of the entry that differs most, or of the component.
    pub index: usize,
    /// Value of the code under test (its length if lengths differ).
    pub found: f64,
    /// Expected value.
    pub expected: f64,
    /// The largest difference allowed.
    pub allowed: f64,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, index, found, expected, allowed } = self;
        let difference = (found - expected).abs();
        write!(
            f,
            "{what}[{index}]: found {found:e}, expected {expected:e}: {difference:.2e} apart, {allowed:.2e} allowed"
        )
    }
}

/// The largest absolute value: NaN if any value is NaN, zero if there are none.
///
/// Every comparison with NaN is false, so an assertion that a result is below a bound fails if any of the values
/// is NaN; `f64::max` would drop it.
pub fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0, |largest, value| {
        if largest.is_nan() || value.abs() <= largest { largest } else { value.abs() }
    })
}

/// The largest absolute difference of two lists of numbers. NaN if any difference is NaN, such as the difference of two
/// infinities.
///
/// # Panics
/// If the lengths differ.
#[track_caller]
pub fn largest_difference(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len(), "lists of different lengths were compared");
    largest(found.iter().zip(expected).map(|(found, expected)| found - expected))
}

/// Compares `found` with `expected` entry by entry. NaN and infinities equal nothing, including themselves.
///
/// # Errors
/// The entry that differs most, if by more than the tolerance or if the tolerance is not finite. If the lengths
/// differ, entry 0 holds the lengths.
pub fn check_close(
    what: &str,
    found: &[f64],
    expected: &[f64],
    tolerance: Tolerance,
) -> Result<(), Mismatch> {
    let allowed = tolerance.allowed();
    let mismatch =
        |index, found, expected| Mismatch { what: what.to_owned(), index, found, expected, allowed };
    if found.len() != expected.len() {
        return Err(mismatch(0, found.len() as f64, expected.len() as f64));
    }
    let difference = |i: usize| {
        let d = (found[i] - expected[i]).abs();
        if d.is_nan() { f64::INFINITY } else { d }
    };
    match (0..found.len()).max_by(|&a, &b| difference(a).total_cmp(&difference(b))) {
        Some(worst) if difference(worst) > allowed || !allowed.is_finite() => {
            Err(mismatch(worst, found[worst], expected[worst]))
        }
        _ => Ok(()),
    }
}

/// [`check_close`] for tests.
///
/// # Panics
/// With the entry that differs most.
#[track_caller]
pub fn assert_close(what: &str, found: &[f64], expected: &[f64], tolerance: Tolerance) {
    if let Err(mismatch) = check_close(what, found, expected, tolerance) {
        panic!("{mismatch}");
    }
}

/// The sine of the largest angle from the space of the orthonormal rows `a` to the space of the orthonormal rows `b`:
/// zero if `a` lies in `b`.
pub fn subspace_sine(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    let mut outside = a.to_vec();
    for row in &mut outside {
        let coordinates: Vec<f64> = b.iter().map(|y| dot(row, y)).collect();
        for (c, y) in coordinates.iter().zip(b) {
            row.iter_mut().zip(y).for_each(|(x, y)| *x -= c * y);
        }
    }
    svd(&outside).values[0]
}

/// Compares eigenvectors of a symmetric matrix known up to a perturbation of the size of the tolerance.
///
/// `expected` and `variances` are the complete decomposition, `found` its leading part. Eigenvectors whose
/// variances the perturbation could exchange are individually undetermined: they are compared as a subspace. The
/// angle of each subspace must be within the bound of Davis & Kahan (1970), perturbation divided by gap. Signs are
/// not compared.
///
/// # Errors
/// The first component of the first subspace at too large an angle, or of the first row that is not of unit
/// length.
pub fn check_components(
    found: &[Vec<f64>],
    expected: &[Vec<f64>],
    variances: &[f64],
    tolerance: Tolerance,
) -> Result<(), Mismatch> {
    let perturbation = tolerance.allowed();
    let fail = |what: &str, index, found, expected, allowed| {
        Err(Mismatch { what: what.to_owned(), index, found, expected, allowed })
    };
    if found.len() > expected.len() {
        return fail("number of components", 0, found.len() as f64, expected.len() as f64, 0.0);
    }
    // Orthogonalization in rounds leaves some tens of rounding errors.
    let orthonormal = 100.0 * tolerance.epsilon.min(1e-10) * (expected.len() as f64).sqrt().max(1.0);
    for (i, x) in found.iter().enumerate() {
        for (j, y) in found.iter().enumerate() {
            let product = dot(x, y);
            let wanted = f64::from(u8::from(i == j));
            if product.is_nan() || (product - wanted).abs() > orthonormal {
                return fail("product of components", i, product, wanted, orthonormal);
            }
        }
    }
    let mut start = 0;
    while start < found.len() {
        let mut end = start + 1;
        // A gap is wide enough if the perturbation rotates the subspaces by a small angle only.
        while end < expected.len() && variances[end - 1] - variances[end] <= 20.0 * perturbation {
            end += 1;
        }
        let above = if start == 0 { f64::INFINITY } else { variances[start - 1] - variances[start] };
        let below = if end == expected.len() { f64::INFINITY } else { variances[end - 1] - variances[end] };
        let cluster = &found[start..end.min(found.len())];
        let is_null_space = variances[start] <= 20.0 * perturbation;
        let sine = if is_null_space {
            // The subspace may exceed its known part: it must be orthogonal to all other known components.
            largest(cluster.iter().flat_map(|x| expected[..start].iter().map(|y| dot(x, y))))
        } else {
            subspace_sine(cluster, &expected[start..end])
        };
        // Below the last known eigenvalue the next one is at least zero, as in a null space.
        let gap = above.min(below).min(if is_null_space { f64::INFINITY } else { variances[end - 1] });
        let allowed = orthonormal + 2.0 * perturbation / gap;
        if sine.is_nan() || allowed.is_nan() || sine > allowed {
            return fail("sine of the angle of component", start, sine, 0.0, allowed);
        }
        start = end;
    }
    Ok(())
}

/// [`check_components`] for tests.
///
/// # Panics
/// With the first component at too large an angle.
#[track_caller]
pub fn assert_components(
    what: &str,
    found: &[Vec<f64>],
    expected: &[Vec<f64>],
    variances: &[f64],
    tolerance: Tolerance,
) {
    if let Err(mismatch) = check_components(found, expected, variances, tolerance) {
        panic!("{what}: {mismatch}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXACT: Tolerance = Tolerance { multiple: 4.0, epsilon: f64::EPSILON, norm: 1.0 };

    fn tilted(angle: f64) -> Vec<Vec<f64>> {
        vec![vec![angle.cos(), angle.sin(), 0.0], vec![-angle.sin(), angle.cos(), 0.0], vec![0.0, 0.0, 1.0]]
    }

    #[test]
    fn numbers_within_the_tolerance_pass() {
        assert_eq!(check_close("x", &[1.0, -2.0], &[1.0 + 8e-16, -2.0], EXACT), Ok(()));
        assert_eq!(check_close("x", &[], &[], EXACT), Ok(()));
    }

    #[test]
    fn numbers_beyond_the_tolerance_fail_for_either_sign() {
        for (found, expected) in [(1.0, 1.0 + 2e-15), (1.0 + 2e-15, 1.0), (-1.0, 1.0), (0.0, -1e-14)] {
            let mismatch = check_close("x", &[0.5, found], &[0.5, expected], EXACT).unwrap_err();
            assert_eq!((mismatch.index, mismatch.found, mismatch.expected), (1, found, expected));
        }
    }

    #[test]
    fn nan_and_different_lengths_fail() {
        assert!(check_close("x", &[f64::NAN], &[f64::NAN], EXACT).is_err());
        assert!(check_close("x", &[f64::INFINITY], &[1.0], EXACT).is_err());
        assert!(check_close("x", &[1.0], &[1.0], Tolerance { norm: f64::NAN, ..EXACT }).is_err());
        let mismatch = check_close("x", &[1.0, 2.0], &[1.0], EXACT).unwrap_err();
        assert_eq!((mismatch.found, mismatch.expected), (2.0, 1.0));
        assert_eq!(mismatch.to_string(), "x[0]: found 2e0, expected 1e0: 1.00e0 apart, 8.88e-16 allowed");
    }

    #[test]
    fn infinities_and_infinite_tolerances_fail() {
        let inf = f64::INFINITY;
        for (found, expected) in [(inf, inf), (-inf, inf), (1.0, -inf), (inf, f64::NAN)] {
            assert!(check_close("x", &[0.0, found], &[0.0, expected], EXACT).is_err(), "{found} {expected}");
        }
        assert!(check_close("x", &[inf], &[1.0], Tolerance { norm: inf, ..EXACT }).is_err());
        assert!(check_close("x", &[2.0], &[1.0], Tolerance { norm: inf, ..EXACT }).is_err());
    }

    #[test]
    fn the_largest_value_is_nan_if_any_value_is_nan() {
        let nan = f64::NAN;
        for values in [[nan, 1.0, 2.0], [1.0, nan, 2.0], [1.0, 2.0, nan], [nan; 3], [f64::INFINITY, nan, 1.0]]
        {
            assert!(largest(values).is_nan(), "{values:?}");
            assert!(largest_difference(&values, &[1.0, 2.0, 3.0]).is_nan(), "{values:?}");
            assert!(largest_difference(&[1.0, 2.0, 3.0], &values).is_nan(), "{values:?}");
        }
        assert_eq!(largest([1.0, -3.0, 2.0]), 3.0);
        assert_eq!(largest([1.0, f64::NEG_INFINITY]), f64::INFINITY);
        assert_eq!(largest([]), 0.0);
        assert_eq!(largest_difference(&[1.0, 5.0], &[2.0, 1.0]), 4.0);
        assert_eq!(largest_difference(&[f64::INFINITY], &[1.0]), f64::INFINITY);
        assert!(largest_difference(&[f64::INFINITY], &[f64::INFINITY]).is_nan());
    }

    #[test]
    #[should_panic(expected = "different lengths")]
    fn the_difference_of_lists_of_different_lengths_panics() {
        let _ = largest_difference(&[1.0], &[1.0, 2.0]);
    }

    #[test]
    #[should_panic(expected = "variance[0]: found 1e0, expected 2e0")]
    fn the_assertion_panics_with_the_mismatch() {
        assert_close("variance", &[1.0], &[2.0], EXACT);
    }

    #[test]
    fn angles_between_subspaces_are_measured() {
        let sine = subspace_sine(&tilted(1e-9)[..1], &tilted(0.0)[..1]);
        assert!((sine - 1e-9).abs() < 1e-24);
        assert!(subspace_sine(&tilted(0.7)[..2], &tilted(0.0)[..2]) < 1e-15);
        assert!((subspace_sine(&tilted(0.0)[2..], &tilted(0.0)[..2]) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn separate_components_are_compared_one_by_one_up_to_sign() {
        let mut flipped = tilted(0.0);
        flipped[1].iter_mut().for_each(|x| *x = -*x);
        let variances = [3.0, 2.0, 1.0];
        assert_eq!(check_components(&flipped, &tilted(0.0), &variances, EXACT), Ok(()));
        assert_eq!(check_components(&flipped[..1], &tilted(0.0), &variances, EXACT), Ok(()));
        let mismatch = check_components(&tilted(1e-12), &tilted(0.0), &variances, EXACT).unwrap_err();
        assert_eq!(mismatch.index, 0);
        let mismatch = check_components(&tilted(0.0)[1..], &tilted(0.0), &variances, EXACT).unwrap_err();
        assert_eq!((mismatch.index, mismatch.found), (0, 1.0));
    }

    #[test]
    fn repeated_variances_are_compared_as_a_subspace() {
        assert_eq!(check_components(&tilted(0.7), &tilted(0.0), &[2.0, 2.0, 1.0], EXACT), Ok(()));
        assert_eq!(check_components(&tilted(0.7)[..1], &tilted(0.0), &[2.0, 2.0, 1.0], EXACT), Ok(()));
        let mixed = check_components(&tilted(0.7), &tilted(0.0), &[2.0, 1.0, 1.0], EXACT);
        assert_eq!(mixed.unwrap_err().index, 0);
    }

    #[test]
    fn null_space_vectors_may_leave_their_known_part_but_not_overlap_the_rest() {
        let expected = &tilted(0.0)[..2];
        let outside = [tilted(0.0)[0].clone(), tilted(0.0)[2].clone()];
        assert_eq!(check_components(&outside, expected, &[1.0, 0.0], EXACT), Ok(()));
        let (c, s) = (0.1_f64.cos(), 0.1_f64.sin());
        let touching = [vec![0.0, 1.0, 0.0], vec![s, 0.0, c]];
        assert!(check_components(&touching, expected, &[1.0, 0.0], EXACT).is_err());
    }

    #[test]
    fn rows_that_are_not_orthonormal_fail() {
        let long = [vec![1.0 + 1e-12, 0.0, 0.0]];
        let mismatch = check_components(&long, &tilted(0.0), &[3.0, 2.0, 1.0], EXACT).unwrap_err();
        assert_eq!(mismatch.what, "product of components");
        let nan = [vec![f64::NAN, 0.0, 0.0]];
        assert!(check_components(&nan, &tilted(0.0), &[3.0, 2.0, 1.0], EXACT).is_err());
        let repeated = [tilted(0.0)[0].clone(), tilted(0.0)[0].clone()];
        assert_eq!(check_components(&repeated, &tilted(0.0), &[2.0, 2.0, 1.0], EXACT).unwrap_err().index, 0);
    }
}
