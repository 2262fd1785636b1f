//! The namespace for Pods of one namespace of a member, and what is in it before any Pod.

use fleet_accumulator::{ClusterId, Object};
use fleet_api::names::digest;
use fleet_api::offload::{OffloadOfferSpec, OriginPod};
use fleet_api::{ObjectName, ResourceKind, annotations, kinds};
use fleet_model::objects::Namespace;
use fleet_plan::{Action, Step, StepId};
use fleet_virtual_node::executor::namespace_documents;
use fleet_virtual_node::names;
use serde_json::{Value, json};

use crate::Settings;
use crate::measurement::Plan;
use crate::snapshot::MemberSnapshot;

/// Whether Pods can be made in a namespace.
pub(super) enum Equipment {
    /// They can, after these steps.
    After(Vec<StepId>),
    /// Not yet: it is being deleted.
    Ending,
    /// Never: another client has a namespace of that name.
    Taken,
}

/// Adds what a namespace lacks.
pub(super) fn equip(
    settings: &Settings,
    origin: &OriginPod,
    offer: &OffloadOfferSpec,
    snapshot: &MemberSnapshot,
    plan: &mut Plan,
) -> Equipment {
    let name = names::namespace(&origin.cluster, &origin.namespace);
    let clients = &settings.virtual_nodes.clients;
    let clients: Vec<String> = clients
        .to_string()
        .split(',')
        .filter(|range| !range.is_empty())
        .map(str::to_owned)
        .collect();
    let documents = namespace_documents(
        &origin.cluster,
        &origin.namespace,
        offer.terms.policy_profile,
        &offer.capacity,
        &clients,
    );
    let hash = digest(&Value::from(documents.clone()).to_string());
    let present = snapshot.namespaces.get(&ObjectName::cluster(name.as_str()));
    match present.map(|space| (space, space.object.offload.as_ref())) {
        Some((space, _)) if space.object.terminating => Equipment::Ending,
        Some((_, Some(mark))) if *mark.origin == *origin.cluster => {
            if mark.equipment.as_deref() == Some(&hash) {
                return Equipment::After(Vec::new());
            }
            Equipment::After(vec![set_up(&name, present, documents, &hash, plan)])
        }
        Some(_) => Equipment::Taken,
        None => Equipment::After(vec![set_up(&name, None, documents, &hash, plan)]),
    }
}

/// What is in the namespace comes before its mark, which states that all of it is there.
fn set_up(
    name: &str,
    present: Option<&Object<Namespace>>,
    documents: Vec<Value>,
    hash: &str,
    plan: &mut Plan,
) -> StepId {
    let mut documents = documents.into_iter();
    let mut space = documents.next().unwrap_or_default();
    let step = |object: Value, action: fn(Value) -> Action| {
        let kind = kind_of(&object);
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        Step::new(ClusterId::Local, kind, ObjectName::new(namespace, name), action(object))
    };
    let apply: fn(Value) -> Action = |object| Action::Apply { body: object.into(), status: false };
    let made = if present.is_none() {
        let create: fn(Value) -> Action = |object| Action::Create(object.into());
        Some(plan.push(step(space.clone(), create)))
    } else {
        None
    };
    let inside: Vec<_> =
        documents.map(|object| plan.push(step(object, apply).after(made))).collect();
    space["metadata"]["annotations"] = json!({ annotations::OFFLOAD_EQUIPMENT: hash });
    debug_assert_eq!(space["metadata"]["name"], name);
    plan.push(step(space, apply).after(inside))
}

fn kind_of(object: &Value) -> ResourceKind {
    match object["kind"].as_str() {
        Some("Namespace") => kinds::NAMESPACE,
        Some("ResourceQuota") => kinds::RESOURCE_QUOTA,
        Some("LimitRange") => kinds::LIMIT_RANGE,
        Some("NetworkPolicy") => kinds::NETWORK_POLICY,
        _ => kinds::SERVICE_ACCOUNT,
    }
}
