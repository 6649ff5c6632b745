//! One file per algorithm, with its iteration. `fit/` holds everything around the iterations.

pub(crate) mod als;
pub(crate) mod ccd;
pub(crate) mod conjugate;
pub(crate) mod constant;
pub(crate) mod descent;
pub(crate) mod factorial;
pub(crate) mod full;
pub(crate) mod imputation;
pub(crate) mod iterate;
pub(crate) mod map;
pub(crate) mod online;

use self::als::Als;
use self::ccd::Ccd;
use self::conjugate::Conjugate;
use self::constant::Constant;
use self::descent::{Descent, Metric};
use self::factorial::Factorial;
use self::full::Full;
use self::imputation::Imputation;
use self::iterate::Iterate;
use self::map::MaximumAPosteriori;
use self::online::Online;
use crate::incomplete::options::{IncompletePca, Method};
use crate::incomplete::updates::loading_posteriors::LoadingModel;
use crate::incomplete::updates::preconditioner::{Preconditioner, Sizes};
use crate::incomplete::updates::prepared::Prepared;
use crate::linalg::simd::Lane;

/// Creates the iterations of a method, for `n_entries` entries, each times the multiplicity of its row.
pub(crate) fn of_method<T: Lane>(
    pca: &IncompletePca,
    method: Method,
    prepared: &Prepared,
    n_entries: f64,
) -> Box<dyn Iterate<T>> {
    let mean_squares = prepared.mean_squares(n_entries);
    let mean_square = mean_squares.of_entries;
    let sizes = Sizes::shared(mean_square.sqrt());
    let of_offsets = prepared.offset_variance.map(|offset_variance| offset_variance.variance);
    match method {
        // All entries equal their means: there are no variances to learn.
        _ if method.learns_variances() && mean_square == 0.0 => Box::new(Constant::new(pca, prepared)),
        Method::Em | Method::Als => Box::new(Als),
        Method::Ccd => Box::new(Ccd { inner: pca.inner_iterations }),
        Method::Imputation | Method::Soft => Box::new(Imputation::new()),
        Method::Gradient => Box::new(Descent::new(Metric::Curvature(0.0), sizes, pca.step)),
        Method::Newton => Box::new(Descent::new(Metric::Curvature(pca.alpha), sizes, pca.step)),
        Method::Natural => Box::new(Descent::new(Metric::Natural, sizes, pca.step)),
        Method::Online => Box::new(Online::new(mean_square.sqrt(), pca.online_rule)),
        Method::Ppca => Box::new(Full::new(LoadingModel::Point, mean_squares, of_offsets, 0.0)),
        Method::Map => Box::new(MaximumAPosteriori::new(mean_squares, of_offsets)),
        Method::Vb => Box::new(Factorial::new((true, None), mean_squares, of_offsets, pca.hyperprior)),
        Method::VbFixed => {
            Box::new(Factorial::new((false, pca.prior_variance), mean_squares, of_offsets, pca.hyperprior))
        }
        Method::VbFull => {
            Box::new(Full::new(LoadingModel::Posterior, mean_squares, of_offsets, pca.hyperprior))
        }
        Method::Cg | Method::Ridge | Method::Auto => {
            Box::new(Conjugate::new(Preconditioner { alpha: pca.alpha, sizes }))
        }
    }
}
