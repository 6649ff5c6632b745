//! The progress of passes over rows that every pass reads again: share, rate, residual and time left.

use std::time::{Duration, Instant};

use karhunen::exec::Visit;

use crate::figures::duration;

/// The passes of a fit so far.
#[derive(Debug, Default)]
pub(crate) struct PassProgress {
    visit: Option<Visit>,
    /// When the first visit and the present one began.
    began: Option<(Instant, Instant)>,
    /// Number of the first visit that was observed; those before it belong to an earlier run.
    first: usize,
    /// Visits and residuals, at the first and at the last check.
    residuals: Option<[(usize, f64); 2]>,
    tol: f64,
}

impl PassProgress {
    /// Notes the progress of a visit.
    pub(crate) fn visit(&mut self, at: &Visit, now: Instant) {
        let is_new = self.visit.is_none_or(|before| before.number != at.number);
        if is_new {
            let first = self.began.map_or(now, |(first, _)| first);
            self.began = Some((first, now));
        }
        if self.visit.is_none() {
            self.first = at.number;
        }
        self.visit = Some(*at);
    }

    /// Notes the largest residual after the present visit.
    pub(crate) fn residual(&mut self, worst: f64, tol: f64) {
        let Some(visit) = self.visit else { return };
        let last = (visit.number, worst);
        let first = self.residuals.map_or(last, |[first, _]| first);
        (self.residuals, self.tol) = (Some([first, last]), tol);
    }

    /// The number of passes expected: by the rate at which residuals fall, or as predicted before the first.
    fn expected(&self) -> Option<usize> {
        let visit = self.visit?;
        let Some([(begin, high), (end, low)]) = self.residuals.filter(|[first, last]| first.0 < last.0)
        else {
            return visit.predicted;
        };
        if low <= self.tol {
            return Some(visit.number);
        }
        let rate = (high / low).ln() / (end - begin) as f64;
        let left = (low / self.tol).ln() / rate;
        // Residuals that hardly fall say nothing of the end.
        let is_known = rate > 0.0 && left < 1e4;
        if is_known { Some((end + left.ceil() as usize).max(visit.number)) } else { visit.predicted }
    }

    /// The time until the last pass ends, if the number of passes is known and one of them has made progress.
    fn left(&self, now: Instant) -> Option<Duration> {
        let (visit, (began, _)) = (self.visit?, self.began?);
        let done = (visit.number - self.first) as f64 + visit.done;
        let left = self.expected()? as f64 - (visit.number as f64 - 1.0 + visit.done);
        let elapsed = now.duration_since(began).as_secs_f64();
        (done > 0.0).then(|| Duration::from_secs_f64((elapsed / done * left.max(0.0)).min(1e9)))
    }

    /// `pass 3 of about 9 · 41% · 1.9 GB/s · residual 2e-4 to 1e-6 · 2 min left`, if there is more than one pass to tell.
    pub(crate) fn line(&self, now: Instant) -> Option<String> {
        let (visit, (_, began)) = (self.visit?, self.began?);
        let mut parts = vec![match self.expected() {
            Some(1) => "reading".to_owned(),
            Some(expected) => format!("pass {} of about {expected}", visit.number),
            None => format!("pass {}", visit.number),
        }];
        parts.push(format!("{:.0}%", 100.0 * visit.done));
        let seconds = now.duration_since(began).as_secs_f64();
        if visit.done > 0.0 && seconds > 0.0 && visit.bytes > 0.0 {
            parts.push(rate(visit.bytes * visit.done / seconds));
        }
        if let Some([_, (_, worst)]) = self.residuals {
            parts.push(format!("residual {worst:.0e} to {:.0e}", self.tol));
        }
        if let Some(left) = self.left(now) {
            parts.push(format!("{} left", duration(left.as_secs_f64())));
        }
        Some(parts.join(" · "))
    }
}

/// Bytes per second, as `1.9 GB/s`.
fn rate(bytes: f64) -> String {
    if bytes >= 1e9 {
        format!("{:.1} GB/s", bytes / 1e9)
    } else if bytes >= 1e6 {
        format!("{:.0} MB/s", bytes / 1e6)
    } else {
        format!("{:.0} kB/s", bytes / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use karhunen::source::{Block, Pass, PassKind};
    use karhunen::{Dense, Flow, Observer, Pca, Run, Source, Weights};

    use super::*;

    struct Blocks<'a>(Dense<'a, f64>);

    impl Source<f64> for Blocks<'_> {
        fn shape(&self) -> (usize, usize) {
            self.0.shape()
        }
        fn pass(&self) -> Pass {
            Pass::Costly { bytes: 3e9, kind: PassKind::Dense, held: 0.0 }
        }
        fn n_stored(&self) -> usize {
            self.0.n_rows() * self.0.n_cols()
        }
        fn is_sparse(&self) -> bool {
            false
        }
        fn visit(
            &self,
            f: &mut dyn FnMut(usize, Block<'_, f64>) -> karhunen::Result<()>,
        ) -> karhunen::Result<()> {
            f(0, Block::Dense(self.0.rows(0..100)))?;
            f(100, Block::Dense(self.0.rows(100..400)))
        }
    }

    /// A clock that a test sets: every report is one second later than the one before.
    struct Recorder {
        began: Instant,
        seconds: Mutex<u64>,
        passes: Mutex<PassProgress>,
        lines: Mutex<Vec<String>>,
    }

    impl Observer for Recorder {
        fn update(&self, _: &'static str, _: f64) -> Flow {
            Flow::Continue
        }
        fn visit(&self, at: &Visit) {
            let mut seconds = self.seconds.lock().unwrap();
            *seconds += 1;
            let now = self.began + Duration::from_secs(*seconds);
            let mut passes = self.passes.lock().unwrap();
            passes.visit(at, now);
            self.lines.lock().unwrap().extend(passes.line(now));
        }
        fn residual(&self, worst: f64, tol: f64) {
            self.passes.lock().unwrap().residual(worst, tol);
        }
    }

    #[test]
    fn share_rate_residual_and_time_left_are_told() {
        let values: Vec<f64> =
            (0..400 * 50).map(|e| f64::from((e * 7919) % 1009) / f64::from(e % 50 + 1)).collect();
        let source = Blocks(Dense::row_major(&values, 400, 50).unwrap());
        let pca = Pca { solver: Some(karhunen::pca::Route::BlockKrylov), block_size: Some(4), ..Pca::new(3) };
        let recorder = Recorder {
            began: Instant::now(),
            seconds: Mutex::default(),
            passes: Mutex::default(),
            lines: Mutex::default(),
        };
        let run = Run { observer: &recorder, ..Run::default() };
        let model = pca.fit_with(&source, &Weights::default(), &run).unwrap();
        let lines = recorder.lines.into_inner().unwrap();
        let n_passes = model.convergence().n_passes;
        assert_eq!(lines.len(), 3 * n_passes);
        assert!(n_passes > 3, "{lines:?}");
        let first = &lines[0];
        assert!(first.starts_with("pass 1 of about ") && first.ends_with(" · 0%"), "{first}");
        // A quarter of three gigabytes in a second, and all of them in two.
        assert!(lines[1].contains(" · 25% · 750 MB/s · "), "{}", lines[1]);
        assert!(lines[2].contains(" · 100% · 1.5 GB/s · "), "{}", lines[2]);
        let last = lines.last().unwrap();
        assert!(
            last.contains(" · residual ") && last.contains(" to 1e-8 · ") && last.ends_with(" left"),
            "{last}"
        );
    }

    #[test]
    fn residuals_correct_the_number_of_passes() {
        let now = Instant::now();
        let mut passes = PassProgress::default();
        assert_eq!(passes.line(now), None);
        let at = |number| {
            // The struct cannot be built outside its crate.
            let mut seen = seen();
            (seen.number, seen.predicted, seen.done) = (number, Some(20), 0.5);
            seen
        };
        passes.visit(&at(1), now);
        assert_eq!(passes.expected(), Some(20));
        passes.residual(1e-2, 1e-8);
        assert_eq!(passes.expected(), Some(20), "one residual does not give a rate");
        passes.visit(&at(2), now);
        passes.residual(1e-4, 1e-8);
        assert_eq!(passes.expected(), Some(4), "two digits a pass, four to go");
        passes.visit(&at(3), now + Duration::from_secs(10));
        // Two and a half passes took ten seconds; one and a half are to come.
        assert_eq!(passes.left(now + Duration::from_secs(10)), Some(Duration::from_secs(6)));
        passes.residual(1e-2, 1e-8);
        assert_eq!(passes.expected(), Some(20), "residuals that do not fall");
        passes.residual(1e-9, 1e-8);
        assert_eq!(passes.expected(), Some(3));
    }

    /// A visit that a fit reported.
    fn seen() -> Visit {
        struct Last(Mutex<Option<Visit>>);
        impl Observer for Last {
            fn update(&self, _: &'static str, _: f64) -> Flow {
                Flow::Continue
            }
            fn visit(&self, at: &Visit) {
                *self.0.lock().unwrap() = Some(*at);
            }
        }
        let values: Vec<f64> = (0..800).map(f64::from).collect();
        let source = Blocks(Dense::row_major(&values, 400, 2).unwrap());
        let last = Last(Mutex::new(None));
        let run = Run { observer: &last, ..Run::default() };
        Pca::new(1).fit_with(&source, &Weights::default(), &run).unwrap();
        last.0.into_inner().unwrap().unwrap()
    }
}
