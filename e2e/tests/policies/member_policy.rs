//! P5, P6 and P13: what a member may export and import is written down where it cannot change it.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fleet_api::names::member_namespace;
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_model::service_list::ServiceList;
use fleet_testbed::apply::apply;
use fleet_testbed::objects::api;
use fleet_testbed::policies;
use fleet_testbed::wait::wait_until;
use kube::Client;
use serde_json::{Value, json};

use crate::Tests;
use crate::objects::{EXPORTED, object, slice};
use crate::ways::{
    REMOVING, WAYS, Way, change, create, create_by_apply, delete, delete_collection, dry_run,
    passed, refused, refused_by_all,
};
use crate::world::World;

/// For the API server to take note of a policy or of its parameters.
const DEADLINE: Duration = Duration::from_mins(2);

const CONFIG_MAP: ResourceKind = ResourceKind {
    group: "",
    version: "v1",
    kind: "ConfigMap",
    plural: "configmaps",
    namespaced: true,
};

pub(crate) fn add(tests: &mut Tests) {
    tests.add("P5::endpoints_are_the_members_own", endpoints_are_the_members_own);
    tests.add("P5::ranges_of_two_members_may_overlap", ranges_of_two_members_may_overlap);
    tests.add("P6::services_are_the_members_own", services_are_the_members_own);
    tests.add("P6::the_hub_agent_reads_lists_as_the_policy_does", read_alike);
    tests.add(
        "P5::ranges_of_executors_are_for_some_namespaces",
        ranges_of_executors_are_for_some_namespaces,
    );
    tests.add("P6::strict_needs_a_member_policy", strict_needs_a_member_policy);
    tests.add("P13::members_do_not_write_their_policy", members_do_not_write_their_policy);
    tests.add(
        "P13::a_deleted_namespace_takes_its_policy_along",
        a_deleted_namespace_takes_its_policy_along,
    );
    tests.add("P13::a_member_policy_says_what_it_means", a_member_policy_says_what_it_means);
}

fn policy(member: &str, cidrs: &str, exports: &str, imports: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "member-policy", "namespace": member_namespace(member) },
        "data": { "cidrs": cidrs, "exports": exports, "imports": imports },
    })
}

/// Writes a member's policy and waits until an object that breaks it is refused.
async fn enforce(
    world: &World,
    (member, client): (&str, &Client),
    policy: &Value,
    broken: (ResourceKind, &Value, &str),
) -> Result<()> {
    passed("by an admin", create(&world.admin, CONFIG_MAP, policy).await?)?;
    let (kind, object, rule) = broken;
    wait_until(&format!("the policy of {member} is in force"), DEADLINE, async || {
        let answer = create(client, kind, object).await?;
        if answer.is_ok() {
            // It was made under no policy.
            let strip = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
            change(&world.admin, kind, object, Way::MergePatch, strip).await??;
            delete(&world.admin, kind, object).await??;
            return Ok(false);
        }
        refused("the first", answer, rule)?;
        Ok(true)
    })
    .await
}

/// C3.
async fn endpoints_are_the_members_own(world: &World) -> Result<()> {
    const KIND: ResourceKind = kinds::ENDPOINT_SLICE_EXPORT;
    const NORTH: &str = "north";
    let north = world.join(NORTH).await?;
    let of = |family: &str, addresses: &[&str]| slice(NORTH, "p5", family, addresses);
    let foreign = [
        ("IPv4", "10.2.0.1"),
        ("IPv4", "10.0.255.255"),
        ("IPv4", "10.96.0.1"),
        ("IPv4", "192.168.1.10"),
        ("IPv4", "8.8.8.8"),
        ("IPv6", "fd00:2::1"),
        ("IPv6", "fd00::1"),
    ];
    // Until then everything that is an endpoint passes: those that KubeFleet joined keep working.
    let outside = of("IPv4", &[foreign[0].1]);
    let policy = policy(NORTH, "10.1.0.0/16, 10.77.1.0/24,fd00:1::/32", "*", "*");
    enforce(world, (NORTH, &north), &policy, (KIND, &outside, "P5")).await?;

    for (family, address) in foreign {
        let alone = of(family, &[address]);
        refused(address, create(&north, KIND, &alone).await?, "P5")?;
        refused(address, create_by_apply(&north, KIND, &alone).await?, "P5")?;
    }
    let mut draining = of("IPv4", &["10.1.0.1"]);
    draining["spec"]["drainingEndpoints"] = json!([{ "addresses": ["10.2.0.1"] }]);
    refused("draining", create(&north, KIND, &draining).await?, "P5")?;

    let mine = of("IPv4", &["10.1.0.1", "10.1.255.254", "10.77.1.9"]);
    passed("its own", create(&north, KIND, &mine).await?)?;
    let v6 = slice(NORTH, "p5-v6", "IPv6", &["fd00:1::7"]);
    passed("its own IPv6", create(&north, KIND, &v6).await?)?;
    let spoil = |object: &mut Value| {
        object["spec"]["endpoints"][2]["addresses"] = json!(["10.77.1.9", "10.77.2.1"]);
    };
    refused_by_all(("changed", &WAYS), &north, KIND, &mine, spoil, "P5").await?;
    let fewer = |object: &mut Value| {
        object["spec"]["endpoints"] = json!([]);
    };
    passed("withdrawn", change(&north, KIND, &mine, Way::Put, fewer).await?)?;
    Ok(())
}

/// Members may share a range, or have one inside of another's. What that gives to one it does not give to the other.
async fn ranges_of_two_members_may_overlap(world: &World) -> Result<()> {
    const KIND: ResourceKind = kinds::ENDPOINT_SLICE_EXPORT;
    const SHARED: &str = "10.32.7.1";
    let [wide, narrow] = ["wide", "narrow"];
    for (member, cidrs, own, foreign) in [
        (wide, "10.32.0.0/16", ["10.32.200.1", SHARED], "10.33.0.1"),
        (narrow, "10.32.7.0/24,10.33.0.0/16", ["10.33.0.1", SHARED], "10.32.200.1"),
    ] {
        let client = world.join(member).await?;
        let outside = slice(member, "p5", "IPv4", &[foreign]);
        let policy = policy(member, cidrs, "*", "*");
        enforce(world, (member, &client), &policy, (KIND, &outside, "P5")).await?;
        let mixed = slice(member, "p5", "IPv4", &[SHARED, foreign]);
        refused("beside a shared one", create(&client, KIND, &mixed).await?, "P5")?;
        passed("its own", create(&client, KIND, &slice(member, "p5", "IPv4", &own)).await?)?;
    }
    Ok(())
}

/// An executor's addresses are for Services of the namespaces whose Pods it runs.
async fn ranges_of_executors_are_for_some_namespaces(world: &World) -> Result<()> {
    const MEMBER: &str = "offloads";
    let kind = kinds::ENDPOINT_SLICE_EXPORT;
    let client = world.join(MEMBER).await?;
    let of = |name: &str, namespace: &str, address: &str| {
        let (_, reference) = EXPORTED.into_iter().find(|(other, _)| *other == kind).unwrap();
        let mut slice = of_service(MEMBER, kind, reference, name, (namespace, "web"));
        slice["spec"]["addressType"] = json!("IPv4");
        slice["spec"]["endpoints"] = json!([{ "addresses": [address] }]);
        slice
    };
    let mut policy = policy(MEMBER, "10.41.0.0/16", "*", "*");
    policy["data"]["offload-cidrs"] = json!("10.42.0.0/16");
    policy["data"]["offload-namespaces"] = json!("shop, lab");
    let outside = of("p5", "shop", "10.43.0.1");
    enforce(world, (MEMBER, &client), &policy, (kind, &outside, "P5")).await?;
    for namespace in ["shop", "lab"] {
        let name = format!("p5-{namespace}");
        passed(namespace, create(&client, kind, &of(&name, namespace, "10.42.0.1")).await?)?;
    }
    refused(
        "of another namespace",
        create(&client, kind, &of("p5-team", "team", "10.42.0.1")).await?,
        "P5",
    )?;
    let own = of("p5-own", "team", "10.41.0.1");
    passed("its own address", create(&client, kind, &own).await?)?;
    Ok(())
}

/// An object of a member that is about this Service.
fn of_service(
    member: &str,
    kind: ResourceKind,
    reference: &str,
    name: &str,
    (namespace, service): (&str, &str),
) -> Value {
    let mut object = object(kind, member, name);
    let field = match kind {
        kinds::ENDPOINT_SLICE_EXPORT => "ownerServiceReference",
        _ => reference,
    };
    // A slice is beside its Service.
    let of = &mut object["spec"][reference];
    of["namespacedName"] = json!(format!("{namespace}/{}", of["name"].as_str().unwrap()));
    of["namespace"] = json!(namespace);
    object["spec"][field]["namespace"] = json!(namespace);
    object["spec"][field]["name"] = json!(service);
    object["spec"][field]["namespacedName"] = json!(format!("{namespace}/{service}"));
    object
}

/// C4.
async fn services_are_the_members_own(world: &World) -> Result<()> {
    const SOUTH: &str = "south";
    let south = world.join(SOUTH).await?;
    let of =
        |kind, reference, name: &str, service| of_service(SOUTH, kind, reference, name, service);
    let exported = EXPORTED[0];
    let first = of(exported.0, exported.1, "p6", ("kube-system", "dns"));
    let policy = policy(SOUTH, "10.0.0.0/8", "shop/*, team/web", "data/db");
    enforce(world, (SOUTH, &south), &policy, (exported.0, &first, "P6")).await?;

    for (kind, reference) in EXPORTED {
        let imports = kind == kinds::INTERNAL_SERVICE_IMPORT;
        let (fine, others): (&[_], &[_]) = if imports {
            (&[("data", "db")], &[("data", "db2"), ("shop", "web"), ("team", "web")])
        } else {
            let others =
                &[("kube-system", "dns"), ("team", "web2"), ("shop2", "a"), ("data", "db")];
            (&[("team", "web"), ("shop", "a"), ("shop", "b")], others)
        };
        for (number, service) in fine.iter().enumerate() {
            let mine = of(kind, reference, &format!("p6-{number}"), *service);
            passed("listed", create(&south, kind, &mine).await?).context(kind.kind)?;
        }
        for service in others {
            let other = of(kind, reference, "p6-other", *service);
            let what = format!("{} of {service:?}", kind.kind);
            refused(&what, create(&south, kind, &other).await?, "P6")?;
            refused(&what, create_by_apply(&south, kind, &other).await?, "P6")?;
        }
    }
    Ok(())
}

/// What the hub agent withdraws on reading is what P6 rejects: both are asked about each of these Services, with each of these
/// lists, for every kind.
async fn read_alike(world: &World) -> Result<()> {
    const MEMBER: &str = "alike";
    const LISTS: [&str; 14] = [
        "",
        ",",
        " , ",
        "*",
        " * ",
        "a/b",
        "a/*",
        "a/b,c/d",
        " a/b ,c/* ,",
        "c/*,a/b-2",
        "b/a",
        "a/b-2",
        "*,a/b",
        "a-b/*\n,\ta/b-2\n",
    ];
    const SERVICES: [(&str, &str); 7] =
        [("a", "b"), ("a", "b-2"), ("b", "a"), ("c", "d"), ("a-b", "c"), ("ab", "c"), ("c", "b")];
    let member = world.join(MEMBER).await?;
    for (number, text) in LISTS.into_iter().enumerate() {
        let list: ServiceList = text.parse().map_err(anyhow::Error::msg)?;
        // By this the API server shows that it has taken note of the list.
        let mark = (format!("mark-{number}"), "mark");
        let text = format!("{text},{}/{}", mark.0, mark.1);
        let policy = policy(MEMBER, "10.0.0.0/8", &text, &text);
        passed(&text, create_by_apply(&world.admin, CONFIG_MAP, &policy).await?)?;
        for (kind, reference) in EXPORTED {
            let accepts = async |service| {
                let object = of_service(MEMBER, kind, reference, "alike", service);
                match dry_run(&member, kind, &object).await? {
                    Ok(()) => Ok(true),
                    answer => {
                        refused(&format!("{service:?} by {text:?}"), answer, "P6").map(|()| false)
                    }
                }
            };
            wait_until(&format!("{text:?} is in force"), DEADLINE, async || {
                accepts((&mark.0, mark.1)).await
            })
            .await?;
            for (namespace, name) in SERVICES {
                let listed = list.includes(&ObjectName::new(namespace, name));
                let accepted = accepts((namespace, name)).await?;
                ensure!(accepted == listed, "{} {namespace}/{name} by {text:?}", kind.kind);
            }
        }
    }
    Ok(())
}

/// The same policies as `strict` renders them, for one namespace: without a member policy nothing new passes, and what
/// is there goes on.
async fn strict_needs_a_member_policy(world: &World) -> Result<()> {
    const STRICT: &str = "strict";
    let strict = world.join(STRICT).await?;
    for (kind, _) in EXPORTED {
        passed("before", create(&strict, kind, &object(kind, STRICT, "p6-before")).await?)?;
    }
    install_strict(world, STRICT).await?;
    for (kind, reference) in EXPORTED {
        let new = object(kind, STRICT, "p6");
        wait_until(&format!("no new {} passes", kind.kind), DEADLINE, async || {
            match create(&strict, kind, &new).await? {
                Err(kube::Error::Api(status)) => Ok(status.message.contains("no params found")),
                Err(error) => Err(error.into()),
                Ok(_) => {
                    let strip = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
                    change(&world.agent, kind, &new, Way::JsonPatch, strip).await??;
                    delete(&strict, kind, &new).await??;
                    Ok(false)
                }
            }
        })
        .await?;
        let before = object(kind, STRICT, "p6-before");
        let next = |object: &mut Value| object["spec"][reference]["resourceVersion"] = json!("8");
        passed("goes on", change(&strict, kind, &before, Way::Put, next).await?)?;
        passed("deleted", delete(&strict, kind, &before).await?)?;
        let strip = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
        passed("let go", change(&world.agent, kind, &before, Way::JsonPatch, strip).await?)?;
    }
    let policy = policy(STRICT, "10.0.0.0/8", "team/*", "team/*");
    passed("a policy", create(&world.admin, CONFIG_MAP, &policy).await?)?;
    for (kind, _) in EXPORTED {
        let new = object(kind, STRICT, "p6");
        wait_until(&format!("a new {} passes", kind.kind), DEADLINE, async || {
            Ok(create(&strict, kind, &new).await?.map(|_| true)?)
        })
        .await?;
    }
    Ok(())
}

/// Binds the policies on members a second time, as `strict` does, in the namespace of one member.
async fn install_strict(world: &World, member: &str) -> Result<()> {
    let label = json!({ "strict": "yes" });
    let metadata = json!({ "name": member_namespace(member), "labels": label });
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata });
    apply(&world.admin, namespace).await?;
    let rendered = policies::render(&json!({ "strict": true })).await?;
    let bindings = rendered
        .into_iter()
        .filter(|object| object["spec"]["paramRef"]["parameterNotFoundAction"] == "Deny");
    let mut count = 0;
    for mut binding in bindings {
        binding["spec"]["matchResources"]["namespaceSelector"] = json!({ "matchLabels": label });
        apply(&world.admin, binding).await?;
        count += 1;
    }
    ensure!(count == EXPORTED.len(), "{count} strict bindings");
    Ok(())
}

async fn members_do_not_write_their_policy(world: &World) -> Result<()> {
    const MEMBER: &str = "p13";
    let member = world.join(MEMBER).await?;
    let wide = policy(MEMBER, "10.0.0.0/8", "*", "*");
    refused("made", create(&member, CONFIG_MAP, &wide).await?, "P13")?;
    refused("applied", create_by_apply(&member, CONFIG_MAP, &wide).await?, "P13")?;
    passed("by an admin", create(&world.admin, CONFIG_MAP, &wide).await?)?;
    let widen = |object: &mut Value| {
        object["data"] = json!({ "cidrs": "", "exports": "*", "imports": "*" });
    };
    refused_by_all(("widened", &WAYS), &member, CONFIG_MAP, &wide, widen, "P13").await?;
    let label = |object: &mut Value| object["metadata"]["labels"] = json!({ "a": "b" });
    refused_by_all(("labelled", &REMOVING), &member, CONFIG_MAP, &wide, label, "P13").await?;
    refused("deleted", delete(&member, CONFIG_MAP, &wide).await?, "P13")?;
    for fields in ["", "metadata.name=member-policy"] {
        let deleted =
            delete_collection(&member, CONFIG_MAP, &member_namespace(MEMBER), fields).await;
        refused(&format!("deleted with all of {fields:?}"), deleted, "P13")?;
    }
    let there = api(world.admin.clone(), CONFIG_MAP, Some(&member_namespace(MEMBER)));
    there.get("member-policy").await.context("it was deleted")?;
    // Other ConfigMaps are none of our business.
    let mut other = wide.clone();
    other["metadata"]["name"] = json!("other");
    passed("another ConfigMap", create(&member, CONFIG_MAP, &other).await?)?;
    let fields = "metadata.name=other";
    let namespace = member_namespace(MEMBER);
    passed("all others", delete_collection(&member, CONFIG_MAP, &namespace, fields).await)?;
    passed("by an admin", delete(&world.admin, CONFIG_MAP, &wide).await?)
}

/// Kubernetes deletes the collection in a namespace that is deleted, with an account of its own.
async fn a_deleted_namespace_takes_its_policy_along(world: &World) -> Result<()> {
    const MEMBER: &str = "p13-gone";
    world.join(MEMBER).await?;
    let namespace = member_namespace(MEMBER);
    let policy = policy(MEMBER, "10.0.0.0/8", "*", "*");
    passed("made", create(&world.admin, CONFIG_MAP, &policy).await?)?;
    let controller =
        world.impersonate("system:serviceaccount:kube-system:namespace-controller").await?;
    passed("tidied up", delete_collection(&controller, CONFIG_MAP, &namespace, "").await)?;
    let left =
        api(world.admin.clone(), CONFIG_MAP, Some(&namespace)).get_opt("member-policy").await?;
    ensure!(left.is_none(), "it is still there");
    passed("made again", create(&world.admin, CONFIG_MAP, &policy).await?)?;
    passed("by an admin", delete_collection(&world.admin, CONFIG_MAP, &namespace, "").await)
}

/// Admins make mistakes.
async fn a_member_policy_says_what_it_means(world: &World) -> Result<()> {
    const MEMBER: &str = "typo";
    world.join(MEMBER).await?;
    for cidrs in [
        "10.1.0.0",
        "10.1.0.0/33",
        "10.1.0.1/16",
        "10.1.0.0/16;10.2.0.0/16",
        "fd00::1/64",
        "pods",
        "0.0.0.0/1",
        "::/1",
        "127.0.0.0/8",
        "127.1.0.0/16",
        "169.254.0.0/16",
        "224.0.0.0/4",
        "240.0.0.0/5",
        "192.0.0.0/2",
        "fe80::/64",
        "10.1.0.0/16,ff00::/8",
    ] {
        let typo = policy(MEMBER, cidrs, "*", "*");
        refused(cidrs, create(&world.admin, CONFIG_MAP, &typo).await?, "P13")?;
    }
    for services in
        ["shop", "shop/", "/web", "shop/web/x", "*/web", "Shop/web", "shop/*,team", "**", "shop/w*"]
    {
        let typo = policy(MEMBER, "10.1.0.0/16", services, "");
        refused(services, create(&world.admin, CONFIG_MAP, &typo).await?, "P13")?;
        let typo = policy(MEMBER, "10.1.0.0/16", "", services);
        refused(services, create(&world.admin, CONFIG_MAP, &typo).await?, "P13")?;
    }
    for key in ["cidrs", "exports", "imports"] {
        let mut less = policy(MEMBER, "10.1.0.0/16", "*", "*");
        let Some(data) = less["data"].as_object_mut() else { bail!("data") };
        data.remove(key);
        refused(key, create(&world.admin, CONFIG_MAP, &less).await?, "P13")?;
    }
    let mut fine = policy(MEMBER, " 10.1.0.0/16 ,2001:db8::/32", "shop/*, team/web-1", "");
    passed("a fine one", create(&world.admin, CONFIG_MAP, &fine).await?)?;
    fine["data"]["cidrs"] = json!("");
    passed("nothing exported", create_by_apply(&world.admin, CONFIG_MAP, &fine).await?)?;
    fine["data"]["cidrs"] = json!("0.0.0.0/0,::/0");
    passed("any address", create_by_apply(&world.admin, CONFIG_MAP, &fine).await?)?;
    Ok(())
}
