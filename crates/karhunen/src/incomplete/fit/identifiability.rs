//! Rows and columns that the observed entries tie together, before a fit.

use crate::incomplete::data::Observed;
use crate::incomplete::model::convergence::Identifiability;
use crate::scalar::Scalar;

/// Most operations on words of 64 pairs of columns.
const MOST_WORK: usize = 1 << 26;
/// Most words of 64 pairs of columns.
pub(crate) const MOST_WORDS: usize = 1 << 20;
/// Rows after which columns that have met all others are looked for.
const BLOCK: usize = 1024;

/// Facts about the entries that leave the components of a fit with `c` scores per row undetermined, if there are any.
pub(crate) fn identifiability<T: Scalar>(data: &Observed<T>, c: usize) -> Option<Identifiability> {
    let short =
        |n: usize, count: &dyn Fn(usize) -> usize| (0..n).filter(|at| (1..c).contains(&count(*at))).count();
    let found = Identifiability {
        n_parts: n_parts(data),
        n_pairs_apart: n_pairs_apart(data),
        n_short_rows: short(data.n_samples(), &|row| data.n_observed_in_row(row)),
        n_short_columns: short(data.n_features(), &|column| data.n_observed_in_column(column)),
    };
    found.is_notable().then_some(found)
}

/// The number of connected parts of the graph whose nodes are rows and columns and whose edges are entries.
fn n_parts<T: Scalar>(data: &Observed<T>) -> usize {
    let mut parent: Vec<u32> = (0..data.n_features() as u32).collect();
    fn root(parent: &mut [u32], mut at: u32) -> u32 {
        while parent[at as usize] != at {
            parent[at as usize] = parent[parent[at as usize] as usize];
            at = parent[at as usize];
        }
        at
    }
    for row in 0..data.n_samples() {
        let (columns, _) = data.row(row);
        let Some((first, rest)) = columns.split_first() else { continue };
        let of_first = root(&mut parent, *first);
        for column in rest {
            let of_column = root(&mut parent, *column);
            parent[of_column as usize] = of_first;
        }
    }
    (0..data.n_features()).filter(|j| parent[*j] == *j as u32 && data.n_observed_in_column(*j) > 0).count()
}

/// The number of pairs of columns with entries that no row has both of; `None` if there are too many to count.
fn n_pairs_apart<T: Scalar>(data: &Observed<T>) -> Option<usize> {
    let p = data.n_features();
    let words = p.div_ceil(64);
    if p * words > MOST_WORDS {
        return None;
    }
    let seen: Vec<bool> = (0..p).map(|j| data.n_observed_in_column(j) > 0).collect();
    let n_seen = seen.iter().filter(|seen| **seen).count();
    // Bit k of the words of column j: a row has entries of both.
    let mut met = vec![0u64; p * words];
    let mut full = vec![false; p];
    let n_met = |met: &[u64], j: usize| {
        met[j * words..(j + 1) * words].iter().map(|word| word.count_ones() as usize).sum::<usize>()
    };
    let (mut work, mut mask) = (0, vec![0u64; words]);
    for row in 0..data.n_samples() {
        let (columns, _) = data.row(row);
        mask.fill(0);
        columns.iter().for_each(|k| mask[*k as usize / 64] |= 1 << (k % 64));
        for j in columns.iter().map(|j| *j as usize).filter(|j| !full[*j]) {
            met[j * words..(j + 1) * words].iter_mut().zip(&mask).for_each(|(met, mask)| *met |= mask);
            work += words;
        }
        if work > MOST_WORK {
            return None;
        }
        if row % BLOCK == 0 {
            (0..p).filter(|j| seen[*j]).for_each(|j| full[j] = n_met(&met, j) == n_seen);
            if (0..p).all(|j| full[j] || !seen[j]) {
                return Some(0);
            }
        }
    }
    let apart: usize = (0..p).filter(|j| seen[*j]).map(|j| n_seen - n_met(&met, j)).sum();
    Some(apart / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incomplete::data::Triples;

    fn of(places: &[(u32, u32)], shape: (usize, usize), c: usize) -> Option<Identifiability> {
        let rows: Vec<u32> = places.iter().map(|place| place.0).collect();
        let columns: Vec<u32> = places.iter().map(|place| place.1).collect();
        let values = vec![1.0; places.len()];
        let triples = Triples { rows: &rows, columns: &columns, values: &values, weights: None };
        identifiability(&Observed::<f64>::from_triples(&triples, shape, Default::default()).unwrap(), c)
    }

    #[test]
    fn parts_pairs_and_short_rows_are_counted() {
        // Columns 0 to 2 and 3 to 4 share no row; 0 and 2 never meet; column 5 has no entries.
        let places = [(0, 0), (0, 1), (1, 1), (1, 2), (2, 3), (2, 4), (3, 4)];
        let found = of(&places, (4, 6), 2).unwrap();
        assert_eq!((found.n_parts, found.n_pairs_apart), (2, Some(1 + 3 * 2)));
        assert_eq!((found.n_short_rows, found.n_short_columns), (1, 3));
        assert_eq!(of(&places[..4], (2, 3), 1).unwrap().n_pairs_apart, Some(1));
        // One row of all columns ties everything.
        let full: Vec<(u32, u32)> = (0..3).flat_map(|i| (0..70).map(move |j| (i, j))).collect();
        assert_eq!(of(&full, (3, 70), 2), None);
    }
}
