//! Files for karhunen: readers of tables and sparse matrices, writers, and model files. One format per file.

mod any_model;
mod arrow;
mod checkpoint_file;
mod columns;
mod csv;
mod error;
#[cfg(test)]
mod fixtures;
mod ids;
mod input;
mod matrix_market;
mod model_file;
mod model_numbers;
mod name_list;
mod names;
mod npy;
mod npy_header;
mod npz;
mod npz_sparse;
mod options;
mod parquet;
mod read;
mod replace;
mod roles;
mod saved_incomplete;
mod saved_model;
mod table;
mod triples;
mod weights;
mod write;

pub use any_model::{AnyModel, load_any_model};
pub use checkpoint_file::{load_checkpoint, save_checkpoint};
pub use error::{Cause, Error, ErrorKind, Place, Result};
pub use ids::{IdLookup, Ids};
pub use options::{IdColumn, ReadOptions};
pub use read::{Content, read, read_any};
pub use replace::{Staged, discard_unfinished};
pub use saved_incomplete::{SavedIncomplete, load_incomplete, save_incomplete, stage_incomplete};
pub use saved_model::{AboutMean, SavedModel, load_model, save_model, stage_model};
pub use table::{Buffer, Data, Label, Table, Values};
pub use triples::TripleColumns;
pub use weights::read_weights;
pub use write::{NamedMatrix, check_table_path, stage_table, write_table};
