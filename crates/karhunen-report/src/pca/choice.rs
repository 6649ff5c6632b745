//! How many components the rules suggest for complete data.

use crate::choice::{Chosen, RuleRow};
use crate::names::{component, listed};
use crate::numbers::{all_rounded, counted};
use karhunen::PcaModel;
use karhunen::choice::Choice;
use karhunen::selection::{Selection, Spectrum, Suggestion, north, of_spectrum, suggest};

impl Chosen {
    /// The choices for a model; a model to which no rule applies has a sentence that says why.
    pub(crate) fn of_spectrum(model: &PcaModel) -> Self {
        let spectrum = match Spectrum::of_model(model, None) {
            Ok(spectrum) => spectrum,
            Err(error) => {
                return Self::none(vec![format!("No rule applies: {error}.")]);
            }
        };
        let table = of_spectrum(&spectrum);
        let mut sentences = summary(&table);
        let separation = north(&spectrum);
        let mixed: Vec<String> = separation
            .groups()
            .into_iter()
            .filter(|group| group.len() > 1)
            .map(|group| {
                let between = if group.len() == 2 { "and" } else { "to" };
                format!("{} {between} {}", component(group.start), component(group.end - 1))
            })
            .collect();
        if !mixed.is_empty() && model.total_variance() > 0.0 {
            sentences.push(format!(
                "Sampling does not separate {}: the bars of one standard error about their variances overlap (North’s rule), \
                 so each of these components alone should not be interpreted.",
                listed(&mixed)
            ));
        }
        let rules = table.into_iter().map(RuleRow::of).collect();
        Self { sentences, rules, standard_errors: all_rounded(&separation.standard_errors) }
    }
}

impl RuleRow {
    fn of(found: Selection) -> Self {
        let Selection { rule, n_components, at_edge, reason, .. } = found;
        let description = rule.named().help;
        Self { rule: rule.name(), description, n_components, at_edge, reason }
    }
}

fn summary(table: &[Selection]) -> Vec<String> {
    let n_answers = table.iter().filter(|row| row.n_components.is_some()).count();
    let rules = counted(table.len(), "rule");
    if n_answers == 0 {
        return vec![format!("None of the {rules} applies; the table says why.")];
    }
    let apply = if n_answers == 1 { "applies" } else { "apply" };
    let Suggestion { n_components, reason } = suggest(table);
    let mut sentences = vec![
        match n_components {
            Some(n) => format!("Suggested: {}, {reason}.", counted(n, "component")),
            None => format!("No number is suggested: {reason}."),
        },
        format!("{n_answers} of {rules} {apply}."),
    ];
    if table.iter().any(|row| row.at_edge) {
        sentences.push("A choice at the edge of its range (marked) is not counted.".to_owned());
    }
    sentences
}
