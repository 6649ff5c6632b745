//! Formats of other programs that are texts. Only what cannot be another table is recognised: by a first line, or by the
//! name and the content.

use super::Foreign;

const EIGENSTRAT: Foreign = Foreign {
    what: "a file of genotypes of EIGENSTRAT",
    way: "write it as a .bed file: printf 'genotypename: %s\\nsnpname: {stem}.snp\\nindivname: {stem}.ind\\noutputformat: \
          PACKEDPED\\ngenotypeoutname: {stem}.bed\\nsnpoutname: {stem}.bim\\nindivoutname: {stem}.fam\\n' '{file}' > \
          '{stem}.par' && convertf -p '{stem}.par', then give '{stem}.bed'",
};
const RAW: Foreign = Foreign {
    what: "a table of genotypes of PLINK (.raw)",
    way: "give the .bed file that it was made of, or keep the names and the genotypes: tr ' ' '\\t' < '{file}' | \
          cut -f 2,7- > '{stem}.tsv'",
};
const TRAW: Foreign = Foreign {
    what: "a table of genotypes of PLINK with variants in rows (.traw)",
    way: "give the .bed file that it was made of, or write the genotypes with samples in rows: python -c \"import pandas; \
          pandas.read_csv('{file}', sep='\\t', index_col='SNP').iloc[:, 5:].T.to_csv('{stem}.csv')\"",
};
const VCFTOOLS: Foreign = Foreign {
    what: "a table of genotypes of vcftools, whose first column counts the rows and -1 is a missing genotype",
    way: "write it as CSV: python -c \"import pandas; pandas.read_csv('{file}', sep='\\t', header=None, index_col=0, \
          na_values='-1').to_csv('{stem}.csv', index=False)\"",
};
const GCT: Foreign = Foreign {
    what: "a GCT file, with features in rows",
    way: "write it as CSV with samples in rows: python -c \"import pandas; pandas.read_csv('{file}', sep='\\t', skiprows=2, \
          index_col=0).iloc[:, 1:].T.to_csv('{stem}.csv')\"",
};
const GCT_3: Foreign = Foreign {
    what: "a GCT file of version 1.3, with features in rows",
    way: "write it as CSV with samples in rows: python -c \"import cmapPy.pandasGEXpress.parse as gct; \
          gct.parse('{file}').data_df.T.to_csv('{stem}.csv')\" (needs cmapPy)",
};
const SOFT: Foreign = Foreign {
    what: "a SOFT file of GEO",
    way: "write the values of a series as CSV: python -c \"import GEOparse; \
          GEOparse.get_GEO(filepath='{file}').pivot_samples('VALUE').T.to_csv('{stem}.csv')\" (needs GEOparse)",
};
const ARFF: Foreign = Foreign {
    what: "an ARFF file",
    way: "write it as CSV: python -c \"import pandas, scipy.io.arff; \
          pandas.DataFrame(scipy.io.arff.loadarff('{file}')[0]).to_csv('{stem}.csv', index=False)\"",
};
const LIBSVM: Foreign = Foreign {
    what: "a file of libsvm (svmlight)",
    way: "write it as a sparse matrix: python -c \"import scipy.sparse, sklearn.datasets; \
          scipy.sparse.save_npz('{stem}.npz', sklearn.datasets.load_svmlight_file('{file}')[0])\"",
};

/// Number of lines that are compared with a format.
const LINES: usize = 20;

/// Number of bytes that are compared.
const ENOUGH: usize = 64 << 10;

/// The format of a text; `extension` is the extension of its name.
pub(super) fn recognise(text: &[u8], extension: Option<&str>) -> Option<Foreign> {
    let text = &text[..text.len().min(ENOUGH)];
    let lines: Vec<&[u8]> =
        text.split(|&byte| byte == b'\n').take(LINES).map(<[u8]>::trim_ascii_end).collect();
    let first = *lines.first()?;
    let begins = |fields: &[&str]| {
        let mut found = fields_of(first);
        fields.iter().all(|field| found.next() == Some(field.as_bytes()))
    };
    // The numbers of rows and columns, and names of the first two columns of text, or the word for ids.
    let is_gct = |version: &[u8], n_counts: usize, names: &[&str]| {
        let is_count = |field: &[u8]| field.iter().all(u8::is_ascii_digit);
        let [_, counts, third, ..] = lines[..] else { return false };
        let mut found = fields_of(third);
        first == version
            && fields_of(counts).count() == n_counts
            && fields_of(counts).all(is_count)
            && names
                .iter()
                .all(|name| found.next().is_some_and(|field| field.eq_ignore_ascii_case(name.as_bytes())))
    };
    let is_relation =
        |line: &&[u8]| line.get(..10).is_some_and(|begin| begin.eq_ignore_ascii_case(b"@relation "));
    let is_entity = |name: &str| begins(&[name, "="]);
    match extension {
        Some("geno" | "eigenstratgeno") if are_digits(&lines) => Some(EIGENSTRAT),
        Some("geno") if first.starts_with(b"GENO ") || first.starts_with(b"TGENO ") => Some(EIGENSTRAT),
        Some("raw") if begins(&["FID", "IID", "PAT", "MAT", "SEX", "PHENOTYPE"]) => Some(RAW),
        Some("traw") if begins(&["CHR", "SNP", "(C)M", "POS", "COUNTED", "ALT"]) => Some(TRAW),
        Some("012") if are_counted(&lines) => Some(VCFTOOLS),
        _ if is_gct(b"#1.2", 2, &["Name", "Description"]) => Some(GCT),
        _ if is_gct(b"#1.3", 4, &["id"]) => Some(GCT_3),
        _ if ["^DATABASE", "^PLATFORM", "^SERIES", "^SAMPLE", "^DATASET"].into_iter().any(is_entity) => {
            Some(SOFT)
        }
        _ if lines.iter().find(|line| !line.is_empty() && line[0] != b'%').is_some_and(is_relation) => {
            Some(ARFF)
        }
        _ if are_pairs(&lines) => Some(LIBSVM),
        _ => None,
    }
}

fn fields_of(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| byte == b' ' || byte == b'\t').filter(|field| !field.is_empty())
}

/// Tests for lines of one digit for each sample: 0, 1 and 2 copies, or 9 where it is missing. The last may be cut.
fn are_digits(lines: &[&[u8]]) -> bool {
    let is_whole = |(index, line): (usize, &&[u8])| index + 1 == lines.len() || line.len() == lines[0].len();
    !lines[0].is_empty()
        && lines.iter().enumerate().all(is_whole)
        && lines.iter().all(|line| line.iter().all(|byte| b"0129".contains(byte)))
}

/// Tests for rows that begin with their number, from zero, before genotypes. The last may be cut.
fn are_counted(lines: &[&[u8]]) -> bool {
    let are_genotypes = |(index, line): (usize, &&[u8])| {
        let mut fields = fields_of(line);
        let number = index.to_string();
        fields.next() == Some(number.as_bytes())
            && fields.all(|field| [&b"-1"[..], b"0", b"1", b"2"].contains(&field))
    };
    let n_whole = lines.len().saturating_sub(1).max(1);
    lines.iter().take(n_whole).enumerate().all(are_genotypes)
}

/// Tests for lines of a label and pairs `column:value` in the order of the columns. The last line may be cut.
fn are_pairs(lines: &[&[u8]]) -> bool {
    let n_whole = lines.len().saturating_sub(1).max(1);
    let mut n_pairs = 0;
    for line in lines.iter().take(n_whole) {
        let Ok(line) = std::str::from_utf8(line) else { return false };
        let mut fields = line.split('#').next().unwrap_or("").split_ascii_whitespace();
        let Some(label) = fields.next() else { continue };
        let mut previous = None;
        let mut follows = |field: &str| {
            let Some((column, value)) = field.split_once(':') else { return false };
            let Ok(column) = column.parse::<u64>() else { return column == "qid" };
            let follows = previous.is_none_or(|previous| previous < column) && value.parse::<f64>().is_ok();
            previous = Some(column);
            n_pairs += 1;
            follows
        };
        if !label.split(',').all(|label| label.parse::<f64>().is_ok()) || !fields.all(&mut follows) {
            return false;
        }
    }
    n_pairs > 1
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::recognise;

    fn what(text: &[u8], name: &str) -> Option<&'static str> {
        recognise(text, Path::new(name)).map(|kind| kind.what)
    }

    #[test]
    fn texts_of_other_programs_are_recognised() {
        let cases: [(&[u8], &str, &str); 14] = [
            (b"001\n102\n129", "x.geno", super::EIGENSTRAT.what),
            (b"001\n10", "x.geno.gz", super::EIGENSTRAT.what),
            (b"GENO 5 9 a b\n", "x.geno", super::EIGENSTRAT.what),
            (b"FID IID PAT MAT SEX PHENOTYPE a_A\n1 1 0 0 1 -9 2\n", "x.raw", super::RAW.what),
            (b"FID\tIID\tPAT\tMAT\tSEX\tPHENOTYPE\ta_A\n", "x.raw", super::RAW.what),
            (b"CHR\tSNP\t(C)M\tPOS\tCOUNTED\tALT\ta_a\n", "x.traw", super::TRAW.what),
            (b"0\t-1\t1\r\n1\t2\t0\r\n", "x.012", super::VCFTOOLS.what),
            (b"#1.2\n2\t3\nName\tDescription\ta\n", "x.txt", super::GCT.what),
            (b"#1.3\n2\t3\t1\t0\nid\ta\n", "x.gct", super::GCT_3.what),
            (b"^DATABASE = GeoMiame\n!Database_name = GEO\n", "x.soft.gz", super::SOFT.what),
            (b"^SERIES = GSE1\n", "x.txt", super::SOFT.what),
            (b"% a comment\n\n@RELATION iris\n", "x.csv", super::ARFF.what),
            (b"+1 1:0.5 3:2\n-1 2:1e3 # a note\n", "x.txt", super::LIBSVM.what),
            (b"3 qid:1 1:0.5 3:2\n1,2 2:1\n", "x.dat", super::LIBSVM.what),
        ];
        for (text, name, expected) in cases {
            assert_eq!(what(text, name), Some(expected), "{name}: {}", text.escape_ascii());
        }
    }

    #[test]
    fn what_may_be_a_table_is_none_of_them() {
        let tables: [(&[u8], &str); 12] = [
            // One column of numbers.
            (b"10\n11\n12\n", "x.txt"),
            (b"10\n11\n13\n", "x.geno"),
            (b"0\t1\t2\n1\t0\t2\n", "x.txt"),
            (b"0\t1\t3\n1\t0\t2\n", "x.012"),
            (b"FID IID PAT MAT SEX PHENOTYPE a_A\n1 1 0 0 1 -9 2\n", "x.csv"),
            (b"#1.2\na,b\n1,2\n", "x.csv"),
            (b"#1.2\n3 4\n1 2\n5 6\n", "x.txt"),
            (b"^SERIES,a\n1,2\n", "x.csv"),
            (b"@relations,a\n1,2\n", "x.csv"),
            (b"12 10:30 5\n13 10:45 6\n", "x.txt"),
            (b"1 2\n3 4\n", "x.txt"),
            (b"1 3:2 1:2\n", "x.txt"),
        ];
        for (text, name) in tables {
            assert_eq!(what(text, name), None, "{name}: {}", text.escape_ascii());
        }
    }
}
