//! The reconciler as a whole; codes in doc comments (EPS-1) are those of
//! docs/design/contract.md#endpointslices.

mod content;
pub(crate) mod fixture;
mod hints;
mod measures;
mod nodes;
mod packing;
mod placeholders;
mod writes;
