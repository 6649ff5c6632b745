//! Counts of genes in cells: AnnData in HDF5 and Zarr, and the HDF5 files and folders of Cell Ranger. Cells are rows, genes
//! columns. Arrays of Zarr stores without AnnData are read too.

mod annotated;
mod cell_ranger;
mod folder;
mod matrix;

use std::path::Path;

use karhunen::error::Phrase;

use crate::counts::prepared;
use crate::foreign;
use crate::hdf5::Hdf5;
use crate::input::Input;
use crate::names::list;
use crate::option_names;
use crate::store::Store;
use crate::store::kind::Kind;
use crate::zarr::Zarr;
use crate::{Cause, Data, Error, ReadOptions, Result, Table};

pub(crate) use folder::{is_folder, read_folder};

use matrix::Stored;

/// Reads an HDF5 file.
///
/// # Errors
/// [`Cause::Format`] for damage, and for HDF5 files of other kinds; [`Cause::Option`] for a part that does not exist.
pub(crate) fn read(input: Input, options: &ReadOptions) -> Result<Table> {
    let path = input.path.clone();
    let foreign = foreign::recognise(input.as_slice(), &path);
    let file = Store::Hdf5(Hdf5::open(input)?);
    let (groups, datasets) = file.members("")?;
    if annotated::is_annotated(&groups, &datasets) {
        return annotated(&file, "AnnData", options);
    }
    let genomes = cell_ranger::genomes(&file, &groups)?;
    if genomes.is_empty() {
        let message = foreign.map(|kind| kind.message(&path));
        let message = message.unwrap_or_else(|| {
            if groups.iter().any(|group| group == "mod") {
                return "is a MuData, which holds several AnnData; write one of them, in Python \
                        mudata.read(path)[\"rna\"].write_h5ad(\"rna.h5ad\")"
                    .to_owned();
            }
            "is neither an AnnData nor a file of Cell Ranger".to_owned()
        });
        return Err(Error::new(&path, Cause::format(message)));
    }
    options.allow_only(&path, "an HDF5 file of Cell Ranger", &[option_names::ARRAY])?;
    let found = cell_ranger::read(&file, &genomes, options)?;
    let data = found.matrix.read(&file, options)?;
    found.genes.table(
        Table { sample_names: Some(found.cells), ..table(data, "Cell Ranger HDF5") },
        &path,
        options,
    )
}

/// Reads a Zarr store: an AnnData, or an array of numbers with two axes.
///
/// # Errors
/// [`Cause::Format`] for damage, and for stores of other kinds; [`Cause::Option`] for a part that does not exist.
pub(crate) fn read_zarr(store: Zarr, options: &ReadOptions) -> Result<Table> {
    let file = Store::Zarr(store);
    let array = match file.kind("")? {
        Some(Kind::Array) => {
            options.allow_only(file.path(), "a Zarr array", &[])?;
            String::new()
        }
        _ => {
            let (groups, arrays) = file.members("")?;
            if annotated::is_annotated(&groups, &arrays) {
                return annotated(&file, "AnnData Zarr", options);
            }
            options.allow_only(file.path(), "a Zarr store", &[option_names::ARRAY])?;
            chosen(&file, arrays, options)?
        }
    };
    let data = Stored::dense(&file, &array)?.read(&file, options)?;
    prepared(table(data, "Zarr"), file.path(), None, options)
}

/// The array that the options choose, or the only one.
fn chosen(file: &Store, arrays: Vec<String>, options: &ReadOptions) -> Result<String> {
    let refuse = |cause| Err(Error::new(file.path(), cause));
    match (&options.array, &arrays[..]) {
        (Some(wanted), _) if file.kind(wanted)? == Some(Kind::Array) => Ok(wanted.clone()),
        (Some(wanted), _) => {
            let there = if arrays.is_empty() { "there is none".to_owned() } else { list(&arrays) };
            let problem = format!("there is no such array; there are {there}");
            refuse(Cause::Column { option: option_names::ARRAY, wanted: wanted.clone(), problem })
        }
        (None, [array]) => Ok(array.clone()),
        (None, []) => refuse(Cause::format("is a Zarr store, but no AnnData, and holds no array".to_owned())),
        (None, several) => {
            let message = Phrase::new("holds several arrays; choose one with ").option(option_names::ARRAY);
            refuse(Cause::option(message.text(format!(": {}", list(several)))))
        }
    }
}

/// Reads an AnnData.
fn annotated(file: &Store, format: &'static str, options: &ReadOptions) -> Result<Table> {
    options.allow_only(file.path(), "AnnData", &[option_names::LAYER, option_names::MASK])?;
    let found = annotated::read(file, options)?;
    let mask = found.mask.or_else(|| of_fit(found.genes.as_deref(), options));
    let data = found.matrix.read(file, options)?;
    let table = Table { sample_names: found.cells, feature_names: found.genes, ..table(data, format) };
    prepared(table, file.path(), mask.as_deref(), options)
}

fn table(data: Data, format: &'static str) -> Table {
    Table {
        data,
        sample_names: None,
        id_name: None,
        feature_names: None,
        labels: Vec::new(),
        weights: None,
        left_out: Vec::new(),
        log1p: None,
        format,
        notes: Vec::new(),
        warnings: Vec::new(),
    }
}

/// The mask of the genes of the fit, if the table is read for a model that was fitted to some of them.
fn of_fit(genes: Option<&[String]>, options: &ReadOptions) -> Option<Vec<bool>> {
    let (genes, fitted) = (genes?, options.fitted.as_ref()?.feature_names.as_ref()?);
    let wanted: std::collections::HashSet<&str> = fitted.iter().map(String::as_str).collect();
    let mask: Vec<bool> = genes.iter().map(|gene| wanted.contains(gene.as_str())).collect();
    // Columns that are absent are reported as in any other table.
    let n_found = mask.iter().filter(|&&kept| kept).count();
    (n_found == fitted.len() && n_found < genes.len()).then_some(mask)
}

/// The genes of Cell Ranger.
pub(super) struct Genes {
    ids: Vec<String>,
    names: Vec<String>,
    /// "Gene Expression", "Antibody Capture", ...
    kinds: Option<Vec<String>>,
}

impl Genes {
    /// Adds names to a table, and keeps the genes, if there are other features.
    fn table(self, table: Table, path: &Path, options: &ReadOptions) -> Result<Table> {
        const EXPRESSION: &str = "Gene Expression";
        let mut notes = table.notes;
        let kinds = self.kinds.unwrap_or_default();
        let is_gene: Vec<bool> = kinds.iter().map(|kind| kind == EXPRESSION).collect();
        let n_genes = is_gene.iter().filter(|&&gene| gene).count();
        let of_kind = (0 < n_genes && n_genes < is_gene.len()).then_some(is_gene);
        if of_kind.is_some() {
            let n_others = kinds.len() - n_genes;
            notes.push(format!(
                "{n_genes} genes; {n_others} features of other kinds than {EXPRESSION} left out"
            ));
        }
        // Features that are left out give no gene another name.
        let is_kept = |j: usize| of_kind.as_ref().is_none_or(|is_gene| is_gene[j]);
        let kept: Vec<usize> = (0..self.names.len()).filter(|&j| is_kept(j)).collect();
        let of_kept = |texts: &[String]| kept.iter().filter_map(|&j| texts.get(j).cloned()).collect();
        let (names_of_kept, ids): (Vec<String>, Vec<String>) = (of_kept(&self.names), of_kept(&self.ids));
        let mut names = vec![String::new(); self.names.len()];
        for (j, name) in kept.into_iter().zip(unique(names_of_kept, &ids, &mut notes)) {
            names[j] = name;
        }
        let mask = match (of_kind, of_fit(Some(&names), options)) {
            (Some(mut genes), Some(fitted)) => {
                genes.iter_mut().zip(fitted).for_each(|(gene, of_fit)| *gene &= of_fit);
                Some(genes)
            }
            (genes, fitted) => genes.or(fitted),
        };
        prepared(Table { feature_names: Some(names), notes, ..table }, path, mask.as_deref(), options)
    }
}

/// Names that differ: repeated ones get `-1`, `-2`, ... as `var_names_make_unique` of AnnData gives them.
fn unique(names: Vec<String>, ids: &[String], notes: &mut Vec<String>) -> Vec<String> {
    use std::collections::{HashMap, HashSet};
    let mut known: HashSet<String> = names.iter().cloned().collect();
    if known.len() == names.len() {
        return names;
    }
    let n_repeated = names.len() - known.len();
    let mut before = HashSet::new();
    if let Some((j, name)) = names.iter().enumerate().find(|(_, name)| !before.insert(name.as_str())) {
        let id = ids.get(j).map_or("", String::as_str);
        notes.push(format!(
            "{n_repeated} genes have the name of another, such as {name} ({id}); they got -1, -2, …"
        ));
    }
    let mut seen: HashMap<String, usize> = HashMap::new();
    names
        .into_iter()
        .map(|name| {
            let Some(count) = seen.get_mut(&name) else {
                seen.insert(name.clone(), 0);
                return name;
            };
            loop {
                *count += 1;
                let numbered = format!("{name}-{count}");
                if known.insert(numbered.clone()) {
                    return numbered;
                }
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Values;

    #[test]
    fn features_that_are_left_out_rename_no_gene() {
        let texts = |all: [&str; 4]| all.map(str::to_owned).to_vec();
        let genes = Genes {
            ids: texts(["a1", "E1", "E2", "E3"]),
            names: texts(["CD4", "CD4", "B", "B"]),
            kinds: Some(texts(["Antibody Capture", "Gene Expression", "Gene Expression", "Gene Expression"])),
        };
        let values = Values::Dense {
            buffer: crate::Buffer::Owned(vec![1.0, 2.0, 3.0, 4.0]),
            n_rows: 1,
            n_cols: 4,
            column_major: false,
        };
        let found = genes.table(table(Data::F64(values), "test"), Path::new("x"), &ReadOptions::default());
        let found = found.unwrap();
        assert_eq!(found.feature_names.unwrap(), ["CD4", "B", "B-1"]);
        assert!(
            found.notes[1].starts_with("1 genes have the name of another, such as B (E3)"),
            "{:?}",
            found.notes
        );
    }

    #[test]
    fn names_become_unique_as_in_anndata() {
        let names = ["a", "b", "a", "a-1", "a"].map(str::to_owned).to_vec();
        let (ids, mut notes) = (["1", "2", "3", "4", "5"].map(str::to_owned), Vec::new());
        assert_eq!(unique(names, &ids, &mut notes), ["a", "b", "a-2", "a-1", "a-3"]);
        assert_eq!(notes, ["2 genes have the name of another, such as a (3); they got -1, -2, …"]);
        let names = ["a", "b"].map(str::to_owned).to_vec();
        assert_eq!(unique(names, &ids, &mut Vec::new()), ["a", "b"]);
    }
}
