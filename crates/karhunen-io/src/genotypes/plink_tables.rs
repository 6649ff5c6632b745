//! Results in the files of PLINK 2: .eigenvec, .eigenval, .eigenvec.allele and .afreq.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use karhunen::{Matrix, PcaModel, Scalar};

use crate::genotypes::check;
use crate::genotypes::layout::companion;
use crate::genotypes::packed::{Counts, of_variant};
use crate::genotypes::samples::read_samples;
use crate::genotypes::variants::read_variants;
use crate::input::{Input, decompressed};
use crate::replace::Staged;
use crate::write::stage_bytes;
use crate::{Cause, Error, ReadOptions, Result};

/// The texts of the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlinkTables {
    /// The scores, each component of length one.
    pub eigenvec: String,
    /// The eigenvalues of the relationship matrix: squared singular values, divided by the number of variants.
    pub eigenval: String,
    /// The weights of both alleles of each variant, which `plink2 --score` takes.
    pub alleles: String,
    /// The frequency of the counted allele of each variant, which `plink2 --read-freq` takes.
    pub frequencies: String,
}

/// Nine significant digits.
fn number(value: f64) -> String {
    let rounded: f64 = format!("{value:.8e}").parse().unwrap_or(value);
    // Zero has no sign.
    (rounded + 0.0).to_string()
}

impl PlinkTables {
    /// Extensions of the files, in the order of the fields.
    pub const EXTENSIONS: [&str; 4] = ["eigenvec", "eigenval", "eigenvec.allele", "afreq"];

    /// The tables of a model of all variants and samples of a .bed file, with the scores of the samples, shape
    /// (n_samples, n_components).
    ///
    /// # Errors
    /// Same errors as [`read_variants`] and [`read_samples`]; [`Cause::Io`]; [`Cause::Format`] for files of another
    /// shape than the model.
    pub fn new<T: Scalar>(bed: &Path, model: &PcaModel, scores: &Matrix<T>) -> Result<Self> {
        let variants = read_variants(&companion(bed, "bim"))?;
        let samples = read_samples(&companion(bed, "fam"))?;
        let (n, p, k) = (scores.n_rows(), model.n_features(), model.n_components());
        if (samples.len(), variants.len()) != (n, p) {
            let message = format!(
                "has {} samples and {} variants, and the model {n} and {p}",
                samples.len(),
                variants.len()
            );
            return Err(Error::new(bed, Cause::format(message)));
        }
        let lengths: Vec<f64> =
            (0..k).map(|c| (0..n).map(|i| scores[(i, c)].to_f64().powi(2)).sum::<f64>().sqrt()).collect();
        let unit = |value: f64, c: usize| if lengths[c] > 0.0 { value / lengths[c] } else { 0.0 };
        let components: String = (1..=k).map(|c| format!("\tPC{c}")).collect();
        let mut eigenvec = format!("#FID\tIID{components}\n");
        for (i, sample) in samples.iter().enumerate() {
            let _ = write!(eigenvec, "{}\t{}", sample.family, sample.id);
            (0..k).for_each(|c| {
                let _ = write!(eigenvec, "\t{}", number(unit(scores[(i, c)].to_f64(), c)));
            });
            eigenvec.push('\n');
        }
        let eigenval = lengths.iter().map(|length| number(length * length / p as f64) + "\n").collect();
        let mut alleles = format!("#CHROM\tID\tREF\tALT\tA1{components}\n");
        // PLINK's weights of the counted alleles are these numbers times the components, with the other sign.
        let scale = (p as f64).sqrt() / 2.0;
        for (j, variant) in variants.iter().enumerate() {
            for (allele, sign) in [(&variant.other, 1.0), (&variant.counted, -1.0)] {
                let _ = write!(
                    alleles,
                    "{}\t{}\t{}\t{}\t{allele}",
                    variant.chromosome, variant.id, variant.other, variant.counted
                );
                (0..k).for_each(|c| {
                    let _ = write!(alleles, "\t{}", number(sign * scale * model.components()[(c, j)]));
                });
                alleles.push('\n');
            }
        }
        let mut frequencies = "#CHROM\tID\tREF\tALT\tALT_FREQS\tOBS_CT\n".to_owned();
        decompressed(Input::open(bed)?, &ReadOptions::default())?.through(|input| {
            check(&input, n, p)?;
            for (j, variant) in variants.iter().enumerate() {
                let counts = Counts::of(of_variant(input.as_slice(), j, n), n);
                let _ = writeln!(
                    frequencies,
                    "{}\t{}\t{}\t{}\t{}\t{}",
                    variant.chromosome,
                    variant.id,
                    variant.other,
                    variant.counted,
                    number(counts.mean() / 2.0),
                    2 * counts.observed()
                );
            }
            Ok(())
        })?;
        Ok(Self { eigenvec, eigenval, alleles, frequencies })
    }

    /// The files with this prefix.
    pub fn paths(prefix: &Path) -> [PathBuf; 4] {
        Self::EXTENSIONS.map(|extension| {
            let mut path = prefix.as_os_str().to_owned();
            path.push(".");
            path.push(extension);
            PathBuf::from(path)
        })
    }

    /// Writes the files next to their targets, until [`Staged::commit`].
    ///
    /// # Errors
    /// [`Cause::Io`].
    pub fn stage(&self, prefix: &Path) -> Vec<Result<Staged>> {
        let texts = [&self.eigenvec, &self.eigenval, &self.alleles, &self.frequencies];
        let paths = Self::paths(prefix);
        paths.iter().zip(texts).map(|(path, text)| stage_bytes(path, text.as_bytes())).collect()
    }
}
