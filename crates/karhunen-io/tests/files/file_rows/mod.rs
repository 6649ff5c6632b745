//! Fits of files that are read again in every visit, block by block, against fits of the tables in memory.

mod coordinates;
mod faults;
mod fits;
mod fixtures;
mod tables;
mod visits;
