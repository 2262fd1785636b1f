//! The quota of a member on the hub: made where at most half of it is in use, and how much of it is used.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use fleet_accumulator::one_line;
use fleet_api::names::{member_namespace, member_of_namespace};
use fleet_api::{ResourceKind, kinds};
use k8s_openapi::api::core::v1::ResourceQuota;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::api::ListParams;
use kube::{Api, Client};
use serde::Serialize;
use serde_json::Value;

use crate::member_objects::{File, document, title};
use crate::objects::{api, apply, delete, find};
use crate::output::report;

/// The kind of a quota.
pub(crate) const KIND: ResourceKind = ResourceKind {
    group: "",
    version: "v1",
    kind: "ResourceQuota",
    plural: "resourcequotas",
    namespaced: true,
};
/// Name of the quota in a member's namespace.
const NAME: &str = "fleet-member-objects";
/// Kinds that members create themselves.
pub(crate) const COUNTED: [ResourceKind; 3] =
    [kinds::INTERNAL_SERVICE_EXPORT, kinds::INTERNAL_SERVICE_IMPORT, kinds::ENDPOINT_SLICE_EXPORT];
/// Part of a quota that may be in use when it is made, in percent.
const IN_USE: u64 = 50;
/// Longest time in which a hub counts the objects of kinds that it knows. Until it has, it rejects new ones.
const PATIENCE: Duration = Duration::from_secs(3);
/// Pause between two reads.
const LOOK: Duration = Duration::from_millis(100);

/// How much of its quota a member uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QuotaUse {
    /// The resource of which it uses the largest part, such as `count/endpointsliceexports.networking.fleet.azure.com`.
    pub resource: String,
    /// That part, in percent.
    pub percent: u64,
}

/// Numbers of objects, by what quotas call their kind.
type Counts = BTreeMap<String, u64>;

/// The resource of which the largest part is used; `None` if nothing is limited.
fn fullest(used: &Counts, hard: &Counts) -> Option<QuotaUse> {
    let percent = |(resource, hard): (&String, &u64)| {
        let used = used.get(resource).copied().unwrap_or_default();
        let percent = used.saturating_mul(100).div_ceil((*hard).max(1));
        QuotaUse { resource: resource.clone(), percent }
    };
    hard.iter().map(percent).max_by_key(|it| it.percent)
}

fn counts(quantities: Option<&BTreeMap<String, Quantity>>) -> Counts {
    let read =
        |(resource, count): (&String, &Quantity)| Some((resource.clone(), count.0.parse().ok()?));
    quantities.into_iter().flatten().filter_map(read).collect()
}

/// How much each member uses of its quota, of the members that have one; `None` if that cannot be read.
pub(crate) async fn read(hub: &Client) -> Option<BTreeMap<String, QuotaUse>> {
    let quotas: Api<ResourceQuota> = Api::all(hub.clone());
    let named = ListParams::default().fields(&format!("metadata.name={NAME}"));
    let quotas = quotas.list(&named).await.ok()?;
    let of_member = |quota: &ResourceQuota| {
        let member = member_of_namespace(quota.metadata.namespace.as_deref()?)?.to_owned();
        let hard = quota.spec.as_ref().and_then(|spec| spec.hard.as_ref());
        let used = quota.status.as_ref().and_then(|status| status.used.as_ref());
        Some((member, fullest(&counts(used), &counts(hard))?))
    };
    Some(quotas.iter().filter_map(of_member).collect())
}

/// Makes a quota of a member that has none, and reports what became of it. A member can do without.
pub(crate) async fn limit(
    hub: &Client,
    member: &str,
    file: File,
    counted: &[ResourceKind],
    dry_run: bool,
) {
    let quota = document(file, member);
    let outcome = async { try_limit(hub, member, &quota?, counted, dry_run).await }.await;
    report(&outcome.unwrap_or_else(|error| format!("No quota limits {member}: {error:#}")));
}

async fn try_limit(
    hub: &Client,
    member: &str,
    quota: &Value,
    counted: &[ResourceKind],
    dry_run: bool,
) -> Result<String> {
    let (title, namespace) = (title(quota), member_namespace(member));
    let name = quota["metadata"]["name"].as_str().unwrap_or_default();
    if find(hub, KIND, Some(&namespace), name).await?.is_some() {
        return Ok(format!("Unchanged: {title}"));
    }
    let hard = serde_json::from_value::<ResourceQuota>(quota.clone())?.spec;
    let hard = counts(hard.as_ref().and_then(|spec| spec.hard.as_ref()));
    let most = fullest(&stored(hub, &namespace, counted).await?, &hard);
    if let Some(QuotaUse { resource, percent }) = most.filter(|most| most.percent > IN_USE) {
        return Ok(format!(
            "No quota limits {member}: it has {percent} % already of what {title} would allow of {resource}"
        ));
    }
    if dry_run {
        return Ok(format!("Would create {title}"));
    }
    apply(hub, quota, false).await?;
    if is_counted(hub, &namespace, name, hard.len()).await {
        return Ok(format!("Applied {title}"));
    }
    delete(hub, KIND, Some(&namespace), name).await?;
    Ok(format!(
        "No quota limits {member}: the hub does not count its objects yet, and would reject new ones. Run join again later"
    ))
}

/// What the member has created.
async fn stored(hub: &Client, namespace: &str, counted: &[ResourceKind]) -> Result<Counts> {
    let mut counts = Counts::new();
    for kind in counted {
        let objects = api(hub.clone(), *kind, Some(namespace));
        let page = objects.list(&ListParams::default().limit(1)).await;
        let page =
            page.map_err(|error| anyhow::anyhow!("count {}: {}", kind.plural, one_line(&error)))?;
        let more = page.metadata.remaining_item_count.unwrap_or_default();
        let count = u64::try_from(page.items.len())? + u64::try_from(more).unwrap_or_default();
        counts.insert(format!("count/{}.{}", kind.plural, kind.group), count);
    }
    Ok(counts)
}

/// Waits until the hub has counted the objects of a new quota; false if it does not.
async fn is_counted(hub: &Client, namespace: &str, name: &str, resources: usize) -> bool {
    let quotas: Api<ResourceQuota> = Api::namespaced(hub.clone(), namespace);
    let counted = async {
        loop {
            let quota = quotas.get(name).await;
            let status = quota.ok().and_then(|quota| quota.status).unwrap_or_default();
            if status.used.is_some_and(|used| used.len() == resources) {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(PATIENCE, counted).await.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member_objects::quota;

    fn of(counts: &[(&str, u64)]) -> Counts {
        counts.iter().map(|(resource, count)| ((*resource).to_owned(), *count)).collect()
    }

    #[test]
    fn the_fullest_resource_counts() {
        let hard = of(&[("a", 200), ("b", 10)]);
        let most = |used: &[(&str, u64)]| fullest(&of(used), &hard).unwrap();
        let expect = |resource: &str, percent| QuotaUse { resource: resource.to_owned(), percent };
        assert_eq!(most(&[("a", 20), ("b", 9), ("c", 1000)]), expect("b", 90));
        assert_eq!(most(&[("a", 101), ("b", 5)]), expect("a", 51));
        assert_eq!(fullest(&of(&[("a", 1)]), &of(&[])), None);
        assert_eq!(fullest(&of(&[("a", 1)]), &of(&[("a", 0)])), Some(expect("a", 100)));
    }

    #[test]
    fn the_file_counts_the_kinds_that_members_create() {
        let quota: ResourceQuota = serde_json::from_value(quota("east").unwrap()).unwrap();
        assert_eq!(quota.metadata.name.as_deref(), Some(NAME));
        let hard = counts(quota.spec.unwrap().hard.as_ref());
        let kinds = COUNTED.map(|kind| format!("count/{}.{}", kind.plural, kind.group));
        assert_eq!(hard.keys().collect::<std::collections::BTreeSet<_>>(), kinds.iter().collect());
        let exports = hard[&kinds[0]];
        let accepted = hub_agent::Settings::default().max_services_per_member;
        assert!(exports > accepted as u64, "the hub agent answers first, since it names the flag");
    }
}
