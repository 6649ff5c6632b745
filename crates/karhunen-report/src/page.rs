//! The page: the template with its texts, numbers, style and programs.

use karhunen::{PcaModel, diagnostics};
use minijinja::value::Serde;
use minijinja::{Environment, context};
use serde::Serialize;

use crate::calls::{self, Calls};
use crate::choice::{Chosen, RuleRow};
use crate::components::{self, ComponentRow, SHOWN, Scree};
use crate::features::FeatureTable;
use crate::names::Names;
use crate::odd::OddRow;
use crate::rows::{Points, Rows};
use crate::{Error, Report, facts};

/// The first line of a report, by which programs tell it from other pages.
pub const FIRST_LINE: &str = "<!doctype html><!-- Report of karhunen -->";
const TEMPLATE: &str = include_str!("../assets/report.html");
const STYLE: &str = include_str!("../assets/report.css");
const PROGRAM: &str = include_str!("../assets/report.js");
const TABLES: &str = include_str!("../assets/tables.js");
const ECHARTS: &str = include_str!("../assets/echarts/echarts.min.js");

/// The texts of a page, and the numbers of its pictures and tables.
#[derive(Serialize)]
pub(crate) struct Page {
    title: String,
    version: &'static str,
    fitted: Vec<String>,
    exactness: Vec<String>,
    choice: Vec<String>,
    rules: Vec<RuleRow>,
    components: Vec<ComponentRow>,
    n_components: usize,
    n_shown: usize,
    feature_note: Option<String>,
    rows: Option<Vec<String>>,
    odd: Vec<OddRow>,
    calls: Vec<Calls>,
    #[serde(skip)]
    numbers: Numbers,
}

/// The numbers of the pictures and tables.
#[derive(Serialize)]
struct Numbers {
    scree: Scree,
    features: FeatureTable,
    rows: Option<Points>,
}

impl Page {
    /// The content of the page.
    pub(crate) fn new(
        report: &Report<'_>,
        model: &PcaModel,
        names: &Names<'_>,
        rows: Option<Rows>,
    ) -> Result<Self, Error> {
        let found = diagnostics::features(model)?;
        let Chosen { sentences, rules, standard_errors } = Chosen::of(model);
        let mut features = FeatureTable::of(model, &found, names);
        let (with_rows, mut odd, mut sentences_of_rows, mut points) =
            (rows.is_some(), Vec::new(), None, None);
        if let Some(rows) = rows {
            (odd, sentences_of_rows, points) = (rows.odd, Some(rows.sentences), Some(rows.points));
        }
        Ok(Self {
            title: report.title.to_owned(),
            version: env!("CARGO_PKG_VERSION"),
            fitted: facts::fitted(model),
            exactness: facts::exactness(model),
            choice: sentences,
            rules,
            components: components::table(model, &found, names),
            n_components: model.n_components(),
            n_shown: model.n_components().min(SHOWN),
            feature_note: features.note.take(),
            rows: sentences_of_rows,
            odd,
            calls: calls::of_pca(report, model, with_rows),
            numbers: Numbers { scree: Scree::of(model, standard_errors), features, rows: points },
        })
    }

    /// The page as HTML.
    pub(crate) fn render(&self) -> Result<String, Error> {
        let mut environment = Environment::new();
        // Whatever a template inserts is escaped, but for what it marks as safe: the parts of this crate below.
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::Html);
        let numbers = for_script(&serde_json::to_string(&self.numbers)?);
        let program = format!("{TABLES}\n{PROGRAM}");
        Ok(environment.render_str(
            TEMPLATE,
            context! { page => Serde(self), numbers, style => STYLE, program, echarts => ECHARTS },
        )?)
    }
}

/// JSON as the content of a script element: without characters that could end it, or that old parsers take as the end of a
/// line.
fn for_script(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_cannot_end_its_element() {
        let name = "</script><!--&\u{2028}\"";
        let text = for_script(&serde_json::to_string(name).unwrap());
        assert!(!text.contains(['<', '>', '&', '\u{2028}']), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), name);
    }

    #[test]
    fn the_template_begins_as_a_report() {
        assert_eq!(TEMPLATE.lines().next(), Some(FIRST_LINE));
    }

    #[test]
    fn programs_cannot_end_their_elements() {
        for program in [TABLES, PROGRAM, ECHARTS] {
            let program = program.to_ascii_lowercase();
            assert!(!program.contains("</script") && !program.contains("<!--"));
        }
        assert!(!STYLE.contains('<') && !STYLE.contains("url("));
    }
}
