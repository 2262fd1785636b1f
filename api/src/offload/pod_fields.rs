//! The table of what of a Pod's spec may cross to another cluster, and what becomes of the rest.
//!
//! It is the one place for it: the origin translates by it, hub and executor check by it, and the definitions of PodExport and
//! PodImport have their schema and their bounds from it. A field that is not in the table refuses the Pod, by its name: what
//! Kubernetes adds later may matter for security.

mod common;
mod containers;
mod pod;
mod rule;
mod schema;
mod volumes;

pub use containers::{CONTAINER, INIT_CONTAINER};
pub use pod::POD;
pub use rule::{Field, Record, Rule, Shape, rows};
pub use schema::schema;
pub use volumes::VOLUME;
