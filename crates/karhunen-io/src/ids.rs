//! The ids of the rows and columns of observed entries.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::{Deserialize, Serialize};

/// One id for each row or column, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Ids {
    /// Integers.
    Integers(Vec<i64>),
    /// Names.
    Texts(Vec<String>),
}

impl Ids {
    /// Their number.
    pub fn len(&self) -> usize {
        match self {
            Ids::Integers(ids) => ids.len(),
            Ids::Texts(ids) => ids.len(),
        }
    }

    /// Returns true if there are no ids.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id of a row or column as text.
    ///
    /// # Panics
    /// If `index` is out of range.
    pub fn text(&self, index: usize) -> Cow<'_, str> {
        match self {
            Ids::Integers(ids) => ids[index].to_string().into(),
            Ids::Texts(ids) => ids[index].as_str().into(),
        }
    }

    /// All ids as text.
    pub fn texts(&self) -> Vec<String> {
        (0..self.len()).map(|index| self.text(index).into_owned()).collect()
    }

    /// A lookup table of the ids; `None` if ids repeat, as column names may.
    pub fn lookup(&self) -> Option<IdLookup<'_>> {
        match self {
            Ids::Integers(ids) => unique(ids.iter().copied()).map(IdLookup::Integers),
            Ids::Texts(ids) => unique(ids.iter().map(String::as_str)).map(IdLookup::Texts),
        }
    }
}

/// The position of each id.
#[derive(Clone, Debug)]
pub enum IdLookup<'a> {
    /// Of whole numbers.
    Integers(HashMap<i64, usize>),
    /// Of names.
    Texts(HashMap<&'a str, usize>),
}

impl IdLookup<'_> {
    /// Row or column of an id. An integer must be in canonical form: `7`, not `07`.
    pub fn find(&self, id: &str) -> Option<usize> {
        match self {
            IdLookup::Integers(places) => places.get(&integer(id.as_bytes())?).copied(),
            IdLookup::Texts(places) => places.get(id).copied(),
        }
    }

    /// Row or column of the id at `index` of `ids`.
    ///
    /// # Panics
    /// If `index` is out of range.
    pub fn find_of(&self, ids: &Ids, index: usize) -> Option<usize> {
        match (self, ids) {
            (IdLookup::Integers(places), Ids::Integers(ids)) => places.get(&ids[index]).copied(),
            _ => self.find(&ids.text(index)),
        }
    }
}

/// Parses an integer in canonical form: neither `07` nor `+7`.
pub(crate) fn integer(text: &[u8]) -> Option<i64> {
    let (sign, digits) = match text {
        [b'-', digits @ ..] => (-1, digits),
        digits => (1, digits),
    };
    match digits {
        [] => return None,
        [b'0'] => return (sign == 1).then_some(0),
        [b'0', ..] => return None,
        _ => {}
    }
    digits.iter().try_fold(0_i64, |number, digit| {
        let digit = i64::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
        number.checked_mul(10)?.checked_add(sign * digit)
    })
}

fn unique<K: std::hash::Hash + Eq>(ids: impl ExactSizeIterator<Item = K>) -> Option<HashMap<K, usize>> {
    let mut places = HashMap::with_capacity(ids.len());
    for (place, id) in ids.enumerate() {
        match places.entry(id) {
            Entry::Vacant(entry) => entry.insert(place),
            Entry::Occupied(_) => return None,
        };
    }
    Some(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_those_that_print_as_they_were_read() {
        for number in [0, 7, -7, 10, 123_456, i64::MAX, i64::MIN] {
            assert_eq!(integer(number.to_string().as_bytes()), Some(number));
        }
        for text in ["", "-", "-0", "07", "+7", "7.0", "7 ", "9223372036854775808", "x", "1e3"] {
            assert_eq!(integer(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn ids_are_found_where_they_stand() {
        let numbers = Ids::Integers(vec![5, -3, 1 << 40]);
        let found = numbers.lookup().unwrap();
        assert_eq!(
            [found.find("-3"), found.find("5"), found.find("05"), found.find("x")],
            [Some(1), Some(0), None, None]
        );
        let names = Ids::Texts(["Heat", "07"].map(str::to_owned).to_vec());
        assert_eq!(names.lookup().unwrap().find("07"), Some(1));
        assert_eq!([0, 1].map(|at| found.find_of(&Ids::Integers(vec![-3, 9]), at)), [Some(1), None]);
        assert_eq!([0, 1].map(|at| found.find_of(&names, at)), [None, None]);
        assert_eq!(names.lookup().unwrap().find_of(&names, 1), Some(1));
        assert_eq!(names.text(0), "Heat");
        assert!(Ids::Texts(vec!["a".to_owned(), "a".to_owned()]).lookup().is_none());
    }
}
