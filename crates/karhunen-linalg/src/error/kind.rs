//! The kinds of errors.

use crate::error::Error;
use crate::error::memory::{Available, MemoryLimit};

/// Coarse kind of an error. The command line maps kinds to exit codes, Python to exceptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// An option or argument is outside its rule.
    Argument,
    /// The data cannot be used as they are.
    Data,
    /// Reading or writing failed.
    Io,
    /// The work needs more memory than is available.
    Memory,
    /// An iteration stopped before its tolerance.
    NotConverged,
    /// The observer cancelled the work.
    Stopped,
}

impl Error {
    /// Returns the coarse kind of this error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::NComponents { .. }
            | Error::VarianceFraction { .. }
            | Error::FrequencyTooSmall { .. }
            | Error::ImportanceSingle { .. }
            | Error::Shape { .. }
            | Error::Option { .. }
            | Error::ColumnValue { .. }
            | Error::Operator { .. }
            | Error::NothingSetAside { .. }
            | Error::Folds { .. }
            | Error::OtherFit { .. }
            | Error::OtherOption { .. }
            | Error::OnePass { .. }
            | Error::Truncated { .. }
            | Error::Threads { .. } => ErrorKind::Argument,
            Error::Empty { .. }
            | Error::OneSample
            | Error::NonFinite { .. }
            | Error::NonFiniteUnweighted { .. }
            | Error::NoCount { .. }
            | Error::Underflow { .. }
            | Error::Overflow { .. }
            | Error::SpreadTooLarge { .. }
            | Error::Strides { .. }
            | Error::SparsePointer { .. }
            | Error::SparseIndex { .. }
            | Error::SparseOrder { .. }
            | Error::Triple { .. }
            | Error::DuplicateEntry { .. }
            | Error::NothingObserved { .. }
            | Error::EmptyColumn { .. }
            | Error::BlockColumns { .. }
            | Error::PartColumns { .. }
            | Error::PartChanged { .. }
            | Error::Parts { .. }
            | Error::TooLarge { .. }
            | Error::ScoreOverflow { .. }
            | Error::ValueOverflow { .. }
            | Error::PredictionOverflow { .. }
            | Error::WeightLength { .. }
            | Error::WeightValue { .. }
            | Error::EntryWeight { .. }
            | Error::WeightsAllZero { .. }
            | Error::WeightSum { .. }
            | Error::Degenerate { .. }
            | Error::CheckpointDamaged { .. }
            | Error::ModelValue { .. }
            | Error::Record { .. }
            | Error::NegativeValue { .. }
            | Error::KernelValue { .. }
            | Error::NotCovariance { .. }
            | Error::NotSymmetric { .. }
            | Error::NegativeEigenvalue { .. }
            | Error::Categories(_)
            | Error::Decomposition { .. } => ErrorKind::Data,
            // The remedy for a given limit is another value of the option.
            Error::Memory { available: Some(Available { limit: MemoryLimit::Option, .. }), .. } => {
                ErrorKind::Argument
            }
            Error::Part { source, .. } => source.kind(),
            Error::Memory { .. } | Error::Device { is_memory: true, .. } => ErrorKind::Memory,
            Error::Device { .. } | Error::Read { .. } | Error::CheckpointNotKept { .. } => ErrorKind::Io,
            Error::NotConverged { .. } => ErrorKind::NotConverged,
            Error::Stopped { .. } => ErrorKind::Stopped,
        }
    }
}
