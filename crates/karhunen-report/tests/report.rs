//! Pages of fitted models: their texts, their numbers, and what they must not hold.

use karhunen::diagnostics::samples;
use karhunen::{Dense, NComponents, Pca, PcaModel, Run, Weights};
use karhunen_report::{Error, FIRST_LINE, Report};
use karhunen_testkit::{planted, row_major};
use serde_json::Value;

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{2028}\"'&<!--";

fn rows(n: usize, p: usize) -> Vec<f64> {
    row_major(&planted(n, p, &[9.0, 4.0, 1.0], 0.5, 7).rows)
}

fn fitted(values: &[f64], (n, p): (usize, usize), k: usize) -> PcaModel {
    let pca = Pca { n_components: NComponents::Count(k), scale: true, ..Pca::default() };
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
fn numbers_are_those_of_the_diagnostics() {
    let values = rows(80, 6);
    let model = fitted(&values, (80, 6), 3);
    let x = Dense::row_major(&values, 80, 6).unwrap();
    let page = Report::default().of_pca_and_rows(&model, &x, &Run::default()).unwrap();
    let (found, numbers) = (samples(&model, &x).unwrap(), numbers(&page));
    for i in [0, 17, 79] {
        for (shown, expected) in [
            (&numbers["rows"]["t2"][i], found.t2[i]),
            (&numbers["rows"]["spe"][i], found.spe[i]),
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
    let page = report.of_pca_and_rows(&model, &x, &Run::default()).unwrap();
    assert!(page.starts_with(FIRST_LINE));
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
    let page = Report::default().of_pca_and_rows(&model, &x, &Run::default()).unwrap();
    assert_eq!(numbers(&page)["rows"]["t2"].as_array().unwrap().len(), 10_000);
    assert!(page.len() < 3_000_000, "{}", page.len());
    assert!(page.contains("hold 10\u{a0}000 of 30\u{a0}000 samples"));
}

#[test]
fn unsuitable_arguments_are_named() {
    let values = rows(30, 4);
    let model = fitted(&values, (30, 4), 2);
    let names = vec!["a".to_owned(); 3];
    let report = Report { feature_names: Some(&names), ..Report::default() };
    let error = report.of_pca(&model).unwrap_err();
    assert!(matches!(error, Error::Names { what: "features", found: 3, expected: 4 }), "{error}");
    let x = Dense::row_major(&values[..90], 30, 3).unwrap();
    assert!(matches!(
        Report::default().of_pca_and_rows(&model, &x, &Run::default()),
        Err(Error::Library(karhunen::Error::Shape { .. }))
    ));
    let x = Dense::row_major(&values, 30, 4).unwrap();
    let report = Report { level: 1.5, ..Report::default() };
    assert!(report.of_pca_and_rows(&model, &x, &Run::default()).is_err());
    // A model without components has a page, too.
    let none = fitted(&values, (30, 4), 0);
    assert!(Report::default().of_pca(&none).unwrap().contains("No component was kept"));
}
