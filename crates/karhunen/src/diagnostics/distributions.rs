//! Quantiles and tail probabilities of the distributions of test statistics.

use libm::erfc;
use statrs::function::beta::{beta_reg, ln_beta};
use statrs::function::erf::erfc_inv;
use statrs::function::gamma::{gamma_lr, gamma_ur, ln_gamma};

/// Newton steps that polish a quantile of the normal distribution.
const POLISH: usize = 4;
/// Most steps towards a root.
const MOST_STEPS: usize = 200;
/// Degrees of freedom beyond which the limits of F, chi-squared and beta have seven digits; logarithms of the gamma function
/// lose as many there, and series of their terms do not end.
const NEARLY_INFINITE: f64 = 1e8;

/// Quantile of the beta distribution with shapes `a` and `b`.
pub(super) fn beta_quantile(a: f64, b: f64, level: f64) -> f64 {
    if 2.0 * a.max(b) > NEARLY_INFINITE {
        let ratio = a / b * f_quantile(2.0 * a, 2.0 * b, level);
        return if ratio > 1.0 { 1.0 / (1.0 + 1.0 / ratio) } else { ratio / (1.0 + ratio) };
    }
    let density = |x: f64| ((a - 1.0) * x.ln() + (b - 1.0) * (-x).ln_1p() - ln_beta(a, b)).exp();
    root_within((0.0, 1.0), a / (a + b), |x| beta_reg(a, b, x) - level, density)
}

/// Quantile of the F distribution with `a` and `b` degrees of freedom.
pub(super) fn f_quantile(a: f64, b: f64, level: f64) -> f64 {
    match (a > NEARLY_INFINITE, b > NEARLY_INFINITE) {
        (false, false) => {}
        (false, true) => return chi2_quantile(a, level) / a,
        (true, false) => return b / chi2_quantile(b, 1.0 - level),
        // The logarithm is normal.
        (true, true) => return (normal_quantile(level) * (2.0 / a + 2.0 / b).sqrt()).exp(),
    }
    // The upper tail of one beta distribution is the lower tail of the other: no digits cancel in 1 - x.
    let rest = beta_quantile(b / 2.0, a / 2.0, 1.0 - level);
    b * (1.0 - rest) / (a * rest)
}

/// The number that |t| with `degrees` of freedom exceeds with probability one less `level`.
pub(crate) fn t_quantile(degrees: f64, level: f64) -> f64 {
    f_quantile(1.0, degrees, level).sqrt()
}

/// Quantile of t with `degrees` of freedom: it is smaller with probability `level`.
pub(super) fn t_lower_quantile(degrees: f64, level: f64) -> f64 {
    let (tail, sign) = if level < 0.5 { (level, -1.0) } else { (1.0 - level, 1.0) };
    if tail == 0.5 { 0.0 } else { sign * t_quantile(degrees, 1.0 - 2.0 * tail) }
}

/// Quantile of the chi-squared distribution with `degrees` of freedom, any positive number.
pub(super) fn chi2_quantile(degrees: f64, level: f64) -> f64 {
    // Wilson & Hilferty (1931) give the start.
    let spread = 2.0 / (9.0 * degrees);
    let start = degrees * (1.0 - spread + normal_quantile(level) * spread.sqrt()).max(1e-3).powi(3);
    if degrees > NEARLY_INFINITE {
        return start;
    }
    let a = degrees / 2.0;
    let density = |x: f64| 0.5 * ((a - 1.0) * (x / 2.0).ln() - x / 2.0 - ln_gamma(a)).exp();
    root_within((0.0, f64::INFINITY), start, |x| gamma_lr(a, x / 2.0) - level, density)
}

/// Quantile of the standard normal distribution.
pub(super) fn normal_quantile(level: f64) -> f64 {
    let tail = |x: f64| normal_lower(x) - level;
    let density = |x: f64| (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
    let start = -std::f64::consts::SQRT_2 * erfc_inv(2.0 * level);
    polished(start, |x| (tail(x), density(x)))
}

/// Probability that a standard normal variable is below `z`.
pub(super) fn normal_lower(z: f64) -> f64 {
    0.5 * erfc(-z / std::f64::consts::SQRT_2)
}

/// Probability that a variable of the beta distribution with shapes `a` and `b` exceeds `x`; NaN for NaN.
pub(super) fn beta_upper(x: f64, a: f64, b: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x <= 0.0 {
        1.0
    } else if x >= 1.0 {
        0.0
    } else if 2.0 * a.max(b) > NEARLY_INFINITE {
        f_upper(x / (1.0 - x) * (b / a), 2.0 * a, 2.0 * b)
    } else {
        beta_reg(b, a, 1.0 - x)
    }
}

/// Probability that chi-squared with `degrees` of freedom, any positive number, exceeds `x`; NaN for NaN.
pub(super) fn chi2_upper(x: f64, degrees: f64) -> f64 {
    if !x.is_finite() {
        return if x.is_nan() { x } else { 0.0 };
    }
    if x <= 0.0 {
        return 1.0;
    }
    if degrees > NEARLY_INFINITE {
        let spread = 2.0 / (9.0 * degrees);
        return normal_lower(-((x / degrees).cbrt() - 1.0 + spread) / spread.sqrt());
    }
    gamma_ur(degrees / 2.0, x / 2.0)
}

/// Probability that |t| with `degrees` of freedom exceeds `t`; NaN for NaN.
pub(super) fn t_two_sided(t: f64, degrees: f64) -> f64 {
    if !t.is_finite() {
        return if t.is_nan() { t } else { 0.0 };
    }
    if degrees > NEARLY_INFINITE {
        return normal_two_sided(t);
    }
    beta_reg(degrees / 2.0, 0.5, degrees / (degrees + t * t))
}

/// Probability that t with `degrees` of freedom exceeds `t`; NaN for NaN.
pub(super) fn t_upper(t: f64, degrees: f64) -> f64 {
    let half = 0.5 * t_two_sided(t, degrees);
    if t < 0.0 { 1.0 - half } else { half }
}

/// Probability that F with `a` and `b` degrees of freedom exceeds `f`; NaN for NaN.
pub(super) fn f_upper(f: f64, a: f64, b: f64) -> f64 {
    if !f.is_finite() {
        return if f.is_nan() { f } else { 0.0 };
    }
    if f <= 0.0 {
        return 1.0;
    }
    match (a > NEARLY_INFINITE, b > NEARLY_INFINITE) {
        (false, false) => {}
        (false, true) => return chi2_upper(a * f, a),
        (true, false) => return gamma_lr(b / 2.0, b / (2.0 * f)),
        (true, true) => return normal_lower(-f.ln() / (2.0 / a + 2.0 / b).sqrt()),
    }
    beta_reg(b / 2.0, a / 2.0, b / (b + a * f))
}

/// Probability that the absolute value of a standard normal variable exceeds `z`.
pub(super) fn normal_two_sided(z: f64) -> f64 {
    erfc(z.abs() / std::f64::consts::SQRT_2)
}

/// Newton steps from a start near the root.
fn polished(start: f64, f: impl Fn(f64) -> (f64, f64)) -> f64 {
    let mut x = start;
    for _ in 0..POLISH {
        let (value, slope) = f(x);
        let next = x - value / slope;
        if !next.is_finite() || next == x {
            break;
        }
        x = next;
    }
    x
}

/// The root of an increasing function within an open interval, by Newton steps that stay where the root is known to lie,
/// else by bisection.
pub(super) fn root_within(
    (mut low, mut high): (f64, f64),
    start: f64,
    f: impl Fn(f64) -> f64,
    slope: impl Fn(f64) -> f64,
) -> f64 {
    let mut x = start;
    for _ in 0..MOST_STEPS {
        let value = f(x);
        if value == 0.0 {
            break;
        }
        if value > 0.0 {
            high = x;
        } else {
            low = x;
        }
        let mut next = x - value / slope(x);
        if !(next > low && next < high) {
            next = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * x };
        }
        if (next - x).abs() <= 4.0 * f64::EPSILON * x {
            return next;
        }
        x = next;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of scipy 1.17 (`scipy.stats.f.ppf`, `chi2.ppf`, `beta.ppf`, `norm.ppf`,
    /// `t.ppf`, `t.sf`, `f.sf`).
    #[test]
    fn quantiles_and_tails_match_scipy() {
        let near = |x: f64, y: f64| assert!((x / y - 1.0).abs() < 1e-11, "{x} is not {y}");
        near(f_quantile(3.0, 47.0, 0.95), 2.802355176096171);
        near(f_quantile(2.0, 9.0, 0.99), 8.021517309932058);
        near(f_quantile(50.0, 100_000.0, 0.999), 1.733551345945909);
        near(chi2_quantile(0.7, 0.95), 3.0439167400767175);
        near(chi2_quantile(12.5, 0.99), 26.95503477168074);
        near(chi2_quantile(3000.0, 0.5), 2999.3333596771927);
        near(beta_quantile(1.5, 23.5, 0.95), 0.1517327338694055);
        near(normal_quantile(0.975), 1.959963984540054);
        near(normal_quantile(1e-6), -4.753424308822899);
        near(t_quantile(11.0, 0.95), 2.200985160091639);
        near(t_lower_quantile(11.0, 0.975), 2.200985160091639);
        near(t_lower_quantile(11.0, 0.025), -2.200985160091639);
        assert_eq!(t_lower_quantile(11.0, 0.5), 0.0);
        near(t_two_sided(2.5, 11.0), 0.029506374087364163);
        near(t_upper(2.5, 11.0), 0.014753187043682084);
        near(t_upper(-2.5, 11.0), 1.0 - 0.014753187043682084);
        near(t_two_sided(40.0, 30.0), 1.3726045194406417e-27);
        near(f_upper(4.2, 3.0, 20.0), 0.018557419834826203);
        near(normal_two_sided(1.96), 0.04999579029644087);
    }

    #[test]
    fn quantiles_of_extreme_shapes_are_found() {
        for n in [5.0, 1e3, 1e6, 1e8, 1e12] {
            for level in [1e-8, 0.5, 0.99, 1.0 - 1e-9] {
                let f = f_quantile(3.0, n, level);
                assert!(f.is_finite() && f > 0.0, "{n} {level}: {f}");
                assert!((f_upper(f, 3.0, n) / (1.0 - level) - 1.0).abs() < 1e-4, "{n} {level}: {f}");
                let x = beta_quantile(1.5, n / 2.0, level);
                assert!(x > 0.0 && x < 1.0, "{n} {level}: {x}");
            }
        }
        assert_eq!((f_upper(0.0, 2.0, 1e9), f_upper(0.0, 2.0, 9.0), t_two_sided(0.0, 1e9)), (1.0, 1.0, 1.0));
        // F of many degrees of freedom joins chi-squared without a step.
        let [below, above] =
            [0.999 * NEARLY_INFINITE, 1.001 * NEARLY_INFINITE].map(|n| f_quantile(5.0, n, 0.99));
        assert!((below / above - 1.0).abs() < 3e-6, "{below} {above}");
        // Each end in time, and the tail of a quantile is the rest of the level.
        for degrees in [1.1e8, 1e12, 1e20, 1e31, 1e100, 1e300] {
            for level in [0.05, 0.5, 0.99] {
                let near = |tail: f64| {
                    assert!((tail / (1.0 - level) - 1.0).abs() < 1e-4, "{degrees} {level}: {tail}");
                };
                near(f_upper(f_quantile(3.0, degrees, level), 3.0, degrees));
                near(f_upper(f_quantile(degrees, 3.0, level), degrees, 3.0));
                near(beta_upper(beta_quantile(3.0, degrees, level), 3.0, degrees));
                let (f, x) = (f_quantile(degrees, degrees, level), chi2_quantile(degrees, level));
                // Rounding of the quantile is beyond the spread of more degrees.
                if degrees < 1e15 {
                    near(f_upper(f, degrees, degrees));
                    near(chi2_upper(x, degrees));
                }
                let of_one = [f, x / degrees, 2.0 * beta_quantile(degrees, degrees, level)];
                assert!(of_one.iter().all(|x| (x - 1.0).abs() < 1e-3), "{degrees} {level}: {of_one:?}");
                assert!(beta_quantile(degrees, 3.0, level) > 0.999_999);
                let t = t_quantile(degrees, level);
                assert!(
                    (t / normal_quantile(0.5 + 0.5 * level) - 1.0).abs() < 1e-7,
                    "{degrees} {level}: {t}"
                );
            }
        }
        for degrees in [1e-3, 0.05, 1e5, 1e7] {
            let x = chi2_quantile(degrees, 0.99);
            assert!(x > 0.0 && (gamma_lr(degrees / 2.0, x / 2.0) - 0.99).abs() < 1e-9, "{degrees}: {x}");
        }
    }
}
