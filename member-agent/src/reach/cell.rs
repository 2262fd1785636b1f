//! What is judged, and what is dialled for it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use fleet_api::ObjectName;
use fleet_api::multicluster::ReachApi;

/// An imported Service: the API by which, and its name in the fleet. The same Service by both APIs has two addresses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Imported {
    pub(crate) api: ReachApi,
    pub(crate) service: ObjectName,
}

/// An imported Service, and one exporter of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cell {
    pub(crate) imported: Imported,
    pub(crate) exporter: Arc<str>,
}

/// Something that is dialled again and again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// Endpoints of a Service of one exporter, in turn.
    Endpoints(Cell),
    /// The address of a Service.
    Address(Imported),
    /// The name of a Service.
    Name(Imported),
}

/// One dial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dial {
    pub(crate) target: Target,
    pub(crate) to: Destination,
}

/// Where a dial goes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Destination {
    /// A connection.
    Connect(SocketAddr),
    /// A name, and the address that it has to lead to.
    Resolve { name: Arc<str>, address: std::net::IpAddr },
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(address) => address.fmt(f),
            Self::Resolve { name, .. } => f.write_str(name),
        }
    }
}
