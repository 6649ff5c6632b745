//! The categories of a column, numbered in the order of occurrence and finally sorted.

use std::collections::{HashMap, HashSet};

use karhunen::categorical::ColumnValues;

use crate::csv::Cell;

/// The categories and codes of the rows that were read.
#[derive(Debug, Default)]
pub(crate) struct Coded {
    codes_of: HashMap<String, u32>,
    names: Vec<String>,
    codes: Vec<Option<u32>>,
}

impl Coded {
    /// Adds a row with a category; `None` if 32 bits cannot count the categories.
    pub(crate) fn push(&mut self, text: &str) -> Option<()> {
        let code = self.code(text)?;
        self.codes.push(Some(code));
        Some(())
    }

    /// Adds a row without a value.
    pub(crate) fn push_missing(&mut self) {
        self.codes.push(None);
    }

    /// The number of a category, which need not occur in a row.
    pub(crate) fn code(&mut self, text: &str) -> Option<u32> {
        if let Some(code) = self.codes_of.get(text) {
            return Some(*code);
        }
        let code = u32::try_from(self.names.len()).ok()?;
        self.codes_of.insert(text.to_owned(), code);
        self.names.push(text.to_owned());
        Some(code)
    }

    /// The text of each row, if every row has another one and some are no numbers: the column then names the rows. A
    /// column of a dictionary whose values do not all occur never does.
    pub(crate) fn as_row_names(&self) -> Option<Vec<String>> {
        let distinct: HashSet<u32> = self.codes.iter().flatten().copied().collect();
        let n = self.codes.len();
        let differ = n > 1 && distinct.len() == n && self.names.len() == n;
        let holds_text = || self.names.iter().any(|name| Cell::of(name.as_bytes(), false) == Cell::Text);
        (differ && holds_text())
            .then(|| self.codes.iter().flatten().map(|code| self.names[*code as usize].clone()).collect())
    }

    /// The values, with sorted categories: numbers by value, before all texts.
    pub(crate) fn sorted(self) -> ColumnValues {
        let Self { names, codes, .. } = self;
        let number = |name: &String| match Cell::of(name.as_bytes(), false) {
            Cell::Number(value) => value,
            _ => f64::INFINITY,
        };
        let mut order: Vec<u32> = (0..names.len() as u32).collect();
        order.sort_by(|a, b| {
            let (a, b) = (&names[*a as usize], &names[*b as usize]);
            number(a).total_cmp(&number(b)).then_with(|| a.cmp(b))
        });
        let mut places = vec![0; names.len()];
        order.iter().zip(0..).for_each(|(code, place)| places[*code as usize] = place);
        let codes = codes.into_iter().map(|code| code.map(|code| places[code as usize])).collect();
        ColumnValues::Categories {
            names: order.iter().map(|code| names[*code as usize].clone()).collect(),
            codes,
        }
    }

    /// The values, with categories in the order of occurrence.
    pub(crate) fn in_order(self) -> ColumnValues {
        ColumnValues::Categories { names: self.names, codes: self.codes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_sorted_by_value_and_texts_follow() {
        let mut coded = Coded::default();
        for text in ["10", "b", "9", "a", "10"] {
            coded.push(text).unwrap();
        }
        coded.push_missing();
        let ColumnValues::Categories { names, codes } = coded.sorted() else { panic!() };
        assert_eq!(names, ["9", "10", "a", "b"]);
        assert_eq!(codes, [Some(1), Some(3), Some(0), Some(2), Some(1), None]);
    }

    #[test]
    fn texts_that_all_differ_name_the_rows() {
        let of = |texts: &[&str]| {
            let mut coded = Coded::default();
            texts.iter().for_each(|text| coded.push(text).unwrap());
            coded.as_row_names()
        };
        assert_eq!(of(&["b", "a"]).unwrap(), ["b", "a"]);
        assert_eq!(of(&["a", "a"]), None);
        assert_eq!(of(&["1", "2"]), None);
        assert_eq!(of(&["a"]), None);
        let mut dictionary = Coded::default();
        for text in ["low", "mid", "high", "top"] {
            dictionary.code(text).unwrap();
        }
        ["low", "high", "low", "high"].iter().for_each(|text| dictionary.push(text).unwrap());
        assert_eq!(dictionary.as_row_names(), None);
    }
}
