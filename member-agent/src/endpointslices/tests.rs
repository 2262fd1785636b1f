//! The controller as the engine drives it, against a model of an API server. Codes in doc comments (EPS-82) are
//! those of docs/design/contract.md#endpointslices.

mod hints;
mod networks;
mod pods;
mod world;
