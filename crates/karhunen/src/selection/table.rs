//! All rules of a spectrum.

use crate::error::Result;
use crate::selection::{BaiNg, Rule, Selection, Spectrum};
use crate::selection::{bai_ng, broken_stick, gavish_donoho, gcv, jolliffe, kaiser, marchenko_pastur, minka};

/// Evaluates every rule of a spectrum, in the order of [`Rule`].
///
/// A rule that needs the complete spectrum of a fit that kept a part has a row without a number, whose reason says so.
pub fn of_spectrum(spectrum: &Spectrum) -> Vec<Selection> {
    let or_reason = |rule, selection: Result<Selection>| {
        selection.unwrap_or_else(|error| Selection::not_applicable(rule, error.to_string()))
    };
    let mut table = vec![
        or_reason(Rule::Kaiser, kaiser(spectrum)),
        or_reason(Rule::Jolliffe, jolliffe(spectrum)),
        or_reason(Rule::BrokenStick, broken_stick(spectrum)),
        or_reason(Rule::MarchenkoPastur, marchenko_pastur(spectrum)),
        or_reason(Rule::GavishDonoho, gavish_donoho(spectrum)),
        or_reason(Rule::Minka, minka(spectrum)),
    ];
    for criterion in BaiNg::ALL {
        table.push(or_reason(criterion.rule(), bai_ng(spectrum, criterion, None)));
    }
    table.push(or_reason(Rule::Gcv, gcv(spectrum)));
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn every_rule_of_a_spectrum_has_one_row_and_truncation_is_a_reason() {
        let spectrum = Spectrum::new(&[5.0, 2.0, 1.1, 1.0, 0.9], 200.0, 5).unwrap();
        let table = of_spectrum(&spectrum);
        let rules: Vec<Rule> = table.iter().map(|row| row.rule).collect();
        assert_eq!(rules, Rule::ALL[..13]);
        assert!(table.iter().all(|row| row.n_components.is_some()), "{table:?}");
        let truncated = Spectrum::truncated(&[5.0, 2.0], 10.0, 200.0, 5).unwrap();
        let table = of_spectrum(&truncated);
        let of = |rule| table.iter().find(|row| row.rule == rule).unwrap();
        assert_eq!(of(Rule::Minka).n_components, None);
        assert_eq!(
            of(Rule::Minka).reason,
            "minka needs all 5 variances, and the fit kept 2; fit with all components"
        );
        // Both kept variances are at least the average: the third may be, too.
        assert_eq!(of(Rule::Kaiser).n_components, Some(1));
        assert!(matches!(
            kaiser(&Spectrum::truncated(&[5.0, 2.1], 10.0, 200.0, 5).unwrap()),
            Err(Error::Truncated { rule: "kaiser", kept: 2, all: 5 })
        ));
    }

    #[test]
    fn data_without_variance_give_reasons_and_no_number() {
        let spectrum = Spectrum::new(&[0.0, 0.0], 10.0, 2).unwrap();
        for row in of_spectrum(&spectrum) {
            assert_eq!((row.n_components, row.at_edge), (None, false), "{row:?}");
            assert!(!row.reason.is_empty());
        }
    }
}
