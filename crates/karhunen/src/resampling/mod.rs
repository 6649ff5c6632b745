//! Standard errors and confidence intervals of a fit by resampling its rows.
//!
//! ```
//! use karhunen::resampling::Bootstrap;
//! use karhunen::{Dense, Pca, Run, Weights};
//! let x: Vec<f64> = (0..90).map(|e| f64::from(e / 3 % 7 * (e % 3 + 1) + e * e % 11)).collect();
//! let bootstrap = Bootstrap { pca: Pca::new(1), n_draws: 200, ..Bootstrap::default() };
//! let found = bootstrap.run(&Dense::row_major(&x, 30, 3)?, &Weights::default(), &Run::default())?;
//! let [lower, upper] = [found.variances.lower[(0, 0)], found.variances.upper[(0, 0)]];
//! assert!(lower < found.variances.estimate[(0, 0)] && found.variances.estimate[(0, 0)] < upper);
//! assert_eq!(found.loadings.lower.shape(), (3, 1));
//! # Ok::<(), karhunen::Error>(())
//! ```

mod bootstrap;
mod draws;
mod interval;

pub use bootstrap::{Alignment, Bootstrap, Intervals};
pub use interval::Estimates;
