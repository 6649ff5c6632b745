//! Fitted models as files: the record of the model, and the names of rows and columns of the fitted table.

use std::path::Path;

use karhunen::categorical::CategoricalModel;
use karhunen::incomplete::Checkpoint;
use karhunen::incremental::IncrementalFit;
use karhunen::kernel::NystromMap;
use karhunen::moments::Scatter;
use karhunen::pca::Centring;
use karhunen::record::{Record, Recorded};
use karhunen::rotation::RotatedModel;
use karhunen::{IncompleteModel, KernelModel, PcaModel};

use crate::extras::{Extras, RowsAndColumns, TableColumns};
use crate::genotypes::options::GenotypeOptions;
use crate::input::Input;
use crate::model_file::{self, damaged, refused};
use crate::replace::{Staged, stage};
use crate::{Cause, Error, ReadOptions, Result};

/// A kind of model that files hold.
pub trait Stored: Recorded {
    /// The content of a file besides the model.
    type Extras: Extras;

    /// (number of fitted rows or landmarks, number of columns of new data).
    fn shape(&self) -> (usize, usize);

    /// The mean of each column, if the model has means of the columns of new data.
    fn mean(&self) -> Option<&[f64]> {
        None
    }
}

impl Stored for PcaModel {
    type Extras = TableColumns;

    fn shape(&self) -> (usize, usize) {
        (self.n_samples(), self.n_features())
    }

    fn mean(&self) -> Option<&[f64]> {
        (self.options().center == Centring::Mean).then(|| PcaModel::mean(self))
    }
}

impl Stored for IncompleteModel {
    type Extras = RowsAndColumns;

    fn shape(&self) -> (usize, usize) {
        (self.n_samples(), self.n_features())
    }
}

impl Stored for KernelModel {
    type Extras = TableColumns;

    fn shape(&self) -> (usize, usize) {
        (self.n_samples(), self.n_features())
    }
}

impl Stored for CategoricalModel {
    type Extras = TableColumns;

    fn shape(&self) -> (usize, usize) {
        (self.n_samples(), self.variables().len())
    }
}

impl Stored for NystromMap {
    type Extras = TableColumns;

    fn shape(&self) -> (usize, usize) {
        self.parts().landmarks.shape()
    }
}

impl Stored for RotatedModel<PcaModel> {
    type Extras = TableColumns;

    fn shape(&self) -> (usize, usize) {
        (self.model().n_samples(), self.model().n_features())
    }

    fn mean(&self) -> Option<&[f64]> {
        Stored::mean(self.model())
    }
}

impl Stored for RotatedModel<IncompleteModel> {
    type Extras = RowsAndColumns;

    fn shape(&self) -> (usize, usize) {
        (self.model().n_samples(), self.model().n_features())
    }
}

impl Stored for Scatter {
    type Extras = TableColumns;

    fn shape(&self) -> (usize, usize) {
        (self.moments.n_samples, self.moments.mean.len())
    }
}

impl Stored for IncrementalFit {
    type Extras = TableColumns;

    fn shape(&self) -> (usize, usize) {
        (self.n_samples_seen(), self.n_features())
    }
}

/// A fitted model and the other content of its file. A user-defined kernel function is not written: pass it to
/// `with_function` of the model that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved<M: Stored> {
    /// The model.
    pub model: M,
    /// The names of its columns, and the ids of its rows if data were incomplete.
    pub extras: M::Extras,
}

/// A model of complete data.
pub type SavedModel = Saved<PcaModel>;
/// A model of incomplete data, with the ids of its rows and columns.
pub type SavedIncomplete = Saved<IncompleteModel>;
/// A model in the feature space of a kernel.
pub type SavedKernel = Saved<KernelModel>;
/// An MCA or FAMD, with the names of the columns of the table.
pub type SavedCategorical = Saved<CategoricalModel>;
/// The state of a fit of rows in batches.
pub type SavedIncremental = Saved<IncrementalFit>;
/// A model of complete data whose components are rotated.
pub type SavedRotated = Saved<RotatedModel>;
/// A model of incomplete data whose components are rotated, with the ids of its rows and columns.
pub type SavedRotatedIncomplete = Saved<RotatedModel<IncompleteModel>>;
/// A Nyström feature map.
pub type SavedNystrom = Saved<NystromMap>;
/// The moments of rows, which a fit takes in their place.
pub type SavedScatter = Saved<Scatter>;

impl<M: Stored> Saved<M> {
    /// The name of this kind in model files.
    pub const KIND: &str = M::KIND;

    /// Returns `options` for reading more data for this model: columns that were not features in the fit are not read as
    /// features, and may be absent.
    #[must_use]
    pub fn read_options(&self, options: ReadOptions) -> ReadOptions {
        let means = self.model.mean().map(<[f64]>::to_vec);
        let genotypes = GenotypeOptions { means, ..options.genotypes };
        ReadOptions { fitted: Some(self.extras.fitted_table(self.model.shape().1)), genotypes, ..options }
    }

    /// Returns the model and the names as one record.
    fn record(&self) -> karhunen::Result<Record<'_>> {
        let mut record = self.model.to_record()?;
        self.extras.put(&mut record, self.model.shape())?;
        Ok(record)
    }

    /// Takes the content of a file out of its record.
    pub(crate) fn of(path: &Path, mut record: Record<'_>) -> Result<Self> {
        let model = M::from_record(&mut record).map_err(|error| damaged(path, error))?;
        let extras = M::Extras::take(&mut record, model.shape()).map_err(|error| refused(path, error))?;
        Ok(Self { model, extras })
    }
}

/// Writes a model as a safetensors file, in the folder of the target, and renames it; `-` is the standard output.
///
/// The arrays and texts of each kind are in the page `docs/formats.md`; the metadata also holds `karhunen` (the version),
/// `kind` and `format_version`.
///
/// # Errors
/// [`Cause::Library`] if there are names or ids, but not one for each column or row; [`Cause::Io`], after which the
/// target is unchanged.
pub fn save_model<M: Stored>(path: &Path, saved: &Saved<M>) -> Result<()> {
    stage_model(path, saved)?.commit()
}

/// As [`save_model`], but leaves the file next to the target until [`Staged::commit`]: for several files that are
/// replaced together. The standard output is written at once.
///
/// # Errors
/// As [`save_model`].
pub fn stage_model<M: Stored>(path: &Path, saved: &Saved<M>) -> Result<Staged> {
    stage_record(path, &saved.record().map_err(|error| refused(path, error))?)
}

/// Writes a record to a file next to the target.
pub(crate) fn stage_record(path: &Path, record: &Record<'_>) -> Result<Staged> {
    stage(path, |sink| model_file::write(record, sink))
}

/// Reads a model; `-` is the standard input.
///
/// # Errors
/// [`Cause::Io`] if the file cannot be read; [`Cause::Format`] for a file that is damaged, of another program, of a newer
/// karhunen, or of another kind of model; [`Cause::Library`] for arrays that do not agree with each other.
pub fn load_model<M: Stored>(path: &Path) -> Result<Saved<M>> {
    Saved::of(path, model_file::read(&Input::load(path)?)?)
}

/// A fitted model of any kind that has components.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyModel {
    /// A model of complete data.
    Complete(Box<SavedModel>),
    /// A model of incomplete data.
    Incomplete(Box<SavedIncomplete>),
    /// A model in the feature space of a kernel.
    Kernel(Box<SavedKernel>),
    /// A model of categories.
    Categorical(Box<SavedCategorical>),
    /// A fit that is updated with new rows.
    Incremental(Box<SavedIncremental>),
    /// A model of complete data whose components are rotated.
    Rotated(Box<SavedRotated>),
    /// A model of incomplete data whose components are rotated.
    RotatedIncomplete(Box<SavedRotatedIncomplete>),
}

impl AnyModel {
    /// The name of its kind in files.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Complete(_) => SavedModel::KIND,
            Self::Incomplete(_) => SavedIncomplete::KIND,
            Self::Kernel(_) => SavedKernel::KIND,
            Self::Categorical(_) => SavedCategorical::KIND,
            Self::Incremental(_) => SavedIncremental::KIND,
            Self::Rotated(_) => SavedRotated::KIND,
            Self::RotatedIncomplete(_) => SavedRotatedIncomplete::KIND,
        }
    }
}

/// Reads a model of any kind that has components; `-` is the standard input.
///
/// # Errors
/// As [`load_model`].
pub fn load_any_model(path: &Path) -> Result<AnyModel> {
    any_model(path, model_file::read(&Input::load(path)?)?)
}

/// The model of a file.
pub(crate) fn any_model(path: &Path, record: Record<'_>) -> Result<AnyModel> {
    let refuse = |message: &str| Err(Error::new(path, Cause::format(message.to_owned())));
    match record.kind.as_str() {
        IncompleteModel::KIND => Ok(AnyModel::Incomplete(Box::new(Saved::of(path, record)?))),
        KernelModel::KIND => Ok(AnyModel::Kernel(Box::new(Saved::of(path, record)?))),
        CategoricalModel::KIND => Ok(AnyModel::Categorical(Box::new(Saved::of(path, record)?))),
        IncrementalFit::KIND => Ok(AnyModel::Incremental(Box::new(Saved::of(path, record)?))),
        SavedRotated::KIND => Ok(AnyModel::Rotated(Box::new(Saved::of(path, record)?))),
        SavedRotatedIncomplete::KIND => Ok(AnyModel::RotatedIncomplete(Box::new(Saved::of(path, record)?))),
        NystromMap::KIND => refuse(
            "holds a Nyström feature map, which has no components; karhunen.Nystroem.load in Python and load_model in Rust \
             read it",
        ),
        Scatter::KIND => refuse(
            "holds the moments of rows, not a model; `karhunen fit --from-moments` fits them (in Python PCA().fit of a Scatter)",
        ),
        Checkpoint::KIND => refuse(
            "holds the checkpoint of a fit, not a model; continue it with the command of the fit and \
             --resume (in Python resume=True), which gives the model",
        ),
        _ => Ok(AnyModel::Complete(Box::new(Saved::of(path, record)?))),
    }
}

#[cfg(test)]
mod tests;
