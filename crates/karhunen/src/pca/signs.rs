//! The sign convention of components.

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::Matrix;
use crate::scalar::largest_magnitude;

/// Entries within this relative distance count as equally large, so that rounding does not decide a sign.
const TIE: f64 = 1e-10;

/// Makes the entry of largest absolute value in each row of `components` positive, the first of them in a tie: the
/// rule of scikit-learn's `svd_flip` for components.
pub(crate) fn make_largest_positive(components: &mut Matrix, exec: &Exec<'_>) -> Result<()> {
    let p = components.n_cols();
    exec.fill(components.as_mut_slice(), p, |_, component| {
        if largest_is_negative(component) {
            component.iter_mut().for_each(|x| *x = -*x);
        }
        Ok(())
    })
}

/// Returns true if the entry of largest absolute value is negative, the first of them in a tie.
pub(crate) fn largest_is_negative(entries: &[f64]) -> bool {
    let largest = largest_magnitude(entries);
    let decisive = entries.iter().find(|x| x.abs() >= largest * (1.0 - TIE));
    decisive.is_some_and(|x| *x < 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_largest_entries_decides() {
        let rows = [[1.0, -2.0, 1.0], [0.5, -0.5, 0.1], [-0.5, 0.1, 0.5 + 1e-16]];
        let mut a = Matrix::from_vec(3, 3, rows.concat()).unwrap();
        make_largest_positive(&mut a, &Exec::sequential()).unwrap();
        assert_eq!(a.row(0), [-1.0, 2.0, -1.0]);
        assert_eq!(a.row(1), [0.5, -0.5, 0.1]);
        assert_eq!(a.row(2), [0.5, -0.1, -0.5 - 1e-16]);
    }
}
