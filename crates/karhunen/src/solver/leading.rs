//! The leading eigenpairs of a symmetric matrix: of one that is there, or of one that can only be applied; so many as
//! are wanted, or as many as a share of the sum of all eigenvalues takes.

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::Matrix;
use crate::linalg::decomp::eigh;
use crate::linalg::dense::residual::relative_residuals;
use crate::operator::SymOp;
use crate::solver::block_krylov::{BlockKrylov, Eigenpairs, KrylovOptions, Search};
use crate::solver::look;
use crate::solver::spectrum::{IterationOptions, Spectrum, Wanted, count};

/// Eigenpairs of a symmetric matrix, descending.
#[derive(Clone, Debug)]
pub(crate) struct Pairs {
    pub(crate) values: Vec<f64>,
    /// Columns, orthonormal.
    pub(crate) vectors: Matrix,
    /// `||A w - lambda w|| / lambda_1`.
    pub(crate) residuals: Vec<f64>,
    /// Products with the matrix.
    pub(crate) n_products: usize,
}

/// Below this dimension all eigenvectors cost as little as some.
const SMALL: usize = 192;
/// Residuals of an eigenproblem whose matrix is there, as a share of those asked for: it costs next to nothing.
const FINER: f64 = 1e-3;
/// As good as a full decomposition.
const EXACT: f64 = 1e-12;
/// Products after which a look at the spectrum tells the number of pairs to a tenth or two.
pub(super) const LOOK: usize = 8;

/// Whether all eigenvectors of a matrix that is there are computed where `wanted` are, or as many as a share takes.
pub(super) fn takes_all(dim: usize, wanted: Option<usize>) -> bool {
    dim <= SMALL || wanted.is_some_and(|k| 8 * k > dim)
}

/// Products after which an iteration has cost about half as much as all eigenvectors of a matrix that is there: it is given up.
fn budget(dim: usize) -> usize {
    dim / 8 + 16
}

/// Of a matrix that is there. `tightened` as in [`leading`].
pub(crate) fn leading_of_matrix(
    a: &Matrix,
    wanted: Wanted,
    iteration: &IterationOptions,
    tightened: impl Fn(&[f64]) -> f64,
    exec: &Exec<'_>,
) -> Result<Pairs> {
    let dim = a.n_rows();
    let count_wanted = if let Wanted::Count(k) = wanted { Some(k) } else { None };
    if !takes_all(dim, count_wanted) {
        let tol = (FINER * iteration.tol).max(EXACT);
        let finer =
            IterationOptions { tol, max_iter: budget(dim), block_size: Some(16), seed: iteration.seed };
        let tightened = |values: &[f64]| tightened(values).clamp(EXACT, tol);
        let seek = Seek { n_looks: LOOK / 2, leave: &|k, _| Ok(takes_all(dim, Some(k))) };
        if let Sought::Found(pairs) = seek_leading(a, wanted, &finer, tightened, &seek, exec)? {
            let tol = tightened(&pairs.values);
            if pairs.residuals.iter().all(|&r| r <= tol) {
                return Ok(pairs);
            }
        }
    }
    exec.report(0.0)?;
    let all = eigh::eigh(a)?;
    let k = count(&all.values, wanted).unwrap_or(dim);
    let values: Vec<f64> = all.values[..k].iter().map(|v| v.max(0.0)).collect();
    let vectors = all.vectors.columns(0..k);
    let residuals = relative_residuals(&a.apply(&vectors, exec)?, &vectors, &values);
    Ok(Pairs { values, vectors, residuals, n_products: 1 })
}

/// Wide blocks read the data fewer times, but multiply more columns: they pay where many pairs are wanted.
fn wide_enough(wanted: Wanted) -> Option<usize> {
    matches!(wanted, Wanted::Count(k) if k >= 32).then_some(16)
}

/// How a search for a share ended.
#[derive(Clone, Debug)]
pub(super) enum Sought<T> {
    /// With this.
    Found(T),
    /// It takes about `k` pairs, and another way is better for so many; `n_products` were made.
    Left { k: usize, n_products: usize },
}

impl<T> Sought<T> {
    /// The same with what `f` makes of what was found.
    pub(super) fn and_then<U>(self, f: impl FnOnce(T) -> Result<U>) -> Result<Sought<U>> {
        Ok(match self {
            Sought::Found(found) => Sought::Found(f(found)?),
            Sought::Left { k, n_products } => Sought::Left { k, n_products },
        })
    }
}

/// Of the number of pairs that are needed, and of those that were searched for.
type Leave<'a> = dyn Fn(usize, Option<usize>) -> Result<bool> + 'a;

/// What [`seek_leading`] goes by.
pub(super) struct Seek<'a> {
    /// Products that the look at the spectrum makes.
    pub(super) n_looks: usize,
    /// Whether to leave where about so many pairs are needed. Asked after the look, and whenever the search finds that more
    /// are needed than the number it has searched for, which is then the second argument.
    pub(super) leave: &'a Leave<'a>,
}

impl Seek<'static> {
    /// There is no other way.
    pub(super) fn to_the_end() -> Self {
        Self { n_looks: LOOK, leave: &|_, _| Ok(false) }
    }
}

/// So many pairs of a matrix that can be applied. `tightened` may ask for a smaller tolerance once the eigenvalues are known.
pub(crate) fn leading(
    op: &dyn SymOp,
    wanted: Wanted,
    iteration: &IterationOptions,
    tightened: impl Fn(&[f64]) -> f64,
    exec: &Exec<'_>,
) -> Result<Pairs> {
    match seek_leading(op, wanted, iteration, tightened, &Seek::to_the_end(), exec)? {
        Sought::Found(pairs) => Ok(pairs),
        Sought::Left { .. } => unreachable!("there is no other way to leave for"),
    }
}

/// The same, where there is another way that may be better for a share that takes many pairs.
pub(super) fn seek_leading(
    op: &dyn SymOp,
    wanted: Wanted,
    iteration: &IterationOptions,
    tightened: impl Fn(&[f64]) -> f64,
    seek: &Seek<'_>,
    exec: &Exec<'_>,
) -> Result<Sought<Pairs>> {
    let dim = op.dim();
    let mut krylov = BlockKrylov::new(
        op,
        KrylovOptions {
            tol: iteration.tol,
            max_iter: iteration.max_iter,
            block_size: iteration.block_size.or(wide_enough(wanted)),
            max_basis: None,
            seed: iteration.seed,
        },
    )?;
    let mut tol = iteration.tol;
    let mut k = match wanted {
        Wanted::Count(k) => k,
        Wanted::Share { sum, total } => {
            let nodes = krylov.look(seek.n_looks, exec)?;
            let k = look::count(&nodes, dim, sum, total);
            if (seek.leave)(k, None)? {
                return Ok(Sought::Left { k, n_products: krylov.n_iterations() });
            }
            // Too many cost little, too few a second search.
            (k + k / 10 + 2).min(dim)
        }
    };
    loop {
        let pairs = match krylov.leading(wanted, k, exec)? {
            Search::Found(pairs) => pairs,
            Search::Short(more) => {
                if (seek.leave)(more, Some(k))? {
                    return Ok(Sought::Left { k: more, n_products: krylov.n_iterations() });
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
            continue;
        }
        return Ok(Sought::Found(Pairs { values, vectors, residuals, n_products: n_iterations }));
    }
}

impl Pairs {
    /// The eigenpairs of `B'B` themselves.
    pub(crate) fn into_spectrum(self, exec: &Exec<'_>) -> Result<Spectrum> {
        Ok(Spectrum {
            values: self.values,
            components: self.vectors.transposed_by(exec)?,
            residuals: self.residuals,
            n_passes: self.n_products,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn harmonic(dim: usize) -> Matrix {
        Matrix::from_fn(dim, dim, |i, j| if i == j { 1.0 / (i + 1) as f64 } else { 0.0 })
    }

    /// The sum of what is wanted of the first 400 terms of the harmonic series.
    fn wanted(share: f64) -> Wanted {
        let total: f64 = (1..=400).map(|j| 1.0 / f64::from(j)).sum();
        Wanted::Share { sum: share * total, total }
    }

    const ITERATION: IterationOptions =
        IterationOptions { tol: 1e-8, max_iter: 1000, block_size: None, seed: 0 };

    #[test]
    fn a_search_is_left_after_the_look_where_a_share_takes_many() {
        let matrix = harmonic(400);
        let exec = Exec::sequential();
        let seek = |share| {
            let leave = |k: usize, _: Option<usize>| Ok(k > 50);
            let seek = Seek { n_looks: LOOK, leave: &leave };
            seek_leading(&matrix, wanted(share), &ITERATION, |_| 1e-8, &seek, &exec).unwrap()
        };
        let Sought::Found(few) = seek(0.5) else { panic!("a dozen pairs are found") };
        assert_eq!(few.values.len(), 15);
        let Sought::Left { k, n_products } = seek(0.9) else { panic!("two hundred pairs are too many") };
        assert!((150..300).contains(&k), "{k}");
        assert_eq!(n_products, LOOK);
    }

    #[test]
    fn a_matrix_that_is_there_gives_the_same_by_some_and_by_all_eigenvectors() {
        let exec = Exec::sequential();
        let of = |dim, share| leading_of_matrix(&harmonic(dim), share, &ITERATION, |_| 1e-8, &exec).unwrap();
        for (share, by_iteration) in [(0.4, true), (0.95, false)] {
            let pairs = of(400, wanted(share));
            assert_eq!(pairs.n_products > 1, by_iteration, "{share}");
            for (j, value) in pairs.values.iter().enumerate() {
                assert!((value - 1.0 / (j + 1) as f64).abs() < 1e-12, "{share} {j}: {value}");
            }
            assert!(pairs.residuals.iter().all(|&r| r <= 1e-11));
            assert!(count(&pairs.values, wanted(share)) == Some(pairs.values.len()));
        }
    }
}
