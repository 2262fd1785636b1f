//! The controller as the engine drives it, against a model of an API server. Numbers are those of the cases of the original
//! controller's tests (spec section 20.6).

mod hints;
mod networks;
mod pods;
mod world;
