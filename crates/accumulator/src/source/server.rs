//! Which API server answers.
//!
//! An address can lead to two clusters, from one connection to the next. A watch that continues in another one shows changes of
//! objects that were never listed, and nothing of what is missing there. Each answer names the object by which the server ordered
//! the request among others (priority and fairness), and so the cluster that stores it.

use std::collections::HashMap;
use std::sync::Arc;

use http::HeaderMap;
use parking_lot::Mutex;

/// Uid of the `FlowSchema` that a request fell under. It is the same for the same requests of one user, until administrators order
/// them in another way.
const FLOW_SCHEMA: &str = "x-kubernetes-pf-flowschema-uid";

/// What a source asks for. Administrators may order lists in another way than watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Request {
    /// A list.
    List,
    /// A watch.
    Watch,
}

/// The server that has answered one source so far. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Server(Arc<Mutex<HashMap<Request, Box<str>>>>);

impl Server {
    /// Takes note of an answer. Whether it is that of another server than the one before. Servers without the feature have no
    /// name, nor has one that is just starting.
    pub(super) fn is_another(&self, request: Request, headers: &HeaderMap) -> bool {
        let name = headers.get(FLOW_SCHEMA).and_then(|name| name.to_str().ok());
        let Some(name) = name.filter(|name| !name.is_empty()) else { return false };
        let mut known = self.0.lock();
        if known.get(&request).is_some_and(|known| **known == *name) {
            return false;
        }
        known.insert(request, name.into()).is_some()
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_another_name_is_another_server() {
        let server = Server::default();
        let answers = |request, name: Option<&'static str>| {
            let name = name.map(HeaderValue::from_static);
            let headers = name.map(|name| (http::HeaderName::from_static(FLOW_SCHEMA), name));
            server.is_another(request, &headers.into_iter().collect())
        };
        let is_another = |name| answers(Request::Watch, name);
        assert!(!is_another(None) && !is_another(Some("a")), "none was known");
        assert!(!is_another(Some("a")) && !is_another(None) && !is_another(Some("")));
        assert!(!answers(Request::List, Some("of lists")) && !is_another(Some("a")));
        assert!(is_another(Some("b")) && !is_another(Some("b")));
        assert!(is_another(Some("a")));
    }
}
