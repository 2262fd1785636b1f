//! The reconciler as a whole; the numbers in doc comments are those of the specification's test cases.

mod fixture;
mod packing;
mod placeholders;
