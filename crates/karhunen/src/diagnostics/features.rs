//! Features and components: contributions, correlations, squared cosines.

use super::samples::at_most_one;
use crate::error::{Error, Result};
use crate::incomplete::IncompleteModel;
use crate::linalg::Matrix;
use crate::pca::PcaModel;
use crate::rotation::{Components, RotatedModel, units};

/// Relations of features and components.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    /// Share of each feature in the variance of a component, shape (n_features, n_components). Columns sum to one.
    pub contributions: Matrix,
    /// Correlations of features and components, whatever the scaling, shape (n_features, n_components). For a model
    /// without centring, cosines about zero. NaN for a feature that is constant or has weight zero.
    pub correlations: Matrix,
    /// Squared correlations: the share of the variance of a feature that each component explains, shape
    /// (n_features, n_components).
    pub cos2: Matrix,
    /// Communality, the sum of `cos2` over the components: the R² of each feature, shape (n_features,). NaN as above.
    pub communalities: Vec<f64>,
}

/// Relations of the features and components of a model, as FactoMineR's `var$contrib`, `var$cor` and `var$cos2` (Husson,
/// Le & Pages 2017, Exploratory Multivariate Analysis by Example Using R, section 1.3).
///
/// # Errors
/// [`Error::ModelValue`] for a model of an earlier version, which did not keep the variances of the features.
pub fn features(model: &PcaModel) -> Result<Features> {
    Ok(relations(model.components(), model.explained_variance(), feature_variance(model)?))
}

/// As [`features`], of rotated components. If these are correlated, contributions are pattern times structure, as a
/// share of their sum: they may be negative; and squared correlations do not sum to the communality.
///
/// # Errors
/// As [`features`].
pub fn rotated_features(rotated: &RotatedModel) -> Result<Features> {
    Ok(of_rotation(rotated, feature_variance(rotated.model())?))
}

/// As [`rotated_features`], of a model of data with missing values.
pub fn rotated_incomplete_features(rotated: &RotatedModel<IncompleteModel>) -> Features {
    of_rotation(rotated, &incomplete_feature_variance(rotated.model()))
}

/// Relations of features with these variances and rotated components.
fn of_rotation<M: Components>(rotated: &RotatedModel<M>, variance: &[f64]) -> Features {
    let (rotation, units) = (rotated.rotation(), units(rotated.model()));
    let (p, k) = rotation.pattern.shape();
    let of_pair = |f: &dyn Fn(usize, usize) -> f64| Matrix::from_fn(p, k, f);
    let correlations = of_pair(&|j, c| {
        if variance[j] > 0.0 {
            (rotation.structure[(j, c)] * units[j] / variance[j].sqrt()).clamp(-1.0, 1.0)
        } else {
            f64::NAN
        }
    });
    let contributions = of_pair(&|j, c| {
        let product = rotation.pattern[(j, c)] * rotation.structure[(j, c)] * units[j].powi(2);
        if product == 0.0 { 0.0 } else { product / rotation.variances[c] }
    });
    let cos2 = of_pair(&|j, c| correlations[(j, c)].powi(2));
    let communalities = (0..p)
        .map(|j| {
            let share = rotation.communalities[j] * units[j].powi(2) / variance[j];
            if variance[j] > 0.0 { at_most_one(share) } else { f64::NAN }
        })
        .collect();
    Features { contributions, correlations, cos2, communalities }
}

/// The variances of the features in the units of the components.
fn feature_variance(model: &PcaModel) -> Result<&[f64]> {
    model.parts().feature_variance.as_deref().ok_or_else(|| Error::ModelValue {
        name: "feature_variance",
        value: "missing".to_owned(),
        rule: "correlations need it; fit the model again with this version",
    })
}

/// As [`features`], of a model of data with missing values, with the variances of complete rows under the fit:
/// [`IncompleteModel::feature_variance`].
pub fn incomplete_features(model: &IncompleteModel) -> Features {
    relations(model.components(), model.explained_variance(), &incomplete_feature_variance(model))
}

/// As [`feature_variance`], of complete rows under the fit.
fn incomplete_feature_variance(model: &IncompleteModel) -> Vec<f64> {
    let mut variance = model.feature_variance();
    (0..2).for_each(|_| model.parts().scales.apply(&mut variance));
    variance
}

/// Relations of features with these variances and components with the variances `along`.
fn relations(components: &Matrix, along: &[f64], variance: &[f64]) -> Features {
    let shape = (components.n_cols(), components.n_rows());
    let of_pair = |f: &dyn Fn(usize, usize) -> f64| Matrix::from_fn(shape.0, shape.1, f);
    let correlations = of_pair(&|j, k| {
        if variance[j] > 0.0 {
            (components[(k, j)] * (along[k] / variance[j]).sqrt()).clamp(-1.0, 1.0)
        } else {
            f64::NAN
        }
    });
    let cos2 = of_pair(&|j, k| correlations[(j, k)].powi(2));
    let communalities = (0..shape.0).map(|j| at_most_one(cos2.row(j).iter().sum())).collect();
    let contributions = of_pair(&|j, k| components[(k, j)].powi(2));
    Features { contributions, correlations, cos2, communalities }
}
