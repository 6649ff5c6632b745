//! Features and components: contributions, correlations, squared cosines.

use super::samples::at_most_one;
use crate::error::{Error, Result};
use crate::incomplete::IncompleteModel;
use crate::linalg::Matrix;
use crate::pca::PcaModel;

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
    let variance = model.parts().feature_variance.as_ref().ok_or_else(|| Error::ModelValue {
        name: "feature_variance",
        value: "missing".to_owned(),
        rule: "correlations need it; fit the model again with this version",
    })?;
    Ok(relations(model.components(), model.explained_variance(), variance))
}

/// As [`features`], of a model of data with missing values, with the variances of complete rows under the fit:
/// [`IncompleteModel::feature_variance`].
pub fn incomplete_features(model: &IncompleteModel) -> Features {
    let scales = &model.parts().scales;
    let mut variance = model.feature_variance();
    // In the units of the components.
    (0..2).for_each(|_| scales.apply(&mut variance));
    relations(model.components(), model.explained_variance(), &variance)
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
