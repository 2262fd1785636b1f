//! The name of an import in clusterset.local.

use fleet_accumulator::Object;
use fleet_api::multicluster::ServiceType;
use fleet_model::objects::multicluster::standard::ServiceImport;

use crate::picture::{Member, Picture};
use crate::story::{Cause, Hop};

/// Whether the cluster has what its DNS server reads. What that server does with it is in its own configuration.
pub(super) fn hop(
    picture: &Picture,
    name: &str,
    member: &Member,
    import: &Object<ServiceImport>,
) -> Hop {
    let domain = format!("{}.{}.svc.clusterset.local", import.name.name, import.name.namespace);
    match member.names_served {
        Some(true) => Hop::ok(name, &domain, resolves_to(import)),
        None => Hop::unseen(
            name,
            domain,
            "it is not known whether the cluster serves ServiceImports in version v1alpha1, which CoreDNS reads",
        ),
        Some(false) => Hop::stop(
            name,
            domain,
            Cause::NamesNotServed,
            "the cluster does not serve ServiceImports in version v1alpha1, which CoreDNS reads; it answers for no name in clusterset.local",
            format!(
                "install the definitions of the API with both versions, as the member-agent chart does with crds.multicluster: {} \
                 get crd serviceimports.multicluster.x-k8s.io -o yaml",
                picture.kubectl(name)
            ),
        ),
    }
}

fn resolves_to(import: &ServiceImport) -> String {
    let Some(spec) = &import.spec else { return "its ServiceImport cannot be read".to_owned() };
    let what = match spec.type_ {
        ServiceType::Headless => "the addresses of its ready endpoints".to_owned(),
        ServiceType::ClusterSetIP => spec.ips.join(", "),
    };
    format!(
        "resolves to {what}, if the DNS server of this cluster serves clusterset.local: fleetctl doctor checks that"
    )
}
