//! A search for inputs that karhunen answers wrongly. Good files are mutated by their structure ([`mutate`]), given to a part of
//! karhunen ([`targets`]) in a process of its own ([`worker`]) that another watches ([`supervisor`]), and what breaks an
//! invariant is made small ([`minimise`]) and kept.
//!
//! An input is a function of a seed and a number: the same on every machine.

// What is found is told when it is found.
#![allow(clippy::print_stdout)]

pub mod corpus;
pub mod make;
pub mod minimise;
pub mod mutate;
pub mod supervisor;
pub mod targets;
pub mod worker;
