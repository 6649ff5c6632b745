//! The variants of a .bim file, and the names of columns.

use std::path::Path;

use karhunen::error::Phrase;

use crate::input::Input;
use crate::names::shortened;
use crate::{Cause, Error, Place, Result};

/// A variant: a line of a .bim file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The chromosome.
    pub chromosome: String,
    /// The id, as a rule of dbSNP.
    pub id: String,
    /// The position in base pairs.
    pub position: i64,
    /// The allele whose copies are counted: the fifth column, A1 of PLINK 1, ALT of PLINK 2.
    pub counted: String,
    /// The other allele: the sixth column, A2 of PLINK 1, REF of PLINK 2.
    pub other: String,
}

impl Variant {
    /// The name of the column: `rs4970383_A(/C)` counts the copies of A, the other allele is C. Names of `plink2 --export A
    /// include-alt` have this form.
    pub fn name(&self) -> String {
        format!("{}_{}(/{})", self.id, self.counted, self.other)
    }
}

/// The id, the counted allele and the other one in the name of a column; `None` for another name.
pub(crate) fn parts_of_name(name: &str) -> Option<(&str, &str, &str)> {
    let (front, other) = name.strip_suffix(')')?.rsplit_once("(/")?;
    let (id, counted) = front.rsplit_once('_')?;
    Some((id, counted, other))
}

/// The note about variants of other human chromosomes than autosomes, if there are any: PLINK's codes 23 to 26 and their
/// letters. The codes are autosomes of a species with more of them.
pub(super) fn no_autosomes(variants: &[Variant]) -> Option<Phrase> {
    let plain = |variant: &Variant| variant.chromosome.trim_start_matches("chr").to_ascii_uppercase();
    let mut found: Vec<String> = variants.iter().map(plain).collect();
    found.dedup();
    let is_human = found.iter().filter_map(|name| name.parse::<u32>().ok()).all(|number| number <= 26);
    found.retain(|name| match name.parse::<u32>() {
        Ok(number) => is_human && (23..=26).contains(&number),
        Err(_) => ["X", "Y", "XY", "MT", "M", "PAR1", "PAR2"].contains(&&name[..]),
    });
    found.sort_unstable();
    found.dedup();
    let names = found.join(", ");
    (!found.is_empty()).then(|| {
        Phrase::new(format!(
            "the variants of chromosome {names} are fitted as all others, though men have one copy of X; \
             `plink2 --autosome --make-bed` writes a file without them"
        ))
    })
}

/// Reads the variants of a .bim file: lines of chromosome, id, centimorgans, base pairs, and two alleles.
///
/// # Errors
/// [`Cause::Io`]; [`Cause::Format`] with the line for another number of fields and for a position that is not a whole
/// number.
pub fn read_variants(path: &Path) -> Result<Vec<Variant>> {
    each_line(path, "variants", |fields| {
        let &[chromosome, id, distance, position, counted, other] = fields else {
            return Err(format!(
                "has {} fields, and a line of a .bim file six: chromosome, id, centimorgans, base pairs, and \
                 two alleles",
                fields.len()
            ));
        };
        if distance.parse::<f64>().is_err() {
            return Err(format!("`{}`, the distance in centimorgans, is not a number", shortened(distance)));
        }
        let Ok(position) = position.parse::<i64>() else {
            return Err(format!(
                "`{}`, the position in base pairs, is not a whole number",
                shortened(position)
            ));
        };
        let [chromosome, id, counted, other] = [chromosome, id, counted, other].map(str::to_owned);
        Ok(Variant { chromosome, id, position, counted, other })
    })
}

/// Reads the fields of every line of a text that belongs to a .bed file.
///
/// # Errors
/// [`Cause::Io`]; [`Cause::Format`] with the line for which `read` fails.
pub(super) fn each_line<R>(
    path: &Path,
    what: &str,
    read: impl Fn(&[&str]) -> std::result::Result<R, String>,
) -> Result<Vec<R>> {
    if !path.exists() {
        let source = std::io::Error::new(
            std::io::ErrorKind::NotFound,
            format!("there is no such file; a .bed file needs it in the same folder, for its {what}"),
        );
        return Err(Error::io(path, "opening", source));
    }
    Input::open(path)?.through(|input| {
        let mut all = Vec::new();
        for (number, line) in input.as_slice().split(|&byte| byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let at = |message: String| {
                let line = Some(number as u64 + 1);
                Error::at(path, Place { line, ..Place::default() }, Cause::format(message))
            };
            let text = std::str::from_utf8(line).map_err(|_| at("is not UTF-8 text".to_owned()))?;
            let fields: Vec<&str> = text.split_ascii_whitespace().collect();
            all.push(read(&fields).map_err(at)?);
        }
        if all.is_empty() {
            return Err(Error::new(path, Cause::format(format!("has no {what}"))));
        }
        Ok(all)
    })
}
