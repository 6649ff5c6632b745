//! Decides whether the first column of a text table names the rows, if no option says so. The table is in `docs/formats.md`.

use karhunen::error::{OptionValue, Phrase};

use super::fields::Field;
use super::first_line::Look;
use super::notation::Cell;
use crate::fitted_table::is_feature;
use crate::option_names;
use crate::units::{first_decorated, unit_warning};

/// The content of the first column of a table, if no option states it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FirstColumn {
    /// Values, or text that is refused.
    Values,
    /// The names of the rows.
    Names {
        /// True if they must differ: text is the only evidence for names.
        must_differ: bool,
        /// The note that every command prints, since the column could be read otherwise.
        warning: Option<Phrase>,
    },
}

impl Look<'_> {
    /// Decides on the first column. `records` are then the rows. `n_columns` columns may hold values, `names` are their
    /// names, if any; `nameless` states that the first column has no name.
    pub(crate) fn first_column(
        &self,
        n_columns: usize,
        names: Option<&[String]>,
        nameless: bool,
    ) -> FirstColumn {
        if let Some(known) = self.first_column_by_model(n_columns, names, nameless) {
            return known;
        }
        let cells: Vec<&Field> = self.records.iter().filter_map(|record| record.first()).collect();
        let of = |cell: &&&Field| Cell::of(&cell.text, self.notation);
        let n_texts = cells.iter().filter(|cell| of(cell) == Cell::Text).count();
        let mut sorted: Vec<&[u8]> = cells.iter().map(|cell| &*cell.text).collect();
        sorted.sort_unstable();
        let differ = sorted.windows(2).all(|pair| pair[0] != pair[1]);
        if nameless {
            let is_decimal = |cell| matches!(of(&cell), Cell::Number(value) if value.fract() != 0.0);
            let doubtful = n_texts == 0
                && (!differ || cells.iter().any(is_decimal))
                && !cells.iter().all(|cell| cell.quoted);
            let warning = || {
                let note =
                    "the first column has no name, holds numbers, and was taken as names of the rows; use ";
                Phrase::new(note)
                    .setting(option_names::ROW_NAMES, OptionValue::NotGiven)
                    .text(" if it is data")
            };
            return FirstColumn::Names { must_differ: false, warning: doubtful.then(warning) };
        }
        let is_text = n_texts * 2 > cells.iter().filter(|cell| of(cell) != Cell::Missing).count();
        let texts: Vec<&[u8]> = cells.iter().map(|cell| &*cell.text).collect();
        let decorated = || is_text && first_decorated(&texts, n_texts).is_some();
        if !differ || !(is_text || self.alone_in_quotes()) || decorated() {
            return FirstColumn::Values;
        }
        let column = names.and_then(<[String]>::first).map_or("1", String::as_str);
        FirstColumn::Names { must_differ: true, warning: unit_warning(&texts, column) }
    }

    /// Decides by the columns of the fit; `None` if they decide nothing.
    fn first_column_by_model(
        &self,
        n_columns: usize,
        names: Option<&[String]>,
        nameless: bool,
    ) -> Option<FirstColumn> {
        let certain = FirstColumn::Names { must_differ: false, warning: None };
        let fitted = self.fitted?;
        if names.is_some_and(|names| fitted.are_names_and_scores(names)) {
            return Some(certain);
        }
        let known = fitted.feature_names.as_deref();
        let first = names.and_then(<[String]>::first);
        let all_are_features = (names.is_none() || known.is_none()) && n_columns == fitted.n_features;
        if all_are_features || first.is_some_and(|first| is_feature(first, Some(fitted))) {
            return Some(FirstColumn::Values);
        }
        let all_others = match (names, known) {
            (Some(names), Some(known)) => names.iter().skip(1).eq(known),
            _ => n_columns == fitted.n_features + 1,
        };
        // In a table without rows only the names decide, if the model has names.
        (all_others && (nameless || (self.records.is_empty() && known.is_some()))).then_some(certain)
    }

    /// Tests whether the first column is quoted and another is not, as R and karhunen write numbers that name rows. Quotes that
    /// hold a comma are needed.
    fn alone_in_quotes(&self) -> bool {
        let is_so = |record: &Vec<Field>| {
            record[0].quoted
                && !record[0].text.contains(&b',')
                && matches!(Cell::of(&record[0].text, self.notation), Cell::Number(_))
                && record[1..].iter().any(|field| !field.quoted && !field.text.is_empty())
        };
        !self.records.is_empty() && self.records.iter().all(is_so)
    }
}
