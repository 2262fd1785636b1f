//! The objects of all clusters of a fleet, as their API servers had them: what a recording holds, and what
//! [`what_if`](crate::what_if) begins with.
//!
//! - `cluster`, `fleet`: the objects; `sources`: which kinds are read; `views`: snapshots of them, as agents would see.
//! - `read`: reads them from the clusters. `change`: what has changed since; `touched`: which frames have changed something.
//! - `file`: the format of a recording; `load`: reads one, within limits; `record`: `fleetctl record`.

mod args;
mod change;
mod cluster;
mod file;
mod fleet;
mod load;
mod read;
mod record;
mod sources;
mod state;
mod text;
mod touched;
mod views;

pub use args::RecordArgs;
pub use cluster::{ClusterObjects, KindObjects};
pub use file::{MAX_FRAMES, MAX_OBJECTS, MAX_SIZE, VERSION};
pub use fleet::{FleetObjects, MemberObjects};
pub use load::{Recording, load};
pub(crate) use read::{Reader, read};
pub use record::Writer;
pub(crate) use record::run;
#[cfg(test)]
pub(crate) use sources::{of_hub, of_member};
pub use state::KindState;
pub(crate) use text::LAST_APPLIED;
pub(crate) use touched::Touched;
pub(crate) use views::{Part, decoded};
