//! Completion of tables with missing values by PCA: the regularised iterative PCA of Josse & Husson, and their choice of
//! the number of components, as the R package missMDA has them.
//!
//! Missing entries are filled, the completed table is fitted, and its fit fills them again, until the fit of the observed
//! entries no longer changes. Shrunken scores keep the fills from following noise (Josse & Husson 2012,
//! doi:10.1016/j.csda.2011.11.003, section 3; Josse & Husson 2016, doi:10.18637/jss.v070.i01, section 2). Means and
//! scales come from the completed table. Tables are held densely: [`crate::IncompletePca`] is for large ones, for error
//! bars of predictions, and for new rows with missing values.
//!
//! ```
//! use karhunen::completion::{IterativePca, choose_n_components};
//! use karhunen::{Matrix, Run};
//! let value = |i: usize, j: usize| ((i * 3 + j) % 7) as f64 + i as f64 * (j + 1) as f64;
//! let mut x = Matrix::from_fn(12, 4, value);
//! x[(2, 1)] = f64::NAN;
//! let found = IterativePca { scale: false, ..IterativePca::new(1) }.complete(&x, None, &Run::default())?;
//! assert!(found.converged && (found.completed[(2, 1)] - value(2, 1)).abs() < 3.0);
//! assert_eq!(found.completed[(3, 1)], value(3, 1));
//! let chosen = choose_n_components(&IterativePca::new(0), &x, None, (0, 2), &Run::default())?;
//! assert_eq!(chosen.criterion.len(), 3);
//! # Ok::<(), karhunen::Error>(())
//! ```

mod gcv;
mod iterative;

pub use gcv::{Chosen, choose_n_components};
pub use iterative::{Completed, IterativePca, Shrinkage};
