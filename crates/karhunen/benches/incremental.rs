//! Fits of rows in batches. IDs read `method/shape/batch/k/scalar/threads`; each result is checked. The
//! method scatter is dominated by rank-k updates, the sketch by products of the batch with its directions. Elements are
//! values of all batches.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use karhunen::incremental::IncrementalMethod;
use karhunen::matrix::{Major, SparseMatrix};
use karhunen::source::Block;
use karhunen::{Dense, IncrementalPca, Matrix, Run};
use karhunen_testkit::{Columns, gaussian, sparse};

/// Pushes `n_batches` batches, `batches` again and again, and makes a model.
fn fit<T: karhunen::Scalar>(
    pca: &IncrementalPca,
    batches: &[Block<'_, T>],
    n_batches: usize,
    threads: usize,
) {
    let run = Run::threads(threads);
    let mut fit = pca.start(batches[0].n_cols()).expect("the options are valid");
    for batch in batches.iter().cycle().take(n_batches) {
        fit.push(batch, None, &run).expect("the rows are finite");
    }
    let model = fit.model(&run).expect("there are rows");
    assert_eq!(model.n_samples_seen(), n_batches * batches[0].n_rows());
    assert!(model.pca().explained_variance()[0] > 0.0);
}

fn dense(c: &mut Criterion, (n, p, k): (usize, usize, usize), batch: usize, method: IncrementalMethod) {
    // Small batches differ, so that the rows have variance.
    let n_rows = batch * 1000usize.div_ceil(batch);
    let rows = gaussian(n_rows, p, 1);
    let x = Matrix::from_fn(n_rows, p, |i, j| (rows[i][j] / (j + 1) as f64) as f32);
    let x = Dense::from(&x);
    let batches: Vec<_> =
        (0..n_rows).step_by(batch).map(|first| Block::Dense(x.rows(first..first + batch))).collect();
    let mut group = c.benchmark_group(format!("{method}/{n}x{p}/{batch}/{k}/f32"));
    group.throughput(Throughput::Elements((n * p) as u64));
    for threads in [1, 2] {
        let pca = IncrementalPca { method, ..IncrementalPca::new(k) };
        group.bench_function(threads.to_string(), |b| b.iter(|| fit(&pca, &batches, n / batch, threads)));
    }
    group.finish();
}

fn of_sparse(c: &mut Criterion, (n, p, k): (usize, usize, usize), batch: usize) {
    let arrays = sparse(batch, p, 0.002, Columns::Zipf, 2);
    let indices: Vec<u64> = arrays.indices.iter().map(|&i| i as u64).collect();
    let x = SparseMatrix::canonical(Major::Rows, batch, p, &arrays.indptr, &indices, &arrays.values)
        .expect("the benchmark's matrix is well formed");
    let pca = IncrementalPca { method: IncrementalMethod::Sketch, ..IncrementalPca::new(k) };
    let mut group = c.benchmark_group(format!("sketch/sparse-{n}x{p}/{batch}/{k}/f64"));
    group.throughput(Throughput::Elements((arrays.values.len() * (n / batch)) as u64));
    group.bench_function("2", |b| b.iter(|| fit(&pca, &[Block::Sparse(x.view())], n / batch, 2)));
    group.finish();
}

fn all(c: &mut Criterion) {
    dense(c, (1_000_000, 100, 50), 10_000, IncrementalMethod::Scatter);
    dense(c, (20_000, 100, 50), 1, IncrementalMethod::Scatter);
    dense(c, (2_000, 2_000, 20), 500, IncrementalMethod::Scatter);
    dense(c, (2_000, 10_000, 20), 500, IncrementalMethod::Sketch);
    of_sparse(c, (500, 130_107, 10), 100);
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = all
}
criterion_main!(benches);
