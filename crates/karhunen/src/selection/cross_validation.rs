//! Cross-validation over entries.

use crate::incomplete::{CrossValidated, CrossValidationTable};
use crate::selection::result::digits;
use crate::selection::{Curve, Rule, Selection};

/// Chooses the number of components with the least mean squared error of held-out entries (PRESS per entry), hence the highest
/// Q², from 0 to the largest number of the table. Of several penalties of a number, that with the least error counts.
///
/// Entries are held out, and not rows: Bro, Kjeldahl, Smilde & Kiers (2008), doi:10.1007/s00216-007-1790-1, compare methods.
///
/// ```
/// use karhunen::incomplete::{CrossValidation, Method};
/// use karhunen::selection::cross_validation;
/// use karhunen::{Dense, IncompletePca, Observed, Run};
/// // Rank one and a little noise, without missing entries.
/// let value = |i: usize, j: usize| (i % 9) as f64 * (j + 1) as f64 + 0.1 * ((i * i * 7 + j * j * i) % 11) as f64;
/// let x: Vec<f64> = (0..240).map(|e| value(e / 6, e % 6)).collect();
/// let data = Observed::from_dense(&Dense::row_major(&x, 40, 6)?)?;
/// let pca = IncompletePca { method: Method::Em, ..IncompletePca::default() };
/// let grid = CrossValidation { n_components: vec![1, 2, 3], ..CrossValidation::default() };
/// let found = cross_validation(&grid.run(&pca, &data, &Run::default())?);
/// assert_eq!((found.n_components, found.range, found.at_edge), (Some(1), (0, 3), false));
/// # Ok::<(), karhunen::Error>(())
/// ```
pub fn cross_validation(table: &CrossValidationTable) -> Selection {
    let numbers = Numbers::of(table);
    let best = numbers.best();
    Selection::by_criterion(Rule::CrossValidation, ERROR, (0, numbers.errors()), best.n_components)
}

/// Chooses the smallest number of components whose mean squared error of held-out entries is within one standard error of the
/// least: the rule of Breiman, Friedman, Olshen & Stone (1984, Classification and Regression Trees, section 3.4.3). Otherwise
/// as [`cross_validation`].
pub fn cross_validation_one_error(table: &CrossValidationTable) -> Selection {
    let numbers = Numbers::of(table);
    let best = numbers.best();
    let bound = best.msep + best.msep_standard_error;
    let within = numbers.compared().find(|choice| choice.msep <= bound);
    let chosen = within.unwrap_or(best).n_components;
    let last = numbers.others.len();
    let reason = format!(
        "{ERROR} is within one standard error, {}, of the least, {} with {}",
        digits(best.msep_standard_error),
        digits(best.msep),
        best.n_components
    );
    Selection {
        rule: Rule::CrossValidationOneError,
        n_components: Some(chosen),
        at_edge: chosen == 0 || chosen == last,
        range: (0, last),
        reason,
        curve: Curve::Criterion { first: 0, values: numbers.errors(), maximised: false },
    }
}

/// The values of the criterion.
const ERROR: &str = "the mean squared error of held-out entries";

/// The choice with the least error for each number of components from zero; `None` for a number that was not compared.
struct Numbers<'a> {
    without: &'a CrossValidated,
    /// From one component.
    others: Vec<Option<&'a CrossValidated>>,
}

impl<'a> Numbers<'a> {
    fn of(table: &'a CrossValidationTable) -> Self {
        let most = table.choices().iter().map(|choice| choice.n_components).max().unwrap_or(0);
        let mut others: Vec<Option<&CrossValidated>> = vec![None; most];
        for choice in table.choices() {
            let number = &mut others[choice.n_components - 1];
            if number.is_none_or(|least| choice.msep < least.msep) {
                *number = Some(choice);
            }
        }
        Self { without: table.without_components(), others }
    }

    /// All numbers that were compared, ascending.
    fn compared(&self) -> impl Iterator<Item = &'a CrossValidated> {
        std::iter::once(self.without).chain(self.others.iter().copied().flatten())
    }

    /// Errors of all numbers; NaN for one that was not compared.
    fn errors(&self) -> Vec<f64> {
        let others = self.others.iter().map(|choice| choice.map_or(f64::NAN, |choice| choice.msep));
        std::iter::once(self.without.msep).chain(others).collect()
    }

    /// The number with the least error, and the smallest of equal ones.
    fn best(&self) -> &'a CrossValidated {
        self.compared().fold(self.without, |best, choice| if choice.msep < best.msep { choice } else { best })
    }
}
