//! Files for karhunen: readers of tables and sparse matrices, writers, and model files. One format per file.
//!
//! Four features, all of them defaults, bring readers with large dependencies: `columnar` Parquet and Arrow IPC, `compression`
//! files packed with zstd, xz and bzip2, `hdf5` AnnData and Cell Ranger in HDF5, `zarr` Zarr stores. Without a feature its formats are recognised and refused.

#[cfg(unix)]
mod bus_error;
mod categories;
mod checkpoint_file;
mod checkpoint_keeper;
mod checksum;
#[cfg_attr(not(feature = "columnar"), path = "left_out/columnar.rs")]
mod columnar;
mod counts;
mod csv;
// Without decoders of other crates nothing calls its functions.
#[cfg_attr(not(any(feature = "columnar", feature = "hdf5")), allow(dead_code))]
mod decoder;
mod disk_space;
mod error;
mod existing;
mod extras;
mod file_rows;
mod fitted_table;
#[cfg(all(test, feature = "columnar"))]
mod fixtures;
mod foreign;
mod format;
pub mod genotypes;
#[cfg_attr(not(feature = "hdf5"), path = "left_out/hdf5.rs")]
mod hdf5;
mod ids;
mod input;
mod mapped;
mod matrix_market;
mod messages;
mod missing;
mod model_file;
mod model_numbers;
mod moment_files;
mod moved;
mod name_list;
mod names;
mod npy;
mod npy_elements;
mod npy_header;
mod npz;
mod npz_sparse;
mod observed;
pub mod option_names;
mod options;
mod packed;
mod pairs;
mod pass_log;
mod read;
mod replace;
mod rounded;
mod saved;
mod single_cell;
mod stacked;
mod store;
mod suspects;
mod table;
mod tables;
mod temporaries;
mod triples;
mod units;
mod weights;
mod write;
#[cfg_attr(not(feature = "zarr"), path = "left_out/zarr.rs")]
mod zarr;
mod zarr_marks;
mod zip_archive;

pub use categories::{CategoryTable, ColumnKinds, read_categories};
pub use checkpoint_file::{load_checkpoint, save_checkpoint};
pub use checkpoint_keeper::{CheckpointKeeper, CheckpointNews};
pub use decoder::is_decoding;
pub use error::{Cause, Error, ErrorKind, Place, Result};
pub use existing::Existing;
pub use extras::{Extras, RowsAndColumns, TableColumns};
pub use file_rows::{BlockReader, FileRows, OwnedBlock, Reading};
pub use fitted_table::{FittedTable, OfFile};
pub use ids::{IdLookup, Ids};
pub use mapped::Mapped;
pub use messages::{from_bytes, to_bytes};
pub use missing::{Predict, Predicted, TableWithMissing, read_with_missing};
pub use moment_files::load_moments;
pub use names::{shell_word, shortened, similar_file};
pub use observed::{
    ObserveOptions, ObservedData, ObservedRows, ObservedTable, read_observed, read_observed_rows,
};
pub use options::{Comment, Log1p, ReadOptions, RowNames, SkippedLines};
pub use pairs::{PairTable, PairWriter, Pairs, PairsToWrite, open_pairs, stage_pairs};
pub use pass_log::PassLogFile;
pub use read::{Content, read, read_any};
pub use replace::{Staged, check_writable, discard_unfinished, discard_unfinished_at_once, publish};
pub use saved::{
    AnyModel, Saved, SavedCategorical, SavedIncomplete, SavedIncremental, SavedKernel, SavedModel,
    SavedNystrom, SavedRotated, SavedRotatedIncomplete, SavedScatter, Stored, load_any_model, load_model,
    save_model, stage_model,
};
pub use suspects::{Columns, Suspect, SuspectContent, suspects, symmetric_hint};
pub use table::{Buffer, Data, Label, NamedMatrix, RowWriter, RowsToWrite, Table, Values};
pub use tables::{is_read_through, read_tables};
pub use triples::TripleColumns;
pub use triples::pair_block::PairBlock;
pub use weights::{read_column_numbers, read_weights};
pub use write::{check_table_path, stage_bytes, stage_table, write_table};
