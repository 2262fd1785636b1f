//! The reconciler as a whole; the numbers in doc comments are those of the specification's test cases.

mod content;
pub(crate) mod fixture;
mod hints;
mod measures;
mod nodes;
mod packing;
mod placeholders;
mod writes;
