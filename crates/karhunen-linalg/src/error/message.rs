//! The messages of errors, formatted for a surface.

use crate::error::Error;
use crate::error::advice::Advice;
use crate::error::memory::size;
use crate::error::option::{OptionValue, options};
use crate::error::phrase::{Fields, Surface};

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text_for(&Fields))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Read { source, .. }
            | Error::Device { source, .. }
            | Error::CheckpointNotKept { source } => Some(&**source),
            _ => None,
        }
    }
}

impl Error {
    /// Formats the message for a surface.
    pub fn text_for(&self, surface: &dyn Surface) -> String {
        let weighting = |name| surface.setting(options::WEIGHTING, &OptionValue::name(name));
        match self {
            // Options and resources.
            Error::NComponents { requested, min, max, n_samples, n_features } => format!(
                "{} is outside {min}..={max} for data of shape ({n_samples}, {n_features}); ask for at most {max}, or add \
                 samples or features",
                surface.setting(options::N_COMPONENTS, &OptionValue::from(*requested))
            ),
            Error::VarianceFraction { fraction } => {
                format!("the fraction of variance {fraction} is outside 0 < fraction <= 1")
            }
            Error::Option { option, value, rule } => {
                format!("{} is not allowed: {}", surface.setting(*option, value), rule.text_for(surface))
            }
            Error::ColumnValue { option, column, value, rule } => {
                format!("{} of {} is {value}: {rule}", surface.option(*option), surface.column(*column))
            }
            Error::Operator { what, value, rule } => {
                format!("{what} is {value}, which is not allowed: {rule}")
            }
            Error::NothingSetAside { option, share, n_observed, n_spare } => format!(
                "{} holds out none of the {n_observed} observed entries: {}",
                surface.setting(*option, &OptionValue::from(*share)),
                none_aside(*share, *n_observed, *n_spare)
            ),
            Error::Folds { n_folds, n_spare, n_observed } => format!(
                "{} is more than the {n_spare} entries that can be held out{}; {}",
                surface.setting(options::N_FOLDS, &OptionValue::from(*n_folds)),
                alone(*n_observed, *n_spare),
                fewer_folds(*n_spare)
            ),
            Error::NotConverged { solver, converged, requested, n_passes, over, residual, tol, advice } => {
                format!(
                    "solver {solver}: {converged} of {requested} components converged in {} over {over} (worst residual \
                     {residual:.1e}, tol {tol:.1e}); {}",
                    passes(*n_passes),
                    advice.text_for(surface)
                )
            }
            Error::Degenerate { what, index, advice } => format!(
                "the {what} {index} is zero, so the covariance of the model is singular; {}",
                advice.text_for(surface)
            ),
            Error::Memory { what, bytes, available, advice } => {
                let but = match available {
                    Some(available) => format!("but {}", available.text_for(surface)),
                    None => "which cannot be had".to_owned(),
                };
                let advice = Advice::text_for_all(advice, surface);
                format!("{what} needs {} of memory, {but}; {advice}", size(*bytes))
            }
            Error::Threads { threads, reason } => {
                format!("{threads} threads could not be started: {reason}")
            }
            Error::NegativeEigenvalue { smallest, largest, matrix, advice } => format!(
                "the kernel is not positive semi-definite: among the wanted eigenvalues of {matrix} is {smallest:.3e}, the \
                 largest is {largest:.3e}; {}",
                Advice::text_for_all(advice, surface)
            ),
            Error::OtherFit { what, found, expected } => format!(
                "the checkpoint was made with other {what} ({found}, now {expected}); resume with those, or fit \
                 again"
            ),
            Error::OtherOption { option, found, expected } => format!(
                "the checkpoint was made with {}, now there is {}; resume with the same, or fit again",
                surface.setting(*option, found),
                surface.setting(*option, expected)
            ),
            Error::CheckpointDamaged { name, problem } => {
                format!("the checkpoint is damaged: `{name}` {problem}; fit again")
            }
            Error::CheckpointNotKept { source } => format!("keeping a checkpoint failed: {source}"),
            Error::Record { array: Some(name), problem } => format!("`{name}`: {problem}"),
            Error::Record { array: None, problem } => problem.clone(),
            Error::ModelValue { name, value, rule } => format!(
                "{name} of the model is {value}: {rule}; a model from a file is damaged, fit it again; a fit of very large \
                 values needs them divided by a constant"
            ),
            Error::Stopped { phase } => format!("stopped on request during {phase}; nothing was fitted"),
            // Weights.
            Error::WeightLength { of, found, expected } => format!(
                "there {} for {}; give one weight for each {}",
                are(*found, of.singular()),
                n_of(*expected, of.line()),
                of.line()
            ),
            Error::WeightValue { of, index, value } => format!(
                "{}s: entry {index} is {value}; a weight must be finite and not negative",
                of.singular()
            ),
            Error::EntryWeight { row, column, value } => format!(
                "entry weights: {}, {} is {value}; a weight must be finite and not negative",
                surface.row(*row),
                surface.column(*column)
            ),
            Error::WeightsAllZero { of, n } => {
                format!("{}s: all {n} entries are zero; at least one must be positive", of.singular())
            }
            Error::OneSample => format!(
                "the data have one row, so the divisor n - 1 is zero; give at least two rows, or use {} (divisor n)",
                weighting("population")
            ),
            Error::FrequencyTooSmall { sum } => format!(
                "frequency weights sum to {sum:?}, but a variance with the divisor sum - 1 needs at least 2 observations; \
                 use {} (a constant factor changes nothing) or {} (divisor sum), or give the number of times each row \
                 was seen",
                weighting("importance"),
                weighting("population")
            ),
            Error::WeightSum { weight, weight_squared } => format!(
                "the weights sum to {weight:e} and their squares to {weight_squared:e}, beyond the range of f64; multiply or \
                 divide all of them by a constant"
            ),
            Error::ImportanceSingle { row } => {
                let row = row.map_or_else(String::new, |row| format!(" ({})", surface.row(row)));
                format!(
                    "one row{row} holds all the importance weight, so the divisor 1 - sum(v^2) is zero; use {}, or give \
                     weight to at least two rows",
                    weighting("population")
                )
            }
            // Data.
            Error::Empty { n_samples, n_features } => format!(
                "data of shape ({n_samples}, {n_features}) hold no values; at least one row and one column are needed"
            ),
            Error::NonFinite { row: i, column: j, value } => {
                let advice = if value.is_nan() {
                    format!("remove or impute it, or {}", surface.fit_missing())
                } else {
                    "remove it or replace it by a finite number".to_owned()
                };
                format!("{}, {} is {value}; {advice}", surface.row(*i), surface.column(*j))
            }
            Error::NonFiniteUnweighted { row: i, column: j, value } => format!(
                "{}, {} is {value}; the row has weight zero and does not count, but its values are read: leave the row out, \
                 or give it any numbers",
                surface.row(*i),
                surface.column(*j)
            ),
            Error::NoCount { row: i, column: j, value } => format!(
                "{}, {} is {value}, and binomial scales need counts from 0 to 2; if that is a code of a missing genotype, \
                 give a missing value, and {}",
                surface.row(*i),
                surface.column(*j),
                surface.fit_missing()
            ),
            Error::Underflow { column: j } => format!(
                "the variance of every column is below the range of f64, of which {} has the largest; multiply the data by a \
                 constant before fitting",
                surface.column(*j)
            ),
            Error::Overflow { statistic, column: j } => format!(
                "the {statistic} of {} is beyond the range of f64; multiply or divide that column by a constant before \
                 fitting",
                surface.column(*j)
            ),
            Error::SpreadTooLarge { column: j, deviation, most, dtype } => format!(
                "the observed entries lie about {deviation:.1e} from the means of their columns, {} the farthest; fits with \
                 missing values add up squares, which {dtype} has room for up to deviations of {most:.0e}: {}",
                surface.column(*j),
                room_advice(dtype)
            ),
            Error::Shape { what, axis, found, expected } => format!(
                "{what}: {}, but {expected} {} needed",
                n_of(*found, axis.strip_suffix('s').unwrap_or(axis)),
                if *expected == 1 { "is" } else { "are" }
            ),
            Error::Strides { n_rows, n_cols, row_stride, col_stride, offset, len } => format!(
                "an array of shape ({n_rows}, {n_cols}) with strides ({row_stride}, {col_stride}) and offset {offset} \
                 reaches outside its buffer of {len} values"
            ),
            Error::SparsePointer { index, value, rule } => {
                format!("sparse pointer array: entry {index} is {value}, {rule}")
            }
            Error::SparseIndex { axis, major, index, bound } => {
                format!("sparse {axis} {major} holds the index {index}, outside 0..{bound}")
            }
            Error::SparseOrder { axis, major, previous, next } => format!(
                "sparse {axis} {major}: index {next} follows {previous}, but indices must increase strictly; \
                 `Sparse::canonical` sorts them and sums duplicates"
            ),
            Error::Triple { entry, axis, id, bound } => {
                format!("entry {entry}: {axis} {id} is outside 0..{bound}")
            }
            Error::DuplicateEntry { row: i, column: j } => format!(
                "{}, {} is given more than once; remove all but one, or ask for duplicates to be averaged",
                surface.row(*i),
                surface.column(*j)
            ),
            Error::NothingObserved { n_samples, n_features } => {
                format!("none of the {n_samples} x {n_features} entries is observed; at least one is needed")
            }
            Error::EmptyColumn { column: j } => format!(
                "{} has no value in a row of positive weight, so that nothing says how to fill it; leave it out",
                surface.column(*j)
            ),
            Error::BlockColumns { block, found, expected } => {
                format!("row block {block} has {}, but the first has {expected}", n_of(*found, "column"))
            }
            Error::Decomposition { decomposition, n_rows, n_cols } => format!(
                "the {decomposition} of a {n_rows} x {n_cols} matrix did not converge; check the data for extreme values"
            ),
            Error::TooLarge { n_samples, n_features } => format!(
                "data of shape ({n_samples}, {n_features}) have more than 4294967295 rows or columns; check the shape"
            ),
            Error::ScoreOverflow { row: i, component, dtype } => format!(
                "{}: the score on component {component} is beyond the range of {dtype}; give the data as f64, or divide \
                 them and the model's data by a constant",
                surface.row(*i)
            ),
            Error::ValueOverflow { row: i, column: j, dtype } => format!(
                "{}, {}: the value that the scores represent is beyond the range of {dtype}; check the scores, \
                 or give them as f64",
                surface.row(*i),
                surface.column(*j)
            ),
            Error::PredictionOverflow { row: i, column: j } => format!(
                "{}, {}: the prediction or its standard deviation is beyond the range of its type; the model holds values \
                 that are too large: fit it again, to data of usual size",
                surface.row(*i),
                surface.column(*j)
            ),
            Error::NegativeValue { row: i, column: j, value, kernel } => format!(
                "{}, {} is {value}, but the kernel {kernel} is defined for values >= 0 only",
                surface.row(*i),
                surface.column(*j)
            ),
            Error::KernelValue { row: i } => format!(
                "a kernel value of {} is not a finite number; divide the data by a constant, choose a smaller gamma or \
                 degree (a whole one where values are raised to it that may be negative), or correct the kernel function",
                surface.row(*i)
            ),
            Error::NotCovariance { column: Some(j), value } => {
                format!(
                    "the variance of {} is {value}; a covariance matrix has none below zero",
                    surface.column(*j)
                )
            }
            Error::NotCovariance { column: None, value } => format!(
                "the smallest eigenvalue of the covariance matrix is {value:.3e}, and a covariance matrix has none below zero; one of \
                 pairwise correlations or of rounded values may: fit the rows that it was computed from"
            ),
            Error::NotSymmetric { matrix, row: i, column: j, value, mirrored } => format!(
                "{matrix} is not symmetric: {}, {} is {value:?}, but {}, {} is {mirrored:?}; both triangles are needed",
                surface.row(*i),
                surface.column(*j),
                surface.row(*j),
                surface.column(*i)
            ),
            Error::Part { part, source } => format!("part {part}: {}", source.text_for(surface)),
            Error::PartColumns { part, found, first, expected } => {
                format!(
                    "part {part} has {found} columns, part {first} has {expected}; give all parts the same columns"
                )
            }
            Error::PartChanged { part, rows_before, rows_now } if rows_before == rows_now => format!(
                "the values of part {part} differ between passes over the data; persist the data, so that every pass reads \
                 the same"
            ),
            Error::PartChanged { part, rows_before, rows_now } => format!(
                "part {part} had {rows_before} rows in the first pass, now {rows_now}; persist the data, so that every pass \
                 reads the same"
            ),
            Error::Parts { problem } => format!("the parts of the data were not all summed: {problem}"),
            Error::Read { row: Some(i), source } => {
                format!("reading the data failed at {}: {source}", surface.row(*i))
            }
            Error::Device { source, .. } => source.to_string(),
            Error::Read { row: None, source } => format!("reading the data failed: {source}"),
            Error::Truncated { rule, kept, all } => {
                format!("{rule} needs all {all} variances, and the fit kept {kept}; fit with all components")
            }
            Error::Categories(fault) => fault.text_for(surface),
            Error::OnePass { work, way_out } => {
                format!("{work} reads the data more than once, and this source can be read once; {way_out}")
            }
        }
    }
}

/// `1 row`, `2 rows`, `2 entries`.
fn n_of(n: usize, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if n == 1 => format!("{n} {noun}"),
        Some(stem) => format!("{n} {stem}ies"),
        None => format!("{n} {noun}s"),
    }
}

/// `is 1 sample weight`, `are 2 sample weights`.
fn are(n: usize, noun: &str) -> String {
    format!("{} {}", if n == 1 { "is" } else { "are" }, n_of(n, noun))
}

fn passes(n: usize) -> String {
    if n == 1 { "1 pass".to_owned() } else { format!("{n} passes") }
}

/// Returns the remedy for deviations whose squares may overflow.
fn room_advice(dtype: &str) -> &'static str {
    match dtype {
        "f32" => "give the data as f64, or divide them by a constant",
        _ => "divide the data by a constant",
    }
}

fn none_aside(share: f64, n_observed: usize, n_spare: usize) -> String {
    if n_spare == 0 {
        return "each is alone in its row or column, which would have none left; give more entries, or hold \
                none out"
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
