//! What the quick look of the policies on EndpointSliceExports recognizes, and what it leaves to the rules. That it lets nothing pass
//! that a rule refuses is shown by the tests of the rules.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::kinds::ENDPOINT_SLICE_EXPORT as KIND;
use fleet_api::names::member_namespace;
use fleet_testbed::apply::apply;
use fleet_testbed::wait::wait_until;
use fleet_testbed::{member_policy, policies};
use serde_json::{Value, json};

use crate::Tests;
use crate::bounds::ports;
use crate::objects::{object, slice};
use crate::ways::{Way, change, create, dry_run, passed};
use crate::world::World;

/// Whose slices are looked at, by policies that have the match conditions of the chart's and refuse what these do not recognize.
const MEMBER: &str = "ordinary";
const SENTENCE: &str = "the rules would decide";
/// For the API server to take note of a policy.
const DEADLINE: Duration = Duration::from_mins(2);

pub(crate) fn add(tests: &mut Tests) {
    tests.add("ordinary::slices_of_members_need_no_rules", slices_of_members_need_no_rules);
}

/// Installs the match conditions of a policy for the member alone.
async fn install(world: &World, rendered: &[Value], policy: &str) -> Result<()> {
    let found = |kind: &str, field: &str| {
        let name = format!("{policy}.{}", KIND.group);
        let is_meant = move |it: &&Value| it["metadata"]["name"] == name;
        let found = rendered.iter().filter(|it| it["kind"] == kind).find(is_meant);
        let spec = found.with_context(|| format!("no {policy}"))?["spec"].clone();
        anyhow::Ok(json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
            "metadata": { "name": format!("{policy}.{field}.test") }, "spec": spec,
        }))
    };
    let mut copy = found("ValidatingAdmissionPolicy", MEMBER)?;
    copy["spec"]["variables"] = json!([]);
    copy["spec"]["validations"] = json!([{ "expression": "false", "message": SENTENCE }]);
    let mut binding = found("ValidatingAdmissionPolicyBinding", MEMBER)?;
    binding["spec"]["policyName"] = copy["metadata"]["name"].clone();
    binding["spec"]["matchResources"] = json!({ "namespaceSelector": {
        "matchLabels": { "kubernetes.io/metadata.name": member_namespace(MEMBER) },
    } });
    apply(&world.admin, copy).await?;
    apply(&world.admin, binding).await
}

/// Whether the look is enough for a write of an admin, whom no rule binds.
fn recognized<T>(answer: kube::Result<T>) -> Result<bool> {
    match answer {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.message.contains(SENTENCE) => Ok(false),
        Err(error) => Err(error).context("a try"),
    }
}

async fn slices_of_members_need_no_rules(world: &World) -> Result<()> {
    world.join(MEMBER).await?;
    let values =
        json!({ "limits": { "endpoints": 5, "ports": 3 }, "reservedCidrs": ["10.66.0.0/16"] });
    let rendered = policies::render_multicluster(&values).await?;
    install(world, &rendered, "content-endpointsliceexports").await?;
    let is_recognized =
        async |object: &Value| recognized(dry_run(&world.admin, KIND, object).await?);
    let of = |family: &str, addresses: &[&str]| slice(MEMBER, "ordinary", family, addresses);
    let reserved = of("IPv4", &["10.66.0.1"]);
    let in_force = async || Ok(!is_recognized(&reserved).await?);
    wait_until("the first look is in force", DEADLINE, in_force).await?;

    for (family, addresses) in [
        ("IPv4", &["10.1.0.1", "100.64.0.1", "172.16.0.1", "192.168.255.0", "223.255.255.255"][..]),
        ("IPv6", &["2001:db8::1", "fd00::1", "3fff::", "fd00:ec2::253"]),
        ("IPv4", &[]),
    ] {
        ensure!(is_recognized(&of(family, addresses)).await?, "{addresses:?} needs rules");
    }
    let ends = |last: &str, family: &str, first: &str| of(family, &[first, last]);
    for other in ["10.66.255.255", "127.0.0.1", "168.63.129.16", "10.1.0.01", "fd00::1"] {
        ensure!(!is_recognized(&ends(other, "IPv4", "10.1.0.1")).await?, "{other} needs no rules");
    }
    for other in ["fd00:ec2::254", "FD00::1", "fd00:0::1", "64:ff9b::1", "fd00::1%a", "10.1.0.1"] {
        ensure!(!is_recognized(&ends(other, "IPv6", "fd00::1")).await?, "{other} needs no rules");
    }
    for spoil in [
        |it: &mut Value| it["spec"]["endpoints"][0]["addresses"] = json!(["10.1.0.1", "10.1.0.2"]),
        |it: &mut Value| it["spec"]["endpoints"][0]["addresses"] = json!([]),
        |it: &mut Value| it["spec"]["drainingEndpoints"] = json!([{ "addresses": ["0.0.0.1"] }]),
        |it: &mut Value| {
            it["spec"]["endpoints"] = json!(vec![json!({ "addresses": ["10.1.0.1"] }); 6]);
        },
        |it: &mut Value| it["spec"]["ports"] = ports(4),
        |it: &mut Value| it["spec"]["endpointSliceReference"]["clusterId"] = json!("east"),
        |it: &mut Value| it["spec"]["ownerServiceReference"]["name"] = json!("other"),
    ] {
        let mut spoilt = of("IPv4", &["10.1.0.1"]);
        spoil(&mut spoilt);
        ensure!(!is_recognized(&spoilt).await?, "{spoilt} needs no rules");
    }

    let mut mine = object(KIND, MEMBER, "ordinary");
    mine["spec"]["endpoints"][0]["hostname"] = json!("web-0");
    mine["spec"]["endpoints"][0]["zone"] = json!("a");
    passed("an ordinary one", create(&world.admin, KIND, &mine).await?)?;
    changes_need_no_rules(world, &mine).await?;
    ranges_and_lists_are_recognized(world, &rendered).await
}

/// Changes as agents make them are recognized, with every way to write.
async fn changes_need_no_rules(world: &World, mine: &Value) -> Result<()> {
    let next = |object: &mut Value| {
        object["spec"]["endpoints"] = json!([{ "addresses": ["10.1.0.2"], "zone": "b" }]);
        object["spec"]["drainingEndpoints"] = json!([{ "addresses": ["10.1.0.1"] }]);
        object["spec"]["endpointSliceReference"]["resourceVersion"] = json!("8");
        object["spec"]["endpointSliceReference"]["generation"] = json!(8);
    };
    let answer = change(&world.admin, KIND, mine, Way::Put, next).await?;
    ensure!(recognized(answer)?, "a change of endpoints needs rules");
    for (what, spoil) in [
        ("uid", |it: &mut Value| it["spec"]["endpointSliceReference"]["uid"] = json!("x")),
        ("Service", |it: &mut Value| {
            it["spec"]["ownerServiceReference"]["name"] = json!("x");
            it["spec"]["ownerServiceReference"]["namespacedName"] = json!("team/x");
        }),
        ("finalizer", |it: &mut Value| it["metadata"]["finalizers"] = json!([])),
    ] as [(&str, fn(&mut Value)); 3]
    {
        let answer = change(&world.admin, KIND, mine, Way::Put, spoil).await?;
        ensure!(!recognized(answer)?, "another {what} needs no rules");
    }
    let strip = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
    let by_the_hub = change(&world.agent, KIND, mine, Way::JsonPatch, strip).await?;
    ensure!(recognized(by_the_hub)?, "the hub agent's own finalizer needs rules");
    Ok(())
}

/// What a member policy allows is recognized by one of its ranges, and by its list.
async fn ranges_and_lists_are_recognized(world: &World, rendered: &[Value]) -> Result<()> {
    install(world, rendered, "member-endpointsliceexports").await?;
    let namespace = member_namespace(MEMBER);
    let apart = slice(MEMBER, "listed", "IPv4", &["10.1.0.1", "10.2.0.1"]);
    let together = slice(MEMBER, "listed", "IPv4", &["10.1.0.1", "10.1.0.2"]);
    for (cidrs, exports, expected) in [
        ("10.1.0.0/16", "*", [true, false]),
        ("", "*", [false, false]),
        ("10.2.0.0/16, 10.1.0.0/16", "shop/*, team/*", [true, false]),
        ("0.0.0.0/0", "shop/*, team/web2", [false, false]),
        ("fd00::/8,10.0.0.0/8", "team/web", [true, true]),
        ("10.1.0.0/24", "", [false, false]),
    ] {
        member_policy::allow(&world.admin, &namespace, cidrs, (exports, "*")).await?;
        let what = format!("{cidrs:?} and {exports:?} are in force");
        wait_until(&what, DEADLINE, async || {
            let mut found = [false; 2];
            for (found, slice) in found.iter_mut().zip([&together, &apart]) {
                *found = recognized(dry_run(&world.admin, KIND, slice).await?)?;
            }
            Ok(found == expected)
        })
        .await?;
    }
    Ok(())
}
