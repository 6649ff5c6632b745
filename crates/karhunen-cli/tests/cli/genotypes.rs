//! Genotypes: PLINK's results, matching of variants, files that are refused.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{assert_close, examples, karhunen, numbers};

const K: usize = 6;

fn folder() -> PathBuf {
    examples().join("../genotypes")
}

/// The results of PLINK 2, by golden/make_plink.py.
fn plink() -> Value {
    let path = examples().join("../../golden/plink_people.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The numbers of the last `K` fields of every line below the header.
fn rows(path: &Path, delimiter: char) -> Vec<Vec<f64>> {
    let text = std::fs::read_to_string(path).unwrap();
    let numbers = |line: &str| {
        let fields: Vec<&str> = line.split(delimiter).collect();
        fields[fields.len() - K..].iter().map(|field| field.parse().unwrap()).collect()
    };
    text.lines().skip(1).map(numbers).collect()
}

fn column(rows: &[Vec<f64>], c: usize) -> Vec<f64> {
    rows.iter().map(|row| row[c]).collect()
}

fn signed(found: Vec<f64>, expected: &[f64]) -> Vec<f64> {
    let product: f64 = found.iter().zip(expected).map(|(a, b)| a * b).sum();
    found.into_iter().map(|x| x * product.signum()).collect()
}

/// Fits the people in a new folder.
fn fitted() -> tempfile::TempDir {
    let out = tempfile::tempdir().unwrap();
    let prefix = out.path().join("people").display().to_string();
    let fit = format!(
        "fit people.bed --scale=binomial -k {K} --tol 1e-10 -q --eigenvec {prefix} -o {prefix}.model"
    );
    karhunen(&fit).current_dir(folder()).assert().success();
    out
}

#[test]
fn fits_and_tables_equal_plink() {
    let (out, plink) = (fitted(), plink());
    let path = |extension: &str| out.path().join(format!("people.{extension}"));
    // PLINK writes six digits.
    let text = std::fs::read_to_string(path("eigenval")).unwrap();
    let found: Vec<f64> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert_close(&found, &numbers(&plink["eigenval"]), 5e-6);
    let expected: Vec<Vec<f64>> = plink["eigenvec"].as_array().unwrap().iter().map(numbers).collect();
    let found = rows(&path("eigenvec"), '\t');
    for c in 0..K {
        let expected = column(&expected, c);
        assert_close(&signed(column(&found, c), &expected), &expected, 2e-5);
    }
    let found = std::fs::read_to_string(path("eigenvec.allele")).unwrap();
    for (line, expected) in found.lines().skip(1).zip(plink["alleles"].as_array().unwrap()) {
        let fields: Vec<&str> = line.split('\t').collect();
        for (field, expected) in fields[..5].iter().zip(expected.as_array().unwrap()) {
            assert_eq!(*field, expected.as_str().unwrap());
        }
        let size = |c: usize| expected[5 + c].as_f64().unwrap().abs();
        for c in 0..K {
            let found: f64 = fields[5 + c].parse().unwrap();
            assert!((found.abs() - size(c)).abs() < 2e-4, "{line}: {expected}");
        }
    }
    let found = std::fs::read_to_string(path("afreq")).unwrap();
    for (line, expected) in found.lines().skip(1).zip(plink["frequencies"].as_array().unwrap()) {
        let fields: Vec<&str> = line.split('\t').collect();
        let frequency: f64 = fields[4].parse().unwrap();
        assert!((frequency - expected[4].as_f64().unwrap()).abs() < 1e-6, "{line}: {expected}");
        assert_eq!(fields[5], expected[5].to_string());
    }
}

#[test]
fn new_samples_have_the_scores_of_plink() {
    let (out, plink) = (fitted(), plink());
    let run = |options: &str, name: &str| {
        let [model, scores] = ["people.model", name].map(|name| out.path().join(name));
        let command = format!("transform {} new.bed {options} -o {}", model.display(), scores.display());
        (karhunen(&command).current_dir(folder()).assert(), scores)
    };
    let (refused, _) = run("", "refused.csv");
    let message = String::from_utf8(refused.code(3).get_output().stderr.clone()).unwrap();
    assert!(
        message.contains("of the 1200 variants of the model are not matched in new.bim: 25 absent"),
        "{message}"
    );
    assert!(message.contains("; `karhunen transform --unmatched FILE` does without them"), "{message}");
    let list = out.path().join("rest.csv");
    let unmatched = format!("--unmatched {}", list.display());
    let (done, scores) = run(&unmatched, "scores.csv");
    done.success();
    let expected: Vec<Vec<f64>> = plink["scores_of_new"].as_array().unwrap().iter().map(numbers).collect();
    let found = rows(&scores, ',');
    // PLINK takes the means of variants that are lacking, a twentieth of them, which draws its scores towards zero.
    for c in 0..K {
        let expected = column(&expected, c);
        let found = signed(column(&found, c), &expected);
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let factor = product(&found, &expected) / product(&expected, &expected);
        assert!((1.0..1.12).contains(&factor), "{factor}");
        let cosine =
            product(&found, &expected) / (product(&found, &found) * product(&expected, &expected)).sqrt();
        assert!(cosine > 0.99, "{cosine}");
    }
    let text = std::fs::read_to_string(&list).unwrap();
    assert!(text.starts_with("variant,reason,alleles_found\n"), "{text}");
    // PLINK skipped the alleles of 25 absent variants and of 39 with other alleles.
    assert_eq!(text.lines().filter(|line| line.contains(",absent,")).count(), 25);
    assert_eq!(text.lines().filter(|line| line.contains(",other alleles,")).count(), 39);
    // Told of strands, variants on the other one are matched, and those without a visible strand are not.
    let (done, flipped) = run(&format!("{unmatched} --flip-strand --force"), "flipped.csv");
    done.success();
    let text = std::fs::read_to_string(&list).unwrap();
    assert_eq!(text.lines().filter(|line| line.contains(",other alleles,")).count(), 0);
    assert!(text.lines().filter(|line| line.contains(",ambiguous strand,")).count() == 48);
    let (done, unshrunk) = run(&format!("{unmatched} --flip-strand --unshrunk --force"), "unshrunk.csv");
    done.success();
    let length = |path: &Path| {
        let rows = rows(path, ',');
        rows.iter().map(|row| row[0].hypot(row[1])).sum::<f64>() / rows.len() as f64
    };
    let (plain, corrected) = (length(&flipped), length(&unshrunk));
    assert!(corrected > 1.1 * plain, "{plain} {corrected}");
    // Variants that are not matched are left out, and do not take their means.
    let said = run(&format!("{unmatched} --flip-strand --unshrunk --force"), "again.csv").0.success();
    assert!(!String::from_utf8_lossy(&said.get_output().stderr).contains("take their means"));
}

/// The fitted people without a sixth of the variants.
#[test]
fn lacking_variants_do_not_draw_scores_towards_zero() {
    let out = fitted();
    let copy = |extension: &str| out.path().join(format!("fewer.{extension}"));
    let bim = std::fs::read_to_string(folder().join("people.bim")).unwrap();
    let kept: Vec<&str> = bim.lines().take(1000).collect();
    std::fs::write(copy("bim"), kept.join("\n") + "\n").unwrap();
    std::fs::copy(folder().join("people.fam"), copy("fam")).unwrap();
    let bytes = std::fs::read(folder().join("people.bed")).unwrap();
    let of_variant = (bytes.len() - 3) / bim.lines().count();
    std::fs::write(copy("bed"), &bytes[..3 + 1000 * of_variant]).unwrap();
    let model = out.path().join("people.model");
    let scores = |data: &Path, options: &str| {
        let scores = out.path().join("scores.csv");
        let command = format!(
            "transform {} {} {options} -o {} --force -q",
            model.display(),
            data.display(),
            scores.display()
        );
        karhunen(&command).current_dir(folder()).assert().success();
        rows(&scores, ',')
    };
    let all = scores(Path::new("people.bed"), "");
    let fewer = scores(&copy("bed"), &format!("--unmatched {}", out.path().join("rest.csv").display()));
    let length = |rows: &[Vec<f64>], c: usize| column(rows, c).iter().map(|z| z * z).sum::<f64>().sqrt();
    let share = length(&fewer, 0) / length(&all, 0);
    assert!((share - 1.0).abs() < 0.03, "{share}");
}

#[test]
fn missing_genotypes_can_be_left_out() {
    let out = tempfile::tempdir().unwrap();
    let scores = out.path().join("scores.csv");
    let fit = format!("fit people.bed --missing -k 2 -q --scores {}", scores.display());
    karhunen(&fit).current_dir(folder()).assert().success();
    let text = std::fs::read_to_string(&scores).unwrap();
    assert!(text.contains("P1S1,"), "{text}");
    // The populations are apart: the ends of their ranges on the first two components differ.
    let of = |population: &str| {
        let mut rows: Vec<f64> = text
            .lines()
            .filter(|line| line.starts_with(population))
            .map(|line| line.split(',').nth(1).unwrap().parse().unwrap())
            .collect();
        rows.sort_by(f64::total_cmp);
        (rows[0], rows[rows.len() - 1])
    };
    let (third, second) = (of("P3"), of("P2"));
    assert!(third.0 > second.1 || third.1 < second.0, "{third:?} {second:?}");
}

#[test]
fn options_of_genotypes_are_obeyed_or_refused() {
    let cases = [
        (
            "fit iris.csv --label class --scale=binomial --eigenvec x",
            "--eigenvec writes the results of a PLINK .bed file",
        ),
        ("fit ../genotypes/people.bed --eigenvec x", "use --scale=binomial"),
        ("fit ../genotypes/people.bed ../genotypes/new.bed --scale=binomial --eigenvec x", "one .bed file"),
        ("fit ../genotypes/people.bed --delimiter tab", "--delimiter does not apply to PLINK .bed"),
        ("fit iris.csv --label class --scale=binomial", "binomial scales need counts from 0 to 2"),
    ];
    for (command, part) in cases {
        let refused = karhunen(command).assert().failure();
        let message = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
        assert!(message.contains(part), "{command}: {message}");
    }
}

#[test]
fn texts_of_others_are_not_overwritten_by_eigenvalues() {
    let out = tempfile::tempdir().unwrap();
    let prefix = out.path().join("x");
    let fit = format!("fit people.bed --scale=binomial -k 2 -q --eigenvec {}", prefix.display());
    std::fs::write(prefix.with_extension("eigenval"), "notes\nprecious\n").unwrap();
    karhunen(&fit).current_dir(folder()).assert().code(2);
    let kept = std::fs::read_to_string(prefix.with_extension("eigenval")).unwrap();
    assert_eq!(kept, "notes\nprecious\n");
    std::fs::remove_file(prefix.with_extension("eigenval")).unwrap();
    karhunen(&fit).current_dir(folder()).assert().success();
    karhunen(&format!("{fit} --force")).current_dir(folder()).assert().success();
}

#[test]
fn chromosomes_that_are_no_autosomes_get_a_note() {
    let out = tempfile::tempdir().unwrap();
    let at = |name: &str| out.path().join(name);
    for ending in ["bed", "bim", "fam"] {
        std::fs::copy(folder().join(format!("people.{ending}")), at(&format!("g.{ending}"))).unwrap();
    }
    let notes = || {
        let done = karhunen("fit g.bed -k 1").current_dir(out.path()).assert().success();
        String::from_utf8(done.get_output().stderr.clone()).unwrap()
    };
    assert!(!notes().contains("--autosome"));
    let bim = std::fs::read_to_string(at("g.bim")).unwrap();
    let moved: Vec<String> = bim
        .lines()
        .enumerate()
        .map(|(i, line)| {
            let (_, rest) = line.split_once('\t').unwrap();
            format!("{}\t{rest}\n", ["1", "chrX", "26", "2"][i % 4])
        })
        .collect();
    std::fs::write(at("g.bim"), moved.concat()).unwrap();
    let text = notes().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("the variants of chromosome 26, X are fitted as all others"), "{text}");
    // Dogs have 38 autosomes.
    std::fs::write(at("g.bim"), moved.concat().replace("chrX\t", "38\t")).unwrap();
    assert!(!notes().contains("--autosome"));
}

#[test]
fn codes_of_missing_genotypes_are_no_counts() {
    let out = tempfile::tempdir().unwrap();
    let table = "a,b,c\n0,1,2\n1,1,0\n2,0,9\n0,2,1\n1,-1,1\n";
    std::fs::write(out.path().join("g.csv"), table).unwrap();
    let refused = |options: &str| {
        let fit = format!("fit g.csv --scale=binomial -k 1 {options}");
        let done = karhunen(&fit).current_dir(out.path()).assert().failure();
        String::from_utf8(done.get_output().stderr.clone()).unwrap()
    };
    for options in ["", "--missing"] {
        let text = refused(options);
        assert!(text.contains("row 3, column 3 (`c`) is 9, and binomial scales need counts"), "{text}");
        assert!(text.contains("--missing"), "{text}");
    }
    karhunen("fit g.csv --scale=binomial -k 1 --missing --na 9,-1")
        .current_dir(out.path())
        .assert()
        .success();
    // Sums of rows have no single values, but codes deviate too much.
    let table = "a,b\n0,1\n1,1\n2,0\n0,9\n1,0\n1,0\n2,1\n0,0\n";
    std::fs::write(out.path().join("g.csv"), table).unwrap();
    karhunen("moments g.csv -o g.moments -q").current_dir(out.path()).assert().success();
    let from = "fit --from-moments g.moments --scale=binomial -k 1";
    let done = karhunen(from).current_dir(out.path()).assert().failure();
    let text = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(text.contains("counts 0, 1, 2 deviate less"), "{text}");
}
