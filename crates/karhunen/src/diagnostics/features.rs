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

/// R² of the leading components, for each number of them: the share of the variance that their reconstruction has. For models of
/// complete data it is the share of the (weighted) sum of squares of the rows, about their means or about zero as the model
/// is centred.
#[derive(Clone, Debug, PartialEq)]
pub struct R2 {
    /// Share of the total variance of scaled and weighted features, shape (n_components,): the cumulative sum of
    /// `explained_variance_ratio`.
    pub total: Vec<f64>,
    /// Share of the variance of each feature, shape (n_features, n_components): the cumulative sum of its squared cosines,
    /// whatever the scaling. The last column is [`Features::communalities`]. NaN for a feature that is constant or has weight
    /// zero.
    pub features: Matrix,
}

/// R² by number of components, in total and of each feature: pcaMethods' `R2cum` and `R2VX` (Stacklies, Redestig, Scholz, Walther &
/// Selbig 2007, doi:10.1093/bioinformatics/btm069).
///
/// ```
/// use karhunen::diagnostics::r2;
/// use karhunen::{Dense, Pca, Weights};
/// let x = [1.0, 2.0, 0.1, 2.0, 3.9, 0.0, 3.0, 6.1, 0.2, 4.0, 8.0, 0.1];
/// let model = Pca::new(2).fit(&Dense::row_major(&x, 4, 3)?, &Weights::default())?;
/// let found = r2(&model)?;
/// assert!(found.total[0] > 0.99 && found.features[(2, 0)] < 0.2 && found.features[(2, 1)] > 0.7);
/// # Ok::<(), karhunen::Error>(())
/// ```
///
/// # Errors
/// As [`features`].
pub fn r2(model: &PcaModel) -> Result<R2> {
    Ok(cumulated(model.explained_variance_ratio(), &features(model)?.cos2))
}

/// As [`r2`], of a model of data with missing values: shares of the variances of complete rows under the fit,
/// [`IncompleteModel::feature_variance`].
pub fn incomplete_r2(model: &IncompleteModel) -> R2 {
    cumulated(model.explained_variance_ratio(), &incomplete_features(model).cos2)
}

/// Cumulative sums of shares of the variance along each component.
fn cumulated(ratios: &[f64], cos2: &Matrix) -> R2 {
    let sums = |shares: &[f64]| {
        let mut sum = 0.0;
        let add = |share: &f64| {
            sum += share;
            at_most_one(sum)
        };
        shares.iter().map(add).collect::<Vec<f64>>()
    };
    let of_features: Vec<Vec<f64>> = (0..cos2.n_rows()).map(|j| sums(cos2.row(j))).collect();
    R2 {
        total: sums(ratios),
        features: Matrix::from_fn(cos2.n_rows(), cos2.n_cols(), |j, k| of_features[j][k]),
    }
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
