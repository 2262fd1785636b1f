//! What is planned at a time.

use std::fmt;
use std::sync::Arc;

use fleet_api::names::member_of_namespace;

/// A unit of work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// The `FleetTraffic`.
    Fleet,
    /// The `MemberTraffic` of a member.
    Member(Arc<str>),
}

impl Key {
    /// The member that a namespace belongs to.
    pub(super) fn of_namespace(namespace: &str) -> Option<Self> {
        member_of_namespace(namespace).map(|member| Self::Member(member.into()))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fleet => f.write_str("FleetTraffic"),
            Self::Member(name) => write!(f, "MemberTraffic {name}"),
        }
    }
}
