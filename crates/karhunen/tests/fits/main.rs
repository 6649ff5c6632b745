//! Fits against the oracle: one case table, properties, hard cases, and results of other packages.

mod cases;
mod categories;
mod choice;
mod choices;
mod costly;
mod density;
mod disk;
mod expect;
mod golden;
mod hard_cases;
mod interrupted;
mod limits;
mod logged;
mod meanings;
mod nearly_constant;
mod one_visit;
mod operator;
mod overflow;
mod parts;
mod passes;
mod properties;
mod refusals;
mod rounded;
mod scatter;
mod sources;
mod standardized;
