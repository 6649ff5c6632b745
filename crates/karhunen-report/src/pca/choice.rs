//! How many components the rules suggest for complete data.

use crate::choice::{Chosen, RuleRow};
use crate::names::{component, listed};
use crate::numbers::{all_rounded, counted};
use karhunen::PcaModel;
use karhunen::choice::Choice;
use karhunen::selection::{Selection, Spectrum, north, of_spectrum};

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
    let mut numbers: Vec<usize> = table.iter().filter_map(|row| row.n_components).collect();
    numbers.sort_unstable();
    let (Some(least), Some(most)) = (numbers.first(), numbers.last()) else {
        return vec![format!("None of the {} applies; the table says why.", counted(table.len(), "rule"))];
    };
    let times = |n: usize| numbers.iter().filter(|other| **other == n).count();
    let range = match numbers.len() {
        1 => format!("applies; it suggests {least}"),
        _ if least == most => format!("apply; they all suggest {least}"),
        _ => format!("apply; they suggest between {least} and {most} components"),
    };
    let mut sentences = vec![format!("{} of {} {range}.", numbers.len(), counted(table.len(), "rule"))];
    // Of numbers that occur equally often, the smallest.
    let often = numbers.iter().copied().max_by_key(|n| (times(*n), std::cmp::Reverse(*n)));
    if let Some(often) = often.filter(|n| times(*n) > 1 && least != most) {
        let names: Vec<String> = table
            .iter()
            .filter(|row| row.n_components == Some(often))
            .map(|row| row.rule.name().to_owned())
            .collect();
        sentences.push(format!("The most frequent answer is {often} ({}).", listed(&names)));
    }
    if table.iter().any(|row| row.at_edge) {
        sentences.push(
            "A choice at the edge of its range (marked) may mean that the rule found no answer.".to_owned(),
        );
    }
    sentences.push(
        "No rule is right for all data; rules that agree are better evidence than any one of them."
            .to_owned(),
    );
    sentences
}
