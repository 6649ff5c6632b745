//! Kinds of text that people have: each is read, asked about with the option that decides, or named.

use karhunen_io::{ReadOptions, read};

/// What becomes of a file.
#[derive(Debug)]
enum Fate {
    /// Read as rows and columns, with this many notes.
    Read(usize, usize, usize),
    /// Refused with an error that holds this text.
    Asked(&'static str),
}

use Fate::{Asked, Read};

const ROWS: usize = 12;

/// A value with two decimals, other ones in every row and column; some are below one.
fn value(i: usize, j: usize) -> f64 {
    0.25 + ((i * 7 + j * 16) % 23) as f64 + (i % 4) as f64 / 4.0
}

/// Rows of three columns between `before` and `after`, each number written by `number`.
fn body(
    delimiter: &str,
    number: &dyn Fn(f64) -> String,
    around: &dyn Fn(usize) -> (String, String),
) -> String {
    let row = |i: usize| {
        let cells: Vec<String> = (0..3).map(|j| number(value(i, j))).collect();
        let (before, after) = around(i);
        format!("{before}{}{after}\n", cells.join(delimiter))
    };
    (0..ROWS).map(row).collect()
}

fn bare(_: usize) -> (String, String) {
    (String::new(), String::new())
}

fn plain(x: f64) -> String {
    x.to_string()
}

fn commas() -> String {
    body(",", &plain, &bare)
}

fn grouped(x: f64, sign: char) -> String {
    let whole = 1000 + (x * 1000.0) as u64;
    format!("{}{sign}{:03}", whole / 1000, whole % 1000)
}

/// Tables with names, ids, classes and lines above and below.
fn lines() -> Vec<(&'static str, String, Fate)> {
    let ids = |i: usize| (format!("s{i},"), String::new());
    let named = |text: &str| format!("{text}\n{}", commas());
    let of_ids = |text: &str| format!("{text}\n{}", body(",", &plain, &ids));
    vec![
        ("names.csv", named("a,b,c"), Read(12, 3, 0)),
        ("quoted_names.csv", named("\"a\",\"b\",\"c\""), Read(12, 3, 0)),
        ("quoted_years.csv", named("\"2019\",\"2020\",\"2021\""), Read(12, 3, 0)),
        ("bare.csv", commas(), Read(12, 3, 0)),
        ("bom_crlf.csv", format!("\u{feff}{}", named("a,b,c").replace('\n', "\r\n")), Read(12, 3, 0)),
        ("blank_lines.csv", named("a,b,c").replace('\n', "\n\n"), Read(12, 3, 0)),
        ("pandas_numbers.csv", named("0,1,2"), Read(13, 3, 1)),
        ("wavelengths.csv", named("900,902,904"), Read(13, 3, 1)),
        (
            "pandas_index.csv",
            format!(",0,1,2\n{}", body(",", &plain, &|i| (format!("{i},"), String::new()))),
            Asked("header = true or header = false"),
        ),
        (
            "r_csv.csv",
            format!(
                "\"\",\"a\",\"b\",\"c\"\n{}",
                body(",", &plain, &|i| (format!("\"{i}\","), String::new()))
            ),
            Read(12, 3, 0),
        ),
        (
            "r_table.txt",
            format!("\"a\" \"b\" \"c\"\n{}", body(" ", &plain, &|i| (format!("\"{i}\" "), String::new()))),
            Read(12, 3, 0),
        ),
        ("ids.csv", of_ids("id,a,b,c"), Read(12, 3, 0)),
        ("ids_mz.csv", of_ids("sample,181.0707,85.0284,203.0526"), Asked("header = true or header = false")),
        ("ids_years.csv", of_ids("Country Name,1990,1991,1992"), Asked("header = true or header = false")),
        ("ids_doses.csv", of_ids("dose,0,5,10"), Asked("header = true or header = false")),
        ("ids_bare.csv", body(",", &plain, &ids), Asked("header = true or header = false")),
        (
            "number_ids.csv",
            format!(
                "age,2019,2020,2021\n{}",
                body(",", &plain, &|i| (format!("{},", 20 + i), String::new()))
            ),
            Read(12, 4, 1),
        ),
        (
            "class_bare.data",
            body(",", &plain, &|i| (String::new(), format!(",{}", ["setosa", "other"][i % 2]))),
            Asked("labels = [\"4\"]"),
        ),
        (
            "class.csv",
            format!(
                "a,b,c,kind\n{}",
                body(",", &plain, &|i| (String::new(), format!(",{}", ["x", "y"][i % 2])))
            ),
            Asked("labels = [\"kind\"]"),
        ),
        (
            "two_ids.csv",
            format!("plate,well,a,b,c\n{}", body(",", &plain, &|i| (format!("p1,A{i},"), String::new()))),
            Asked("labels = [\"plate\", \"well\"]"),
        ),
        (
            "dates.csv",
            format!(
                "date,a,b,c\n{}",
                body(",", &plain, &|i| (format!("2020-01-{:02},", i + 1), String::new()))
            ),
            Read(12, 3, 0),
        ),
        ("title.csv", format!("Global means\n{}", named("a,b,c")), Asked("skip = 1")),
        (
            "titles.csv",
            format!("\"Data Source\",\"WDI\"\n\n\"Updated\",\"2024-01-01\"\n\n{}", named("a,b,c")),
            Asked("skip = 4"),
        ),
        ("title_padded.csv", format!("Means,,\n{}", named("a,b,c")), Asked("skip = 1")),
        ("units.csv", format!("a,b,c\nm,kg,s\n{}", commas()), Asked("skip = 2-2")),
        (
            "orange.tab",
            format!("a\tb\tc\nc\tc\tc\n\t\tclass\n{}", body("\t", &plain, &bare)),
            Asked("skip = 2-3"),
        ),
        ("title_and_units.csv", format!("Means\na,b,c\nm,kg,s\n{}", commas()), Asked("skip = 1")),
        (
            "series_matrix.txt",
            format!("!title\t\"x\"\n!begin\n\"ID\"\t\"a\"\t\"b\"\n{}!end\n", "\"p\"\t1\t2\n".repeat(4)),
            Asked("comment = !"),
        ),
        ("total.csv", format!("{}Total,1,2,3\n", of_ids("id,a,b,c")), Read(13, 3, 1)),
        ("footer.csv", format!("{}\nSource: me\n", named("a,b,c")), Asked("1 field where 3 are expected")),
        (
            "trailing.csv",
            format!("a,b,c\n{}", body(",", &plain, &|_| (String::new(), ",".into()))),
            Read(12, 3, 0),
        ),
        (
            "trailing_both.csv",
            format!("a,b,c,\n{}", body(",", &plain, &|_| (String::new(), ",".into()))),
            Read(12, 3, 0),
        ),
        ("comments.csv", format!("# by x\n# on, monday\n{}", named("a,b,c")), Read(12, 3, 0)),
        (
            "savetxt.txt",
            format!("# a b c\n{}", body(" ", &plain, &bare)),
            Asked("header = true, or header = false"),
        ),
        (
            "otu.tsv",
            format!("#OTU ID\ta\tb\tc\n{}", body("\t", &plain, &|i| (format!("o{i}\t"), String::new()))),
            Asked("header = true, or header = false"),
        ),
        (
            "octave.txt",
            format!(
                "# name: x\n# type: matrix\n# rows: 12\n# columns: 3\n{}",
                body(" ", &plain, &|_| (" ".into(), String::new()))
            ),
            Read(12, 3, 0),
        ),
        ("comment_between.csv", format!("{}# half\n{}", named("a,b,c"), commas()), Asked("comment = #")),
        ("cut_short.csv", format!("1,2\n{}", commas()), Asked("header = true")),
        ("sep.csv", format!("sep=;\na;b;c\n{}", body(";", &plain, &bare)), Read(12, 3, 0)),
    ]
}

/// Tables with other signs, words and delimiters.
fn signs() -> Vec<(&'static str, String, Fate)> {
    let with = |delimiter: &str, number: &dyn Fn(f64) -> String| {
        format!("{}\n{}", ["a", "b", "c"].join(delimiter), body(delimiter, number, &bare))
    };
    let word = |word: &str| with(",", &plain).replacen("\n0.25,", &format!("\n{word},"), 1);
    vec![
        ("pipes.txt", with("|", &plain), Read(12, 3, 0)),
        ("tabs.tsv", with("\t", &plain), Read(12, 3, 0)),
        ("colons.dat", body("::", &plain, &bare), Read(12, 3, 0)),
        ("aligned.txt", with("   ", &|x| format!("{x:8.2}")), Read(12, 3, 0)),
        ("german.csv", with(";", &|x| plain(x).replace('.', ",")), Read(12, 3, 0)),
        ("german_tabs.tsv", with("\t", &|x| plain(x).replace('.', ",")), Read(12, 3, 0)),
        ("german_groups.csv", with(";", &|x| format!("{},5", grouped(x, '.'))), Read(12, 3, 0)),
        ("english_groups.csv", with(";", &|x| format!("{}.5", grouped(x, ','))), Read(12, 3, 0)),
        (
            "quoted_groups.csv",
            with(",", &|x| format!("\"{}\"", grouped(x, ','))),
            Asked("decimal = , or thousands = ,"),
        ),
        ("tab_groups.tsv", with("\t", &|x| grouped(x, ',')), Asked("decimal = , or thousands = ,")),
        (
            "spanish_groups.tsv",
            with("\t", &|x| if x < 9.0 { format!("{x:.0}") } else { grouped(x, '.') }),
            Asked("decimal = . or thousands = ."),
        ),
        ("fixed_decimals.tsv", with("\t", &|x| format!("{:.3}", 1.0 + x)), Read(12, 3, 1)),
        ("swiss_groups.csv", with(";", &|x| grouped(x, '\'')), Asked("thousands = '")),
        ("blank_groups.csv", with(";", &|x| grouped(x, ' ')), Asked("thousands =  ")),
        ("exponents.csv", with(",", &|x| format!("{x:e}")), Read(12, 3, 0)),
        ("fortran.csv", with(",", &|x| format!("{x}D+00")), Asked("write its exponent with `e`")),
        ("percent.csv", with(",", &|x| format!("{x}%")), Asked("remove the percent sign")),
        ("currency.csv", with(",", &|x| format!("${x}")), Asked("remove the percent sign or the currency")),
        ("empty.csv", word(""), Asked("is a missing value")),
        ("na.csv", word("na"), Asked("is a missing value")),
        ("none.csv", word("None"), Asked("na = [\"None\"]")),
        ("question.csv", word("?"), Asked("na = [\"?\"]")),
        ("dash.csv", word("---"), Asked("na = [\"---\"]")),
        ("not_determined.csv", word("n.d."), Asked("na = [\"n.d.\"]")),
        ("spreadsheet.csv", word("#DIV/0!"), Asked("na = [\"#DIV/0!\"]")),
        ("null.csv", word("\\N"), Asked("na = [\"\\\\N\"]")),
        ("below_limit.csv", word("<0.05"), Asked("na = [\"<0.05\"]")),
        ("infinite.csv", word("inf"), Asked("is infinite")),
        ("codes.csv", with(",", &|x| if x < 3.0 { "-999".into() } else { plain(x) }), Read(12, 3, 1)),
        ("text.csv", "a,b\nx,u\ny,v\nz,u\n".into(), Asked("labels = [\"b\"]")),
        ("eigenstrat.geno", "00101022\n10210100\n00111120\n".into(), Asked("EIGENSTRAT")),
        ("people.raw", "FID IID PAT MAT SEX PHENOTYPE a_A\n1 1 0 0 1 -9 2\n".into(), Asked("PLINK")),
        (
            "people.traw",
            "CHR\tSNP\t(C)M\tPOS\tCOUNTED\tALT\ta_a\n1\tx\t0\t5\tA\tC\t2\n".into(),
            Asked("PLINK"),
        ),
        ("people.012", "0\t-1\t1\n1\t2\t0\n".into(), Asked("vcftools")),
        ("people.vcf", "##fileformat=VCFv4.2\n#CHROM\tPOS\n1\t5\n".into(), Asked("--max-alleles 2")),
        ("genes.gct", "#1.2\n2\t2\nName\tDescription\ta\tb\nx\ty\t1\t2\n".into(), Asked("GCT")),
        ("series.soft", "^SERIES = GSE1\n!x = y\n".into(), Asked("SOFT")),
        ("iris.arff", "% x\n@relation iris\n@attribute a real\n@data\n1\n".into(), Asked("ARFF")),
        ("a.svm", "+1 1:0.5 3:2\n-1 2:1\n".into(), Asked("libsvm")),
    ]
}

#[test]
fn each_kind_of_text_is_read_asked_about_or_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    let all: Vec<_> = lines().into_iter().chain(signs()).collect();
    assert!(all.len() > 67, "{}", all.len());
    for (name, text, fate) in all {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let read = read(&path, &ReadOptions::default());
        let as_expected = match (&read, &fate) {
            (Ok(table), Read(n, p, notes)) => {
                table.data.shape() == (*n, *p) && table.warnings.len() == *notes
            }
            (Err(error), Asked(words)) => error.to_string().contains(words),
            _ => false,
        };
        if !as_expected {
            let found = read.map(|table| format!("{:?}, {:?}", table.data.shape(), table.warnings));
            wrong.push(format!("{name}: {fate:?}, but {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
