//! The export controller against model API servers, a file per behaviour.
//!
//! Doc comments begin with the case of docs/design/contract.md that a test shows. Those of the
//! original's DNS-based balancing have no test, because that is not built: MSE-6 (the weight is
//! copied to the hub), MSE-16 and MSE-20 (addresses and names in the cloud).

mod adoption;
mod complete;
mod conditions;
mod content;
mod denied;
mod hub_schema;
mod leftovers;
mod names;
mod networks;
mod repacking;
mod samples;
mod service;
mod shortfall;
mod slices;
mod stamps;
mod tampering;
mod traces;
mod unexport;
mod weight;
mod world;
