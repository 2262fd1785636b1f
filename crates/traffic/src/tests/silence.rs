//! docs/design/traffic.md#silence

mod fleet;
mod guards;
mod importers;
mod returns;
