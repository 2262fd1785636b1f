//! One stored object.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use fleet_api::ObjectName;

use crate::source::item::item;
use crate::{ResourceVersion, Tracked, Uid};

/// An object of a [`View`](crate::View): identity, version, and shared content.
///
/// Two records are equal if they are the same incarnation with the *same* content, by pointer.
/// The accumulator keeps the old pointer where a newly decoded object equals the stored one, so a
/// comparison is exact and costs nothing; a change of the version alone is none.
pub struct Object<T> {
    /// Namespace and name.
    pub name: ObjectName,
    /// Incarnation.
    pub uid: Uid,
    /// Version that was seen last.
    pub version: ResourceVersion,
    /// Content.
    pub object: Arc<T>,
}

impl<T> Object<T> {
    /// Stores `object` under its identity.
    pub fn new(name: ObjectName, uid: Uid, version: ResourceVersion, object: T) -> Self {
        Self { name, uid, version, object: Arc::new(object) }
    }
}

impl<T: Tracked> Object<T> {
    /// Reads an object as sources do.
    ///
    /// # Errors
    /// Why its content cannot be read.
    pub fn read(wire: T::Wire) -> Result<Self, String> {
        let item = item::<T>(wire);
        Ok(Self::new(item.name, item.uid, item.version, item.content?))
    }
}

impl<T> Clone for Object<T> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            uid: self.uid.clone(),
            version: self.version.clone(),
            object: Arc::clone(&self.object),
        }
    }
}

impl<T> Deref for Object<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.object
    }
}

impl<T> PartialEq for Object<T> {
    fn eq(&self, other: &Self) -> bool {
        #[cfg(test)]
        COMPARED.with(|count| count.set(count.get() + 1));
        Arc::ptr_eq(&self.object, &other.object) && self.uid == other.uid
    }
}

impl<T: fmt::Debug> fmt::Debug for Object<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object")
            .field("name", &self.name)
            .field("uid", &self.uid)
            .field("version", &self.version)
            .field("object", &self.object)
            .finish()
    }
}

#[cfg(test)]
thread_local! {
    /// Comparisons of records by this thread: what a difference costs.
    pub(crate) static COMPARED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}
