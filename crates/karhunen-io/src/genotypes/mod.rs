//! PLINK 1 files of genotypes: .bed with its .bim and .fam. Rows are samples, columns are variants, values are numbers
//! of copies of the first allele of the .bim file, which PLINK 2 calls ALT.

pub(crate) mod layout;
mod matching;
pub(crate) mod options;
mod packed;
mod plink_tables;
mod samples;
mod variants;

pub use layout::FORMAT;
pub use matching::{Reason, Unmatched, unmatched};
pub use options::GenotypeOptions;
pub use plink_tables::PlinkTables;
pub use samples::{Sample, read_samples};
use variants::no_autosomes;
pub use variants::{Variant, read_variants};

use karhunen::error::Phrase;

use crate::csv::in_pool;
use crate::file_rows::FileRows;
use crate::genotypes::layout::{BY_SAMPLES, BY_VARIANTS, MAGIC, companion};
use crate::genotypes::matching::{Match, matches, refuse_unmatched};
use crate::genotypes::packed::{Column, Counts, Packed};
use crate::input::Input;
use crate::option_names;
use crate::{Buffer, Cause, Data, Error, ReadOptions, Result, Table, Values};

/// Reads the genotypes of a .bed file. They are decoded at once if the memory limit allows it; otherwise they stay packed
/// in the file, and every visit decodes blocks of samples.
///
/// # Errors
/// [`Cause::Format`] for a file that is not a .bed file, is ordered by samples, or has another length than its .bim and
/// .fam files require, and for a model whose columns are not variants or are not all matched; same errors as
/// [`read_variants`] and [`read_samples`]; [`Cause::Option`] for options of tables with columns of text.
pub(crate) fn read(input: Input, options: &ReadOptions) -> Result<Table> {
    let path = input.path.clone();
    options.allow_only(&path, FORMAT, &[])?;
    if options.log1p.is_some() {
        let message = Phrase::default()
            .option(option_names::LOG1P)
            .text(" is for counts, not for genotypes; leave it out");
        return Err(Error::new(&path, Cause::option(message)));
    }
    let refuse = |message: String| Error::new(&path, Cause::format(message));
    // The other files are looked for only if this is one.
    check_header(input.as_slice()).map_err(refuse)?;
    if path.as_os_str() == "-" {
        let message =
            "genotypes need the .bim and .fam files of the same name, which a pipe lacks; give a file";
        return Err(refuse(message.to_owned()));
    }
    let (bim, fam) = (companion(&path, "bim"), companion(&path, "fam"));
    let (variants, samples) = (read_variants(&bim)?, read_samples(&fam)?);
    let (n, n_variants) = (samples.len(), variants.len());
    check(&input, n, n_variants)?;
    let counts = |variant: usize| Counts::of(packed::of_variant(input.as_slice(), variant, n), n);
    let mut warnings = Vec::new();
    let (columns, names, notes) = match &options.fitted {
        None => {
            warnings.extend(no_autosomes(&variants));
            of_all(&variants, counts, options)
        }
        Some(fitted) => {
            let Some(names) = &fitted.feature_names else {
                return Err(refuse(
                    "the columns of the model have no names, so variants cannot be matched".to_owned(),
                ));
            };
            let matched = matches(names, &variants, options.genotypes.flip_strand).map_err(&refuse)?;
            refuse_unmatched(&path, &bim, names, &matched, options)?;
            let n_unmatched = matched.iter().filter(|found| matches!(found, Match::None(_))).count();
            if n_unmatched > 0 && !options.missing {
                warnings.push(Phrase::new(format!(
                    "{n_unmatched} of the {} variants of the model are not matched and take their means, which \
                     draws scores \
                     towards zero",
                    names.len()
                )));
            }
            of_model(names, &matched, counts, (variants.len(), options))
        }
    };
    let shape = (n, columns.len());
    let mapped = input.mapped();
    let n_bytes = input.as_slice().len() as u64;
    let packed = Packed::new(input, n, columns);
    let values = if options.stay_in_file(shape, size_of::<f32>()) {
        Values::InFile(FileRows::new(Box::new(packed), shape, (n_bytes, mapped), options.most_held()))
    } else {
        let values = in_pool(&path, options, || packed.decoded())?;
        let buffer = Buffer::Owned(values.map_err(|error| Error::new(&path, error.into()))?);
        Values::Dense { buffer, n_rows: n, n_cols: shape.1, column_major: true }
    };
    Ok(Table {
        data: Data::F32(values),
        sample_names: Some(samples.iter().map(Sample::name).collect()),
        id_name: None,
        feature_names: Some(names),
        labels: Vec::new(),
        weights: None,
        format: FORMAT,
        notes,
        warnings,
        left_out: Vec::new(),
        log1p: None,
    })
}

/// Checks that a content is a .bed file of this many samples and variants.
///
/// # Errors
/// [`Cause::Format`].
fn check(input: &Input, n: usize, n_variants: usize) -> Result<()> {
    let refuse = |message: String| Error::new(&input.path, Cause::format(message));
    check_header(input.as_slice()).map_err(refuse)?;
    let expected = n_variants as u128 * n.div_ceil(4) as u128 + layout::HEADER as u128;
    let found = input.as_slice().len();
    if expected == found as u128 {
        return Ok(());
    }
    let problem = if expected > found as u128 { "truncated, or" } else { "longer than it should be, or" };
    let (bim, fam) = (companion(&input.path, "bim"), companion(&input.path, "fam"));
    Err(refuse(format!(
        "has {found} bytes, but the {n} samples of {} and the {n_variants} variants of {} take {expected}: the file \
         is {problem} of other samples or variants",
        fam.display(),
        bim.display()
    )))
}

fn check_header(bytes: &[u8]) -> std::result::Result<(), String> {
    let Some((first, rest)) = bytes.split_first_chunk::<2>() else {
        return Err(format!(
            "has {} bytes; a PLINK .bed file begins with three bytes that tell its format",
            bytes.len()
        ));
    };
    if *first != MAGIC {
        return Err(format!(
            "is named .bed, but begins with the bytes {:02x} {:02x}, and a PLINK .bed file with 6c 1b; give a table of \
             another kind another name",
            first[0], first[1]
        ));
    }
    match rest.first() {
        Some(&BY_VARIANTS) => Ok(()),
        Some(&BY_SAMPLES) => {
            Err("is ordered by samples (its third byte is 00), as PLINK before version 1 wrote it; order it \
                                  by variants: plink1.9 --bfile PREFIX --make-bed --out NEW"
                .to_owned())
        }
        Some(other) => Err(format!(
            "has the third byte {other:02x}, and a PLINK .bed file 01; it is damaged, or of another format"
        )),
        None => Err("ends after two bytes; copy it again".to_owned()),
    }
}

/// The columns, their names, and notes.
type Read = (Vec<Column>, Vec<String>, Vec<String>);

/// One column for each variant of the file.
fn of_all(variants: &[Variant], counts: impl Fn(usize) -> Counts, options: &ReadOptions) -> Read {
    let (mut n_missing, mut n_constant) = (0, 0);
    let mut columns = Vec::with_capacity(variants.len());
    for variant in 0..variants.len() {
        let counts = counts(variant);
        n_missing += counts.missing;
        n_constant += usize::from(!counts.varies());
        let fill = if options.missing { f64::NAN } else { counts.mean() };
        columns.push(Column::of_variant(variant, false, fill));
    }
    let mut notes = notes_of_missing(n_missing, "in this file", options);
    if n_constant > 0 {
        notes.push(format!("{} with one allele only, without effect", plural(n_constant, "variant")));
    }
    (columns, variants.iter().map(Variant::name).collect(), notes)
}

/// One column for each variant of a model.
fn of_model(
    names: &[String],
    matched: &[Match],
    counts: impl Fn(usize) -> Counts,
    (n_variants, options): (usize, &ReadOptions),
) -> Read {
    let mut n_missing = 0;
    let mut columns = Vec::with_capacity(names.len());
    let means = options.genotypes.means.as_deref();
    for (j, found) in matched.iter().enumerate() {
        let given = if options.missing { Some(f64::NAN) } else { means.map(|means| means[j]) };
        columns.push(match *found {
            Match::Found { variant, swapped } => {
                let counts = counts(variant);
                n_missing += counts.missing;
                let own = if swapped { 2.0 - counts.mean() } else { counts.mean() };
                Column::of_variant(variant, swapped, given.unwrap_or(own))
            }
            Match::None(_) => Column::constant(given.unwrap_or(0.0)),
        });
    }
    let n_found = matched.iter().filter(|found| matches!(found, Match::Found { .. })).count();
    let n_swapped =
        matched.iter().filter(|found| matches!(found, Match::Found { swapped: true, .. })).count();
    let mut notes =
        vec![format!("{n_found} of {} variants of the model matched by id and alleles", names.len())];
    if n_swapped > 0 {
        notes.push(format!("{} with the alleles in the other order", plural(n_swapped, "variant")));
    }
    if n_found < n_variants {
        notes.push(format!("{} that the model has not, left out", plural(n_variants - n_found, "variant")));
    }
    let place = if means.is_some() { "in the fit" } else { "in this file" };
    notes.extend(notes_of_missing(n_missing, place, options));
    (columns, names.to_vec(), notes)
}

fn notes_of_missing(n_missing: usize, place: &str, options: &ReadOptions) -> Vec<String> {
    let note = || format!("{}, each the mean of its variant {place}", plural(n_missing, "missing genotype"));
    (n_missing > 0 && !options.missing).then(note).into_iter().collect()
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests;
