//! The page: the template with its texts, numbers, style and programs.

use minijinja::value::Serde;
use minijinja::{Environment, Value, context};
use serde::Serialize;

use crate::calls::Calls;
use crate::choice::{Chosen, RuleRow};
use crate::components::{ComponentRow, SHOWN, Scree};
use crate::features::FeatureTable;
use crate::incomplete::{Missing, MissingTable};
use crate::odd::OddRow;
use crate::points::{Points, Rows};
use crate::{Error, Report};

const TEMPLATE: &str = include_str!("../assets/report.html");
const STYLE: &str = include_str!("../assets/report.css");
const PROGRAM: &str = include_str!("../assets/report.js");
const TABLES: &str = include_str!("../assets/tables.js");
const ECHARTS: &str = include_str!("../assets/echarts/echarts.min.js");

/// The content of a page, the same for models of all kinds.
pub struct Content {
    pub(crate) fitted: Vec<String>,
    pub(crate) exactness: Vec<String>,
    pub(crate) choice: Chosen,
    pub(crate) components: Vec<ComponentRow>,
    pub(crate) scree: Scree,
    pub(crate) n_components: usize,
    /// `None` if components are not combinations of features.
    pub(crate) features: Option<FeatureTable>,
    /// `None` for complete data.
    pub(crate) missing: Option<Missing>,
    pub(crate) rows: Option<Rows>,
    pub(crate) calls: Vec<Calls>,
}

/// The texts of a page, and the numbers of its pictures and tables.
#[derive(Serialize)]
pub(crate) struct Page {
    title: String,
    version: &'static str,
    fitted: Vec<String>,
    exactness: Vec<String>,
    choice: Vec<String>,
    rules: Vec<RuleRow>,
    has_answers: bool,
    /// The sentence of what was fitted that states the outcome.
    summary: String,
    components: Vec<ComponentRow>,
    n_components: usize,
    n_shown: usize,
    has_features: bool,
    has_distances: bool,
    feature_note: Option<String>,
    missing: Option<Vec<String>>,
    rows: Option<Vec<String>>,
    odd: Option<Vec<OddRow>>,
    calls: Vec<Calls>,
    #[serde(skip)]
    numbers: Numbers,
}

/// The numbers of the pictures and tables.
#[derive(Serialize)]
struct Numbers {
    scree: Scree,
    features: Option<FeatureTable>,
    missing: Option<MissingTable>,
    rows: Option<Points>,
}

impl Page {
    /// The page of `content`.
    pub(crate) fn new(report: &Report<'_>, content: Content) -> Self {
        let Content { fitted, exactness, choice, components, scree, n_components, .. } = content;
        let Content { mut features, missing, rows, calls, .. } = content;
        let (mut odd, mut sentences_of_rows, mut points) = (None, None, None);
        if let Some(rows) = rows {
            (odd, sentences_of_rows, points) = (rows.odd, Some(rows.sentences), Some(rows.points));
        }
        let (missing, missing_table) = match missing {
            Some(Missing { sentences, table }) => (Some(sentences), Some(table)),
            None => (None, None),
        };
        Self {
            title: report.title.to_owned(),
            version: env!("CARGO_PKG_VERSION"),
            summary: fitted.get(3).cloned().unwrap_or_default(),
            fitted,
            exactness,
            choice: choice.sentences,
            has_answers: choice.rules.iter().any(|rule| rule.n_components.is_some()),
            rules: choice.rules,
            components,
            n_components,
            n_shown: n_components.min(SHOWN),
            has_features: features.is_some() && n_components > 0,
            has_distances: points.as_ref().is_some_and(Points::has_distances),
            feature_note: features.as_mut().and_then(|features| features.note.take()),
            missing,
            rows: sentences_of_rows,
            odd,
            calls,
            numbers: Numbers { scree, features, missing: missing_table, rows: points },
        }
    }

    /// The page as HTML.
    pub(crate) fn render(&self) -> Result<String, Error> {
        let mut environment = Environment::new();
        // Whatever a template inserts is escaped, but for what it marks as safe: the parts of this crate below.
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::Html);
        // The built-in filters, of which these are all that the template uses, take longer to compile than this crate.
        environment.add_filter("length", |value: &Value| value.len());
        environment.add_filter("safe", |value: String| Value::from_safe_string(value));
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
    fn programs_cannot_end_their_elements() {
        for program in [TABLES, PROGRAM, ECHARTS] {
            let program = program.to_ascii_lowercase();
            assert!(!program.contains("</script") && !program.contains("<!--"));
        }
        assert!(!STYLE.contains('<') && !STYLE.contains("url("));
    }
}
