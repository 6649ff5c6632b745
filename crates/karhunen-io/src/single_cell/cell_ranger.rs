//! HDF5 files of Cell Ranger: genes in rows, compressed by cells. Since version 3 one group, `matrix`, holds all genomes;
//! before, each genome has a group.

use karhunen::error::Phrase;
use karhunen::matrix::Major;

use super::Genes;
use super::matrix::Stored;
use crate::names::list;
use crate::option_names;
use crate::store::Store;
use crate::store::kind::Kind;
use crate::{Cause, Error, ReadOptions, Result};

/// The matrix that the options choose, with its names.
pub(super) struct Found {
    pub(super) matrix: Stored,
    pub(super) cells: Vec<String>,
    pub(super) genes: Genes,
}

/// The groups that hold a matrix.
///
/// # Errors
/// [`Cause::Format`].
pub(super) fn genomes(file: &Store, groups: &[String]) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for group in groups {
        let arrays = file.members(group)?.1;
        if ["barcodes", "data", "indices", "indptr", "shape"]
            .iter()
            .all(|part| arrays.iter().any(|a| a == part))
        {
            found.push(group.clone());
        }
    }
    Ok(found)
}

/// Reads all but the values.
///
/// # Errors
/// [`Cause::Option`] if a genome must be chosen, or does not exist; [`Cause::Format`] for damage.
pub(super) fn read(file: &Store, genomes: &[String], options: &ReadOptions) -> Result<Found> {
    let genome = match (&options.array, genomes) {
        (Some(wanted), _) if genomes.contains(wanted) => wanted,
        (Some(wanted), _) => {
            let problem = format!("there is no such genome; there are {}", list(genomes));
            let cause = Cause::Column { option: option_names::ARRAY, wanted: wanted.clone(), problem };
            return Err(Error::new(file.path(), cause));
        }
        (None, [genome]) => genome,
        (None, several) => {
            let message = Phrase::new("holds several genomes; choose one with ").option(option_names::ARRAY);
            return Err(Error::new(file.path(), Cause::option(message.text(format!(": {}", list(several))))));
        }
    };
    let shape = file.array(&format!("{genome}/shape"))?;
    let [n_genes, n_cells] = shape.positions::<usize>(0..shape.len()?)?[..] else {
        return Err(shape.refuse("has another number of entries than two; the file is damaged"));
    };
    let matrix = Stored::compressed(file, genome, Major::Rows, (n_cells, n_genes))?;
    let texts = |name: &str, expected: usize| {
        let array = file.array(&format!("{genome}/{name}"))?;
        let found = array.texts(None)?;
        if found.len() == expected {
            return Ok(found);
        }
        let message = format!("has {} entries, but {expected} are needed; the file is damaged", found.len());
        Err(array.refuse(&message))
    };
    let cells = texts("barcodes", n_cells)?;
    let genes = if file.kind(&format!("{genome}/features"))? == Some(Kind::Group) {
        let kinds = file.kind(&format!("{genome}/features/feature_type"))?;
        Genes {
            ids: texts("features/id", n_genes)?,
            names: texts("features/name", n_genes)?,
            kinds: kinds.map(|_| texts("features/feature_type", n_genes)).transpose()?,
        }
    } else {
        Genes { ids: texts("genes", n_genes)?, names: texts("gene_names", n_genes)?, kinds: None }
    };
    Ok(Found { matrix, cells, genes })
}
