//! An object as a server keeps it.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

/// An object that never changes: another version of it is another one. So clones of a server share it, and what an agent reads of it is
/// read once, which would be most of what tests do.
#[derive(Clone)]
pub(crate) struct Stored(Arc<Content>);

struct Content {
    object: Value,
    /// What [`Stored::read`] has given, one of a type: agents reduce the same kind to different things.
    read: Mutex<Vec<Box<dyn Any + Send + Sync>>>,
}

impl Stored {
    /// What `read` gives of the object, or has given before.
    pub(crate) fn read<T: Clone + Send + Sync + 'static>(
        &self,
        read: impl FnOnce(&Value) -> T,
    ) -> T {
        let mut known = self.0.read.lock();
        if let Some(before) = known.iter().find_map(|known| known.downcast_ref::<T>()) {
            return before.clone();
        }
        let new = read(&self.0.object);
        known.push(Box::new(new.clone()));
        new
    }
}

impl From<Value> for Stored {
    fn from(object: Value) -> Self {
        Self(Arc::new(Content { object, read: Mutex::default() }))
    }
}

impl Deref for Stored {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0.object
    }
}

impl fmt::Debug for Stored {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.object.fmt(formatter)
    }
}
