//! Weights that decay with age, and the pieces of rows in which they are summed.

use std::borrow::Cow;

use crate::error::{Error, Result, options};

/// Division of the rows of a stream into pieces, and decay of their weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cut {
    /// Number of rows of a piece of dense rows.
    pub(crate) piece_rows: usize,
    /// Weight of later rows after which the weight of a row has halved; `None` without decay.
    pub(crate) half_life: Option<f64>,
}

/// Weights of new rows, and the factor by which they reduce the weights of earlier rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Aged<'a> {
    /// The factor of all earlier weights.
    pub(crate) kept: f64,
    /// Weights of the new rows; all are one if `None`.
    pub(crate) weights: Option<Cow<'a, [f64]>>,
}

impl Cut {
    /// Returns the weights of `n_rows` consecutive rows after the last of them: row i has `w_i 2^(-later_i /
    /// half_life)`, with `later_i` the sum of the weights of the rows after row i. The result does not depend on
    /// the division of the rows into runs.
    pub(crate) fn aged<'a>(&self, weights: Option<&'a [f64]>, n_rows: usize) -> Aged<'a> {
        let Some(half_life) = self.half_life else {
            return Aged { kept: 1.0, weights: weights.map(Cow::Borrowed) };
        };
        let kept = |later: f64| (-later / half_life).exp2();
        let mut later = 0.0;
        let mut aged = vec![0.0; n_rows];
        for (i, aged) in aged.iter_mut().enumerate().rev() {
            let weight = weights.map_or(1.0, |w| w[i]);
            *aged = weight * kept(later);
            later += weight;
        }
        Aged { kept: kept(later), weights: Some(Cow::Owned(aged)) }
    }
}

/// Refuses a factor outside (0, 1].
pub(super) fn check_decay(factor: f64) -> Result<()> {
    if factor > 0.0 && factor <= 1.0 {
        return Ok(());
    }
    Err(Error::option(
        options::FORGET,
        factor,
        "old weights are multiplied by a factor above 0 and at most 1",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moments::Moments;

    #[test]
    fn weights_halve_with_every_half_life_of_later_weight() {
        let cut = Cut { piece_rows: 1, half_life: Some(2.0) };
        let Aged { kept, weights } = cut.aged(Some(&[1.0, 4.0, 2.0]), 3);
        assert_eq!((kept, weights.as_deref()), (2f64.powf(-3.5), Some(&[0.125, 2.0, 2.0][..])));
        assert_eq!(cut.aged(None, 1), Aged { kept: 0.5f64.sqrt(), weights: Some(Cow::Owned(vec![1.0])) });
        let none = Cut { half_life: None, ..cut };
        assert_eq!(none.aged(None, 3), Aged { kept: 1.0, weights: None });
    }

    #[test]
    fn only_factors_up_to_one_are_taken() {
        for factor in [0.0, -0.5, 1.5, f64::NAN] {
            assert!(matches!(Moments::empty(1).decay(factor), Err(Error::Option { .. })), "{factor}");
        }
    }

    #[test]
    fn moments_that_underflow_are_forgotten() {
        let mut moments = Moments { n_samples: 3, weight: 3.0, weight_squared: 3.0, ..Moments::empty(1) };
        moments.sum_of_squares[0] = 2.0;
        moments.decay(1e-100).unwrap();
        moments.decay(1e-100).unwrap();
        assert_eq!((moments.n_samples, moments.weight, moments.weight_squared), (3, 0.0, 0.0));
        assert_eq!((moments.sum_of_squares[0], moments.whole), (0.0, false));
    }
}
