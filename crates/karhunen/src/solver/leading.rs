//! Leading eigenpairs of a symmetric matrix, explicit or matrix-free: a fixed number, or enough to reach a share
//! of the sum of all eigenvalues.

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::Matrix;
use crate::linalg::decomp::eigh::{Eigh, eigh};
use crate::linalg::decomp::orthonormal::polish;
use crate::linalg::decomp::tridiagonal::{LANES, Tridiagonal};
use crate::linalg::dense::residual::relative_residuals;
use crate::operator::SymOp;
use crate::solver::block_krylov::{BlockKrylov, Eigenpairs, KrylovOptions, Search, WIDE_BLOCK};
use crate::solver::spectrum::{IterationOptions, Spectrum, Wanted, count};
use crate::solver::spectrum_estimate;

/// Eigenpairs of a symmetric matrix, in descending order.
#[derive(Clone, Debug)]
pub(crate) struct Pairs {
    pub(crate) values: Vec<f64>,
    /// Orthonormal eigenvectors as columns.
    pub(crate) vectors: Matrix,
    /// `||A w - lambda w|| / lambda_1` of each pair.
    pub(crate) residuals: Vec<f64>,
    /// Number of products with the matrix.
    pub(crate) n_products: usize,
    /// All smaller eigenvalues, descending, if they are known.
    pub(crate) others: Option<Vec<f64>>,
}

/// Dimension up to which all eigenvectors cost as little as some.
const SMALL: usize = 48;
/// Dimension up to which a matrix is reduced to tridiagonal form at once: for most spectra that takes less time than an
/// iteration.
const REDUCED: usize = 600;
/// Number of eigenvalues equal to the one before, beyond which all eigenvectors take less time: eigenvectors of equal
/// eigenvalues are nearly dependent, and are orthonormalized in rounds.
const MOST_EQUAL: usize = 2 * LANES;
/// Tolerance for an explicit matrix as a fraction of the one requested: the extra accuracy costs next to nothing.
const FINER: f64 = 1e-3;
/// Tolerance as accurate as a full decomposition.
const EXACT: f64 = 1e-12;
/// Number of products after which the spectrum estimate gives the number of pairs to 10 or 20%.
pub(super) const ESTIMATE_STEPS: usize = 8;

/// Tests whether all eigenvectors of an explicit matrix are computed for `wanted` pairs (`None`: for a share).
pub(super) fn takes_all(dim: usize, wanted: Option<usize>) -> bool {
    dim <= SMALL || wanted.is_some_and(|k| 3 * k > dim)
}

/// Tests whether an iteration looks for `wanted` pairs of an explicit matrix.
pub(super) fn iterates(dim: usize, wanted: Option<usize>) -> bool {
    dim > REDUCED && wanted.is_none_or(|k| 20 * k <= dim)
}

/// Products after which an iteration on an explicit matrix stops: it has cost about as much as the reduction.
fn budget(dim: usize) -> usize {
    dim / 16 + 16
}

/// Leading eigenpairs of an explicit matrix. `tightened` as in [`leading`].
pub(crate) fn leading_of_matrix(
    a: &Matrix,
    wanted: Wanted,
    iteration: &IterationOptions<'_>,
    tightened: impl Fn(&[f64]) -> f64,
    exec: &Exec<'_>,
) -> Result<Pairs> {
    let dim = a.n_rows();
    let count_wanted = if let Wanted::Count(k) = wanted { Some(k) } else { None };
    if iterates(dim, count_wanted) {
        let tol = (FINER * iteration.tol).max(EXACT);
        let finer = IterationOptions {
            tol,
            max_iter: budget(dim),
            block_size: Some(16),
            reading: None,
            start: None,
            ..*iteration
        };
        let tightened = |values: &[f64]| tightened(values).clamp(EXACT, tol);
        let seek = Seek { n_steps: ESTIMATE_STEPS / 2, leave: &|k, _| Ok(!iterates(dim, Some(k))) };
        if let Sought::Found(pairs) = seek_leading(a, wanted, &finer, tightened, &seek, exec)? {
            let tol = tightened(&pairs.values);
            if pairs.residuals.iter().all(|&r| r <= tol) {
                return Ok(pairs);
            }
        }
    }
    let (mut pairs, _) = Reduced::of(a)?.leading(wanted, exec)?;
    pairs.values.iter_mut().chain(pairs.others.iter_mut().flatten()).for_each(|v| *v = v.max(0.0));
    Ok(pairs)
}

/// An explicit symmetric matrix and its tridiagonal form, from which some eigenvalues or all pairs are found.
pub(crate) struct Reduced<'a> {
    matrix: &'a Matrix,
    /// `None` for a matrix without a reduction: one row, or zeros.
    form: Option<Tridiagonal>,
}

impl<'a> Reduced<'a> {
    pub(crate) fn of(matrix: &'a Matrix) -> Result<Self> {
        Ok(Self { matrix, form: Tridiagonal::of(matrix)? })
    }

    /// All eigenvalues, descending.
    pub(crate) fn values(&self) -> Result<Vec<f64>> {
        match &self.form {
            Some(form) => Ok(values_of(form, 0)),
            None => Ok(eigh(self.matrix)?.values),
        }
    }

    /// Leading eigenpairs, and the smallest eigenvalue.
    pub(crate) fn leading(&self, wanted: Wanted, exec: &Exec<'_>) -> Result<(Pairs, f64)> {
        exec.report(0.0)?;
        let (a, dim) = (self.matrix, self.matrix.n_rows());
        if let Some(form) = &self.form
            && let Some(values) = few_values(form, wanted)
        {
            exec.report(0.5)?;
            let vectors = form.vectors(&values);
            // Residuals are relative to the largest value, which matrices without positive values do not have.
            if values.first().is_some_and(|v| *v > 0.0) && vectors.as_slice().iter().all(|x| x.is_finite()) {
                let vectors = polish(vectors, 0, &exec.part(0.5, 0.5))?;
                let k = values.len();
                let mut pairs = Pairs::of(a, values, vectors, &exec.part(0.5, 1.0))?;
                if pairs.residuals.iter().all(|&r| r <= EXACT) {
                    pairs.others = (dim <= REDUCED).then(|| values_of(form, k));
                    return Ok((pairs, form.values(dim - 1..dim)[0]));
                }
            }
        }
        let Eigh { mut values, vectors } = match &self.form {
            Some(form) => form.all()?,
            None => eigh(a)?,
        };
        let smallest = values.last().copied().unwrap_or(0.0);
        let others = values.split_off(count(&values, wanted).unwrap_or(dim));
        let vectors = vectors.columns(0..values.len());
        Ok((Pairs { others: Some(others), ..Pairs::of(a, values, vectors, exec)? }, smallest))
    }
}

/// The eigenvalues from number `first` on.
fn values_of(form: &Tridiagonal, first: usize) -> Vec<f64> {
    let dim = form.dim();
    (first..dim).step_by(LANES).flat_map(|first| form.values(first..dim.min(first + LANES))).collect()
}

/// The wanted eigenvalues if they are few; `None` if all eigenvectors cost no more.
fn few_values(matrix: &Tridiagonal, wanted: Wanted) -> Option<Vec<f64>> {
    let dim = matrix.dim();
    let mut values = Vec::new();
    loop {
        let least = if let Wanted::Count(k) = wanted { k } else { values.len() + 1 };
        if takes_all(dim, Some(least)) {
            return None;
        }
        values.extend(matrix.values(values.len()..dim.min(values.len() + LANES)));
        let level = f64::EPSILON * dim as f64 * values[0].abs();
        if values.windows(2).filter(|w| w[0] - w[1] <= level).count() > MOST_EQUAL {
            return None;
        }
        let enough = count(&values, wanted).filter(|&k| k >= least.min(dim));
        if let Some(k) = enough {
            values.truncate(k);
            return Some(values);
        }
    }
}

/// Wide blocks read the data fewer times but multiply more columns, which pays if many pairs are wanted.
fn wide_enough(wanted: Wanted) -> Option<usize> {
    matches!(wanted, Wanted::Count(k) if k >= 32).then_some(WIDE_BLOCK)
}

/// Outcome of a search for a share.
#[derive(Clone, Debug)]
pub(super) enum Sought<T> {
    /// The result of the search.
    Found(T),
    /// The share takes about `k` pairs, for which another route is better.
    Left { k: usize },
}

impl<T> Sought<T> {
    /// Applies `f` to the result of a search.
    pub(super) fn and_then<U>(self, f: impl FnOnce(T) -> Result<U>) -> Result<Sought<U>> {
        Ok(match self {
            Sought::Found(found) => Sought::Found(f(found)?),
            Sought::Left { k } => Sought::Left { k },
        })
    }
}

/// Decides from the number of pairs needed and the number searched for.
type Leave<'a> = dyn Fn(usize, Option<usize>) -> Result<bool> + 'a;

/// Parameters of [`seek_leading`].
pub(super) struct Seek<'a> {
    /// Number of products of the spectrum estimate.
    pub(super) n_steps: usize,
    /// Returns true to leave for another route when about so many pairs are needed. Called after the spectrum
    /// estimate, and whenever the search needs more pairs than the number searched for, which is then the second
    /// argument.
    pub(super) leave: &'a Leave<'a>,
}

impl Seek<'static> {
    /// Never leaves.
    pub(super) fn to_the_end() -> Self {
        Self { n_steps: ESTIMATE_STEPS, leave: &|_, _| Ok(false) }
    }
}

/// The wanted pairs of a matrix-free operator. `tightened` may lower the tolerance once the eigenvalues are known.
pub(crate) fn leading(
    op: &dyn SymOp,
    wanted: Wanted,
    iteration: &IterationOptions<'_>,
    tightened: impl Fn(&[f64]) -> f64,
    exec: &Exec<'_>,
) -> Result<Pairs> {
    match seek_leading(op, wanted, iteration, tightened, &Seek::to_the_end(), exec)? {
        Sought::Found(pairs) => Ok(pairs),
        Sought::Left { .. } => unreachable!("there is no other way to leave for"),
    }
}

fn krylov_options(iteration: &IterationOptions<'_>, wanted: Wanted) -> KrylovOptions {
    let reading = iteration.reading;
    KrylovOptions {
        tol: iteration.tol,
        max_iter: iteration.max_iter,
        block_size: iteration.block_size.or(reading.map(|b| b.width)).or(wide_enough(wanted)),
        max_basis: reading.and_then(|b| b.basis),
        check_every_product: reading.is_some(),
        seed: iteration.seed,
        start: iteration.start.cloned(),
    }
}

/// As [`leading`], but may leave for another route if a share takes many pairs.
pub(super) fn seek_leading(
    op: &dyn SymOp,
    wanted: Wanted,
    iteration: &IterationOptions<'_>,
    tightened: impl Fn(&[f64]) -> f64,
    seek: &Seek<'_>,
    exec: &Exec<'_>,
) -> Result<Sought<Pairs>> {
    let dim = op.dim();
    let mut krylov = BlockKrylov::new(op, krylov_options(iteration, wanted))?;
    let mut tol = iteration.tol;
    let mut k = match wanted {
        Wanted::Count(k) => k,
        Wanted::Share { sum, total } => {
            let nodes = krylov.estimate_spectrum(seek.n_steps, exec)?;
            let k = spectrum_estimate::count(&nodes, dim, sum, total);
            if (seek.leave)(k, None)? {
                return Ok(Sought::Left { k });
            }
            // A surplus costs little, a shortage a second search.
            (k + k / 10 + 2).min(dim)
        }
    };
    let mut exec = exec.part(0.0, 1.0);
    loop {
        let pairs = match krylov.leading(wanted, k, &exec)? {
            Search::Found(pairs) => pairs,
            Search::Short(more) => {
                if (seek.leave)(more, Some(k))? {
                    return Ok(Sought::Left { k: more });
                }
                k = more;
                continue;
            }
        };
        let Eigenpairs { values, vectors, residuals, n_iterations } = pairs;
        let smaller = tightened(&values);
        if smaller < tol {
            tol = smaller;
            krylov.tighten(tol);
            // The end has been reported, and little remains.
            exec = exec.part(1.0, 1.0);
            continue;
        }
        return Ok(Sought::Found(Pairs {
            values,
            vectors,
            residuals,
            n_products: n_iterations,
            others: None,
        }));
    }
}

impl Pairs {
    /// The pairs of eigenvalues and eigenvectors of an explicit matrix.
    fn of(a: &Matrix, values: Vec<f64>, vectors: Matrix, exec: &Exec<'_>) -> Result<Self> {
        let residuals = relative_residuals(&a.apply(&vectors, exec)?, &vectors, &values);
        Ok(Self { values, vectors, residuals, n_products: 1, others: None })
    }

    /// Takes the pairs as eigenpairs of `B'B`.
    pub(crate) fn into_spectrum(self, exec: &Exec<'_>) -> Result<Spectrum> {
        Ok(Spectrum {
            values: self.values,
            components: self.vectors.transposed_by(exec)?,
            residuals: self.residuals,
            others: self.others,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::scalar::largest;
    use crate::testing::test_matrices::identity_error;

    struct Counting {
        matrix: Matrix,
        n_products: AtomicUsize,
    }

    impl SymOp for Counting {
        fn dim(&self) -> usize {
            self.matrix.n_rows()
        }
        fn apply(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
            self.n_products.fetch_add(1, Ordering::Relaxed);
            self.matrix.apply(q, exec)
        }
    }

    fn harmonic(dim: usize) -> Matrix {
        Matrix::from_fn(dim, dim, |i, j| if i == j { 1.0 / (i + 1) as f64 } else { 0.0 })
    }

    /// Share of the sum of the first 400 terms of the harmonic series.
    fn wanted(share: f64) -> Wanted {
        let total: f64 = (1..=400).map(|j| 1.0 / f64::from(j)).sum();
        Wanted::Share { sum: share * total, total }
    }

    const ITERATION: IterationOptions<'_> = IterationOptions {
        tol: 1e-8,
        centring: 0.0,
        max_iter: 1000,
        block_size: None,
        reading: None,
        seed: 0,
        start: None,
    };

    #[test]
    fn a_search_ends_after_the_spectrum_estimate_if_a_share_takes_many_pairs() {
        let matrix = Counting { matrix: harmonic(400), n_products: AtomicUsize::new(0) };
        let exec = Exec::sequential();
        let seek = |share| {
            let leave = |k: usize, _: Option<usize>| Ok(k > 50);
            let seek = Seek { n_steps: ESTIMATE_STEPS, leave: &leave };
            seek_leading(&matrix, wanted(share), &ITERATION, |_| 1e-8, &seek, &exec).unwrap()
        };
        let Sought::Found(few) = seek(0.5) else { panic!("a dozen pairs are found") };
        assert_eq!(few.values.len(), 15);
        matrix.n_products.store(0, Ordering::Relaxed);
        let Sought::Left { k } = seek(0.9) else { panic!("two hundred pairs are too many") };
        assert!((150..300).contains(&k), "{k}");
        assert_eq!(matrix.n_products.into_inner(), ESTIMATE_STEPS);
    }

    #[test]
    fn every_way_to_the_eigenvectors_of_an_explicit_matrix_finds_the_same() {
        let exec = Exec::sequential();
        for (dim, share, by_iteration) in
            [(30, 0.4, false), (400, 0.4, false), (400, 0.95, false), (900, 0.4, true)]
        {
            let pairs =
                leading_of_matrix(&harmonic(dim), wanted(share), &ITERATION, |_| 1e-8, &exec).unwrap();
            assert_eq!(pairs.n_products > 1, by_iteration, "{dim} {share}");
            for (j, value) in pairs.values.iter().enumerate() {
                assert!((value - 1.0 / (j + 1) as f64).abs() < 1e-12, "{dim} {share} {j}: {value}");
                assert!((pairs.vectors[(j, j)].abs() - 1.0).abs() < 1e-8, "{dim} {share} {j}");
            }
            assert!(pairs.residuals.iter().all(|&r| r <= 1e-11));
            let enough = count(&pairs.values, wanted(share)).unwrap_or(dim);
            assert_eq!(enough, pairs.values.len(), "{dim} {share}");
        }
    }

    #[test]
    fn matrices_without_positive_values_and_clusters_are_decomposed() {
        let exec = Exec::sequential();
        for (what, of) in [
            ("negative", &(|i: usize| -1.0 - i as f64) as &dyn Fn(usize) -> f64),
            ("indefinite", &|i| if i == 0 { 1e-3 } else { -(i as f64) }),
            ("equal", &|_| 2.0),
            ("a rank", &|i| if i < 3 { 1.0 } else { 0.0 }),
        ] {
            let a = Matrix::from_fn(90, 90, |i, j| if i == j { of(i) } else { 0.0 });
            let (pairs, smallest) = Reduced::of(&a).unwrap().leading(Wanted::Count(25), &exec).unwrap();
            let mut expected: Vec<f64> = (0..90).map(of).collect();
            expected.sort_by(|a, b| b.total_cmp(a));
            let far = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-12;
            assert!(!pairs.values.iter().zip(&expected).any(far), "{what}: {:?}", pairs.values);
            assert!((smallest - expected[89]).abs() < 1e-12, "{what}: {smallest}");
            assert!(identity_error(&pairs.vectors) < 1e-12, "{what}");
            let product = a.apply(&pairs.vectors, &exec).unwrap();
            for k in 0..25 {
                let away = (0..90).map(|i| (product[(i, k)] - pairs.values[k] * pairs.vectors[(i, k)]).abs());
                assert!(largest(away) < 1e-11, "{what}: {k}");
            }
        }
    }

    #[test]
    fn few_values_end_where_all_eigenvectors_cost_no_more() {
        let reduced = Tridiagonal::of(&harmonic(200)).unwrap().unwrap();
        let few = |wanted| few_values(&reduced, wanted).map(|values| values.len());
        assert_eq!(few(Wanted::Count(66)), Some(66));
        assert_eq!(few(Wanted::Count(67)), None);
        let total: f64 = (1..=200).map(|j| 1.0 / f64::from(j)).sum();
        let of_first = |k: i32| (1..=k).map(|j| 1.0 / f64::from(j)).sum::<f64>();
        assert_eq!(few(Wanted::Share { sum: of_first(40) - 1e-9, total }), Some(40));
        assert_eq!(few(Wanted::Share { sum: of_first(40) + 1e-9, total }), Some(41));
        assert_eq!(few(Wanted::Share { sum: of_first(150), total }), None);
        let of_rank = Matrix::from_fn(400, 400, |i, j| if i == j && i < 5 { 1.0 + i as f64 } else { 0.0 });
        let reduced = Tridiagonal::of(&of_rank).unwrap().unwrap();
        let few = |k| few_values(&reduced, Wanted::Count(k)).map(|values| values.len());
        assert_eq!([few(60), few(100)], [Some(60), None]);
    }
}
