//! Notes about values of a text table that are probably not observations: codes for missing values, and totals.

use karhunen::Matrix;
use karhunen::error::{OptionValue, Phrase};

use crate::names::shortened;
use crate::option_names;

/// Least number of rows of a table with notes.
const FEWEST_ROWS: usize = 4;
/// Most columns whose codes are named.
const MOST_COLUMNS: usize = 4;
/// Numbers other than 99, -999 and the like that programs write for missing values.
const CODES: [f64; 7] = [-9.0, -32768.0, 1e20, -1e20, 1e30, -1e30, 9.969_209_968_386_869e36];
/// Names of rows that hold totals.
const TOTALS: [&str; 9] =
    ["total", "totals", "grand total", "sum", "sums", "all", "average", "mean", "means"];

/// An extreme value of a column, the number of rows that hold it, and the next value.
#[derive(Clone, Copy, Debug)]
struct Extreme {
    value: f64,
    n: usize,
    next: f64,
}

impl Extreme {
    const NONE: Self = Self { value: f64::INFINITY, n: 0, next: f64::INFINITY };

    /// Of the values, which are seen one by one.
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut extreme = Self::NONE;
        values.for_each(|value| extreme.join(Self { value, n: 1, next: f64::INFINITY }));
        extreme
    }

    fn join(&mut self, other: Self) {
        if other.value < self.value {
            let next = if other.next < self.value { other.next } else { self.value };
            *self = Self { next, ..other };
        } else if other.value == self.value {
            self.n += other.n;
            self.next = if other.next < self.next { other.next } else { self.next };
        } else if other.value < self.next {
            self.next = other.value;
        }
    }
}

/// Codes and totals among the rows of a table.
#[derive(Clone, Debug, Default)]
pub(super) struct Doubts {
    n_rows: usize,
    /// For each column, its least value, and the least one of its negative. Those that are not codes are not counted.
    extremes: Vec<[Extreme; 2]>,
    sums: Vec<f64>,
    last: Vec<f64>,
}

impl Doubts {
    /// Of a block of rows.
    pub(super) fn of(rows: &Matrix) -> Self {
        let p = rows.n_cols();
        let (mut low, mut high, mut sums) =
            (vec![f64::INFINITY; p], vec![f64::NEG_INFINITY; p], vec![0.0; p]);
        for i in 0..rows.n_rows() {
            let seen = low.iter_mut().zip(&mut high).zip(&mut sums);
            for (x, ((low, high), sum)) in rows.row(i).iter().zip(seen) {
                *low = if *x < *low { *x } else { *low };
                *high = if *x > *high { *x } else { *high };
                *sum += *x;
            }
        }
        let extreme = |j: usize, value: f64, sign: f64| match is_code(value) {
            true => Extreme::of((0..rows.n_rows()).map(|i| sign * rows[(i, j)])),
            false => Extreme { value: sign * value, n: 1, next: f64::INFINITY },
        };
        let extremes = (0..p).map(|j| [extreme(j, low[j], 1.0), extreme(j, high[j], -1.0)]).collect();
        let last = rows.n_rows().checked_sub(1).map_or_else(Vec::new, |last| rows.row(last).to_vec());
        Self { n_rows: rows.n_rows(), extremes, sums, last }
    }

    /// Adds later rows.
    pub(super) fn join(&mut self, other: &Self) {
        let p = other.sums.len();
        self.extremes.resize(p, [Extreme::NONE; 2]);
        self.sums.resize(p, 0.0);
        for (own, other) in self.extremes.iter_mut().zip(&other.extremes) {
            own[0].join(other[0]);
            own[1].join(other[1]);
        }
        self.sums.iter_mut().zip(&other.sums).for_each(|(own, other)| *own += other);
        self.n_rows += other.n_rows;
        if other.n_rows > 0 {
            self.last.clone_from(&other.last);
        }
    }

    /// The notes; `label` names a column, `last` is the name of the last row, if it has one, and `given` are the words for
    /// missing values.
    pub(super) fn notes(
        &self,
        label: &dyn Fn(usize) -> String,
        last: Option<&str>,
        given: &[String],
    ) -> Vec<Phrase> {
        if self.n_rows < FEWEST_ROWS {
            return Vec::new();
        }
        self.codes(label, given).into_iter().chain(self.totals(last)).collect()
    }

    /// The note on codes such as -999, at least twice in the table and far outside the range of the other values of a column.
    fn codes(&self, label: &dyn Fn(usize) -> String, given: &[String]) -> Option<Phrase> {
        let stands_far = |[one, other]: &[Extreme; 2], sign: f64| {
            let value = sign * one.value;
            let spread = -other.value - one.next;
            let far = one.next - one.value > spread && spread > 0.0;
            (far && is_code(value)).then_some((value, one.n))
        };
        let of_column = |(j, [low, high]): (usize, &[Extreme; 2])| {
            let found = stands_far(&[*low, *high], 1.0).or_else(|| stands_far(&[*high, *low], -1.0));
            found.map(|(value, n)| (label(j), value, n))
        };
        let all: Vec<(String, f64, usize)> = self.extremes.iter().enumerate().filter_map(of_column).collect();
        let total =
            |code: f64| all.iter().filter(|(_, value, _)| *value == code).map(|(_, _, n)| n).sum::<usize>();
        let found: Vec<_> = all.iter().filter(|(_, code, _)| total(*code) > 1).collect();
        let mut codes: Vec<f64> = found.iter().map(|(_, value, _)| *value).collect();
        codes.sort_by(f64::total_cmp);
        codes.dedup();
        let codes: Vec<String> = codes.iter().map(f64::to_string).collect();
        let shown: Vec<String> = found
            .iter()
            .take(MOST_COLUMNS)
            .map(|(name, value, n)| {
                let rows = if *n == 1 { "row" } else { "rows" };
                format!("{value} in {n} {rows} of `{}`", shortened(name))
            })
            .collect();
        let more = match found.len() - shown.len() {
            0 => String::new(),
            1 => ", and in 1 more column".to_owned(),
            more => format!(", and in {more} more columns"),
        };
        let note = format!(
            "{}{more}: far outside the other values, and read as values; if they mark missing values, use ",
            shown.join(", ")
        );
        let advice =
            || Phrase::new(note).setting(option_names::NA, OptionValue::Texts([given, &codes[..]].concat()));
        (!found.is_empty()).then(advice)
    }

    /// The note on a last row that holds the sums of the others, or is called so.
    fn totals(&self, last: Option<&str>) -> Option<Phrase> {
        let named = last.filter(|name| TOTALS.contains(&name.trim().to_lowercase().as_str()));
        let is_sum = |(x, sum): (&f64, &f64)| (2.0 * x - sum).abs() <= 1e-9 * sum.abs();
        let all_are_sums =
            self.last.iter().zip(&self.sums).all(is_sum) && self.last.iter().any(|x| *x != 0.0);
        let what = match named {
            Some(name) => format!("is called `{}`", name.trim()),
            None if all_are_sums => "holds the sums of the others".to_owned(),
            None => return None,
        };
        Some(Phrase::new(format!("the last row {what} and is read as a row; if it holds totals, remove it")))
    }
}

/// Tests for a number that programs write for missing values: in nines alone, two at least, such as 99, -999, -99.99, or one
/// of a few others.
fn is_code(value: f64) -> bool {
    if CODES.contains(&value) {
        return true;
    }
    // Most numbers do not begin with a nine.
    let size = value.abs();
    if !(size >= 9.0 && size / 10f64.powi(size.log10().floor() as i32) >= 9.0) {
        return false;
    }
    let text = value.abs().to_string().replace('.', "");
    text.len() > 1 && text.bytes().all(|digit| digit == b'9')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(rows: &[&[f64]], last: Option<&str>) -> Vec<String> {
        let p = rows[0].len();
        let mut doubts = Doubts::default();
        for block in rows.chunks(2) {
            doubts.join(&Doubts::of(&Matrix::from_vec(block.len(), p, block.concat()).unwrap()));
        }
        doubts.notes(&|j| format!("c{j}"), last, &[]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn codes_for_missing_values_are_said() {
        let table: [&[f64]; 6] =
            [&[-99.99, 1.0], &[27.09, 2.0], &[24.5, 3.0], &[-99.99, 9999.0], &[25.0, 9999.0], &[26.0, 2.5]];
        assert_eq!(
            notes(&table, None),
            [
                "-99.99 in 2 rows of `c0`, 9999 in 2 rows of `c1`: far outside the other values, and read as values; if they mark \
              missing values, use na = [\"-99.99\", \"9999\"]"
            ]
        );
        let table: [&[f64]; 5] = [&[-999.0, 1.0], &[1.0, 2.0], &[2.0, -999.0], &[4.0, 3.5], &[3.0, 3.0]];
        let found = notes(&table, None);
        assert!(
            found[0].starts_with("-999 in 1 row of `c0`, -999 in 1 row of `c1`: far outside"),
            "{found:?}"
        );
        // Once, or within the range of the others, or two values alone.
        for table in [
            [[-999.0], [1.0], [2.0], [3.0]],
            [[99.0], [99.0], [60.0], [10.0]],
            [[99.0], [99.0], [0.0], [0.0]],
            [[7777.0], [7777.0], [1.0], [3.0]],
        ] {
            let rows: Vec<&[f64]> = table.iter().map(<[f64; 1]>::as_slice).collect();
            assert!(notes(&rows, None).is_empty(), "{table:?}");
        }
    }

    #[test]
    fn a_last_row_of_totals_is_said() {
        let table: [&[f64]; 4] = [&[1.0, 5.0], &[2.0, 3.5], &[4.0, 0.25], &[7.0, 8.75]];
        let note = |what| format!("the last row {what} and is read as a row; if it holds totals, remove it");
        assert_eq!(notes(&table, Some("x")), [note("holds the sums of the others")]);
        assert_eq!(notes(&table, Some("Total ")), [note("is called `Total`")]);
        let other: [&[f64]; 4] = [&[1.0, 5.0], &[2.0, 3.5], &[4.0, 0.25], &[7.0, 8.0]];
        assert!(notes(&other, Some("x")).is_empty());
        assert!(notes(&[&[0.0], &[0.0], &[0.0], &[0.0]], None).is_empty());
    }
}
