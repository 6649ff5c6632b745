//! States as named arrays of plain numbers, from which they come back with the same bits.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::incomplete::factors::Factor;
use crate::incomplete::problem::Diagonal;
use crate::linalg::Matrix;
use crate::scalar::Scalar;

/// Named arrays. Names of parts are joined by dots.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Arrays(pub(crate) BTreeMap<String, Vec<f64>>);

impl Arrays {
    pub(crate) fn put(&mut self, name: &str, values: impl Into<Vec<f64>>) {
        self.0.insert(name.to_owned(), values.into());
    }

    pub(crate) fn put_factor<T: Scalar>(&mut self, name: &str, factor: &Factor<T>) {
        self.put(name, factor.as_slice().iter().map(|x| x.to_f64()).collect::<Vec<f64>>());
    }

    /// Which kind of penalty, and its values.
    pub(crate) fn put_diagonal(&mut self, name: &str, diagonal: &Diagonal) {
        let (kind, values) = match diagonal {
            Diagonal::Same(d) => (0.0, std::slice::from_ref(d)),
            Diagonal::ByComponent(d) => (1.0, d.as_slice()),
            Diagonal::ByRow(d) => (2.0, d.as_slice()),
            Diagonal::Full(d) => (3.0, d.as_slice()),
        };
        self.put(name, [&[kind], values].concat());
    }

    /// Everything in `part`, whose names get a prefix.
    pub(crate) fn put_part(&mut self, prefix: &str, part: Self) {
        self.0.extend(part.0.into_iter().map(|(name, values)| (format!("{prefix}.{name}"), values)));
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn take(&mut self, name: &str) -> Result<Vec<f64>> {
        self.0.remove(name).ok_or_else(|| damaged(name, "is missing"))
    }

    /// As many values as the caller expects.
    pub(crate) fn take_array<const N: usize>(&mut self, name: &str) -> Result<[f64; N]> {
        <[f64; N]>::try_from(self.take(name)?).map_err(|_| damaged(name, "has another length"))
    }

    pub(crate) fn take_vec(&mut self, name: &str, len: usize) -> Result<Vec<f64>> {
        let values = self.take(name)?;
        if values.len() == len { Ok(values) } else { Err(damaged(name, "has another length")) }
    }

    pub(crate) fn take_matrix(&mut self, name: &str, n_rows: usize, n_cols: usize) -> Result<Matrix> {
        Matrix::from_vec(n_rows, n_cols, self.take_vec(name, n_rows * n_cols)?)
    }

    /// A factor with room for `n_values` in each row.
    pub(crate) fn take_factor<T: Scalar>(
        &mut self,
        name: &str,
        n_rows: usize,
        n_values: usize,
    ) -> Result<Factor<T>> {
        self.take_like(name, &Factor::zeros(n_rows, n_values))
    }

    /// A factor of the same shape, whose rows count as often.
    pub(crate) fn take_like<T: Scalar>(&mut self, name: &str, like: &Factor<T>) -> Result<Factor<T>> {
        let mut factor = like.zeros_like();
        let (n_rows, width) = (factor.n_rows(), factor.width());
        let values = self.take_vec(name, n_rows * width)?;
        for (to, from) in factor.as_mut_slice().iter_mut().zip(values) {
            *to = T::from_f64(from);
        }
        Ok(factor)
    }

    /// The penalties of a factor with `n_rows` rows of `c` components.
    pub(crate) fn take_diagonal(&mut self, name: &str, n_rows: usize, c: usize) -> Result<Diagonal> {
        let mut values = self.take(name)?;
        if values.is_empty() {
            return Err(damaged(name, "is empty"));
        }
        let kind = values.remove(0);
        match (kind, values.len()) {
            (0.0, 1) => Ok(Diagonal::Same(values[0])),
            (1.0, n) if n == c => Ok(Diagonal::ByComponent(values)),
            (2.0, n) if n == n_rows => Ok(Diagonal::ByRow(values)),
            (3.0, n) if n == n_rows * c => Ok(Diagonal::Full(values)),
            _ => Err(damaged(name, "has another length")),
        }
    }

    /// Everything that [`Arrays::put_part`] put.
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

/// A count that was stored among numbers.
pub(crate) fn count(name: &str, value: f64) -> Result<usize> {
    const MOST: f64 = 9_007_199_254_740_992.0;
    if value >= 0.0 && value.fract() == 0.0 && value <= MOST {
        Ok(value as usize)
    } else {
        Err(damaged(name, "holds no count"))
    }
}

/// A number that may be none.
pub(crate) fn optional(value: f64) -> Option<f64> {
    (!value.is_nan()).then_some(value)
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
        assert_eq!(message, "the checkpoint is damaged: `n` has another length; fit anew");
        assert!(arrays.take("m").unwrap_err().to_string().contains("`m` is missing"));
        assert!(arrays.take_diagonal("n", 3, 2).is_err());
        assert!(count("n", -1.0).is_err() && count("n", 0.5).is_err() && count("n", 7.0).unwrap() == 7);
    }
}
