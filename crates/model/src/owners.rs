//! Which agent a ServiceImport belongs to, by its owner: in a cluster that is both hub and member there may be either.

use fleet_accumulator::Meta;
use fleet_api::kinds;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

/// Whether an owner is a MultiClusterService, of whatever version.
pub fn is_mcs(owner: &OwnerReference) -> bool {
    let kind = kinds::MULTI_CLUSTER_SERVICE;
    let group = owner.api_version.split_once('/').map(|(group, _)| group);
    owner.kind == kind.kind && group == Some(kind.group)
}

/// Whether a MultiClusterService controls the object: then a member agent made it. Any other owner was added by a user.
pub fn is_controlled_by_mcs(meta: &Meta) -> bool {
    meta.controller_owner().is_some_and(is_mcs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(api_version: &str, kind: &str) -> OwnerReference {
        let (api_version, kind) = (api_version.to_owned(), kind.to_owned());
        OwnerReference { api_version, kind, ..OwnerReference::default() }
    }

    #[test]
    fn a_multi_cluster_service_is_known_by_group_and_kind() {
        for version in ["v1alpha1", "v1beta1", "v7"] {
            let version = format!("networking.fleet.azure.com/{version}");
            assert!(is_mcs(&owner(&version, "MultiClusterService")));
            assert!(!is_mcs(&owner(&version, "ServiceExport")));
        }
        assert!(!is_mcs(&owner("v1", "MultiClusterService")));
        assert!(!is_mcs(&owner("example.com/v1alpha1", "MultiClusterService")));
    }
}
