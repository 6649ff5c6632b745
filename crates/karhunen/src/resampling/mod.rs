//! Standard errors and confidence intervals of a fit by resampling its rows.
//!
//! [`Bootstrap`] draws rows with replacement, and can keep the fits of all draws for pictures; [`Jackknife`] leaves out
//! one row, or one group of rows, at a time. Both fit the same rows with other weights, align the loadings with those
//! of the data, and make intervals on the same scales. Both take rows for independent, unless they are given groups of
//! dependent ones, such as the [`blocks`] of a series.
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

mod alignment;
mod bootstrap;
mod draws;
mod groups;
mod interval;
mod jackknife;
mod left_out;
mod refits;
mod replicates;

pub use alignment::Alignment;
pub use bootstrap::Bootstrap;
pub use groups::blocks;
pub use interval::Estimates;
pub use jackknife::Jackknife;
pub use refits::Intervals;
pub use replicates::Replicates;
