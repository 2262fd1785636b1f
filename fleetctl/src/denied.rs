//! Which namespaces the agents deny. No object shows the flag, but what they have refused, or keep in force, does.

use std::collections::BTreeSet;

use fleet_api::conditions::{self, reasons};
use fleet_model::denied_namespaces::DeniedNamespaces;
use fleet_plan::conditions::find;
use hub_agent::snapshot::HubSnapshot;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use member_agent::import::Refusal;
use member_agent::multicluster::export::is_denied;
use member_agent::snapshot::MemberSnapshot;

/// Part of the message of an export or import that is in force in a denied namespace.
const IN_FORCE: &str = "namespace is denied";

/// The namespaces that the hub agent denies.
pub(crate) fn by_hub(hub: &HubSnapshot) -> DeniedNamespaces {
    let refused = hub.internal_exports.iter().filter(|export| is_refused(&export.conditions));
    let refused = refused.filter_map(|export| Some(&*export.reference.object()?.namespace));
    let standard = hub.exported_services.iter();
    let standard = standard.filter(|export| {
        find(&export.conditions, conditions::READY)
            .is_some_and(|ready| ready.reason == conditions::standard::NAMESPACE_DENIED)
    });
    denied(refused.chain(standard.filter_map(|export| Some(&*export.service.as_ref()?.namespace))))
}

/// The namespaces that a member agent denies.
pub(crate) fn by_member(own: &MemberSnapshot) -> DeniedNamespaces {
    let exports = own.service_exports.iter().filter(|export| is_refused(&export.conditions));
    let exports = exports.map(|export| &*export.name.namespace);
    let imports = own.multi_cluster_services.iter();
    let imports = imports.filter(|mcs| is_refused(&mcs.conditions)).map(|mcs| &*mcs.name.namespace);
    let standard = own.standard_exports.iter().filter(|export| is_denied(&export.conditions));
    let standard = standard.map(|export| &*export.name.namespace);
    denied(exports.chain(imports).chain(standard))
}

fn is_refused(present: &[Condition]) -> bool {
    find(present, conditions::VALID).is_some_and(|valid| {
        valid.reason == reasons::NAMESPACE_DENIED
            || valid.message.contains(IN_FORCE)
            || valid.message == Refusal::NamespaceDenied.to_string()
    })
}

fn denied<'a>(namespaces: impl Iterator<Item = &'a str>) -> DeniedNamespaces {
    let names: BTreeSet<_> = namespaces.collect();
    let text = names.into_iter().collect::<Vec<_>>().join(",");
    // A namespace of Kubernetes is a pattern.
    text.parse().unwrap_or_default()
}
