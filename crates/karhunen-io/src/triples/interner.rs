//! Numbers ids in the order of occurrence and finally sorts them.

use std::collections::HashMap;

use crate::ids::{Ids, integer};

/// Integers from zero to this limit are looked up in an array, without hashing.
const SMALL: usize = 1 << 22;

/// Takes the ids of an axis, in the order of the file. Returns `None` if 32 bits cannot count the ids.
pub(crate) trait TakesIds {
    /// Prepares for so many ids.
    fn reserve(&mut self, n: usize);

    /// Takes an integer.
    fn integer(&mut self, id: i64) -> Option<()>;

    /// Takes a text; an integer in canonical form is an integer.
    fn text(&mut self, id: &str) -> Option<()>;
}

/// The numbers that an interner gave the ids of a block.
pub(crate) struct Numbered<'a> {
    pub(crate) interner: &'a mut Interner,
    pub(crate) numbers: Vec<u32>,
}

impl TakesIds for Numbered<'_> {
    fn reserve(&mut self, n: usize) {
        self.numbers.reserve(n);
    }

    #[inline]
    fn integer(&mut self, id: i64) -> Option<()> {
        self.numbers.push(self.interner.integer(id)?);
        Some(())
    }

    fn text(&mut self, id: &str) -> Option<()> {
        self.numbers.push(self.interner.text(id)?);
        Some(())
    }
}

/// Ids as they are: integers as long as all are integers.
impl TakesIds for Ids {
    fn reserve(&mut self, n: usize) {
        match self {
            Ids::Integers(ids) => ids.reserve(n),
            Ids::Texts(ids) => ids.reserve(n),
        }
    }

    #[inline]
    fn integer(&mut self, id: i64) -> Option<()> {
        match self {
            Ids::Integers(ids) => ids.push(id),
            Ids::Texts(ids) => ids.push(id.to_string()),
        }
        Some(())
    }

    fn text(&mut self, id: &str) -> Option<()> {
        if let Some(id) = integer(id.as_bytes()) {
            return self.integer(id);
        }
        if let Ids::Integers(_) = self {
            *self = Ids::Texts(self.texts());
        }
        if let Ids::Texts(ids) = self {
            ids.push(id.to_owned());
        }
        Some(())
    }
}

/// The ids that one thread has read, and their numbers.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    /// The number of each small id, from one; zero if it has not occurred.
    small: Vec<u32>,
    integers: HashMap<i64, u32>,
    texts: HashMap<Box<str>, u32>,
    n: u32,
}

impl Interner {
    /// The number of an id; `None` if 32 bits cannot count the ids.
    #[inline]
    pub(crate) fn integer(&mut self, id: i64) -> Option<u32> {
        match usize::try_from(id).ok().filter(|id| *id < SMALL) {
            Some(place) => {
                if place >= self.small.len() {
                    self.small.resize((place + 1).next_power_of_two(), 0);
                }
                if self.small[place] == 0 {
                    self.small[place] = self.n.checked_add(1)?;
                    self.n += 1;
                }
                Some(self.small[place] - 1)
            }
            None => {
                if let Some(number) = self.integers.get(&id) {
                    return Some(*number);
                }
                let number = self.next()?;
                self.integers.insert(id, number);
                Some(number)
            }
        }
    }

    /// As `integer`, for an id as text; an integer in canonical form is an integer.
    pub(crate) fn text(&mut self, id: &str) -> Option<u32> {
        if let Some(id) = integer(id.as_bytes()) {
            return self.integer(id);
        }
        if let Some(number) = self.texts.get(id) {
            return Some(*number);
        }
        let number = self.next()?;
        self.texts.insert(id.into(), number);
        Some(number)
    }

    fn next(&mut self) -> Option<u32> {
        let number = self.n;
        self.n = self.n.checked_add(1)?;
        Some(number)
    }

    /// Integers and their numbers.
    fn numbered_integers(&self) -> impl Iterator<Item = (i64, u32)> {
        let small = self.small.iter().enumerate().filter(|(_, number)| **number > 0);
        let small = small.map(|(id, number)| (id as i64, number - 1));
        small.chain(self.integers.iter().map(|(id, number)| (*id, *number)))
    }

    /// All ids, sorted, and for each of `parts` the positions of its ids: integers in numeric order if all are
    /// integers, otherwise text in byte order. The order depends neither on threads nor on the order of the file.
    pub(crate) fn merge(parts: &[Self]) -> (Ids, Vec<Vec<u32>>) {
        if parts.iter().all(|part| part.texts.is_empty()) {
            let numbered: Vec<Vec<(i64, u32)>> =
                parts.iter().map(|part| part.numbered_integers().collect()).collect();
            let (ids, places) = ordered(&numbered);
            return (Ids::Integers(ids), places);
        }
        let as_text = |part: &Self| {
            let texts = part.texts.iter().map(|(id, number)| (id.to_string(), *number));
            texts.chain(part.numbered_integers().map(|(id, number)| (id.to_string(), number))).collect()
        };
        let numbered: Vec<Vec<(String, u32)>> = parts.iter().map(as_text).collect();
        let (ids, places) = ordered(&numbered);
        (Ids::Texts(ids), places)
    }
}

fn ordered<K: Ord + Clone>(parts: &[Vec<(K, u32)>]) -> (Vec<K>, Vec<Vec<u32>>) {
    let mut ids: Vec<K> = parts.iter().flatten().map(|(id, _)| id.clone()).collect();
    ids.sort_unstable();
    ids.dedup();
    let place_of = |part: &Vec<(K, u32)>| {
        let mut places = vec![0; part.len()];
        for (id, number) in part {
            places[*number as usize] = ids.partition_point(|other| other < id) as u32;
        }
        places
    };
    let places = parts.iter().map(place_of).collect();
    (ids, places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_ordered_whatever_order_they_came_in() {
        let mut parts = [Interner::default(), Interner::default()];
        let first = ["10", "2", "5000000", "2", "-7"].map(|id| parts[0].text(id).unwrap());
        assert_eq!(first, [0, 1, 2, 1, 3]);
        assert_eq!(parts[1].integer(2), Some(0));
        assert_eq!(parts[1].integer(3), Some(1));
        let (ids, places) = Interner::merge(&parts);
        assert_eq!(ids, Ids::Integers(vec![-7, 2, 3, 10, 5_000_000]));
        assert_eq!(places, [vec![3, 1, 4, 0], vec![1, 2]]);
        assert_eq!(parts[1].text("02"), Some(2));
        let (ids, places) = Interner::merge(&parts);
        assert_eq!(ids.texts(), ["-7", "02", "10", "2", "3", "5000000"]);
        assert_eq!(places, [vec![2, 3, 5, 0], vec![3, 4, 1]]);
    }
}
