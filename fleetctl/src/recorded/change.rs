//! What has changed between two moments.

use std::sync::Arc;

use fleet_api::{ObjectName, ResourceKind};

use super::cluster::ClusterObjects;
use super::fleet::{FleetObjects, MemberObjects};
use super::state::KindState;

/// A change of one cluster. The cluster is `None` for the hub, or the name of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// What is known of a member beside its objects.
    Member(String, MemberObjects),
    /// Whether a kind could be read.
    State(Option<String>, ResourceKind, KindState),
    /// An object is there.
    Present(Option<String>, ResourceKind, ObjectName, Arc<str>),
    /// An object is gone.
    Gone(Option<String>, ResourceKind, ObjectName),
}

/// Everything that makes `old` into `new`, but for its time.
pub(super) fn changes(old: &FleetObjects, new: &FleetObjects) -> Vec<Change> {
    let mut changes = of_cluster(None, &old.hub, &new.hub);
    for (name, member) in &new.members {
        let none = MemberObjects::default();
        let before = old.members.get(name);
        let about = |member: &MemberObjects| MemberObjects {
            objects: ClusterObjects::default(),
            ..member.clone()
        };
        if before.map(about) != Some(about(member)) {
            changes.push(Change::Member(name.clone(), about(member)));
        }
        let before = before.unwrap_or(&none);
        changes.extend(of_cluster(Some(name.as_str()), &before.objects, &member.objects));
    }
    changes
}

fn of_cluster(cluster: Option<&str>, old: &ClusterObjects, new: &ClusterObjects) -> Vec<Change> {
    let cluster = || cluster.map(str::to_owned);
    let mut changes = Vec::new();
    for (kind, after) in &new.kinds {
        let before = old.kinds.get(kind);
        if before.map(|before| &before.state) != Some(&after.state) {
            changes.push(Change::State(cluster(), *kind, after.state.clone()));
        }
        // What could not be read is not gone.
        if after.state.unread().is_some() {
            continue;
        }
        for (name, text) in &after.objects {
            if before.and_then(|before| before.objects.get(name)) != Some(text) {
                changes.push(Change::Present(cluster(), *kind, name.clone(), Arc::clone(text)));
            }
        }
        let gone = before.into_iter().flat_map(|before| before.objects.keys());
        let gone = gone.filter(|name| !after.objects.contains_key(*name));
        changes.extend(gone.map(|name| Change::Gone(cluster(), *kind, name.clone())));
    }
    changes
}

impl FleetObjects {
    /// Applies a change.
    pub(super) fn apply(&mut self, change: &Change) {
        match change {
            Change::Member(name, about) => {
                let member = self.members.entry(name.clone()).or_default();
                let objects = std::mem::take(&mut member.objects);
                *member = MemberObjects { objects, ..about.clone() };
            }
            Change::State(cluster, kind, state) => {
                self.cluster(cluster.as_ref()).kinds.entry(*kind).or_default().state =
                    state.clone();
            }
            Change::Present(cluster, kind, name, text) => {
                self.cluster(cluster.as_ref()).insert(*kind, name.clone(), Arc::clone(text));
            }
            Change::Gone(cluster, kind, name) => {
                if let Some(of_kind) = self.cluster(cluster.as_ref()).kinds.get_mut(kind) {
                    of_kind.objects.remove(name);
                }
            }
        }
    }

    fn cluster(&mut self, name: Option<&String>) -> &mut ClusterObjects {
        match name {
            None => &mut self.hub,
            Some(name) => &mut self.members.entry(name.clone()).or_default().objects,
        }
    }
}

#[cfg(test)]
mod tests {
    use fleet_api::kinds::SERVICE_EXPORT as KIND;
    use jiff::Timestamp;

    use super::*;
    use crate::recorded::cluster::KindObjects;

    /// A list that fails now and then would record that all went and came back, until the recording is full.
    #[test]
    fn what_could_not_be_read_is_not_gone() {
        let mut good = FleetObjects::new(Timestamp::UNIX_EPOCH);
        good.hub.insert(KIND, ObjectName::new("shop", "web"), "{}".into());
        let mut failed = FleetObjects::new(Timestamp::UNIX_EPOCH);
        let mut kept = good.clone();
        for state in [KindState::Failed("504".to_owned()), KindState::Forbidden("403".to_owned())] {
            let of_kind = KindObjects { state: state.clone(), ..KindObjects::default() };
            failed.hub.kinds.insert(KIND, of_kind);
            let found = changes(&kept, &failed);
            assert_eq!(found, [Change::State(None, KIND, state)]);
            for change in &found {
                kept.apply(change);
            }
        }
        assert_eq!(changes(&kept, &good), [Change::State(None, KIND, KindState::Read)]);
        failed
            .hub
            .kinds
            .insert(KIND, KindObjects { state: KindState::Missing, ..KindObjects::default() });
        assert_eq!(changes(&kept, &failed).len(), 2, "it is not served any more");
    }
}
