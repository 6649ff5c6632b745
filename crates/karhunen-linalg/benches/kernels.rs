//! Products, squares and decompositions in isolation; `elements.rs` holds loops over elements and tiles. IDs read
//! `kernel/shape/columns/scalar/threads`; the sum of each result is checked to be finite.
//!
//! Elements are multiply-adds, so that their number in a second compares with the number of registers, which the
//! example `machine_limits` of `karhunen-io` measures. Products count the stored entries, squares the entries on and
//! above the diagonal, a QR n m^2 and other decompositions p^3. Packing counts the bytes that it reads.

use criterion::Throughput::{Bytes, Elements};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use karhunen_testkit::Columns;

use karhunen_linalg::decomp::tsqr::Triangle;
use karhunen_linalg::decomp::{eigh, orthonormal, svd};
use karhunen_linalg::dense::pack::{Layout, Mapped};
use karhunen_linalg::dense::panel::{Panel, add_product, add_t_product};
use karhunen_linalg::dense::products::{self as dense_products, PackedRows};
use karhunen_linalg::dense::rank_k;
use karhunen_linalg::dense::symmetric::symmetric_product;
use karhunen_linalg::exec::Exec;
use karhunen_linalg::random::Purpose;
use karhunen_linalg::sparse::products as sparse_products;
use karhunen_linalg::{ColumnMap, Dense, Major, Matrix, Result, Run, Scalar, SparseMatrix, normals};

/// Independent standard normal entries.
fn gaussian(n_rows: usize, n_cols: usize, seed: u64) -> Matrix {
    normals::gaussian(n_rows, n_cols, Purpose::Probes.of(seed))
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

/// Number of columns of the blocks that matrices are multiplied with.
const COLUMNS: usize = 16;

/// Centring and scaling of `p` columns.
fn shift_and_factor(p: usize) -> (Vec<f64>, Vec<f64>) {
    (vec![0.1; p], vec![1.5; p])
}

fn dense<T: Scalar>(c: &mut Criterion, n: usize, p: usize) {
    let values = gaussian(n, p, 3);
    let x = Matrix::from_fn(n, p, |i, j| T::from_f64(values[(i, j)]));
    let x = Dense::from(&x);
    let (shift, factor) = shift_and_factor(p);
    let map = ColumnMap { shift: &shift, remainder: &[], factor: &factor };
    let (q, u) = (gaussian(p, COLUMNS, 1), gaussian(n, COLUMNS, 2));
    let id = |kernel: &str, columns: usize| format!("{kernel}/dense-{n}x{p}/{columns}/{}", T::NAME);
    let product = (n * p * COLUMNS) as u64;
    time(c, &id("project", COLUMNS), Elements(product), |exec| {
        let mut out = Matrix::zeros(n, COLUMNS);
        dense_products::project(x, map, &q, out.as_mut_slice(), exec)?;
        Ok(out)
    });
    time(c, &id("apply_t", COLUMNS), Elements(product), |exec| dense_products::apply_t(x, map, &u, exec));
    time(c, &id("normal_t", COLUMNS), Elements(2 * product), |exec| {
        dense_products::normal_t(x, map, &u, exec)
    });
    if let Ok(Some(packed)) = PackedRows::new(x, map, false, &Exec::sequential()) {
        time(c, &id("normal_packed", COLUMNS), Elements(2 * product), |exec| {
            Ok(packed.normal(None, &q, exec)?.expect("so few vectors are multiplied by packed rows"))
        });
    }
    let squares = |side: usize, length: usize| Elements((length * side * (side + 1) / 2) as u64);
    if p <= n {
        time(c, &id("scatter", p), squares(p, n), |exec| rank_k::scatter(x, map, None, exec));
    } else {
        time(c, &id("gram", n), squares(n, p), |exec| rank_k::gram(x, map, None, exec));
    }
}

fn sparse(c: &mut Criterion, n: usize, p: usize) {
    let arrays = karhunen_testkit::sparse(n, p, 0.01, Columns::Zipf, 2);
    let values: Vec<f32> = arrays.values.iter().map(|&v| v as f32).collect();
    let indices: Vec<u64> = arrays.indices.iter().map(|&i| i as u64).collect();
    let x = SparseMatrix::canonical(Major::Rows, n, p, &arrays.indptr, &indices, &values)
        .expect("the benchmark's matrix is well formed");
    let x = x.view();
    let (shift, factor) = shift_and_factor(p);
    let map = ColumnMap { shift: &shift, remainder: &[], factor: &factor };
    let (q, u) = (gaussian(p, COLUMNS, 1), gaussian(n, COLUMNS, 2));
    let id = |kernel: &str| format!("{kernel}/sparse-{n}x{p}/{COLUMNS}/f32");
    let product = (values.len() * COLUMNS) as u64;
    time(c, &id("project"), Elements(product), |exec| {
        let mut out = Matrix::zeros(n, COLUMNS);
        sparse_products::project(&x, &map, &q, exec, out.as_mut_slice())?;
        Ok(out)
    });
    time(c, &id("apply_t"), Elements(product), |exec| sparse_products::apply_t(&x, &map, &u, exec));
    time(c, &id("normal"), Elements(2 * product), |exec| sparse_products::normal(&x, &map, None, &q, exec));
    time(c, &id("normal_t"), Elements(2 * product), |exec| sparse_products::normal_t(&x, &map, &u, exec));
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
        rank_k::scatter(Dense::from(&x), map, None, &Exec::sequential())
            .expect("the benchmark's data are finite")
    };
    let (small, large) = (covariance(200), covariance(1_000));
    time(c, "eigh/200x200/200/f64", cube(200), |_| eigh::eigh(&small).map(|found| found.vectors));
    let q = gaussian(1_000, 16, 7);
    time(c, "symmetric/1000x1000/16/f64", Elements(1_000 * 1_000 * 16), |exec| {
        symmetric_product(&large, &q, exec)
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = products, panels, decompositions
}
criterion_main!(benches);
