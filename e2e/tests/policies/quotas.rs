//! C10: how many objects a member makes is limited by `ResourceQuota`s, which are the hub's administrators' to set.

use std::time::Duration;

use anyhow::{Result, ensure};
use fleet_api::names::member_namespace;
use fleet_api::{ResourceKind, kinds};
use fleet_e2e::objects::api;
use fleet_e2e::testbed::apply::apply;
use fleet_e2e::wait::wait_until;
use k8s_openapi::api::core::v1::ResourceQuota;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::Tests;
use crate::objects::object;
use crate::ways::{Way, change, create, create_by_apply, passed};
use crate::world::{EAST, World};

/// For the API server to take note of a quota.
const DEADLINE: Duration = Duration::from_secs(20);
const KIND: ResourceKind = kinds::INTERNAL_SERVICE_EXPORT;
/// How many of [`KIND`] a member may make.
const FEW: usize = 2;

pub(crate) fn add(tests: &mut Tests) {
    tests.add("C10::a_quota_limits_what_a_member_makes", a_quota_limits_what_a_member_makes);
}

/// The flood is refused; what is there goes on, and so do other members.
async fn a_quota_limits_what_a_member_makes(world: &World) -> Result<()> {
    const MEMBER: &str = "flood";
    let member = world.join(MEMBER).await?;
    limit(world, (MEMBER, &member)).await?;
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

/// Limits a member to [`FEW`] exports and no imports, and waits until that is in force: an import is refused.
pub(crate) async fn limit(world: &World, (member, client): (&str, &Client)) -> Result<()> {
    let home = member_namespace(member);
    let none = kinds::INTERNAL_SERVICE_IMPORT;
    let count = |kind: ResourceKind| format!("count/{}.{}", kind.plural, kind.group);
    let hard = json!({ count(KIND): FEW.to_string(), count(none): "0" });
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": { "name": "few", "namespace": home }, "spec": { "hard": hard },
    });
    apply(&world.admin, quota).await?;
    // What a controller does that does not run here: it counts what is there already.
    let used = json!({ count(KIND): "0", count(none): "0" });
    let status = json!({ "status": { "hard": hard, "used": used } });
    let quotas: Api<ResourceQuota> = Api::namespaced(world.admin.clone(), &home);
    quotas.patch_status("few", &PatchParams::default(), &Patch::Merge(status)).await?;

    let imports = api(client.clone(), none, Some(&home));
    let import = serde_json::from_value(object(none, member, "c10"))?;
    let params = PostParams { dry_run: true, ..PostParams::default() };
    wait_until("the quota is in force", DEADLINE, async || {
        let answer = imports.create(&params, &import).await;
        Ok(answer.is_err() && exceeds(answer).is_ok())
    })
    .await
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
