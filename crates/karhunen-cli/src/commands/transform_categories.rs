//! `karhunen transform` of rows under an MCA or FAMD.

use karhunen::pca::Transform;
use karhunen_io::{ColumnKinds, NamedMatrix, SavedCategorical};

use crate::args::TransformArgs;
use crate::args::genotypes::MatchArgs;
use crate::args::input::read_options;
use crate::args::missing::TriplesArgs;
use crate::categorical::dataset::CategoryDataset;
use crate::categorical::plan::flag_of;
use crate::component_names::of_components;
use crate::error::{Failure, Result};
use crate::files::outputs::Outputs;
use crate::progress::Progress;

/// Writes the principal coordinates of rows.
pub(super) fn run(args: &TransformArgs, saved: &SavedCategorical, progress: &Progress) -> Result<()> {
    let model = &saved.model;
    let useless = [
        args.given.first_of::<TriplesArgs>(&[]),
        args.given.first_of::<MatchArgs>(&[]),
        args.unshrunk.then(|| "--unshrunk".to_owned()),
        args.input.log1p.map(|_| "--log1p".to_owned()),
    ];
    if let Some(option) = useless.into_iter().flatten().next() {
        return Err(Failure::Usage(format!(
            "{option} has no effect on a model of {}; leave it out",
            flag_of(model.options().analysis)
        )));
    }
    args.memory.check_unused()?;
    let options = saved.read_options(read_options(&args.input, &args.threads));
    let named = saved.extras.feature_names.is_some();
    let kinds = ColumnKinds::OfFit { variables: model.variables(), named };
    let mut dataset = CategoryDataset::read(&args.data, kinds, &options, progress)?;
    let columns = dataset.aligned(model, named)?;
    let how = Transform { whiten: args.whiten, ..Transform::default() };
    let scores = model.transform_with(&columns, how, &args.threads.run(progress));
    let scores = scores.map_err(|error| dataset.explain(error))?;
    progress.clear();
    let mut outputs = Outputs::new(args.force);
    let table = NamedMatrix {
        matrix: &scores,
        row_names: dataset.table.sample_names.as_deref(),
        row_header: "sample",
        labels: &[],
        column_names: &of_components(model.n_components()),
        numeric_ids: false,
    };
    outputs.table(&args.output, &table)?;
    outputs.commit()
}
