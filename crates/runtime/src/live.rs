//! A value that plans depend on beside the snapshot, and that changes while controllers run.

use std::sync::Arc;

use parking_lot::Mutex;

/// Clones share the value. Whoever sets another one has to make the controllers [plan
/// anew](crate::engine::Replan); a plan reads it once.
#[derive(Clone, Debug, Default)]
pub struct Live<T>(Arc<Mutex<T>>);

impl<T: Copy + PartialEq> Live<T> {
    /// A value that nobody else shares yet.
    pub fn new(value: T) -> Self {
        Self(Arc::new(Mutex::new(value)))
    }

    /// The value as it is now.
    pub fn get(&self) -> T {
        *self.0.lock()
    }

    /// Sets the value for all clones. True if it was another one.
    pub fn set(&self, value: T) -> bool {
        std::mem::replace(&mut *self.0.lock(), value) != value
    }
}

impl<T: Copy + PartialEq> PartialEq for Live<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Copy + Eq> Eq for Live<T> {}
