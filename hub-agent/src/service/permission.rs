//! Whether the policy of a member lists a Service, as the rule P6 of docs/security.md requires when it is exported or
//! imported. Here it holds for what is there, too.
//!
//! A policy that is missing or cannot be read forbids nothing, so that no loss of policies withdraws anything. Nor does one that
//! the hub agent may not list, which is missing for it.

use std::collections::BTreeSet;
use std::sync::Arc;

use fleet_accumulator::{Object, View};
use fleet_api::ObjectName;
use fleet_model::changes::each_touched;
use fleet_model::objects::MemberPolicy;
use fleet_plan::Affected;

use super::keys::{FromMember, Key, key_of};
use super::refusable::Refusable;
use crate::snapshot::HubSnapshot;

/// Whether the policy of its member allows an export or a request of `service`.
pub(super) fn permits<T: Refusable>(
    policies: &View<MemberPolicy>,
    object: &Object<T>,
    service: &ObjectName,
) -> bool {
    if policies.is_empty() {
        return true;
    }
    let policy = policies.get(&MemberPolicy::in_namespace(&object.name.namespace));
    let lists = policy.and_then(|policy| policy.lists.as_ref().ok());
    lists.is_none_or(|lists| T::list(lists).includes(service))
}

/// Adds the Services of a member that one of two versions of its policy allows, on the account of the member.
pub(super) fn affected(old: &HubSnapshot, new: &HubSnapshot, keys: &mut Affected<Key>) {
    let mut namespaces = BTreeSet::new();
    each_touched(&old.member_policies, &new.member_policies, |policy| {
        namespaces.insert(Arc::clone(&policy.name.namespace));
    });
    let policies = [&old.member_policies, &new.member_policies];
    for namespace in &namespaces {
        add_changed(policies, &new.internal_exports, namespace, keys);
        add_changed(policies, &new.internal_imports, namespace, keys);
    }
}

fn add_changed<T: Refusable + FromMember>(
    [old, new]: [&View<MemberPolicy>; 2],
    view: &View<T>,
    namespace: &str,
    keys: &mut Affected<Key>,
) {
    for object in view.in_namespace(namespace) {
        let key = key_of(object);
        let Key::Service(service) = &key else { continue };
        if permits(old, object, service) != permits(new, object, service) {
            keys.add_for(&object.name.namespace, key);
        }
    }
}
