//! One fit from top to bottom: mean, penalties, start, iterations, rotation, error bars. A fit has stages: one per
//! random start or per step of a path of penalties, and a refit to all entries if requested.

pub(crate) mod agreement;
pub(crate) mod checkpoint;
pub(crate) mod checkpointing;
pub(crate) mod dense_part;
pub(crate) mod difference;
pub(crate) mod error_bars;
pub(crate) mod far;
pub(crate) mod finish;
pub(crate) mod first_factors;
pub(crate) mod identifiability;
pub(crate) mod left_out;
pub(crate) mod limit;
pub(crate) mod need;
pub(crate) mod noise_of_features;
pub(crate) mod of_stream;
pub(crate) mod overfit;
pub(crate) mod path;
pub(crate) mod run;
pub(crate) mod setting;
pub(crate) mod short_starts;
pub(crate) mod signals;
pub(crate) mod stages;
pub(crate) mod stopping;
pub(crate) mod time_left;
pub(crate) mod unseen;

use crate::error::{Result, options};
use crate::exec::{Exec, Observer, Run};
use crate::incomplete::data::{HOLDING_OUT, Observed, Share, Typed};
use crate::incomplete::fit::checkpoint::{Fingerprint, FitContext};
use crate::incomplete::fit::checkpointing::{CheckpointWriter, DeferredCancellation};
use crate::incomplete::fit::setting::Setting;
use crate::incomplete::fit::stages::Stages;
use crate::incomplete::model::IncompleteModel;
use crate::incomplete::options::IncompletePca;
use crate::linalg::simd::Lane;
use crate::random::Purpose;
use crate::scalar::Scalar;

pub(crate) fn fit<T: Scalar>(
    pca: &IncompletePca,
    data: &Observed<T>,
    context: &FitContext<'_>,
    run: &Run<'_>,
) -> Result<IncompleteModel> {
    let cancellation = DeferredCancellation::new(run.observer);
    // Only checkpoints require iterations to complete.
    let deferred = context.checkpoints.is_some().then_some(&cancellation);
    let observer = deferred.map_or(run.observer, |cancellation| cancellation as &dyn Observer);
    pca.ask(data, 1, run)?;
    Exec::run(&Run { observer, ..*run }, |exec| match data.typed() {
        Typed::F32(data) => fit_typed(pca, data, context, deferred, exec),
        Typed::F64(data) => fit_typed(pca, data, context, deferred, exec),
    })
}

fn fit_typed<T: Lane>(
    pca: &IncompletePca,
    data: &Observed<T>,
    context: &FitContext<'_>,
    cancellation: Option<&DeferredCancellation<'_>>,
    exec: &Exec<'_>,
) -> Result<IncompleteModel> {
    let fingerprint = if context.checkpoints.is_some() || context.resume.is_some() {
        Some(Fingerprint::of(data, exec)?)
    } else {
        None
    };
    let split = match pca.early_stopping {
        Some(value) => {
            let share = Share { option: options::EARLY_STOPPING, value };
            let stream = Purpose::EarlyStopping.of(pca.seed);
            Some(data.split_by(share, stream, &exec.phase(HOLDING_OUT))?)
        }
        None => None,
    };
    let (kept, held_out) = split.as_ref().map_or((data, None), |(kept, held_out)| (kept, Some(held_out)));
    let setting = Setting::new(pca, (data, kept, held_out), context.start, exec)?;
    let mut stages = Stages::new(setting.first_stage());
    let exec = &exec.phase(setting.method.name());
    let mut running = match (context.resume, &fingerprint) {
        (Some(checkpoint), Some(fingerprint)) => {
            checkpoint.check(pca, fingerprint)?;
            stages.resume(&setting, checkpoint, exec)?
        }
        _ => stages.begin(&setting, exec)?,
    };
    let mut writer = match (context.checkpoints, fingerprint, cancellation) {
        (Some(checkpoints), Some(data), Some(cancellation)) => {
            Some(CheckpointWriter::new(checkpoints, data, cancellation))
        }
        _ => None,
    };
    loop {
        stages.drive(&setting, &mut running, writer.as_mut(), exec)?;
        stages.note(&setting, running, exec)?;
        match stages.next_stage(&setting) {
            Some(stage) => stages.stage = stage,
            None => break,
        }
        running = stages.begin(&setting, exec)?;
    }
    stages.into_model(&setting, &exec.phase("error bars"))
}
