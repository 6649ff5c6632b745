//! Names of features and samples as the page shows them.

use crate::Error;

/// Most characters of a name that the page shows; a name in a hundred is longer, and names count in the size of the page.
const LONGEST: usize = 60;

/// Names, given or counted.
pub(crate) struct Names<'a> {
    given: Option<&'a [String]>,
    prefix: &'static str,
}

impl<'a> Names<'a> {
    /// Names of features; x1, x2, … if there are none.
    pub(crate) fn of_features(given: Option<&'a [String]>, n: usize) -> Result<Self, Error> {
        Self::checked("features", given, n, "x")
    }

    /// Names of rows; their numbers from 1 if there are none.
    pub(crate) fn of_samples(given: Option<&'a [String]>, n: usize) -> Result<Self, Error> {
        Self::checked("samples", given, n, "")
    }

    fn checked(
        what: &'static str,
        given: Option<&'a [String]>,
        expected: usize,
        prefix: &'static str,
    ) -> Result<Self, Error> {
        match given.map(<[String]>::len) {
            Some(found) if found != expected => Err(Error::Names { what, found, expected }),
            _ => Ok(Self { given, prefix }),
        }
    }

    /// As [`Names::of`], to stand in a sentence: letters of other directions do not turn the words next to them.
    pub(crate) fn in_text(&self, index: usize) -> String {
        let name = self.of(index);
        if name.is_ascii() {
            return name;
        }
        // Isolated by characters of Unicode, and without those that could end the isolation.
        let turns =
            |c: char| ('\u{202a}'..='\u{202e}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c);
        format!("\u{2068}{}\u{2069}", name.replace(turns, ""))
    }

    /// The name of the item at `index`, shortened to 60 characters.
    pub(crate) fn of(&self, index: usize) -> String {
        let Some(name) = self.given.and_then(|names| names.get(index)) else {
            return format!("{}{}", self.prefix, index + 1);
        };
        if name.chars().count() <= LONGEST {
            return name.clone();
        }
        name.chars().take(LONGEST - 1).chain(['…']).collect()
    }
}

/// The name of component `c`, counted from zero.
pub(crate) fn component(c: usize) -> String {
    format!("PC{}", c + 1)
}

/// The name of rotated component `c`, counted from zero.
pub(crate) fn rotated_component(c: usize) -> String {
    format!("RC{}", c + 1)
}

/// A list in words: `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_shortened_and_missing_ones_counted() {
        let long = ["ä".repeat(61), "b".repeat(60)];
        let names = Names::of_features(Some(&long), 2).unwrap();
        assert_eq!((names.of(0).chars().count(), names.of(0).ends_with('…')), (60, true));
        assert_eq!(names.of(1), long[1]);
        assert_eq!(Names::of_features(None, 2).unwrap().of(1), "x2");
        assert_eq!(Names::of_samples(None, 2).unwrap().of(1), "2");
        let turned = ["\u{202e}abc".to_owned(), "plain".to_owned()];
        let names = Names::of_features(Some(&turned), 2).unwrap();
        assert_eq!([names.in_text(0), names.in_text(1)], ["\u{2068}abc\u{2069}", "plain"]);
        assert!(matches!(Names::of_samples(Some(&long), 3), Err(Error::Names { found: 2, expected: 3, .. })));
    }

    #[test]
    fn lists_are_words() {
        let words = ["a", "b", "c"].map(str::to_owned);
        assert_eq!([0, 1, 2, 3].map(|n| listed(&words[..n])), ["", "a", "a and b", "a, b and c"]);
    }
}
