//! Large fleets: one Service of a small one, copied.

use fleet_accumulator::{ClusterId, Snapshot, SourceId, SourceInfo, SourceSet};
use fleet_model_server::ModelServer;

use crate::fleet::service;

/// What an agent sees of its servers.
pub(crate) struct Seen<'a> {
    pub(crate) own: &'a ModelServer,
    pub(crate) hub: &'a ModelServer,
    /// Where it watches the hub; everywhere if `None`.
    pub(crate) namespace: Option<&'a str>,
}

/// A list of each source.
pub(crate) type Lists = Vec<(SourceId, Vec<String>)>;

impl Seen<'_> {
    /// Lists of `sources` with about `size` objects in all: those of the first Service as they are, and copies of them
    /// under other names. The copies are not what an agent would have made, so that only the first one is to be planned.
    pub(crate) fn lists<S: Snapshot>(&self, sources: SourceSet, size: usize) -> Lists {
        let watched = S::sources().iter().filter(|source| sources.contains(source.id));
        let lists: Lists = watched.map(|source| (source.id, self.texts(source))).collect();
        let original = service(0).name.to_string();
        let of_service = |text: &&String| text.contains(&original);
        let each = lists.iter().flat_map(|(_, texts)| texts).filter(of_service).count();
        let copied = |text: String| {
            let copies = if of_service(&&text) { (size / each).max(1) } else { 1 };
            let original = original.clone();
            (0..copies).map(move |number| text.replace(&original, &service(number).name))
        };
        let grown = |texts: Vec<String>| texts.into_iter().flat_map(copied).collect();
        lists.into_iter().map(|(id, texts)| (id, grown(texts))).collect()
    }

    fn texts(&self, source: &SourceInfo) -> Vec<String> {
        let (server, only) = match source.cluster {
            ClusterId::Local => (self.own, None),
            ClusterId::Hub => (self.hub, self.namespace),
        };
        let names = server.names(source.kind).into_iter();
        let names = names.filter(|name| only.is_none_or(|only| *name.namespace == *only));
        names.map(|name| server.get(source.kind, &name).unwrap().to_string()).collect()
    }
}
