//! MCA and FAMD against FactoMineR (`golden/factominer_categories.json`), the definition, and repeated rows.

use std::path::Path;

use karhunen::categorical::{
    Analysis, CategoricalModel, CategoricalPca, Column, ColumnValues, Correction, are_many_categories,
};
use karhunen::error::CategoryFault;
use karhunen::selection::{Spectrum, kaiser, of_spectrum};
use karhunen::{Error, Matrix, NComponents, Run, Weighting};
use serde_json::Value;

/// FactoMineR and the library differ by rounding errors of two decompositions and of 15 printed digits.
const AGREEMENT: f64 = 1e-10;

fn golden() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/factominer_categories.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn texts(value: &Value) -> Vec<Option<&str>> {
    value.as_array().unwrap().iter().map(Value::as_str).collect()
}

/// A column whose categories have this order.
fn ordered(name: &str, texts: &[Option<&str>], order: &[&str]) -> Column {
    let code = |text: &str| order.iter().position(|other| *other == text).unwrap() as u32;
    let codes = texts.iter().map(|text| text.map(code)).collect();
    let names = order.iter().map(|name| (*name).to_owned()).collect();
    Column { name: name.to_owned(), values: ColumnValues::Categories { names, codes } }
}

fn titanic(golden: &Value) -> Vec<Column> {
    let table = &golden["titanic"]["table"];
    [
        ("Class", &["1st", "2nd", "3rd", "Crew"][..]),
        ("Sex", &["Male", "Female"]),
        ("Age", &["Child", "Adult"]),
        ("Survived", &["No", "Yes"]),
    ]
    .map(|(name, order)| ordered(name, &texts(&table[name]), order))
    .into()
}

fn cars(golden: &Value) -> Vec<Column> {
    let table = &golden["mtcars"]["table"];
    let of_numbers = |name: &str| Column::of_numbers(name, numbers(&table[name]));
    let of_texts = |name: &str| Column::of_texts(name, texts(&table[name]));
    let numbers = ["mpg", "disp", "hp", "wt"].map(of_numbers);
    numbers.into_iter().chain(["cyl", "gear", "am"].map(of_texts)).collect()
}

fn fit(analysis: Analysis, columns: &[Column], weights: Option<&[f64]>) -> CategoricalModel {
    CategoricalPca::new(analysis).fit(columns, weights).unwrap()
}

fn assert_near(what: &str, found: f64, expected: f64) {
    assert!((found - expected).abs() <= AGREEMENT * expected.abs().max(1.0), "{what}: {found} {expected}");
}

fn assert_numbers(what: &str, found: &[f64], expected: &Value) {
    for (found, expected) in found.iter().zip(numbers(expected)) {
        assert_near(what, *found, expected);
    }
}

/// The signs of the components, by which the components of the golden file are multiplied.
fn signs(found: &Matrix, expected: &Value) -> Vec<f64> {
    let rows: Vec<Vec<f64>> = expected.as_array().unwrap().iter().map(numbers).collect();
    let sum = |c: usize| (0..rows.len()).map(|i| found[(i, c)] * rows[i][c]).sum::<f64>();
    (0..rows[0].len()).map(|c| sum(c).signum()).collect()
}

fn assert_rows(what: &str, found: &Matrix, expected: &Value, signs: Option<&[f64]>) {
    let rows = expected.as_array().unwrap();
    assert_eq!(found.n_rows(), rows.len(), "{what}");
    for (i, row) in rows.iter().enumerate() {
        for (c, expected) in numbers(row).into_iter().enumerate() {
            let sign = signs.map_or(1.0, |signs| signs[c]);
            assert_near(&format!("{what}, row {i}, component {c}"), found[(i, c)] * sign, expected);
        }
    }
}

#[test]
fn mca_of_weighted_cells_matches_factominer() {
    let golden = golden();
    let (columns, counts) = (titanic(&golden), numbers(&golden["titanic"]["counts"]));
    let expected = &golden["titanic"]["weighted"];
    let model = fit(Analysis::Mca, &columns, Some(&counts));
    assert_eq!(model.n_components(), 6);
    let names: Vec<String> = model.category_names();
    let short: Vec<&str> = names.iter().map(|name| name.split_once('=').unwrap().1).collect();
    assert_eq!(short.into_iter().map(Some).collect::<Vec<_>>(), texts(&expected["categories"]));
    assert_numbers("eigenvalues", model.eigenvalues(), &expected["eigenvalues"]);
    let percentages: Vec<f64> = model.ratio().iter().map(|ratio| 100.0 * ratio).collect();
    assert_numbers("percentages", &percentages, &expected["percentages"]);
    let found = model.categories();
    let signs = signs(&found.coordinates, &expected["coord"]);
    assert_rows("coordinates", &found.coordinates, &expected["coord"], Some(&signs));
    assert_rows("v-tests", &found.v_tests, &expected["v_test"], Some(&signs));
    assert_rows("contributions", &found.contributions, &expected["contrib"], None);
    assert_rows("cos2", &found.cos2, &expected["cos2"], None);
    assert_rows("eta2", &model.eta2(), &expected["eta2"], None);
    assert_rows("rows", &model.transform(&columns).unwrap(), &expected["ind_coord"], Some(&signs));
    let contributions = model.row_contributions(&columns, Some(&counts)).unwrap();
    assert_rows("contributions of rows", &contributions, &expected["ind_contrib"], None);
    assert_rows("cos2 of rows", &model.row_cos2(&columns).unwrap(), &expected["ind_cos2"], None);
}

#[test]
fn missing_values_are_a_category() {
    let golden = golden();
    let (mut columns, expected) = (titanic(&golden), &golden["titanic"]["missing"]);
    let ColumnValues::Categories { codes, .. } = &mut columns[2].values else { panic!() };
    for row in golden["titanic"]["missing_age"].as_array().unwrap() {
        codes[row.as_u64().unwrap() as usize] = None;
    }
    let model = fit(Analysis::Mca, &columns, None);
    assert_eq!(model.variables()[2].categories().unwrap(), ["Child", "Adult", "missing"]);
    assert_numbers("eigenvalues", &model.eigenvalues()[..3], &expected["eigenvalues"]);
    let known = titanic(&golden);
    assert!(model.transform(&known).is_ok());
    let refused = fit(Analysis::Mca, &known, None).transform(&columns).unwrap_err().to_string();
    assert_eq!(
        refused,
        "column `Age`: row 1 lacks a value, and none of the fit did; its categories are `Child`, `Adult`"
    );
}

#[test]
fn famd_matches_factominer_weighted_or_not() {
    let golden = golden();
    let columns = cars(&golden);
    let weights = numbers(&golden["mtcars"]["weights"]);
    for (case, weights) in [("plain", None), ("weighted", Some(&weights[..]))] {
        let expected = &golden["mtcars"][case];
        let model = fit(Analysis::Famd, &columns, weights);
        assert_numbers("eigenvalues", &model.eigenvalues()[..3], &expected["eigenvalues"]);
        let found = model.categories();
        let signs = signs(&found.coordinates, &expected["coord"]);
        assert_rows("coordinates", &found.coordinates, &expected["coord"], Some(&signs));
        assert_rows("v-tests", &found.v_tests, &expected["v_test"], Some(&signs));
        assert_rows("contributions", &found.contributions, &expected["contrib"], None);
        assert_rows("cos2", &found.cos2, &expected["cos2"], None);
        assert_rows("correlations", &model.number_correlations(), &expected["number_cor"], Some(&signs));
        let contributions = model.number_contributions();
        assert_rows("contributions of numbers", &contributions, &expected["number_contrib"], None);
        assert_rows("rows", &model.transform(&columns).unwrap(), &expected["ind_coord"], Some(&signs));
        let (eta2, correlations) = (model.eta2(), model.number_correlations());
        let squares = Matrix::from_fn(7, model.n_components(), |v, c| match v.checked_sub(4) {
            None => correlations[(v, c)].powi(2),
            Some(v) => eta2[(v, c)],
        });
        assert_rows("squares", &squares, &expected["var_coord"], None);
    }
}

#[test]
fn supplementary_rows_match_factominer() {
    let golden = golden();
    let (columns, expected) = (cars(&golden), &golden["mtcars"]["supplementary"]);
    let of_fit = |row: usize| row != 0 && row != 4;
    let kept = |column: &Column, keep: &dyn Fn(usize) -> bool| {
        let values = match &column.values {
            ColumnValues::Numbers(values) => {
                ColumnValues::Numbers((0..values.len()).filter(|i| keep(*i)).map(|i| values[i]).collect())
            }
            ColumnValues::Categories { names, codes } => ColumnValues::Categories {
                names: names.clone(),
                codes: (0..codes.len()).filter(|i| keep(*i)).map(|i| codes[i]).collect(),
            },
        };
        Column { name: column.name.clone(), values }
    };
    let fitted: Vec<Column> = columns.iter().map(|column| kept(column, &of_fit)).collect();
    let others: Vec<Column> = columns.iter().map(|column| kept(column, &|i| !of_fit(i))).collect();
    let model = fit(Analysis::Famd, &fitted, None);
    let signs = signs(&model.categories().coordinates, &expected["coord"]);
    let found = model.transform(&others).unwrap();
    assert_rows("supplementary rows", &found, &expected["ind_sup_coord"], Some(&signs));
}

#[test]
fn corrections_match_prince() {
    let golden = golden();
    let (columns, counts) = (titanic(&golden), numbers(&golden["titanic"]["counts"]));
    let model = fit(Analysis::Mca, &columns, Some(&counts));
    // prince 0.23.0, MCA(n_components=6, correction=...) of the repeated rows, printed to nine digits.
    for (correction, ratio) in [
        (Correction::Benzecri, [0.926_256_480, 0.073_743_519_0, 8.765_352_74e-10]),
        (Correction::Greenacre, [0.767_780_563, 0.061_126_525_7, 7.265_663_03e-10]),
    ] {
        let found = model.corrected_eigenvalues(correction).unwrap();
        let expected = [6.765_511_25e-2, 5.386_333_25e-3, 6.402_340_38e-11];
        for c in 0..3 {
            assert!((found.eigenvalues[c] / expected[c] - 1.0).abs() < 1e-6);
            assert!((found.ratio[c] / ratio[c] - 1.0).abs() < 1e-6);
        }
        assert!(found.ratio[3..].iter().all(|ratio| *ratio == 0.0));
    }
    let two = CategoricalPca { n_components: NComponents::Count(2), ..CategoricalPca::new(Analysis::Mca) };
    let error = two.fit(&columns, None).unwrap().corrected_eigenvalues(Correction::Benzecri).unwrap_err();
    assert!(matches!(error, Error::Truncated { kept: 2, all: 6, .. }), "{error}");
    for columns in [&columns[..1], &cars(&golden)] {
        let analysis = if columns.len() == 1 { Analysis::Mca } else { Analysis::Famd };
        let error = fit(analysis, columns, None).corrected_eigenvalues(Correction::Benzecri).unwrap_err();
        assert!(matches!(error, Error::Categories(CategoryFault::NoCorrection { .. })), "{error}");
    }
}

#[test]
fn categories_and_rows_without_weight_count_for_nothing() {
    let of = |n: usize| {
        let a = Column::of_texts(
            "a",
            [Some("u"), Some("u"), Some("v"), Some("v"), Some("w")].into_iter().take(n),
        );
        let b = Column::of_texts("b", ["x", "y", "x", "y", "x"].map(Some).into_iter().take(n));
        let one = Column::of_texts("one", ["k"; 5].map(Some).into_iter().take(n));
        let x = Column::of_numbers("x", [1.0, 2.0, 3.0, 5.0, 9.0][..n].to_vec());
        [a, b, one, x]
    };
    let weights = [1.0, 1.0, 1.0, 1.0, 0.0];
    for (analysis, n_columns) in [(Analysis::Mca, 3), (Analysis::Famd, 4)] {
        let found = fit(analysis, &of(5)[..n_columns], Some(&weights));
        let alone = fit(analysis, &of(4)[..n_columns], None);
        assert_eq!(found.n_components(), alone.n_components());
        for (found, expected) in found.eigenvalues().iter().zip(alone.eigenvalues()) {
            assert_near("eigenvalues", *found, *expected);
        }
        let results = found.categories();
        let place = |name: &str| found.category_names().iter().position(|other| other == name).unwrap();
        assert_eq!(found.shares()[place("a=w")], 0.0);
        assert!(results.coordinates.row(place("a=w")).iter().all(|x| x.is_nan()));
        assert!(results.coordinates.row(place("one=k")).iter().all(|x| x.is_finite()));
        assert!(results.cos2.row(place("one=k")).iter().all(|x| x.is_nan()));
        assert!(results.v_tests.row(place("b=x")).iter().all(|x| x.is_finite()));
    }
}

#[test]
fn weights_that_do_not_count_rows_have_no_v_tests() {
    let golden = golden();
    let (columns, counts) = (titanic(&golden), numbers(&golden["titanic"]["counts"]));
    let total: f64 = counts.iter().sum();
    let shares: Vec<f64> = counts.iter().map(|count| count / total).collect();
    let (found, expected) =
        (fit(Analysis::Mca, &columns, Some(&shares)), fit(Analysis::Mca, &columns, Some(&counts)));
    assert!(found.categories().v_tests.as_slice().iter().all(|v| v.is_nan()));
    assert!(!found.has_v_tests() && expected.has_v_tests());
    for (found, expected) in found.eigenvalues().iter().zip(expected.eigenvalues()) {
        assert_near("eigenvalues", *found, *expected);
    }
}

#[test]
fn components_without_variance_are_left_out() {
    // A question that only some were asked, and one that repeats it.
    let owns: Vec<Option<&str>> = (0..60).map(|i| Some(if i % 5 < 3 { "yes" } else { "no" })).collect();
    let brand: Vec<Option<&str>> =
        (0..60).map(|i| (i % 5 < 3).then_some(["a", "b", "c"][i / 5 % 3])).collect();
    let columns = [
        Column::of_texts("owns", owns.clone()),
        Column::of_texts("brand", brand),
        Column::of_texts("again", owns),
    ];
    let model = fit(Analysis::Mca, &columns, None);
    assert_eq!(model.n_components(), 3);
    let cos2 = model.row_cos2(&columns).unwrap();
    for i in 0..60 {
        assert_near("cos2 of a row", cos2.row(i).iter().sum(), 1.0);
    }
    let five = CategoricalPca { n_components: NComponents::Count(5), ..CategoricalPca::new(Analysis::Mca) };
    assert_eq!(
        five.fit(&columns, None).unwrap_err().to_string(),
        "n_components = 5 is not allowed: categories and rows have 3 dimensions"
    );
}

#[test]
fn tables_that_are_refused_and_their_messages() {
    let golden = golden();
    let (titanic, cars) = (titanic(&golden), cars(&golden));
    let model = fit(Analysis::Mca, &titanic, None);
    let message = |analysis, columns: &[Column]| {
        CategoricalPca::new(analysis).fit(columns, None).unwrap_err().to_string()
    };
    let with = |column: Column| {
        let mut columns = cars.clone();
        columns[0] = column;
        columns
    };
    let mut unknown = titanic.clone();
    unknown[3] =
        ordered("Survived", &texts(&golden["titanic"]["table"]["Survived"]), &["Perhaps", "No", "Yes"]);
    assert!(model.transform(&unknown).is_ok());
    let ColumnValues::Categories { codes, .. } = &mut unknown[3].values else { panic!() };
    codes[10] = Some(0);
    let swapped = [&titanic[1], &titanic[0], &titanic[2], &titanic[3]].map(Column::clone);
    let cases = [
        (
            model.transform(&unknown).unwrap_err().to_string(),
            "column `Survived`: row 10 is `Perhaps`, which no row of the fit was; its categories are `No`, `Yes`",
        ),
        (model.transform(&swapped).unwrap_err().to_string(), "column 1 is `Sex`, and was `Class` in the fit"),
        (
            message(Analysis::Famd, &titanic),
            "all columns hold categories; use multiple correspondence analysis",
        ),
        (message(Analysis::Famd, &cars[..4]), "all columns hold numbers; use PCA of scaled columns"),
        (message(Analysis::Mca, &cars), "column `mpg` holds numbers, and categories are expected there"),
        (
            message(Analysis::Famd, &with(Column::of_numbers("mpg", vec![0.1; 32]))),
            "column `mpg` is constant; leave it out",
        ),
        (
            message(Analysis::Famd, &with(Column::of_numbers("mpg", vec![f64::NAN; 32]))),
            "column `mpg`: row 0 is missing; complete the numbers first",
        ),
        (
            message(
                Analysis::Famd,
                &with(Column::of_numbers("mpg", [1e308, -1e308].into_iter().cycle().take(32).collect())),
            ),
            "column `mpg`: deviations from the mean exceed the largest number; divide it by a constant",
        ),
        (message(Analysis::Mca, &[titanic[0].clone(), titanic[0].clone()]), "`Class` names two columns"),
        (message(Analysis::Mca, &[Column::of_texts("a", [Some("x"), Some("x")])]), "all rows are alike"),
        (message(Analysis::Mca, &[]), "data of shape (0, 0) hold no values"),
    ];
    for (found, expected) in cases {
        assert!(found.starts_with(expected), "{found}");
    }
    let equal =
        [Column::of_texts("a", ["b=c", "d"].map(Some)), Column::of_texts("a=b", ["c", "e"].map(Some))];
    assert!(message(Analysis::Mca, &equal).starts_with("`a=b=c` names two columns or two categories"));
}

#[test]
fn numbers_far_from_zero_keep_their_digits() {
    let golden = golden();
    let columns = cars(&golden);
    let expected = fit(Analysis::Famd, &columns, None);
    let mut far = columns;
    let ColumnValues::Numbers(values) = &mut far[0].values else { panic!() };
    values.iter_mut().for_each(|value| *value += 1e8);
    for (found, expected) in fit(Analysis::Famd, &far, None).eigenvalues().iter().zip(expected.eigenvalues())
    {
        // The values themselves are rounded to 1e8 times the rounding of f64.
        assert!((found / expected - 1.0).abs() < 1e-6);
    }
}

#[test]
fn squared_cosines_of_many_categories_match_the_definition() {
    // So many that their means do not fit into one pass.
    const N: usize = 2400;
    const CATEGORIES: usize = 1100;
    let names: Vec<String> = (0..CATEGORIES).map(|c| format!("{c:04}")).collect();
    let codes: Vec<usize> = (0..N).map(|i| i * i % 7919 % CATEGORIES).collect();
    let x: Vec<f64> = (0..N).map(|i| (i * 37 % 101) as f64 + codes[i] as f64 / 50.0).collect();
    let columns = [
        Column::of_numbers("x", x.clone()),
        Column::of_texts("c", codes.iter().map(|code| Some(names[*code].as_str()))),
    ];
    let options =
        CategoricalPca { n_components: NComponents::Count(2), ..CategoricalPca::new(Analysis::Famd) };
    let model = options.fit(&columns, None).unwrap();
    let mean = x.iter().sum::<f64>() / N as f64;
    let deviation = (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / N as f64).sqrt();
    let results = model.categories();
    for (i, name) in model.variables()[1].categories().unwrap().iter().enumerate() {
        let of_category: Vec<f64> = (0..N).filter(|i| names[codes[*i]] == *name).map(|i| x[i]).collect();
        let n = of_category.len() as f64;
        let number = (of_category.iter().sum::<f64>() / n - mean) / deviation;
        // Indicators less shares p over their roots: (1 - p)^2 / p, and p of every other category.
        let share = n / N as f64;
        let distance = number.powi(2) + (1.0 - share) / share;
        for c in 0..2 {
            assert_near(name, results.cos2[(i, c)], results.coordinates[(i, c)].powi(2) / distance);
        }
    }
}

#[test]
fn results_of_rows_have_the_same_bits_for_every_number_of_threads() {
    let golden = golden();
    let (columns, weights) = (cars(&golden), numbers(&golden["mtcars"]["weights"]));
    let model = fit(Analysis::Famd, &columns, Some(&weights));
    let contributions = model.row_contributions(&columns, Some(&weights)).unwrap();
    let cos2 = model.row_cos2(&columns).unwrap();
    for n_threads in [1, 3] {
        let run = Run { n_threads: Some(n_threads), ..Run::default() };
        let found = model.row_contributions_with(&columns, Some(&weights), &run).unwrap();
        assert_eq!(found, contributions);
        assert_eq!(model.row_cos2_with(&columns, &run).unwrap(), cos2);
    }
}

#[test]
fn numbers_of_any_size_have_the_same_analysis() {
    let golden = golden();
    let expected = fit(Analysis::Famd, &cars(&golden), None);
    for factor in [1e-300, 1e-200, 1e200, 1e300] {
        let mut columns = cars(&golden);
        let ColumnValues::Numbers(values) = &mut columns[0].values else { panic!() };
        values.iter_mut().for_each(|value| *value *= factor);
        let found = fit(Analysis::Famd, &columns, None);
        for (found, expected) in found.eigenvalues().iter().zip(expected.eigenvalues()) {
            assert_near(&format!("eigenvalues times {factor}"), *found, *expected);
        }
    }
}

#[test]
fn many_categories_are_more_than_twenty_and_half_of_the_rows() {
    for (n_categories, n_rows, expected) in
        [(20, 20, false), (21, 21, true), (30, 60, false), (31, 60, true), (31, 61, true), (31, 62, false)]
    {
        assert_eq!(are_many_categories(n_categories, n_rows), expected, "{n_categories} of {n_rows}");
    }
}

#[test]
fn eigenvalues_of_independent_variables_are_corrected_to_zero() {
    // All pairs of three and five categories occur once: every eigenvalue is 1 / 2, but for rounding.
    let pairs: Vec<(usize, usize)> = (0..15).map(|i| (i % 3, i / 3)).collect();
    let texts = |of: fn(&(usize, usize)) -> usize| -> Vec<String> {
        pairs.iter().map(|pair| format!("c{}", of(pair))).collect()
    };
    let column = |name: &str, texts: &[String]| {
        Column::of_texts(name, texts.iter().map(|text| Some(text.as_str())).collect::<Vec<_>>())
    };
    let columns = [column("a", &texts(|pair| pair.0)), column("b", &texts(|pair| pair.1))];
    let model = fit(Analysis::Mca, &columns, None);
    assert!(model.eigenvalues().iter().all(|value| (value - 0.5).abs() < 1e-12));
    for correction in [Correction::Benzecri, Correction::Greenacre] {
        let found = model.corrected_eigenvalues(correction).unwrap();
        assert!(found.eigenvalues.iter().chain(&found.ratio).all(|value| *value == 0.0), "{found:?}");
    }
}

/// Rules count the dimensions of the categories, six of ten here, and their average variance is one over the variables.
#[test]
fn rules_know_the_dimensions_of_categories() {
    let golden = golden();
    let model = fit(Analysis::Mca, &titanic(&golden), None);
    let spectrum = Spectrum::of_model(model.pca(), None).unwrap();
    assert!(spectrum.is_complete());
    let above = model.eigenvalues().iter().filter(|value| **value > 0.25 + 1e-9).count();
    assert_eq!((kaiser(&spectrum).unwrap().n_components, model.eigenvalues().len()), (Some(above), 6));
    // Of all rules none asks for a fit of all components.
    for row in of_spectrum(&spectrum) {
        assert!(!row.reason.contains("fit with all components"), "{row:?}");
    }
}

/// V-tests count frequency weights as rows, and other weights by their effective number.
#[test]
fn v_tests_count_what_weights_mean() {
    let golden = golden();
    let columns = titanic(&golden);
    let n = texts(&golden["titanic"]["table"]["Sex"]).len();
    let weights: Vec<f64> = (0..n).map(|i| 100.0 + (i % 7) as f64).collect();
    let v_tests = |weighting| {
        let options = CategoricalPca { weighting, ..CategoricalPca::new(Analysis::Mca) };
        options.fit(&columns, Some(&weights)).unwrap().categories().v_tests
    };
    let (sum, squares): (f64, f64) = (weights.iter().sum(), weights.iter().map(|w| w * w).sum());
    let [counted, worth] = [sum, sum * sum / squares].map(|n| (n - 1.0).sqrt());
    let (of_counts, of_survey) = (v_tests(Weighting::Frequency), v_tests(Weighting::Importance));
    for (counts, survey) in of_counts.as_slice().iter().zip(of_survey.as_slice()) {
        assert_near("v-test", *survey, counts * worth / counted);
    }
}
