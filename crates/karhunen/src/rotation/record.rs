//! Rotated models as records: the record of the model, the rotation and its criterion. All else follows from these.

use crate::error::Result;
use crate::incomplete::IncompleteModel;
use crate::pca::PcaModel;
use crate::record::{Record, Recorded, in_array};
use crate::rotation::{Components, Criterion, RotatedModel};

/// The iterations of a rotation, as text.
#[derive(serde::Serialize, serde::Deserialize)]
struct Outcome {
    n_iter: usize,
    converged: bool,
}

const ROTATION: &str = "rotation";
const TARGET: &str = "target";
const CRITERION: &str = "rotation_criterion";
const OUTCOME: &str = "rotation_outcome";

/// The kind of records of a rotated model.
trait Kind: Components + Recorded {
    const ROTATED: &'static str;
}

impl Kind for PcaModel {
    const ROTATED: &'static str = "rotated-pca";
}

impl Kind for IncompleteModel {
    const ROTATED: &'static str = "rotated-incomplete-pca";
}

impl<M: Kind> Recorded for RotatedModel<M> {
    const KIND: &'static str = M::ROTATED;

    fn to_record(&self) -> Result<Record<'_>> {
        let mut record = self.model().to_record()?;
        Self::KIND.clone_into(&mut record.kind);
        record.put_matrix(ROTATION, &self.rotation().rotation);
        if let Criterion::Procrustes { target } = self.criterion() {
            record.put_matrix(TARGET, target);
        }
        record.put_json(CRITERION, self.criterion())?;
        let (n_iter, converged) = (self.rotation().n_iter, self.rotation().converged);
        record.put_json(OUTCOME, &Outcome { n_iter, converged })?;
        Ok(record)
    }

    fn from_record(record: &mut Record<'_>) -> Result<Self> {
        record.check_kind(Self::KIND)?;
        let rotation = record.take_matrix(ROTATION)?;
        let criterion = match record.json(CRITERION)? {
            Criterion::Procrustes { .. } => Criterion::Procrustes { target: record.take_matrix(TARGET)? },
            other => other,
        };
        let Outcome { n_iter, converged } = record.json(OUTCOME)?;
        M::KIND.clone_into(&mut record.kind);
        let model = M::from_record(record)?;
        if let Criterion::Procrustes { target } = &criterion
            && target.shape() != (model.n_features(), rotation.n_cols())
        {
            let problem = "it has another shape than the loadings that were rotated".to_owned();
            return Err(in_array(TARGET, problem));
        }
        Self::of_matrix(model, criterion, rotation, (n_iter, converged))
    }
}
