//! The controller against a model API server, a file per behaviour. Comments that begin with a code (HISE-1)
//! name the case of docs/design/contract.md that the test shows.

mod adoption;
mod blocked;
mod budget;
mod conflicts;
mod copies;
mod denied;
mod duplicates;
mod exclusive;
mod exports;
mod handover;
mod healing;
mod imports;
mod invalid_references;
mod limits;
mod places;
mod policy;
mod rebuilding;
mod silence;
mod slices;
mod traces;
mod undecodable;
mod world;
