//! External workloads against a model API server, a file per behaviour.
//!
//! Doc comments begin with the case of docs/design/contract.md that a test shows (EW-1 to EW-39).

mod absence;
mod endpoints;
mod entry;
mod keys;
mod linkerd;
mod order;
mod packing;
mod ports;
mod world;
