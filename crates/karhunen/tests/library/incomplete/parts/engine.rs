//! An engine whose parts are ranges of the rows of one table. Tasks and results travel as records.

use std::sync::Mutex;

use karhunen::cluster::{Engine, Partial, Task};
use karhunen::record::Recorded;
use karhunen::{Dense, Result, Run, Sparse};
use karhunen_testkit::Incomplete;

/// The rows of `values` (row-major, NaN is missing) in parts of given sizes.
pub(super) struct Parts {
    pub(super) values: Vec<f64>,
    pub(super) n_features: usize,
    pub(super) weights: Option<Vec<f64>>,
    pub(super) sizes: Vec<usize>,
    pub(super) single: bool,
    pub(super) sparse: bool,
    pub(super) n_tasks: Mutex<usize>,
    pub(super) drift: f64,
    /// Of parts of even and of odd number.
    pub(super) n_threads: [usize; 2],
}

impl Parts {
    pub(super) fn new(table: &Incomplete, sizes: &[usize]) -> Self {
        let (n, p) = table.shape();
        assert_eq!(sizes.iter().sum::<usize>(), n);
        Self {
            values: table.with_nan(),
            n_features: p,
            weights: None,
            sizes: sizes.to_vec(),
            single: false,
            sparse: false,
            n_tasks: Mutex::default(),
            drift: 0.0,
            n_threads: [1, 2],
        }
    }

    fn part(&self, task: &Task, number: usize, first: usize) -> Result<Partial> {
        let (n, p) = (self.sizes[number], self.n_features);
        let mut values = self.values[first * p..(first + n) * p].to_vec();
        if let Some(value) = values.first_mut() {
            *value += self.drift * task.pass() as f64;
        }
        let weights = self.weights.as_ref().map(|weights| &weights[first..first + n]);
        let run = Run::threads(self.n_threads[number % 2]);
        if self.single {
            let values: Vec<f32> = values.iter().map(|x| *x as f32).collect();
            return Partial::of(task, number, &Dense::row_major(&values, n, p)?, weights, &run);
        }
        if !self.sparse {
            return Partial::of(task, number, &Dense::row_major(&values, n, p)?, weights, &run);
        }
        let (mut pointers, mut indices, mut stored) = (vec![0], Vec::new(), Vec::new());
        for row in values.chunks_exact(p) {
            for (j, value) in row.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
                indices.push(j);
                stored.push(*value);
            }
            pointers.push(indices.len());
        }
        Partial::of(task, number, &Sparse::csr(n, p, &pointers, &indices, &stored)?, weights, &run)
    }
}

/// Writes a task or a result to a record, and reads it again.
pub(super) fn travelled<M: Recorded>(content: &M) -> Result<M> {
    M::from_record(&mut content.to_record()?.clone())
}

impl Engine for Parts {
    fn reduce(&self, task: &Task) -> Result<Partial> {
        *self.n_tasks.lock().unwrap() += 1;
        let task = travelled(task)?;
        let mut first = 0;
        let mut partials = Vec::new();
        for number in 0..self.sizes.len() {
            partials.push(travelled(&self.part(&task, number, first)?)?);
            first += self.sizes[number];
        }
        Partial::merge_all(partials)
    }
}
