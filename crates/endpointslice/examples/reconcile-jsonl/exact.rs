//! The objects as they were sent, and as they are after the writes.

use std::collections::BTreeMap;

use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use crate::reconciling::World;
use crate::store::Call;
use crate::views::{self, text};

pub(crate) fn describe(world: &World<'_>) -> Value {
    let (mut created, mut updates, mut deletes) = (Vec::new(), Vec::new(), Vec::new());
    for call in &world.store.calls {
        match call {
            Call::Create { name, sent } => created.push((name.clone(), tidy(sent))),
            Call::Update { sent, .. } => updates.push(tidy(sent)),
            Call::Delete { name } => deletes.push(name.clone()),
        }
    }
    created.sort_by_cached_key(|(_, slice)| text(slice));
    let prefix = |slice: &EndpointSlice| slice.metadata.generate_name.clone().unwrap_or_default();
    let renamed: BTreeMap<&String, String> = created
        .iter()
        .enumerate()
        .map(|(at, (name, slice))| (name, format!("{}#{:03}", prefix(slice), at + 1)))
        .collect();
    let mut finals: Vec<EndpointSlice> = world.store.list().iter().map(tidy).collect();
    for slice in &mut finals {
        if let Some(name) = slice.metadata.name.as_ref().and_then(|name| renamed.get(name)) {
            slice.metadata.name = Some(name.clone());
            slice.metadata.uid = None;
        }
    }
    for slices in [&mut updates, &mut finals] {
        slices.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    }
    deletes.sort();
    let sent: Vec<&EndpointSlice> = created.iter().map(|(_, slice)| slice).collect();
    json!({"creates": sent, "updates": updates, "deletes": deletes, "final": finals, "wording": world.wording})
}

fn tidy(slice: &EndpointSlice) -> EndpointSlice {
    let mut slice = slice.clone();
    slice.metadata.resource_version = None;
    slice.endpoints.sort_by_cached_key(|endpoint| text(&views::endpoint(endpoint)));
    if let Some(ports) = &mut slice.ports {
        ports.sort_by_cached_key(|port| text(&views::ports(std::slice::from_ref(port))));
    }
    slice
}
