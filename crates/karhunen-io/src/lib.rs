//! Files for karhunen: readers of tables and sparse matrices, writers, and model files. One format per file.

mod any_model;
mod arrow;
#[cfg(unix)]
mod bus_error;
mod checkpoint_file;
mod checkpoint_keeper;
mod checksum;
mod columns;
mod csv;
mod error;
mod existing;
mod fit_columns;
#[cfg(test)]
mod fixtures;
mod holes;
mod ids;
mod input;
mod journal;
mod kernel_rows;
mod mapped;
mod matrix_market;
mod model_file;
mod model_numbers;
mod name_list;
mod names;
mod npy;
mod npy_header;
mod npz;
mod npz_sparse;
mod observed;
mod options;
mod parquet;

mod read;
mod replace;
mod roles;
mod saved_incomplete;
mod saved_kernel;
mod saved_model;
mod saved_nystrom;
mod table;
mod temporaries;
mod triples;
mod weights;
mod write;

pub use any_model::{AnyModel, load_any_model};
pub use checkpoint_file::{load_checkpoint, save_checkpoint};
pub use checkpoint_keeper::{CheckpointKeeper, CheckpointNews};
pub use error::{Cause, Error, ErrorKind, Place, Result};
pub use existing::Existing;
pub use holes::{HoledTable, read_holed};
pub use ids::{IdLookup, Ids};
pub use mapped::Mapped;
pub use observed::{ObserveOptions, ObservedData, ObservedTable, Pairs, read_observed, read_pairs};
pub use options::{IdColumn, ReadOptions};
pub use read::{Content, read, read_any};
pub use replace::{Staged, check_writable, discard_unfinished, publish};
pub use saved_incomplete::{SavedIncomplete, load_incomplete, save_incomplete, stage_incomplete};
pub use saved_kernel::{SavedKernel, load_kernel, save_kernel, stage_kernel};
pub use saved_model::{AboutMean, SavedModel, load_model, save_model, stage_model};
pub use saved_nystrom::{SavedNystrom, load_nystrom, save_nystrom};
pub use table::{Buffer, Data, Label, Table, Values};
pub use triples::TripleColumns;
pub use weights::read_weights;
pub use write::{NamedMatrix, check_table_path, stage_table, write_table};
