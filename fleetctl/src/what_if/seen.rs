//! What watches of servers in memory show. What has not changed is read once and kept, so that differences are exact.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;

use fleet_accumulator::{ClusterId, Object, Snapshot, SourceInfo, Tracked, View, Views};
use fleet_api::{ObjectName, ResourceKind};
use fleet_model::hub_schema::HubSchema;
use fleet_model_server::ModelServer;
use serde_json::Value;

use crate::recorded::{KindState, Part};

/// The views of one cluster's objects, and what they were made from.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Whether kinds can be read.
    pub(super) states: BTreeMap<ResourceKind, KindState>,
    /// By the field of the source.
    views: RefCell<BTreeMap<&'static str, Known>>,
}

/// A view, and the version of the server that it shows.
type Known = (u64, Box<dyn Any>);

impl Seen {
    pub(super) fn new(states: BTreeMap<ResourceKind, KindState>) -> Self {
        Self { states, views: RefCell::default() }
    }

    /// The snapshot of an agent that watches this cluster alone.
    pub(super) fn snapshot<S: Snapshot>(&self, server: &ModelServer, cluster: ClusterId) -> S {
        S::of(&Now { seen: self, server, cluster })
    }

    /// One view.
    pub(super) fn view<T: Tracked>(&self, server: &ModelServer, source: &SourceInfo) -> View<T> {
        let mut views = self.views.borrow_mut();
        let known = views.get(source.field);
        let known =
            known.and_then(|(version, view)| Some((*version, view.downcast_ref::<View<T>>()?)));
        if let Some((version, view)) = known
            && version == server.version()
        {
            return view.clone();
        }
        let view = view(server, source, known.map(|(_, view)| view));
        let view = match self.states.get(&source.kind) {
            Some(state) => state.apply(view),
            None if source.optional && source.kind != HubSchema::KIND && view.is_empty() => {
                KindState::Missing.apply(view)
            }
            None => view,
        };
        views.insert(source.field, (server.version(), Box::new(view.clone())));
        view
    }
}

struct Now<'a> {
    seen: &'a Seen,
    server: &'a ModelServer,
    cluster: ClusterId,
}

impl Views for Now<'_> {
    fn view<T: Tracked>(&self, source: &SourceInfo) -> View<T> {
        if source.cluster == self.cluster {
            self.seen.view(self.server, source)
        } else {
            View::of([])
        }
    }
}

fn view<T: Tracked>(
    server: &ModelServer,
    source: &SourceInfo,
    before: Option<&View<T>>,
) -> View<T> {
    let part = Part::of::<T>(source, None);
    let (mut objects, mut defects) = (Vec::new(), Vec::new());
    for (name, object) in server.objects(source.kind) {
        match kept(before, name, object).map(Ok).or_else(|| part.object::<T>(name, object)) {
            Some(Ok(object)) => objects.push(object),
            Some(Err(name)) => defects.push(name),
            None => {}
        }
    }
    defects.into_iter().fold(View::of(objects), View::with_defect)
}

/// The object as it was read before, if it is the same.
fn kept<T: Tracked>(
    before: Option<&View<T>>,
    name: &ObjectName,
    object: &Value,
) -> Option<Object<T>> {
    let before = before?.get(name)?;
    let metadata = &object["metadata"];
    let same = metadata["uid"].as_str() == Some(before.uid.to_string().as_str())
        && metadata["resourceVersion"].as_str() == Some(before.version.to_string().as_str());
    same.then(|| before.clone())
}
