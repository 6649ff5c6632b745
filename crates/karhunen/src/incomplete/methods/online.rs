//! Online learning in passes over the rows, each followed by an update of all scores.

use super::iterate::{Iterate, IterationReport};
use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::state_arrays::Arrays;
use crate::incomplete::factors::{FactorSide, Factors};
use crate::incomplete::options::OnlineRule;
use crate::incomplete::passes::normal::solve_side;
use crate::incomplete::stream::rule::IncompleteStream;
use crate::linalg::simd::Lane;

/// Learning on one thread, and one sweep of scores by rows on all threads. Not monotone.
#[derive(Debug)]
pub(crate) struct Online {
    /// Standard deviation of the entries about the means.
    pub(crate) deviation: f64,
    rule: OnlineRule,
    stream: Option<IncompleteStream>,
}

impl Online {
    pub(crate) fn new(deviation: f64, rule: OnlineRule) -> Self {
        Self { deviation, rule, stream: None }
    }
}

impl<T: Lane> Iterate<T> for Online {
    fn iterate(
        &mut self,
        problem: &mut Objective<'_, T>,
        factors: &mut Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<IterationReport> {
        let (c, deviation, rule) = (problem.free(), self.deviation, self.rule);
        let flags = (problem.mean.joint, problem.fixed().is_some());
        let stream = self.stream.get_or_insert_with(|| {
            let loadings = factors.a.to_matrix(c);
            IncompleteStream::from_factors(&loadings, &factors.mean(), flags, deviation, rule)
        });
        stream.partial_fit(problem.data)?;
        let (loadings, mean) = (stream.loadings(), stream.mean());
        factors.a.map_rows(exec, |j, row| {
            for (to, from) in row.iter_mut().zip(loadings.row(j)) {
                *to = T::from_f64(*from);
            }
            row[problem.c] = T::from_f64(mean[j]);
        })?;
        let [cost, of_scores] = solve_side(problem, factors, FactorSide::Scores, &exec.part(0.5, 1.0))?;
        let squares = (cost - of_scores).max(0.0);
        let cost = cost + problem.side_penalty(FactorSide::Loadings, factors, exec)?;
        Ok(IterationReport { cost, squares, step: None, accepted: true, exhausted: false })
    }

    fn save(&self, out: &mut Arrays) {
        if let Some(stream) = &self.stream {
            out.put_part("stream", stream.save());
        }
    }

    fn restore(
        &mut self,
        from: &mut Arrays,
        problem: &Objective<'_, T>,
        _: &Factors<T>,
        _: &Exec<'_>,
    ) -> Result<()> {
        let mut stream = from.take_part("stream");
        if !stream.0.is_empty() {
            let shape = (problem.data.n_features(), problem.free());
            let row_offsets = problem.fixed().is_some();
            self.stream = Some(IncompleteStream::restore(&mut stream, self.rule, shape, row_offsets)?);
        }
        Ok(())
    }

    fn window(&self) -> usize {
        1
    }
}
