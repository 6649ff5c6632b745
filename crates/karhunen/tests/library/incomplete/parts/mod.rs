//! Fits of incomplete rows in parts: equal to the fit of all rows, iteration by iteration.

mod engine;
mod equality;
mod least_squares;
mod refusals;
mod resumed;
mod scaled;
mod travelled;
mod variational;

use karhunen::IncompletePca;
use karhunen::incomplete::{Method, Regularization};
use karhunen_testkit::Incomplete;

/// Numbers of rows of the parts of [`problem`].
const SIZES: [usize; 6] = [20, 0, 1, 19, 30, 10];

fn problem() -> Incomplete {
    Incomplete::planted(80, 12, &[3.0, 2.0], 0.5, 0.3, 8)
}

fn options(method: Method, regularization: Option<Regularization>) -> IncompletePca {
    IncompletePca {
        method,
        regularization,
        tol: 0.0,
        max_iter: 15,
        n_starts: Some(1),
        ..IncompletePca::new(2)
    }
}

/// Variational Bayes of data of two components, with more components than the data have.
fn variational(n_components: usize, max_iter: usize) -> IncompletePca {
    IncompletePca { n_components, max_iter, ..options(Method::VbFull, None) }
}
