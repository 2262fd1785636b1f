//! The tables of docs/design/traffic.md, line by line, and properties of all decisions.

mod drain;
mod elsewhere;
mod found;
mod given;
mod handover;
mod kube_proxy;
mod local;
mod promotion;
mod properties;
mod ranks;
mod selectors;
mod silence;
mod slots;
mod spill;
mod weights;
mod zones;
