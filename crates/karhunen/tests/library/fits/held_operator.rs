//! Operators that hold the data elsewhere, such as a GPU: a stand-in on the host, which counts what is asked
//! of it.

use std::sync::atomic::{AtomicUsize, Ordering};

use karhunen::exec::Exec;
use karhunen::moments::Moments;
use karhunen::pca::{Centring, Route, Scaling};
use karhunen::{
    Dense, Error, LinOp, Matrix, NComponents, Pca, Profile, Result, Run, Side, Standard, Weighting, Weights,
};
use karhunen_testkit::{
    Rows, Tolerance, assert_close, assert_components, gaussian, integer_weights, row_major,
};

use crate::fits::expect::components;
use crate::fits::sources::Layout;

/// Products with rows in memory, by the defaults of [`LinOp`].
struct ByDefault(Rows);

impl LinOp for ByDefault {
    fn shape(&self) -> (usize, usize) {
        (self.0.len(), self.0[0].len())
    }
    fn apply(&self, v: &Matrix, _: &Exec<'_>) -> Result<Matrix> {
        let entry = |i: usize, c: usize| self.0[i].iter().enumerate().map(|(j, x)| x * v[(j, c)]).sum();
        Ok(Matrix::from_fn(self.0.len(), v.n_cols(), entry))
    }
    fn apply_t(&self, u: &Matrix, _: &Exec<'_>) -> Result<Matrix> {
        let entry = |j: usize, c: usize| self.0.iter().enumerate().map(|(i, row)| row[j] * u[(i, c)]).sum();
        Ok(Matrix::from_fn(self.0[0].len(), u.n_cols(), entry))
    }
}

/// Holds the rows, and standardises them before it multiplies. Products with the data as they are must not be
/// asked for.
struct Held {
    rows: Rows,
    profile: Profile,
    n_products: AtomicUsize,
    n_squares: AtomicUsize,
    n_moments: AtomicUsize,
}

impl Held {
    fn new(rows: &Rows, squares_up_to: usize) -> Self {
        let place = Some("a stand-in".to_owned());
        let [n_products, n_squares, n_moments] = [const { AtomicUsize::new(0) }; 3];
        let profile = Profile { dtype: "f32", squares_up_to, centers_first: true, place };
        Self { rows: rows.clone(), profile, n_products, n_squares, n_moments }
    }

    fn standard(&self, by: Standard<'_>) -> ByDefault {
        let n = self.rows.len();
        let entry =
            |i: usize, j: usize| (self.rows[i][j] - by.center[j]) * by.factor[j] * by.row_factor(i, n);
        ByDefault((0..n).map(|i| (0..self.rows[0].len()).map(|j| entry(i, j)).collect()).collect())
    }

    fn count(counter: &AtomicUsize) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn counts(&self) -> [usize; 3] {
        [&self.n_products, &self.n_squares, &self.n_moments].map(|counter| counter.load(Ordering::Relaxed))
    }
}

impl LinOp for Held {
    fn shape(&self) -> (usize, usize) {
        (self.rows.len(), self.rows[0].len())
    }
    fn apply(&self, _: &Matrix, _: &Exec<'_>) -> Result<Matrix> {
        panic!("n_samples x l values would travel")
    }
    fn apply_t(&self, _: &Matrix, _: &Exec<'_>) -> Result<Matrix> {
        panic!("n_samples x l values would travel")
    }
    fn profile(&self) -> Profile {
        self.profile.clone()
    }
    fn moments(&self, _: &Exec<'_>) -> Result<Moments> {
        Self::count(&self.n_moments);
        let (values, (n, p)) = (row_major(&self.rows), self.shape());
        Moments::of(&Dense::row_major(&values, n, p)?, None, &Run::default())
    }
    fn weighted_moments(&self, shares: &[f64], _: &Exec<'_>) -> Result<Moments> {
        Self::count(&self.n_moments);
        let (values, (n, p)) = (row_major(&self.rows), self.shape());
        Moments::of(&Dense::row_major(&values, n, p)?, Some(shares), &Run::default())
    }
    fn standard_t(&self, by: Standard<'_>, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        Self::count(&self.n_products);
        self.standard(by).apply_t(u, exec)
    }
    fn normal(&self, by: Standard<'_>, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        Self::count(&self.n_products);
        let b = self.standard(by);
        b.apply_t(&b.apply(q, exec)?, exec)
    }
    fn normal_t(&self, by: Standard<'_>, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        Self::count(&self.n_products);
        let b = self.standard(by);
        b.apply(&b.apply_t(u, exec)?, exec)
    }
    fn square(&self, by: Standard<'_>, side: Side, exec: &Exec<'_>) -> Result<Option<Matrix>> {
        if self.profile.squares_up_to == 0 {
            return Ok(None);
        }
        Self::count(&self.n_squares);
        let b = self.standard(by);
        let (n, p) = b.shape();
        let unit = |dim| Matrix::from_fn(dim, dim, |i, j| f64::from(u8::from(i == j)));
        Ok(Some(match side {
            Side::Columns => b.apply_t(&b.apply(&unit(p), exec)?, exec)?,
            Side::Rows => b.apply(&b.apply_t(&unit(n), exec)?, exec)?,
        }))
    }
}

fn rows(n: usize, p: usize, mean: f64) -> Rows {
    let mut rows = gaussian(n, p, 3);
    for row in &mut rows {
        row.iter_mut().enumerate().for_each(|(j, x)| *x = mean + *x / (1.0 + j as f64));
    }
    rows
}

fn within(size: f64) -> Tolerance {
    Tolerance { multiple: 1.0, epsilon: 1e-9, norm: size }
}

/// Both kinds of operators have the components of the rows, with weights of rows and columns.
#[test]
fn every_operator_has_the_components_of_its_rows() {
    for (n, p) in [(90, 40), (40, 90)] {
        let rows = rows(n, p, 0.5);
        let samples: Vec<f64> = integer_weights(n, 3, 4).into_iter().map(f64::from).collect();
        let features: Vec<f64> = (0..p).map(|j| 1.0 + (j % 3) as f64).collect();
        let weights = [(None, None), (Some(&samples[..]), None), (Some(&samples[..]), Some(&features[..]))];
        for (samples, features) in weights {
            for solver in [None, Some(Route::Covariance), Some(Route::Gram), Some(Route::BlockKrylov)] {
                for (center, scale, weighting) in [
                    (Centring::Mean, Scaling::None, Weighting::Frequency),
                    (Centring::Mean, Scaling::Deviation, Weighting::Importance),
                    (Centring::None, Scaling::Pareto, Weighting::Population),
                ] {
                    let pca = Pca {
                        n_components: NComponents::Count(3),
                        center,
                        scale,
                        weighting,
                        solver,
                        tol: Some(1e-11),
                        ..Pca::default()
                    };
                    let weights = Weights { samples, features };
                    let by_svd = Pca { solver: Some(Route::Svd), ..pca.clone() };
                    let expected =
                        Layout::RowMajor.with::<f64, _>(&rows, |x| by_svd.fit(x, &weights)).unwrap();
                    let variance = expected.explained_variance();
                    let by_default = ByDefault(rows.clone());
                    let (products, squares) = (Held::new(&rows, 0), Held::new(&rows, 1000));
                    let ops: [&dyn LinOp; 3] = [&by_default, &products, &squares];
                    for (kind, op) in ops.into_iter().enumerate() {
                        let found = pca.fit_operator_weighted(op, &weights, &Run::default()).unwrap();
                        let name = format!("{n} x {p}, operator {kind}, {solver:?}, {weighting:?}");
                        assert_close(&name, found.explained_variance(), variance, within(variance[0]));
                        assert_close(&name, found.mean(), expected.mean(), within(1.0));
                        assert_close(&name, found.scale(), expected.scale(), within(1.0));
                        let (a, b) = (components(&found), components(&expected));
                        assert_components(&name, &a, &b, variance, within(variance[0]));
                        assert_eq!(found.sum_of_weights(), expected.sum_of_weights(), "{name}");
                        assert!(found.convergence().converged(), "{name}: {:?}", found.convergence());
                    }
                }
            }
        }
    }
}

/// Each product with the data and each square is asked for once and counted.
#[test]
fn few_things_are_asked_of_an_operator() {
    let tall = rows(200, 120, 0.5);
    let squares = Held::new(&tall, 120);
    let model = Pca::new(3).fit_operator(&squares, None).unwrap();
    assert_eq!(squares.counts(), [0, 1, 1]);
    let convergence = model.convergence();
    assert_eq!((convergence.solver, convergence.n_passes), (Route::Covariance, 1));
    assert_eq!(convergence.reason, "up to 120 columns are squared in one pass; on a stand-in");
    assert_eq!((model.parts().dtype.as_str(), convergence.tol), ("f32", 1e-6));

    let products = Held::new(&tall, 119);
    let model = Pca::new(3).fit_operator(&products, None).unwrap();
    let [n_products, n_squares, n_moments] = products.counts();
    assert_eq!((n_squares, n_moments), (0, 1));
    assert_eq!(model.convergence().solver, Route::BlockKrylov);
    assert_eq!(model.convergence().n_passes, 2 * n_products);

    let wide = Held::new(&rows(120, 200, 0.5), 120);
    let model = Pca::new(3).fit_operator(&wide, None).unwrap();
    assert_eq!(model.convergence().solver, Route::Gram);
    // B B' is squared, and the components are one product with B'.
    assert_eq!((wide.counts(), model.convergence().n_passes), ([1, 1, 1], 2));
}

/// A square needs no blocks of products on the host, which a memory limit counts.
#[test]
fn a_square_needs_no_blocks_of_products() {
    let long = rows(20_000, 10, 0.5);
    let pca = Pca { memory_limit: Some(10_000_000), ..Pca::new(3) };
    let refused = pca.fit_operator(&Held::new(&long, 0), None).unwrap_err().to_string();
    assert!(refused.starts_with("blocks of products of the operator"), "{refused}");
    assert_eq!(pca.fit_operator(&Held::new(&long, 10), None).unwrap().n_components(), 3);
}

/// Centres that are subtracted after the products cost digits, which the residuals include.
#[test]
fn only_centres_that_come_after_products_cost_digits() {
    let rows = rows(150, 30, 1e6);
    let pca = Pca { solver: Some(Route::BlockKrylov), tol: Some(1e-9), ..Pca::new(3) };
    let before = pca.fit_operator(&Held::new(&rows, 0), None).unwrap();
    let after = pca.fit_operator(&ByDefault(rows), None).unwrap();
    let worst =
        |model: &karhunen::PcaModel| karhunen_testkit::largest(model.convergence().residuals.iter().copied());
    assert!(worst(&before) < 1e-9 && worst(&after) > 1e-11, "{:e} {:e}", worst(&before), worst(&after));
    assert!(before.convergence().converged());
}

#[test]
fn weights_of_another_length_and_faulty_moments_are_refused() {
    struct Faulty(Held);
    impl LinOp for Faulty {
        fn shape(&self) -> (usize, usize) {
            self.0.shape()
        }
        fn apply(&self, v: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
            self.0.apply(v, exec)
        }
        fn apply_t(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
            self.0.apply_t(u, exec)
        }
        fn weighted_moments(&self, _: &[f64], exec: &Exec<'_>) -> Result<Moments> {
            self.0.moments(exec)
        }
    }
    let op = Faulty(Held::new(&rows(20, 5, 0.0), 0));
    let fit = |weights: &[f64]| {
        let weights = Weights { samples: Some(weights), features: None };
        Pca::new(1).fit_operator_weighted(&op, &weights, &Run::default()).unwrap_err()
    };
    assert!(matches!(fit(&[1.0; 19]), Error::WeightLength { found: 19, expected: 20, .. }));
    let weights: Vec<f64> = (0..20).map(|i| 1.0 + f64::from(i)).collect();
    let error = fit(&weights);
    assert!(matches!(error, Error::Operator { value, .. } if value == 20.0), "{error}");
}
