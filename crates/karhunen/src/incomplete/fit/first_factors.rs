//! Initial factors of a fit.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::Observed;
use crate::incomplete::factors::objective::{Diagonal, Objective};
use crate::incomplete::factors::{Factor, FactorSide, Factors, gram};
use crate::incomplete::methods::als::Als;
use crate::incomplete::methods::iterate::Iterate;
use crate::incomplete::start::Start;
use crate::incomplete::updates::offsets::begin_offsets;
use crate::linalg::Matrix;
use crate::linalg::decomp::eigh::{Eigh, eigh};
use crate::linalg::dense::small::multiply;
use crate::linalg::normals::gaussian;
use crate::linalg::simd::Lane;
use crate::random::Stream;
use crate::scalar::largest_magnitude;

/// The sweeps of alternating least squares after every random start. The ridge of the first is large, so that they are
/// steps of a power iteration, after which the loadings are orthogonalised: rows that random loadings hardly determine
/// would otherwise have huge scores, from which least squares may not return.
pub(crate) const SWEEPS: [StartSweep; 4] = {
    let power = StartSweep { ridge: 1.0, orthogonalize: true };
    let exact = StartSweep { ridge: 0.01, orthogonalize: false };
    [power, power, exact, exact]
};

/// The last two of [`SWEEPS`].
pub(crate) const EXACT: &[StartSweep] = SWEEPS.split_at(2).1;

/// A sweep after a random start.
#[derive(Clone, Copy)]
pub(crate) struct StartSweep {
    /// The ridge, as a fraction of the mean curvature of random factors.
    pub(crate) ridge: f64,
    /// True if the loadings are orthogonalised after the sweep.
    pub(crate) orthogonalize: bool,
}

/// Squared length of a combination of loadings, relative to random ones and to the longest, below which it is rounding error.
const ROUNDING: f64 = 1e-13;
/// Fraction of a random start that is added at each step of a path, because components of zero would stay zero.
const REVIVAL: f64 = 1e-2;
/// Least length of a direction of loadings before a sweep with a falling penalty, relative to the longest.
const SHORTEST: f64 = 1e-2;

/// Gaussian loadings whose deviation is the square root of the deviation of an entry, and zero scores and offsets:
/// random numbers per row would depend on multiplicities and the order of rows.
pub(crate) fn random<T: Lane>(
    data: &Observed<T>,
    (c, offsets): (usize, bool),
    mean: &[f64],
    deviation: f64,
    stream: Stream,
) -> Factors<T> {
    let (n, p) = data.shape();
    let mut loadings = gaussian(p, c, stream);
    loadings.as_mut_slice().iter_mut().for_each(|x| *x *= deviation.sqrt());
    let offsets = offsets.then(|| vec![0.0; n]);
    Factors::with_offsets(&loadings, &Matrix::zeros(n, c), mean, offsets.as_deref())
        .with_multiplicity(data.multiplicity())
}

/// Makes a few sweeps with a ridge, which reduce the dependence on the start. They first update the scores, so
/// initial scores do not matter; `deviation` refers to an entry. Returns the sum of squared residuals.
pub(crate) fn warm_up<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &mut Factors<T>,
    (sweeps, deviation): (&[StartSweep], f64),
    exec: &Exec<'_>,
) -> Result<f64> {
    let totals = (problem.data.total_samples(), problem.data.total_weight());
    let [of_scores, of_loadings] = curvatures(&factors.a, problem.free(), totals, deviation, exec)?;
    let (mut squares, n_sweeps) = (0.0, sweeps.len() as f64);
    for (sweep, StartSweep { ridge: size, orthogonalize: after }) in sweeps.iter().copied().enumerate() {
        let mut ridge = Objective {
            loadings: Diagonal::Same(size * of_loadings),
            scores: Diagonal::Same(size * of_scores),
            ..problem.clone()
        };
        let part = exec.part(sweep as f64 / n_sweeps, (sweep + 1) as f64 / n_sweeps);
        squares = Als.iterate(&mut ridge, factors, &part)?.squares;
        if after {
            orthogonalize(&mut factors.a, problem.free(), deviation, &part)?;
        }
    }
    Ok(squares)
}

/// Makes loadings as large as scores, on which sweeps with equal penalties depend.
pub(crate) fn balance<T: Lane>(factors: &mut Factors<T>, free: usize, exec: &Exec<'_>) -> Result<()> {
    let (a, s) = (trace(&gram(&factors.a, free, exec)?), trace(&gram(&factors.s, free, exec)?));
    stretch(factors, free, (s / a).powf(0.25), exec)
}

/// Lengthens the directions of the first `c` columns of loadings that penalties have shortened to less than [`SHORTEST`] of
/// the longest: shorter ones would be left to rounding errors, and would need many sweeps to return. The loadings are
/// rotated; the next sweep finds the scores.
pub(crate) fn lengthen<T: Lane>(loadings: &mut Factor<T>, c: usize, exec: &Exec<'_>) -> Result<()> {
    let Eigh { values, vectors } = eigh(&gram(loadings, c, exec)?)?;
    let least = SHORTEST * SHORTEST * largest_magnitude(&values);
    if values.iter().all(|value| *value >= least) {
        return Ok(());
    }
    rotate(loadings, c, |k, l| vectors[(l, k)], exec)?;
    // Rounding errors of the largest eigenvalues hide the smallest.
    let lengths = loadings.sum_rows(c, exec, |_, row, sums| {
        row.iter().zip(sums).for_each(|(x, sum)| *sum += x.to_f64() * x.to_f64());
    })?;
    let factor = |k: usize| if lengths[k] > 0.0 { (least / lengths[k]).max(1.0).sqrt() } else { 1.0 };
    let factors: Vec<f64> = (0..c).map(factor).collect();
    rotate(loadings, c, |k, l| if k == l { factors[k] } else { 0.0 }, exec)
}

/// Replaces the first `c` columns of loadings by their combinations: column k is the sum of column l times `map(k, l)`.
fn rotate<T: Lane>(
    loadings: &mut Factor<T>,
    c: usize,
    map: impl Fn(usize, usize) -> f64 + Sync,
    exec: &Exec<'_>,
) -> Result<()> {
    loadings.map_rows(exec, |_, row| {
        let old: Vec<f64> = row[..c].iter().map(|x| x.to_f64()).collect();
        for (k, x) in row[..c].iter_mut().enumerate() {
            *x = T::from_f64(old.iter().enumerate().map(|(l, x)| x * map(k, l)).sum());
        }
    })
}

fn trace(products: &Matrix) -> f64 {
    (0..products.n_rows()).map(|k| products[(k, k)]).sum()
}

/// Multiplies the loadings, unless they or the scores are zero.
fn stretch<T: Lane>(factors: &mut Factors<T>, free: usize, factor: f64, exec: &Exec<'_>) -> Result<()> {
    if !(factor > 0.0 && factor.is_finite()) {
        return Ok(());
    }
    factors.a.map_rows(exec, |_, row| {
        row[..free].iter_mut().for_each(|x| *x = T::from_f64(x.to_f64() * factor));
    })
}

/// Makes the first `c` columns of loadings orthogonal and as long as random ones, by the symmetric map `(A'A)^(-1/2)`: the
/// sweep before has shortened the directions along which the data vary little.
pub(crate) fn orthogonalize<T: Lane>(
    loadings: &mut Factor<T>,
    c: usize,
    deviation: f64,
    exec: &Exec<'_>,
) -> Result<()> {
    let products = loadings.sum_rows(c * c, exec, |_, row, sums| {
        for (x, sums) in row[..c].iter().zip(sums.chunks_exact_mut(c)) {
            row[..c].iter().zip(sums).for_each(|(y, sum)| *sum += x.to_f64() * y.to_f64());
        }
    })?;
    let Eigh { values, vectors, .. } = eigh(&Matrix::from_fn(c, c, |k, l| products[k * c + l]))?;
    let squared_length = loadings.n_rows() as f64 * deviation;
    let least = ROUNDING * squared_length + ROUNDING * largest_magnitude(&values);
    if least == 0.0 {
        return Ok(());
    }
    let stretch = |l: usize| (squared_length / (values[l].max(0.0) + least)).sqrt();
    let stretched = Matrix::from_fn(c, c, |k, l| vectors[(k, l)] * stretch(l));
    let map = multiply(&stretched, &vectors.transposed());
    rotate(loadings, c, |k, l| map[(k, l)], exec)
}

/// The mean curvatures of the sum of squares in a score and in a loading of random factors, of which the ridges of
/// [`SWEEPS`] are fractions. `weight` is the sum of the weights of all entries, `samples` the number of rows, with multiplicities.
pub(crate) fn curvatures<T: Lane>(
    loadings: &Factor<T>,
    c: usize,
    (samples, weight): (f64, f64),
    deviation: f64,
    exec: &Exec<'_>,
) -> Result<[f64; 2]> {
    let p = loadings.n_rows() as f64;
    let sum = |x: &[T], sums: &mut [f64]| {
        sums[0] += x[..c].iter().map(|x| x.to_f64() * x.to_f64()).sum::<f64>();
    };
    let of_random = loadings.sum_rows(1, exec, |_, x, s| sum(x, s))?[0] / (p * c as f64);
    // Expects scores of the size of the loadings, so that `deviation` is the square of that size.
    Ok([weight / samples * of_random, weight / p * deviation])
}

/// Moves the unit of the data, which random loadings and scores share, to one factor; otherwise the effect of the
/// other factor's prior would depend on the unit. `deviation` refers to an entry. Predictions do not change.
pub(crate) fn give_unit<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &mut Factors<T>,
    (side, deviation): (FactorSide, f64),
    exec: &Exec<'_>,
) -> Result<()> {
    let (free, root) = (problem.free(), deviation.max(f64::MIN_POSITIVE).sqrt());
    let scale_by = |factor: f64| move |x: &mut T| *x = T::from_f64(x.to_f64() * factor);
    let (of_loadings, of_scores) =
        if side == FactorSide::Loadings { (root, 1.0 / root) } else { (1.0 / root, root) };
    factors.a.map_rows(exec, |_, row| row[..free].iter_mut().for_each(scale_by(of_loadings)))?;
    factors.s.map_rows(exec, |_, row| row[..free].iter_mut().for_each(scale_by(of_scores)))
}

/// A given start, with the best offsets for it.
pub(crate) fn given<T: Lane>(
    problem: &Objective<'_, T>,
    start: &Start,
    mean: &[f64],
    exec: &Exec<'_>,
) -> Result<Factors<T>> {
    let zeros = problem.fixed().map(|_| vec![0.0; start.scores.n_rows()]);
    let mut factors = Factors::with_offsets(&start.loadings, &start.scores, mean, zeros.as_deref())
        .with_multiplicity(problem.data.multiplicity());
    begin_offsets(problem, &mut factors, exec)?;
    Ok(factors)
}

/// The factors of the last path step plus a fraction of a random start, for the first `c` components.
pub(crate) fn revived<T: Lane>(
    warm: &Factors<T>,
    random: &Factors<T>,
    c: usize,
    exec: &Exec<'_>,
) -> Result<Factors<T>> {
    let mut factors = warm.clone();
    for (factor, random) in [(&mut factors.a, &random.a), (&mut factors.s, &random.s)] {
        factor.map_rows(exec, |i, row| {
            for (x, random) in row[..c].iter_mut().zip(random.row(i)) {
                *x = T::from_f64(x.to_f64() + REVIVAL * random.to_f64());
            }
        })?;
    }
    Ok(factors)
}
