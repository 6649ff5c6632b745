//! Fit states as named arrays of `f64`, which restore the same bits.
//!
//! Every read checks the range of its numbers: checkpoint files may be damaged or edited, and no iteration may
//! start from an invalid state.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::incomplete::factors::Factor;
use crate::incomplete::factors::objective::Diagonal;
use crate::linalg::Matrix;
use crate::scalar::Scalar;

/// Named arrays. Dots join the names of nested parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Arrays(pub(crate) BTreeMap<String, Vec<f64>>);

impl Arrays {
    pub(crate) fn put(&mut self, name: &str, values: impl Into<Vec<f64>>) {
        self.0.insert(name.to_owned(), values.into());
    }

    pub(crate) fn put_factor<T: Scalar>(&mut self, name: &str, factor: &Factor<T>) {
        self.put(name, factor.as_slice().iter().map(|x| x.to_f64()).collect::<Vec<f64>>());
    }

    /// Stores the kind of penalty, then its values.
    pub(crate) fn put_diagonal(&mut self, name: &str, diagonal: &Diagonal) {
        let (kind, values) = match diagonal {
            Diagonal::Same(d) => (0.0, std::slice::from_ref(d)),
            Diagonal::ByComponent(d) => (1.0, d.as_slice()),
            Diagonal::ByRow(d) => (2.0, d.as_slice()),
            Diagonal::Full(d) => (3.0, d.as_slice()),
        };
        self.put(name, [&[kind], values].concat());
    }

    /// Stores all arrays of `part` under a prefix.
    pub(crate) fn put_part(&mut self, prefix: &str, part: Self) {
        self.0.extend(part.0.into_iter().map(|(name, values)| (format!("{prefix}.{name}"), values)));
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn take(&mut self, name: &str) -> Result<Vec<f64>> {
        self.0.remove(name).ok_or_else(|| damaged(name, "is missing"))
    }

    /// Takes `N` values without a check of their range.
    pub(crate) fn take_array<const N: usize>(&mut self, name: &str) -> Result<[f64; N]> {
        <[f64; N]>::try_from(self.take(name)?).map_err(|_| damaged(name, "has another length"))
    }

    /// Takes `len` finite numbers.
    pub(crate) fn take_vec(&mut self, name: &str, len: usize) -> Result<Vec<f64>> {
        let values = self.take(name)?;
        if values.len() != len {
            return Err(damaged(name, "has another length"));
        }
        values.iter().try_for_each(|x| finite(name, *x).map(|_| ()))?;
        Ok(values)
    }

    /// Takes `len` finite numbers, none negative: variances, weights, fractions.
    pub(crate) fn take_sizes(&mut self, name: &str, len: usize) -> Result<Vec<f64>> {
        let values = self.take_vec(name, len)?;
        values.iter().try_for_each(|x| size(name, *x).map(|_| ()))?;
        Ok(values)
    }

    pub(crate) fn take_matrix(&mut self, name: &str, n_rows: usize, n_cols: usize) -> Result<Matrix> {
        Matrix::from_vec(n_rows, n_cols, self.take_vec(name, n_rows * n_cols)?)
    }

    /// Takes a factor with at least `n_values` per row.
    pub(crate) fn take_factor<T: Scalar>(
        &mut self,
        name: &str,
        n_rows: usize,
        n_values: usize,
    ) -> Result<Factor<T>> {
        self.take_like(name, &Factor::zeros(n_rows, n_values))
    }

    /// Takes a factor with the shape and multiplicities of `like`.
    pub(crate) fn take_like<T: Scalar>(&mut self, name: &str, like: &Factor<T>) -> Result<Factor<T>> {
        let mut factor = like.zeros_like();
        let (n_rows, width) = (factor.n_rows(), factor.width());
        let values = self.take_vec(name, n_rows * width)?;
        for (to, from) in factor.as_mut_slice().iter_mut().zip(values) {
            *to = T::from_f64(from);
            finite(name, to.to_f64())?;
        }
        Ok(factor)
    }

    /// Takes the penalties of a factor of `n_rows` rows and `c` components.
    pub(crate) fn take_diagonal(&mut self, name: &str, n_rows: usize, c: usize) -> Result<Diagonal> {
        let mut values = self.take(name)?;
        if values.is_empty() {
            return Err(damaged(name, "is empty"));
        }
        let kind = values.remove(0);
        // Infinite where a variance has vanished.
        if values.iter().any(|x| x.is_nan() || *x < 0.0) {
            return Err(damaged(name, "holds a penalty that is negative or no number"));
        }
        match (kind, values.len()) {
            (0.0, 1) => Ok(Diagonal::Same(values[0])),
            (1.0, n) if n == c => Ok(Diagonal::ByComponent(values)),
            (2.0, n) if n == n_rows => Ok(Diagonal::ByRow(values)),
            (3.0, n) if n == n_rows * c => Ok(Diagonal::Full(values)),
            _ => Err(damaged(name, "has another length")),
        }
    }

    /// Takes all arrays under a prefix.
    pub(crate) fn take_part(&mut self, prefix: &str) -> Self {
        let start = format!("{prefix}.");
        let names: Vec<String> = self.0.keys().filter(|name| name.starts_with(&start)).cloned().collect();
        Self(
            names
                .into_iter()
                .filter_map(|name| {
                    self.0.remove(&name).map(|values| (name[start.len()..].to_owned(), values))
                })
                .collect(),
        )
    }
}

pub(crate) fn damaged(name: &str, problem: &'static str) -> Error {
    Error::CheckpointDamaged { name: name.to_owned(), problem }
}

/// Checks a count.
pub(crate) fn count(name: &str, value: f64) -> Result<usize> {
    const MOST: f64 = 9_007_199_254_740_992.0;
    if value >= 0.0 && value.fract() == 0.0 && value <= MOST {
        Ok(value as usize)
    } else {
        Err(damaged(name, "holds no count"))
    }
}

/// Checks a finite number.
pub(crate) fn finite(name: &str, value: f64) -> Result<f64> {
    if value.is_finite() { Ok(value) } else { Err(damaged(name, "holds a number that is not finite")) }
}

/// Checks a finite number that is not negative: a variance, an error, a sum of squares.
pub(crate) fn size(name: &str, value: f64) -> Result<f64> {
    if finite(name, value)? >= 0.0 { Ok(value) } else { Err(damaged(name, "holds a negative number")) }
}

/// Checks an optional finite number; NaN represents `None`.
pub(crate) fn optional(name: &str, value: f64) -> Result<Option<f64>> {
    if value.is_nan() { Ok(None) } else { finite(name, value).map(Some) }
}

/// Checks an optional finite number that is not negative; NaN represents `None`.
pub(crate) fn optional_size(name: &str, value: f64) -> Result<Option<f64>> {
    if value.is_nan() { Ok(None) } else { size(name, value).map(Some) }
}

/// Checks a flag, 0 or 1.
pub(crate) fn flag(name: &str, value: f64) -> Result<bool> {
    match value {
        0.0 => Ok(false),
        1.0 => Ok(true),
        _ => Err(damaged(name, "holds a number where 0 or 1 is expected")),
    }
}

/// Checks a running time, seconds.
pub(crate) fn seconds(name: &str, value: f64) -> Result<f64> {
    // About thirty thousand years: sums of several still fit a `Duration`.
    const MOST: f64 = 1e12;
    if (0.0..=MOST).contains(&value) { Ok(value) } else { Err(damaged(name, "holds no time")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_comes_back() {
        let mut factor: Factor<f32> = Factor::zeros(3, 2);
        factor.row_mut(1)[1] = 0.1;
        let diagonals =
            [Diagonal::Same(0.5), Diagonal::ByRow(vec![1.0, 2.0, 3.0]), Diagonal::Full(vec![0.1; 6])];
        let mut inner = Arrays::default();
        inner.put_factor("a", &factor);
        diagonals.iter().enumerate().for_each(|(i, d)| inner.put_diagonal(&format!("d{i}"), d));
        let mut outer = Arrays::default();
        outer.put("n", [3.0]);
        outer.put_part("inner", inner.clone());
        let mut again = outer.take_part("inner");
        assert_eq!(again, inner);
        assert_eq!(outer.take_array::<1>("n").unwrap(), [3.0]);
        assert_eq!(again.take_factor::<f32>("a", 3, 2).unwrap().as_slice(), factor.as_slice());
        for (i, d) in diagonals.iter().enumerate() {
            assert_eq!(&again.take_diagonal(&format!("d{i}"), 3, 2).unwrap(), d);
        }
    }

    #[test]
    fn damage_is_named() {
        let mut arrays = Arrays::default();
        arrays.put("n", [-1.0, 2.0]);
        let message = arrays.clone().take_array::<1>("n").unwrap_err().to_string();
        assert_eq!(message, "the checkpoint is damaged: `n` has another length; fit again");
        assert!(arrays.take("m").unwrap_err().to_string().contains("`m` is missing"));
        assert!(arrays.clone().take_diagonal("n", 3, 2).is_err());
        arrays.put("d", [0.0, f64::NAN]);
        assert!(arrays.clone().take_diagonal("d", 3, 2).is_err());
        let [nan, inf] = [f64::NAN, f64::INFINITY];
        assert!(arrays.clone().take_vec("d", 2).is_err() && arrays.clone().take_matrix("d", 1, 2).is_err());
        assert!(arrays.clone().take_vec("n", 2).is_ok() && arrays.clone().take_sizes("n", 2).is_err());
        let tall = [1e300; 48];
        arrays.put("f", tall);
        assert!(arrays.clone().take_factor::<f64>("f", 6, 2).is_ok());
        // Beyond the range of `f32`.
        arrays.put("f", [&tall[..], &tall].concat());
        assert!(arrays.clone().take_factor::<f32>("f", 6, 2).is_err());
        assert!([nan, inf, -inf].iter().all(|x| finite("n", *x).is_err() && size("n", *x).is_err()));
        assert!(size("n", -1e-300).is_err() && size("n", 0.0).is_ok());
        assert!(optional("n", inf).is_err() && optional("n", nan).unwrap().is_none());
        assert!(optional_size("n", -1.0).is_err() && optional_size("n", 2.0).unwrap() == Some(2.0));
        assert!(flag("n", 2.0).is_err() && flag("n", nan).is_err() && flag("n", 1.0).unwrap());
        assert!([nan, inf, -1.0, 1e13, 1e300].iter().all(|x| seconds("n", *x).is_err()));
        assert!(count("n", -1.0).is_err() && count("n", 0.5).is_err() && count("n", 7.0).unwrap() == 7);
    }
}
