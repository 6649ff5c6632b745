//! Tables of typed columns: Parquet and Arrow IPC.

pub(crate) mod arrow;
mod batches;
mod categories;
mod columns;
mod conversions;
pub(crate) mod pairs;
pub(crate) mod parquet;
mod parquet_limits;
mod roles;
mod rows;
mod thrift;
mod triples;
