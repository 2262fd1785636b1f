//! C10: how many objects a member makes is limited by `ResourceQuota`s, which are the hub's administrators' to set.

use anyhow::{Result, ensure};
use fleet_api::names::member_namespace;
use fleet_api::{ResourceKind, kinds};
use fleet_testbed::quota;
use serde_json::{Value, json};

use crate::Tests;
use crate::objects::object;
use crate::ways::{Way, change, create, create_by_apply, passed};
use crate::world::{EAST, World};

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
