//! Matrices known by their products: the fit equals a fit of the explicit matrix.

use karhunen::exec::Exec;
use karhunen::moments::Moments;
use karhunen::pca::{Centring, Route, Scaling};
use karhunen::{Error, Flow, LinOp, Matrix, NComponents, Observer, Pca, Run, Weighting, Weights};
use karhunen_testkit::{Rows, Tolerance, assert_close, assert_components, gaussian};

use crate::fits::expect::components;
use crate::fits::sources::Layout;

/// `L R'` plus a row of means, never multiplied out.
struct LowRank {
    left: Matrix,
    right: Matrix,
    means: Vec<f64>,
}

fn multiply(a: &Matrix, b: &Matrix) -> Matrix {
    Matrix::from_fn(a.n_rows(), b.n_cols(), |i, c| (0..a.n_cols()).map(|k| a[(i, k)] * b[(k, c)]).sum())
}

impl LinOp for LowRank {
    fn shape(&self) -> (usize, usize) {
        (self.left.n_rows(), self.right.n_rows())
    }

    fn apply(&self, v: &Matrix, _: &Exec<'_>) -> karhunen::Result<Matrix> {
        let product = multiply(&self.left, &multiply(&self.right.transposed(), v));
        let mean = |c: usize| self.means.iter().enumerate().map(|(j, m)| m * v[(j, c)]).sum::<f64>();
        let means: Vec<f64> = (0..v.n_cols()).map(mean).collect();
        Ok(Matrix::from_fn(product.n_rows(), v.n_cols(), |i, c| product[(i, c)] + means[c]))
    }

    fn apply_t(&self, u: &Matrix, _: &Exec<'_>) -> karhunen::Result<Matrix> {
        let product = multiply(&self.right, &multiply(&self.left.transposed(), u));
        let sums: Vec<f64> = (0..u.n_cols()).map(|c| (0..u.n_rows()).map(|i| u[(i, c)]).sum()).collect();
        Ok(Matrix::from_fn(product.n_rows(), u.n_cols(), |j, c| product[(j, c)] + self.means[j] * sums[c]))
    }
}

fn matrix(rows: &Rows) -> Matrix {
    Matrix::from_vec(rows.len(), rows[0].len(), rows.concat()).unwrap()
}

fn low_rank(n: usize, p: usize) -> LowRank {
    let mut right = gaussian(p, 6, 2);
    for row in &mut right {
        row.iter_mut().enumerate().for_each(|(k, x)| *x *= 0.6f64.powi(k as i32));
    }
    let means = (0..p).map(|j| (j % 5) as f64 - 1.0).collect();
    LowRank { left: matrix(&gaussian(n, 6, 1)), right: matrix(&right), means }
}

fn rows_of(op: &LowRank) -> Rows {
    let (n, p) = op.shape();
    let product = multiply(&op.left, &op.right.transposed());
    (0..n).map(|i| (0..p).map(|j| product[(i, j)] + op.means[j]).collect()).collect()
}

fn within(size: f64) -> Tolerance {
    Tolerance { multiple: 1.0, epsilon: 1e-9, norm: size }
}

#[test]
fn products_give_the_components_of_the_matrix() {
    let weights = [2.0, 1.0, 0.5].repeat(40);
    for (n, p) in [(120, 70), (70, 120)] {
        let op = low_rank(n, p);
        let rows = rows_of(&op);
        for solver in [None, Some(Route::Covariance), Some(Route::Gram), Some(Route::BlockKrylov)] {
            let given = Centring::Given((0..p).map(|j| (j % 7) as f64 - 2.0).collect());
            let scales = Scaling::Given((0..p).map(|j| 1.0 + (j % 3) as f64).collect());
            let (mean, none) = (Centring::Mean, Scaling::None);
            for (center, scale, n_components, weighting) in [
                (mean.clone(), none.clone(), NComponents::Count(4), Weighting::Frequency),
                (mean.clone(), Scaling::Deviation, NComponents::Count(3), Weighting::Population),
                (Centring::None, none.clone(), NComponents::Variance(0.9), Weighting::Importance),
                (mean, none, NComponents::Variance(0.95), Weighting::Frequency),
                (given, Scaling::Pareto, NComponents::Count(4), Weighting::Frequency),
                (Centring::Mean, scales, NComponents::Count(3), Weighting::Frequency),
            ] {
                for features in [None, Some(&weights[..p])] {
                    let pca = Pca {
                        n_components,
                        center: center.clone(),
                        scale: scale.clone(),
                        weighting,
                        solver,
                        tol: Some(1e-11),
                        ..Pca::default()
                    };
                    let found = pca.fit_operator(&op, features).unwrap();
                    let by_svd = Pca { solver: Some(Route::Svd), ..pca };
                    let weights = Weights { samples: None, features };
                    let expected =
                        Layout::RowMajor.with::<f64, _>(&rows, |x| by_svd.fit(x, &weights)).unwrap();
                    let variance = expected.explained_variance();
                    let (name, size) = (format!("{n} x {p}, {solver:?}, {n_components:?}"), variance[0]);
                    assert_close(&name, found.explained_variance(), variance, within(size));
                    let ratios = expected.explained_variance_ratio();
                    assert_close(&name, found.explained_variance_ratio(), ratios, within(1.0));
                    assert_close(&name, found.mean(), expected.mean(), within(10.0));
                    assert_close(&name, found.scale(), expected.scale(), within(10.0));
                    let (a, b) = (components(&found), components(&expected));
                    assert_components(&name, &a, &b, variance, within(size));
                    assert!(found.convergence().converged(), "{name}");
                }
            }
        }
    }
}

#[test]
fn all_components_come_from_products_with_unit_vectors() {
    for (n, p, route) in [(90, 80, Route::Covariance), (80, 90, Route::Gram)] {
        let op = low_rank(n, p);
        let model = Pca::default().fit_operator(&op, None).unwrap();
        assert_eq!((model.convergence().solver, model.n_components()), (route, n.min(p)));
        assert!(model.explained_variance()[6] < 1e-12 * model.explained_variance()[0]);
    }
}

/// An iteration for this number of components would multiply more vectors than there are unit vectors.
#[test]
fn nearly_all_components_take_the_complete_route() {
    let op = low_rank(300, 200);
    let by = |k: usize, solver| Pca { solver, ..Pca::new(k) }.fit_operator(&op, None).unwrap();
    let (few, many) = (by(5, None), by(190, None));
    assert_eq!(few.convergence().solver, Route::BlockKrylov);
    assert_eq!(many.convergence().solver, Route::Covariance);
    let reason = "an iteration for 190 components multiplies more vectors than the 200 unit vectors";
    assert_eq!(many.convergence().reason, reason);
    let variance = many.explained_variance();
    assert_close("5 of 190", &variance[..5], few.explained_variance(), within(variance[0]));
}

/// An operator with known moments, which must not be multiplied by unit vectors.
struct Known {
    op: LowRank,
    moments: Moments,
    most_columns: usize,
}

impl LinOp for Known {
    fn shape(&self) -> (usize, usize) {
        self.op.shape()
    }
    fn apply(&self, v: &Matrix, exec: &Exec<'_>) -> karhunen::Result<Matrix> {
        assert!(v.n_cols() <= self.most_columns, "{} columns at a time", v.n_cols());
        self.op.apply(v, exec)
    }
    fn apply_t(&self, u: &Matrix, exec: &Exec<'_>) -> karhunen::Result<Matrix> {
        self.op.apply_t(u, exec)
    }
    fn moments(&self, _: &Exec<'_>) -> karhunen::Result<Moments> {
        Ok(self.moments.clone())
    }
}

#[test]
fn known_moments_are_used() {
    let op = low_rank(200, 150);
    let expected = Pca::new(2).fit_operator(&op, None).unwrap();
    let moments = op.moments(&Exec::sequential()).unwrap();
    let known = Known { op, moments, most_columns: 63 };
    let found = Pca::new(2).fit_operator(&known, None).unwrap();
    assert_eq!(found.explained_variance(), expected.explained_variance());
    // Only blocks of the iteration, each multiplied on both sides.
    assert!(found.convergence().n_passes.is_multiple_of(2), "{}", found.convergence().n_passes);
    let known = Known { most_columns: 64, ..known };
    let stopped = Pca { solver: Some(Route::Covariance), ..Pca::new(2) }.fit_operator_with(
        &known,
        None,
        &Run::observed(&Impatient),
    );
    assert!(matches!(stopped, Err(Error::Stopped { .. })));
    let Known { op, moments, .. } = known;
    let message = |moments: Moments, op| {
        let known = Known { op, moments, most_columns: 63 };
        let error = Pca::new(2).fit_operator(&known, None).unwrap_err().to_string();
        (error, known.op)
    };
    let (text, op) = message(Moments::empty(150), op);
    assert_eq!(text, "the moments of the operator: 0 rows, but 200 are needed");
    let (text, op) = message(Moments { weight: 100.0, ..moments.clone() }, op);
    assert!(text.contains("every row of an operator counts once"), "{text}");
    let mut negative = moments;
    negative.sum_of_squares[7] = -1.0;
    assert!(message(negative, op).0.contains("column 7"));
}

/// An operator with faulty products.
struct Faulty {
    value: f64,
    rows: usize,
}

impl LinOp for Faulty {
    fn shape(&self) -> (usize, usize) {
        (5, 3)
    }
    fn apply(&self, v: &Matrix, _: &Exec<'_>) -> karhunen::Result<Matrix> {
        Ok(Matrix::from_fn(
            self.rows,
            v.n_cols(),
            |i, c| if (i, c) == (1, 2) { self.value } else { i as f64 },
        ))
    }
    fn apply_t(&self, _: &Matrix, _: &Exec<'_>) -> karhunen::Result<Matrix> {
        Err(Error::Read { row: None, source: "the network is down".into() })
    }
}

struct FaultyWithMoments(Faulty, Moments);

impl LinOp for FaultyWithMoments {
    fn shape(&self) -> (usize, usize) {
        self.0.shape()
    }
    fn apply(&self, v: &Matrix, exec: &Exec<'_>) -> karhunen::Result<Matrix> {
        self.0.apply(v, exec)
    }
    fn apply_t(&self, u: &Matrix, exec: &Exec<'_>) -> karhunen::Result<Matrix> {
        self.0.apply_t(u, exec)
    }
    fn moments(&self, _: &Exec<'_>) -> karhunen::Result<Moments> {
        Ok(self.1.clone())
    }
}

#[test]
fn faulty_products_are_refused_by_name() {
    let message = |pca: &Pca, op: &Faulty| pca.fit_operator(op, None).unwrap_err().to_string();
    let pca = Pca::new(1);
    assert!(message(&pca, &Faulty { value: f64::NAN, rows: 5 }).starts_with("row 1, column 2 is NaN"));
    let known = Moments { n_samples: 5, weight: 5.0, weight_squared: 5.0, ..Moments::empty(3) };
    let op = FaultyWithMoments(Faulty { value: f64::NAN, rows: 5 }, known);
    assert_eq!(
        Pca { center: false.into(), ..Pca::new(3) }.fit_operator(&op, None).unwrap_err().to_string(),
        "a product of the operator is NaN, which is not allowed: products are finite"
    );
    assert_eq!(
        message(&pca, &Faulty { value: 0.0, rows: 4 }),
        "a product of the operator: 4 rows, but 5 are needed"
    );
    assert!(message(&pca, &Faulty { value: 0.0, rows: 5 }).contains("the network is down"));
    assert!(
        message(&Pca::new(1).scale(Scaling::Range), &Faulty { value: 0.0, rows: 5 }).contains("not values")
    );
    let svd = Pca { solver: Some(Route::Svd), ..Pca::new(1) };
    assert_eq!(
        message(&svd, &Faulty { value: 0.0, rows: 5 }),
        "solver = svd is not allowed: an operator has products, not rows: use covariance, gram or block-krylov"
    );
}

/// Columns far from zero, and a constant one: the residuals include the digits that centring loses.
#[test]
fn residuals_bound_the_error_of_far_and_constant_columns() {
    for mean in [1e3, 1e5, 1e7] {
        let mut op = low_rank(150, 60);
        op.means.fill(mean);
        for k in 0..6 {
            op.right[(9, k)] = 0.0;
        }
        let rows = rows_of(&op);
        let pca = Pca { tol: Some(1e-4), ..Pca::new(3) };
        let found = pca.fit_operator(&op, None).unwrap();
        let by_svd = Pca { solver: Some(Route::Svd), ..pca };
        let expected =
            Layout::RowMajor.with::<f64, _>(&rows, |x| by_svd.fit(x, &Weights::default())).unwrap();
        let variance = expected.explained_variance();
        let residuals = &found.convergence().residuals;
        let largest = residuals.iter().copied().fold(0.0, |a, b| if b > a { b } else { a });
        assert!(largest > 0.0 && largest < 1e-14 * mean + 1e-7, "{mean:e}: {largest:e}");
        for (found, expected) in found.explained_variance().iter().zip(variance) {
            assert!(
                (found - expected).abs() <= (largest + 1e-9) * variance[0],
                "{mean:e}: {found} {expected}"
            );
        }
        assert!(found.convergence().converged(), "{mean:e}");
        for k in 0..3 {
            assert!(found.components()[(k, 9)].abs() < 1e-9, "{mean:e}: {}", found.components()[(k, 9)]);
        }
    }
}

struct Impatient;

impl Observer for Impatient {
    fn update(&self, _: &'static str, _: f64) -> Flow {
        Flow::Stop
    }
}

#[test]
fn a_fit_of_an_operator_can_be_cancelled() {
    let error =
        Pca::new(2).fit_operator_with(&low_rank(200, 150), None, &Run::observed(&Impatient)).unwrap_err();
    assert!(matches!(error, Error::Stopped { .. }), "{error}");
}
