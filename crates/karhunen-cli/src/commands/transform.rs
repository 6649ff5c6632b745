//! `karhunen transform`: computes the scores of rows under a model.

use karhunen::pca::Transform;
use karhunen::{Observed, Scalar, Source};
use karhunen_io::{
    AnyModel, Data, Ids, NamedMatrix, ObserveOptions, ObservedData, ReadOptions, Saved, Values,
    load_any_model,
};

use crate::args::TransformArgs;
use crate::args::input::read_options;
use crate::args::missing::TriplesArgs;
use crate::commands::fit_incomplete::row_header;
use crate::commands::loaded::{self, Loaded};
use crate::commands::transform_categories;
use crate::data::computed_rows::ComputedRows;
use crate::data::dataset::Dataset;
use crate::error::{Failure, Places, Result};
use crate::files::outputs::Outputs;
use crate::files::overwrite;
use crate::files::paths::check_tables;
use crate::incomplete::dataset::{Advice, ObservedContent, ObservedDataset, block_scores, matched, scores};
use crate::incomplete::rows::IncompleteRows;
use crate::pca::plan::{OnValues, dispatch};
use crate::pca::row_model::RowModel;
use crate::progress::Progress;

/// Reads a model and rows, and writes their scores.
pub(crate) fn run(args: TransformArgs) -> Result<()> {
    let unmatched = args.genotypes.unmatched.as_deref();
    let outputs = [("-o", Some(args.output.as_path())), ("--unmatched", unmatched)];
    check_tables([&args.model, &args.data], &args.input, &outputs)?;
    overwrite::check(&outputs, args.force)?;
    let progress = Progress::new(args.quiet);
    let model = match load_any_model(&args.model)? {
        AnyModel::Categorical(saved) => return transform_categories::run(&args, &saved, &progress),
        model => loaded::of(&args.model, model, "transform")?,
    };
    let model = match model {
        Loaded::Rows(model) => model,
        Loaded::Incomplete(saved) => return incomplete(&args, &saved, &progress),
        Loaded::RotatedIncomplete(saved) => return incomplete(&args, &saved, &progress),
    };
    if let Some(option) = args.given.first_of::<TriplesArgs>(&[]) {
        return Err(Failure::Usage(format!(
            "{option} has no effect on a model of complete data; leave it out"
        )));
    }
    model.check_whiten(args.whiten)?;
    model.check_unshrunk(args.unshrunk)?;
    let read = args.genotypes.within(read_options(&args.input, &args.threads));
    // The projection without shrinkage and least squares take missing values.
    let by_least_squares = unmatched.is_some() && matches!(model, RowModel::Complete(_));
    let read = ReadOptions { missing: args.unshrunk || by_least_squares, ..read };
    let options = args.memory.within(model.read_options(read));
    let dataset = Dataset::read(&args.data, &options, &progress)?;
    args.genotypes.check_used(dataset.table.format)?;
    let model = model.aligned(&dataset)?;
    dispatch(
        &dataset.table.data,
        Scores { args: &args, model: &model, dataset: &dataset, progress: &progress },
    )
}

/// Scores of rows with missing values, from a table, or from triples if the model was fitted to triples.
fn incomplete(args: &TransformArgs, saved: &Saved<impl IncompleteRows>, progress: &Progress) -> Result<()> {
    saved.model.check_whiten(args.whiten)?;
    if args.unshrunk {
        return Err(Failure::Usage(
            "--unshrunk corrects the scores of models of complete data; leave it out".to_owned(),
        ));
    }
    let asked = args.triples.options();
    let triples = asked.triples.clone().or_else(|| saved.extras.triples.clone());
    let how = ObserveOptions { triples, ..asked };
    let options = saved.read_options(args.genotypes.within(read_options(&args.input, &args.threads)));
    let options = if how.triples.is_some() {
        args.memory.check_unused()?;
        options
    } else {
        args.memory.within(options)
    };
    let dataset = match ObservedDataset::read_rows(&args.data, &options, &how, progress)? {
        ObservedContent::Entries(dataset) => *dataset,
        ObservedContent::InFile(dataset) => {
            let work = IncompleteScores { args, saved, dataset: &dataset, progress };
            return match &dataset.table.data {
                Data::F32(values) => work.on(values),
                Data::F64(values) => work.on(values),
            };
        }
    };
    args.genotypes.check_used(dataset.table.format)?;
    let variants = saved.extras.column_ids.as_ref().map(Ids::texts);
    let (file, row_names) = (dataset.file.clone(), dataset.row_names.clone());
    let data = dataset.align(saved)?;
    let explain =
        |error| Places { file: &file, samples: row_names.as_deref(), features: None }.explain(error);
    let rows = scores(saved.model.fitted(), &data, &args.threads.run(progress)).map_err(explain)?;
    let table = saved.model.score_table(&rows, args.whiten).map_err(explain)?;
    progress.clear();
    let mut outputs = Outputs::new(args.force);
    let table = NamedMatrix {
        matrix: &table,
        row_names: row_names.as_deref(),
        row_header: row_header(saved),
        labels: &[],
        column_names: &saved.model.score_names(),
        numeric_ids: false,
    };
    outputs.table(&args.output, &table)?;
    args.genotypes.write(&args.data, variants.as_deref(), &mut outputs)?;
    outputs.commit()
}

/// Scores of rows with missing values that stay in their file.
struct IncompleteScores<'a, M: IncompleteRows> {
    args: &'a TransformArgs,
    saved: &'a Saved<M>,
    dataset: &'a Dataset,
    progress: &'a Progress,
}

impl<M: IncompleteRows> IncompleteScores<'_, M> {
    fn on<T: Scalar>(self, values: &Values<T>) -> Result<()>
    where
        ObservedData: From<Observed<T>>,
    {
        let Self { args, saved, dataset, progress } = self;
        args.genotypes.check_used(dataset.table.format)?;
        let explain = |error| dataset.explain(error);
        let (source, model) = (values.source().map_err(explain)?, &saved.model);
        let (table, run) = (&dataset.table, args.threads.run(progress));
        let names = table.feature_names.as_deref();
        let places = matched(saved, &dataset.file, names, table.data.shape().1, Advice::Columns)?;
        let columns = model.score_names();
        let rows = ComputedRows::of_blocks(&*source, columns.len(), |block| {
            model.score_table(&block_scores(model.fitted(), block, &places, &run)?, args.whiten)
        });
        let mut outputs = Outputs::new(args.force);
        let row_names = (row_header(saved), table.sample_names.as_deref());
        rows.write_to(&mut outputs, &args.output, row_names, &columns, explain)?;
        args.genotypes.write(&args.data, names, &mut outputs)?;
        progress.clear();
        outputs.commit()
    }
}

/// Computes scores of values of either type.
struct Scores<'a> {
    args: &'a TransformArgs,
    model: &'a RowModel,
    dataset: &'a Dataset,
    progress: &'a Progress,
}

impl OnValues for Scores<'_> {
    type Output = Result<()>;

    fn on<T: Scalar>(self, values: &Values<T>) -> Result<()> {
        let explain = |error| self.dataset.explain(error);
        let source = values.source().map_err(explain)?;
        let how = Transform { whiten: self.args.whiten, ..Transform::default() };
        let run = self.args.threads.run(self.progress);
        let mut outputs = Outputs::new(self.args.force);
        let unmatched = self.args.genotypes.unmatched.is_some();
        if let (Values::InFile(_), false) = (values, self.args.unshrunk || unmatched) {
            let rows = match self.model {
                RowModel::Complete(saved) => ComputedRows::scores(&saved.model, &*source, how, &run),
                RowModel::Kernel(saved) => {
                    let map = |block: &dyn Source<T>| saved.model.transform_with(block, how, &run);
                    ComputedRows::of_blocks(&*source, saved.model.n_components(), map)
                }
                RowModel::Rotated(saved) => {
                    let map = |block: &dyn Source<T>| saved.model.transform_with(block, &run);
                    ComputedRows::of_blocks(&*source, saved.model.n_components(), map)
                }
            };
            let names = ("sample", self.dataset.table.sample_names.as_deref());
            let columns = self.model.component_names();
            rows.write_to(&mut outputs, &self.args.output, names, &columns, explain)?;
            let variants = self.dataset.table.feature_names.as_deref();
            self.args.genotypes.write(&self.args.data, variants, &mut outputs)?;
            self.progress.clear();
            return outputs.commit();
        }
        let scores = match self.model {
            RowModel::Complete(saved) if self.args.unshrunk => saved.model.transform_oadp(&*source, &run),
            RowModel::Complete(saved) if unmatched => saved.model.transform_observed(&*source, how, &run),
            model => model.transform_with(&*source, how, &run),
        };
        let scores = scores.map_err(explain)?;
        self.progress.clear();
        self.dataset.check_unchanged()?;
        let table = NamedMatrix {
            matrix: &scores,
            row_names: self.dataset.table.sample_names.as_deref(),
            row_header: "sample",
            labels: &[],
            column_names: &self.model.component_names(),
            numeric_ids: false,
        };
        outputs.table(&self.args.output, &table)?;
        let variants = self.dataset.table.feature_names.as_deref();
        self.args.genotypes.write(&self.args.data, variants, &mut outputs)?;
        outputs.commit()
    }
}
