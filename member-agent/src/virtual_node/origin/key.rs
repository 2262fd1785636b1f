//! What is planned at once.

use std::fmt;

use fleet_accumulator::Uid;

/// What is planned at once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// The virtual node of an executor.
    Node(Box<str>),
    /// A Pod by its uid, and its export.
    Pod(Uid),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(executor) => write!(f, "node {executor}"),
            Self::Pod(uid) => write!(f, "pod {uid}"),
        }
    }
}
