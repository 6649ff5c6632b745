//! Updates of learned variances under their hyperprior (`docs/missing-values-variational.md`).

use crate::incomplete::updates::prepared::MeanSquares;

/// The inverse-gamma hyperprior of every learned variance: shape `b`, scale `b u`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hyperprior {
    /// `b`; zero for none.
    strength: f64,
    /// `u`, the mean squared deviation of an entry, for the noise times its weight: with it the hyperprior has no unit of its
    /// own.
    unit: f64,
}

impl Hyperprior {
    pub(crate) fn new(strength: f64, unit: f64) -> Self {
        Self { strength, unit }
    }

    /// The hyperprior of the noise of entries with these mean squares.
    pub(crate) fn of_noise(self, scale: MeanSquares) -> Self {
        Self { unit: scale.of_noise, ..self }
    }

    /// The variance with the lowest cost, given `count` values of the mean expected square `mean_square`:
    /// `(sum + 2 b u) / (count + 2 b)`.
    pub(crate) fn variance(self, mean_square: f64, count: f64) -> f64 {
        let share = 2.0 * self.strength / count;
        (mean_square + share * self.unit) / (1.0 + share)
    }

    /// Term of a learned variance in the cost, `b (ln (v / u) + u / v - 1)`: zero for `v = u`, and else positive.
    pub(crate) fn cost(self, variance: f64) -> f64 {
        let ratio = variance / self.unit;
        if self.strength > 0.0 { self.strength * (ratio.ln() + 1.0 / ratio - 1.0) } else { 0.0 }
    }

    /// Best mean square `t` of the factor whose prior variance is one, `n` values per component, if the mean square of
    /// the other factor, `p` values, is learned; `squares` is the sum of expected squares of the other at `t = 1`. It
    /// is one without a hyperprior, and else the positive root of
    /// `n b u t^2 + (n squares / 2 + (p - n) b u) t - (n / 2 + b) squares`.
    pub(crate) fn mean_square(self, (n, p): (f64, f64), squares: f64) -> f64 {
        let prior = self.strength * self.unit;
        if prior == 0.0 {
            return 1.0;
        }
        let (quadratic, linear) = (n * prior, 0.5 * n * squares + (p - n) * prior);
        let constant = (0.5 * n + self.strength) * squares;
        let root = (linear * linear + 4.0 * quadratic * constant).sqrt();
        let t = if linear >= 0.0 {
            2.0 * constant / (linear + root)
        } else {
            (root - linear) / (2.0 * quadratic)
        };
        if t > 0.0 && t.is_finite() { t } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_update_is_the_minimum_of_its_cost() {
        let (n, p, b, u) = (40.0, 7.0, 0.8, 2.5);
        let hyperprior = Hyperprior::new(b, u);
        // `count / 2 (ln v + mean / v)` and the hyperprior.
        let cost = |v: f64| 0.5 * p * (v.ln() + 0.3 / v) + hyperprior.cost(v);
        let v = hyperprior.variance(0.3, p);
        assert!((v - (p * 0.3 + 2.0 * b * u) / (p + 2.0 * b)).abs() < 1e-15);
        assert!(cost(v) < cost(v * 1.001) && cost(v) < cost(v / 1.001));
        // Both factors after a change of the scale, with the best variance of the second.
        for (n, p, squares) in [(n, p, 3.0), (p, n, 3.0), (n, p, 1e-3), (p, n, 1e4)] {
            let cost = |t: f64| {
                let v = hyperprior.variance(squares / t / p, p);
                let of_first = 0.5 * n * (t - t.ln());
                of_first + 0.5 * p * (v.ln() + t.ln() + squares / (t * p * v)) + hyperprior.cost(v)
            };
            let t = hyperprior.mean_square((n, p), squares);
            assert!(cost(t) < cost(t * 1.001) && cost(t) < cost(t / 1.001), "{n} {p} {squares}: {t}");
        }
        let none = Hyperprior::new(0.0, u);
        assert_eq!((none.variance(0.3, p), none.cost(0.3), none.mean_square((n, p), 3.0)), (0.3, 0.0, 1.0));
        assert_eq!(hyperprior.cost(u), 0.0);
    }
}
