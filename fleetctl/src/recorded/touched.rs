//! Which objects are other ones in a frame of a recording than in the frame before. What that means for the fleet would take a picture of
//! each frame, which costs as much as the fleet. Pure.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use fleet_api::{ObjectName, ResourceKind, kinds};
use serde_json::Value;

use super::change::Change;

/// Kinds that are written anew although nothing has changed: their writers show that they live.
const RENEWED: [ResourceKind; 4] =
    [kinds::INTERNAL_MEMBER_CLUSTER, kinds::LEASE, kinds::NODE, kinds::REACH_REPORT];
/// The fields by which they do.
const TIMES: [&str; 6] = [
    "resourceVersion",
    "lastReceivedHeartbeat",
    "observationTime",
    "renewTime",
    "lastHeartbeatTime",
    "observed",
];

/// Objects that are other ones, there or gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touched {
    /// One of them: of a member, where there is such a one, since the hub follows.
    pub(crate) first: Object,
    /// How many there are besides.
    pub(crate) others: usize,
}

/// An object of a member, or of the hub, with its kind.
pub(crate) type Object = (Option<String>, &'static str, ObjectName);

type Known = (Option<String>, ResourceKind, ObjectName);

/// Goes through the frames of a recording.
#[derive(Debug, Default)]
pub(super) struct Watcher {
    /// What objects that are renewed have beside times.
    contents: HashMap<Known, u64>,
}

impl Watcher {
    /// What the next frame has touched; `None` if nothing.
    pub(super) fn touched(&mut self, changes: &[Change]) -> Option<Touched> {
        let mut objects = changes.iter().filter_map(|change| self.object(change));
        let first = objects.next()?;
        let all = Touched { first, others: 0 };
        Some(objects.fold(all, |Touched { first, others }, object| {
            let is_better = first.0.is_none() && object.0.is_some();
            Touched { first: if is_better { object } else { first }, others: others + 1 }
        }))
    }

    fn object(&mut self, change: &Change) -> Option<Object> {
        let (cluster, kind, name) = match change {
            Change::Member(..) | Change::State(..) => return None,
            Change::Present(cluster, kind, name, text) => {
                if RENEWED.contains(kind) && !self.is_other((cluster, *kind, name), text) {
                    return None;
                }
                (cluster, kind, name)
            }
            Change::Gone(cluster, kind, name) => {
                self.contents.remove(&(cluster.clone(), *kind, name.clone()));
                (cluster, kind, name)
            }
        };
        Some((cluster.clone(), kind.kind, name.clone()))
    }

    fn is_other(
        &mut self,
        (cluster, kind, name): (&Option<String>, ResourceKind, &ObjectName),
        text: &str,
    ) -> bool {
        let mut object: Value = serde_json::from_str(text).unwrap_or_default();
        forget_times(&mut object);
        let mut hasher = DefaultHasher::new();
        object.to_string().hash(&mut hasher);
        let content = hasher.finish();
        self.contents.insert((cluster.clone(), kind, name.clone()), content) != Some(content)
    }
}

fn forget_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !TIMES.contains(&name.as_str()));
            fields.values_mut().for_each(forget_times);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_times),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn present(kind: ResourceKind, text: &str) -> Change {
        let name = ObjectName::new("fleet-member-east", "east");
        Change::Present(Some("east".to_owned()), kind, name, text.into())
    }

    #[test]
    fn a_heartbeat_touches_nothing() {
        let mut watcher = Watcher::default();
        let beat = |time: &str, state: &str| {
            let text = format!(
                r#"{{"metadata":{{"resourceVersion":"{time}"}},"status":{{"agentStatus":[{{"lastReceivedHeartbeat":"{time}","type":"{state}"}}]}}}}"#
            );
            present(kinds::INTERNAL_MEMBER_CLUSTER, &text)
        };
        assert!(watcher.touched(&[beat("1", "Joined")]).is_some());
        assert_eq!(watcher.touched(&[beat("2", "Joined")]), None);
        assert!(watcher.touched(&[beat("3", "Left")]).is_some());
        let name = ObjectName::new("fleet-member-east", "east");
        let gone = Change::Gone(Some("east".to_owned()), kinds::INTERNAL_MEMBER_CLUSTER, name);
        assert!(watcher.touched(&[gone]).is_some());
        assert!(watcher.touched(&[beat("4", "Left")]).is_some(), "it is there again");
    }

    #[test]
    fn objects_are_counted_and_one_of_a_member_is_named() {
        let mut watcher = Watcher::default();
        assert_eq!(watcher.touched(&[]), None);
        let slice = present(kinds::ENDPOINT_SLICE, "{}");
        let name = ObjectName::new("fleet-member-east", "shop-web");
        let on_hub = Change::Gone(None, kinds::INTERNAL_SERVICE_EXPORT, name);
        let touched = watcher.touched(&[on_hub.clone(), slice, on_hub]).unwrap();
        let (member, kind, _) = touched.first;
        assert_eq!((member.as_deref(), kind, touched.others), (Some("east"), "EndpointSlice", 2));
    }
}
