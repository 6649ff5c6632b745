//! Tests of questions: what is asked about a text table, and what follows from each answer.

use super::tests::{TINY, parse, texts, values};
use super::*;
use crate::{Comment, SkippedLines};

/// Number of rows, whether columns and rows have names, and whether there is a note.
type Read = (usize, bool, bool, bool);

fn looked(text: &str, fitted: Option<crate::FittedTable>) -> std::result::Result<Read, String> {
    let options = ReadOptions { fitted, missing: true, ..ReadOptions::default() };
    let table = parse(text, &options, BLOCK_BYTES).map_err(|error| error.to_string())?;
    let named = (table.feature_names.is_some(), table.sample_names.is_some());
    Ok((table.data.shape().0, named.0, named.1, !table.warnings.is_empty()))
}

#[test]
fn the_first_line_holds_names_or_values_or_is_asked_about() {
    let read = |n, columns, rows, noted| Some((n, columns, rows, noted));
    let asked = None;
    let cases: [(&str, Option<Read>); 41] = [
        // Text over numbers.
        ("a,b\n1,2\n3,4\n", read(2, true, false, false)),
        ("n,a\nx,1\ny,2\n", read(2, true, true, false)),
        ("NA,nan,x\n1,2,3\n4,5,7\n", read(2, true, false, false)),
        ("age,2019,2020\n34,1,2\n50,3,5\n", read(2, true, false, true)),
        ("\"2019\",\"2020\"\n5,1\n3,2\n", read(2, true, false, false)),
        ("id,a\n1,1.5\n2,na\n3,2.5\n", read(3, true, false, false)),
        // One field fewer.
        ("a b\nx 1 2\ny 3 4\n", read(2, true, true, false)),
        ("2019 2020\na 1 2\nb 3 4\n", read(2, true, true, false)),
        ("1,2\n3,4,5\n6,7,8\n", asked),
        // Numbers, or missing values.
        ("1,2\n3,4\n5,6\n", read(3, false, false, false)),
        ("3,1,2\n5,1,2\n4,4,1\n", read(3, false, false, false)),
        ("1,2,3\n5,1,2\n4,4,1\n", read(3, false, false, true)),
        ("9,5,1\n5,1,2\n4,4,1\n", read(3, false, false, true)),
        ("900,902,904\n0.5,0.1,0.3\n0.2,0.3,0.5\n", read(3, false, false, true)),
        ("10,3,7\n0.5,1.5,2.5\n0.25,1,2.5\n0.5,1.5,0.75\n", read(4, false, false, true)),
        ("7.0,3.0,9.0\n1.2,0.5,2.1\n0.7,1.5,0.1\n", read(3, false, false, false)),
        ("NA,NA\n1,2\n", read(2, false, false, false)),
        (",,\n7.5,6.5,6\n", read(2, false, false, false)),
        ("1,,2\n7.5,6.5,6\n", read(2, false, false, false)),
        // A corner over the names of rows.
        (",a,b\n7,5,7\n8,6,8\n", read(2, true, true, false)),
        (",0,1,2\n0,5,7,8\n1,6,8,9\n", asked),
        (",2019,2020\na,1,2\nb,3,4\n", asked),
        (",8.5,0.5\n7.5,6.5,6\n5,5,5\n", asked),
        // Text over text, numbers elsewhere.
        ("Sample,181.07,85.02\ns1,10.1,22.7\ns2,8.4,18.8\n", asked),
        ("id,2019,2020\na,1,2\nb,3,4\n", asked),
        ("Country Name,1990,2000,2010\nA,5,1,7\nB,4,4,2\n", asked),
        ("Paris,2103\nMarseille,870\nLyon,522\n", asked),
        ("time,1900,1650\nyear,1200,1100\nof,900,870\n", asked),
        ("x,1\ny,2\n", asked),
        ("id,NA,nan\na,1,2\nb,3,4\n", asked),
        // The text stands below, too: a class, not a title.
        ("a,1,2\na,1.5,2.5\nb,3.5,4.5\n", None),
        // Words that probably mark missing values, and numbers in groups, are not names.
        ("n.d.,2.5\n1,2\n3,4\n", None),
        ("?,2.5\n1,2\n3,4\n", None),
        ("1 234;2 000\n999;12\n3;4\n", None),
        // Titles, and second lines of names.
        ("Global means\na,b,c\n1,2,3\n4,5,6\n", asked),
        ("Global means,2020\na,b,c\n1,2,3\n4,5,6\n", asked),
        ("a,b,c\nm,kg,s\n1,2,3\n4,5,6\n", asked),
        // Comments with as many fields as the rows, and others.
        ("# a b\n1 2\n3 4\n", asked),
        ("# st.dev unc. of mean value\n1 2 3 4 5 6\n3 4 5 6 7 9\n", read(2, false, false, true)),
        ("# made, today\na,b\n1,2\n", read(1, true, false, false)),
        ("#x\ty\n1\t2\t3\n", read(1, false, false, false)),
    ];
    for (text, expected) in cases {
        let found = looked(text, None);
        assert_eq!(found.as_ref().ok(), expected.as_ref(), "{text:?}: {found:?}");
    }
}

#[test]
fn questions_show_the_line_and_name_the_options() {
    let cases = [
        (
            "Sample,181.07,85.02\ns1,10.1,22.7\ns2,8.4,18.8\n",
            "line 1: `Sample, 181.07, 85.02` may name the columns or be the first row; use header = true or header = false",
        ),
        (
            "# a b\n1 2\n3 4\n",
            "line 1: the comment `a, b` may name the columns, which are as many; use header = true, or header = false if it \
             does not",
        ),
        (
            "1,2\n3,4,5\n6,7,8\n",
            "line 1: `1, 2` has 2 fields and the lines below 3: complete it, or, if it names all columns but the first, use \
             header = true",
        ),
        (
            "Global means\n\na,b,c\n1,2,3\n4,5,6\n",
            "line 1: `Global means` has 1 field and the lines below have 3; use skip = 2 if the lines above are titles",
        ),
        (
            "!a\n!b\nx\ty\n1\t2\n3\t5\n",
            "line 1: `!a` has 1 field and the lines below have 2; use skip = 2 if the lines above are titles, or comment = ! \
             if such lines are comments",
        ),
        (
            "a,b,c\nm,kg,s\n1,2,3\n4,5,6\n",
            "line 2: `m, kg, s` holds text over numbers, as the line above does; use skip = 2-2 if it holds units or types, \
             or skip = 1 if it holds the names and a title stands above",
        ),
        (
            "a,b\n1,na.\n2,1\nx,5\n",
            "line 2: column 2 (`b`): `na.` is not a number; if it marks a missing value, use na = [\"na.\", \"x\"]; else correct it, \
             or exclude the column with labels = [\"b\"]",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(looked(text, None), Err(format!("t.csv: {message}")), "{text:?}");
    }
}

#[test]
fn words_for_missing_values_that_were_given_stay_in_the_advice() {
    let options = ReadOptions { na: vec!["none".to_owned()], missing: true, ..ReadOptions::default() };
    let error = parse("a,b\n1,none\n2,1\n3,n.d.\n", &options, BLOCK_BYTES).map(drop).unwrap_err().to_string();
    assert!(error.contains("use na = [\"n.d.\", \"none\"]; else"), "{error}");
}

#[test]
fn each_question_is_settled_by_the_options_it_names() {
    let read = |text: &str, change: &dyn Fn(&mut ReadOptions)| {
        let mut options = ReadOptions::default();
        change(&mut options);
        let table = parse(text, &options, TINY).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        (table.feature_names.clone(), values(&table))
    };
    let mz = "Sample,181.07,85.02\ns1,10.1,22.7\ns2,8.4,18.8\n";
    let rows = vec![vec![10.1, 22.7], vec![8.4, 18.8]];
    assert_eq!(read(mz, &|o| o.header = Some(true)), (texts(&["181.07", "85.02"]), rows.clone()));
    assert_eq!(read(mz, &|o| o.header = Some(false)).1.len(), 3);
    let comment = "# a b\n1 2\n3 4\n";
    let numbers = vec![vec![1.0, 2.0], vec![3.0, 4.0]];
    assert_eq!(read(comment, &|o| o.header = Some(true)), (texts(&["a", "b"]), numbers.clone()));
    assert_eq!(read(comment, &|o| o.header = Some(false)), (None, numbers.clone()));
    // The names of a model are known in a comment.
    let fitted = || crate::FittedTable {
        feature_names: texts(&["a", "b"]),
        n_features: 2,
        ..crate::FittedTable::default()
    };
    assert_eq!(read(comment, &|o| o.fitted = Some(fitted())), (texts(&["a", "b"]), numbers.clone()));
    let titled = "Global means\na,b\n1,2\n3,4\n";
    let skip = |first, last| vec![SkippedLines { first, last }];
    assert_eq!(read("Global means\na,b,c\n1,2,5\n3,4,7\n", &|o| o.skip = skip(1, 1)).1[0], [1.0, 2.0, 5.0]);
    assert!(parse(titled, &ReadOptions { skip: skip(1, 1), ..ReadOptions::default() }, TINY).is_ok());
    let units = "a,b\nm,kg\n1,2\n3,4\n";
    assert_eq!(read(units, &|o| o.skip = skip(2, 2)), (texts(&["a", "b"]), numbers.clone()));
    assert_eq!(read(units, &|o| o.skip = skip(1, 1)), (texts(&["m", "kg"]), numbers.clone()));
    let orange = "a\tb\nc\tc\n\tclass\n1\t2\n3\t4\n";
    assert_eq!(read(orange, &|o| o.skip = skip(2, 3)), (texts(&["a", "b"]), numbers.clone()));
    let series = "!t\t\"x\"\n!begin\n\"ID\"\t\"a\"\t\"b\"\n\"p\"\t1\t2\n\"q\"\t3\t4\n!end\n";
    assert_eq!(read(series, &|o| o.comment = Comment::Mark(b'!')), (texts(&["a", "b"]), numbers.clone()));
    let tags = "#x\t1\t2\n#y\t3\t4\n";
    let rows_of_tags = |o: &mut ReadOptions| (o.comment, o.header) = (Comment::None, Some(false));
    assert_eq!(read(tags, &rows_of_tags).1, numbers);
    let otus = "#OTU ID\ta\tb\nx\t1\t2\ny\t3\t4\n";
    assert!(looked(otus, None).unwrap_err().contains("the comment `OTU ID, a, b` may name the columns"));
    assert_eq!(read(otus, &|o| o.header = Some(true)), (texts(&["a", "b"]), numbers.clone()));
    assert_eq!(read(otus, &|o| o.header = Some(false)), (None, numbers.clone()));
    let middle = "a,b\n1,2\n# half\n3,4\n";
    assert!(looked(middle, None).unwrap_err().ends_with("use comment = # if such lines are comments"));
    assert_eq!(read(middle, &|o| o.comment = Comment::Mark(b'#')).1, numbers);
    // Lines that stand elsewhere are not left out.
    let error = parse(units, &ReadOptions { skip: skip(3, 3), ..ReadOptions::default() }, TINY).unwrap_err();
    assert_eq!(error.to_string(), "t.csv: `skip` leaves out lines at the top, or directly below the names");
}

/// Lines and cells that other programs add to a table.
const MUTATIONS: [&str; 6] = ["title", "comment", "units", "thousands", "ids", "trailing"];

/// A table with mutations, and the options that read it.
fn mutated(seed: usize, delimiter: &str, mutations: &[&str]) -> (String, ReadOptions, Vec<Vec<f64>>) {
    let has = |name: &str| mutations.contains(&name);
    let (mut options, mut lines) = (ReadOptions::default(), Vec::new());
    let truth: Vec<Vec<f64>> = (0..9)
        .map(|i| (0..3).map(|j| (1000 + (i * 7 + j * 3 + seed) * 613 % 8000) as f64).collect())
        .collect();
    let end = if has("trailing") { delimiter } else { "" };
    let id = |text: &str| if has("ids") { format!("{text}{delimiter}") } else { String::new() };
    let row = |first: &str, cells: [String; 3]| format!("{}{}{end}", id(first), cells.join(delimiter));
    if has("title") {
        lines.push("Means of one station".to_owned());
        options.skip.push(SkippedLines { first: 1, last: 1 });
    }
    if has("comment") {
        lines.push("# made by hand on a monday".to_owned());
    }
    lines.push(row("id", ["a", "b", "c"].map(str::to_owned)));
    if has("units") {
        lines.push(row("text", ["m", "kg", "s"].map(str::to_owned)));
        let line = lines.len() as u64;
        options.skip.push(SkippedLines { first: line, last: line });
    }
    for (i, values) in truth.iter().enumerate() {
        let number = |j: usize| match (has("thousands"), delimiter) {
            (false, _) => format!("{}", values[j]),
            (true, ",") => format!("\"{},{:03}\"", values[j] as u64 / 1000, values[j] as u64 % 1000),
            (true, _) => format!("{},{:03}", values[j] as u64 / 1000, values[j] as u64 % 1000),
        };
        lines.push(row(&format!("r{i}"), [0, 1, 2].map(number)));
    }
    options.thousands = has("thousands").then_some(',');
    (lines.join("\n") + "\n", options, truth)
}

#[test]
fn no_pair_of_mutations_is_misread_in_silence() {
    let mut pairs: Vec<Vec<&str>> = vec![Vec::new()];
    for (i, one) in MUTATIONS.iter().enumerate() {
        pairs.push(vec![*one]);
        pairs.extend(MUTATIONS[i + 1..].iter().map(|other| vec![*one, *other]));
    }
    let (mut n_tables, mut n_asked) = (0, 0);
    for (mutations, seed) in pairs.iter().flat_map(|pair| (0..4).map(move |seed| (pair, seed))) {
        for delimiter in [",", ";", "\t"] {
            let (text, options, truth) = mutated(seed, delimiter, mutations);
            let right = |table: &Table| {
                (values(table), table.feature_names.clone()) == (truth.clone(), texts(&["a", "b", "c"]))
            };
            n_tables += 1;
            match parse(&text, &ReadOptions::default(), BLOCK_BYTES) {
                Ok(table) => assert!(right(&table), "{mutations:?} {text}: {table:?}"),
                Err(error) => {
                    n_asked += 1;
                    let error = error.to_string();
                    assert!(["skip", "thousands"].iter().any(|option| error.contains(option)), "{error}");
                }
            }
            let table = parse(&text, &options, BLOCK_BYTES);
            let table = table.unwrap_or_else(|error| panic!("{mutations:?} {text}: {error}"));
            assert!(right(&table), "{mutations:?} {text}: {:?} {:?}", table.feature_names, values(&table));
        }
    }
    assert_eq!((n_tables, n_asked), (264, 180));
}

#[test]
fn columns_are_chosen_and_tables_turned() {
    let text = "id,a,b,c\nx,1,2,t\ny,3,4,u\n";
    let options = ReadOptions { columns: vec!["b".into(), "a".into()], ..ReadOptions::default() };
    let table = parse(text, &options, TINY).unwrap();
    assert_eq!(
        (table.feature_names.clone(), table.sample_names.clone()),
        (texts(&["a", "b"]), texts(&["x", "y"]))
    );
    assert_eq!((values(&table)[1].clone(), table.left_out), (vec![3.0, 4.0], vec!["c".to_owned()]));
    let genes = b"gene\ts1\ts2\ts3\ng1\t1\t2\t3\ng2\t4\t5\t6.5\n".to_vec();
    let input = Input { path: "t.tsv".into(), bytes: crate::input::Bytes::Owned(genes) };
    let table = read(input, &ReadOptions { transpose: true, ..ReadOptions::default() }).unwrap();
    assert_eq!(
        (table.feature_names.clone(), table.sample_names.clone()),
        (texts(&["g1", "g2"]), texts(&["s1", "s2", "s3"]))
    );
    let Data::F64(Values::Dense { buffer, n_rows: 3, n_cols: 2, column_major: false }) = &table.data else {
        panic!()
    };
    assert_eq!(buffer.as_slice(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.5]);
}

#[test]
fn a_model_knows_better_than_the_look_of_a_table() {
    let fitted = |names: Option<&[&str]>, n_features: usize| crate::FittedTable {
        feature_names: names.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
        n_features,
        ..crate::FittedTable::default()
    };
    let (letters, numbers) = (["a", "b", "c"], ["10", "20", "30"]);
    let cases: [(&str, crate::FittedTable, Option<Read>); 17] = [
        ("0,1,2\n0.5,0.1,0.3\n", fitted(None, 3), Some((2, false, false, true))),
        (
            "2019,2020,2021\n5,1,3\n4,4,1\n",
            fitted(Some(&["2018", "2019", "2020"]), 3),
            Some((3, false, false, true)),
        ),
        ("2019,2020,2021\n5,1,3\n4,4,1\n", fitted(Some(&letters), 3), Some((3, false, false, true))),
        ("x,y,z\n0.5,0.1,0.3\n", fitted(None, 3), Some((1, true, false, false))),
        ("x,1,2,3\ny,0.5,0.1,0.3\n", fitted(None, 3), None),
        ("10,20,30\n0.5,0.1,0.3\n", fitted(Some(&letters), 3), Some((2, false, false, true))),
        // Numbers that are the names in the model.
        ("0,1,2\n2,1,0\n0,2,1\n0,0,2\n", fitted(Some(&["0", "1", "2"]), 3), Some((3, true, false, true))),
        (
            "\"0\",\"1\",\"2\"\n2,1,0\n0,2,2\n",
            fitted(Some(&["0", "1", "2"]), 3),
            Some((2, true, false, false)),
        ),
        ("10,20,30\n5,1,3\n", fitted(Some(&numbers), 3), Some((1, true, false, true))),
        ("30,20,10\n5,1,3\n", fitted(Some(&numbers), 3), Some((1, true, false, true))),
        ("id,10,20,30\nx,5,1,3\n", fitted(Some(&numbers), 3), Some((1, true, true, false))),
        ("x,11,21,31\ny,5,1,3\n", fitted(Some(&numbers), 3), None),
        ("40,50,60\n5,1,3\n", fitted(Some(&numbers), 3), Some((2, false, false, true))),
        ("b,a\n5,1\n", fitted(Some(&letters), 3), Some((1, true, false, false))),
        ("id,a,b,c\n", fitted(Some(&letters), 3), Some((0, true, true, false))),
        ("id,a,b,c\n", fitted(None, 3), Some((0, true, false, false))),
        (",a,b,c\n1.5,5,1,3\n", fitted(Some(&letters), 3), Some((1, true, true, false))),
    ];
    for (text, fitted, expected) in cases {
        let found = looked(text, Some(fitted.clone()));
        assert_eq!(found.as_ref().ok(), expected.as_ref(), "{text:?} {fitted:?}: {found:?}");
    }
}

#[test]
fn triples_are_read_by_the_same_options() {
    let wanted = crate::triples::Wanted::from(&crate::TripleColumns {
        row: "1".into(),
        column: "2".into(),
        value: "3".into(),
        weight: None,
    });
    let read = |text: &str, options: &ReadOptions| {
        let bytes = crate::input::Bytes::Owned(text.as_bytes().to_vec());
        let read = read_triples::<f64>(&Input { path: "t.tsv".into(), bytes }, &wanted, options);
        read.map(|entries| entries.values).map_err(|error| error.to_string())
    };
    let default = ReadOptions::default();
    let skip =
        |first, last| ReadOptions { skip: vec![SkippedLines { first, last }], ..ReadOptions::default() };
    let titled = "Ratings\nu\ti\tr\n1\t2\t3\n2\t1\t5\n";
    assert_eq!(read(titled, &skip(1, 1)), Ok(vec![3.0, 5.0]));
    assert_eq!(read("u\ti\tr\nx\ty\tstars\n1\t2\t3\n", &skip(2, 2)), Ok(vec![3.0]));
    // Lines that stand elsewhere are not left out.
    let error = read("1\t2\t3\n2\t1\t5\n", &skip(2, 2)).unwrap_err();
    assert_eq!(error, "t.tsv: `skip` leaves out lines at the top, or directly below the names");
    // The commas of ids are not asked about, and the commas of values name the options.
    assert_eq!(read("1,234\t2\t3\n2,345\t1\t5\n", &default), Ok(vec![3.0, 5.0]));
    let error = read("1\t2\t1,234\n2\t1\t2,345\n", &default).unwrap_err();
    assert!(
        error.contains("use decimal = ,; if its digits are in groups of thousands, use thousands = ,"),
        "{error}"
    );
    let thousands = ReadOptions { thousands: Some(','), ..ReadOptions::default() };
    assert_eq!(read("1\t2\t1,234\n2\t1\t2,345\n", &thousands), Ok(vec![1234.0, 2345.0]));
}

#[test]
fn categories_are_asked_about_alike_and_not_turned() {
    let read = |text: &str, options: &ReadOptions| {
        let bytes = crate::input::Bytes::Owned(text.as_bytes().to_vec());
        let input = Input { path: "t.csv".into(), bytes };
        read_categories(&input, crate::ColumnKinds::ByContent, options).map_err(|error| error.to_string())
    };
    let table = read("a,b\nx,?\nx,u\n-,u\n", &ReadOptions::default()).unwrap();
    let warnings: Vec<String> = table.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "`-` is a category of the column `a`; if it marks a missing value, use na = [\"-\"]",
            "`?` is a category of the column `b`; if it marks a missing value, use na = [\"?\"]"
        ]
    );
    let error = read("x,u\nx,v\ny,u\n", &ReadOptions::default()).unwrap_err();
    assert!(error.ends_with("use header = true or header = false"), "{error}");
    let error = read("a,b\nx,u\n", &ReadOptions { transpose: true, ..ReadOptions::default() }).unwrap_err();
    assert!(error.contains("`transpose` does not apply to a table of categories"), "{error}");
}

#[test]
fn commas_of_texts_do_not_decide_about_numbers() {
    let text = "id;a;note\nx;1;1,234 items\ny;2;see 5,678\nz;3;1,5\n";
    let options = ReadOptions { labels: vec!["note".into()], ..ReadOptions::default() };
    assert_eq!(values(&parse(text, &options, TINY).unwrap()), [[1.0], [2.0], [3.0]]);
}
