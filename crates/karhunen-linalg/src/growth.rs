//! A hidden field by which structs of options can grow.

/// The last, hidden field of structs of options. Because of it callers write `..Default::default()`, and an option that
/// a later version adds does not break their code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct More;
