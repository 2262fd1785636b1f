//! EndpointSlices whose endpoints are the pods' addresses on a secondary network.

use fleet_api::labels;
use fleet_endpointslice::{AddressType, Candidate, Config, Hints, MANAGER, Pods, Source};
use k8s_openapi::api::core::v1::Service;

use crate::slicing::SelectedPod;

/// Whether this controller makes slices of `manager`.
pub(super) fn is_manager(manager: &str) -> bool {
    [MANAGER, labels::MANAGED_BY_NETWORK].contains(&manager)
}

/// How slices of a network are made. They carry the Service's name under a label of the fleet's own, so that
/// kube-proxy and other consumers in this cluster do not select them.
pub(super) fn config(limit: usize) -> Config {
    Config {
        manager: labels::MANAGED_BY_NETWORK.to_owned(),
        service_label: labels::NETWORK_SERVICE,
        name_prefix: "network-",
        placeholder: false,
        hints: Hints::None,
        limit,
        ..Config::pods()
    }
}

/// Pods on a network, which need not have the IP families of the Service's own address.
pub(super) struct OnNetwork<'a>(pub(super) Pods<'a, SelectedPod<'a>>);

impl Source for OnNetwork<'_> {
    fn address_types(&self, _: &Service) -> Vec<AddressType> {
        AddressType::ALL.to_vec()
    }

    fn candidates<'a>(
        &'a self,
        service: &'a Service,
        address_type: AddressType,
    ) -> impl Iterator<Item = Candidate<'a>> {
        self.0.candidates(service, address_type)
    }
}
