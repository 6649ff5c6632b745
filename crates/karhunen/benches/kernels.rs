//! Products, squares, moments and decompositions in isolation; `elements.rs` holds loops over elements and tiles,
//! `entries.rs` passes over observed entries. IDs read `kernel/shape/columns/scalar/threads`; the sum of each result is
//! checked to be finite.
//!
//! Elements are multiply-adds, so that their number in a second compares with that of registers, which the example
//! `machine_limits` of `karhunen-io` measures: of products those of the stored entries, of squares those on and above
//! the diagonal, of a QR n m^2, of other decompositions p^3, of iterations those of one pass. Moments, packing and
//! decoding count the bytes that they read.
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
#[path = "../src/memory/mod.rs"]
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

use criterion::Throughput::{Bytes, Elements};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use karhunen_testkit::Columns;

use error::Result;
use exec::{Exec, Run};
use linalg::decomp::tsqr::Triangle;
use linalg::decomp::{eigh, orthonormal, svd};
use linalg::dense::pack::{Layout, Mapped};
use linalg::dense::panel::{Panel, add_product, add_t_product};
use linalg::dense::products::PackedRows;
use linalg::{ColumnMap, Dense, Major, Matrix, Sparse, SparseMatrix};
use moments::{Moments, Scatter};
use operator::{Copying, Rounding, Standardized, SymOp, blocks};
use random::Purpose;
use scalar::Scalar;
use solver::{IterationOptions, Route, Wanted};
use source::{Block, Source};

/// Independent standard normal entries.
fn gaussian(n_rows: usize, n_cols: usize, seed: u64) -> Matrix {
    linalg::random::gaussian(n_rows, n_cols, Purpose::Probes.of(seed))
}

/// Times `work` with one thread and with two.
fn time(
    c: &mut Criterion,
    id: &str,
    amount: Throughput,
    work: impl Fn(&Exec<'_>) -> Result<Matrix> + Send + Sync,
) {
    let mut group = c.benchmark_group(id);
    group.throughput(amount);
    for threads in [1, 2] {
        group.bench_function(threads.to_string(), |b| {
            Exec::run(&Run::threads(threads), |exec| {
                let sum: f64 = work(exec)?.as_slice().iter().sum();
                assert!(sum.is_finite(), "{id}");
                b.iter(|| work(exec));
                Ok(())
            })
            .expect("the benchmark's data fit");
        });
    }
    group.finish();
}

/// The number of multiply-adds on and above the diagonal of the squares of lines of these lengths.
fn squares(lengths: impl Iterator<Item = usize>) -> Throughput {
    Elements(lengths.map(|length| (length * (length + 1) / 2) as u64).sum())
}

/// Products, sums of squares and moments of one block; `squares` is the number of multiply-adds of those of the shorter
/// side.
fn block<T: Scalar>(
    c: &mut Criterion,
    kind: &str,
    x: &Block<'_, T>,
    source: &dyn Source<T>,
    squares: Throughput,
) {
    const COLUMNS: usize = 16;
    let (n, p) = source.shape();
    let (shift, factor) = (vec![0.1; p], vec![1.5; p]);
    let map = ColumnMap { shift: &shift, remainder: &[], factor: &factor };
    let (q, u) = (gaussian(p, COLUMNS, 1), gaussian(n, COLUMNS, 2));
    let id = |kernel: &str, columns: usize| format!("{kernel}/{kind}-{n}x{p}/{columns}/{}", T::NAME);
    let index = if source.is_sparse() { size_of::<u32>() } else { 0 };
    let bytes = Bytes((source.n_stored() * (size_of::<T>() + index)) as u64);
    let product = (source.n_stored() * COLUMNS) as u64;
    time(c, &id("moments", 0), bytes, |exec| {
        let moments = Moments::within(source, None, exec)?;
        Matrix::from_vec(1, p, moments.sum_of_squares)
    });
    time(c, &id("project", COLUMNS), Elements(product), |exec| {
        let mut out = Matrix::zeros(n, COLUMNS);
        blocks::project(x, map, &q, exec, out.as_mut_slice())?;
        Ok(out)
    });
    time(c, &id("apply_t", COLUMNS), Elements(product), |exec| blocks::apply_t(source, map, &u, exec));
    time(c, &id("normal", COLUMNS), Elements(2 * product), |exec| {
        blocks::normal(source, map, None, &q, exec)
    });
    time(c, &id("normal_t", COLUMNS), Elements(2 * product), |exec| blocks::normal_t(x, map, &u, exec));
    if let Block::Dense(rows) = x
        && let Ok(Some(packed)) = PackedRows::new(*rows, map, false, &Exec::sequential())
    {
        time(c, &id("normal_packed", COLUMNS), Elements(2 * product), |exec| {
            Ok(packed.normal(None, &q, exec)?.expect("so few vectors are multiplied by packed rows"))
        });
    }
    if p <= n {
        time(c, &id("scatter", p), squares.clone(), |exec| blocks::scatter(source, map, None, exec));
        // Moments and products in one visit, which should take no longer than both in two.
        time(c, &id("sums", p), squares, |exec| Ok(Scatter::within(source, None, exec)?.matrix));
    } else {
        time(c, &id("gram", n), squares, |exec| blocks::gram(x, map, None, exec));
    }
}

fn dense<T: Scalar>(c: &mut Criterion, n: usize, p: usize) {
    let values = gaussian(n, p, 3);
    let x = Matrix::from_fn(n, p, |i, j| T::from_f64(values[(i, j)]));
    let view = Dense::from(&x);
    block(c, "dense", &Block::Dense(view), &view, squares((0..n.max(p)).map(|_| n.min(p))));
}

fn sparse(c: &mut Criterion, n: usize, p: usize) {
    let arrays = karhunen_testkit::sparse(n, p, 0.01, Columns::Zipf, 2);
    let values: Vec<f32> = arrays.values.iter().map(|&v| v as f32).collect();
    let indices: Vec<u64> = arrays.indices.iter().map(|&i| i as u64).collect();
    let mut counts = vec![0; p];
    arrays.indices.iter().for_each(|&j| counts[j] += 1);
    let by_rows = arrays.indptr.windows(2).map(|ends| ends[1] - ends[0]);
    let multiply_adds = if p <= n { squares(by_rows) } else { squares(counts.into_iter()) };
    let x = SparseMatrix::canonical(Major::Rows, n, p, &arrays.indptr, &indices, &values)
        .expect("the benchmark's matrix is well formed");
    block(c, "sparse", &Block::Sparse(x.view()), &x.view(), multiply_adds);
}

fn products(c: &mut Criterion) {
    dense::<f64>(c, 20_000, 200);
    dense::<f32>(c, 20_000, 200);
    dense::<f32>(c, 6_000, 2_000);
    dense::<f64>(c, 200, 20_000);
    sparse(c, 20_000, 1_000);
    sparse(c, 500, 20_000);
}

/// Packs centred and scaled rows in strips of 32 columns, as the squares of dense rows do.
fn packed<T: Scalar>(c: &mut Criterion, n: usize, p: usize) {
    const WIDTH: usize = 32;
    let values = gaussian(n, p, 9);
    let x = Matrix::from_fn(n, p, |i, j| T::from_f64(values[(i, j)]));
    let (shift, factor) = (vec![0.1; p], vec![1.5; p]);
    let map = ColumnMap { shift: &shift, remainder: &[], factor: &factor };
    let rows = Mapped::new(Dense::from(&x), map, None);
    let mut group = c.benchmark_group(format!("pack/{n}x{p}/{WIDTH}/{}", T::NAME));
    group.throughput(Bytes((n * p * size_of::<T>()) as u64));
    group.bench_function("1", |b| {
        let mut strips = vec![0.0f64; n * p.next_multiple_of(WIDTH)];
        let layout = Layout { row_stride: WIDTH, strip_stride: n * WIDTH };
        b.iter(|| rows.pack::<f64, WIDTH>(0..n, &mut strips, layout));
        assert!(strips.iter().sum::<f64>().is_finite());
    });
    group.finish();
}

fn panels(c: &mut Criterion) {
    packed::<f64>(c, 256, 500);
    packed::<f32>(c, 256, 500);
    let (n, m, l) = (512, 64, 64);
    let (v, w, small) = (gaussian(n, m, 10), gaussian(n, l, 11), gaussian(m, l, 12));
    let panel = || Panel { data: v.as_slice(), stride: m, n_cols: m };
    let multiply_adds = Elements((n * m * l) as u64);
    time(c, &format!("panel-t/{n}x{m}/{l}/f64"), multiply_adds.clone(), |_| {
        let mut out = Matrix::zeros(m, l);
        add_t_product(panel(), w.as_slice(), l, out.as_mut_slice());
        Ok(out)
    });
    time(c, &format!("panel/{n}x{m}/{l}/f64"), multiply_adds, |_| {
        let mut out = Matrix::zeros(n, l);
        add_product(1.0, panel(), small.as_slice(), l, out.as_mut_slice());
        Ok(out)
    });
}

/// Decodes the rows of a rounded copy, and sums them.
fn rounded(c: &mut Criterion) {
    let (n, p) = (20_000, 200);
    let x = gaussian(n, p, 13);
    let view = Dense::from(&x);
    for (rounding, bytes) in [(Rounding::F16, 2), (Rounding::Int8, 1)] {
        let copying = Copying::new(&view as &dyn Source<f64>, Some(rounding));
        let copy = copying.rounded(&Exec::sequential()).expect("the benchmark's data are finite");
        let copy = copy.expect("a copy was asked for");
        time(c, &format!("decode-{rounding}/{n}x{p}/0/f64"), Bytes((n * p * bytes) as u64), |exec| {
            let mut last = Matrix::zeros(1, p);
            copy.codes::<f64>(exec).visit(&mut |_, block| {
                if let Block::Dense(rows) = block {
                    last = Matrix::from_fn(1, p, |_, j| rows.get(rows.n_rows() - 1, j));
                }
                Ok(())
            })?;
            Ok(last)
        });
    }
}

fn decompositions(c: &mut Criterion) {
    let cube = |p: u64| Elements(p * p * p);
    let tall = gaussian(20_000, 32, 4);
    time(c, "orthonormalize/20000x32/32/f64", Elements(20_000 * 32 * 32), |exec| {
        orthonormal::orthonormalize(tall.clone(), 0, exec).map(|found| found.q)
    });
    // The second and third have the sizes of small tables, whose fits consist of little else.
    for (n, m) in [(4_000, 200), (1_000, 20), (1_800, 64)] {
        let rows = gaussian(n, m, 5);
        time(c, &format!("triangle/{n}x{m}/{m}/f64"), Elements((n * m * m) as u64), |_| {
            let mut triangle = Triangle::new(m);
            triangle.push(rows.as_slice());
            Ok(triangle.finish())
        });
    }
    for (n, m) in [(300, 200), (20, 20), (64, 64)] {
        let rows = gaussian(n, m, 5);
        time(c, &format!("svd/{n}x{m}/{m}/f64"), Elements((n * m * m) as u64), |_| {
            svd::svd(&rows).map(|found| found.v)
        });
    }
    let covariance = |p: usize| {
        let x = gaussian(2 * p, p, 6);
        let (shift, factor) = (vec![0.0; p], (0..p).map(|j| 1.0 / (j + 1) as f64).collect::<Vec<_>>());
        let map = ColumnMap { shift: &shift, remainder: &[], factor: &factor };
        blocks::scatter(&Dense::from(&x), map, None, &Exec::sequential())
            .expect("the benchmark's data are finite")
    };
    let (small, large) = (covariance(200), covariance(1_000));
    time(c, "eigh/200x200/200/f64", cube(200), |_| eigh::eigh(&small).map(|found| found.vectors));
    let middle = covariance(500);
    time(c, "eigh-few/500x500/50/f64", cube(500), |exec| {
        solver::leading_by_reduction(&middle, Wanted::Count(50), exec).map(|(found, _)| found.vectors)
    });
    let q = gaussian(1_000, 16, 7);
    time(c, "symmetric/1000x1000/16/f64", Elements(1_000 * 1_000 * 16), |exec| large.apply(&q, exec));
    let iteration =
        IterationOptions { tol: 1e-8, max_iter: 1000, block_size: None, reading: None, seed: 0, start: None };
    time(c, "leading/1000x1000/20/f64", Elements(1_000 * 1_000 * 20), |exec| {
        solver::solve_matrix(&large, Wanted::Count(20), &iteration, exec).map(|found| found.components)
    });
    let x = gaussian(5_000, 400, 8);
    let factor: Vec<f64> = (0..400).map(|j| 1.0 / (j + 1) as f64).collect();
    let map = ColumnMap { shift: &[0.0; 400], remainder: &[], factor: &factor };
    let view = Dense::from(&x);
    let op = Standardized::new(&view, map, None);
    time(c, "block-krylov/5000x400/20/f64", Elements(2 * 5_000 * 400 * 20), |exec| {
        solver::solve(&op, Route::BlockKrylov, Wanted::Count(20), &iteration, exec)
            .map(|found| found.components)
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = products, panels, rounded, decompositions
}
criterion_main!(benches);
