//! Errors of the library: one enum, one message each, and a small closed kind to act on.

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
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The number of components is outside its range.
    #[error(
        "n_components = {requested} is outside {min}..={max} for data of shape ({n_samples}, {n_features}); \
         ask for at most {max}, or add samples or features"
    )]
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
    #[error("the fraction of variance {fraction} is outside 0 < fraction <= 1")]
    VarianceFraction {
        /// What was asked for.
        fraction: f64,
    },
    /// The data have no row or no column.
    #[error(
        "data of shape ({n_samples}, {n_features}) hold no values; at least one row and one column are needed"
    )]
    Empty {
        /// Rows of the data.
        n_samples: usize,
        /// Columns of the data.
        n_features: usize,
    },
    /// A value is NaN or infinite.
    #[error("row {row}, column {column} is {value}; {}", non_finite_advice(*.value))]
    NonFinite {
        /// First offending row.
        row: usize,
        /// Its first offending column.
        column: usize,
        /// The value found.
        value: f64,
    },
    /// Every value is finite, but a mean or variance is not.
    #[error(
        "the {statistic} of column {column} is beyond the range of f64; \
         multiply or divide that column by a constant before fitting"
    )]
    Overflow {
        /// `"mean"`, `"variance"`, `"scale"`, …
        statistic: &'static str,
        /// First offending column.
        column: usize,
    },
    /// Observed entries lie so far apart that squares of their deviations leave no room for sums.
    #[error(
        "the observed entries lie about {deviation:.1e} from the means of their columns, column {column} the farthest; fits \
         with missing values add up squares, which {dtype} has room for up to deviations of {most:.0e}: {}",
        room_advice(dtype)
    )]
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
    #[error("{what}: length {found}, but the data have {expected} {axis}; give one weight for each")]
    WeightLength {
        /// `"sample weights"` or `"feature weights"`.
        what: &'static str,
        /// `"rows"` or `"columns"`.
        axis: &'static str,
        /// Entries given.
        found: usize,
        /// Entries needed.
        expected: usize,
    },
    /// A weight is negative, NaN or infinite.
    #[error("{what}: entry {index} is {value}; a weight must be finite and not negative")]
    WeightValue {
        /// `"sample weights"` or `"feature weights"`.
        what: &'static str,
        /// First offending entry.
        index: usize,
        /// The value found.
        value: f64,
    },
    /// The weight of an entry is negative, NaN or infinite.
    #[error("entry weights: row {row}, column {column} is {value}; a weight must be finite and not negative")]
    EntryWeight {
        /// The row of the entry.
        row: usize,
        /// The column of the entry.
        column: usize,
        /// The value found.
        value: f64,
    },
    /// All weights are zero.
    #[error("{what}: all {n} entries are zero; at least one must be positive")]
    WeightsAllZero {
        /// `"sample weights"` or `"feature weights"`.
        what: &'static str,
        /// Number of entries.
        n: usize,
    },
    /// One row without weights: the divisor `n - 1` is zero.
    #[error(
        "the data have one row, so the divisor n - 1 is zero; give at least two rows, or use weighting `population` \
         (divisor n)"
    )]
    OneSample,
    /// Frequency weights that sum to less than two observations: the divisor `s - 1` has no meaning.
    #[error(
        "frequency weights sum to {sum:?}, but a variance with the divisor sum - 1 needs at least 2 observations; \
         use weighting `importance` (a constant factor changes nothing) or `population` (divisor sum), \
         or give the number of times each row was seen"
    )]
    FrequencyTooSmall {
        /// The sum of the weights.
        sum: f64,
    },
    /// The sum of the weights, or of their squares, is beyond the range of f64.
    #[error(
        "the weights sum to {weight:e} and their squares to {weight_squared:e}, beyond the range of f64; \
         multiply or divide all of them by a constant"
    )]
    WeightSum {
        /// The sum of the weights.
        weight: f64,
        /// The sum of their squares.
        weight_squared: f64,
    },
    /// One row holds all the weight: the divisor `1 - sum v^2` is zero.
    #[error(
        "one row{} holds all the importance weight, so the divisor 1 - sum(v^2) is zero; \
         use weighting `population`, or give weight to at least two rows", in_parentheses(*.row)
    )]
    ImportanceSingle {
        /// The row that holds the weight, where it is known.
        row: Option<usize>,
    },
    /// Shapes of two things that belong together differ.
    #[error("{what} has {found} {axis}, but {expected} are needed")]
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
    #[error(
        "an array of shape ({n_rows}, {n_cols}) with strides ({row_stride}, {col_stride}) and offset {offset} \
         reaches outside its buffer of {len} values"
    )]
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
    #[error("sparse pointer array: entry {index} is {value}, {rule}")]
    SparsePointer {
        /// Offending entry.
        index: usize,
        /// Its value.
        value: i128,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// An index of a sparse matrix is out of range.
    #[error("sparse {axis} {major} holds the index {index}, outside 0..{bound}")]
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
    #[error(
        "sparse {axis} {major}: index {next} follows {previous}, but indices must increase strictly; \
         `Sparse::canonical` sorts them and sums duplicates"
    )]
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
    #[error("entry {entry}: {axis} {id} is outside 0..{bound}")]
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
    #[error(
        "row {row}, column {column} is given more than once; remove all but one, or ask for duplicates to be averaged"
    )]
    DuplicateEntry {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
    },
    /// Nothing was observed.
    #[error("none of the {n_samples} x {n_features} entries is observed; at least one is needed")]
    NothingObserved {
        /// Rows of the data.
        n_samples: usize,
        /// Columns of the data.
        n_features: usize,
    },
    /// No entry could be set aside.
    #[error("{option} = {share} sets none of the {n_observed} observed entries aside: {}", none_aside(*share, *n_observed, *n_spare))]
    NothingSetAside {
        /// The option that asks for it.
        option: &'static str,
        /// The share that was asked for.
        share: f64,
        /// Entries observed.
        n_observed: usize,
        /// Those of them that are not alone in their row or column.
        n_spare: usize,
    },
    /// More folds than entries that can be set aside.
    #[error(
        "n_folds = {n_folds} is more than the {n_spare} entries that can be set aside{}; {}",
        alone(*n_observed, *n_spare), fewer_folds(*n_spare)
    )]
    Folds {
        /// The folds asked for.
        n_folds: usize,
        /// Entries that are not alone in their row or column.
        n_spare: usize,
        /// Entries observed.
        n_observed: usize,
    },
    /// Blocks of rows have different numbers of columns.
    #[error("row block {block} has {found} columns, but the first has {expected}")]
    BlockColumns {
        /// Offending block.
        block: usize,
        /// Its columns.
        found: usize,
        /// Columns of the first.
        expected: usize,
    },
    /// An option is outside its rule. Other options that the rule names stand in backticks.
    #[error("{option} = {value} is not allowed: {rule}")]
    Option {
        /// The name of the option.
        option: &'static str,
        /// What was given.
        value: String,
        /// The rule.
        rule: &'static str,
    },
    /// An iterative solver stopped at its limit under `strict`.
    #[error(
        "solver {solver}: {converged} of {requested} components converged in {} over {over} \
         (worst residual {residual:.1e}, tol {tol:.1e}); {advice}", passes(*.n_passes)
    )]
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
        advice: &'static str,
    },
    /// The model has no density: its covariance is singular.
    #[error("the {what} {index} is zero, so the covariance of the model is singular; {advice}")]
    Degenerate {
        /// What is zero.
        what: &'static str,
        /// Which one.
        index: usize,
        /// What to do.
        advice: &'static str,
    },
    /// A dense decomposition failed to converge.
    #[error(
        "the {decomposition} of a {n_rows} x {n_cols} matrix did not converge; check the data for extreme values"
    )]
    Decomposition {
        /// `"eigendecomposition"`, `"singular value decomposition"`.
        decomposition: &'static str,
        /// Rows.
        n_rows: usize,
        /// Columns.
        n_cols: usize,
    },
    /// The work needs more memory than can be had. Options that the texts name stand in backticks.
    #[error("{what} needs {} of memory, {}; {advice}", size(*.bytes), but(.available))]
    Memory {
        /// The work, or the matrix.
        what: String,
        /// Bytes that it needs beside what is in use.
        bytes: f64,
        /// How much can be had, where that is known.
        available: Option<Available>,
        /// What would do.
        advice: String,
    },
    /// More rows or columns than their numbers have digits for.
    #[error(
        "data of shape ({n_samples}, {n_features}) have more than 4294967295 rows or columns; check the shape"
    )]
    TooLarge {
        /// Rows of the data.
        n_samples: usize,
        /// Columns of the data.
        n_features: usize,
    },
    /// A score is beyond the range of the type of the data.
    #[error(
        "row {row}: the score on component {component} is beyond the range of {dtype}; \
         give the data as f64, or divide them and the model's data by a constant"
    )]
    ScoreOverflow {
        /// The row.
        row: usize,
        /// The component.
        component: usize,
        /// `"f32"` or `"f64"`.
        dtype: &'static str,
    },
    /// A value computed from scores is beyond the range of its type.
    #[error(
        "row {row}, column {column}: the value that the scores stand for is beyond the range of {dtype}; \
         check the scores, or give them as f64"
    )]
    ValueOverflow {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// `"f32"` or `"f64"`.
        dtype: &'static str,
    },
    /// A prediction, or its standard deviation, is beyond the range of f64.
    #[error(
        "row {row}, column {column}: the prediction or its standard deviation is beyond the range of its type; the model holds \
         values that are too large: fit it again, to data of usual size"
    )]
    PredictionOverflow {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
    },
    /// The threads asked for could not be started.
    #[error("{threads} threads could not be started: {reason}")]
    Threads {
        /// Threads asked for.
        threads: usize,
        /// The system's reason.
        reason: String,
    },
    /// The kernel has no meaning for negative values.
    #[error("row {row}, column {column} is {value}, but the kernel {kernel} is defined for values >= 0 only")]
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
    #[error(
        "a kernel value of row {row} is not a finite number; divide the data by a constant, choose a smaller gamma or \
         degree (a whole one where values are raised to it that may be negative), or correct the kernel function"
    )]
    KernelValue {
        /// The first offending row.
        row: usize,
    },
    /// A precomputed kernel matrix is not symmetric.
    #[error(
        "the kernel matrix is not symmetric: row {row}, column {column} is {value:?}, but row {column}, column {row} \
         is {mirrored:?}"
    )]
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
    #[error(
        "the kernel is not positive semi-definite: among the wanted eigenvalues of {matrix} is {smallest:.3e}, the \
         largest is {largest:.3e}; {advice}"
    )]
    NegativeEigenvalue {
        /// The smallest of the wanted eigenvalues.
        smallest: f64,
        /// The largest.
        largest: f64,
        /// Which matrix: the centred one of all rows, or that of landmarks.
        matrix: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// A source failed while it was read.
    #[error("reading the data failed at row {row}: {source}")]
    Read {
        /// The row from which reading failed.
        row: usize,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A number of a model is none that a fit gives.
    #[error(
        "{name} of the model is {value}: {rule}; a model from a file is damaged, fit it again; a fit of very large values needs \
         them divided by a constant"
    )]
    ModelValue {
        /// The part of the model.
        name: &'static str,
        /// What was found.
        value: String,
        /// The rule.
        rule: &'static str,
    },
    /// A checkpoint was made by another fit.
    #[error(
        "the checkpoint was made with other {what} ({found}, now {expected}); resume with those, or fit anew"
    )]
    OtherFit {
        /// What differs.
        what: &'static str,
        /// What the checkpoint was made with.
        found: String,
        /// What was given now.
        expected: String,
    },
    /// A checkpoint was made with another value of an option.
    #[error(
        "the checkpoint was made with {option} = {found}, now it is {expected}; resume with the same, or fit anew"
    )]
    OtherOption {
        /// The name of the option.
        option: &'static str,
        /// What the checkpoint was made with.
        found: String,
        /// What was given now.
        expected: String,
    },
    /// A checkpoint is damaged.
    #[error("the checkpoint is damaged: `{name}` {problem}; fit anew")]
    CheckpointDamaged {
        /// The array.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A checkpoint could not be kept.
    #[error("keeping a checkpoint failed: {source}")]
    CheckpointNotKept {
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The observer asked to stop.
    #[error("stopped on request during {phase}; nothing was fitted")]
    Stopped {
        /// What was being done.
        phase: &'static str,
    },
}

fn non_finite_advice(value: f64) -> &'static str {
    if value.is_nan() {
        "remove or impute it, or fit an `IncompletePca`, which takes missing values"
    } else {
        "remove it or replace it by a finite number"
    }
}

fn passes(n: usize) -> String {
    if n == 1 { "1 pass".to_owned() } else { format!("{n} passes") }
}

/// What makes room for squares.
fn room_advice(dtype: &str) -> &'static str {
    match dtype {
        "f32" => "give the data as f64, or divide them by a constant",
        _ => "divide the data by a constant",
    }
}

fn none_aside(share: f64, n_observed: usize, n_spare: usize) -> String {
    if n_spare == 0 {
        return "each is alone in its row or column, which would have none left; give more entries, or set none aside"
            .to_owned();
    }
    let least = 0.5 / n_observed as f64;
    let wanted = share * n_observed as f64;
    format!("{share} of them is {wanted:.2}, less than half an entry; ask for at least {least:.2e} of them")
}

fn alone(n_observed: usize, n_spare: usize) -> String {
    match n_observed - n_spare {
        0 => String::new(),
        1 => format!(" (of {n_observed} observed, 1 is alone in its row or column)"),
        n => format!(" (of {n_observed} observed, {n} are alone in their row or column)"),
    }
}

fn fewer_folds(n_spare: usize) -> String {
    if n_spare < 2 {
        "cross-validation needs two such entries".to_owned()
    } else {
        format!("ask for at most {n_spare}")
    }
}

fn in_parentheses(row: Option<usize>) -> String {
    row.map_or_else(String::new, |row| format!(" (row {row})"))
}

impl Error {
    /// The coarse kind of this error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::NComponents { .. }
            | Error::VarianceFraction { .. }
            | Error::FrequencyTooSmall { .. }
            | Error::ImportanceSingle { .. }
            | Error::Shape { .. }
            | Error::Option { .. }
            | Error::NothingSetAside { .. }
            | Error::Folds { .. }
            | Error::OtherFit { .. }
            | Error::OtherOption { .. }
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

/// What holds memory back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryLimit {
    /// The option `memory_limit` of the work.
    Option,
    /// Half of what the process may have, where that option was not given.
    Half,
    /// The limit on the address space or the data of the process (`ulimit -v`, `ulimit -d`).
    Process,
    /// The limit of a control group that the process is in: of a container, or a job.
    ControlGroup,
    /// What the machine has free, swap space included.
    Machine,
}

/// How much memory can be had.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Available {
    /// Bytes.
    pub bytes: f64,
    /// What leaves no more.
    pub limit: MemoryLimit,
}

impl std::fmt::Display for Available {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = size(self.bytes);
        match self.limit {
            MemoryLimit::Option => write!(f, "`memory_limit` is {bytes}"),
            MemoryLimit::Half => write!(f, "half of what the process may have is {bytes}"),
            MemoryLimit::Process => write!(f, "the limits of the process (ulimit) leave {bytes}"),
            MemoryLimit::ControlGroup => write!(f, "the limit of its control group leaves {bytes}"),
            MemoryLimit::Machine => write!(f, "the machine has {bytes} left"),
        }
    }
}

/// A number of bytes as people read it.
pub fn size(bytes: f64) -> String {
    match bytes {
        b if (0.5..1.5).contains(&b) => "1 byte".to_owned(),
        b if b < 1e3 => format!("{b:.0} bytes"),
        b if b < 1e6 => format!("{:.0} kB", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.1} GB", b / 1e9),
    }
}

fn but(available: &Option<Available>) -> String {
    available.map_or_else(|| "which cannot be had".to_owned(), |available| format!("but {available}"))
}
