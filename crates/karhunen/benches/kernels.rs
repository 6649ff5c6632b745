//! Inner loops in isolation. IDs read `kernel/shape/columns/scalar/threads`; the sum of each result is checked to
//! be finite.
//!
//! Kernels are private to the library and should not become public for benchmarks: this file includes the
//! library's modules as its own, so that `crate::linalg` means the same here as there.
// Most items of these modules are not timed here.
#![allow(dead_code, unused_imports, unreachable_pub, unfulfilled_lint_expectations)]

#[path = "../src/affine.rs"]
mod affine;
#[path = "../src/choice.rs"]
mod choice;
#[path = "../src/error/mod.rs"]
mod error;
#[path = "../src/exec/mod.rs"]
mod exec;
#[path = "../src/growth.rs"]
mod growth;
#[path = "../src/linalg/mod.rs"]
mod linalg;
#[path = "../src/memory.rs"]
mod memory;
#[path = "../src/moments/mod.rs"]
mod moments;
#[path = "../src/operator/mod.rs"]
mod operator;
#[path = "../src/random.rs"]
mod random;
#[cfg(feature = "serde")]
#[path = "../src/record.rs"]
mod record;
#[path = "../src/scalar.rs"]
mod scalar;
#[path = "../src/scaling/mod.rs"]
mod scaling;
#[path = "../src/solver/mod.rs"]
mod solver;
#[path = "../src/source/mod.rs"]
mod source;
#[path = "../src/weights.rs"]
mod weights;

use criterion::{Criterion, criterion_group, criterion_main};
use karhunen_testkit::Columns;

use error::Result;
use exec::{Exec, Run};
use linalg::decomp::tsqr::Triangle;
use linalg::decomp::{eigh, orthonormal, svd};
use linalg::{ColumnMap, Dense, Major, Matrix, Sparse, SparseMatrix};
use moments::{Moments, Scatter};
use operator::{Standardized, SymOp, blocks};
use random::Purpose;
use scalar::Scalar;
use solver::{IterationOptions, Route, Wanted};
use source::{Block, Source};

/// Independent standard normal entries.
fn gaussian(n_rows: usize, n_cols: usize, seed: u64) -> Matrix {
    linalg::random::gaussian(n_rows, n_cols, Purpose::Probes.of(seed))
}

/// Times `work` with one thread and with two.
fn time(c: &mut Criterion, id: &str, work: impl Fn(&Exec<'_>) -> Result<Matrix> + Send + Sync) {
    for threads in [1, 2] {
        c.bench_function(&format!("{id}/{threads}"), |b| {
            Exec::run(&Run::threads(threads), |exec| {
                let sum: f64 = work(exec)?.as_slice().iter().sum();
                assert!(sum.is_finite(), "{id}");
                b.iter(|| work(exec));
                Ok(())
            })
            .expect("the benchmark's data fit");
        });
    }
}

/// Products, sums of squares and moments of one block.
fn block<T: Scalar>(c: &mut Criterion, kind: &str, x: &Block<'_, T>, source: &dyn Source<T>) {
    const COLUMNS: usize = 16;
    let (n, p) = source.shape();
    let (shift, factor) = (vec![0.1; p], vec![1.5; p]);
    let map = ColumnMap { shift: &shift, remainder: &[], factor: &factor };
    let (q, u) = (gaussian(p, COLUMNS, 1), gaussian(n, COLUMNS, 2));
    let id = |kernel: &str, columns: usize| format!("{kernel}/{kind}-{n}x{p}/{columns}/{}", T::NAME);
    time(c, &id("moments", 0), |exec| {
        let moments = Moments::within(source, None, exec)?;
        Matrix::from_vec(1, p, moments.sum_of_squares)
    });
    time(c, &id("project", COLUMNS), |exec| {
        let mut out = Matrix::zeros(n, COLUMNS);
        blocks::project(x, map, &q, exec, out.as_mut_slice())?;
        Ok(out)
    });
    time(c, &id("apply_t", COLUMNS), |exec| blocks::apply_t(source, map, &u, exec));
    time(c, &id("normal", COLUMNS), |exec| blocks::normal(source, map, None, &q, exec));
    time(c, &id("normal_t", COLUMNS), |exec| blocks::normal_t(x, map, &u, exec));
    if p <= n {
        time(c, &id("scatter", p), |exec| blocks::scatter(source, map, None, exec));
        // Moments and products in one visit, which should take no longer than both in two.
        time(c, &id("sums", p), |exec| Ok(Scatter::within(source, None, exec)?.matrix));
    } else {
        time(c, &id("gram", n), |exec| blocks::gram(x, map, None, exec));
    }
}

fn dense<T: Scalar>(c: &mut Criterion, n: usize, p: usize) {
    let values = gaussian(n, p, 3);
    let x = Matrix::from_fn(n, p, |i, j| T::from_f64(values[(i, j)]));
    let view = Dense::from(&x);
    block(c, "dense", &Block::Dense(view), &view);
}

fn sparse(c: &mut Criterion, n: usize, p: usize) {
    let arrays = karhunen_testkit::sparse(n, p, 0.01, Columns::Zipf, 2);
    let values: Vec<f32> = arrays.values.iter().map(|&v| v as f32).collect();
    let indices: Vec<u64> = arrays.indices.iter().map(|&i| i as u64).collect();
    let x = SparseMatrix::canonical(Major::Rows, n, p, &arrays.indptr, &indices, &values)
        .expect("the benchmark's matrix is well formed");
    block(c, "sparse", &Block::Sparse(x.view()), &x.view());
}

fn products(c: &mut Criterion) {
    dense::<f64>(c, 20_000, 200);
    dense::<f32>(c, 20_000, 200);
    dense::<f32>(c, 6_000, 2_000);
    dense::<f64>(c, 200, 20_000);
    sparse(c, 20_000, 1_000);
    sparse(c, 500, 20_000);
}

fn decompositions(c: &mut Criterion) {
    let tall = gaussian(20_000, 32, 4);
    time(c, "orthonormalize/20000x32/32/f64", |exec| {
        orthonormal::orthonormalize(tall.clone(), 0, exec).map(|found| found.q)
    });
    let rows = gaussian(4_000, 200, 5);
    time(c, "triangle/4000x200/200/f64", |_| {
        let mut triangle = Triangle::new(200);
        triangle.push(rows.as_slice());
        Ok(triangle.finish())
    });
    time(c, "svd/300x200/200/f64", |_| svd::svd(&rows.rows(0..300)).map(|found| found.v));
    let covariance = |p: usize| {
        let x = gaussian(2 * p, p, 6);
        let (shift, factor) = (vec![0.0; p], (0..p).map(|j| 1.0 / (j + 1) as f64).collect::<Vec<_>>());
        let map = ColumnMap { shift: &shift, remainder: &[], factor: &factor };
        blocks::scatter(&Dense::from(&x), map, None, &Exec::sequential())
            .expect("the benchmark's data are finite")
    };
    let (small, large) = (covariance(200), covariance(1_000));
    time(c, "eigh/200x200/200/f64", |_| eigh::eigh(&small).map(|found| found.vectors));
    let q = gaussian(1_000, 16, 7);
    time(c, "symmetric/1000x1000/16/f64", |exec| large.apply(&q, exec));
    let iteration =
        IterationOptions { tol: 1e-8, max_iter: 1000, block_size: None, reading: None, seed: 0, start: None };
    time(c, "leading/1000x1000/20/f64", |exec| {
        solver::solve_matrix(&large, Wanted::Count(20), &iteration, exec).map(|found| found.components)
    });
    let x = gaussian(5_000, 400, 8);
    let factor: Vec<f64> = (0..400).map(|j| 1.0 / (j + 1) as f64).collect();
    let map = ColumnMap { shift: &[0.0; 400], remainder: &[], factor: &factor };
    let view = Dense::from(&x);
    let op = Standardized::new(&view, map, None);
    time(c, "block-krylov/5000x400/20/f64", |exec| {
        solver::solve(&op, Route::BlockKrylov, Wanted::Count(20), &iteration, exec)
            .map(|found| found.components)
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = products, decompositions
}
criterion_main!(benches);
