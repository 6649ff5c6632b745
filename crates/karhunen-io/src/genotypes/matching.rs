//! Variants of a model and of a file, matched by id and alleles.

use std::collections::HashMap;
use std::path::Path;

use karhunen::error::{OptionValue, Phrase};

use crate::genotypes::layout::companion;
use crate::genotypes::variants::{Variant, parts_of_name, read_variants};
use crate::names::shortened;
use crate::option_names::ALLOW_UNMATCHED;
use crate::{Cause, Error, ReadOptions, Result};

/// Why a variant of a model has no genotypes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No variant of the file has the id.
    Absent,
    /// The variants with the id have other alleles.
    Alleles,
    /// The alleles are A and T, or C and G: both strands have the same alleles, and strands were to be flipped.
    Ambiguous,
    /// Several variants of the file have the id and the alleles, or several of the model.
    Repeated,
}

impl Reason {
    /// The text in tables.
    pub fn text(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Alleles => "other alleles",
            Self::Ambiguous => "ambiguous strand",
            Self::Repeated => "repeated",
        }
    }
}

/// A variant of a model that was not matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// The number of the column of the model.
    pub column: usize,
    /// The name of the column.
    pub name: String,
    /// The reason.
    pub reason: Reason,
    /// The alleles in the file, such as `A/C`, if it has the id.
    pub found: Option<String>,
}

/// The place of a variant of a model in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// A variant of the file; `swapped` if it counts the other allele.
    Found { variant: usize, swapped: bool },
    /// None.
    None(Reason),
}

/// Most variants of one id whose alleles are listed.
const MOST_SHOWN: usize = 8;

/// Lists the variants of a model, which has these columns, that a .bed file lacks.
///
/// # Errors
/// Same errors as [`read_variants`]; [`Cause::Format`] for a model whose columns are not variants.
pub fn unmatched(bed: &Path, names: &[String], flip_strand: bool) -> Result<Vec<Unmatched>> {
    let variants = read_variants(&companion(bed, "bim"))?;
    let matched =
        matches(names, &variants, flip_strand).map_err(|message| Error::new(bed, Cause::format(message)))?;
    Ok(list(names, &variants, &matched))
}

fn list(names: &[String], variants: &[Variant], matched: &[Match]) -> Vec<Unmatched> {
    let by_id = by_id(variants);
    let mut unmatched = Vec::new();
    for (column, (name, found)) in names.iter().zip(matched).enumerate() {
        let Match::None(reason) = *found else { continue };
        let same_id = parts_of_name(name).and_then(|(id, ..)| by_id.get(id));
        let alleles = |&at: &usize| format!("{}/{}", variants[at].counted, variants[at].other);
        let found = same_id.map(|all| {
            let mut shown: Vec<String> = all.iter().take(MOST_SHOWN).map(alleles).collect();
            if all.len() > MOST_SHOWN {
                shown.push(format!("and {} more", all.len() - MOST_SHOWN));
            }
            shown.join(" ")
        });
        unmatched.push(Unmatched { column, name: name.clone(), reason, found });
    }
    unmatched
}

/// The variants with each id.
fn by_id(variants: &[Variant]) -> HashMap<&str, Vec<usize>> {
    let mut by_id: HashMap<&str, Vec<usize>> = HashMap::with_capacity(variants.len());
    for (at, variant) in variants.iter().enumerate() {
        by_id.entry(&variant.id).or_default().push(at);
    }
    by_id
}

/// For each column of a model, its variant in a file.
///
/// # Errors
/// The message for a name that is not the name of a variant.
pub(super) fn matches(
    names: &[String],
    variants: &[Variant],
    flip_strand: bool,
) -> std::result::Result<Vec<Match>, String> {
    let by_id = by_id(variants);
    let mut seen: HashMap<&str, usize> = HashMap::with_capacity(names.len());
    let mut matched = Vec::with_capacity(names.len());
    for name in names {
        let Some((id, counted, other)) = parts_of_name(name) else {
            return Err(format!(
                "the model was not fitted to genotypes: its column `{}` is not named as a variant with its \
                 alleles, as in \
                 rs4970383_A(/C)",
                shortened(name)
            ));
        };
        *seen.entry(name).or_default() += 1;
        matched.push(match by_id.get(id) {
            None => Match::None(Reason::Absent),
            Some(_) if flip_strand && is_ambiguous(counted, other) => Match::None(Reason::Ambiguous),
            Some(all) => {
                let found: Vec<(usize, bool)> = all
                    .iter()
                    .filter_map(|&at| {
                        let swapped = swapped((counted, other), &variants[at], flip_strand)?;
                        Some((at, swapped))
                    })
                    // Two are as many as all: ids such as `.` may denote thousands of variants.
                    .take(2)
                    .collect();
                match found[..] {
                    [] => Match::None(Reason::Alleles),
                    [(variant, swapped)] => Match::Found { variant, swapped },
                    _ => Match::None(Reason::Repeated),
                }
            }
        });
    }
    for (name, found) in names.iter().zip(&mut matched) {
        if seen[name.as_str()] > 1 {
            *found = Match::None(Reason::Repeated);
        }
    }
    Ok(matched)
}

/// True if the file counts the other allele than the model; `None` if the alleles are others.
fn swapped((counted, other): (&str, &str), variant: &Variant, flip_strand: bool) -> Option<bool> {
    let pairs = |first: &str, second: &str| agree(first, &variant.counted) && agree(second, &variant.other);
    if pairs(counted, other) {
        return Some(false);
    }
    if pairs(other, counted) {
        return Some(true);
    }
    if !flip_strand {
        return None;
    }
    let (counted, other) = (complement(counted)?, complement(other)?);
    if pairs(&counted, &other) {
        Some(false)
    } else if pairs(&other, &counted) {
        Some(true)
    } else {
        None
    }
}

/// Tests whether two alleles can be the same: of a variant with one allele only, the other is any.
fn agree(a: &str, b: &str) -> bool {
    a == b || is_unknown(a) || is_unknown(b)
}

/// True for the allele that no sample has: `0`, and `.` in files of PLINK 2.
fn is_unknown(allele: &str) -> bool {
    matches!(allele, "0" | ".")
}

/// The allele on the other strand; `None` for letters that are not bases.
fn complement(allele: &str) -> Option<String> {
    if is_unknown(allele) {
        return Some(allele.to_owned());
    }
    let base = |base: char| match base {
        'A' => Some('T'),
        'T' => Some('A'),
        'C' => Some('G'),
        'G' => Some('C'),
        'a' => Some('t'),
        't' => Some('a'),
        'c' => Some('g'),
        'g' => Some('c'),
        _ => None,
    };
    allele.chars().rev().map(base).collect()
}

/// Tests whether the alleles are given on the other strand.
fn is_ambiguous(counted: &str, other: &str) -> bool {
    complement(counted).is_some_and(|flipped| flipped == other)
}

/// Refuses a file that lacks variants of the model, unless the options allow it.
///
/// # Errors
/// [`Cause::Format`].
pub(super) fn refuse_unmatched(
    bed: &Path,
    bim: &Path,
    names: &[String],
    matched: &[Match],
    options: &ReadOptions,
) -> Result<()> {
    let none: Vec<(&String, Reason)> = names
        .iter()
        .zip(matched)
        .filter_map(
            |(name, found)| if let Match::None(reason) = found { Some((name, *reason)) } else { None },
        )
        .collect();
    let Some((first, reason)) = none.first() else { return Ok(()) };
    let all = none.len() == names.len();
    if options.genotypes.allow_unmatched && !all {
        return Ok(());
    }
    let counts: Vec<String> = [Reason::Absent, Reason::Alleles, Reason::Ambiguous, Reason::Repeated]
        .into_iter()
        .filter_map(|reason| {
            let count = none.iter().filter(|(_, of)| *of == reason).count();
            (count > 0).then(|| format!("{count} {}", reason.text()))
        })
        .collect();
    let message = Phrase::new(format!(
        "{} of the {} variants of the model are not matched in {}: {} (the first is {}, {})",
        none.len(),
        names.len(),
        bim.display(),
        counts.join(", "),
        shortened(first),
        reason.text()
    ));
    let message = if all {
        message.text(match reason {
            Reason::Absent => {
                "; give both files ids of one naming, such as plink2 --set-all-var-ids '@:#:$r:$a'"
            }
            Reason::Repeated => "; make ids unique, such as by plink2 --set-all-var-ids '@:#:$r:$a'",
            Reason::Alleles | Reason::Ambiguous => {
                "; are the alleles given on the same strand, in the same letters?"
            }
        })
    } else {
        message.text("; ").setting(ALLOW_UNMATCHED, OptionValue::Flag(true)).text(" does without them")
    };
    Err(Error::new(bed, Cause::format(message)))
}
