//! The components that a reconstruction uses.

use std::borrow::Cow;

use karhunen::{Matrix, Scalar};

use crate::args::values::ComponentList;
use crate::error::{Failure, Result};

/// The components that are left out, from 0.
pub(crate) struct Chosen {
    left_out: Vec<usize>,
}

impl Chosen {
    /// All of `n_components`, or the components of `--only`.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a component that the model lacks.
    pub(crate) fn of(only: Option<&ComponentList>, n_components: usize) -> Result<Self> {
        let Some(ComponentList(only)) = only else { return Ok(Self { left_out: Vec::new() }) };
        if let Some(absent) = only.iter().find(|c| **c > n_components) {
            return Err(Failure::Usage(format!("--only {absent}: the model has {n_components} components")));
        }
        Ok(Self { left_out: (0..n_components).filter(|k| !only.contains(&(k + 1))).collect() })
    }

    /// Scores of shape (n_rows, n_components) with zeros for the components that are left out.
    pub(crate) fn of_scores<'m, T: Scalar>(&self, scores: &'m Matrix<T>) -> Cow<'m, Matrix<T>> {
        if self.left_out.is_empty() {
            return Cow::Borrowed(scores);
        }
        let mut scores = scores.clone();
        for i in 0..scores.n_rows() {
            let row = scores.row_mut(i);
            self.left_out.iter().for_each(|&k| row[k] = T::from_f64(0.0));
        }
        Cow::Owned(scores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_that_are_left_out_count_as_zero() {
        let scores = Matrix::from_vec(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let all = Chosen::of(None, 3).unwrap();
        assert!(matches!(all.of_scores(&scores), Cow::Borrowed(_)));
        let two = Chosen::of(Some(&ComponentList(vec![3, 1])), 3).unwrap();
        assert_eq!(two.of_scores(&scores).as_slice(), [1.0, 0.0, 3.0, 4.0, 0.0, 6.0]);
        assert!(Chosen::of(Some(&ComponentList(vec![4])), 3).is_err());
    }
}
