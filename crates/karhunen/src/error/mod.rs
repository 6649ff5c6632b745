//! Errors of the library: one enum with typed fields, and a small closed kind to act on. Each surface (Rust, the command line,
//! Python) writes an error with the names of options that its users type: [`Error::text_for`].

mod advice;
mod memory;
mod message;
mod option;
mod phrase;

pub use advice::Advice;
pub use memory::{Available, MemoryLimit, size};
pub use option::{OptionName, OptionValue, options};
pub use phrase::{Fields, Phrase, Surface};

/// A result of this library.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, coarsely: the command line maps it to exit codes, Python to exceptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// An option or argument is outside its rule.
    Argument,
    /// The data cannot be used as they are.
    Data,
    /// Reading or writing failed.
    Io,
    /// The work needs more memory than can be had.
    Memory,
    /// An iteration stopped before its tolerance.
    NotConverged,
    /// The observer asked to stop.
    Stopped,
}

/// Everything that can go wrong. Rows, columns and indices count from zero.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The number of components is outside its range.
    NComponents {
        /// What was asked for.
        requested: usize,
        /// The smallest possible number: 0 where none need be computed, 1 elsewhere.
        min: usize,
        /// The largest possible number: min(n_samples, n_features).
        max: usize,
        /// Rows of the data.
        n_samples: usize,
        /// Columns of the data.
        n_features: usize,
    },
    /// The fraction of variance to reach is outside (0, 1].
    VarianceFraction {
        /// What was asked for.
        fraction: f64,
    },
    /// The data have no row or no column.
    Empty {
        /// Rows of the data.
        n_samples: usize,
        /// Columns of the data.
        n_features: usize,
    },
    /// A value is NaN or infinite.
    NonFinite {
        /// First offending row.
        row: usize,
        /// Its first offending column.
        column: usize,
        /// The value found.
        value: f64,
    },
    /// Every value is finite, but a mean or variance is not.
    Overflow {
        /// `"mean"`, `"variance"`, `"scale"`, …
        statistic: &'static str,
        /// First offending column.
        column: usize,
    },
    /// Observed entries lie so far apart that squares of their deviations leave no room for sums.
    SpreadTooLarge {
        /// The column of the largest sum of squared deviations.
        column: usize,
        /// The root of the mean square of the deviations.
        deviation: f64,
        /// The largest one allowed.
        most: f64,
        /// `"f32"` or `"f64"`.
        dtype: &'static str,
    },
    /// A vector of weights has another length than the data.
    WeightLength {
        /// Whose weights.
        of: Weighed,
        /// Entries given.
        found: usize,
        /// Entries needed.
        expected: usize,
    },
    /// A weight is negative, NaN or infinite.
    WeightValue {
        /// Whose weights.
        of: Weighed,
        /// First offending entry.
        index: usize,
        /// The value found.
        value: f64,
    },
    /// The weight of an entry is negative, NaN or infinite.
    EntryWeight {
        /// The row of the entry.
        row: usize,
        /// The column of the entry.
        column: usize,
        /// The value found.
        value: f64,
    },
    /// All weights are zero.
    WeightsAllZero {
        /// Whose weights.
        of: Weighed,
        /// Number of entries.
        n: usize,
    },
    /// One row without weights: the divisor `n - 1` is zero.
    OneSample,
    /// Frequency weights that sum to less than two observations: the divisor `s - 1` has no meaning.
    FrequencyTooSmall {
        /// The sum of the weights.
        sum: f64,
    },
    /// The sum of the weights, or of their squares, is beyond the range of f64.
    WeightSum {
        /// The sum of the weights.
        weight: f64,
        /// The sum of their squares.
        weight_squared: f64,
    },
    /// One row holds all the weight: the divisor `1 - sum v^2` is zero.
    ImportanceSingle {
        /// The row that holds the weight, where it is known.
        row: Option<usize>,
    },
    /// Shapes of two things that belong together differ.
    Shape {
        /// What was given.
        what: &'static str,
        /// `"rows"`, `"columns"` or `"values"`.
        axis: &'static str,
        /// The number found.
        found: usize,
        /// The number needed.
        expected: usize,
    },
    /// Strides and offset reach outside the buffer.
    Strides {
        /// Rows.
        n_rows: usize,
        /// Columns.
        n_cols: usize,
        /// Values from one row to the next.
        row_stride: isize,
        /// Values from one column to the next.
        col_stride: isize,
        /// Values before the first entry.
        offset: usize,
        /// Length of the buffer.
        len: usize,
    },
    /// The row pointer of a sparse matrix is malformed.
    SparsePointer {
        /// Offending entry.
        index: usize,
        /// Its value.
        value: i128,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// An index of a sparse matrix is out of range.
    SparseIndex {
        /// `"row"` (CSR) or `"column"` (CSC).
        axis: &'static str,
        /// The row or column.
        major: usize,
        /// The index found.
        index: i128,
        /// The number of columns or rows.
        bound: usize,
    },
    /// Indices of a sparse row or column are not strictly increasing.
    SparseOrder {
        /// `"row"` (CSR) or `"column"` (CSC).
        axis: &'static str,
        /// The row or column.
        major: usize,
        /// The index before.
        previous: usize,
        /// The offending index.
        next: usize,
    },
    /// An id of a triple is outside the shape.
    Triple {
        /// The offending entry.
        entry: usize,
        /// `"row"` or `"column"`.
        axis: &'static str,
        /// The id found.
        id: i128,
        /// The number of rows or columns.
        bound: usize,
    },
    /// An entry is given more than once.
    DuplicateEntry {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
    },
    /// Nothing was observed.
    NothingObserved {
        /// Rows of the data.
        n_samples: usize,
        /// Columns of the data.
        n_features: usize,
    },
    /// No entry could be set aside.
    NothingSetAside {
        /// The option that asks for it.
        option: OptionName,
        /// The share that was asked for.
        share: f64,
        /// Entries observed.
        n_observed: usize,
        /// Those of them that are not alone in their row or column.
        n_spare: usize,
    },
    /// More folds than entries that can be set aside.
    Folds {
        /// The folds asked for.
        n_folds: usize,
        /// Entries that are not alone in their row or column.
        n_spare: usize,
        /// Entries observed.
        n_observed: usize,
    },
    /// Blocks of rows have different numbers of columns.
    BlockColumns {
        /// Offending block.
        block: usize,
        /// Its columns.
        found: usize,
        /// Columns of the first.
        expected: usize,
    },
    /// An option is outside its rule.
    Option {
        /// The option.
        option: OptionName,
        /// What was given.
        value: OptionValue,
        /// The rule.
        rule: Phrase,
    },
    /// A product or moment of an operator is not what operators give.
    Operator {
        /// Which number.
        what: &'static str,
        /// What was found.
        value: f64,
        /// The rule.
        rule: &'static str,
    },
    /// An iterative solver stopped at its limit under `strict`.
    NotConverged {
        /// The solver.
        solver: &'static str,
        /// Components whose residual is below `tol`.
        converged: usize,
        /// Components asked for.
        requested: usize,
        /// Passes over the matrix.
        n_passes: usize,
        /// Which matrix: the data, or a kernel matrix.
        over: &'static str,
        /// The largest residual, relative to the largest eigenvalue.
        residual: f64,
        /// The tolerance.
        tol: f64,
        /// What to do.
        advice: Advice,
    },
    /// The model has no density: its covariance is singular.
    Degenerate {
        /// What is zero.
        what: &'static str,
        /// Which one.
        index: usize,
        /// What to do.
        advice: Advice,
    },
    /// A dense decomposition failed to converge.
    Decomposition {
        /// `"eigendecomposition"`, `"singular value decomposition"`.
        decomposition: &'static str,
        /// Rows.
        n_rows: usize,
        /// Columns.
        n_cols: usize,
    },
    /// The work needs more memory than can be had.
    Memory {
        /// The work, or the matrix.
        what: String,
        /// Bytes that it needs beside what is in use.
        bytes: f64,
        /// How much can be had, where that is known.
        available: Option<Available>,
        /// What would do, each by itself.
        advice: Vec<Advice>,
    },
    /// More rows or columns than their numbers have digits for.
    TooLarge {
        /// Rows of the data.
        n_samples: usize,
        /// Columns of the data.
        n_features: usize,
    },
    /// A score is beyond the range of the type of the data.
    ScoreOverflow {
        /// The row.
        row: usize,
        /// The component.
        component: usize,
        /// `"f32"` or `"f64"`.
        dtype: &'static str,
    },
    /// A value computed from scores is beyond the range of its type.
    ValueOverflow {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// `"f32"` or `"f64"`.
        dtype: &'static str,
    },
    /// A prediction, or its standard deviation, is beyond the range of f64.
    PredictionOverflow {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
    },
    /// The threads asked for could not be started.
    Threads {
        /// Threads asked for.
        threads: usize,
        /// The system's reason.
        reason: String,
    },
    /// The kernel has no meaning for negative values.
    NegativeValue {
        /// The first offending row.
        row: usize,
        /// Its first offending column.
        column: usize,
        /// The value found.
        value: f64,
        /// The kernel.
        kernel: &'static str,
    },
    /// A kernel value is NaN or beyond the range of the type of the data.
    KernelValue {
        /// The first offending row.
        row: usize,
    },
    /// A precomputed kernel matrix is not symmetric.
    NotSymmetric {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// The value there.
        value: f64,
        /// The value on the other side of the diagonal.
        mirrored: f64,
    },
    /// A wanted eigenvalue of the kernel matrix is far below zero.
    NegativeEigenvalue {
        /// The smallest of the wanted eigenvalues.
        smallest: f64,
        /// The largest.
        largest: f64,
        /// Which matrix: the centred one of all rows, or that of landmarks.
        matrix: &'static str,
        /// What would do, each by itself.
        advice: Vec<Advice>,
    },
    /// Work needs a second visit of a source that can be visited once.
    OnePass {
        /// The work: a route or a method.
        work: String,
        /// How to do without a second pass.
        way_out: &'static str,
    },
    /// A source failed while it was read.
    Read {
        /// The first row of the source that could not be read; `None` where it is not known, as for products.
        row: Option<usize>,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A number of a model is none that a fit gives.
    ModelValue {
        /// The part of the model.
        name: &'static str,
        /// What was found.
        value: String,
        /// The rule.
        rule: &'static str,
    },
    /// The record of a model or of an unfinished fit is damaged, or of another kind.
    Record {
        /// The damaged array, if it is an array.
        array: Option<String>,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A checkpoint was made by another fit.
    OtherFit {
        /// What differs.
        what: &'static str,
        /// What the checkpoint was made with.
        found: String,
        /// What was given now.
        expected: String,
    },
    /// A checkpoint was made with another value of an option.
    OtherOption {
        /// The option.
        option: OptionName,
        /// What the checkpoint was made with.
        found: Box<OptionValue>,
        /// What was given now.
        expected: Box<OptionValue>,
    },
    /// A checkpoint is damaged.
    CheckpointDamaged {
        /// The array.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A checkpoint could not be kept.
    CheckpointNotKept {
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The observer asked to stop.
    Stopped {
        /// What was being done.
        phase: &'static str,
    },
}

/// Whose weights an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighed {
    /// Those of rows.
    Samples,
    /// Those of columns.
    Features,
    /// Those of entries.
    Entries,
}

impl Weighed {
    /// The option that gives them.
    pub fn option(self) -> OptionName {
        match self {
            Self::Samples => options::SAMPLE_WEIGHTS,
            Self::Features => options::FEATURE_WEIGHTS,
            Self::Entries => options::ENTRY_WEIGHTS,
        }
    }

    /// One of them.
    pub(crate) fn singular(self) -> &'static str {
        match self {
            Self::Samples => "sample weight",
            Self::Features => "feature weight",
            Self::Entries => "entry weight",
        }
    }

    /// What each of them weighs.
    pub fn line(self) -> &'static str {
        match self {
            Self::Samples => "row",
            Self::Features => "column",
            Self::Entries => "entry",
        }
    }
}

impl Error {
    /// The error of all rows, given that of the rows from row `first` on.
    #[must_use]
    pub fn of_rows_from(mut self, first: usize) -> Self {
        match &mut self {
            Self::NonFinite { row, .. }
            | Self::NegativeValue { row, .. }
            | Self::ScoreOverflow { row, .. }
            | Self::ValueOverflow { row, .. }
            | Self::KernelValue { row } => *row += first,
            _ => {}
        }
        self
    }

    /// An option outside its rule.
    pub fn option(option: OptionName, value: impl Into<OptionValue>, rule: impl Into<Phrase>) -> Self {
        Self::Option { option, value: value.into(), rule: rule.into() }
    }

    /// The coarse kind of this error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::NComponents { .. }
            | Error::VarianceFraction { .. }
            | Error::FrequencyTooSmall { .. }
            | Error::ImportanceSingle { .. }
            | Error::Shape { .. }
            | Error::Option { .. }
            | Error::Operator { .. }
            | Error::NothingSetAside { .. }
            | Error::Folds { .. }
            | Error::OtherFit { .. }
            | Error::OtherOption { .. }
            | Error::OnePass { .. }
            | Error::Threads { .. } => ErrorKind::Argument,
            Error::Empty { .. }
            | Error::OneSample
            | Error::NonFinite { .. }
            | Error::Overflow { .. }
            | Error::SpreadTooLarge { .. }
            | Error::Strides { .. }
            | Error::SparsePointer { .. }
            | Error::SparseIndex { .. }
            | Error::SparseOrder { .. }
            | Error::Triple { .. }
            | Error::DuplicateEntry { .. }
            | Error::NothingObserved { .. }
            | Error::BlockColumns { .. }
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
            | Error::NotSymmetric { .. }
            | Error::NegativeEigenvalue { .. }
            | Error::Decomposition { .. } => ErrorKind::Data,
            // A limit that was given is an option to change.
            Error::Memory { available: Some(Available { limit: MemoryLimit::Option, .. }), .. } => {
                ErrorKind::Argument
            }
            Error::Memory { .. } => ErrorKind::Memory,
            Error::Read { .. } | Error::CheckpointNotKept { .. } => ErrorKind::Io,
            Error::NotConverged { .. } => ErrorKind::NotConverged,
            Error::Stopped { .. } => ErrorKind::Stopped,
        }
    }
}
