//! The samples of a .fam file.

use std::path::Path;

use crate::Result;
use crate::genotypes::variants::each_line;

/// A sample: a line of a .fam file, without parents, sex and phenotype.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The id of the family; `0` for none.
    pub family: String,
    /// The id within the family.
    pub id: String,
}

impl Sample {
    /// The name of the row: the id alone if there is no family or it has the same id, otherwise both with a blank
    /// between them.
    pub fn name(&self) -> String {
        let Self { family, id } = self;
        if family == "0" || family == id { id.clone() } else { format!("{family} {id}") }
    }
}

/// Reads the samples of a .fam file: lines of family, id, father, mother, sex and phenotypes.
///
/// # Errors
/// [`crate::Cause::Io`]; [`crate::Cause::Format`] with the line for fewer than six fields.
pub fn read_samples(path: &Path) -> Result<Vec<Sample>> {
    each_line(path, "samples", |fields| match fields {
        [family, id, _, _, _, _, ..] => Ok(Sample { family: (*family).to_owned(), id: (*id).to_owned() }),
        _ => Err(format!(
            "has {} fields, and a line of a .fam file at least six: family, id, father, mother, sex and phenotype",
            fields.len()
        )),
    })
}
