//! Passes over observed entries in isolation. IDs read `pass/shape/components/scalar/threads`; each result is checked to be
//! finite. Elements are multiply-adds: of dot products one for each entry and number of a row, of normal equations those
//! on and above the diagonal.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use karhunen::exec::{Exec, Run};
use karhunen::incomplete::{Duplicates, Observed, Timed, Triples};
use karhunen::{Matrix, Result};
use karhunen_linalg::normals;
use karhunen_linalg::random::Purpose;
use karhunen_linalg::simd::Lane;

const SHAPE: (usize, usize) = (20_000, 1_000);
const ENTRIES_OF_ROW: usize = 50;

fn gaussian(n_rows: usize, n_cols: usize, seed: u64) -> Matrix {
    normals::gaussian(n_rows, n_cols, Purpose::Probes.of(seed))
}

/// Entries at columns that are scattered over each row.
fn data<T: Lane>() -> Observed<T> {
    let (n, p) = SHAPE;
    let places = || (0..n).flat_map(|i| (0..ENTRIES_OF_ROW).map(move |e| (i, (7 * i + 37 * e) % p)));
    let rows: Vec<u32> = places().map(|(i, _)| i as u32).collect();
    let columns: Vec<u32> = places().map(|(_, j)| j as u32).collect();
    let values: Vec<T> = gaussian(rows.len(), 1, 1).as_slice().iter().map(|&x| T::from_f64(x)).collect();
    let triples = Triples { rows: &rows, columns: &columns, values: &values, weights: None };
    Observed::from_triples(&triples, SHAPE, Duplicates::Refuse).expect("no place occurs twice")
}

/// Times `work` with one thread and with two.
fn time(c: &mut Criterion, id: &str, n: usize, work: &(dyn Fn(&Exec<'_>) -> Result<f64> + Sync)) {
    let mut group = c.benchmark_group(id);
    group.throughput(Throughput::Elements(n as u64));
    for threads in [1, 2] {
        group.bench_function(threads.to_string(), |b| {
            Exec::run(&Run::threads(threads), |exec| {
                assert!(work(exec)?.is_finite(), "{id}");
                b.iter(|| work(exec));
                Ok(())
            })
            .expect("the benchmark's data fit");
        });
    }
    group.finish();
}

fn passes<T: Lane>(c: &mut Criterion, k: usize) {
    let (n, p) = SHAPE;
    let data = data::<T>();
    let timed = Timed::new(&data, SHAPE, k);
    timed.each(&mut |pass, multiply_adds, work| {
        time(c, &format!("{pass}/{n}x{p}/{k}/{}", T::NAME), n * ENTRIES_OF_ROW * multiply_adds, work);
    });
}

fn all(c: &mut Criterion) {
    passes::<f32>(c, 15);
    passes::<f64>(c, 15);
    passes::<f32>(c, 31);
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = all
}
criterion_main!(benches);
