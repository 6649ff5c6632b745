//! Errors of the library: one enum with typed fields, and a closed kind of few variants for dispatch.
//! [`Error::text_for`] formats an error for a surface (Rust, the command line, Python) with its spelling of the
//! options.

pub mod advice;
pub mod categories;
pub mod kind;
pub mod memory;
pub mod message;
pub mod option;
pub mod phrase;
pub mod weighed;

pub use advice::Advice;
pub use categories::CategoryFault;
pub use kind::ErrorKind;
pub use memory::rounded_up;
pub use memory::{Available, MemoryLimit, size};
pub use option::{OptionName, OptionValue, options};
pub use phrase::{Fields, Phrase, Surface};
pub use weighed::Weighed;

/// A result of this library.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the library. Rows, columns and indices count from zero.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The number of components is outside its range.
    NComponents {
        /// Number of components requested.
        requested: usize,
        /// The smallest valid number: 0 if a fit without components is defined, otherwise 1.
        min: usize,
        /// The largest valid number: min(n_samples, n_features), or n_samples for a kernel matrix.
        max: usize,
        /// Rows of the data.
        n_samples: usize,
        /// Columns of the data.
        n_features: usize,
    },
    /// The fraction of variance to reach is outside (0, 1].
    VarianceFraction {
        /// Fraction requested.
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
    /// A value of a row of weight zero is NaN or infinite.
    NonFiniteUnweighted {
        /// First offending row.
        row: usize,
        /// Its first offending column.
        column: usize,
        /// The value found.
        value: f64,
    },
    /// A value is not a count out of two, which binomial scales need.
    NoCount {
        /// First offending row.
        row: usize,
        /// Its first offending column.
        column: usize,
        /// The value found.
        value: f64,
    },
    /// Columns vary, but all variances are below the smallest number of full precision.
    Underflow {
        /// The column that varies most.
        column: usize,
    },
    /// Every value is finite, but a mean or variance is not.
    Overflow {
        /// `"mean"`, `"variance"`, `"scale"`, …
        statistic: &'static str,
        /// First offending column.
        column: usize,
    },
    /// Deviations of the observed entries are so large that sums of their squares may overflow.
    SpreadTooLarge {
        /// The column of the largest sum of squared deviations.
        column: usize,
        /// Root mean square of the deviations.
        deviation: f64,
        /// Largest root mean square allowed.
        most: f64,
        /// `"f32"` or `"f64"`.
        dtype: &'static str,
    },
    /// A vector of weights has another length than the data.
    WeightLength {
        /// Kind of weights.
        of: Weighed,
        /// Number of weights given.
        found: usize,
        /// Number of weights required.
        expected: usize,
    },
    /// A weight is negative, NaN or infinite.
    WeightValue {
        /// Kind of weights.
        of: Weighed,
        /// Index of the first offending weight.
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
        /// Kind of weights.
        of: Weighed,
        /// Number of weights.
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
        /// The row that holds all the weight, if known.
        row: Option<usize>,
    },
    /// The shape of an argument does not agree with the data, the model or another argument.
    Shape {
        /// Name of the argument, for messages.
        what: &'static str,
        /// Items counted: `"rows"`, `"columns"`, `"values"`, …
        axis: &'static str,
        /// Number found.
        found: usize,
        /// Number required.
        expected: usize,
    },
    /// Strides and offset reach outside the buffer.
    Strides {
        /// Number of rows.
        n_rows: usize,
        /// Number of columns.
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
        /// The rule that the value breaks.
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
    /// No entry is observed.
    NothingObserved {
        /// Rows of the data.
        n_samples: usize,
        /// Columns of the data.
        n_features: usize,
    },
    /// A column has no value from which its missing ones could be filled.
    EmptyColumn {
        /// The first such column.
        column: usize,
    },
    /// No entry could be held out.
    NothingSetAside {
        /// The option that sets the fraction.
        option: OptionName,
        /// Fraction of the observed entries requested.
        share: f64,
        /// Number of observed entries.
        n_observed: usize,
        /// Number of observed entries that are not alone in their row or column.
        n_spare: usize,
    },
    /// More folds than entries that can be held out.
    Folds {
        /// Number of folds requested.
        n_folds: usize,
        /// Number of observed entries that are not alone in their row or column.
        n_spare: usize,
        /// Number of observed entries.
        n_observed: usize,
    },
    /// Blocks of rows have different numbers of columns.
    BlockColumns {
        /// Offending block.
        block: usize,
        /// Number of its columns.
        found: usize,
        /// Number of columns of the first block.
        expected: usize,
    },
    /// An option is outside its rule.
    Option {
        /// The option.
        option: OptionName,
        /// The value given.
        value: OptionValue,
        /// The rule.
        rule: Phrase,
    },
    /// A number given for a column is outside its rule.
    ColumnValue {
        /// The option.
        option: OptionName,
        /// The first offending column.
        column: usize,
        /// The value found.
        value: f64,
        /// The rule.
        rule: &'static str,
    },
    /// A product or moment returned by an operator breaks the contract of operators.
    Operator {
        /// Name of the number, for messages.
        what: &'static str,
        /// The value found.
        value: f64,
        /// The rule.
        rule: &'static str,
    },
    /// An iterative solver stopped at its limit under `strict`.
    NotConverged {
        /// The solver.
        solver: &'static str,
        /// Number of components whose residual is below `tol`.
        converged: usize,
        /// Number of components requested.
        requested: usize,
        /// Number of passes over the matrix.
        n_passes: usize,
        /// The matrix of the passes: `"the data"` or `"the kernel matrix"`.
        over: &'static str,
        /// The largest residual, relative to the largest eigenvalue.
        residual: f64,
        /// The tolerance.
        tol: f64,
        /// The remedy.
        advice: Advice,
    },
    /// The model has no density: its covariance is singular.
    Degenerate {
        /// Name of the number that is zero, for messages.
        what: &'static str,
        /// Column or component of that number.
        index: usize,
        /// The remedy.
        advice: Advice,
    },
    /// A dense decomposition failed to converge.
    Decomposition {
        /// `"eigendecomposition"`, `"singular value decomposition"`.
        decomposition: &'static str,
        /// Number of rows.
        n_rows: usize,
        /// Number of columns.
        n_cols: usize,
    },
    /// The work needs more memory than is available.
    Memory {
        /// Name of the work or of the matrix, for messages.
        what: String,
        /// Memory estimate in bytes, without the memory already in use.
        bytes: f64,
        /// Available memory, if known.
        available: Option<Available>,
        /// Alternative remedies.
        advice: Vec<Advice>,
    },
    /// More than 2^32 - 1 rows or columns.
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
    /// The requested threads could not be started.
    Threads {
        /// Number of threads requested.
        threads: usize,
        /// Error message of the system.
        reason: String,
    },
    /// The kernel is undefined for negative values.
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
        /// The matrix: `"the kernel matrix"` or `"the covariance matrix"`.
        matrix: &'static str,
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// The value at (row, column).
        value: f64,
        /// The value at (column, row).
        mirrored: f64,
    },
    /// A matrix of covariances has a negative variance or eigenvalue.
    NotCovariance {
        /// The column of the variance; `None` for the smallest eigenvalue.
        column: Option<usize>,
        /// The variance or eigenvalue.
        value: f64,
    },
    /// A requested eigenvalue of the kernel matrix is far below zero.
    NegativeEigenvalue {
        /// Smallest of the requested eigenvalues.
        smallest: f64,
        /// Largest eigenvalue.
        largest: f64,
        /// The matrix: `"the kernel matrix"` or `"the kernel matrix of the landmarks"`.
        matrix: &'static str,
        /// Alternative remedies.
        advice: Vec<Advice>,
    },
    /// A rule for the number of components needs variances that the fit left out.
    Truncated {
        /// The rule.
        rule: &'static str,
        /// Number of variances that the fit kept.
        kept: usize,
        /// Number of variances that the rule needs.
        all: usize,
    },
    /// A table of categories and numbers cannot be analysed.
    Categories(CategoryFault),
    /// The work takes several visits of a source that can be visited once.
    OnePass {
        /// Name of the work, such as a route or a method.
        work: String,
        /// The remedy.
        way_out: &'static str,
    },
    /// An error of one part of the data of a cluster.
    Part {
        /// Number of the part, from 0.
        part: usize,
        /// Its error.
        source: Box<Error>,
    },
    /// Two parts have different numbers of columns.
    PartColumns {
        /// Number of the part.
        part: usize,
        /// Its number of columns.
        found: usize,
        /// Number of an earlier part.
        first: usize,
        /// The number of columns of that part.
        expected: usize,
    },
    /// A part changed between two passes.
    PartChanged {
        /// Number of the part.
        part: usize,
        /// Its number of rows in the first pass.
        rows_before: usize,
        /// Its number of rows now.
        rows_now: usize,
    },
    /// The results of an engine do not cover all parts.
    Parts {
        /// The problem.
        problem: String,
    },
    /// A source failed while it was read.
    Read {
        /// First row of the source that could not be read; `None` if unknown, as for products.
        row: Option<usize>,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A device that computes products, such as a GPU, is not there or failed.
    Device {
        /// True if its memory is too small.
        is_memory: bool,
        /// The cause, with a way out.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A value of a model violates its rule.
    ModelValue {
        /// The part of the model.
        name: &'static str,
        /// The value found.
        value: String,
        /// The rule.
        rule: &'static str,
    },
    /// The record of a model or of an unfinished fit is damaged, or of another kind.
    Record {
        /// The damaged array; `None` if the error concerns no single array.
        array: Option<String>,
        /// The problem and the remedy.
        problem: String,
    },
    /// A checkpoint was made by another fit.
    OtherFit {
        /// Name of the part of the fit that differs, for messages.
        what: &'static str,
        /// Its value in the checkpoint.
        found: String,
        /// Its value in the present fit.
        expected: String,
    },
    /// A checkpoint was made with another value of an option.
    OtherOption {
        /// The option.
        option: OptionName,
        /// Its value in the checkpoint.
        found: Box<OptionValue>,
        /// Its value in the present fit.
        expected: Box<OptionValue>,
    },
    /// A checkpoint is damaged.
    CheckpointDamaged {
        /// Name of the damaged array.
        name: String,
        /// The damage.
        problem: &'static str,
    },
    /// A checkpoint could not be written.
    CheckpointNotKept {
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The observer cancelled the work.
    Stopped {
        /// Name of the interrupted phase.
        phase: &'static str,
    },
}

impl Error {
    /// Converts an error of the rows from `first` on to one of all rows: adds `first` to the row number.
    #[must_use]
    pub fn of_rows_from(mut self, first: usize) -> Self {
        match &mut self {
            Self::NonFinite { row, .. }
            | Self::NonFiniteUnweighted { row, .. }
            | Self::NoCount { row, .. }
            | Self::NegativeValue { row, .. }
            | Self::ScoreOverflow { row, .. }
            | Self::ValueOverflow { row, .. }
            | Self::KernelValue { row } => *row += first,
            _ => {}
        }
        self
    }

    /// Returns the error of an option outside its rule.
    pub fn option(option: OptionName, value: impl Into<OptionValue>, rule: impl Into<Phrase>) -> Self {
        Self::Option { option, value: value.into(), rule: rule.into() }
    }
}
