//! A fitted model whose leading components are rotated.

use crate::error::{Error, Result, options};
use crate::exec::Run;
use crate::incomplete::{IncompleteModel, Observed};
use crate::linalg::Matrix;
use crate::pca::{PcaModel, Transform};
use crate::rotation::components::Components;
use crate::rotation::rotated::WITHOUT_VARIANCE;
use crate::rotation::{Criterion, Rotation};
use crate::scalar::{Scalar, largest};
use crate::source::Source;

/// A fitted model whose leading components are rotated; the model itself is not changed. It is of complete data
/// ([`PcaModel`]), or of data with missing values ([`IncompleteModel`]).
///
/// Scores of rotated components have unit variance over the rows of the fit, as in psych's `principal`; without
/// centring, unit mean square. Scores of rows with missing values are estimates, which have less.
///
/// ```
/// use karhunen::rotation::{Criterion, Orthomax, RotatedModel};
/// use karhunen::{Dense, Pca, Run, Weights};
/// let x: [f64; 12] = [2.0, 1.0, 0.0, 1.0, 2.0, 1.0, 4.0, 3.0, 5.0, 0.0, 1.0, 3.0];
/// let x = Dense::row_major(&x, 4, 3)?;
/// let model = Pca::new(2).fit(&x, &Weights::default())?;
/// let varimax = Criterion::Orthomax(Orthomax::varimax());
/// let rotated = RotatedModel::new(model.clone(), None, varimax, &Run::default())?;
/// let scores = rotated.transform_with(&x, &Run::default())?;
/// // The rotated components reproduce the same rows.
/// let (ours, usual) =
///     (rotated.inverse_transform_with(&scores, &Run::default())?, model.inverse_transform(&model.transform(&x)?)?);
/// assert!(ours.as_slice().iter().zip(usual.as_slice()).all(|(a, b)| (a - b).abs() < 1e-12));
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RotatedModel<M = PcaModel> {
    model: M,
    criterion: Criterion,
    rotation: Rotation,
}

/// Share of the largest feature weight up to which a feature has none.
const WITHOUT_WEIGHT: f64 = 1e-12;

impl<M: Components> RotatedModel<M> {
    /// Rotates the loadings of the `n_components` leading components; of all that have variance if `None`.
    ///
    /// # Errors
    /// [`Error::Option`] for more components than the model has, and for components without variance; errors of the
    /// criterion; [`Error::Stopped`]. If the iterations do not converge, [`Rotation::converged`] is false.
    pub fn new(model: M, n_components: Option<usize>, criterion: Criterion, run: &Run<'_>) -> Result<Self> {
        let variances = model.explained_variance();
        let k = n_components.unwrap_or_else(|| {
            let least = WITHOUT_VARIANCE * variances.first().copied().unwrap_or(0.0);
            variances.iter().filter(|variance| **variance > least).count().max(1)
        });
        if k > variances.len() {
            let rule = format!("the model has {} components", variances.len());
            return Err(Error::option(options::N_COMPONENTS, k, rule));
        }
        let of_loadings = match &criterion {
            Criterion::Procrustes { target } => {
                Criterion::Procrustes { target: with_units(target, &units(&model), |x, unit| x * unit) }
            }
            other => other.clone(),
        };
        let loadings = leading_loadings(&model, k);
        let rotation = if criterion.kaiser() {
            let found = of_loadings.rotate_with(&of_weight(&model, &loadings), run)?;
            Rotation::of(&loadings, found.rotation, (found.n_iter, found.converged))?
        } else {
            of_loadings.rotate_with(&loadings, run)?
        };
        Ok(Self { rotation: in_units(rotation, &units(&model)), model, criterion })
    }

    /// The model as it was fitted, with all its components.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// As [`RotatedModel::model`], without the rotation.
    pub fn into_model(self) -> M {
        self.model
    }

    /// The criterion of the rotation.
    pub fn criterion(&self) -> &Criterion {
        &self.criterion
    }

    /// The rotated loadings and all that follows from them. Pattern, structure and communalities are of the features,
    /// scaled if the fit scaled them, without their weights; the variances refer to weighted features.
    pub fn rotation(&self) -> &Rotation {
        &self.rotation
    }

    /// Number of rotated components.
    pub fn n_components(&self) -> usize {
        self.rotation.variances.len()
    }

    /// The variances of the rotated components as shares of the total variance; zeros for data without variance.
    pub fn explained_variance_ratio(&self) -> Vec<f64> {
        match self.model.total_variance() {
            total if total > 0.0 => self.rotation.shares(total),
            _ => vec![0.0; self.n_components()],
        }
    }

    /// Scores of the rotated components, shape (n_rows, n_components), from scores of the model, shape (n_rows, number
    /// of components of the model).
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of columns.
    pub fn of_scores<T: Scalar>(&self, scores: &Matrix<T>) -> Result<Matrix<T>> {
        check_columns(scores, self.model.n_components())?;
        Ok(self.rotation.of_leading(scores, self.model.explained_variance()))
    }

    /// Scores of the model, shape (n_rows, number of components of the model), from scores of the rotated components,
    /// shape (n_rows, n_components); zero along components that are not rotated.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of columns.
    pub fn to_scores<T: Scalar>(&self, scores: &Matrix<T>) -> Result<Matrix<T>> {
        self.rotation.to_scores(scores, self.model.explained_variance())
    }

    /// Restores a rotated model from the rotation M of the loadings, shape (k, k), and the number and convergence of its
    /// iterations, without rotating again.
    ///
    /// # Errors
    /// [`Error::Shape`] unless M is square with at most as many columns as the model has components;
    /// [`Error::Decomposition`] for a singular M.
    pub fn of_matrix(
        model: M,
        criterion: Criterion,
        rotation: Matrix,
        outcome: (usize, bool),
    ) -> Result<Self> {
        let (rows, k) = rotation.shape();
        if rows != k || k == 0 || k > model.n_components() {
            let (found, expected) = (rows.max(k), model.n_components().min(k));
            return Err(Error::Shape { what: "the rotation", axis: "rows", found, expected });
        }
        let rotation = Rotation::of(&leading_loadings(&model, k), rotation, outcome)?;
        Ok(Self { rotation: in_units(rotation, &units(&model)), model, criterion })
    }
}

impl RotatedModel {
    /// Scores of the rotated components, shape (n_rows, n_components), in the type of `x`.
    ///
    /// # Errors
    /// As [`PcaModel::transform_with`].
    pub fn transform_with<T: Scalar>(&self, x: &dyn Source<T>, run: &Run<'_>) -> Result<Matrix<T>> {
        self.of_scores(&self.model.transform_with(x, Transform::default(), run)?)
    }

    /// Maps scores of the rotated components, shape (n_rows, n_components), to rows, as the rotated components reproduce
    /// them; scores of zero leave a component out.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of columns; as [`PcaModel::inverse_transform_with`].
    pub fn inverse_transform_with<T: Scalar>(&self, scores: &Matrix<T>, run: &Run<'_>) -> Result<Matrix<T>> {
        self.model.inverse_transform_with(&self.to_scores(scores)?, Transform::default(), run)
    }
}

impl RotatedModel<IncompleteModel> {
    /// Scores of the rotated components of rows with missing values, shape (n_rows, n_components).
    ///
    /// # Errors
    /// As [`IncompleteModel::transform_with`].
    pub fn transform_with<T: Scalar>(&self, rows: &Observed<T>, run: &Run<'_>) -> Result<Matrix> {
        self.of_scores(&self.model.transform_with(rows, run)?)
    }

    /// Maps scores of the rotated components, shape (n_rows, n_components), to rows, as the rotated components reproduce
    /// them with row offsets of zero; scores of zero leave a component out.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of columns; as [`IncompleteModel::inverse_transform_with`].
    pub fn inverse_transform_with(&self, scores: &Matrix, run: &Run<'_>) -> Result<Matrix> {
        self.model.inverse_transform_with(&self.to_scores(scores)?, run)
    }
}

/// Refuses scores of another number of components.
fn check_columns<T: Scalar>(scores: &Matrix<T>, expected: usize) -> Result<()> {
    match scores.n_cols() {
        found if found == expected => Ok(()),
        found => Err(Error::Shape { what: "scores", axis: "columns", found, expected }),
    }
}

/// The loadings of the `k` leading components, shape (p, k).
fn leading_loadings(model: &impl Components, k: usize) -> Matrix {
    let loadings = model.loadings();
    Matrix::from_fn(loadings.n_rows(), k, |j, c| loadings[(j, c)])
}

/// The loadings with zeros in the rows of features of no weight, such as the poles of a grid, whose cosine is rounding:
/// Kaiser's normalisation would make them as long as all others.
fn of_weight(model: &impl Components, loadings: &Matrix) -> Matrix {
    let weights = model.feature_weights().unwrap_or_default();
    let least = WITHOUT_WEIGHT * largest(weights.iter().copied());
    let counts = |j: usize| weights.get(j).is_none_or(|weight| *weight > least);
    let (p, k) = loadings.shape();
    Matrix::from_fn(p, k, |j, c| if counts(j) { loadings[(j, c)] } else { 0.0 })
}

/// The roots of the feature weights by which loadings of the model are larger than loadings of its features; one for
/// a weight of zero.
pub(crate) fn units(model: &impl Components) -> Vec<f64> {
    let root = |weight: &f64| if *weight > 0.0 { weight.sqrt() } else { 1.0 };
    let ones = || vec![1.0; model.n_features()];
    model.feature_weights().map_or_else(ones, |weights| weights.iter().map(root).collect())
}

/// The matrix with each entry of row `j` changed by `unit[j]`; a matrix of another height is left as it is.
fn with_units(matrix: &Matrix, units: &[f64], change: impl Fn(f64, f64) -> f64) -> Matrix {
    if matrix.n_rows() != units.len() {
        return matrix.clone();
    }
    Matrix::from_fn(matrix.n_rows(), matrix.n_cols(), |j, c| change(matrix[(j, c)], units[j]))
}

/// The rotation of loadings that are larger than loadings of the features by `units`.
fn in_units(rotation: Rotation, units: &[f64]) -> Rotation {
    let divided = |matrix: &Matrix| with_units(matrix, units, |x, unit| x / unit);
    let communalities = rotation
        .communalities
        .iter()
        .zip(units)
        .map(|(communality, unit)| communality / unit.powi(2))
        .collect();
    Rotation {
        pattern: divided(&rotation.pattern),
        structure: divided(&rotation.structure),
        communalities,
        ..rotation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incomplete::{IncompletePca, Method};
    use crate::linalg::Dense;
    use crate::pca::Pca;
    use crate::rotation::{Oblimin, Orthomax, Promax};
    use crate::scalar::largest_magnitude;
    use crate::testing::test_matrices::{gaussian, max_difference};
    use crate::weights::{Weighting, Weights};

    const N: usize = 60;
    const P: usize = 7;

    /// Three components of different size, and noise, far from zero.
    fn rows() -> Matrix {
        let (scores, loadings, noise) = (gaussian(N, 3, 1, 0), gaussian(3, P, 2, 0), gaussian(N, P, 3, 0));
        Matrix::from_fn(N, P, |i, j| {
            let signal: f64 = (0..3).map(|c| scores[(i, c)] * loadings[(c, j)] * (3.0 - c as f64)).sum();
            20.0 * j as f64 + signal * (1.0 + j as f64) + 0.3 * noise[(i, j)]
        })
    }

    fn criteria() -> [Criterion; 5] {
        [
            Criterion::Orthomax(Orthomax::varimax()),
            Criterion::Orthomax(Orthomax::quartimax()),
            Criterion::Promax(Promax::default()),
            Criterion::Oblimin(Oblimin::default()),
            Criterion::Procrustes { target: gaussian(P, 3, 9, 0) },
        ]
    }

    /// Options, weights of rows and of columns.
    type Fit = (Pca, Option<Vec<f64>>, Option<Vec<f64>>);

    fn fits() -> [Fit; 4] {
        let samples: Vec<f64> = (0..N).map(|i| f64::from(i as u8 % 4)).collect();
        let features = vec![1.0, 4.0, 0.25, 1.0, 9.0, 2.0, 1.0];
        [
            (Pca::new(4), None, None),
            (Pca::new(4).scale(true), Some(samples.clone()), None),
            (Pca::new(4).scale(true), None, Some(features)),
            (Pca { weighting: Weighting::Importance, ..Pca::new(4).center(false) }, Some(samples), None),
        ]
    }

    /// Mean products of the columns, with weights, and with the divisor of the fit.
    fn covariance(model: &PcaModel, scores: &Matrix, samples: Option<&[f64]>) -> Matrix {
        let weight = |i: usize| samples.map_or(1.0, |w| w[i]);
        let sum: f64 = (0..N).map(weight).sum();
        let squares: f64 = (0..N).map(|i| (weight(i) / sum).powi(2)).sum();
        let divisor = match model.options().weighting {
            Weighting::Importance => sum * (1.0 - squares),
            _ => sum - 1.0,
        };
        Matrix::from_fn(3, 3, |a, b| {
            (0..N).map(|i| weight(i) * scores[(i, a)] * scores[(i, b)]).sum::<f64>() / divisor
        })
    }

    #[test]
    fn a_feature_of_no_weight_has_no_vote() {
        let x = rows();
        let fewer = Matrix::from_fn(N, P - 1, |i, j| x[(i, j)]);
        let weights: Vec<f64> = (0..P).map(|j| if j < P - 1 { 1.0 } else { 6e-17 }).collect();
        let fit = |x: &Matrix, weights: Option<&[f64]>| {
            let weights = Weights { samples: None, features: weights };
            Pca::new(3).fit(&Dense::from(x), &weights).unwrap()
        };
        let varimax = || Criterion::Orthomax(Orthomax::varimax());
        let rotated = |model| RotatedModel::new(model, None, varimax(), &Run::default()).unwrap();
        let (all, fewer) = (rotated(fit(&x, Some(&weights))), rotated(fit(&fewer, None)));
        for c in 0..3 {
            let (found, expected) = (all.rotation().variances[c], fewer.rotation().variances[c]);
            assert!((found - expected).abs() < 1e-8 * expected, "{c}: {found} {expected}");
        }
        // Its own loadings are rotated with the others, and are in the units of the feature.
        assert!(all.rotation().pattern.row(P - 1).iter().any(|x| x.abs() > 0.1));
    }

    #[test]
    fn scores_have_the_correlations_and_reproduce_what_the_components_do() {
        let x = rows();
        let source = Dense::from(&x);
        for (pca, samples, features) in fits() {
            let weights = Weights { samples: samples.as_deref(), features: features.as_deref() };
            let model = pca.fit(&source, &weights).unwrap();
            let three = Pca { n_components: 3.into(), ..pca }.fit(&source, &weights).unwrap();
            let expected = three.inverse_transform(&three.transform(&source).unwrap()).unwrap();
            for criterion in criteria() {
                let rotated = RotatedModel::new(model.clone(), Some(3), criterion, &Run::default()).unwrap();
                assert!(rotated.rotation().converged);
                let scores = rotated.transform_with(&source, &Run::default()).unwrap();
                let found = covariance(&model, &scores, samples.as_deref());
                let correlations = &rotated.rotation().component_correlations;
                assert!(max_difference(&found, correlations) < 1e-9, "{}", rotated.criterion());
                let back = rotated.inverse_transform_with(&scores, &Run::default()).unwrap();
                assert!(max_difference(&back, &expected) < 1e-9, "{}", rotated.criterion());
                // The pattern gives the same rows, in the units of the data.
                let pattern = &rotated.rotation().pattern;
                for i in 0..N {
                    for j in 0..P {
                        let sum: f64 = (0..3).map(|c| scores[(i, c)] * pattern[(j, c)]).sum();
                        let value = model.mean()[j] + model.scale()[j] * sum;
                        assert!((value - expected[(i, j)]).abs() < 1e-9);
                    }
                }
                let share: f64 = rotated.explained_variance_ratio().iter().sum();
                assert!((share - three.explained_variance_ratio().iter().sum::<f64>()).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn f32_rows_have_the_same_scores_in_their_type() {
        let x = rows();
        let single: Matrix<f32> = Matrix::from_fn(N, P, |i, j| x[(i, j)] as f32);
        let model = Pca::new(3).fit(&Dense::from(&x), &Weights::default()).unwrap();
        let varimax = Criterion::Orthomax(Orthomax::varimax());
        let rotated = RotatedModel::new(model, None, varimax, &Run::default()).unwrap();
        let scores = rotated.transform_with(&Dense::from(&x), &Run::default()).unwrap();
        let of_single = rotated.transform_with(&Dense::from(&single), &Run::default()).unwrap();
        for (a, b) in scores.as_slice().iter().zip(of_single.as_slice()) {
            assert!((a - f64::from(*b)).abs() < 1e-5);
        }
    }

    #[test]
    fn a_target_is_in_the_units_of_the_pattern() {
        let (pca, _, features) = fits()[2].clone();
        let x = rows();
        let weights = Weights { samples: None, features: features.as_deref() };
        let model = pca.fit(&Dense::from(&x), &weights).unwrap();
        let rotate =
            |criterion| RotatedModel::new(model.clone(), Some(3), criterion, &Run::default()).unwrap();
        let varimax = rotate(Criterion::Orthomax(Orthomax::varimax()));
        let target = varimax.rotation().pattern.clone();
        let again = rotate(Criterion::Procrustes { target: target.clone() });
        assert!(max_difference(&again.rotation().pattern, &target) < 1e-9);
        let error =
            RotatedModel::new(model.clone(), Some(2), Criterion::Procrustes { target }, &Run::default());
        assert!(matches!(error, Err(Error::Shape { what: "the target", axis: "columns", .. })));
    }

    #[test]
    fn components_beyond_the_model_or_without_variance_are_refused_and_left_out() {
        let x = Matrix::from_fn(6, 3, |i, j| if j < 2 { ((i + 1) * (j + 2) % 5) as f64 } else { 1.0 });
        let model = Pca::default().fit(&Dense::from(&x), &Weights::default()).unwrap();
        let varimax = || Criterion::Orthomax(Orthomax::varimax());
        let rotated = RotatedModel::new(model.clone(), None, varimax(), &Run::default()).unwrap();
        assert_eq!((model.n_components(), rotated.n_components()), (3, 2));
        let error = RotatedModel::new(model.clone(), Some(4), varimax(), &Run::default()).unwrap_err();
        assert!(error.to_string().contains("the model has 3 components"), "{error}");
        assert!(RotatedModel::new(model, Some(3), varimax(), &Run::default()).is_err());
        let wide = rotated.inverse_transform_with(&Matrix::<f64>::zeros(1, 3), &Run::default());
        assert!(matches!(wide, Err(Error::Shape { what: "scores", found: 3, expected: 2, .. })));
    }

    #[cfg(feature = "serde")]
    #[test]
    fn a_record_restores_the_model_and_damage_is_an_error() {
        use crate::record::{Record, Recorded};
        let x = rows();
        let (pca, _, features) = fits()[2].clone();
        let weights = Weights { samples: None, features: features.as_deref() };
        let model = pca.fit(&Dense::from(&x), &weights).unwrap();
        for criterion in criteria() {
            let rotated = RotatedModel::new(model.clone(), Some(3), criterion, &Run::default()).unwrap();
            let record = rotated.to_record().unwrap();
            assert_eq!(RotatedModel::<PcaModel>::from_record(&mut record.clone()).unwrap(), rotated);
            assert!(PcaModel::from_record(&mut record.clone()).is_err());
            let damage = |name: &str, shape: [usize; 2]| {
                let mut record: Record<'_> = record.clone();
                record.arrays.retain(|array| array.name != name);
                record.put(name, &shape, vec![0.5; shape[0] * shape[1]]);
                RotatedModel::<PcaModel>::from_record(&mut record)
            };
            for shape in [[2, 3], [5, 5], [0, 0], [3, 3]] {
                assert!(damage("rotation", shape).is_err(), "{shape:?}");
            }
            if matches!(rotated.criterion(), Criterion::Procrustes { .. }) {
                assert!(damage("target", [P, 2]).is_err());
            }
        }
        let model = IncompletePca { method: Method::Ppca, ..IncompletePca::new(3) };
        let model = model.fit(&incomplete_rows()).unwrap();
        for criterion in criteria() {
            let rotated = RotatedModel::new(model.clone(), Some(3), criterion, &Run::default()).unwrap();
            let record = rotated.to_record().unwrap();
            let again = RotatedModel::<IncompleteModel>::from_record(&mut record.clone()).unwrap();
            // NaN marks values of a trace that were not computed, so models are compared as text.
            assert_eq!(format!("{again:?}"), format!("{rotated:?}"));
            assert!(IncompleteModel::from_record(&mut record.clone()).is_err());
            assert!(RotatedModel::<PcaModel>::from_record(&mut record.clone()).is_err());
        }
    }

    /// The rows of [`rows`] with every seventh entry missing.
    fn incomplete_rows() -> Observed<f64> {
        let x = rows();
        let incomplete =
            Matrix::from_fn(N, P, |i, j| if (i * P + j) % 7 == 3 { f64::NAN } else { x[(i, j)] });
        Observed::from_dense(&Dense::from(&incomplete)).unwrap()
    }

    #[test]
    fn models_of_complete_rows_rotate_alike_however_they_were_fitted() {
        let x = rows();
        let pca = Pca::new(3).fit(&Dense::from(&x), &Weights::default()).unwrap();
        let em = IncompletePca { method: Method::Em, tol: 1e-14, ..IncompletePca::new(3) };
        let em = em.fit(&Observed::from_dense(&Dense::from(&x)).unwrap()).unwrap();
        for criterion in criteria() {
            let usual = RotatedModel::new(pca.clone(), None, criterion.clone(), &Run::default()).unwrap();
            let found = RotatedModel::new(em.clone(), None, criterion, &Run::default()).unwrap();
            // The iterations stop within 1e-6 of the components.
            let scale = 1e-4 * largest_magnitude(usual.rotation().pattern.as_slice());
            assert!(max_difference(&found.rotation().pattern, &usual.rotation().pattern) < scale);
            let scores = usual.transform_with(&Dense::from(&x), &Run::default()).unwrap();
            let rows = Observed::from_dense(&Dense::from(&x)).unwrap();
            assert!(max_difference(&found.transform_with(&rows, &Run::default()).unwrap(), &scores) < 1e-3);
        }
    }

    #[test]
    fn rotated_components_of_incomplete_rows_reproduce_what_the_components_do() {
        let rows = incomplete_rows();
        let weighted = rows.clone().with_feature_weights(&[1.0, 4.0, 0.25, 1.0, 9.0, 2.0, 1.0]).unwrap();
        for (method, scale, data) in
            [(Method::Ppca, false, &rows), (Method::VbFull, true, &rows), (Method::Em, true, &weighted)]
        {
            let model =
                IncompletePca { method, scale: scale.into(), ..IncompletePca::new(3) }.fit(data).unwrap();
            let expected = model.inverse_transform(&model.transform(&rows).unwrap()).unwrap();
            for criterion in criteria() {
                let rotated = RotatedModel::new(model.clone(), None, criterion, &Run::default()).unwrap();
                let scores = rotated.transform_with(&rows, &Run::default()).unwrap();
                let back = rotated.inverse_transform_with(&scores, &Run::default()).unwrap();
                assert!(max_difference(&back, &expected) < 1e-9, "{} {}", method.name(), rotated.criterion());
                // The pattern gives the same rows, in the units of the data.
                let (pattern, unit) = (&rotated.rotation().pattern, model.scale());
                for i in 0..N {
                    for j in 0..P {
                        let sum: f64 = (0..3).map(|c| scores[(i, c)] * pattern[(j, c)]).sum();
                        let value = model.mean()[j] + unit.map_or(1.0, |unit| unit[j]) * sum;
                        assert!((value - expected[(i, j)]).abs() < 1e-9);
                    }
                }
            }
        }
    }

    #[test]
    fn criteria_are_described() {
        let shown = criteria().map(|criterion| criterion.to_string());
        let expected = [
            "varimax with Kaiser normalisation",
            "quartimax",
            "promax with power 4 and Kaiser normalisation",
            "oblimin with gamma 0",
            "procrustes",
        ];
        assert_eq!(shown, expected);
        let other = Criterion::Orthomax(Orthomax { gamma: 0.5, ..Orthomax::default() });
        assert_eq!(other.to_string(), "orthomax with gamma 0.5 and Kaiser normalisation");
    }
}
