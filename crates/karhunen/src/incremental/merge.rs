//! Fits of parts of the rows, made apart, become one.

use crate::error::{Error, Phrase, Result, options};
use crate::exec::{Exec, Run};
use crate::incremental::fit::{Engine, IncrementalFit};
use crate::incremental::held::Held;
use crate::incremental::options::IncrementalPca;
use crate::pca::NComponents;

impl IncrementalFit {
    /// Adds the rows of another fit. Their weights do not decay, and those of this fit do not either: with
    /// forgetting, both are as old as at their last batch.
    ///
    /// With the method scatter the result is exact. Sketches that were truncated lose by merging: a merged
    /// sketch measures its residuals as any other.
    ///
    /// ```
    /// use karhunen::incremental::IncrementalPca;
    /// use karhunen::source::Block;
    /// use karhunen::{Dense, Run};
    /// let run = Run::default();
    /// let pca = IncrementalPca::new(1);
    /// let (mut first, mut second) = (pca.start(1)?, pca.start(1)?);
    /// first.push(&Block::Dense(Dense::row_major(&[1.0, 2.0], 2, 1)?), None, &run)?;
    /// second.push(&Block::Dense(Dense::row_major(&[6.0], 1, 1)?), None, &run)?;
    /// first.merge(&second, &run)?;
    /// assert!((first.model(&run)?.pca().explained_variance()[0] - 7.0).abs() < 1e-12);
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of columns; [`Error::Option`] if the fits differ in method,
    /// centring, scaling, weighting or forgetting, for sketches also in the seed, or in scales that were
    /// taken from their first rows; errors of [`IncrementalFit::moments`].
    pub fn merge(&mut self, other: &Self, run: &Run<'_>) -> Result<()> {
        self.check_same(other)?;
        if other.n_samples == 0 {
            return Ok(());
        }
        let engine = Exec::run(run, |exec| {
            let (mine, theirs) = (self.flushed(&exec.part(0.0, 0.3))?, other.flushed(&exec.part(0.3, 0.6))?);
            Ok(match (mine.into_owned(), theirs.as_ref()) {
                (Engine::Scatter(Some(mut sum)), Engine::Scatter(Some(part))) => {
                    sum.add(part);
                    sum.moments.check()?;
                    Engine::Scatter(Some(sum))
                }
                (Engine::Sketch(mine), Engine::Sketch(part)) => {
                    check_scales(mine.state.scale.as_deref(), part.state.scale.as_deref(), self.n_samples)?;
                    if self.n_samples == 0 && mine.rules == part.rules {
                        return Ok(theirs.as_ref().clone());
                    }
                    let mine = if self.n_samples == 0 { mine.like(part) } else { *mine };
                    Engine::Sketch(Box::new(mine.merged(part, &exec.part(0.6, 1.0))?))
                }
                (Engine::Scatter(None), theirs) => theirs.clone(),
                (mine, _) => mine,
            })
        })?;
        self.engine = engine;
        self.held = Held::new(self.n_features);
        self.n_samples += other.n_samples;
        self.n_batches += other.n_batches;
        Ok(())
    }

    /// Refuses a fit whose rows were summed in another way.
    fn check_same(&self, other: &Self) -> Result<()> {
        let (found, expected) = (other.n_features, self.n_features);
        if found != expected {
            return Err(Error::Shape { what: "the other fit", axis: "columns", found, expected });
        }
        let is_sketch = matches!(self.engine, Engine::Sketch(_));
        // Options that decide how rows are summed.
        let summed = |fit: &Self| IncrementalPca {
            n_components: NComponents::All,
            method: fit.method(),
            n_oversamples: None,
            batch_size: None,
            warm_rows: 0,
            seed: if is_sketch { fit.options.seed } else { 0 },
            ..fit.options.clone()
        };
        match summed(self).difference(&summed(other)) {
            Some((option, mine, theirs)) => {
                let rule = Phrase::new("fits that are merged have the same options, and this one has ");
                Err(Error::option(option, theirs, rule.setting(option, mine)))
            }
            None => Ok(()),
        }
    }
}

/// Refuses sketches whose scales differ; a fit of no rows takes those of the other.
fn check_scales(mine: Option<&[f64]>, theirs: Option<&[f64]>, n_samples: usize) -> Result<()> {
    if mine == theirs || (mine.is_none() && n_samples == 0) {
        return Ok(());
    }
    let rule = "sketches that took their scales from their own first rows do not merge: start both with the same \
                `column_scale`";
    Err(Error::option(options::SCALE, true, rule))
}
