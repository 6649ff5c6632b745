//! Whole fits by each route, and the steps before and after them. IDs read `route/shape/k/scalar/threads`; each
//! result is checked. A route is dominated by its inner loop: `svd` by the reduction of panels, `covariance` and
//! `gram` by rank-k updates, `block-krylov` by fused products, `transform` by projection.

use criterion::{Criterion, criterion_group, criterion_main};
use karhunen::matrix::SparseMatrix;
use karhunen::moments::Moments;
use karhunen::pca::Route;
use karhunen::{Dense, Matrix, NComponents, Pca, PcaModel, Run, Scalar, Source, Sparse, Weights};
use karhunen_testkit::{Columns, gaussian, sparse};

/// Gaussian rows whose columns have standard deviations 1, 1/2, 1/3, …
fn power_law<T: Scalar>(n: usize, p: usize) -> Matrix<T> {
    let rows = gaussian(n, p, 1);
    Matrix::from_fn(n, p, |i, j| T::from_f64(rows[i][j] / (j + 1) as f64))
}

fn pca(k: usize, route: Option<Route>) -> Pca {
    let n_components = NComponents::Count(k);
    Pca { n_components, solver: route, strict: true, ..Pca::default() }
}

fn fit<T: Scalar>(pca: &Pca, x: &dyn Source<T>, threads: usize) -> PcaModel {
    let model =
        pca.fit_with(x, &Weights::default(), &Run::threads(threads)).expect("the benchmark's data fit");
    assert!(model.explained_variance()[0] > 0.0);
    model
}

fn dense<T: Scalar>(c: &mut Criterion, (n, p, k): (usize, usize, usize), routes: &[Route]) {
    let x = power_law::<T>(n, p);
    let view = Dense::from(&x);
    for &route in routes {
        for threads in [1, 2] {
            let pca = pca(k, Some(route));
            let id = format!("{route}/{n}x{p}/{k}/{}/{threads}", T::NAME);
            c.bench_function(&id, |b| b.iter(|| fit(&pca, &view, threads)));
        }
    }
}

fn with_sparse(n: usize, p: usize, f: impl FnOnce(&Sparse<'_, f32>)) {
    let arrays = sparse(n, p, 0.01, Columns::Zipf, 2);
    let values: Vec<f32> = arrays.values.iter().map(|&v| v as f32).collect();
    let indices: Vec<u64> = arrays.indices.iter().map(|&i| i as u64).collect();
    let x = SparseMatrix::canonical(karhunen::matrix::Major::Rows, n, p, &arrays.indptr, &indices, &values)
        .expect("the benchmark's matrix is well formed");
    f(&x.view());
}

fn sparse_routes(c: &mut Criterion, (n, p, k): (usize, usize, usize), routes: &[Route]) {
    with_sparse(n, p, |x| {
        for &route in routes {
            let pca = pca(k, Some(route));
            let id = format!("{route}/sparse-{n}x{p}/{k}/f32/2");
            c.bench_function(&id, |b| b.iter(|| fit(&pca, x, 2)));
        }
        let model = fit(&pca(k, None), x, 2);
        let id = format!("transform/sparse-{n}x{p}/{k}/f32/2");
        c.bench_function(&id, |b| b.iter(|| model.transform(x).expect("the benchmark's data transform")));
    });
}

fn before_and_after(c: &mut Criterion) {
    let (n, p, k) = (20_000, 100, 50);
    let x = power_law::<f32>(n, p);
    let view = Dense::from(&x);
    c.bench_function(&format!("moments/{n}x{p}/0/f32/1"), |b| {
        b.iter(|| {
            let moments =
                Moments::of(&view, None, &Run::threads(1)).expect("the benchmark's data are finite");
            assert_eq!(moments.weight, n as f64);
            moments
        });
    });
    let model = fit(&pca(k, None), &view, 2);
    let scores = model.transform(&view).expect("the benchmark's data transform");
    assert_eq!(scores.shape(), (n, k));
    c.bench_function(&format!("transform/{n}x{p}/{k}/f32/2"), |b| {
        b.iter(|| model.transform(&view).expect("the benchmark's data transform"));
    });
    c.bench_function(&format!("inverse_transform/{n}x{p}/{k}/f32/2"), |b| {
        b.iter(|| model.inverse_transform(&scores).expect("the scores have the model's shape"));
    });
}

fn all(c: &mut Criterion) {
    use Route::{BlockKrylov, Covariance, Gram, Svd};
    dense::<f64>(c, (10_000, 200, 20), &[Svd, Covariance, BlockKrylov]);
    dense::<f32>(c, (10_000, 200, 20), &[Covariance, BlockKrylov]);
    dense::<f64>(c, (200, 10_000, 20), &[Svd, Gram, BlockKrylov]);
    sparse_routes(c, (5_000, 500, 20), &[Covariance, BlockKrylov]);
    sparse_routes(c, (300, 5_000, 20), &[Gram, BlockKrylov]);
    before_and_after(c);
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = all
}
criterion_main!(benches);
