//! What is planned at a time.

use std::fmt;
use std::sync::Arc;

use fleet_api::ObjectName;

/// A unit of work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// What is reported to an offer, and when it may go.
    Offer(ObjectName),
    /// The virtual node of one member for another.
    Node {
        /// The member whose Pods it takes.
        origin: Arc<str>,
        /// The member that runs them.
        executor: Arc<str>,
    },
    /// One Pod.
    Pod {
        /// The member that it belongs to.
        origin: Arc<str>,
        /// Its uid there.
        uid: Arc<str>,
    },
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offer(name) => write!(f, "OffloadOffer {name}"),
            Self::Node { origin, executor } => write!(f, "VirtualNode {executor} of {origin}"),
            Self::Pod { origin, uid } => write!(f, "Pod {uid} of {origin}"),
        }
    }
}
