//! The fleet's objects as both agents see and write them.
//!
//! - [`objects`]: the content of each watched kind that the agents keep: compact, without managed fields, and
//!   indexed by the Service of the fleet that an object belongs to.
//! - [`multicluster`]: what is in force for a Service that is exported by the standard API.
//! - [`steps`]: the writes that every plan is made of (finalizers, statuses, deletions …).
//! - [`events`]: Events about an object.
//! - [`addresses`]: which addresses can be endpoints.
//! - [`changes`]: which objects differ between two views.
//! - [`ports`]: comparison of port lists.
//! - [`precedence`]: whose ports come first.
//! - [`cidr`]: ranges of IP addresses.
//! - [`limits`]: whether what a member has written is within the bounds.
//! - [`endpoints`]: which endpoints a change removes.
//! - [`service_list`]: which Services a member policy lists.
//! - [`denied_namespaces`]: which namespaces share no Services with the fleet.
//! - [`namespaces`]: whether objects can be created in a namespace.
//! - [`owners`]: which agent a ServiceImport belongs to.
//! - [`selection`]: which Services select which objects.
//! - [`incarnation`]: which hub answers, and since which restart of its history.
//! - [`hub_schema`]: which of our additions to the original's kinds a hub serves.
//! - [`reference`]: references between objects and which Service they name.
//!
//! Pure: no client, no clock.

pub mod addresses;
pub mod changes;
pub mod cidr;
pub mod denied_namespaces;
pub mod endpoints;
pub mod events;
pub mod hub_schema;
pub mod incarnation;
pub mod limits;
pub mod multicluster;
pub mod namespaces;
pub mod objects;
pub mod owners;
pub mod ports;
pub mod precedence;
pub mod reference;
pub mod selection;
pub mod service_list;
pub mod steps;
pub mod weight;
