//! The Services that a change of a pod affects.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod, Service};

use super::PodView;

type Labels = BTreeMap<String, String>;

/// Differences between two versions of a pod that affect endpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PodChange {
    /// Its endpoint may have changed.
    pub endpoint: bool,
    /// Labels or host name changed: other Services may select it.
    pub membership: bool,
}

/// Compares two versions of a pod.
pub fn change_of(old: &Pod, new: &Pod) -> PodChange {
    let name =
        |pod: &Pod| pod.spec.as_ref().map(|spec| (spec.hostname.clone(), spec.subdomain.clone()));
    PodChange {
        endpoint: old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
            || old.is_ready() != new.is_ready()
            || !old.addresses().eq(new.addresses()),
        membership: labels(old) != labels(new) || name(old) != name(new),
    }
}

/// The Services of its namespace that a change of a pod affects. `old` is absent for an added pod, `new` for a deleted
/// one.
pub fn affected_services<'a>(
    old: Option<&Pod>,
    new: Option<&Pod>,
    services: impl IntoIterator<Item = &'a Service>,
) -> Vec<&'a Service> {
    let change = match (old, new) {
        (Some(old), Some(new)) => change_of(old, new),
        _ => PodChange { endpoint: true, membership: true },
    };
    let selects =
        |service: &Service, pod: Option<&Pod>| pod.is_some_and(|pod| selects(service, pod));
    services
        .into_iter()
        .filter(|service| {
            let (before, after) = (selects(service, old), selects(service, new));
            (change.endpoint && (before || after)) || (change.membership && before != after)
        })
        .collect()
}

/// Whether the Service has a selector and the pod matches it.
fn selects(service: &Service, pod: &Pod) -> bool {
    let Some(selector) = service.spec.as_ref().and_then(|spec| spec.selector.as_ref()) else {
        return false;
    };
    let labels = labels(pod);
    let matches =
        |(key, value): (&String, &String)| labels.and_then(|labels| labels.get(key)) == Some(value);
    service.metadata.namespace == pod.metadata.namespace && selector.iter().all(matches)
}

fn labels(pod: &Pod) -> Option<&Labels> {
    pod.metadata.labels.as_ref().filter(|labels| !labels.is_empty())
}
