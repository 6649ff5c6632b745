//! Reports of fitted principal components as one HTML file, which opens without a network.
//!
//! A report shows a model, and the rows of the fit or new ones if they are given. Its numbers are from
//! [`karhunen::diagnostics`] and [`karhunen::selection`]; this crate selects, rounds and describes them, and reads and writes no
//! files. The page holds its style, its program and the plotting library (Apache ECharts, in `assets/echarts`), and forbids
//! every request by its content security policy. Names from the data are text everywhere, never markup.
//!
//! ```
//! use karhunen::{Dense, Pca, Weights};
//! use karhunen_report::Report;
//! let x = [1.0, 2.0, 0.0, 2.0, 4.1, 1.0, 3.0, 5.9, 0.0, 4.0, 8.0, 1.0, 5.0, 9.8, 0.5];
//! let x = Dense::row_major(&x, 5, 3)?;
//! let model = Pca { scale: true.into(), ..Pca::new(1) }.fit(&x, &Weights::default())?;
//! let page = Report { title: "Five rows", ..Report::default() }.page_of_rows(&model, &x, &Default::default())?;
//! assert!(page.starts_with("<!doctype html>") && page.contains("<h1>Five rows</h1>"));
//! # Ok::<(), karhunen_report::Error>(())
//! ```

mod calls;
mod choice;
mod components;
mod described;
mod error;
mod features;
mod incomplete;
mod kernel;
mod names;
mod numbers;
mod odd;
mod origin;
mod page;
mod pca;
mod points;
mod rotation;
mod scaling;
mod summary;

pub use described::{Described, DescribedEntries, DescribedRows};
pub use error::Error;
pub use summary::{ComponentRow, Summary};

use karhunen::{Observed, Run, Scalar, Source};

use crate::names::Names;
use crate::page::{Content, Page};

/// The texts of a report besides the numbers of the model.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The title.
    pub title: &'a str,
    /// Names of the features; x1, x2, … if `None`.
    pub feature_names: Option<&'a [String]>,
    /// Names of the rows; their numbers from 1 if `None`.
    pub sample_names: Option<&'a [String]>,
    /// Weights of the rows, as in the fit: rows of complete data count as rows of a weighted fit only with them, and
    /// limits of SPE are of weighted rows. Kernel models, whose rows have no limits, take none.
    pub sample_weights: Option<&'a [f64]>,
    /// Share of normal rows within each limit, between 0 and 1.
    pub level: f64,
    /// The name of the model in the calls that repeat the report, such as its file.
    pub model_name: &'a str,
    /// The name of the data in the calls.
    pub data_name: &'a str,
    /// Words of the command line that say how the data are read, such as `--label` and `class`.
    pub data_options: &'a [String],
    /// The sum of each row to which counts were normalised before the fit.
    pub log1p: Option<f64>,
    /// The Python expression that makes the unfitted estimator; made from the options of the model if `None`.
    pub estimator: Option<&'a str>,
    #[doc(hidden)]
    pub more: karhunen::More,
}

impl Default for Report<'_> {
    fn default() -> Self {
        Self {
            title: "Principal components",
            feature_names: None,
            sample_names: None,
            sample_weights: None,
            level: 0.95,
            model_name: "pca.model",
            data_name: "data.csv",
            data_options: &[],
            log1p: None,
            estimator: None,
            more: karhunen::More,
        }
    }
}

impl Report<'_> {
    /// The page of a model alone.
    ///
    /// # Errors
    /// [`Error::Names`] for another number of names than features; [`Error::Library`] for a model of a version that did not
    /// keep the variances of its features.
    pub fn page(&self, model: &dyn Described) -> Result<String, Error> {
        self.render(model.content(self)?)
    }

    /// The page of a model and rows without missing values. They are read three times at most, and once more for those that
    /// are explained. They count as the rows of the fit if there are as many, and their scores have the variances of the fit;
    /// the page says which limits follow.
    ///
    /// # Errors
    /// As [`Report::page`]; [`Error::Names`] for another number of names than rows; [`Error::Weights`] for weights with a
    /// kernel model; [`Error::Library`] for a `level` that is not a probability, rows with another number of columns,
    /// unsuitable weights, and errors of `x`.
    pub fn page_of_rows<T: Scalar>(
        &self,
        model: &impl DescribedRows,
        x: &dyn Source<T>,
        run: &Run<'_>,
    ) -> Result<String, Error> {
        self.render(model.content_of_rows(self, x, run)?)
    }

    /// The page of a model and rows with missing values. They count as the rows of the fit if there are as many, with as many
    /// entries in each column, and the scores of the fit. T² and SPE are of all components of the fit, also if
    /// these are rotated.
    ///
    /// # Errors
    /// As [`Report::page_of_rows`].
    pub fn page_of_entries<T: Scalar>(
        &self,
        model: &impl DescribedEntries,
        rows: &Observed<T>,
        run: &Run<'_>,
    ) -> Result<String, Error> {
        self.render(model.content_of_entries(self, rows, run)?)
    }

    /// The sentences and the table of components of [`Report::page`].
    ///
    /// # Errors
    /// As [`Report::page`].
    pub fn summary(&self, model: &dyn Described) -> Result<Summary, Error> {
        Ok(model.content(self)?.into())
    }

    fn features(&self, n: usize) -> Result<Names<'_>, Error> {
        Names::of_features(self.feature_names, n)
    }

    /// The sentence about the normalisation of counts, if any.
    pub(crate) fn normalised(&self) -> Option<String> {
        self.log1p.map(|sum| {
            format!(
                "Before the fit, counts were divided by the sum of their row, multiplied by {}, and ln(1 + x) was taken.",
                numbers::significant(sum, 6)
            )
        })
    }

    fn render(&self, content: Content) -> Result<String, Error> {
        Page::new(self, content).render()
    }
}
