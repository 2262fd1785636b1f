//! What is planned at once.

use std::fmt;

use fleet_api::ObjectName;

/// What is planned at once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// What this cluster offers.
    Offer,
    /// A Pod: its member, and its uid there.
    Pod(ObjectName),
    /// A namespace for Pods of another member.
    Namespace(Box<str>),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offer => f.write_str("offer"),
            Self::Pod(source) => write!(f, "pod {} of {}", source.name, source.namespace),
            Self::Namespace(name) => write!(f, "namespace {name}"),
        }
    }
}
