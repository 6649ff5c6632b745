//! The reader against tables written by hand, and files that are refused.

use std::path::{Path, PathBuf};

use karhunen::Matrix;
use karhunen::source::Block;
use proptest::prelude::*;

use super::*;
use crate::{FittedTable, read as read_table};

/// Three samples and two variants: TT CT -- / AA AG GG as copies of T 2 1 missing, of A 2 1 0.
const BIM: &str = "1 rs1 0 100 T C\n2\trs2\t0.5\t200\tA\tG\n";
const FAM: &str = "0 a 0 0 1 -9\nf b 0 0 2 1\nc c 0 0 0 0\n";

/// Writes the genotypes as PLINK codes them; `values` are by variants, 3 is missing.
fn bed(values: &[&[u8]]) -> Vec<u8> {
    let mut bytes = vec![0x6c, 0x1b, 1];
    for variant in values {
        for four in variant.chunks(4) {
            let code = |value: &u8| match value {
                2 => 0b00,
                3 => 0b01,
                1 => 0b10,
                _ => 0b11,
            };
            bytes.push(four.iter().enumerate().map(|(i, value)| code(value) << (2 * i)).sum());
        }
    }
    bytes
}

fn files(bed: &[u8], bim: &str, fam: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.bed");
    std::fs::write(&path, bed).unwrap();
    std::fs::write(folder.path().join("x.bim"), bim).unwrap();
    std::fs::write(folder.path().join("x.fam"), fam).unwrap();
    (folder, path)
}

/// The values, row by row: decoded at once, and in blocks if the memory limit is one byte.
fn values(path: &Path, options: &ReadOptions) -> Vec<f32> {
    let limited = ReadOptions { memory_limit: Some(1), ..options.clone() };
    let [at_once, in_blocks] = [options, &limited].map(|options| read_table(path, options).unwrap().data);
    assert!(matches!(&at_once, Data::F32(Values::Dense { column_major: true, .. })), "{at_once:?}");
    assert!(matches!(&in_blocks, Data::F32(Values::InFile(_))), "{in_blocks:?}");
    let [at_once, in_blocks] = [at_once, in_blocks].map(|data| collected(&data));
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&at_once), bits(&in_blocks));
    at_once
}

fn collected(data: &Data) -> Vec<f32> {
    let Data::F32(values) = data else { panic!("{data:?}") };
    let rows = values.source().unwrap();
    let (n, p) = rows.shape();
    let mut values = vec![0.0; n * p];
    rows.visit(&mut |first, block| {
        let Block::Dense(block) = block else { panic!("sparse") };
        for i in 0..block.n_rows() {
            for j in 0..p {
                values[(first + i) * p + j] = block.get(i, j);
            }
        }
        Ok(())
    })
    .unwrap();
    values
}

fn refusal(path: &Path, options: &ReadOptions) -> String {
    let message = read_table(path, options).unwrap_err().to_string();
    message.replace(&format!("{}/", path.parent().unwrap().display()), "")
}

fn of_model(names: &[&str]) -> ReadOptions {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let fitted =
        FittedTable { n_features: names.len(), feature_names: Some(names), ..FittedTable::default() };
    ReadOptions { fitted: Some(fitted), ..ReadOptions::default() }
}

#[test]
fn copies_of_the_first_allele_and_the_mean_of_missing_ones() {
    let (_folder, path) = files(&bed(&[&[2, 1, 3], &[2, 1, 0]]), BIM, FAM);
    let table = read_table(&path, &ReadOptions::default()).unwrap();
    assert_eq!(values(&path, &ReadOptions::default()), [2.0, 2.0, 1.0, 1.0, 1.5, 0.0]);
    assert_eq!(table.sample_names.as_ref().unwrap(), &["a", "f b", "c"]);
    assert_eq!(table.feature_names.as_ref().unwrap(), &["rs1_T(/C)", "rs2_A(/G)"]);
    assert_eq!(table.notes, ["1 missing genotype, each the mean of its variant in this file"]);
    let missing = ReadOptions { missing: true, ..ReadOptions::default() };
    assert!(values(&path, &missing)[4].is_nan());
}

#[test]
fn variants_are_matched_by_id_and_alleles() {
    let bim = "1 rs2 0 200 G A\n1 rs9 0 1 A C\n1 rs1 0 100 A G\n1 at 0 1 A T\n";
    let (_folder, path) = files(&bed(&[&[2, 1, 3], &[0; 3], &[0, 1, 2], &[0, 0, 1]]), bim, FAM);
    let strict = of_model(&["rs1_T(/C)", "rs2_A(/G)", "at_A(/T)"]);
    let message = refusal(&path, &strict);
    let expected = "x.bed: 1 of the 3 variants of the model are not matched in x.bim: 1 other alleles (the first is \
                    rs1_T(/C), other alleles); ";
    assert!(message.starts_with(expected) && message.contains("allow_unmatched"), "{message}");
    let genotypes = GenotypeOptions {
        flip_strand: true,
        allow_unmatched: true,
        means: Some(vec![0.5, 1.25, 0.75]),
        ..GenotypeOptions::default()
    };
    let flipped = ReadOptions { genotypes, ..strict };
    let table = read_table(&path, &flipped).unwrap();
    // rs1 is on the other strand, rs2 counts the other allele, A/T could be either.
    assert_eq!(values(&path, &flipped), [0.0, 0.0, 0.75, 1.0, 1.0, 0.75, 2.0, 1.25, 0.75]);
    assert_eq!(
        table.notes,
        [
            "2 of 3 variants of the model matched by id and alleles",
            "1 variant with the alleles in the other order",
            "2 variants that the model has not, left out",
            "1 missing genotype, each the mean of its variant in the fit"
        ]
    );
    let names = table.feature_names.unwrap();
    let list = unmatched(&path, &names, true).unwrap();
    let expected = Unmatched {
        column: 2,
        name: "at_A(/T)".to_owned(),
        reason: Reason::Ambiguous,
        found: Some("A/T".to_owned()),
    };
    assert_eq!(list, [expected]);
    let reasons = |names: &[&str]| -> Vec<_> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        unmatched(&path, &names, false).unwrap().into_iter().map(|one| one.reason).collect()
    };
    assert_eq!(reasons(&["rs7_A(/C)", "rs9_A(/G)", "rs2_A(/G)"]), [Reason::Absent, Reason::Alleles]);
    assert_eq!(reasons(&["rs2_A(/G)", "rs2_A(/G)"]), [Reason::Repeated; 2]);
    assert_eq!(reasons(&["at_T(/A)", "rs9_0(/C)"]), []);
}

#[test]
fn a_variant_that_occurs_twice_is_not_matched() {
    let (_folder, path) = files(&bed(&[&[2, 1, 3], &[2, 1, 0]]), "1 a 0 1 T C\n1 a 0 1 C T\n", FAM);
    let list = unmatched(&path, &["a_T(/C)".to_owned()], false).unwrap();
    assert_eq!((list[0].reason, list[0].found.as_deref()), (Reason::Repeated, Some("T/C C/T")));
}

#[test]
fn files_that_are_refused_and_their_messages() {
    let good = bed(&[&[2, 1, 3], &[2, 1, 0]]);
    let changed = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    let folder_name = |message: &str| message.to_owned();
    let cases: [(Vec<u8>, &str, &str, &str); 12] = [
        (
            Vec::new(),
            BIM,
            FAM,
            "x.bed: has 0 bytes; a PLINK .bed file begins with three bytes that tell its format",
        ),
        (good[..2].to_vec(), BIM, FAM, "x.bed: ends after two bytes; copy it again"),
        (
            b"This is text".to_vec(),
            BIM,
            FAM,
            "x.bed: is named .bed, but begins with the bytes 54 68, and a PLINK .bed file with 6c 1b; give a table of \
             another kind another name",
        ),
        (
            changed(2, 0),
            BIM,
            FAM,
            "x.bed: is ordered by samples (its third byte is 00), as PLINK before version 1 wrote it; order it \
             by variants: \
             plink1.9 --bfile PREFIX --make-bed --out NEW",
        ),
        (
            changed(2, 0x30),
            BIM,
            FAM,
            "x.bed: has the third byte 30, and a PLINK .bed file 01; it is damaged, or of another format",
        ),
        (
            good[..4].to_vec(),
            BIM,
            FAM,
            "x.bed: has 4 bytes, but the 3 samples of x.fam and the 2 variants of x.bim take 5: the file is \
             truncated, or of \
             other samples or variants",
        ),
        (
            [&good[..], &[0]].concat(),
            BIM,
            FAM,
            "x.bed: has 6 bytes, but the 3 samples of x.fam and the 2 variants of x.bim take 5: the file is \
             longer than it \
             should be, or of other samples or variants",
        ),
        (
            good.clone(),
            "1 rs1 0 100 T C\n2 rs2 200 A G\n",
            FAM,
            "x.bim: line 2: has 5 fields, and a line of a .bim file six: chromosome, id, centimorgans, base \
             pairs, and two \
             alleles",
        ),
        (
            good.clone(),
            "1 rs1 X 100 T C\n",
            FAM,
            "x.bim: line 1: `X`, the distance in centimorgans, is not a number",
        ),
        (
            good.clone(),
            "1 rs1 0 100.0 T C\n",
            FAM,
            "x.bim: line 1: `100.0`, the position in base pairs, is not a whole number",
        ),
        (
            good.clone(),
            BIM,
            "0 a 0 0 1 -9\nf\n",
            "x.fam: line 2: has 1 fields, and a line of a .fam file at least six: family, id, father, mother, sex and \
             phenotype",
        ),
        (good.clone(), BIM, "\n", "x.fam: has no samples"),
    ];
    for (bed, bim, fam, message) in cases {
        let (folder, path) = files(&bed, bim, fam);
        let found = read_table(&path, &ReadOptions::default()).unwrap_err().to_string();
        assert_eq!(found.replace(&format!("{}/", folder.path().display()), ""), folder_name(message));
    }
    let (_folder, path) = files(&good, BIM, FAM);
    std::fs::remove_file(path.with_extension("bim")).unwrap();
    let message = refusal(&path, &ReadOptions::default());
    assert!(message.contains("x.bim: opening failed: there is no such file"), "{message}");
    let (_folder, path) = files(&good, BIM, FAM);
    let message = refusal(&path, &of_model(&["height"]));
    assert!(message.contains("its column `height` is not named as a variant"), "{message}");
    let message = refusal(&path, &of_model(&["rs8_A(/C)"]));
    assert!(message.contains("; give both files ids of one naming"), "{message}");
}

proptest! {
    #[test]
    fn decoding_equals_the_table(
        (n, genotypes) in (1usize..60).prop_flat_map(|n| {
            (Just(n), prop::collection::vec(prop::collection::vec(0u8..4, n), 1..6))
        }),
        first in 0usize..60,
        at_once in 1usize..70,
    ) {
        let variants: Vec<&[u8]> = genotypes.iter().map(Vec::as_slice).collect();
        let bytes = bed(&variants);
        let p = variants.len();
        let columns = (0..p).map(|j| Column::of_variant(j, j == 1, 9.0)).collect();
        let input = Input { path: "x.bed".into(), bytes: crate::input::Bytes::Owned(bytes.clone()) };
        let rows = Packed::new(input, n, columns);
        let mut reached = first;
        let mut next = first;
        let reader: &dyn crate::BlockReader<f64> = &rows;
        reader.each(first, at_once, &mut reached, &mut |block| {
            let crate::OwnedBlock::Dense { values, n_rows, column_major: true } = block else { panic!("layout") };
            for j in 0..p {
                for i in 0..n_rows {
                    let expected = match variants[j][next + i] {
                        3 => 9.0,
                        copies if j == 1 => f64::from(2 - copies),
                        copies => f64::from(copies),
                    };
                    assert_eq!(values[j * n_rows + i], expected);
                }
            }
            next += n_rows;
            true
        }).unwrap();
        prop_assert!(next == n.max(first));
        for (j, variant) in variants.iter().enumerate() {
            let count = |value: u8| variant.iter().filter(|&&found| found == value).count();
            let expected = Counts { missing: count(3), one: count(1), two: count(2), none: count(0) };
            prop_assert_eq!(Counts::of(packed::of_variant(&bytes, j, n), n), expected);
        }
    }
}

#[test]
fn tables_of_plink_come_from_packed_files_too() {
    let (folder, path) = files(&bed(&[&[2, 1, 3], &[2, 1, 0]]), BIM, FAM);
    let table = read_table(&path, &ReadOptions::default()).unwrap();
    let Data::F32(values) = &table.data else { panic!("{:?}", table.data) };
    let model = karhunen::Pca::new(1).fit(&*values.source().unwrap(), &karhunen::Weights::default()).unwrap();
    let scores = Matrix::from_fn(3, 1, |i, _| i as f64 - 1.0);
    let expected = PlinkTables::new(&path, &model, &scores).unwrap();
    let packed = folder.path().join("x.bed.gz");
    let mut encoder =
        flate2::write::GzEncoder::new(std::fs::File::create(&packed).unwrap(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, &std::fs::read(&path).unwrap()).unwrap();
    encoder.finish().unwrap();
    assert_eq!(PlinkTables::new(&packed, &model, &scores).unwrap(), expected);
    // A file that became shorter after the fit.
    std::fs::write(&path, bed(&[&[2, 1, 3]])).unwrap();
    let message = PlinkTables::new(&path, &model, &scores).unwrap_err().to_string();
    assert!(message.contains("has 4 bytes, but the 3 samples of"), "{message}");
}

#[test]
fn ids_that_repeat_are_matched_in_linear_time_and_unknown_alleles_are_any() {
    let n = 20_000;
    let bim: String = (0..n).map(|j| format!("1 . 0 {j} T C\n")).collect();
    let (_folder, path) = files(&bed(&vec![&[2_u8, 1, 0][..]; n]), &bim, FAM);
    let names: Vec<String> = (0..n).map(|_| "._T(/C)".to_owned()).collect();
    let list = unmatched(&path, &names, false).unwrap();
    assert_eq!(list.len(), n);
    assert_eq!(list[0].reason, Reason::Repeated);
    assert!(list[0].found.as_ref().unwrap().ends_with("T/C and 19992 more"), "{:?}", list[0]);
    let (_folder, path) = files(&bed(&[&[2, 1, 0]]), "1 rs1 0 100 . C\n", FAM);
    assert!(unmatched(&path, &["rs1_T(/C)".to_owned()], false).unwrap().is_empty());
}
