//! The files that a command writes, and its paths.

pub(crate) mod checkpoints;
pub(crate) mod of_fit;
pub(crate) mod outputs;
pub(crate) mod overwrite;
pub(crate) mod paths;
pub(crate) mod standard_output;
pub(crate) mod state_lock;
