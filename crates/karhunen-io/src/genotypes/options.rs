//! How genotypes are read for a model, as a part of the options of reading.

use karhunen::More;

/// How a file of genotypes is read for a model of other samples.
#[derive(Clone, Debug, Default)]
pub struct GenotypeOptions {
    /// If true, variants whose alleles are given on the other strand are matched too, and variants whose strand cannot
    /// be seen (A/T and C/G) are not.
    pub flip_strand: bool,
    /// If true, variants of the model that the file lacks take the mean; otherwise they are refused.
    pub allow_unmatched: bool,
    /// The mean of each column of the model, which missing genotypes take; without it the means of the file.
    pub means: Option<Vec<f64>>,
    #[doc(hidden)]
    pub more: More,
}
