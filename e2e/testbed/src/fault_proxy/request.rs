//! What a request to an API server is about.

use std::fmt;

use http::Method;
use hyper::body::Bytes;
use memchr::memmem::Finder;

/// What a client wants, in the words of RBAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH.
    Patch,
    /// DELETE.
    Delete,
    /// GET of one object, or of something that is no object.
    Get,
    /// GET of many.
    List,
    /// GET of many that goes on.
    Watch,
}

impl Verb {
    /// Whether it can change something.
    pub fn writes(self) -> bool {
        matches!(self, Self::Create | Self::Update | Self::Patch | Self::Delete)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
        })
    }
}

/// A request as the proxy saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What is wanted.
    pub verb: Verb,
    /// Path without the query.
    pub path: String,
    /// Plural of the kind, with `/<subresource>` where there is one; empty where it is about no kind.
    pub resource: String,
    /// Namespace, if it is about one.
    pub namespace: Option<String>,
    /// Name, if it is about one object.
    pub name: Option<String>,
    /// What was sent.
    pub body: Bytes,
}

impl Seen {
    pub(super) fn new(method: &Method, path: &str, query: Option<&str>, body: Bytes) -> Self {
        let target = Target::of(path);
        let watches = query.is_some_and(|query| {
            query.split('&').any(|part| matches!(part, "watch=true" | "watch=1"))
        });
        let verb = match *method {
            Method::POST => Verb::Create,
            Method::PUT => Verb::Update,
            Method::PATCH => Verb::Patch,
            Method::DELETE => Verb::Delete,
            _ if watches => Verb::Watch,
            _ if target.resource.is_empty() || target.name.is_some() => Verb::Get,
            _ => Verb::List,
        };
        let Target { resource, namespace, name } = target;
        Self { verb, path: path.to_owned(), resource, namespace, name, body }
    }

    /// Whether it could change an object of the fleet: heartbeats, leases, Events and reviews come when they want.
    pub fn is_work(&self) -> bool {
        const ASIDE: [&str; 4] =
            ["leases", "events", "internalmemberclusters/status", "selfsubjectaccessreviews"];
        self.verb.writes() && !ASIDE.contains(&self.resource.as_str())
    }

    /// Whether `text` occurs in its path or its body. What is made for a user namespace bears its name everywhere.
    pub fn mentions(&self, text: &str) -> bool {
        let text = Finder::new(text);
        text.find(self.path.as_bytes()).is_some() || text.find(&self.body).is_some()
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.resource.is_empty() { &self.path } else { &self.resource };
        write!(f, "{} {what}", self.verb)?;
        let of = [self.namespace.as_deref(), self.name.as_deref()];
        let of: Vec<&str> = of.into_iter().flatten().collect();
        if of.is_empty() { Ok(()) } else { write!(f, " {}", of.join("/")) }
    }
}

#[derive(Default)]
struct Target {
    resource: String,
    namespace: Option<String>,
    name: Option<String>,
}

impl Target {
    /// `/api/<version>/…` or `/apis/<group>/<version>/…`, then `namespaces/<namespace>/` where it is in one, then
    /// `<resource>[/<name>[/<subresource>]]`.
    fn of(path: &str) -> Self {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (["api", _, rest @ ..] | ["apis", _, _, rest @ ..]) = parts.as_slice() else {
            return Self::default();
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
            _ => (None, rest),
        };
        let (resource, name) = match rest {
            [] => return Self::default(),
            [resource] => ((*resource).to_owned(), None),
            [resource, name] => ((*resource).to_owned(), Some(*name)),
            [resource, name, subresource, ..] => (format!("{resource}/{subresource}"), Some(*name)),
        };
        Self { resource, namespace: namespace.map(str::to_owned), name: name.map(str::to_owned) }
    }
}
