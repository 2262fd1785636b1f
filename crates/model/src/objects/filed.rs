//! An index of members' objects in the order of their age.

use std::ops::Bound;

use fleet_accumulator::Meta;
use fleet_api::ObjectName;

/// An entry of an index, with the name of the object.
pub type Filed = (ObjectName, ObjectName);

/// Separates the namespace of a member from the time.
const SEPARATOR: char = '/';
/// What follows it.
const AFTER_SEPARATOR: char = '0';

/// Under which index an object in a member's namespace is filed that was created then. Like [`named`](super::named) it has an
/// empty namespace, so that it is the name of no Service.
pub(crate) fn filed(namespace: &str, meta: &Meta) -> ObjectName {
    let created = meta.created.map_or(0, |created| created.as_second().max(0));
    ObjectName::cluster(format!("{namespace}{SEPARATOR}{created:020}"))
}

/// The part of an index that has the objects in a member's namespace by their age, oldest first.
pub fn filed_by_age(namespace: &str) -> (Bound<Filed>, Bound<Filed>) {
    let edge = |character: char| {
        (ObjectName::cluster(format!("{namespace}{character}")), ObjectName::cluster(""))
    };
    (Bound::Included(edge(SEPARATOR)), Bound::Excluded(edge(AFTER_SEPARATOR)))
}
