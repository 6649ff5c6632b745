//! A model in sentences and a table, for terminals and notebooks.

use serde::Serialize;

pub use crate::components::ComponentRow;
use crate::page::Content;

/// What the page of a model says, without pictures.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Sentences about the data and the fit.
    pub fitted: Vec<String>,
    /// Sentences about the accuracy.
    pub exactness: Vec<String>,
    /// Sentences about the number of components.
    pub choice: Vec<String>,
    /// The leading components, 100 at most.
    pub components: Vec<ComponentRow>,
    /// Number of components of the model.
    pub n_components: usize,
}

impl From<Content> for Summary {
    fn from(content: Content) -> Self {
        let Content { fitted, exactness, choice, components, n_components, .. } = content;
        Self { fitted, exactness, choice: choice.sentences, components, n_components }
    }
}
