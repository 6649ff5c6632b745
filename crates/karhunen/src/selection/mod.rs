//! How many components to keep: one rule per file, all with the same kind of result.
//!
//! Rules of a [`Spectrum`] (the variances of a fit, descending) take no data and cost nothing after the fit;
//! [`of_spectrum`] evaluates all of them. [`Parallel`] compares the variances with random data, which it fits.
//! [`cross_validation`] compares errors of held-out entries. No rule is right for all data: [`suggest`] takes parallel
//! analysis where it is there, and otherwise what several families of rules agree on.
//!
//! A rule that does not apply to the data gives a [`Selection`] without a number, and its reason. Rules compare
//! variances with a relative tolerance of 1e-10, so that rounding does not decide a tie.
//!
//! ```
//! use karhunen::selection::{self, Rule, Spectrum};
//! // Variances of the standardised columns of 50 rows (R's USArrests).
//! let spectrum = Spectrum::new(&[2.4802, 0.9898, 0.3566, 0.1734], 50.0, 4)?.scaled(true);
//! let table = selection::of_spectrum(&spectrum);
//! let kaiser = table.iter().find(|row| row.rule == Rule::Kaiser).unwrap();
//! assert_eq!(kaiser.n_components, Some(1));
//! let jolliffe = table.iter().find(|row| row.rule == Rule::Jolliffe).unwrap();
//! assert_eq!(jolliffe.n_components, Some(2));
//! # Ok::<(), karhunen::Error>(())
//! ```

mod bai_ng;
mod broken_stick;
mod cross_validation;
mod gavish_donoho;
mod gcv;
mod kaiser;
mod marchenko_pastur;
mod minka;
mod north;
mod parallel;
mod result;
mod rule;
mod spectrum;
mod suggestion;
mod table;

pub use bai_ng::{BaiNg, bai_ng};
pub use broken_stick::broken_stick;
pub use cross_validation::{cross_validation, cross_validation_one_error};
pub use gavish_donoho::gavish_donoho;
pub use gcv::gcv;
pub use kaiser::{jolliffe, kaiser};
pub use marchenko_pastur::marchenko_pastur;
pub use minka::minka;
pub use north::{Separation, north};
pub use parallel::{Level, Null, Parallel};
pub use result::{Curve, Selection};
pub use rule::Rule;
pub use spectrum::Spectrum;
pub(crate) use spectrum::check_given;
pub use suggestion::{Answer, Suggestion, suggest};
pub use table::of_spectrum;
