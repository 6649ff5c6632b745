//! Kernels of values at the ends of the range and of sparse rows far from zero.

use karhunen::kernel::{Gamma, Kernel, KernelRoute};
use karhunen::{KernelPca, Sparse, Weights};
use karhunen_testkit::{Rows, SparseArrays, largest_difference};

use crate::kernel::fixtures::{cloud, fit, rbf};

fn fit_sparse(pca: &KernelPca, rows: &Rows) -> karhunen::KernelModel {
    let x = SparseArrays::of_rows(rows);
    let (n, p) = (rows.len(), rows[0].len());
    pca.fit(&Sparse::csr(n, p, &x.indptr, &x.indices, &x.values).unwrap(), &Weights::default()).unwrap()
}

/// Rows of which each stores the first value, far from zero, and one of the others.
fn far_and_sparse(offset: f64) -> Rows {
    let noise = cloud(200, 1, 4);
    (0..200)
        .map(|i| {
            let mut row = vec![0.0; 9];
            row[0] = offset + noise[i][0];
            row[1 + i % 8] = 1.0;
            row
        })
        .collect()
}

#[test]
fn stored_rows_far_from_zero_have_the_kernel_of_dense_ones() {
    let rows: Rows = cloud(200, 4, 3).iter().map(|row| row.iter().map(|x| x + 1e7).collect()).collect();
    for kernel in [rbf(0.1), Kernel::Linear] {
        for route in [KernelRoute::Full, KernelRoute::Stored] {
            let pca = KernelPca { kernel, solver: Some(route), ..KernelPca::new(3) };
            let (dense, sparse) = (fit(&pca, &rows, None), fit_sparse(&pca, &rows));
            assert_eq!(sparse.eigenvalues(), dense.eigenvalues(), "{kernel:?} {route}");
        }
    }
}

/// Distances are differences of squared norms: what they lose is part of the residuals.
#[test]
fn residuals_of_sparse_rows_far_from_zero_count_the_rounding_of_distances() {
    for kernel in [rbf(0.1), Kernel::Linear] {
        for route in [KernelRoute::Full, KernelRoute::Stored] {
            let pca = KernelPca { kernel, solver: Some(route), ..KernelPca::new(3) };
            let near = fit_sparse(&pca, &far_and_sparse(0.0));
            assert!(near.convergence().converged() && near.convergence().worst_residual() < 1e-8);
            let far = fit_sparse(&pca, &far_and_sparse(1e6));
            let error = largest_difference(far.eigenvalues(), near.eigenvalues()) / near.eigenvalues()[0];
            let reported = far.convergence().worst_residual();
            assert!(reported > 1e-7 && error < 20.0 * reported, "{kernel:?}: error {error:e}, {reported:e}");
            assert!(!far.convergence().converged(), "{kernel:?} {route}: {reported:e}");
        }
    }
}

#[test]
fn chi_squared_kernels_of_tiny_values_are_multiples() {
    let rows: Rows = cloud(6, 2, 5).iter().map(|row| row.iter().map(|x| x.abs()).collect()).collect();
    let pca = KernelPca { kernel: Kernel::AdditiveChi2, ..KernelPca::new(2) };
    let expected = fit(&pca, &rows, None);
    for unit in [1e-38, 1e-60, 1e-200] {
        let tiny: Rows = rows.iter().map(|row| row.iter().map(|x| x * unit).collect()).collect();
        let values: Vec<f64> =
            fit(&pca, &tiny, None).eigenvalues().iter().map(|value| value / unit).collect();
        assert!(largest_difference(&values, expected.eigenvalues()) < 1e-12, "{unit:e}: {values:?}");
    }
}

#[test]
fn kernel_values_whose_squares_overflow_have_eigenvalues() {
    let rows = cloud(30, 3, 5);
    let pca = KernelPca { kernel: Kernel::Linear, ..KernelPca::new(2) };
    let expected = fit(&pca, &rows, None);
    for route in [KernelRoute::Full, KernelRoute::Stored] {
        let large: Rows = rows.iter().map(|row| row.iter().map(|x| x * 1e85).collect()).collect();
        let model = fit(&KernelPca { solver: Some(route), ..pca.clone() }, &large, None);
        let values: Vec<f64> = model.eigenvalues().iter().map(|value| value / 1e170).collect();
        assert!(largest_difference(&values, expected.eigenvalues()) < 1e-11, "{route}: {values:?}");
    }
}

#[test]
fn equal_sparse_rows_do_not_decide_the_median_distance() {
    let base = [[0.0, 1.3, 0.0, 0.4], [0.7, 0.0, 0.2, 0.0], [0.0, 0.1, 0.3, 0.9]];
    let rows: Rows = (0..40).map(|i| base[if i < 34 { 0 } else { 1 + i % 2 }].to_vec()).collect();
    for kernel in [Kernel::Laplacian { gamma: Gamma::Median }, Kernel::Chi2 { gamma: Gamma::Median }] {
        let pca = KernelPca { kernel, ..KernelPca::new(2) };
        let gamma = |model: karhunen::KernelModel| match model.kernel().gamma() {
            Some(Gamma::Value(gamma)) => gamma,
            other => panic!("{other:?}"),
        };
        let (dense, sparse) = (gamma(fit(&pca, &rows, None)), gamma(fit_sparse(&pca, &rows)));
        assert!((sparse / dense - 1.0).abs() < 1e-12, "{kernel:?}: {sparse} {dense}");
    }
}
