//! A fuzzer for karhunen. Valid files are mutated by their structure ([`mutate`]) and given to a part of karhunen
//! ([`targets`]) in a worker process ([`worker`]) under a supervisor ([`supervisor`]). An input that breaks an
//! invariant is minimised ([`minimise`]) and kept.
//!
//! An input is a function of a seed and a number, on every machine.

// Findings are printed at once.
#![allow(clippy::print_stdout)]

pub mod corpus;
pub mod make;
pub mod minimise;
pub mod mutate;
pub mod supervisor;
pub mod targets;
pub mod worker;
