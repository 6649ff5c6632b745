//! Identities that hold for all data: explicit feature maps, repeated rows, precomputed kernels.

use karhunen::kernel::{Gamma, Kernel, KernelRoute};
use karhunen::{Dense, Error, KernelModel, KernelPca, NComponents, Pca, Run, Weights};
use karhunen_testkit::{Rows, integer_weights, largest_difference, repeat_rows, svd};

use crate::kernel::fixtures::{EXACT, assert_same, cloud, fit, rbf, scores};

/// Eigenvalues and scores of ordinary PCA of `rows`, in units of kernel PCA.
fn pca_of(rows: &Rows, k: usize) -> (Vec<f64>, Vec<f64>) {
    let values = rows.concat();
    let x = Dense::row_major(&values, rows.len(), rows[0].len()).unwrap();
    let model = Pca::new(k).fit(&x, &Weights::default()).unwrap();
    let eigenvalues = model.singular_values().iter().map(|s| s * s).collect();
    (eigenvalues, model.transform(&x).unwrap().into_vec())
}

/// Compares eigenvalues and scores up to the sign of each component.
fn assert_equal_up_to_signs(
    model: &KernelModel,
    rows: &Rows,
    (values, expected): &(Vec<f64>, Vec<f64>),
    what: &str,
) {
    let k = values.len();
    let apart = largest_difference(model.eigenvalues(), values);
    assert!(apart <= 1e-11 * values[0], "{what}: eigenvalues differ by {apart:e}");
    for found in [scores(model, rows), model.fitted_scores()] {
        for c in 0..k {
            let column = |z: &[f64]| -> Vec<f64> { z.iter().skip(c).step_by(k).copied().collect() };
            let (a, b) = (column(found.as_slice()), column(expected));
            let flipped: Vec<f64> = b.iter().map(|b| -b).collect();
            let apart = largest_difference(&a, &b).min(largest_difference(&a, &flipped));
            assert!(apart <= 1e-8 * values[0].sqrt(), "{what}: component {c} differs by {apart:e}");
        }
    }
}

#[test]
fn the_linear_kernel_equals_pca() {
    let rows = cloud(600, 7, 1);
    let expected = pca_of(&rows, 4);
    for route in EXACT {
        let pca =
            KernelPca { kernel: Kernel::Linear, solver: Some(route), tol: Some(1e-13), ..KernelPca::new(4) };
        assert_equal_up_to_signs(&fit(&pca, &rows, None), &rows, &expected, &format!("{route}"));
    }
}

#[test]
fn without_centring_the_linear_kernel_equals_the_truncated_svd() {
    let rows: Rows = cloud(600, 5, 6).iter().map(|row| row.iter().map(|x| x + 2.0).collect()).collect();
    let values = rows.concat();
    let x = Dense::row_major(&values, 600, 5).unwrap();
    let weights: Vec<f64> = integer_weights(600, 3, 5).into_iter().map(f64::from).collect();
    for weights in [None, Some(&weights[..])] {
        let given = weights.map_or(Weights::default(), Weights::of_samples);
        let svd = Pca { center: false.into(), ..Pca::new(3) }.fit(&x, &given).unwrap();
        let expected: Vec<f64> = svd.singular_values().iter().map(|s| s * s).collect();
        for route in EXACT {
            let pca = KernelPca { center: false, solver: Some(route), tol: Some(1e-13), ..KernelPca::new(3) };
            let model = KernelPca { kernel: Kernel::Linear, ..pca }.fit(&x, &given).unwrap();
            let apart = largest_difference(model.eigenvalues(), &expected);
            assert!(apart <= 1e-11 * expected[0], "{route}: {apart:e}");
            let (found, wanted) = (model.transform(&x).unwrap(), svd.transform(&x).unwrap());
            let size = |z: &[f64]| -> Vec<f64> { z.iter().map(|z| z.abs()).collect() };
            let apart = largest_difference(&size(found.as_slice()), &size(wanted.as_slice()));
            assert!(apart <= 1e-8 * expected[0].sqrt(), "{route}: scores differ by {apart:e}");
        }
    }
}

#[test]
fn the_quadratic_kernel_equals_pca_of_all_products() {
    let rows = cloud(500, 4, 2);
    let (gamma, coef0) = (0.5f64, 0.7f64);
    // (g x.y + c)^2 is the inner product of c, sqrt(2 g c) x_i, g x_i^2, sqrt(2) g x_i x_j.
    let map = |x: &Vec<f64>| {
        let mut mapped: Vec<f64> = x.iter().map(|x| (2.0 * gamma * coef0).sqrt() * x).collect();
        for i in 0..x.len() {
            for j in i..x.len() {
                mapped.push(if i == j { gamma * x[i] * x[i] } else { 2.0f64.sqrt() * gamma * x[i] * x[j] });
            }
        }
        mapped
    };
    let expected = pca_of(&rows.iter().map(map).collect(), 5);
    let kernel = Kernel::Polynomial { degree: 2.0, gamma: Gamma::Value(gamma), coef0 };
    for route in EXACT {
        let pca = KernelPca { kernel, solver: Some(route), tol: Some(1e-13), ..KernelPca::new(5) };
        assert_equal_up_to_signs(&fit(&pca, &rows, None), &rows, &expected, &format!("{route}"));
    }
}

#[test]
fn integer_weights_equal_repeated_rows() {
    for (n, kernel) in [(40, rbf(0.3)), (500, rbf(0.2)), (500, Kernel::Laplacian { gamma: Gamma::Median })] {
        let rows = cloud(n, 3, 3);
        let mut weights = integer_weights(n, 3, 4);
        weights[..3].copy_from_slice(&[0, 2, 1]);
        let repeated = repeat_rows(&rows, &weights);
        let real: Vec<f64> = weights.iter().map(|w| f64::from(*w)).collect();
        for route in EXACT {
            let pca = KernelPca { kernel, solver: Some(route), tol: Some(1e-13), ..KernelPca::new(4) };
            let (weighted, copied) = (fit(&pca, &rows, Some(&real)), fit(&pca, &repeated, None));
            assert!(matches!(weighted.kernel().gamma(), Some(Gamma::Value(_))));
            assert_same(&format!("{route} of {n}"), &weighted, &copied, &rows, 1e-10);
            // An eigenvector has one entry for all copies of a row.
            let expanded: Vec<f64> = (0..n)
                .flat_map(|i| {
                    std::iter::repeat_n(weighted.eigenvectors().row(i).to_vec(), weights[i] as usize)
                })
                .flatten()
                .collect();
            assert!(largest_difference(&expanded, copied.eigenvectors().as_slice()) < 1e-8, "{route}");
            assert!(weighted.eigenvectors().row(0).iter().all(|v| *v == 0.0));
        }
    }
}

#[test]
fn a_precomputed_matrix_equals_the_kernel() {
    for n in [90, 700] {
        let (rows, new) = (cloud(n, 5, 5), cloud(20, 5, 6));
        let kernel = |x: &Rows, y: &Rows| -> Rows {
            let value = |x: &Vec<f64>, y: &Vec<f64>| {
                (-0.2 * x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>()).exp()
            };
            x.iter().map(|x| y.iter().map(|y| value(x, y)).collect()).collect()
        };
        let computed =
            fit(&KernelPca { kernel: rbf(0.2), tol: Some(1e-12), ..KernelPca::new(4) }, &rows, None);
        let pca = KernelPca { kernel: Kernel::Precomputed, tol: Some(1e-12), ..KernelPca::new(4) };
        let given = fit(&pca, &kernel(&rows, &rows), None);
        assert!(
            largest_difference(given.eigenvalues(), computed.eigenvalues())
                < 1e-11 * computed.eigenvalues()[0]
        );
        let (a, b) = (scores(&given, &kernel(&new, &rows)), scores(&computed, &new));
        assert!(largest_difference(a.as_slice(), b.as_slice()) < 1e-8);
    }
}

#[test]
fn whitened_scores_have_mean_square_one() {
    let rows = cloud(450, 4, 7);
    let values = rows.concat();
    let x = Dense::row_major(&values, 450, 4).unwrap();
    let model = KernelPca { kernel: rbf(0.2), ..KernelPca::new(3) }.fit(&x, &Weights::default()).unwrap();
    let how = karhunen::pca::Transform { whiten: true, ..Default::default() };
    let z = model.transform_with(&x, how, &Run::default()).unwrap();
    for c in 0..3 {
        let mean_square = (0..450).map(|i| z[(i, c)].powi(2)).sum::<f64>() / 450.0;
        assert!((mean_square - 1.0).abs() < 1e-6, "{mean_square}");
    }
}

#[test]
fn all_components_have_variance() {
    // Three distinct rows, centred: two components.
    let rows: Rows = (0..30).map(|i| vec![f64::from(i % 3), f64::from((i % 3) * (i % 3))]).collect();
    let model = fit(&KernelPca { kernel: rbf(0.5), ..KernelPca::default() }, &rows, None);
    assert_eq!(model.n_components(), 2);
    let share: f64 = model.explained_variance_ratio().iter().sum();
    assert!((share - 1.0).abs() < 1e-12, "{share}");
    let more = fit(&KernelPca { kernel: rbf(0.5), ..KernelPca::new(4) }, &rows, None);
    assert_eq!(more.eigenvalues()[2..], [0.0, 0.0]);
    assert!((0..30).all(|i| scores(&more, &rows).row(i)[2..] == [0.0, 0.0]));
}

/// The positive eigenvalues have half the sum of the singular values and the trace.
#[test]
fn shares_are_of_the_positive_eigenvalues() {
    let n = 120;
    let rows = cloud(n, 3, 3);
    let sigmoid = Kernel::Sigmoid { gamma: Gamma::Value(0.5), coef0: -1.0 };
    let dot = |i: usize, j: usize| rows[i].iter().zip(&rows[j]).map(|(x, y)| x * y).sum::<f64>();
    let kernel: Rows = (0..n).map(|i| (0..n).map(|j| (0.5 * dot(i, j) - 1.0).tanh()).collect()).collect();
    let means: Vec<f64> = kernel.iter().map(|row| row.iter().sum::<f64>() / n as f64).collect();
    let mean = means.iter().sum::<f64>() / n as f64;
    let centred: Rows =
        (0..n).map(|i| (0..n).map(|j| kernel[i][j] - means[i] - means[j] + mean).collect()).collect();
    let trace: f64 = (0..n).map(|i| centred[i][i]).sum();
    let total = 0.5 * (trace + svd(&centred).values.iter().sum::<f64>());
    assert!(total > 1.2 * trace, "the kernel has negative eigenvalues: {total} {trace}");
    let fitted = |kernel, rows: &Rows, n_components, route| {
        fit(&KernelPca { kernel, n_components, solver: Some(route), ..KernelPca::default() }, rows, None)
    };
    for (given, data) in [(sigmoid, &rows), (Kernel::Precomputed, &kernel)] {
        let model = fitted(given, data, 3.into(), KernelRoute::Full);
        for (share, value) in model.explained_variance_ratio().iter().zip(model.eigenvalues()) {
            assert!((share - value / total).abs() < 1e-12, "{share} {value} {total}");
        }
        let all = fitted(given, data, NComponents::All, KernelRoute::Full);
        assert!((all.explained_variance_ratio().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let mut sum = 0.0;
        let fewest = all
            .eigenvalues()
            .iter()
            .take_while(|value| {
                sum += **value;
                sum <= 0.9 * total
            })
            .count()
            + 1;
        let most = fitted(given, data, NComponents::Variance(0.9), KernelRoute::Full);
        assert_eq!(most.n_components(), fewest);
        let iterated = fitted(given, data, 3.into(), KernelRoute::Stored);
        assert!(iterated.explained_variance_ratio().iter().all(|share| share.is_nan()));
    }
    let positive = fitted(rbf(0.2), &rows, 3.into(), KernelRoute::Stored);
    assert!(positive.explained_variance_ratio().iter().all(|share| *share > 0.0));
}

/// A message unless every eigenvalue and every score is zero.
fn variance<T: karhunen::Scalar>(pca: &KernelPca, values: &[T], n: usize, new: &[T]) -> Option<String> {
    let p = values.len() / n;
    let x = Dense::row_major(values, n, p).unwrap();
    let model = match pca.fit(&x, &Weights::default()) {
        Ok(model) => model,
        Err(error) => return Some(error.to_string()),
    };
    let convergence = model.convergence();
    let all =
        KernelPca { n_components: NComponents::All, ..pca.clone() }.fit(&x, &Weights::default()).unwrap();
    let zero = model.eigenvalues().iter().all(|v| *v == 0.0)
        && convergence.converged()
        && convergence.n_passes < 100
        && convergence.smallest_eigenvalue.is_none_or(|v| v == 0.0)
        && all.n_components() == 0;
    let z = model.transform(&Dense::row_major(new, new.len() / p, p).unwrap()).unwrap();
    let zero = zero && z.as_slice().iter().all(|z| z.to_f64() == 0.0);
    (!zero).then(|| format!("{:?}, {convergence:?}", model.eigenvalues()))
}

#[test]
#[ignore = "seconds: cargo xtask test slow"]
fn equal_rows_have_no_variance() {
    let gamma = Gamma::PerFeature;
    let kernels = [
        Kernel::Linear,
        rbf(0.3),
        Kernel::Polynomial { degree: 3.0, gamma, coef0: 1.0 },
        Kernel::Sigmoid { gamma: Gamma::Value(1e-3), coef0: 0.1 },
        Kernel::Laplacian { gamma },
        Kernel::Cosine,
        Kernel::AdditiveChi2,
    ];
    let new = cloud(4, 3, 8).concat();
    let new: Vec<f64> = new.iter().map(|x| x.abs()).collect();
    let single: Vec<f32> = new.iter().map(|x| *x as f32).collect();
    let mut wrong = Vec::new();
    for n in [7, 49, 50, 333] {
        for value in [3.7, 0.1, 1234.5] {
            for (kernel, solver) in kernels.iter().flat_map(|k| EXACT.map(|route| (*k, route))) {
                let pca = KernelPca { kernel, solver: Some(solver), ..KernelPca::new(2) };
                let what = format!("{n} rows of {value}, {}, {solver}", kernel.name());
                let (double, of_single) = (vec![value; 3 * n], vec![value as f32; 3 * n]);
                wrong.extend(variance(&pca, &double, n, &new).map(|w| format!("{what}: {w}")));
                wrong.extend(variance(&pca, &of_single, n, &single).map(|w| format!("f32, {what}: {w}")));
            }
            let pca = KernelPca { kernel: Kernel::Precomputed, ..KernelPca::new(2) };
            let given = variance(&pca, &vec![value; n * n], n, &vec![2.5; n]);
            wrong.extend(given.map(|w| format!("{n} given: {w}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn small_eigenvalues_of_different_rows_are_kept() {
    // The images are almost orthogonal: every eigenvalue is 1, the sum 999.
    let rows: Rows = (0..1000).map(|i| vec![f64::from(i)]).collect();
    let values: Vec<f32> = rows.concat().iter().map(|x| *x as f32).collect();
    let x = Dense::row_major(&values, 1000, 1).unwrap();
    for solver in EXACT {
        let pca = KernelPca { kernel: rbf(30.0), solver: Some(solver), ..KernelPca::new(3) };
        let model = pca.fit(&x, &Weights::default()).unwrap();
        assert!(model.eigenvalues().iter().all(|v| (v - 1.0).abs() < 1e-4), "{:?}", model.eigenvalues());
    }
}

#[test]
fn a_precomputed_matrix_may_be_asymmetric_by_rounding() {
    for n in [90, 300] {
        let rows = cloud(n, 5, 9);
        let noise = cloud(n, n, 10);
        let product = |i: usize, j: usize| rows[i].iter().zip(&rows[j]).map(|(a, b)| a * b).sum::<f64>();
        let noisy = |size: f64, mean: bool| -> Rows {
            let value = |i: usize, j: usize| product(i, j) + size * noise[i][j];
            (0..n)
                .map(|i| {
                    (0..n)
                        .map(|j| if mean { 0.5 * value(i, j) + 0.5 * value(j, i) } else { value(i, j) })
                        .collect()
                })
                .collect()
        };
        for solver in [KernelRoute::Full, KernelRoute::Stored] {
            let pca = KernelPca {
                kernel: Kernel::Precomputed,
                solver: Some(solver),
                tol: Some(1e-12),
                ..KernelPca::new(3)
            };
            for size in [1e-12, 1e-6] {
                let (found, mean) =
                    (fit(&pca, &noisy(size, false), None), fit(&pca, &noisy(size, true), None));
                let apart = largest_difference(found.eigenvalues(), mean.eigenvalues());
                assert!(apart <= 1e-13 * mean.eigenvalues()[0], "{n} {solver} {size}: {apart:e}");
                let apart =
                    largest_difference(found.eigenvectors().as_slice(), mean.eigenvectors().as_slice());
                assert!(apart < 1e-8, "{n} {solver} {size}: {apart:e}");
            }
            let far = noisy(1e-2, false).concat();
            let error = pca.fit(&Dense::row_major(&far, n, n).unwrap(), &Weights::default()).unwrap_err();
            assert!(matches!(error, Error::NotSymmetric { row, column, .. } if row > column), "{error}");
            let values: Vec<f32> = noisy(1e-6, false).concat().iter().map(|x| *x as f32).collect();
            assert!(pca.fit(&Dense::row_major(&values, n, n).unwrap(), &Weights::default()).is_ok());
        }
    }
}

#[test]
fn a_share_of_the_variance_takes_the_fewest_components_that_exceed_it() {
    let rows = cloud(300, 6, 4);
    let values = rows.concat();
    let x = Dense::row_major(&values, 300, 6).unwrap();
    let with = |n_components, solver| KernelPca {
        kernel: rbf(0.05),
        n_components,
        solver: Some(solver),
        ..KernelPca::default()
    };
    let fit = |pca: KernelPca| pca.fit(&x, &Weights::default()).unwrap();
    let all = fit(with(NComponents::All, KernelRoute::Full));
    let total: f64 = all.eigenvalues().iter().sum();
    for share in [0.3, 0.8, 0.97] {
        let mut reached = 0.0;
        let exceeds = |value: &f64| {
            reached += value;
            reached > share * total
        };
        let expected = 1 + all.eigenvalues().iter().position(exceeds).unwrap();
        for solver in [KernelRoute::Full, KernelRoute::Stored, KernelRoute::Tiles] {
            let model = fit(with(NComponents::Variance(share), solver));
            assert_eq!(model.n_components(), expected, "{solver} {share}");
            for (found, exact) in model.eigenvalues().iter().zip(all.eigenvalues()) {
                assert!((found - exact).abs() <= 1e-9 * total, "{solver} {share}: {found} {exact}");
            }
        }
    }
    // Rows with equal images: the total variance is zero, and one component explains every share of it.
    for solver in [KernelRoute::Full, KernelRoute::Stored] {
        let same = Dense::row_major(&[1.1; 12], 6, 2).unwrap();
        let weights = Weights::of_samples(&[0.1, 0.2, 0.3, 0.7, 0.9, 1.1]);
        let model = with(NComponents::Variance(0.5), solver).fit(&same, &weights).unwrap();
        assert_eq!((model.n_components(), model.eigenvalues()[0]), (1, 0.0), "{solver}");
    }
    for (n_components, expected) in [
        (NComponents::Variance(1.5), "1.5"),
        (NComponents::Mle, "n_components = mle is not allowed: Minka's estimate is for PCA"),
    ] {
        let error = with(n_components, KernelRoute::Full).fit(&x, &Weights::default()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    let sigmoid = Kernel::Sigmoid { gamma: Gamma::Value(0.1), coef0: 1.0 };
    let indefinite = KernelPca { kernel: sigmoid, ..with(NComponents::Variance(0.5), KernelRoute::Stored) };
    let error = indefinite.fit(&x, &Weights::default()).unwrap_err().to_string();
    assert!(error.ends_with("use solver = full"), "{error}");
}
