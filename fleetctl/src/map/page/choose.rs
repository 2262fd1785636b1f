//! Which Services are shown.

use std::collections::BTreeSet;

use crate::map::query::Query;
use crate::view::{Edge, ServiceView, View};

/// The Services that the address asks for, in the order of their names.
pub(super) fn chosen<'a>(view: &'a View, query: &Query) -> Vec<&'a ServiceView> {
    let search = query.search.to_lowercase();
    let is_chosen = |service: &&ServiceView| {
        (query.namespace.is_empty() || service.namespace == query.namespace)
            && (!query.problems || service.findings().next().is_some())
            && (search.is_empty() || matches(service, &search))
    };
    view.services.iter().map(|service| &**service).filter(is_chosen).collect()
}

/// Whether the name of the Service has the text, or that of a member with a part in it is the text.
fn matches(service: &ServiceView, search: &str) -> bool {
    let name = format!("{}/{}", service.namespace, service.name);
    let is_member = |edge: &Edge| edge.member == search;
    name.contains(search) || service.exporters.iter().chain(&service.importers).any(is_member)
}

/// All namespaces with a Service.
pub(super) fn namespaces(view: &View) -> Vec<&str> {
    let names: BTreeSet<_> = view.services.iter().map(|it| it.namespace.as_str()).collect();
    names.into_iter().collect()
}
