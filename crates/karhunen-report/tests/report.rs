//! Pages of fitted models: their texts, their numbers, and what they must not hold.

use karhunen::diagnostics::{self, incomplete_samples, samples};
use karhunen::incomplete::Method;
use karhunen::kernel::{Gamma, Kernel};
use karhunen::pca::Centring;
use karhunen::{
    Dense, IncompletePca, KernelPca, NComponents, Observed, Pca, PcaModel, Run, Weighting, Weights,
};
use karhunen_report::{Error, Report};
use karhunen_testkit::{planted, row_major};
use serde_json::Value;

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{2028}\"'&<!--";

fn rows(n: usize, p: usize) -> Vec<f64> {
    row_major(&planted(n, p, &[9.0, 4.0, 1.0], 0.5, 7).rows)
}

fn fitted(values: &[f64], (n, p): (usize, usize), k: usize) -> PcaModel {
    let pca = Pca { n_components: NComponents::Count(k), scale: true.into(), ..Pca::default() };
    pca.fit(&Dense::row_major(values, n, p).unwrap(), &Weights::default()).unwrap()
}

/// The numbers of a page.
fn numbers(page: &str) -> Value {
    let (_, rest) = page.split_once("type=\"application/json\"").unwrap();
    let (_, rest) = rest.split_once('>').unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

#[test]
fn numbers_agree_with_the_diagnostics() {
    let values = rows(80, 6);
    let model = fitted(&values, (80, 6), 3);
    let x = Dense::row_major(&values, 80, 6).unwrap();
    let page = Report::default().page_of_rows(&model, &x, &Run::default()).unwrap();
    let (found, numbers) = (samples(&model, &x).unwrap(), numbers(&page));
    for i in [0, 17, 79] {
        for (shown, expected) in [
            (&numbers["rows"]["t2"]["values"][i], found.t2[i]),
            (&numbers["rows"]["spe"]["values"][i], found.spe[i]),
            (&numbers["rows"]["scores"][1][i], found.scores[(i, 1)]),
        ] {
            let shown = shown.as_f64().unwrap();
            assert!((shown - expected).abs() <= 1e-4 * expected.abs(), "{shown} {expected}");
        }
    }
    assert_eq!(numbers["features"]["names"][2], "x3");
    for said in ["80 samples", "6 features", "PCA of the correlation matrix", "3 components were kept"] {
        assert!(page.contains(said), "{said}");
    }
}

#[test]
fn rotated_components_are_shown_instead_of_the_others() {
    use karhunen::rotation::{Criterion, Oblimin, RotatedModel};
    let values = rows(80, 6);
    let model = fitted(&values, (80, 6), 4);
    let x = Dense::row_major(&values, 80, 6).unwrap();
    let oblimin = Criterion::Oblimin(Oblimin { gamma: -1.0, kaiser: true, ..Oblimin::default() });
    let rotated = RotatedModel::new(model.clone(), Some(3), oblimin, &Run::default()).unwrap();
    let page = Report::default().page_of_rows(&rotated, &x, &Run::default()).unwrap();
    let (scores, numbers) = (rotated.transform_with(&x, &Run::default()).unwrap(), numbers(&page));
    let shown = |value: &Value, expected: f64| {
        let shown = value.as_f64().unwrap();
        assert!((shown - expected).abs() <= 1e-4 * expected.abs(), "{shown} {expected}");
    };
    for i in [0, 17, 79] {
        shown(&numbers["rows"]["scores"][2][i], scores[(i, 2)]);
        shown(&numbers["rows"]["t2"]["values"][i], samples(&fitted(&values, (80, 6), 3), &x).unwrap().t2[i]);
    }
    for j in 0..6 {
        shown(&numbers["features"]["loading"][0][j], rotated.rotation().pattern[(j, 0)]);
        shown(&numbers["features"]["correlation"][1][j], rotated.rotation().structure[(j, 1)]);
    }
    assert_eq!(numbers["scree"]["names"], serde_json::json!(["RC1", "RC2", "RC3"]));
    for said in [
        "The first 3 components were rotated by oblimin with gamma -1 and Kaiser normalisation",
        "The rotated components are correlated, RC",
        "The rotation converged in",
        "karhunen rotate fitted.model --method oblimin -k 3 --gamma -1 --kaiser -o pca.model",
        "rotated = karhunen.rotation.oblimin(pca, n_components=3, gamma=-1.0, kaiser=True)",
        "rotated.report(",
    ] {
        assert!(page.replace("&quot;", "\"").contains(said), "{said}");
    }
}

#[test]
fn names_are_text_and_nothing_is_requested() {
    let values = rows(30, 4);
    let model = fitted(&values, (30, 4), 2);
    let x = Dense::row_major(&values, 30, 4).unwrap();
    let features: Vec<String> = (0..4).map(|j| format!("{HOSTILE}{j}")).collect();
    let samples: Vec<String> = (0..30).map(|i| format!("{HOSTILE}{i}")).collect();
    let report = Report {
        title: HOSTILE,
        feature_names: Some(&features),
        sample_names: Some(&samples),
        data_name: HOSTILE,
        ..Report::default()
    };
    let page = report.page_of_rows(&model, &x, &Run::default()).unwrap();
    assert!(page.starts_with("<!doctype html>"));
    assert!(!page.contains("<img src=x"), "markup of a name");
    assert_eq!(page.matches("</script>").count(), page.matches("<script").count());
    assert_eq!(numbers(&page)["rows"]["names"][3], format!("{HOSTILE}3"));
    assert!(page.contains("default-src 'none'"));
    for loads in ["<link rel=\"stylesheet\"", "<script src", " src=\"http"] {
        assert!(!page.contains(loads), "{loads}");
    }
}

#[test]
fn pages_of_many_rows_are_small() {
    let values = rows(30_000, 5);
    let model = fitted(&values, (30_000, 5), 5);
    let x = Dense::row_major(&values, 30_000, 5).unwrap();
    let page = Report::default().page_of_rows(&model, &x, &Run::default()).unwrap();
    assert_eq!(numbers(&page)["rows"]["t2"]["values"].as_array().unwrap().len(), 10_000);
    assert!(page.len() < 3_000_000, "{}", page.len());
    assert!(page.contains("hold 10\u{a0}000 of 30\u{a0}000 samples"));
}

#[test]
fn unsuitable_arguments_are_named() {
    let values = rows(30, 4);
    let model = fitted(&values, (30, 4), 2);
    let names = vec!["a".to_owned(); 3];
    let report = Report { feature_names: Some(&names), ..Report::default() };
    let error = report.page(&model).unwrap_err();
    assert!(matches!(error, Error::Names { what: "features", found: 3, expected: 4 }), "{error}");
    let x = Dense::row_major(&values[..90], 30, 3).unwrap();
    assert!(matches!(
        Report::default().page_of_rows(&model, &x, &Run::default()),
        Err(Error::Library(karhunen::Error::Shape { .. }))
    ));
    let x = Dense::row_major(&values, 30, 4).unwrap();
    let report = Report { level: 1.5, ..Report::default() };
    assert!(report.page_of_rows(&model, &x, &Run::default()).is_err());
    // A model without components has a page, too.
    let none = fitted(&values, (30, 4), 0);
    assert!(Report::default().page(&none).unwrap().contains("No component was kept"));
}

/// Rows with every fifth value missing.
fn with_missing(n: usize, p: usize) -> Observed<f64> {
    let mut values = rows(n, p);
    values.iter_mut().step_by(5).for_each(|value| *value = f64::NAN);
    Observed::from_dense(&Dense::row_major(&values, n, p).unwrap()).unwrap()
}

#[test]
fn pages_of_missing_values_show_where_they_are() {
    let data = with_missing(90, 6);
    let model = IncompletePca { method: Method::Ppca, scale: true.into(), ..IncompletePca::new(2) }
        .fit(&data)
        .unwrap();
    let page = Report::default().page_of_entries(&model, &data, &Run::default()).unwrap();
    let (found, numbers) = (incomplete_samples(&model, &data, &Run::default()).unwrap(), numbers(&page));
    let limits = found.t2_limits(&model, 0.95, diagnostics::Rows::Fitted).unwrap();
    for i in [0, 40, 89] {
        let shown = numbers["rows"]["t2"]["values"][i].as_f64().unwrap();
        let expected = found.t2[i] / limits[i];
        assert!((shown - expected).abs() <= 1e-4 * expected, "{shown} {expected}");
    }
    assert_eq!(numbers["rows"]["spe"]["limit"], 1.0);
    let missing = &numbers["missing"];
    for j in 0..6 {
        let share = missing["share"][j].as_f64().unwrap();
        assert!((share - (1.0 - data.n_observed_in_column(j) as f64 / 90.0)).abs() < 1e-4);
        let (certain, deviation) =
            (missing["uncertainty"][j].as_f64().unwrap(), missing["deviation"][j].as_f64().unwrap());
        assert!(certain > 0.0 && certain < 1.1 * deviation, "{certain} {deviation}");
    }
    for said in [
        "90 samples and 6 features with missing values",
        "108 of 540 entries are missing (20.0%)",
        "IncompletePCA(2, method=&quot;ppca&quot;, scale=True)",
        "karhunen fit data.csv --missing=ppca -k 2 --scale -o pca.model",
        "variances of values without noise",
    ] {
        assert!(page.contains(said), "{said}");
    }
    // The model alone knows the numbers of missing values, not their certainty.
    let alone = Report::default().page(&model).unwrap();
    assert!(alone.contains("108 of 540 entries are missing (20.0%)") && !alone.contains("id=\"samples\""));
    let new = Report::default().page_of_entries(&model, &with_missing(30, 6), &Run::default()).unwrap();
    assert!(new.contains("they are taken to be new") && new.contains("id=\"odd\""));
    let other = Report::default().page_of_entries(&model, &with_missing(30, 5), &Run::default());
    assert!(matches!(other, Err(Error::Library(karhunen::Error::Shape { .. }))), "{other:?}");
}

#[test]
fn pages_of_kernels_show_scores_without_features() {
    let values = rows(60, 4);
    let x = Dense::row_major(&values, 60, 4).unwrap();
    let kernel = Kernel::Rbf { gamma: Gamma::Value(0.25) };
    let model = KernelPca { kernel, ..KernelPca::new(3) }.fit(&x, &Weights::default()).unwrap();
    let page = Report::default().page_of_rows(&model, &x, &Run::default()).unwrap();
    let (scores, numbers) = (model.transform(&x).unwrap(), numbers(&page));
    for i in [0, 30, 59] {
        let shown = numbers["rows"]["scores"][2][i].as_f64().unwrap();
        assert!((shown - scores[(i, 2)]).abs() <= 1e-4 * scores[(i, 2)].abs());
    }
    assert!(numbers["features"].is_null() && numbers["rows"]["spe"].is_null());
    for said in [
        "The kernel was rbf",
        "gamma 0.25",
        "kernel=&quot;rbf&quot;, gamma=0.25",
        "--kernel rbf -k 3 --gamma 0.25",
    ] {
        assert!(page.contains(said), "{said}");
    }
    for absent in ["id=\"features\"", "id=\"odd\"", "id=\"distances\"", "id=\"missing\""] {
        assert!(!page.contains(absent), "{absent}");
    }
    assert!(Report::default().page(&model).unwrap().contains("id=\"scree\""));
}

#[test]
fn limits_of_a_weighted_fit_are_of_weighted_rows() {
    use karhunen::diagnostics::{SpeDistribution, SpeLimit};
    let values = rows(80, 6);
    let x = Dense::row_major(&values, 80, 6).unwrap();
    let weights: Vec<f64> = (0..80).map(|i| 1.0 + f64::from(i % 7)).collect();
    for weighting in [Weighting::Frequency, Weighting::Importance, Weighting::Population] {
        let pca = Pca { weighting, scale: true.into(), ..Pca::new(2) };
        let model = pca.fit(&x, &Weights::of_samples(&weights)).unwrap();
        let report = Report { sample_weights: Some(&weights), ..Report::default() };
        let page = report.page_of_rows(&model, &x, &Run::default()).unwrap();
        assert!(page.contains("80 samples are given: the samples of the fit."), "{weighting:?}");
        assert!(
            page.contains("sample_weight=weights, level=0.95") && page.contains("--weights WEIGHTS --level")
        );
        let found = samples(&model, &x).unwrap();
        let limit = SpeDistribution::of_rows(&found.spe, &found.distance2, Some(&weights)).unwrap();
        let (limit, shown) = (limit.limit(0.95, SpeLimit::Box).unwrap(), numbers(&page));
        let shown = shown["rows"]["spe"]["limit"].as_f64().unwrap();
        assert!((shown - limit).abs() <= 1e-4 * limit, "{shown} {limit}");
        // Without the weights they are not the samples of the fit.
        let page = Report::default().page_of_rows(&model, &x, &Run::default()).unwrap();
        assert!(
            page.contains("without the weights of the fit")
                && numbers(&page)["rows"]["spe"]["limit"].is_null()
        );
        let few = Report { sample_weights: Some(&weights[..3]), ..Report::default() };
        assert!(few.page_of_rows(&model, &x, &Run::default()).is_err());
    }
}

#[test]
fn errors_of_a_few_rows_give_no_limit() {
    let mut values = rows(400, 6);
    // A row with a pattern of its own, far from the components of the others.
    values[..6].copy_from_slice(&[300.0, -300.0, 300.0, -300.0, 300.0, -300.0]);
    let x = Dense::row_major(&values, 400, 6).unwrap();
    let others = Dense::row_major(&values[6..], 399, 6).unwrap();
    let mut weights = vec![1.0; 400];
    weights[0] = 1e-4;
    let pca = Pca { weighting: Weighting::Importance, ..Pca::new(3) };
    let model = pca.fit(&x, &Weights::of_samples(&weights)).unwrap();
    let report = Report { sample_weights: Some(&weights), ..Report::default() };
    let page = report.page_of_rows(&model, &x, &Run::default()).unwrap();
    assert!(page.contains("a few samples have nearly all of the error"));
    assert!(numbers(&page)["rows"]["spe"]["limit"].is_null());
    // The others have three components without noise.
    let model = Pca::new(2).fit(&others, &Weights::default()).unwrap();
    let page = Report::default().page_of_rows(&model, &others, &Run::default()).unwrap();
    assert!(!page.contains("a few samples have") && numbers(&page)["rows"]["spe"]["limit"].is_f64());
}

#[test]
fn rows_of_the_fit_are_recognised_by_their_values() {
    let values = rows(160, 6);
    let (first, second) = values.split_at(480);
    fn x(values: &[f64]) -> Dense<'_, f64> {
        Dense::row_major(values, 80, 6).unwrap()
    }
    for scale in [false, true] {
        for center in [Centring::Mean, Centring::None] {
            let pca = Pca { center, scale: scale.into(), ..Pca::new(2) };
            let model = pca.fit(&x(first), &Weights::default()).unwrap();
            let origin =
                |values: &[f64]| Report::default().page_of_rows(&model, &x(values), &Run::default()).unwrap();
            assert!(origin(first).contains(": the samples of the fit."));
            assert!(origin(second).contains("but with other scores; they are taken to be new."));
        }
    }
    let (fitted, other) =
        (Observed::from_dense(&x(first)).unwrap(), Observed::from_dense(&x(second)).unwrap());
    let model = IncompletePca::new(2).fit(&fitted).unwrap();
    let origin = |rows| Report::default().page_of_entries(&model, rows, &Run::default()).unwrap();
    assert!(
        origin(&fitted).contains(": the samples of the fit.") && origin(&other).contains("with other scores")
    );
    // A kernel model has no limits, so that weights would change nothing.
    let model = KernelPca::new(2).fit(&x(first), &Weights::default()).unwrap();
    let report = Report { sample_weights: Some(&[1.0; 80]), ..Report::default() };
    assert!(matches!(report.page_of_rows(&model, &x(first), &Run::default()), Err(Error::Weights)));
}

#[test]
fn calls_read_the_data_as_they_were_read() {
    let values = rows(30, 4);
    let model = fitted(&values, (30, 4), 2);
    let options = ["--label", "a class", "--header=yes"].map(str::to_owned);
    let report = Report { data_options: &options, data_name: "my data.csv", ..Report::default() };
    let page = report.page(&model).unwrap();
    assert!(
        page.contains(
            "karhunen fit &#x27;my data.csv&#x27; --label &#x27;a class&#x27; --header=yes -k 2 --scale"
        ),
        "{page}"
    );
}

#[test]
fn calls_of_weighted_fits_name_the_weights() {
    let weights: Vec<f64> = (0..90).map(|i| 1.0 + f64::from(i % 3)).collect();
    let weighted = with_missing(90, 6).with_sample_weights(&weights).unwrap();
    for (data, expected) in [(&weighted, true), (&with_missing(90, 6), false)] {
        let model = IncompletePca::new(2).fit(data).unwrap();
        let page = Report::default().page(&model).unwrap();
        assert_eq!(page.contains("sample_weight=weights"), expected);
        assert_eq!(page.contains("--missing -k 2 --weights WEIGHTS"), expected);
    }
}

#[test]
fn data_without_variance_are_described_as_such() {
    let values = [3.0; 60];
    let model = fitted(&values, (20, 3), 1);
    let x = Dense::row_major(&values, 20, 3).unwrap();
    let page = Report::default().page_of_rows(&model, &x, &Run::default()).unwrap();
    for said in
        ["The data have no variance", "T² has no limit: no component has variance", "zero to rounding"]
    {
        assert!(page.contains(said), "{said}");
    }
    assert!(!page.contains("Sampling does not separate") && !page.contains("explain all"), "contradictions");
}

#[test]
fn one_component_is_in_the_singular_and_idle_rules_have_no_picture() {
    let values = rows(80, 9);
    let page = Report::default().page(&fitted(&values, (80, 9), 1)).unwrap();
    assert!(page.contains("One component was kept; it explains"));
    // The fit has the other variances too.
    assert!(page.contains("id=\"rules\"") && numbers_of_rules(&page) > 0);
    let constant = vec![1.0; 80 * 9];
    let idle = Report::default().page(&fitted(&constant, (80, 9), 1)).unwrap();
    assert!(!idle.contains("id=\"rules\"") && numbers_of_rules(&idle) == 0);
}

/// Rows of the table of rules with an answer.
fn numbers_of_rules(page: &str) -> usize {
    page.matches(" data-n=\"").count() - page.matches(" data-n=\"\"").count()
}
