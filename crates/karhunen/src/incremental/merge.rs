//! Fits of parts of the rows, made apart, become one.

use std::borrow::Cow;

use crate::error::{Error, Phrase, Result, options};
use crate::exec::{Exec, Run};
use crate::incremental::fit::{Engine, IncrementalFit};
use crate::incremental::held::Held;
use crate::incremental::options::IncrementalPca;
use crate::pca::NComponents;

impl IncrementalFit {
    /// Adds the rows of another fit. Neither their weights nor the weights of this fit decay: with
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
        // Rows that will give the scales continue to wait.
        let waits = self.n_samples == 0 && other.is_warming();
        let has_own_scales = self.n_samples > 0 && (self.is_warming() || other.is_warming());
        let engine = Exec::run(run, |exec| {
            let mine = self.flushed(&exec.part(0.0, 0.3))?;
            let theirs =
                if waits { Cow::Borrowed(&other.engine) } else { other.flushed(&exec.part(0.3, 0.6))? };
            Ok(match (mine.into_owned(), theirs.as_ref()) {
                (Engine::Scatter(Some(mut sum)), Engine::Scatter(Some(part))) => {
                    sum.add(part);
                    sum.moments.check()?;
                    Engine::Scatter(Some(sum))
                }
                (Engine::Sketch(mine), Engine::Sketch(part)) => {
                    let empty = self.n_samples == 0;
                    if has_own_scales || !(empty && mine.state.scale.is_none() || mine.has_scales_of(part)) {
                        return Err(own_scales());
                    }
                    if empty && mine.rules == part.rules {
                        return Ok(theirs.as_ref().clone());
                    }
                    let mine = if empty { mine.like(part) } else { *mine };
                    Engine::Sketch(Box::new(mine.merged(part, &exec.part(0.6, 1.0))?))
                }
                (Engine::Scatter(None), theirs) => theirs.clone(),
                (mine, _) => mine,
            })
        })?;
        self.engine = engine;
        self.held = if waits { other.held.clone() } else { Held::new(self.n_features) };
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

/// The error for sketches whose scales differ.
fn own_scales() -> Error {
    let rule = "sketches that took their scales from their own first rows do not merge: start both with the same \
                `column_scale`";
    Error::option(options::SCALE, true, rule)
}
