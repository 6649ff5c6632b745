//! Principal components of categories: multiple correspondence analysis (MCA), and factor analysis of mixed data
//! (FAMD).
//!
//! Each category of each variable has an indicator, one in the rows that have the category and zero elsewhere. Its
//! mean, by the weights of the rows, is the share $p$ of the category. Both analyses are the [`Pca`](crate::Pca) of
//! sparse indicators less their shares:
//!
//! | | indicators are divided by | numbers are | total inertia |
//! |---|---|---|---|
//! | MCA of $q$ variables | $\sqrt{p q}$ | refused | categories / $q$ - 1 |
//! | FAMD | $\sqrt p$ | divided by their deviations | numbers + categories - variables of categories |
//!
//! Eigenvalues are variances with the divisor $\sum w$. Values equal FactoMineR's `MCA` and `FAMD`, signs may
//! differ. Rows that lack a value have the category "missing". A category of rows without weight counts for nothing;
//! its results are NaN, as are squared cosines and v-tests of a category that all rows have.
//!
//! Sources: Greenacre & Blasius (2006), Multiple Correspondence Analysis and Related Methods, Chapman & Hall; Pagès
//! (2004), Analyse factorielle de données mixtes, Revue de statistique appliquée 52, 93-111.

mod column;
mod corrections;
mod encoding;
mod estimator;
mod fit;
mod model;
mod options;
#[cfg(feature = "serde")]
mod record;
mod results;

pub use column::{Column, ColumnValues, are_many_categories};
pub use corrections::{Corrected, Correction};
pub use encoding::Variable;
pub use model::CategoricalModel;
pub use options::{Analysis, CategoricalPca};
pub use results::CategoryResults;
