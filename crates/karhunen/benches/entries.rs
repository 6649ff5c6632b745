//! Passes over observed entries in isolation. IDs read `pass/shape/components/scalar/threads`; each result is checked to be
//! finite. Elements are multiply-adds: of dot products one for each entry and number of a row, of normal equations those
//! on and above the diagonal.
//!
//! The modules of the library are included, as in `kernels.rs`.
// Most items of these modules are not timed here.
#![allow(dead_code, unused_imports, unreachable_pub, unfulfilled_lint_expectations)]

#[path = "../src/choice.rs"]
mod choice;
#[path = "../src/error/mod.rs"]
mod error;
#[path = "../src/exec/mod.rs"]
mod exec;
#[path = "../src/growth.rs"]
mod growth;
#[path = "../src/incomplete/mod.rs"]
mod incomplete;
#[path = "../src/linalg/mod.rs"]
mod linalg;
#[path = "../src/memory/mod.rs"]
mod memory;
#[path = "../src/random.rs"]
mod random;
#[cfg(feature = "serde")]
#[path = "../src/record.rs"]
mod record;
#[path = "../src/scalar.rs"]
mod scalar;
#[path = "../src/scaling/mod.rs"]
mod scaling;
#[path = "../src/source/mod.rs"]
mod source;
#[path = "../src/weights.rs"]
mod weights;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use error::Result;
use exec::{Exec, Run};
use incomplete::factors::objective::{Diagonal, MeanRule, Objective};
use incomplete::factors::{FactorSide, Factors};
use incomplete::passes::gradient::{gradient_pass, squares};
use incomplete::passes::line_search::polynomial;
use incomplete::passes::normal::solve_side;
use incomplete::passes::residuals::residuals;
use incomplete::{Duplicates, Observed, Triples};
use linalg::Matrix;
use linalg::simd::Lane;
use random::Purpose;
use scalar::Scalar;

const SHAPE: (usize, usize) = (20_000, 1_000);
const ENTRIES_OF_ROW: usize = 50;

fn gaussian(n_rows: usize, n_cols: usize, seed: u64) -> Matrix {
    linalg::random::gaussian(n_rows, n_cols, Purpose::Probes.of(seed))
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
fn time(c: &mut Criterion, id: &str, n: usize, work: impl Fn(&Exec<'_>) -> Result<f64> + Send + Sync) {
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
    let n_entries = n * ENTRIES_OF_ROW;
    let problem = Objective {
        data: &data,
        loadings: Diagonal::ByComponent(vec![0.5; k]),
        scores: Diagonal::ByComponent(vec![0.5; k]),
        mean: MeanRule::FLAT,
        offsets: None,
        c: k,
    };
    let factors: Factors<T> = Factors::new(&gaussian(p, k, 2), &gaussian(n, k, 3), &vec![0.0; p]);
    let directions: Factors<T> = Factors::new(&gaussian(p, k, 4), &gaussian(n, k, 5), &vec![0.0; p]);
    let id = |pass: &str| format!("{pass}/{n}x{p}/{k}/{}", T::NAME);
    for side in [FactorSide::Scores, FactorSide::Loadings] {
        let of = if matches!(side, FactorSide::Scores) { "rows" } else { "columns" };
        time(c, &id(&format!("residuals-{of}")), n_entries * k, |exec| {
            Ok(residuals(&problem, &factors, side, exec)?[0].to_f64())
        });
        time(c, &id(&format!("gradient-{of}")), 2 * n_entries * k, |exec| {
            let mut g = factors.of(side).zeros_like();
            let found = gradient_pass(&problem, &factors, side, [&mut g], exec, |sums, _, [row]| {
                row.iter_mut().zip(sums).for_each(|(out, &sum)| *out = T::from_f64(sum));
            })?;
            Ok(found.squares)
        });
        time(c, &id(&format!("normal-{of}")), n_entries * k * (k + 1) / 2, |exec| {
            let mut solved = factors.clone();
            Ok(solve_side(&problem, &mut solved, side, exec)?[0])
        });
    }
    time(c, &id("squares"), n_entries * k, |exec| squares(&problem, &factors, exec));
    time(c, &id("line-search"), 3 * n_entries * k, |exec| {
        Ok(polynomial(&problem, &factors, &directions, exec)?[0])
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
