//! Placeholder until the cases follow.
