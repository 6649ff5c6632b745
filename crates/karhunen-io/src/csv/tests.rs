//! Tests detection with a table of cases, and the parser against slower or independent implementations.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::RowNames;

/// The smallest block size: every record is a block.
const TINY: usize = 1;

fn parse(text: &str, options: &ReadOptions, block_bytes: usize) -> Result<Table> {
    read_in_blocks(Path::new("t.csv"), text.as_bytes(), options, block_bytes)
}

fn values(table: &Table) -> Vec<Vec<f64>> {
    if table.data.shape().0 == 0 {
        return Vec::new();
    }
    let Data::F64(Values::Blocks(blocks)) = &table.data else { panic!("not blocks: {table:?}") };
    blocks.iter().flat_map(|block| (0..block.n_rows()).map(|i| block.row(i).to_vec())).collect()
}

fn texts(names: &[&str]) -> Option<Vec<String>> {
    Some(names.iter().map(|&name| name.to_owned()).collect())
}

/// The text, its format, the column names, the row names, and the first row.
type Case = (&'static str, &'static str, Option<Vec<String>>, Option<Vec<String>>, &'static [f64]);

#[test]
fn tables_are_recognised() {
    let cases: Vec<Case> = vec![
        ("a,b\n1,2\n3,4\n", "CSV", texts(&["a", "b"]), None, &[1.0, 2.0]),
        ("1,2\n3,4\n", "CSV", None, None, &[1.0, 2.0]),
        ("1,2", "CSV", None, None, &[1.0, 2.0]),
        ("a,b\r\n1,2\r\n\r\n", "CSV", texts(&["a", "b"]), None, &[1.0, 2.0]),
        ("\u{feff}a,b\n1,2\n", "CSV", texts(&["a", "b"]), None, &[1.0, 2.0]),
        ("\u{feff}\"a\",b\n1,2\n", "CSV", texts(&["a", "b"]), None, &[1.0, 2.0]),
        ("\n\na,b\n1,2\n\n3,4\n\n", "CSV", texts(&["a", "b"]), None, &[1.0, 2.0]),
        (" a , b \n +1 ,\t2e1 \n", "CSV", texts(&["a", "b"]), None, &[1.0, 20.0]),
        ("a;b\n1;2\n", "CSV (semicolons)", texts(&["a", "b"]), None, &[1.0, 2.0]),
        ("1,5;2,5\n3;4\n", "CSV (semicolons)", None, None, &[1.5, 2.5]),
        ("a\tb\n-1,5\t2\n", "TSV", texts(&["a", "b"]), None, &[-1.5, 2.0]),
        ("a|b\n1|2\n", "text table", texts(&["a", "b"]), None, &[1.0, 2.0]),
        ("  1   2\t3\n 10  20  30  \n", "text table (blanks)", None, None, &[1.0, 2.0, 3.0]),
        ("x\n1\n2\n", "CSV", texts(&["x"]), None, &[1.0]),
        ("1, 2, 3\n4, 5, 6\n", "CSV", None, None, &[1.0, 2.0, 3.0]),
        // Lines before the table.
        ("sep=;\na;b\n1;2\n", "CSV (semicolons)", texts(&["a", "b"]), None, &[1.0, 2.0]),
        ("sep=,\r\n1,5,2\r\n3,4,5\r\n", "CSV", None, None, &[1.0, 5.0, 2.0]),
        ("# by x\n# on, monday\n\na,b\n1,2\n", "CSV", texts(&["a", "b"]), None, &[1.0, 2.0]),
        ("# by x\n1,2\n3,4\n", "CSV", None, None, &[1.0, 2.0]),
        ("# a b\n1 2\n3 4\n", "text table (blanks)", texts(&["a", "b"]), None, &[1.0, 2.0]),
        ("##v=1,2\n#CHROM\tPOS\n1\t2\n", "TSV", texts(&["#CHROM", "POS"]), None, &[1.0, 2.0]),
        // Sodium is no missing value.
        ("K,NA,Ca\n1,2,3\n", "CSV", texts(&["K", "NA", "Ca"]), None, &[1.0, 2.0, 3.0]),
        ("NA,K\n1,2\n", "CSV", texts(&["NA", "K"]), None, &[1.0, 2.0]),
        // Names of rows.
        ("n,a\nx,1\ny,2\n", "CSV", texts(&["a"]), texts(&["x", "y"]), &[1.0]),
        ("x,1\ny,2\n", "CSV", None, texts(&["x", "y"]), &[1.0]),
        (
            "n,a\n\"p, \"\"q\"\"\",1\n\"two\nlines\",2\n",
            "CSV",
            texts(&["a"]),
            texts(&["p, \"q\"", "two\nlines"]),
            &[1.0],
        ),
        // R: write.csv, write.table, write.csv2; pandas: to_csv.
        ("\"\",\"a\"\n\"1\",5\n\"2\",6\n", "CSV", texts(&["a"]), texts(&["1", "2"]), &[5.0]),
        (
            "\"a\" \"b\"\n\"1\" 5 7\n\"2\" 6 8\n",
            "text table (blanks)",
            texts(&["a", "b"]),
            texts(&["1", "2"]),
            &[5.0, 7.0],
        ),
        ("a b\n1 5 7\n2 6 8\n", "text table (blanks)", texts(&["a", "b"]), texts(&["1", "2"]), &[5.0, 7.0]),
        ("\"\";\"a\"\n\"x\";1,5\n", "CSV (semicolons)", texts(&["a"]), texts(&["x"]), &[1.5]),
        (",a,b\n0,5,7\n1,6,8\n", "CSV", texts(&["a", "b"]), texts(&["0", "1"]), &[5.0, 7.0]),
        ("0,1,2\n0.5,0.1,0.3\n", "CSV", texts(&["0", "1", "2"]), None, &[0.5, 0.1, 0.3]),
        ("\"1\",\"2\"\n7,8\n", "CSV", texts(&["1", "2"]), None, &[7.0, 8.0]),
        (
            "id,1990,1991,1992\nx,5,4,2\n",
            "CSV",
            texts(&["1990", "1991", "1992"]),
            texts(&["x"]),
            &[5.0, 4.0, 2.0],
        ),
        ("1,2,3\n4,5,6\n", "CSV", None, None, &[1.0, 2.0, 3.0]),
        ("5.5,n.d.\n1,2\n3,x\n4,y\n", "CSV", None, None, &[]),
    ];
    for (text, format, feature_names, sample_names, first) in cases {
        let table = parse(text, &ReadOptions::default(), BLOCK_BYTES);
        if first.is_empty() {
            assert!(table.is_err(), "{text:?}");
            continue;
        }
        let table = table.unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(table.format, format, "{text:?}");
        assert_eq!(table.feature_names, feature_names, "{text:?}");
        assert_eq!(table.sample_names, sample_names, "{text:?}");
        assert_eq!(values(&table)[0], first, "{text:?}");
    }
}

#[test]
fn commas_between_names_win_over_blanks_within_cells() {
    // A regression: `A,12` and `500,33` were the cells of the first row.
    let error = parse("id,income,age\nA,12 500,33\nB,9 800,41\n", &ReadOptions::default(), TINY).unwrap_err();
    assert!(
        error.to_string().starts_with("t.csv: line 2: column 2 (`income`): `12 500` is not a number"),
        "{error}"
    );
    let table = parse("name,x,y\nA b,1,2\nC d,3,4\n", &ReadOptions::default(), TINY).unwrap();
    assert_eq!((table.format, table.feature_names), ("CSV", texts(&["x", "y"])));
    for text in ["1,5 2,5\n3,5 4,5\n", "a b\n1,5 2,5\n3,5 4,5\n"] {
        let table = parse(text, &ReadOptions::default(), TINY).unwrap();
        assert_eq!(
            (table.format, values(&table)[0].clone()),
            ("text table (blanks)", vec![1.5, 2.5]),
            "{text}"
        );
    }
}

#[test]
fn points_that_group_thousands_are_refused_with_the_reason() {
    let refused = |text: &str| parse(text, &ReadOptions::default(), TINY).unwrap_err().to_string();
    let reason = "is not a number here; remove the signs that group the thousands";
    for (text, place) in [
        ("1.234,5;2.000,25\n999,5;12,25\n", "line 1: column 1: `1.234,5`"),
        ("a;b\n12,5;1.000\n1.234,5;2.000,25\n7,5;3,5\n", "line 2: column 2 (`b`): `1.000`"),
        ("n;a;b\nx;1.234,5;2.000,25\ny;3.100,5;2.100,25\n", "line 2: column 2 (`a`): `1.234,5`"),
        ("a b\n1.234,5 2.000,25\n3.100,5 2.100,25\n", "line 2: column 1 (`a`): `1.234,5`"),
        ("a\tb\n1.234.567\t2\n3.100.000\t1\n", "line 2: column 1 (`a`): `1.234.567`"),
        // The first row is not taken as names over numbers.
        ("1 234;2 000\n999;12\n3;4\n", "line 1: column 1: `1 234`"),
        ("\"1,234.5\",\"2,000\"\n999,12\n3,4\n", "line 1: column 1: `1,234.5`"),
    ] {
        let error = refused(text);
        assert!(error.starts_with(&format!("t.csv: {place} ")), "{text:?}: {error}");
        let points = "is not a number where a comma separates the decimals; use decimal_comma = false, or remove points \
                      that group the thousands";
        assert!(error.ends_with(if text.contains("1.000\n") { points } else { reason }), "{text:?}: {error}");
    }
    // A comma separates fields, a point decimals.
    let table = parse("1.234,5\n2.000,25\n", &ReadOptions::default(), TINY).unwrap();
    assert_eq!((table.format, values(&table)[0].clone()), ("CSV", vec![1.234, 5.0]));
    let table = parse("1,2,3 4,5,6\n1,2,3 4,5,6\n", &ReadOptions::default(), TINY);
    assert!(table.is_err());
}

#[test]
fn what_is_detected_can_be_overridden() {
    let text = "n;k;w;a\nx;p;1;2,5\ny;p;0;3\n";
    let options = ReadOptions {
        labels: vec!["k".into()],
        weights_column: Some("w".into()),
        row_names: RowNames::Column("n".into()),
        ..ReadOptions::default()
    };
    let table = parse(text, &options, TINY).unwrap();
    assert_eq!(values(&table), [[2.5], [3.0]]);
    assert_eq!(table.labels, [Label { name: "k".into(), values: vec!["p".into(), "p".into()] }]);
    assert_eq!(table.weights, Some(vec![1.0, 0.0]));
    assert_eq!(table.sample_names, texts(&["x", "y"]));
    assert_eq!(table.feature_names, texts(&["a"]));

    let with = |change: &dyn Fn(&mut ReadOptions)| {
        let mut options = ReadOptions::default();
        change(&mut options);
        options
    };
    let header = with(&|o| o.header = Some(true));
    assert_eq!(parse("1,2\n3,4\n", &header, TINY).unwrap().feature_names, texts(&["1", "2"]));
    let no_header = with(&|o| o.header = Some(false));
    assert_eq!(values(&parse("0,1,2\n5,5,6\n", &no_header, TINY).unwrap()).len(), 2);
    let commas = with(&|o| o.delimiter = Some(b','));
    assert_eq!(values(&parse("1,5 \n2,5\n", &commas, TINY).unwrap())[0], [1.0, 5.0]);
    let semicolons = with(&|o| (o.delimiter, o.decimal_comma) = (Some(b';'), Some(true)));
    assert_eq!(values(&parse("1,5\n2,5\n", &semicolons, TINY).unwrap()), [[1.5], [2.5]]);
    let no_id = with(&|o| o.row_names = RowNames::None);
    assert_eq!(values(&parse(",a\n0,5\n1,6\n", &no_id, TINY).unwrap())[1], [1.0, 6.0]);
    let by_number = with(&|o| o.labels = vec!["2".into()]);
    let table = parse("1,x,2\n3,y,4\n", &by_number, TINY).unwrap();
    assert_eq!((values(&table)[1].clone(), table.labels[0].values[1].as_str()), (vec![3.0, 4.0], "y"));
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let read = |options: &ReadOptions| {
        let input = Input { path: "t.csv".into(), bytes: crate::input::Bytes::Owned(b"a,b\n1,2\n".to_vec()) };
        read(input, options).unwrap_err().to_string()
    };
    let default = ReadOptions::default;
    let cases = [
        (
            ReadOptions { labels: vec!["A".into()], ..default() },
            "t.csv: labels = A: there is no such column; did you mean `a`?",
        ),
        (
            ReadOptions { labels: vec!["a".into(), "a".into()], ..default() },
            "t.csv: labels = a: the column is already set aside by another option",
        ),
        (
            ReadOptions { transpose: true, ..default() },
            "t.csv: `transpose` does not apply to a text table, which is read with its samples in rows; leave it out",
        ),
        (
            ReadOptions { delimiter: Some(b'1'), ..default() },
            "t.csv: `delimiter` must be one ASCII character, neither letter nor digit",
        ),
        (
            ReadOptions { delimiter: Some(b','), decimal_comma: Some(true), ..default() },
            "t.csv: decimal_comma = true and delimiter = , exclude each other",
        ),
        (
            ReadOptions { labels: vec!["a".into(), "b".into()], ..default() },
            "t.csv: no column of numbers: each holds text or is set aside",
        ),
    ];
    for (options, message) in cases {
        assert_eq!(read(&options), message);
    }
}

#[test]
fn the_first_error_in_the_file_wins_whatever_the_threads() {
    let mut text = "a,b\n".to_owned();
    for row in 0..5000 {
        let bad = [(1234, "1,x\n"), (1300, "1\n"), (4000, "1,NA\n")].iter().find(|(r, _)| *r == row);
        text.push_str(bad.map_or("1,2\n", |(_, line)| line));
    }
    for n_threads in [1, 2, 7] {
        for block_bytes in [TINY, 100, BLOCK_BYTES] {
            let options = ReadOptions { n_threads: Some(n_threads), ..ReadOptions::default() };
            let error = parse(&text, &options, block_bytes).unwrap_err().to_string();
            assert!(error.starts_with("t.csv: line 1236: column 2 (`b`): `x` is not a number"), "{error}");
        }
    }
}

fn cell() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,4}", "[ -~]{0,8}", "[\"\n,; \t\r]{0,4}", "[0-9]{1,3}"]
}

proptest! {
    /// The csv crate shares no code with the scanner.
    #[test]
    fn quoted_tables_are_read_as_the_csv_crate_reads_them(
        rows in prop::collection::vec((cell(), cell(), -1e6..1e6f64), 1..40),
        always in any::<bool>(),
        block_bytes in 1..200usize,
    ) {
        let style = if always { ::csv::QuoteStyle::Always } else { ::csv::QuoteStyle::NonNumeric };
        let mut writer = ::csv::WriterBuilder::new().quote_style(style).from_writer(Vec::new());
        writer.write_record(["first", "second", "x"]).unwrap();
        for (first, second, x) in &rows {
            writer.write_record([first.as_str(), second.as_str(), &x.to_string()]).unwrap();
        }
        let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
        let options = ReadOptions {
            labels: vec!["first".into(), "second".into()],
            delimiter: Some(b','),
            header: Some(true),
            ..ReadOptions::default()
        };
        let table = parse(&text, &options, block_bytes).unwrap();
        let records: Vec<::csv::StringRecord> =
            ::csv::Reader::from_reader(text.as_bytes()).records().map(|r| r.unwrap()).collect();
        prop_assert_eq!(records.len(), rows.len());
        for (i, record) in records.iter().enumerate() {
            // Blanks around an unquoted cell are ignored; only numbers are written unquoted.
            prop_assert_eq!(&table.labels[0].values[i], &record[0]);
            prop_assert_eq!(&table.labels[1].values[i], &record[1]);
            prop_assert_eq!(values(&table)[i][0], record[2].parse::<f64>().unwrap());
        }
    }

    /// Quotes, blanks and decimal commas leave the fast path; the numbers have the same bits.
    #[test]
    fn every_notation_gives_the_same_bits(
        numbers in prop::collection::vec(any::<f64>().prop_filter("finite", |x| x.is_finite()), 2..60),
        block_bytes in 1..300usize,
    ) {
        let n = numbers.len() / 2 * 2;
        let table = |number: &dyn Fn(f64) -> String, delimiter: &str| {
            let lines = numbers[..n].chunks(2).map(|p| format!("{}{delimiter}{}\n", number(p[0]), number(p[1])));
            format!("a{delimiter}b\n{}", lines.collect::<String>())
        };
        let texts = [
            (table(&|x| format!("{x}"), ","), b',', false),
            (table(&|x| format!("{x:e}"), ","), b',', false),
            (table(&|x| format!("\"{x:?}\""), ","), b',', false),
            (table(&|x| format!("  {x:e} "), "\t"), b'\t', false),
            (table(&|x| format!("{x:e}"), "  \t"), b' ', false),
            (table(&|x| format!("{x:e}").replace('.', ","), ";"), b';', true),
        ];
        for (text, delimiter, decimal_comma) in texts {
            let options = ReadOptions {
                delimiter: Some(delimiter),
                decimal_comma: Some(decimal_comma),
                header: Some(true),
                row_names: RowNames::None,
                ..ReadOptions::default()
            };
            let read = values(&parse(&text, &options, block_bytes).unwrap()).concat();
            let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&read), bits(&numbers[..n]), "{}", text);
        }
    }

    /// No input makes the reader panic or loop forever, and block boundaries never change the result.
    #[test]
    fn any_text_gives_the_same_answer_in_blocks_of_any_size(
        text in "([0-9a-z,;\" \t\r\n.|-]|1,2\n){0,80}",
        block_bytes in 1..20usize,
    ) {
        let answer = |block_bytes| {
            parse(&text, &ReadOptions::default(), block_bytes)
                .map(|t| (values(&t), t.sample_names, t.feature_names))
                .map_err(|e| e.to_string())
        };
        prop_assert_eq!(answer(block_bytes), answer(BLOCK_BYTES));
    }
}

#[test]
fn a_first_line_of_whole_numbers_over_decimals_is_noted() {
    let warnings = |text: &str, header: Option<bool>| {
        parse(text, &ReadOptions { header, ..ReadOptions::default() }, TINY).unwrap().warnings
    };
    let doubtful = "10,3,7\n0.5,1.5,2.5\n0.25,1,2.5\n0.5,1.5,0.75\n";
    let warning = "the first line holds whole numbers over decimals and was taken as values; use header = true if it holds names";
    assert_eq!(warnings(doubtful, None)[0].to_string(), warning);
    for (text, header) in [
        (doubtful, Some(false)),
        (doubtful, Some(true)),
        ("10,3\n5,1\n2,2\n", None),
        ("10,3.5\n0.5,1.5\n2.5,2.5\n", None),
        ("3\n0.5\n1.5\n", None),
    ] {
        assert!(warnings(text, header).is_empty(), "{text}");
    }
}

#[test]
fn a_first_line_of_words_for_missing_values_is_noted() {
    let read =
        |text: &str, missing: bool| parse(text, &ReadOptions { missing, ..ReadOptions::default() }, TINY);
    let note = "the first line holds different words for missing values and was taken as values; use header = true if it \
                holds names";
    for text in ["NA,nan,null\n1,2,3\n4,5,7\n", "x,NA,nan\ny,1,2\nz,3,4\n"] {
        let table = read(text, true).unwrap();
        assert_eq!((table.data.shape().0, table.warnings[0].to_string()), (3, note.to_owned()), "{text}");
        let error = read(text, false).unwrap_err().to_string();
        let advice = "`NA` is a missing value, as other words of the first line are; if the line holds names, use header = true";
        assert!(error.contains(advice), "{error}");
    }
    let table = read("id,NA,nan\na,1,2\nb,3,4\n", true).unwrap();
    assert_eq!((table.data.shape().0, table.warnings[0].to_string()), (3, note.to_owned()));
    // Rows of one word, or with a number; names.
    for (text, n_rows) in [("NA,NA\n1,2\n", 2), ("NA,nan,1\n1,2,3\n", 2), ("NA,nan,x\n1,2,3\n", 1)] {
        let table = read(text, true).unwrap();
        assert_eq!((table.data.shape().0, table.warnings.len()), (n_rows, 0), "{text}");
    }
    // The fault of a later line.
    let labels = ReadOptions { labels: vec!["1".into(), "2".into()], ..ReadOptions::default() };
    let error = parse("NA,nan,1\na,b,NA\n", &labels, TINY).unwrap_err().to_string();
    assert!(error.contains("line 2: column 3: `NA` is a missing value; PCA needs"), "{error}");
}

/// Number of rows, whether columns and rows have names, and whether there is a warning.
type Read = (usize, bool, bool, bool);

fn looked(text: &str, fitted: Option<crate::FittedTable>) -> Read {
    let options = ReadOptions { fitted, missing: true, ..ReadOptions::default() };
    let table = parse(text, &options, BLOCK_BYTES).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    let named = (table.feature_names.is_some(), table.sample_names.is_some());
    (table.data.shape().0, named.0, named.1, !table.warnings.is_empty())
}

#[test]
fn numbers_are_names_by_signs_that_data_lack() {
    let cases: [(&str, Read); 16] = [
        // Increasing unlike the lines below: integers over decimals; years; outside the range; none of these.
        ("0,1,2\n0.5,0.1,0.3\n", (1, true, false, true)),
        ("1990,1991,1992\n5,4,2\n7,1,3\n", (2, true, false, false)),
        ("1,2,3\n5,1,2\n4,4,1\n", (3, false, false, true)),
        ("100,200,300\n5,1,2\n4,4,1\n", (3, false, false, true)),
        ("1,2,3\n4,5,6\n7,8,9\n", (3, false, false, false)),
        ("1,2,3,4,5,6,7,8\n5,1,2,9,2,4,7,1\n", (1, true, false, true)),
        ("2,4,6,8,10,12,14,16\n5,1,2,9,2,4,7,1\n", (2, false, false, true)),
        ("400,402,405,410,411,412,415,420\n5,1,2,9,2,4,7,1\n", (1, true, false, true)),
        ("0.1,0.2,0.4,0.7,0.8,0.9,1.1,1.3\n9.1,8.2,8.4,7.7,7.8,6.9,6.1,8.3\n", (1, true, false, true)),
        ("0.1,0.2,0.4,0.7,0.8,0.9,1.1,1.3\n2.1,2.2,2.4,2.3,2.8,2.9,3.1,3.3\n", (2, false, false, true)),
        // Integers written with as many decimals as the rows: the line may be a row.
        ("2018.00,2019.00,2020.00\n1.25,0.50,2.10\n0.75,1.50,0.12\n", (2, true, false, true)),
        ("7.0,3.0,9.0\n1.2,0.5,2.1\n0.7,1.5,0.1\n", (3, false, false, false)),
        // Missing values and short lines.
        (",8.5,0.5\n7.5,6.5,6\n5,5,5\n", (3, false, false, false)),
        (",,\n7.5,6.5,6\n", (2, false, false, false)),
        (",a,b\n7,5,7\n8,6,8\n", (2, true, true, false)),
        (",0,1,2\n0,5,7,8\n1,6,8,9\n2,1,1,1\n", (3, true, true, false)),
    ];
    for (text, expected) in cases {
        assert_eq!(looked(text, None), expected, "{text:?}");
    }
}

#[test]
fn years_beside_titles_are_names_with_a_note() {
    let (names, values, noted) = ((2, true, true, true), (3, false, true, false), (3, false, true, true));
    let cases: [(&str, Read); 49] = [
        // Years in equal steps beside a title over texts.
        ("id,2019,2020\na,1,2\nb,3,4\n", names),
        ("country,2019,2020\nFrance,67,68\nChina,1398,1402\n", names),
        ("Country Name,1990,2000\nA,5,1\nB,4,4\n", names),
        // The years count as the lines below do not, and lie outside their range.
        ("Country Name,1990,2000,2010\nA,5,1,7\nB,4,4,2\n", (2, true, true, false)),
        ("ID,2020,2019\na,1.5,2\nb,3,4\n", names),
        // An empty corner, as pandas writes it.
        (",2019,2020\na,1,2\nb,3,4\n", names),
        (",2019,2020\n0,1,2\n1,3,4\n2,5,3\n", (3, true, true, true)),
        // Years in three equal steps, unlike the rows.
        ("what,1990,1991,1992\na,5000,3,2000\nb,7,4000,2\n", names),
        // R leaves out the name of the first column.
        ("2019 2020\na 1 2\nb 3 4\n", names),
        // Other whole numbers beside a title, and other years, are values with a note.
        ("city,2019\nParis,2\nRome,3\n", noted),
        ("gene,7157,672,675\nx,5.1,2.3,4.4\ny,1.5,2.5,0.5\n", noted),
        ("id,30,10\na,1,2\nb,3,4\n", noted),
        ("sample_id,7,3\na,1,2\nb,3,4\n", noted),
        (",30,10\na,1,2\nb,3,4\n", noted),
        (",5,7\na,5.5,7.5\nb,1.5,2.5\n", noted),
        ("what,2019,2020\na,5.5,2\nb,3.5,4.5\n", noted),
        ("2019,2020\n5.5,2.5\n3.5,4.5\n", (3, false, false, true)),
        ("2019,2020\n5,2\n3,4\n", (3, false, false, true)),
        ("1990,2000,2015\n5.5,2.5,7.5\n3.5,4.5,1.5\n", (3, false, false, true)),
        ("1600,1700\n512,300\n1800,640\n", (3, false, false, true)),
        ("2019,2020\n2018.5,2019\n2100,1900.5\n", (3, false, false, true)),
        // Rows of tables without names, whose names may be titles elsewhere, and which may hold years.
        ("time,1900,1650\nyear,1200,1100\nof,900,870\n", noted),
        ("time,1800\nyear,1450\nof,900\n", (3, false, true, true)),
        ("Kings County,2012,1890\nQueens County,1200,980\nBronx County,900,800\n", noted),
        ("Ohio State,2001,1805\nPenn State,1400,900\nIowa State,800,700\n", noted),
        ("Mexico City,1900,2000,2100\nLima,800,900,700\nQuito,500,480,490\n", noted),
        ("Cook County,12,5\nLake County,12.5,5.25\nWill County,3.5,1.25\n", values),
        ("Vatican City,1,0\nMonaco,2.02,38.9\nNauru,21.5,12.5\n", values),
        ("time,3,1\nyear,2.5,1.25\nof,1.5,0.5\n", noted),
        ("code,2000,2100\nA1,1000,1900\nA2,1500,1200\n", noted),
        ("ID,12,24,36\nMT,8,9,3\nWY,4,5,8\n", noted),
        ("ID,270,1058\nIN,1380.5,12.5\nMT,8.5,9.5\n", noted),
        ("\"Boise, ID\",10,20,30\n\"Austin, TX\",8,9,3\n\"Reno, NV\",4,5,8\n", noted),
        ("ID,1990,2010\nMT,8,9\nWY,4,5\n", noted),
        ("Paris,2103\nMarseille,870\nLyon,522\n", values),
        ("Paris,2103\nMarseille,870.5\nLyon,522.5\n", values),
        ("Paris,2190,2103\nMarseille,870,865\nLyon,522,513\n", noted),
        ("Paris,2125,2190,2145\nMarseille,852,870,865\nLyon,513,522,514\n", values),
        ("Paris,1999,2003,2024\nMarseille,852,865,870\nLyon,513,514,522\n", noted),
        ("a,2019,2020\nb,2018,2019\nc,2020,2021\n", values),
        ("2019,2020\n2018,2019\n2020,2021\n", (3, false, false, false)),
        ("a,1,2\nb,1.5,2.5\nc,3.5,4.5\n", values),
        ("a,10,20\nb,1,2\nc,3,4\n", values),
        ("time,0.5,0.3\nof,0.25,0.1\nyear,0.75,0.2\n", values),
        ("id,0.5,0.3\nego,0.25,0.1\n", (2, false, true, false)),
        ("name,2,2\nx,1.5,2.5\ny,1.5,0.5\n", values),
        ("id,2019,2019\na,1,2\nb,3,4\n", values),
        // A first row without a name, or without its first value.
        (",30,10\n5,1,2\n7,3,4\n", (3, false, false, false)),
        (",7.5,1\na,1,2\nb,3,4\n", values),
    ];
    let read = cases.map(|(text, expected)| (text, expected, looked(text, None)));
    let wrong: Vec<_> = read.into_iter().filter(|(_, expected, found)| found != expected).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_model_knows_better_than_the_look_of_a_table() {
    let fitted = |names: Option<&[&str]>, n_features: usize| crate::FittedTable {
        feature_names: names.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
        n_features,
        ..crate::FittedTable::default()
    };
    let (letters, numbers) = (["a", "b", "c"], ["10", "20", "30"]);
    let cases: [(&str, crate::FittedTable, Read); 21] = [
        ("0,1,2\n0.5,0.1,0.3\n", fitted(None, 3), (2, false, false, true)),
        ("10,20,30\n0.5,0.1,0.3\n", fitted(None, 3), (2, false, false, true)),
        ("2019,2020,2021\n5,1,3\n4,4,1\n", fitted(None, 3), (3, false, false, true)),
        ("100,200,300\n5,1,3\n4,4,1\n", fitted(None, 3), (3, false, false, false)),
        (
            "2019,2020,2021\n5,1,3\n4,4,1\n",
            fitted(Some(&["2018", "2019", "2020"]), 3),
            (3, false, false, true),
        ),
        ("2019,2020,2021\n5,1,3\n4,4,1\n", fitted(Some(&letters), 3), (3, false, false, true)),
        ("x,y,z\n0.5,0.1,0.3\n", fitted(None, 3), (1, true, false, false)),
        ("x,1,2,3\ny,0.5,0.1,0.3\n", fitted(None, 3), (2, false, true, true)),
        ("10,20,30\n0.5,0.1,0.3\n", fitted(Some(&letters), 3), (2, false, false, true)),
        // Names that could also be a row: the line is read as names, with a warning.
        ("0,1,2\n2,1,0\n0,2,1\n0,0,2\n", fitted(Some(&["0", "1", "2"]), 3), (3, true, false, true)),
        ("0,1,2\n2,1,0.5\n1,2,1\n", fitted(Some(&["0", "1", "2"]), 3), (2, true, false, false)),
        ("\"0\",\"1\",\"2\"\n2,1,0\n0,2,2\n", fitted(Some(&["0", "1", "2"]), 3), (2, true, false, false)),
        ("10,20,30\n5,1,3\n", fitted(Some(&numbers), 3), (1, true, false, false)),
        ("30,20,10\n5,1,3\n", fitted(Some(&numbers), 3), (1, true, false, true)),
        ("id,10,20,30\nx,5,1,3\n", fitted(Some(&numbers), 3), (1, true, true, false)),
        ("x,11,21,31\ny,5,1,3\n", fitted(Some(&numbers), 3), (2, false, true, false)),
        ("40,50,60\n5,1,3\n", fitted(Some(&numbers), 3), (2, false, false, false)),
        ("b,a\n5,1\n", fitted(Some(&letters), 3), (1, true, false, false)),
        ("id,a,b,c\n", fitted(Some(&letters), 3), (0, true, true, false)),
        ("id,a,b,c\n", fitted(None, 3), (0, true, false, false)),
        (",a,b,c\n1.5,5,1,3\n", fitted(Some(&letters), 3), (1, true, true, false)),
    ];
    for (text, fitted, expected) in cases {
        assert_eq!(looked(text, Some(fitted.clone())), expected, "{text:?} {fitted:?}");
    }
}

#[test]
fn a_column_beside_all_scores_names_the_rows() {
    let options = ReadOptions {
        fitted: Some(crate::FittedTable {
            feature_names: texts(&["x", "y"]),
            n_features: 2,
            score_names: vec!["PC1".to_owned(), "PC2".to_owned()],
            ..crate::FittedTable::default()
        }),
        ..ReadOptions::default()
    };
    let names_of = |text: &str| parse(text, &options, TINY).unwrap().sample_names;
    assert_eq!(names_of("city,PC1,PC2\nRome,1,2\nRome,3,4\n"), texts(&["Rome", "Rome"]));
    assert_eq!(names_of("city,pc1,pc2\n1.5,1,2\n1.5,3,4\n"), texts(&["1.5", "1.5"]));
    for header in ["x,PC1,PC2", "PC3,PC1,PC2", "city,PC2,PC1", "city,PC1,y"] {
        assert_eq!(names_of(&format!("{header}\n1.5,1,2\n1.5,3,4\n")), None, "{header}");
    }
}

#[test]
fn columns_known_to_be_no_features_are_left_out_where_they_exist() {
    let options = ReadOptions {
        fitted: Some(crate::FittedTable {
            set_aside: vec!["group".to_owned(), "weight".to_owned(), "gone".to_owned()],
            id_column: Some("id".to_owned()),
            ..crate::FittedTable::default()
        }),
        ..ReadOptions::default()
    };
    let table = parse("weight,id,a,group\n1,7,0.5,x\n2,8,1.5,y\n", &options, TINY).unwrap();
    assert_eq!(table.feature_names, texts(&["a"]));
    assert_eq!(table.sample_names, texts(&["7", "8"]));
    assert_eq!(values(&table), [[0.5], [1.5]]);
    let table = parse("n,a\nx,0.5\ny,1.5\n", &options, TINY).unwrap();
    assert_eq!((table.feature_names, table.sample_names), (texts(&["a"]), texts(&["x", "y"])));
    // The options take precedence.
    let options = ReadOptions { labels: vec!["group".to_owned()], row_names: RowNames::None, ..options };
    let table = parse("id,a,group\n7,0.5,x\n8,1.5,y\n", &options, TINY).unwrap();
    assert_eq!(table.feature_names, texts(&["id", "a"]));
    assert_eq!(table.labels[0].values, ["x", "y"]);
}
