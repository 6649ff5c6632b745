//! Tests detection with a table of cases, and the parser against slower or independent implementations.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::RowNames;

/// The smallest block size: every record is a block.
pub(super) const TINY: usize = 1;

pub(super) fn parse(text: &str, options: &ReadOptions, block_bytes: usize) -> Result<Table> {
    read_in_blocks(Path::new("t.csv"), text.as_bytes(), options, block_bytes)
}

pub(super) fn values(table: &Table) -> Vec<Vec<f64>> {
    if table.data.shape().0 == 0 {
        return Vec::new();
    }
    let Data::F64(Values::Blocks(blocks)) = &table.data else { panic!("not blocks: {table:?}") };
    blocks.iter().flat_map(|block| (0..block.n_rows()).map(|i| block.row(i).to_vec())).collect()
}

pub(super) fn texts(names: &[&str]) -> Option<Vec<String>> {
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
        ("# name: x\n# rows: 2\n 1 2 3\n 4 5 6\n", "text table (blanks)", None, None, &[1.0, 2.0, 3.0]),
        // Sodium is not a missing value.
        ("K,NA,Ca\n1,2,3\n", "CSV", texts(&["K", "NA", "Ca"]), None, &[1.0, 2.0, 3.0]),
        ("NA,K\n1,2\n", "CSV", texts(&["NA", "K"]), None, &[1.0, 2.0]),
        // Names of rows.
        ("n,a\nx,1\ny,2\n", "CSV", texts(&["a"]), texts(&["x", "y"]), &[1.0]),
        ("1::2::3\n4::5::6\n", "text table", None, None, &[1.0, 2.0, 3.0]),
        ("a,b\n1,2,\n3,4,\n", "CSV", texts(&["a", "b"]), None, &[1.0, 2.0]),
        ("a,b,\n1,2,\n3,4,\n", "CSV", texts(&["a", "b"]), None, &[1.0, 2.0]),
        ("1,2,\n3,4,\n", "CSV", None, None, &[1.0, 2.0]),
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
        ("0,1,2\n0.5,0.1,0.3\n", "CSV", None, None, &[0.0, 1.0, 2.0]),
        ("\"1\",\"2\"\n7,8\n", "CSV", texts(&["1", "2"]), None, &[7.0, 8.0]),
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
fn commas_and_points_are_read_where_one_number_decides() {
    let default = ReadOptions::default();
    let first = |text: &str, options: &ReadOptions| {
        parse(text, options, TINY).map(|table| values(&table)[0].clone()).map_err(|error| error.to_string())
    };
    for (text, expected) in [
        ("1.234,5;2.000,25\n999,5;12,25\n", [1234.5, 2000.25]),
        ("n;a;b\nx;1.234,5;2.000,25\ny;3.100,5;2.100,25\n", [1234.5, 2000.25]),
        ("a b\n1.234,5 2.000,25\n3.100,5 2.100,25\n", [1234.5, 2000.25]),
        ("a\tb\n1.234.567\t2\n3.100.000\t1\n", [1_234_567.0, 2.0]),
        ("\"1,234.5\",\"2,000\"\n999,12\n3,4\n", [1234.5, 2000.0]),
        // A comma separates fields, a point decimals.
        ("1.234,5\n2.000,25\n", [1.234, 5.0]),
        ("1,5\t2,5\n3\t4\n", [1.5, 2.5]),
        ("1.234\t2\n0.5\t4\n", [1.234, 2.0]),
    ] {
        assert_eq!(first(text, &default), Ok(expected.to_vec()), "{text:?}");
    }
    let ask = |sign: &str, number: &str, line: u64| -> std::result::Result<Vec<f64>, String> {
        let name = if sign == "," { "comma" } else { "point" };
        Err(format!(
            "t.csv: line {line}: the {name} of `{number}` may separate decimals or group thousands; use decimal = {sign} or \
             thousands = {sign}"
        ))
    };
    assert_eq!(first("id\ta\nr1\t1,234\nr2\t987\n", &default), ask(",", "1,234", 2));
    assert_eq!(first("a,b\n\"1,234\",2\n\"5,678\",3\n", &default), ask(",", "1,234", 2));
    // Points are looked at in all rows, not the first hundred alone.
    let votes: String = (0..300).map(|i| format!("{}\t{}\n", i % 7, 100 + i)).collect();
    let votes = format!("a\tb\n{votes}5\t1.106\n");
    for block_bytes in [TINY, 50, BLOCK_BYTES] {
        let error = parse(&votes, &default, block_bytes).unwrap_err().to_string();
        assert_eq!(Err(error), ask(".", "1.106", 302), "{block_bytes}");
    }
    assert!(parse(&votes.replace("3\t103\n", "3\t0.5\n"), &default, 50).is_ok());
    let option = |decimal, thousands| ReadOptions { decimal, thousands, ..ReadOptions::default() };
    assert_eq!(first("1.106\t2\n5\t3\n", &option(Some('.'), None)), Ok(vec![1.106, 2.0]));
    assert_eq!(first("1.106\t2\n5\t3\n", &option(None, Some('.'))), Ok(vec![1106.0, 2.0]));
    assert_eq!(
        first("a\n1,234\n", &ReadOptions { delimiter: Some(";".into()), ..option(Some(','), None) }),
        Ok(vec![1.234])
    );
    // Every number has three decimals: read, with a note.
    let table = parse("1.106\t2.250\n5.125\t3.500\n", &default, TINY).unwrap();
    assert_eq!(
        table.warnings[0].to_string(),
        "every number with a point has three digits behind it, and is read with decimals; use thousands = . if the points \
         group thousands"
    );
    // Blanks and apostrophes group where the option says so.
    let error = first("a;b\n1 234;2\n999;12\n", &default).unwrap_err();
    assert!(
        error.ends_with(
            "`1 234` is not a number here; if its digits are in groups of thousands, use thousands =  "
        ),
        "{error}"
    );
    assert_eq!(first("a;b\n1 234;2\n999;12\n", &option(None, Some(' '))), Ok(vec![1234.0, 2.0]));
    assert_eq!(first("a;b\n1'234;2\n999;12\n", &option(None, Some('\''))), Ok(vec![1234.0, 2.0]));
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
    let commas = with(&|o| o.delimiter = Some(",".into()));
    assert_eq!(values(&parse("1,5 \n2,5\n", &commas, TINY).unwrap())[0], [1.0, 5.0]);
    let semicolons = with(&|o| (o.delimiter, o.decimal) = (Some(";".into()), Some(',')));
    assert_eq!(values(&parse("1,5\n2,5\n", &semicolons, TINY).unwrap()), [[1.5], [2.5]]);
    let no_id = with(&|o| o.row_names = RowNames::None);
    assert_eq!(values(&parse(",a\n0,5\n1,6\n", &no_id, TINY).unwrap())[1], [1.0, 6.0]);
    let by_number = with(&|o| (o.labels, o.header) = (vec!["2".into()], Some(false)));
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
            "t.csv: labels = a: another option already uses the column",
        ),
        (
            ReadOptions { layer: Some("x".into()), ..default() },
            "t.csv: `layer` does not apply to a text table, which has no layers; leave it out",
        ),
        (
            ReadOptions { delimiter: Some("1".into()), ..default() },
            "t.csv: `delimiter` is made of characters of ASCII that are not letters, digits, quotes, signs, points or line \
             ends",
        ),
        (
            ReadOptions { thousands: Some(','), decimal: Some(','), ..default() },
            "t.csv: `thousands` and `decimal` are the same sign",
        ),
        (
            ReadOptions { columns: vec!["a".into()], labels: vec!["a".into()], ..default() },
            "t.csv: columns = a: the column is already taken by another option",
        ),
        (
            ReadOptions { labels: vec!["a".into(), "b".into()], ..default() },
            "t.csv: no column of numbers: each holds text or is excluded",
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
            delimiter: Some(",".into()),
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
            (table(&|x| format!("{x}"), ","), ",", '.'),
            (table(&|x| format!("{x:e}"), ","), ",", '.'),
            (table(&|x| format!("\"{x:?}\""), ","), ",", '.'),
            (table(&|x| format!("  {x:e} "), "\t"), "\t", '.'),
            (table(&|x| format!("{x:e}"), "  \t"), " ", '.'),
            (table(&|x| format!("{x:e}").replace('.', ","), ";"), ";", ','),
        ];
        for (text, delimiter, decimal) in texts {
            let options = ReadOptions {
                delimiter: Some(delimiter.to_owned()),
                decimal: Some(decimal),
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
fn a_column_before_all_scores_names_the_rows() {
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
            of_file: crate::OfFile {
                set_aside: vec!["group".to_owned(), "weight".to_owned(), "gone".to_owned()],
                id_column: Some("id".to_owned()),
                ..crate::OfFile::default()
            },
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
