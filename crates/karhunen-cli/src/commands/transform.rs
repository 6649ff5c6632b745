//! `karhunen transform`: the scores of rows under a model.

use karhunen::{PcaModel, Scalar, Transform};
use karhunen_io::{NamedMatrix, Values};

use crate::args::TransformArgs;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::names;
use crate::outputs::Outputs;
use crate::plan::{OnValues, check_outputs, check_table_output, dispatch, one_standard_input, read_options};
use crate::progress::Progress;

/// Reads a model and rows, and writes their scores.
pub(crate) fn run(args: TransformArgs) -> Result<()> {
    let inputs = [
        Some(&args.model),
        Some(&args.data),
        args.input.feature_names.as_ref(),
        args.input.sample_names.as_ref(),
    ];
    one_standard_input(&inputs)?;
    check_outputs(&[("-o", Some(&args.output))], &inputs)?;
    check_table_output(&args.output)?;
    let progress = Progress::new(args.quiet);
    let saved = karhunen_io::load_model(&args.model)?;
    let options = saved.read_options(read_options(&args.input, &args.threads));
    let dataset = Dataset::read(&args.data, &options, &progress)?;
    let model = dataset.align(saved.model, saved.feature_names.as_deref())?;
    dispatch(
        &dataset.table.data,
        Scores { args: &args, model: &model, dataset: &dataset, progress: &progress },
    )
}

/// Scores of values of either type.
struct Scores<'a> {
    args: &'a TransformArgs,
    model: &'a PcaModel,
    dataset: &'a Dataset,
    progress: &'a Progress,
}

impl OnValues for Scores<'_> {
    type Output = Result<()>;

    fn on<T: Scalar>(self, values: &Values<T>) -> Result<()> {
        let explain = |error| self.dataset.places().explain(error);
        let source = values.source().map_err(explain)?;
        let how = Transform {
            whiten: self.args.whiten,
            n_threads: self.args.threads.threads.map(usize::from),
            observer: self.progress,
        };
        let scores = self.model.transform_with(&*source, &how).map_err(explain)?;
        self.progress.clear();
        let mut outputs = Outputs::default();
        let table = NamedMatrix {
            matrix: &scores,
            row_names: self.dataset.table.sample_names.as_deref(),
            row_header: "sample",
            column_names: &names::of_components(self.model.n_components()),
        };
        outputs.table(&self.args.output, &table)?;
        outputs.commit()
    }
}
