//! `karhunen fit --missing=online` of a table whose observed entries exceed the memory: rows are learned one after the
//! other while they are read, and the entries of one block are held.

use std::time::Instant;

use karhunen::error::rounded_up;
use karhunen::incomplete::{IncompleteStream, MeanMode};
use karhunen::memory::size;
use karhunen::{IncompleteModel, Observed, Scalar, Source};
use karhunen_io::{Data, Ids, ObservedData, OfFile, Reading, RowsAndColumns, SavedIncomplete, Values};

use crate::commands::fit_incomplete::{row_header, write_loadings};
use crate::data::computed_rows::ComputedRows;
use crate::data::dataset::Dataset;
use crate::error::{Failure, Result};
use crate::figures::{count, duration};
use crate::files::of_fit::Part;
use crate::incomplete::dataset::block_scores;
use crate::incomplete::plan::IncompletePlan;
use crate::incomplete::report::IncompleteReport;
use crate::incomplete::rows::IncompleteRows;
use crate::incomplete::summary::{IncompleteFitSummary, IncompleteSummary, OnlineSummary};
use crate::progress::Progress;
use crate::text::Seconds;

/// Learns from the rows of `dataset`, writes and reports. `least` is the memory limit within which all its entries can be
/// fitted, if a limit that was given is the reason.
///
/// # Errors
/// [`Failure::Usage`] for an option that such a fit cannot obey; errors of the stream and of the outputs.
pub(crate) fn run(
    plan: &IncompletePlan,
    dataset: &Dataset,
    least: Option<f64>,
    progress: &Progress,
) -> Result<()> {
    if let Some(option) = &plan.unstreamed {
        let or_raise = least.map_or_else(String::new, |bytes| {
            format!(", or set --memory-limit to at least {}", size(rounded_up(bytes)))
        });
        return Err(Failure::Usage(format!(
            "{option}: the observed entries of {} exceed the memory, so its rows are learned block by block, without it; \
             leave it out{or_raise}",
            dataset.file,
        )));
    }
    let fit = OnlineFit { plan, dataset, progress };
    match &dataset.table.data {
        Data::F32(values) => fit.on(values),
        Data::F64(values) => fit.on(values),
    }
}

struct OnlineFit<'a> {
    plan: &'a IncompletePlan,
    dataset: &'a Dataset,
    progress: &'a Progress,
}

impl OnlineFit<'_> {
    fn on<T: Scalar>(&self, values: &Values<T>) -> Result<()>
    where
        ObservedData: From<Observed<T>>,
    {
        let explain = |error| self.dataset.explain(error);
        let source = values.source().map_err(explain)?;
        let started = Instant::now();
        let model = self.model(&*source).map_err(explain)?;
        let seconds = Seconds { read: self.dataset.seconds, fit: started.elapsed().as_secs_f64() };
        self.progress.clear();
        self.dataset.check_unchanged()?;
        let saved = self.saved(model);
        self.write(&*source, &saved)?;
        self.report(&saved, seconds)
    }

    /// The components of all rows, with the scores of the last block.
    fn model<T: Scalar>(&self, source: &dyn Source<T>) -> karhunen::Result<IncompleteModel> {
        let shape = source.shape();
        let pca = self.plan.pca(shape, 0);
        pca.ask_for_stream(source)?;
        let run = self.plan.threads.run(self.progress);
        let mut stream = IncompleteStream::new(pca.n_components, shape.1, pca.online_rule, pca.seed)?;
        if pca.mean == MeanMode::None {
            stream = stream.without_mean();
        }
        if pca.row_offsets {
            stream = stream.with_row_offsets();
        }
        // Announces the visits.
        source.keep(0.0);
        let mut last = stream.partial_fit_source(source, &run)?;
        for _ in 1..self.plan.n_passes {
            last = stream.partial_fit_source(source, &run)?;
        }
        stream.finish_with(&last, &pca, &run)
    }

    fn saved(&self, model: IncompleteModel) -> SavedIncomplete {
        let table = &self.dataset.table;
        // The model holds the last rows.
        let (n_rows, n_held) = (table.data.shape().0, model.n_samples());
        let row_ids = match &table.sample_names {
            Some(names) => Ids::Texts(names[n_rows - n_held..].to_vec()),
            None => Ids::Integers((n_rows - n_held..n_rows).map(|row| row as i64 + 1).collect()),
        };
        let extras = RowsAndColumns {
            row_ids: Some(row_ids),
            column_ids: table.feature_names.clone().map(Ids::Texts),
            triples: None,
            of_file: OfFile::of(&self.plan.read, (&table.labels, &table.left_out), table.id_name.as_ref()),
        };
        SavedIncomplete { model, extras }
    }

    /// Writes the scores of all rows, computed block by block.
    fn write<T: Scalar>(&self, source: &dyn Source<T>, saved: &SavedIncomplete) -> Result<()>
    where
        ObservedData: From<Observed<T>>,
    {
        let (table, model) = (&self.dataset.table, &saved.model);
        let run = self.plan.threads.run(self.progress);
        let places: Vec<usize> = (0..model.n_features()).collect();
        self.plan.files.write(|outputs, part, path| match part {
            Part::Model => outputs.model(path, saved),
            Part::Loadings => write_loadings(outputs, path, table.feature_names.as_deref(), model),
            Part::Scores => {
                let columns = model.score_names();
                let rows = ComputedRows::of_blocks(source, columns.len(), |block| {
                    let scores = block_scores(model, block, &places, &run)?;
                    model.score_table(&scores, self.plan.files.whiten)
                });
                let row_names = (row_header(saved), table.sample_names.as_deref());
                rows.write_to(outputs, path, row_names, &columns, |error| self.dataset.explain(error))?;
                self.progress.clear();
                Ok(())
            }
        })
    }

    fn report(&self, saved: &SavedIncomplete, seconds: Seconds) -> Result<()> {
        let (dataset, model) = (self.dataset, &saved.model);
        let online = OnlineSummary {
            n_samples: dataset.table.data.shape().0,
            n_passes: self.plan.n_passes,
            n_samples_held: model.n_samples(),
        };
        let text = |layout, written: &[String]| {
            let mut data: Vec<String> = [dataset.headline()].into_iter().chain(dataset.remarks()).collect();
            data.extend(described(&online));
            if let Some(Reading { bytes, seconds }) = dataset.table.data.reading() {
                let (bytes, seconds) = (size(bytes), duration(seconds));
                data.push(format!(
                    "{bytes} read in all passes, in {seconds} of reading during the computation"
                ));
            }
            let features = dataset.table.feature_names.as_deref();
            IncompleteReport { model, features, data: &data, seconds: Some(seconds), written }.render(layout)
        };
        self.plan.files.print_summary(text, |extent, written| {
            crate::pca::summary::to_json(&IncompleteFitSummary {
                file: &dataset.file,
                format: dataset.table.format,
                model: IncompleteSummary::new(saved, extent),
                online: Some(online),
                notes: &dataset.notes(),
                written,
                seconds,
            })
        })
    }
}

/// Describes the passes, their accuracy, and the rows that the model holds.
fn described(online: &OnlineSummary) -> [String; 2] {
    let passes = match online.n_passes {
        1 => "1 pass".to_owned(),
        n => format!("{} passes", count(n)),
    };
    let rows = count(online.n_samples_held);
    [
        format!(
            "the observed entries exceed the memory: learned block by block in {passes}, less accurately than by a fit \
             of all entries (docs/missing-values-methods.md)"
        ),
        format!(
            "the model holds the last {rows} rows, which predict knows; errors and variances are theirs; transform and \
             impute take any rows"
        ),
    ]
}
