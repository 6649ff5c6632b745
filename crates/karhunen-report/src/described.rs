//! The kinds of model that a report shows.

use karhunen::{Observed, Run, Scalar, Source};

use crate::page::Content;
use crate::{Error, Report};

/// A model that a report shows: [`karhunen::PcaModel`], [`karhunen::IncompleteModel`] and [`karhunen::KernelModel`], and the
/// first two with rotated components ([`karhunen::rotation::RotatedModel`]).
pub trait Described {
    /// Returns the content of the page of the model alone.
    #[doc(hidden)]
    fn content(&self, report: &Report<'_>) -> Result<Content, Error>;
}

/// A model of rows without missing values.
pub trait DescribedRows: Described {
    /// Returns the content of the page of the model and rows.
    #[doc(hidden)]
    fn content_of_rows<T: Scalar>(
        &self,
        report: &Report<'_>,
        x: &dyn Source<T>,
        run: &Run<'_>,
    ) -> Result<Content, Error>;
}

/// A model of rows with missing values.
pub trait DescribedEntries: Described {
    /// Returns the content of the page of the model and rows.
    #[doc(hidden)]
    fn content_of_entries<T: Scalar>(
        &self,
        report: &Report<'_>,
        rows: &Observed<T>,
        run: &Run<'_>,
    ) -> Result<Content, Error>;
}
