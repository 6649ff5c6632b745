//! The categories of a column, numbered in the order of occurrence and finally sorted.

use std::collections::{HashMap, HashSet};

use karhunen::categorical::ColumnValues;
use karhunen::error::Phrase;

use crate::csv::{Cell, Notation};
use crate::names::shortened;

/// The categories and codes of the rows that were read.
#[derive(Debug, Default)]
pub(crate) struct Coded {
    codes_of: HashMap<String, u32>,
    /// The categories, in the order of occurrence.
    pub(crate) names: Vec<String>,
    /// The category of each row.
    pub(crate) codes: Vec<Option<u32>>,
    /// How the table writes numbers.
    notation: Notation,
}

/// A column is probably one of numbers if at most one row in this many has another text.
const ROWS_OF_A_TEXT: usize = 20;
/// Least number of different numbers of such a column.
const FEWEST_NUMBERS: usize = 10;

impl Coded {
    /// Holds no rows, of a table in this notation.
    pub(crate) fn of_table(notation: Notation) -> Self {
        Self { notation, ..Self::default() }
    }

    /// The number that a category reads as.
    fn number(&self, name: &str) -> Option<f64> {
        match Cell::of(name.as_bytes(), &self.notation) {
            Cell::Number(value) => Some(value),
            _ => None,
        }
    }

    /// Names a text of a column that otherwise holds many different numbers, so that all were taken for categories.
    pub(crate) fn warning(&self, column: &str) -> Option<Phrase> {
        let is_number: Vec<bool> = self.names.iter().map(|name| self.number(name).is_some()).collect();
        let n_numbers = is_number.iter().filter(|&&number| number).count();
        let of_text = self.codes.iter().flatten().filter(|code| !is_number[**code as usize]);
        let (n_rows, n_texts) = (self.codes.len(), of_text.clone().count());
        let text = &self.names[*of_text.min()? as usize];
        (n_numbers >= FEWEST_NUMBERS && n_texts * ROWS_OF_A_TEXT <= n_rows).then(|| {
            let rows = if n_texts == 1 { "1 row".to_owned() } else { format!("{n_texts} rows") };
            Phrase::new(format!(
                "the column `{}` holds numbers, but in {rows} other texts, such as `{}`, so its {} values are categories; \
                 correct the texts, or leave the cells empty",
                shortened(column),
                shortened(text),
                self.names.len()
            ))
        })
    }

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

    /// The text of each row, if every row has another one and some are not numbers: the column then names the rows. A
    /// column of a dictionary whose values do not all occur never does.
    pub(crate) fn as_row_names(&self) -> Option<Vec<String>> {
        let distinct: HashSet<u32> = self.codes.iter().flatten().copied().collect();
        let n = self.codes.len();
        let differ = n > 1 && distinct.len() == n && self.names.len() == n;
        let is_text = |name: &String| Cell::of(name.as_bytes(), &self.notation) == Cell::Text;
        let holds_text = || self.names.iter().any(is_text);
        (differ && holds_text())
            .then(|| self.codes.iter().flatten().map(|code| self.names[*code as usize].clone()).collect())
    }

    /// The values, with sorted categories: numbers by value, before all texts.
    pub(crate) fn sorted(self) -> ColumnValues {
        let numbers: Vec<f64> =
            self.names.iter().map(|name| self.number(name).unwrap_or(f64::INFINITY)).collect();
        let Self { names, codes, .. } = self;
        let mut order: Vec<u32> = (0..names.len() as u32).collect();
        order.sort_by(|a, b| {
            let (a, b) = (*a as usize, *b as usize);
            numbers[a].total_cmp(&numbers[b]).then_with(|| names[a].cmp(&names[b]))
        });
        let mut places = vec![0; names.len()];
        order.iter().zip(0..).for_each(|(code, place)| places[*code as usize] = place);
        let codes = codes.into_iter().map(|code| code.map(|code| places[code as usize])).collect();
        ColumnValues::Categories {
            names: order.iter().map(|code| names[*code as usize].clone()).collect(),
            codes,
        }
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
    fn decimal_commas_are_numbers_where_the_table_has_them() {
        let of = |decimal_comma| {
            let mut coded = Coded::of_table(Notation::with_decimal_comma(decimal_comma));
            ["10,5", "9,5"].iter().for_each(|text| coded.push(text).unwrap());
            coded
        };
        assert_eq!(of(true).as_row_names(), None);
        assert!(of(false).as_row_names().is_some());
        let ColumnValues::Categories { names, .. } = of(true).sorted() else { panic!() };
        assert_eq!(names, ["9,5", "10,5"]);
    }

    #[test]
    fn few_texts_among_many_numbers_are_named() {
        let of = |n: usize, texts: &[&str]| {
            let mut coded = Coded::default();
            (0..n).for_each(|i| coded.push(&format!("{i}.5")).unwrap());
            texts.iter().for_each(|text| coded.push(text).unwrap());
            coded.warning("age").map(|warning| warning.to_string())
        };
        let expected = "the column `age` holds numbers, but in 2 rows other texts, such as `old`, so its 102 values are \
                        categories; correct the texts, or leave the cells empty";
        assert_eq!(of(100, &["old", "?"]).as_deref(), Some(expected));
        assert_eq!(of(100, &[]), None);
        assert_eq!(of(100, &["old"; 9]), None);
        assert_eq!(of(9, &[]), None);
        assert_eq!(of(0, &["a", "b"]), None);
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
