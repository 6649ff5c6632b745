//! The arguments about genotypes.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use karhunen::Matrix;
use karhunen::pca::Scaling;
use karhunen_io::genotypes::{FORMAT, GenotypeOptions, PlinkTables, Unmatched, unmatched};
use karhunen_io::{Label, NamedMatrix, ReadOptions};

use crate::args::fit::PcaArgs;
use crate::data::dataset::Dataset;
use crate::error::{Failure, Result};
use crate::files::outputs::Outputs;
use crate::files::overwrite;
use crate::files::paths::check_outputs;

/// The columns of the table of variants that are not matched.
pub(crate) const UNMATCHED_COLUMNS: [&str; 3] = ["variant", "reason", "alleles_found"];

/// How the variants of a .bed file are matched with the variants of a model.
#[derive(Debug, Args)]
#[command(next_help_heading = "Genotypes")]
pub(crate) struct MatchArgs {
    /// Match variants whose alleles are given on the other strand
    ///
    /// Variants with the alleles A and T, or C and G, are then not matched, because both strands have the same alleles
    #[arg(long)]
    pub(crate) flip_strand: bool,
    /// Write the variants of the model that the file lacks here, with the reason, and do without them
    ///
    /// CSV, TSV or Parquet by extension. Scores come from least squares on the other genotypes; for rotated and
    /// kernel components, variants that are lacking take their means. Without this option, a file that lacks variants is refused
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) unmatched: Option<PathBuf>,
}

/// The results of a fit in the files of PLINK 2.
#[derive(Debug, Args)]
#[command(next_help_heading = "Genotypes")]
pub(crate) struct PlinkArgs {
    /// Write the results of genotypes in the files of PLINK 2: PREFIX.eigenvec, .eigenval, .eigenvec.allele and .afreq
    ///
    /// For one PLINK .bed file with --scale=binomial. `plink2 --read-freq PREFIX.afreq --score PREFIX.eigenvec.allele 2 5
    /// header-read no-mean-imputation variance-standardize --score-col-nums 6-15` projects other samples onto ten components
    #[arg(long, value_name = "PREFIX", value_hint = ValueHint::FilePath)]
    pub(crate) eigenvec: Option<PathBuf>,
}

impl MatchArgs {
    /// Adds these options to the options of reading.
    pub(crate) fn within(&self, options: ReadOptions) -> ReadOptions {
        let (flip_strand, allow_unmatched) = (self.flip_strand, self.unmatched.is_some());
        let genotypes = GenotypeOptions { flip_strand, allow_unmatched, ..options.genotypes };
        ReadOptions { genotypes, ..options }
    }

    /// Refuses these options for data that are not genotypes.
    ///
    /// # Errors
    /// [`Failure::Usage`].
    pub(crate) fn check_used(&self, format: &str) -> Result<()> {
        let given = [("--flip-strand", self.flip_strand), ("--unmatched", self.unmatched.is_some())];
        match given.into_iter().find(|(_, given)| *given) {
            Some((option, _)) if !is_genotypes(format) => Err(Failure::Usage(format!(
                "{option} applies to PLINK .bed files of genotypes, not to {format}; leave it out"
            ))),
            _ => Ok(()),
        }
    }

    /// Prepares the table of the variants that are not matched, if it was asked for.
    ///
    /// # Errors
    /// Errors of [`unmatched`] and of writing.
    pub(crate) fn write(&self, bed: &Path, names: Option<&[String]>, outputs: &mut Outputs) -> Result<()> {
        let (Some(path), Some(names)) = (&self.unmatched, names) else { return Ok(()) };
        let list = unmatched(bed, names, self.flip_strand)?;
        let column = |place: usize, value: fn(&Unmatched) -> String| Label {
            name: UNMATCHED_COLUMNS[place].to_owned(),
            values: list.iter().map(value).collect(),
        };
        let table = NamedMatrix {
            matrix: &Matrix::<f64>::zeros(list.len(), 0),
            row_names: None,
            row_header: "variant",
            labels: &[
                column(0, |one| one.name.clone()),
                column(1, |one| one.reason.text().to_owned()),
                column(2, |one| one.found.clone().unwrap_or_default()),
            ],
            column_names: &[],
            numeric_ids: false,
        };
        outputs.table(path, &table)
    }
}

/// Checks, before any work, that the files of PLINK 2 with this prefix can be written next to the other `outputs`.
///
/// # Errors
/// [`Failure::Usage`] for several data files, for another scaling and without centring, for files that are read or written
/// otherwise, and for existing files of other content; [`Failure::File`] for files that cannot be written.
pub(crate) fn check_eigenvec(
    prefix: &Path,
    (data, inputs): (&[PathBuf], &[Option<&PathBuf>]),
    pca: &PcaArgs,
    (outputs, force): (&[(&str, Option<&Path>)], bool),
) -> Result<()> {
    if data.len() != 1 {
        return Err(Failure::Usage("--eigenvec writes the results of one .bed file; give one".to_owned()));
    }
    if pca.scale != Some(Scaling::Binomial) || pca.no_center || pca.center_values.is_some() {
        return Err(Failure::Usage(
            "--eigenvec writes the results of standardised genotypes; use --scale=binomial, with the means subtracted"
                .to_owned(),
        ));
    }
    let paths = PlinkTables::paths(prefix);
    let tables: Vec<_> = paths.iter().map(|path| ("--eigenvec", Some(path.as_path()))).collect();
    check_outputs(&[outputs, &tables].concat(), inputs)?;
    overwrite::check(&tables, force)
}

/// Refuses data that are not genotypes, for the files of PLINK 2.
///
/// # Errors
/// [`Failure::Usage`].
pub(crate) fn check_table(dataset: &Dataset) -> Result<()> {
    if is_genotypes(dataset.table.format) {
        return Ok(());
    }
    let format = dataset.table.format;
    Err(Failure::Usage(format!(
        "--eigenvec writes the results of a PLINK .bed file, not of {format}; leave it out"
    )))
}

/// Tests whether a table is a file of genotypes.
pub(crate) fn is_genotypes(format: &str) -> bool {
    format == FORMAT
}
