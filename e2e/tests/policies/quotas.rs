//! C10: how many objects a member makes is limited by `ResourceQuota`s, which are the hub's administrators' to set.

use anyhow::{Result, ensure};
use fleet_api::names::member_namespace;
use fleet_api::{ResourceKind, kinds};
use fleet_testbed::quota;
use fleet_testbed::wait::wait_until;
use k8s_openapi::api::core::v1::ResourceQuota;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::Tests;
use crate::bounds::DEADLINE;
use crate::objects::object;
use crate::ways::{Way, change, create, create_by_apply, passed};
use crate::world::{EAST, World};

const KIND: ResourceKind = kinds::INTERNAL_SERVICE_EXPORT;
/// How many of [`KIND`] a member may make.
const FEW: usize = 2;

pub(crate) fn add(tests: &mut Tests) {
    tests.add("C10::a_quota_limits_what_a_member_makes", a_quota_limits_what_a_member_makes);
    tests.add("C10::the_charts_quota_counts_what_members_make", the_charts_quota_counts);
}

/// The flood is refused; what is there goes on, and so do other members.
async fn a_quota_limits_what_a_member_makes(world: &World) -> Result<()> {
    const MEMBER: &str = "flood";
    let member = world.join(MEMBER).await?;
    limit(world, MEMBER).await?;
    for number in 0..FEW {
        let mine = object(KIND, MEMBER, &format!("c10-{number}"));
        passed("few", create(&member, KIND, &mine).await?)?;
    }
    let more = object(KIND, MEMBER, "c10-more");
    exceeds(create(&member, KIND, &more).await?)?;
    exceeds(create_by_apply(&member, KIND, &more).await?)?;
    let first = object(KIND, MEMBER, "c10-0");
    let next = |object: &mut Value| object["spec"]["serviceReference"]["generation"] = json!(2);
    passed("goes on", change(&member, KIND, &first, Way::Put, next).await?)?;
    passed("of another", create(&world.east, KIND, &object(KIND, EAST, "c10")).await?)?;
    Ok(())
}

/// Of the quota that the chart gives a member, what the member makes is counted, and what the hub agent makes is not.
async fn the_charts_quota_counts(world: &World) -> Result<()> {
    const MEMBER: &str = "counted";
    let member = world.join(MEMBER).await?;
    quota::as_shipped(&world.admin, MEMBER).await?;
    let copy = object(kinds::ENDPOINT_SLICE_IMPORT, MEMBER, "c10-copy");
    passed("copy", create(&world.agent, kinds::ENDPOINT_SLICE_IMPORT, &copy).await?)?;
    let home = member_namespace(MEMBER);
    let quotas: Api<ResourceQuota> = Api::namespaced(world.admin.clone(), &home);
    let mut number = 0;
    // Until the API server has noticed the quota, it counts nothing.
    wait_until("each of three kinds is counted", DEADLINE, async || {
        number += 1;
        for kind in [KIND, kinds::INTERNAL_SERVICE_IMPORT, kinds::ENDPOINT_SLICE_EXPORT] {
            let one = object(kind, MEMBER, &format!("c10-{number}"));
            passed(kind.kind, create(&member, kind, &one).await?)?;
        }
        let quotas = quotas.list(&ListParams::default()).await?;
        let used = quotas.items.first().and_then(|quota| quota.status.as_ref()?.used.clone());
        Ok(used.is_some_and(|used| used.len() == 3 && used.values().all(|used| used.0 != "0")))
    })
    .await
}

/// Limits a member to [`FEW`] exports and no imports.
pub(crate) async fn limit(world: &World, member: &str) -> Result<()> {
    let none = kinds::INTERNAL_SERVICE_IMPORT;
    let import = object(none, member, "c10");
    let counts = [(KIND, FEW), (none, 0)];
    quota::limit(&world.admin, &member_namespace(member), &counts, (none, &import)).await
}

/// An error unless a quota refused the write.
fn exceeds<T>(answer: kube::Result<T>) -> Result<()> {
    let refusal = match answer {
        Err(kube::Error::Api(status)) => status,
        Err(error) => return Err(error.into()),
        Ok(_) => anyhow::bail!("it passed, the quota should refuse it"),
    };
    ensure!(refusal.code == 403 && refusal.message.contains("exceeded quota: few"), "{refusal:?}");
    Ok(())
}
