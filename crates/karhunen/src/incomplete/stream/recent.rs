//! The rows that a stream learned last, for models of fewer rows than components.

use std::collections::VecDeque;

use crate::error::Result;
use crate::exec::{Exec, Run};
use crate::incomplete::data::{Duplicates, Observed, Triples};
use crate::incomplete::model::IncompleteModel;
use crate::linalg::decomp::orthonormal::orthonormalize;
use crate::linalg::normals::gaussian;
use crate::random::Purpose;
use crate::scalar::Scalar;

/// Rows kept per component, and the minimum.
const ROWS: usize = 8;
const LEAST_ROWS: usize = 64;
/// Entries of a row sampled from a model: per component, and in addition.
const ENTRIES: usize = 4;
const MORE_ENTRIES: usize = 8;

/// The last rows, at most `room` of them.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Recent {
    room: usize,
    rows: VecDeque<Row>,
}

/// Columns, values and weights of the entries of a row.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Row {
    columns: Vec<u32>,
    values: Vec<f64>,
    weights: Option<Vec<f64>>,
}

impl Recent {
    /// Capacity for a stream of `c` components.
    pub(crate) fn new(c: usize) -> Self {
        Self { room: (ROWS * c).max(LEAST_ROWS), rows: VecDeque::new() }
    }

    /// Samples rows from the distribution of a model, in its units, instead of its training rows. Their scores have
    /// exactly its variances; the rows cover subsets of the columns in turn.
    pub(crate) fn of_model(model: &IncompleteModel) -> Self {
        let (parts, c) = (model.parts(), model.n_components());
        let mut recent = Self::new(c);
        let half = recent.room / 2;
        // Uncorrelated scores of variance one, the offset last; the second half are their negatives.
        let Ok(scores) =
            orthonormalize(gaussian(half, c + 1, Purpose::StreamRows.of(0)), 0, &Exec::sequential())
        else {
            // Unreachable for finite numbers.
            return recent;
        };
        let size = |variance: f64| (variance * half as f64).sqrt();
        let of_offsets = parts
            .row_offsets
            .as_ref()
            .map_or(0.0, |offsets| offsets.iter().map(|b| b * b).sum::<f64>() / offsets.len().max(1) as f64);
        let columns: Vec<usize> = (0..model.n_features()).filter(|j| parts.n_observed[*j] > 0).collect();
        let count = columns.len().min(ENTRIES * c + MORE_ENTRIES);
        let mean = model.mean_in_units();
        let noise = gaussian(recent.room, count, Purpose::StreamRows.of(0).number(1));
        for i in 0..recent.room {
            let (s, sign) = (scores.q.row(i % half), if i < half { 1.0 } else { -1.0 });
            let mut chosen: Vec<usize> =
                (0..count).map(|e| columns[(i * count + e) % columns.len()]).collect();
            chosen.sort_unstable();
            let value = |(e, j): (usize, &usize)| {
                let along: f64 = (0..c)
                    .map(|k| size(parts.explained_variance[k]) * s[k] * parts.components[(k, *j)])
                    .sum();
                let of_row = sign * (along + size(of_offsets) * s[c]);
                mean[*j] + of_row + parts.noise_variance.sqrt() * noise[(i, e)]
            };
            let values = chosen.iter().enumerate().map(value).collect();
            let columns = chosen.into_iter().map(|j| j as u32).collect();
            recent.rows.push_back(Row { columns, values, weights: None });
        }
        recent
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds the rows with entries and drops the oldest beyond the capacity.
    pub(crate) fn take<T: Scalar>(&mut self, rows: &Observed<T>) {
        let seen: Vec<usize> = (0..rows.n_samples()).filter(|row| rows.n_observed_in_row(*row) > 0).collect();
        for i in seen[seen.len().saturating_sub(self.room)..].iter().copied() {
            let line = rows.rows().line(i);
            let numbers = |x: &[T]| x.iter().map(|x| x.to_f64()).collect::<Vec<f64>>();
            self.rows.push_back(Row {
                columns: line.indices.to_vec(),
                values: numbers(line.values),
                weights: line.weights.map(numbers),
            });
        }
        self.rows.drain(..self.rows.len().saturating_sub(self.room));
    }

    /// The rows, padded with empty ones to `least`.
    pub(crate) fn observed(&self, n_features: usize, least: usize, run: &Run<'_>) -> Result<Observed<f64>> {
        let (mut rows, mut columns, mut values, mut weights) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (i, row) in self.rows.iter().enumerate() {
            rows.extend(row.columns.iter().map(|_| i as u32));
            columns.extend_from_slice(&row.columns);
            values.extend_from_slice(&row.values);
            match &row.weights {
                Some(of_row) => weights.extend_from_slice(of_row),
                None => weights.extend(row.values.iter().map(|_| 1.0)),
            }
        }
        let weighted = self.rows.iter().any(|row| row.weights.is_some());
        let weights = weighted.then_some(&weights[..]);
        let triples = Triples { rows: &rows, columns: &columns, values: &values, weights };
        let shape = (self.rows.len().max(least), n_features);
        Observed::from_triples_with(&triples, shape, Duplicates::Refuse, run)
    }
}
