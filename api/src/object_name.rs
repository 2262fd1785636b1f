//! Namespace and name of an object.

use std::fmt;
use std::sync::{Arc, LazyLock};

/// Namespace and name of an object; the namespace of a cluster-scoped object is empty.
///
/// Ordered by namespace, then name, so that maps keyed by it can be read namespace by namespace.
/// Cloning costs two reference counts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    /// Namespace, empty for cluster-scoped objects.
    pub namespace: Arc<str>,
    /// Name within the namespace.
    pub name: Arc<str>,
}

impl ObjectName {
    /// Names an object of a namespace.
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// Names a cluster-scoped object.
    pub fn cluster(name: impl Into<Arc<str>>) -> Self {
        static EMPTY: LazyLock<Arc<str>> = LazyLock::new(|| "".into());
        Self::new(Arc::clone(&EMPTY), name)
    }

    /// Reads `namespace/name`. `None` unless there is exactly one slash with text on both sides.
    pub fn parse(text: &str) -> Option<Self> {
        let (namespace, name) = text.split_once('/')?;
        let whole = !namespace.is_empty() && !name.is_empty() && !name.contains('/');
        whole.then(|| Self::new(namespace, name))
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

impl fmt::Debug for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_back_as_written() {
        let name = ObjectName::new("team", "shop");
        assert_eq!(ObjectName::parse(&name.to_string()), Some(name));
    }

    #[test]
    fn text_without_exactly_one_slash_is_no_name() {
        for text in ["", "a", "/a", "a/", "a/b/c"] {
            assert_eq!(ObjectName::parse(text), None, "{text}");
        }
    }
}
