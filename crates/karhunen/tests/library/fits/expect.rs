//! Comparison of a fitted model with the oracle.

use karhunen::pca::Route;
use karhunen::{Matrix, NComponents, Pca, PcaModel, Run, Scalar, Weights};
use karhunen_testkit::{Fit, Options, Rows, Tolerance, check_close, check_components, largest, weighted_pca};

use crate::fits::sources::{Layout, rounded};

/// Every route, and the automatic choice.
pub(crate) const SOLVERS: [Option<Route>; 5] =
    [None, Some(Route::Svd), Some(Route::Covariance), Some(Route::Gram), Some(Route::BlockKrylov)];

/// Tolerance of block Krylov iteration in these tests, small enough to reveal a wrong vector.
pub(crate) const TOL: f64 = 1e-9;

/// A problem and its solution.
#[derive(Clone)]
pub(crate) struct Problem<'a> {
    pub(crate) name: String,
    /// The rows, rounded to the type under test.
    pub(crate) rows: Rows,
    pub(crate) options: Options<'a>,
    pub(crate) oracle: Fit,
}

impl<'a> Problem<'a> {
    pub(crate) fn new<T: Scalar>(name: &str, rows: &[Vec<f64>], options: Options<'a>) -> Self {
        let rows = rounded::<T>(rows);
        let oracle = weighted_pca(&rows, &options);
        Self { name: format!("{name} {}", T::NAME), rows, options, oracle }
    }

    /// The equivalent options of the library.
    pub(crate) fn pca(&self, solver: Option<Route>, n_components: NComponents) -> Pca {
        Pca {
            n_components,
            center: self.options.center.into(),
            scale: self.options.scale.into(),
            weighting: library_weighting(self.options.weighting),
            solver,
            tol: Some(TOL),
            ..Pca::default()
        }
    }

    pub(crate) fn weights(&self) -> Weights<'a> {
        Weights { samples: self.options.sample_weights, features: self.options.feature_weights }
    }

    /// Fits by every given solver in every given layout; returns one message for each failure.
    pub(crate) fn failures<T: Scalar>(
        &self,
        layouts: &[Layout],
        solvers: &[Option<Route>],
        n_components: &[NComponents],
    ) -> Vec<String> {
        let mut failures = Vec::new();
        for &layout in layouts {
            for &solver in solvers {
                for &k in n_components {
                    // The oracle ignores repetitions beyond the number of rows; another test covers components
                    // without variance.
                    let p = self.oracle.mean.len();
                    if k == NComponents::All && self.n_observed().min(p) > self.rows.len() {
                        continue;
                    }
                    let label = format!("{} {layout:?} {solver:?} {k:?}", self.name);
                    let outcome = self.check::<T>(layout, &self.pca(solver, k));
                    failures.extend(outcome.err().map(|message| format!("{label}: {message}")));
                }
            }
        }
        failures
    }

    fn check<T: Scalar>(&self, layout: Layout, pca: &Pca) -> Result<(), String> {
        layout.with::<T, _>(&self.rows, |x| {
            let model = pca.fit_with(x, &self.weights(), &Run::threads(1)).map_err(|e| e.to_string())?;
            self.check_model::<T>(&model, pca, layout)?;
            let scores = model.transform(x).map_err(|e| e.to_string())?;
            self.check_scores(&model, &scores)?;
            let rebuilt = model.inverse_transform(&scores).map_err(|e| e.to_string())?;
            self.check_rebuilt(&model, &scores, &rebuilt)
        })
    }

    /// Perturbation of the covariance by rounding or by the tolerance of the iteration.
    fn perturbation<T: Scalar>(&self, route: Route, layout: Layout) -> Tolerance {
        let oracle = &self.oracle;
        let largest = oracle.explained_variance[0].max(f64::MIN_POSITIVE);
        // Dense rows are centred before they are multiplied. For sparse rows the product of the means is
        // subtracted afterwards, and rounding errors are relative to that product.
        let subtracted = if Layout::DENSE.contains(&layout) {
            0.0
        } else {
            let scaled = |j: usize| oracle.mean[j] / oracle.scale[j] * oracle.root_feature_weights[j];
            oracle.factor * (0..oracle.mean.len()).map(|j| scaled(j).powi(2)).sum::<f64>()
        };
        // Each entry sums n (or p) products, each rounded once; errors of random sign would give the root.
        let multiple = 10.0 + self.rows.len() as f64 + oracle.mean.len() as f64;
        let norm = largest + subtracted;
        match (T::NAME, route) {
            // Sums are in f64, but a product in f32 may round each value once: a few units, independent of the
            // size.
            ("f32", _) => Tolerance { multiple: 8.0, epsilon: f32::EPSILON.into(), norm },
            // The stopping rule, or rounding if that is larger.
            (_, Route::BlockKrylov) => {
                let norm = largest + subtracted * multiple * f64::EPSILON / TOL;
                Tolerance { multiple: 1.0, epsilon: TOL, norm }
            }
            _ => Tolerance { multiple, epsilon: f64::EPSILON, norm },
        }
    }

    /// Number of rows, counting repetitions by integer weights.
    fn n_observed(&self) -> usize {
        match (self.options.weighting, self.options.sample_weights) {
            (karhunen_testkit::Weighting::Frequency, Some(w)) if w.iter().all(|w| w.fract() == 0.0) => {
                w.iter().sum::<f64>() as usize
            }
            _ => self.rows.len(),
        }
    }

    fn check_model<T: Scalar>(&self, model: &PcaModel, pca: &Pca, layout: Layout) -> Result<(), String> {
        let (oracle, k) = (&self.oracle, model.n_components());
        let route = model.convergence().solver;
        if pca.solver.is_some_and(|solver| solver != route) {
            return Err(format!("took the route {route}"));
        }
        let wanted = match pca.n_components {
            NComponents::Count(k) => k,
            _ => self.n_observed().min(oracle.mean.len()),
        };
        if k != wanted {
            return Err(format!("{k} components instead of {wanted}"));
        }
        let perturbation = self.perturbation::<T>(route, layout);
        let largest = |values: &[f64]| largest(values.iter().copied());
        // Moments are f64 sums of n terms for every type; each value is read without rounding.
        let sums = Tolerance { multiple: 10.0 + self.rows.len() as f64, epsilon: f64::EPSILON, norm: 0.0 };
        let checks = [
            check_close(
                "mean",
                model.mean(),
                &oracle.mean,
                Tolerance { norm: largest(&self.rows.concat()), ..sums },
            ),
            check_close(
                "scale",
                model.scale(),
                &oracle.scale,
                Tolerance { norm: largest(&oracle.scale), ..sums },
            ),
            check_close(
                "variance",
                model.explained_variance(),
                &oracle.explained_variance[..k],
                perturbation,
            ),
            check_close(
                "total",
                &[model.total_variance()],
                &[oracle.total_variance],
                Tolerance { norm: oracle.total_variance, ..sums },
            ),
            check_close(
                "ratio",
                model.explained_variance_ratio(),
                &oracle.explained_variance_ratio[..k],
                Tolerance {
                    // Without variance every share is zero.
                    norm: match oracle.total_variance {
                        0.0 => 0.0,
                        total => perturbation.norm / total,
                    },
                    ..perturbation
                },
            ),
            check_components(
                &components(model),
                &oracle.components,
                &oracle.explained_variance,
                perturbation,
            ),
        ];
        for check in checks {
            check.map_err(|mismatch| mismatch.to_string())?;
        }
        self.check_signs(model)?;
        self.check_residuals::<T>(model, layout)?;
        self.check_derived(model)
    }

    fn check_signs(&self, model: &PcaModel) -> Result<(), String> {
        for (i, row) in components(model).iter().enumerate() {
            let (low, high) = row.iter().fold((0.0_f64, 0.0_f64), |(a, b), &x| (a.min(x), b.max(x)));
            // If two entries are equally large, rounding decides which is the largest.
            if high < -low * (1.0 - 1e-9) {
                return Err(format!("component {i}: the largest entry {low} is negative"));
            }
        }
        Ok(())
    }

    /// Checks that reported residuals are not below the true ones, and within the tolerance if the model says so.
    fn check_residuals<T: Scalar>(&self, model: &PcaModel, layout: Layout) -> Result<(), String> {
        let convergence = model.convergence();
        let weights = self.options.sample_weights.map_or_else(|| vec![1.0; self.rows.len()], <[f64]>::to_vec);
        let sum: f64 = weights.iter().sum();
        let standardized = self.oracle.standardized(&self.rows);
        let largest = model.explained_variance()[0];
        if largest == 0.0 {
            return Ok(());
        }
        let unit = self.perturbation::<T>(Route::Svd, layout).allowed() / largest;
        for (i, w) in components(model).iter().enumerate() {
            let mut image = vec![0.0; w.len()];
            for (row, weight) in standardized.iter().zip(&weights) {
                let projected: f64 = row.iter().zip(w).map(|(x, w)| x * w).sum();
                let factor = weight / sum * projected * self.oracle.factor;
                image.iter_mut().zip(row).for_each(|(y, x)| *y += factor * x);
            }
            let variance = model.explained_variance()[i];
            let rest: f64 = image.iter().zip(w).map(|(y, w)| (y - variance * w).powi(2)).sum();
            let (residual, reported) = (rest.sqrt() / largest, convergence.residuals[i]);
            if residual.is_nan() || reported.is_nan() || residual > 1.01 * reported + unit {
                return Err(format!(
                    "component {i}: residual {residual:.2e}, but {reported:.2e} is reported"
                ));
            }
        }
        let within = convergence.residuals.iter().filter(|&&r| r <= TOL).count();
        // Inner products of rows determine a direction to eps * sigma_1 / sigma. Below 1e-12 of the largest
        // variance it may miss the tolerance, which is reported. Products in f32 may miss it for any component.
        let known = model.explained_variance().iter().filter(|&&v| v > 1e-12 * largest);
        // If rounding exceeds the tolerance, no fit can be within it.
        let is_exact = unit <= TOL && (T::NAME == "f64" || convergence.solver != Route::BlockKrylov);
        if within != convergence.n_converged || (is_exact && within < known.count()) {
            return Err(format!(
                "{} of {} converged: {:?}",
                convergence.n_converged, within, convergence.residuals
            ));
        }
        Ok(())
    }

    /// Checks the quantities derived from variances against their definition.
    fn check_derived(&self, model: &PcaModel) -> Result<(), String> {
        let sum: f64 = self.options.sample_weights.map_or(self.rows.len() as f64, |w| w.iter().sum());
        let rounding = Tolerance {
            multiple: 16.0,
            epsilon: f64::EPSILON,
            norm: model.total_variance().max(model.explained_variance()[0]),
        };
        if library_weighting(self.options.weighting) != karhunen::Weighting::Importance {
            let squares: Vec<f64> =
                model.singular_values().iter().map(|s| s * s / sum * self.oracle.factor).collect();
            let check = check_close("singular values", &squares, model.explained_variance(), rounding);
            check.map_err(|mismatch| mismatch.to_string())?;
        }
        let loadings = model.loadings();
        for (i, variance) in model.explained_variance().iter().enumerate() {
            let length: f64 = (0..model.n_features()).map(|j| loadings[(j, i)].powi(2)).sum();
            check_close("squared length of loadings", &[length], &[*variance], rounding)
                .map_err(|m| m.to_string())?;
        }
        Ok(())
    }

    /// Checks that scores are standardized rows times the model's components.
    fn check_scores<T: Scalar>(&self, model: &PcaModel, scores: &Matrix<T>) -> Result<(), String> {
        let standardized = self.oracle.standardized(&self.rows);
        let components = components(model);
        let expected: Vec<f64> = standardized
            .iter()
            .flat_map(|row| components.iter().map(|w| row.iter().zip(w).map(|(x, w)| x * w).sum()))
            .collect();
        let found: Vec<f64> = scores.as_slice().iter().map(|z| z.to_f64()).collect();
        check_close("scores", &found, &expected, self.arithmetic::<T>(&standardized))
            .map_err(|m| m.to_string())
    }

    /// Checks that rebuilt rows are scores times components, unscaled, plus the mean.
    fn check_rebuilt<T: Scalar>(
        &self,
        model: &PcaModel,
        scores: &Matrix<T>,
        rebuilt: &Matrix<T>,
    ) -> Result<(), String> {
        let (oracle, components) = (&self.oracle, components(model));
        let entry = |i: usize, j: usize| {
            let c = oracle.root_feature_weights[j];
            let standardized: f64 =
                (0..components.len()).map(|r| scores[(i, r)].to_f64() * components[r][j]).sum();
            oracle.mean[j] + if c > 0.0 { standardized / c * oracle.scale[j] } else { 0.0 }
        };
        let expected: Vec<f64> = (0..self.rows.len())
            .flat_map(|i| (0..oracle.mean.len()).map(move |j| (i, j)))
            .map(|(i, j)| entry(i, j))
            .collect();
        let found: Vec<f64> = rebuilt.as_slice().iter().map(|x| x.to_f64()).collect();
        check_close("rebuilt rows", &found, &expected, self.arithmetic::<T>(&self.rows))
            .map_err(|m| m.to_string())
    }

    /// Rounding of a product of rows and components, stored in the type under test, with the rounding of values
    /// that centring subtracts.
    fn arithmetic<T: Scalar>(&self, rows: &[Vec<f64>]) -> Tolerance {
        let length = |row: &Vec<f64>| row.iter().map(|x| x * x).sum::<f64>().sqrt();
        let oracle = &self.oracle;
        let relative =
            (0..oracle.mean.len()).map(|j| oracle.mean[j] / oracle.scale[j] * oracle.root_feature_weights[j]);
        let norm = largest(rows.iter().map(length)) + length(&relative.collect()) + length(&oracle.mean);
        let multiple = if T::NAME == "f32" { 4.0 } else { 10.0 + oracle.mean.len() as f64 };
        Tolerance { multiple, epsilon: T::EPSILON, norm }
    }
}

fn library_weighting(weighting: karhunen_testkit::Weighting) -> karhunen::Weighting {
    match weighting {
        karhunen_testkit::Weighting::Population => karhunen::Weighting::Population,
        karhunen_testkit::Weighting::Frequency => karhunen::Weighting::Frequency,
        karhunen_testkit::Weighting::Importance => karhunen::Weighting::Importance,
    }
}

/// Components as rows.
pub(crate) fn components(model: &PcaModel) -> Rows {
    (0..model.n_components()).map(|i| model.components().row(i).to_vec()).collect()
}

/// Fails with the number of failures and the first one.
#[track_caller]
pub(crate) fn assert_none(failures: &[String]) {
    let shown: Vec<&str> = failures.iter().take(12).map(String::as_str).collect();
    assert!(failures.is_empty(), "{} failures, such as\n{}", failures.len(), shown.join("\n"));
}
