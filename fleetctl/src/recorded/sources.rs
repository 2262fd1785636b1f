//! Which kinds are read of a cluster, and which objects of them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use fleet_accumulator::{ClusterId, Snapshot, SourceInfo, SourceSet, Tracked, View, Views};
use fleet_api::{ResourceKind, kinds};
use fleet_model::hub_schema::HubSchema;
use fleet_plan::Controller as _;
use hub_agent::snapshot::HubSnapshot;
use member_agent::snapshot::MemberSnapshot;
use member_agent::{Settings, Traffic};

use crate::controllers::{HubControllers, MemberControllers};

/// The field selector of a kind, if not all of its objects are read.
pub(crate) type Selected = BTreeMap<ResourceKind, Option<&'static str>>;

/// What is read of the hub.
pub(crate) fn of_hub() -> Selected {
    let mut selected = selected::<HubSnapshot>(HubControllers::default().reads(), ClusterId::Hub);
    // Members read these there, and users what members reach.
    selected.insert(kinds::SERVICE_TRAFFIC, None);
    selected.insert(kinds::REACH_REPORT, None);
    selected
}

/// What is read of a member's own cluster.
pub(crate) fn of_member(name: &str) -> Selected {
    let traffic = Traffic { enabled: true, ..Traffic::default() };
    let settings = Settings { traffic, ..Settings::new(name) };
    let controllers = MemberControllers::new(&settings);
    let reads = controllers.reads().union(controllers.import.reads());
    selected::<MemberSnapshot>(reads, ClusterId::Local)
}

fn selected<S: Snapshot>(reads: SourceSet, cluster: ClusterId) -> Selected {
    let asked = Asked { reads, cluster, selected: RefCell::default() };
    let _ = S::of(&asked);
    asked.selected.into_inner()
}

/// Takes note of what a snapshot is made of.
struct Asked {
    reads: SourceSet,
    cluster: ClusterId,
    selected: RefCell<Selected>,
}

impl Views for Asked {
    fn view<T: Tracked>(&self, source: &SourceInfo) -> View<T> {
        let is_read = self.reads.contains(source.id) && source.cluster == self.cluster;
        // Not an object: it is read from the API server's description of itself.
        if is_read && source.kind != HubSchema::KIND {
            let mut selected = self.selected.borrow_mut();
            let fields = selected.entry(source.kind).or_insert(T::FIELDS);
            // Two sources of one kind: all that either has.
            if *fields != T::FIELDS {
                *fields = None;
            }
        }
        View::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_is_read() {
        for selected in [of_hub(), of_member("east")] {
            assert!(!selected.contains_key(&kinds::SECRET), "{selected:?}");
            if let Some(fields) = selected.get(&kinds::CONFIG_MAP) {
                assert_eq!(
                    *fields,
                    Some("metadata.name=member-policy"),
                    "of ConfigMaps, that alone"
                );
            }
        }
    }

    #[test]
    fn what_agents_decide_by_is_read() {
        let hub = of_hub();
        for kind in [
            kinds::INTERNAL_SERVICE_EXPORT,
            kinds::MEMBER_TRAFFIC,
            kinds::LEASE,
            kinds::REACH_REPORT,
        ] {
            assert!(hub.contains_key(&kind), "{kind:?}");
        }
        assert_eq!(hub[&kinds::LEASE], Some("metadata.name=fleet-member"));
        let member = of_member("east");
        for kind in [kinds::ENDPOINT_SLICE, kinds::SERVICE_TRAFFIC, kinds::MCS_SERVICE_IMPORT] {
            assert!(member.contains_key(&kind), "{kind:?}");
        }
    }
}
