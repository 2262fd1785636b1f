//! A namespace for Pods of another member goes when no Pod needs it any more.

use fleet_api::ObjectName;
use fleet_model::objects::offload::PodDocument;
use fleet_model::steps::LOCAL;
use fleet_virtual_node::names;

use crate::links::Links;
use crate::measurement::Plan;
use crate::snapshot::MemberSnapshot;
use crate::views::{POD_IMPORTS, REMOTE_PODS};

/// The deletion of a namespace that is not needed.
pub(super) fn plan(links: &Links, name: &str, snapshot: &MemberSnapshot) -> Plan {
    let mut plan = Plan::default();
    let Some(space) = snapshot.namespaces.get(&ObjectName::cluster(name)) else { return plan };
    let Some(mark) = space.object.offload.as_ref().filter(|_| !space.object.terminating) else {
        return plan;
    };
    let needed = snapshot.remote_pods.in_namespace(name).next().is_some()
        || snapshot.pod_imports.by(&ObjectName::cluster(&*mark.origin)).any(|import| {
            let origin = &import.object.export.origin;
            names::namespace(&origin.cluster, &origin.namespace) == name
        });
    if needed {
        return plan;
    }
    // What is not known may be needed.
    if links.complete(POD_IMPORTS).is_none() || links.complete(REMOTE_PODS).is_none() {
        plan.wake_within(std::time::Duration::from_secs(2));
        return plan;
    }
    let empty = plan.push(LOCAL.confirm_none::<PodDocument>(name));
    plan.push(LOCAL.delete(space).after([empty]));
    plan
}
