//! The extension module `karhunen._core`: converts arguments, releases the interpreter lock, calls the engine,
//! converts results.
//!
//! It contains no numerics. Inputs are borrowed and results moved, without copies.

mod arrays;
mod categorical_model;
mod cluster;
mod completion;
mod cross_validation;
mod diagnose_incomplete;
mod diagnostics;
mod dtype;
mod entries;
mod errors;
mod genotypes;
mod incomplete_fit;
mod incomplete_model;
mod incremental;
mod kernel_function;
mod kernel_model;
mod kernel_options;
mod message;
mod model;
mod model_class;
mod nystrom_map;
mod observer;
mod options;
mod part_stream;
mod passes;
mod record;
mod report;
mod resampling;
mod rotation;
mod row_source;
mod scatter;
mod selection;
mod sparse;
mod stream;
mod suspects;
mod table;
mod value;
mod weights;

use karhunen::memory::HugePages;

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

/// The engine behind the Python package `karhunen`.
#[pyo3::pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use crate::arrays::round_to_single;
    #[pymodule_export]
    use crate::categorical_model::{CategoricalModel, are_many_categories, fit_categorical};
    #[pymodule_export]
    use crate::cluster::{
        ClusterFit, PartTree, merge_parts, sum_batches, sum_entries, sum_part, takes_batches,
        takes_missing_values,
    };
    #[pymodule_export]
    use crate::completion::{choose_completion, complete};
    #[pymodule_export]
    use crate::cross_validation::cross_validate;
    #[pymodule_export]
    use crate::diagnose_incomplete::{
        diagnose_incomplete_features, diagnose_incomplete_r2, diagnose_incomplete_rows,
        explain_incomplete_rows, incomplete_model_spe_scale, incomplete_spe_limits, incomplete_spe_p_values,
        incomplete_spe_scale, incomplete_t2_limits, incomplete_t2_p_values, keep_incomplete_limits,
    };
    #[pymodule_export]
    use crate::diagnostics::{
        adjust_p_values, compare_categories, correlate, diagnose_features, diagnose_r2,
        diagnose_rotated_features, diagnose_rotated_incomplete_features, diagnose_rows, explain_rows,
        keep_limits, new_row_limits, share_rows, spe_limit, spe_of_rows, squared_cosines, t2_limit,
    };
    #[pymodule_export]
    use crate::entries::{Entries, observe, observe_triples, split_entries};
    #[pymodule_export]
    use crate::errors::{NotConvergedError, named_parameters};
    #[pymodule_export]
    use crate::genotypes::{unmatched_variants, write_plink};
    #[pymodule_export]
    use crate::incomplete_fit::fit_incomplete;
    #[pymodule_export]
    use crate::incomplete_model::IncompleteModel;
    #[pymodule_export]
    use crate::incremental::{IncrementalFit, IncrementalState};
    #[pymodule_export]
    use crate::kernel_model::{KernelModel, fit_kernel};
    #[pymodule_export]
    use crate::model::{Model, column_moments, fit};
    #[pymodule_export]
    use crate::nystrom_map::{NystromMap, fit_nystrom};
    #[pymodule_export]
    use crate::observer::{end, forked};
    #[pymodule_export]
    use crate::options::names_in_files;
    #[pymodule_export]
    use crate::record::{from_state, load, load_rotated, save, to_state};
    #[pymodule_export]
    use crate::report::{summarise, write_report};
    #[pymodule_export]
    use crate::resampling::{bootstrap, jackknife, scores_of_draws};
    #[pymodule_export]
    use crate::rotation::{RotatedIncompleteModel, RotatedModel, rotate};
    #[pymodule_export]
    use crate::row_source::RowSource;
    #[pymodule_export]
    use crate::scatter::{Scatter, fit_scatter, sum_rows, sums_of_covariance};
    #[pymodule_export]
    #[pymodule_export]
    use crate::selection::{parallel_analysis, select_components, separate_components, suggest_components};
    #[pymodule_export]
    use crate::stream::Stream;
    #[pymodule_export]
    use crate::suspects::suspect_columns;
    #[pymodule_export]
    use crate::table::FileTable;
    #[pymodule_export]
    use crate::weights::note_of_weights;

    #[pymodule_export]
    const FAN_IN: usize = karhunen::cluster::FAN_IN;
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
