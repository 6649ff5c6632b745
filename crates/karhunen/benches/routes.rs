//! Whole fits by each route, and transforms. IDs read `route/shape/k/scalar/threads`; each result is checked.

use criterion::{Criterion, criterion_group, criterion_main};
use karhunen::{Dense, Matrix, NComponents, Pca, PcaModel, Route, Scalar, Source, SparseMatrix, Weights};
use karhunen_testkit::makers;

/// A dense matrix with singular values 1, 1/2, 1/3, … and noise.
fn power_law<T: Scalar>(n: usize, p: usize) -> Matrix<T> {
    let values = makers::power_law(n, p, 1.0, 1);
    Matrix::from_fn(n, p, |i, j| T::from_f64(values[i * p + j]))
}

fn pca(k: usize, route: Option<Route>, n_threads: usize) -> Pca {
    Pca {
        n_components: NComponents::Count(k),
        solver: route,
        n_threads: Some(n_threads),
        strict: true,
        ..Pca::default()
    }
}

fn fit<T: Scalar>(pca: &Pca, x: &dyn Source<T>) -> PcaModel {
    let model = pca.fit(x, &Weights::default()).expect("the benchmark's data fit");
    assert!(model.convergence().converged());
    assert!(model.explained_variance()[0] > 0.0);
    model
}

fn dense<T: Scalar>(c: &mut Criterion, n: usize, p: usize, k: usize, routes: &[Route]) {
    let x = power_law::<T>(n, p);
    let view = Dense::from(&x);
    for &route in routes {
        for threads in [1, 2] {
            let id = format!("{route}/{n}x{p}/{k}/{}/{threads}", T::NAME);
            let pca = pca(k, Some(route), threads);
            c.bench_function(&id, |b| b.iter(|| fit(&pca, &view)));
        }
    }
}

fn sparse(c: &mut Criterion, n: usize, p: usize, stored: usize, k: usize, routes: &[Route]) {
    let s = makers::sparse(n, p, stored, 1.0, 2);
    let values: Vec<f32> = s.values.iter().map(|&v| v as f32).collect();
    let x = SparseMatrix::canonical(karhunen::Major::Rows, n, p, &s.pointers, &s.indices, &values)
        .expect("the benchmark's matrix is well formed");
    for &route in routes {
        let id = format!("{route}/sparse-{n}x{p}/{k}/f32/2");
        let pca = pca(k, Some(route), 2);
        c.bench_function(&id, |b| b.iter(|| fit(&pca, &x.view())));
    }
}

fn transforms(c: &mut Criterion) {
    let (n, p, k) = (20_000, 100, 50);
    let x = power_law::<f32>(n, p);
    let model = fit(&pca(k, None, 2), &Dense::from(&x));
    let id = format!("transform/{n}x{p}/{k}/f32/2");
    c.bench_function(&id, |b| {
        b.iter(|| {
            let scores = model.transform(&Dense::from(&x)).expect("the benchmark's data transform");
            assert_eq!(scores.shape(), (n, k));
            scores
        });
    });
}

fn all(c: &mut Criterion) {
    use Route::{BlockKrylov, Covariance, Gram, Svd};
    dense::<f64>(c, 10_000, 200, 20, &[Svd, Covariance, BlockKrylov]);
    dense::<f32>(c, 10_000, 200, 20, &[Covariance, BlockKrylov]);
    dense::<f64>(c, 200, 10_000, 20, &[Svd, Gram, BlockKrylov]);
    sparse(c, 10_000, 1_000, 200_000, 20, &[Covariance, BlockKrylov]);
    sparse(c, 500, 20_000, 200_000, 20, &[Gram, BlockKrylov]);
    transforms(c);
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = all
}
criterion_main!(benches);
