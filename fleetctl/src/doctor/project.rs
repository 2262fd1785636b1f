//! What checks look at in objects of the clusters. Pure; what an object lacks is empty.

pub(super) mod base;

use std::collections::BTreeSet;
use std::net::IpAddr;

use fleet_api::annotations::MULTICLUSTER_HUB;
use fleet_api::names::member_of_namespace;
use fleet_api::{ObjectName, conditions};
use fleet_model::multicluster::mode::Mode;
use member_agent::ImportNamespaces;
use serde_json::Value;

use super::fields::{
    containers, name, name_of, object_name, of_flag, of_variable, plain_setting, text, texts,
};
use super::finding::{Read, Unread};
use super::seen::{Accepted, Agent, Dns, Feature, Import, Property, Report, Resolved};
use crate::offload::RANGES;

/// The key of the configuration of CoreDNS in its ConfigMap.
const COREFILE: &str = "Corefile";
/// The flag of the member agent and its variable: how it serves the standard API.
const MODE: (&str, &str) = ("--multicluster", "MULTICLUSTER");
/// Those of traffic policies.
const TRAFFIC: (&str, &str) = ("--traffic", "TRAFFIC");
/// Those of what the nodes follow.
const DATA_PLANE: (&str, &str) = ("--data-plane", "DATA_PLANE");
/// Those of the Lease of the member.
const LEASE: (&str, &str) = ("--member-lease", "MEMBER_LEASE");
/// Those of reports of what is reached.
const REACHABILITY: (&str, &str) = ("--reachability", "REACHABILITY");
/// Those of Pods in other members, and of Pods of other members.
const ORIGIN: (&str, &str) = ("--virtual-node-origin", "VIRTUAL_NODE_ORIGIN");
const EXECUTOR: (&str, &str) = ("--virtual-node-executor", "VIRTUAL_NODE_EXECUTOR");
/// Those of what it imports.
const IMPORTS: (&str, &str) =
    ("--multicluster-import-namespaces", "MULTICLUSTER_IMPORT_NAMESPACES");

/// The uid of an object.
pub(super) fn uid(object: &Value) -> String {
    text(&object["metadata"]["uid"]).unwrap_or_default()
}

/// A ClusterReport that bears the name of the member that its namespace belongs to.
pub(super) fn report(object: &Value) -> Option<Report> {
    let member = member_of_namespace(object["metadata"]["namespace"].as_str()?)?;
    let (spec, status) = (&object["spec"], &object["status"]);
    (member == name(object)).then(|| Report {
        member: member.to_owned(),
        cluster_uid: text(&spec["clusterUid"]).unwrap_or_default(),
        published_to: text(&spec["publishedTo"]),
        incarnation: text(&status["incarnation"]),
        clusterset_id: text(&status["clustersetId"]),
        accepted: accepted(&status["conditions"]),
    })
}

/// The member that a policy is of, with the ranges of its executors if it has any.
pub(super) fn executor_ranges(policy: &Value) -> Option<(String, String)> {
    let member = member_of_namespace(policy["metadata"]["namespace"].as_str()?)?;
    Some((member.to_owned(), text(&policy["data"][RANGES])?))
}

fn accepted(conditions: &Value) -> Option<Accepted> {
    let mut conditions = conditions.as_array()?.iter();
    let found = conditions.find(|condition| condition["type"] == conditions::ACCEPTED)?;
    Some(Accepted {
        is_true: found["status"] == conditions::TRUE,
        reason: text(&found["reason"]).unwrap_or_default(),
        message: text(&found["message"]).unwrap_or_default(),
    })
}

/// A ResolvedService.
pub(super) fn resolved(object: &Value) -> Option<Resolved> {
    let spec = &object["spec"];
    let service = &spec["service"];
    let exporters = spec["exporters"].as_array().into_iter().flatten();
    Some(Resolved {
        service: ObjectName::new(service["namespace"].as_str()?, service["name"].as_str()?),
        is_headless: spec["type"] == "Headless",
        exporters: exporters.filter_map(|exporter| text(&exporter["cluster"])).collect(),
        families: texts(&spec["ipFamilies"]).map(str::to_owned).collect(),
    })
}

/// A ServiceImport of the standard API.
pub(super) fn import(object: &Value) -> Import {
    let managers = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    Import {
        name: object_name(object),
        mark: text(&object["metadata"]["annotations"][MULTICLUSTER_HUB]),
        writers: managers.filter_map(|entry| text(&entry["manager"])).collect(),
        has_address: texts(&object["spec"]["ips"]).next().is_some(),
    }
}

/// A ClusterProperty.
pub(super) fn property(object: &Value) -> Property {
    Property {
        name: name_of(object),
        value: text(&object["spec"]["value"]).unwrap_or_default(),
        is_ours: object["metadata"]["annotations"][MULTICLUSTER_HUB].is_string(),
    }
}

/// The ranges of a ServiceCIDR.
pub(super) fn ranges(object: &Value) -> Vec<String> {
    texts(&object["spec"]["cidrs"]).map(str::to_owned).collect()
}

/// The addresses of a Service.
pub(super) fn addresses(object: &Value) -> Vec<IpAddr> {
    texts(&object["spec"]["clusterIPs"]).filter_map(|address| address.parse().ok()).collect()
}

/// The flags of the member agent, from its Deployments; those that run come first.
///
/// # Errors
/// If a flag has a value that is not in the Deployment, or that this program does not know.
pub(super) fn agent(deployments: &[Value]) -> Read<Option<Agent>> {
    let runs = |deployment: &&Value| deployment["spec"]["replicas"].as_i64() != Some(0);
    let Some(deployment) = deployments.iter().find(runs).or_else(|| deployments.first()) else {
        return Ok(None);
    };
    let mode = setting::<Mode>(deployment, MODE)?.unwrap_or_default();
    let imports = setting::<ImportNamespaces>(deployment, IMPORTS)?.unwrap_or_default();
    let features = features(deployment, mode);
    Ok(Some(Agent { mode, imports, gives_hints: gives_hints(deployment), features }))
}

/// What the agent does on the hub beside exports and imports. What is not in the Deployment is as by default.
fn features(deployment: &Value, mode: Mode) -> BTreeSet<Feature> {
    let reaches = |names| plain_setting(deployment, names).is_some_and(|mode| mode != "off");
    let offloads = is_on(deployment, ORIGIN) || is_on(deployment, EXECUTOR);
    let directs = is_on(deployment, TRAFFIC);
    let all = [
        (Feature::Standard, mode != Mode::Off),
        (Feature::Traffic, directs),
        (Feature::Offload, offloads),
        (Feature::Reachability, reaches(REACHABILITY)),
        (Feature::Lease, is_on(deployment, LEASE) || directs || offloads),
    ];
    all.into_iter().filter_map(|(feature, is_used)| is_used.then_some(feature)).collect()
}

/// Whether a switch is on, which needs no value: what follows it is another flag.
fn is_on(deployment: &Value, names: (&str, &str)) -> bool {
    let mut words = containers(deployment).flat_map(|it| texts(&it["args"]));
    words.any(|word| word == names.0) || plain_setting(deployment, names).as_deref() == Some("true")
}

/// Whether the agent directs traffic, and its nodes follow zone hints. What is not in the Deployment is as by default.
fn gives_hints(deployment: &Value) -> bool {
    let conditions = plain_setting(deployment, DATA_PLANE).as_deref() == Some("conditions");
    is_on(deployment, TRAFFIC) && !conditions
}

/// The value of a flag, or else of its variable.
fn setting<T: std::str::FromStr<Err = String>>(
    deployment: &Value,
    (flag, variable): (&str, &str),
) -> Read<Option<T>> {
    let unread = |why: String| {
        let name = object_name(deployment);
        let reason = format!("{flag} of the Deployment {name} is not known: {why}");
        Unread::new(
            reason,
            "the other checks assume --multicluster=on and that everything is imported",
        )
    };
    let value = match of_flag(deployment, flag) {
        Some(value) => Some(value.to_owned()),
        None => of_variable(deployment, variable).map_err(unread)?,
    };
    value.map(|value| value.parse().map_err(unread)).transpose()
}

/// The Deployment that runs CoreDNS, and the ConfigMap that it reads its configuration from.
pub(super) fn dns(deployments: &[Value]) -> Option<Dns> {
    deployments.iter().find_map(|deployment| {
        let mut images = containers(deployment).filter_map(|container| container["image"].as_str());
        let image = images.find(|image| image.contains("coredns"))?.to_owned();
        let spec = &deployment["spec"]["template"]["spec"];
        let account = text(&spec["serviceAccountName"]).unwrap_or_else(|| "default".to_owned());
        let config_map = config_map(&spec["volumes"]).unwrap_or_else(|| "coredns".to_owned());
        Some(Dns { image, account, config_map })
    })
}

fn config_map(volumes: &Value) -> Option<String> {
    let mut volumes = volumes.as_array()?.iter().map(|volume| &volume["configMap"]);
    let has_corefile = |source: &&Value| {
        let mut items = source["items"].as_array().into_iter().flatten();
        items.any(|item| item["key"] == COREFILE)
    };
    text(&volumes.find(has_corefile)?["name"])
}

/// The Corefile of a ConfigMap.
pub(super) fn corefile(config_map: &Value) -> Option<String> {
    text(&config_map["data"][COREFILE])
}

/// Whether Cilium serves the standard API, by its configuration.
pub(super) fn serves_standard(cilium: &Value) -> bool {
    cilium["data"]["clustermesh-enable-mcs-api"] == "true"
}

/// Whether a definition of EndpointSliceExport has host names and zones of endpoints.
pub(super) fn has_endpoint_details(definition: &Value) -> bool {
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    let mut served = versions.filter(|version| version["served"] == true);
    served.any(|version| {
        let spec = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let endpoint = &spec["properties"]["endpoints"]["items"];
        let has = |field: &str| endpoint["properties"][field].is_object();
        (has("hostname") && has("zone"))
            || endpoint["x-kubernetes-preserve-unknown-fields"] == Value::Bool(true)
    })
}

/// Distinct names.
pub(super) fn names(objects: &[Value]) -> BTreeSet<String> {
    objects.iter().map(name_of).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment(container: Value) -> Value {
        let containers = Value::Array(vec![container]);
        json!({
            "metadata": { "name": "member-agent", "namespace": "fleet-system" },
            "spec": { "template": { "spec": { "containers": containers } } },
        })
    }

    fn mode_of(container: Value) -> Read<Mode> {
        agent(&[deployment(container)]).map(|agent| agent.unwrap().mode)
    }

    #[test]
    fn a_report_is_that_of_the_member_whose_namespace_it_is_in() {
        let object = |namespace: &str| {
            json!({
                "metadata": { "name": "west", "namespace": namespace },
                "spec": { "clusterUid": "u", "publishedTo": "h/0" },
                "status": { "incarnation": "h/0", "clustersetId": "fleet", "conditions": [
                    { "type": "Accepted", "status": "True", "reason": "Accepted", "message": "yes" },
                ]},
            })
        };
        let found = report(&object("fleet-member-west")).unwrap();
        assert!(found.accepted.as_ref().is_some_and(|it| it.is_true), "{found:?}");
        assert_eq!((found.member.as_str(), found.cluster_uid.as_str()), ("west", "u"));
        assert_eq!(found.published_to, found.incarnation);
        for other in ["fleet-member-east", "shop"] {
            assert_eq!(report(&object(other)), None, "{other}");
        }
        let empty = json!({ "metadata": { "name": "west", "namespace": "fleet-member-west" } });
        let found = report(&empty).unwrap();
        assert_eq!((found.accepted, found.incarnation), (None, None));
    }

    #[test]
    fn what_is_in_force_is_read() {
        let object = json!({ "spec": {
            "service": { "namespace": "shop", "name": "web" }, "type": "ClusterSetIP",
            "exporters": [{ "cluster": "east" }], "ipFamilies": ["IPv4"],
        }});
        let expected = crate::doctor::testing::resolved("shop/web");
        assert_eq!(resolved(&object), Some(expected));
        let withdrawn = json!({ "spec": {
            "service": { "namespace": "shop", "name": "web" }, "type": "Headless", "exporters": [],
        }});
        let found = resolved(&withdrawn).unwrap();
        assert!(found.is_headless && !found.is_exported() && found.families.is_empty());
        assert_eq!(resolved(&json!({})), None);
    }

    #[test]
    fn an_import_shows_whose_it_is() {
        let object = json!({
            "metadata": {
                "name": "web", "namespace": "shop", "annotations": { MULTICLUSTER_HUB: "h/0" },
                "managedFields": [{ "manager": "b" }, { "manager": "a" }, { "manager": "b" }, {}],
            },
            "spec": { "ips": ["10.0.0.1"] },
        });
        let found = import(&object);
        assert_eq!(found.mark.as_deref(), Some("h/0"));
        assert_eq!(found.writers.iter().collect::<Vec<_>>(), ["a", "b"]);
        assert!(found.has_address);
        let found = import(&json!({ "metadata": { "name": "web", "namespace": "shop" } }));
        assert!(found.mark.is_none() && !found.has_address && found.writers.is_empty());
    }

    #[test]
    fn flags_are_read_in_both_forms_and_variables_behind_them() {
        let on = |container| assert_eq!(mode_of(container).unwrap(), Mode::On);
        on(json!({ "args": ["--multicluster=on"] }));
        on(json!({ "args": ["--multicluster", "on"] }));
        on(json!({ "args": ["--multicluster=off", "--multicluster=on"] }));
        on(json!({ "command": ["/member-agent", "--multicluster=on"] }));
        on(json!({ "env": [{ "name": "MULTICLUSTER", "value": "on" }] }));
        on(
            json!({ "args": ["--multicluster=on"], "env": [{ "name": "MULTICLUSTER", "value": "off" }] }),
        );
        for off in [
            json!({}),
            json!({ "args": ["--multicluster-settle=1s", "--multicluster-zones"] }),
            json!({ "env": [{ "name": "MULTICLUSTER", "value": "" }] }),
        ] {
            assert_eq!(mode_of(off).unwrap(), Mode::Off);
        }
        let clean = json!({ "args": ["--multicluster=clean-up"] });
        assert_eq!(mode_of(clean).unwrap(), Mode::CleanUp);
    }

    #[test]
    fn hints_need_traffic_policies_and_nodes_that_follow() {
        let gives = |container| agent(&[deployment(container)]).unwrap().unwrap().gives_hints;
        assert!(gives(json!({ "args": ["--traffic", "--member-lease"] })));
        assert!(gives(json!({ "env": [{ "name": "TRAFFIC", "value": "true" }] })));
        for no in [
            json!({}),
            json!({ "args": ["--traffic=false"] }),
            json!({ "args": ["--traffic=true", "--data-plane=conditions"] }),
        ] {
            assert!(!gives(no.clone()), "{no}");
        }
    }

    #[test]
    fn what_an_agent_does_on_the_hub_shows_in_its_flags() {
        let of = |container| agent(&[deployment(container)]).unwrap().unwrap().features;
        assert_eq!(of(json!({ "args": ["--multicluster=off"] })), BTreeSet::new());
        let all = of(json!({
            "args": ["--multicluster=on", "--traffic", "--virtual-node-executor"],
            "env": [{ "name": "REACHABILITY", "value": "names" }],
        }));
        let expected = [
            Feature::Lease,
            Feature::Traffic,
            Feature::Standard,
            Feature::Offload,
            Feature::Reachability,
        ];
        assert_eq!(all, expected.into());
        let none = of(json!({ "args": ["--multicluster=off", "--reachability=off"] }));
        assert_eq!(none, BTreeSet::new());
        let lease = of(json!({ "args": ["--multicluster=off", "--member-lease"] }));
        assert_eq!(lease, [Feature::Lease].into());
    }

    #[test]
    fn a_value_that_is_not_known_is_not_guessed() {
        let elsewhere =
            json!({ "env": [{ "name": "MULTICLUSTER", "valueFrom": { "configMapKeyRef": {} } }] });
        let reason = mode_of(elsewhere).unwrap_err().reason;
        assert!(
            reason.contains("fleet-system/member-agent is not known: the variable"),
            "{reason}"
        );
        let odd = json!({ "args": ["--multicluster=sometimes"] });
        assert!(mode_of(odd).unwrap_err().reason.contains("\"sometimes\""));
        assert!(agent(&[]).unwrap().is_none());
    }

    #[test]
    fn a_deployment_that_runs_comes_first() {
        let mut stopped = deployment(json!({ "args": ["--multicluster=off"] }));
        stopped["spec"]["replicas"] = json!(0);
        let running = deployment(json!({ "args": ["--multicluster=on"] }));
        let found = agent(&[stopped.clone(), running]).unwrap().unwrap();
        assert_eq!(found.mode, Mode::On);
        assert_eq!(agent(&[stopped]).unwrap().unwrap().mode, Mode::Off);
    }

    #[test]
    fn coredns_is_found_by_its_image() {
        let other = deployment(json!({ "image": "gke.gcr.io/k8s-dns-kube-dns:1.23" }));
        assert_eq!(dns(std::slice::from_ref(&other)), None);
        let mut coredns = deployment(json!({ "image": "registry.k8s.io/coredns/coredns:v1.13.1" }));
        let found = dns(&[other, coredns.clone()]).unwrap();
        assert_eq!((found.account.as_str(), found.config_map.as_str()), ("default", "coredns"));
        coredns["spec"]["template"]["spec"]["serviceAccountName"] = json!("dns");
        coredns["spec"]["template"]["spec"]["volumes"] = json!([
            { "name": "tmp", "emptyDir": {} },
            { "name": "custom", "configMap": { "name": "custom" } },
            { "name": "config", "configMap": { "name": "rke2", "items": [{ "key": "Corefile" }] } },
        ]);
        let found = dns(&[coredns]).unwrap();
        assert_eq!((found.account.as_str(), found.config_map.as_str()), ("dns", "rke2"));
    }

    #[test]
    fn addresses_that_are_none_are_left_out() {
        let service = json!({ "spec": { "clusterIPs": ["None"] } });
        assert!(addresses(&service).is_empty());
        let service = json!({ "spec": { "clusterIPs": ["10.0.0.1", "fd00::1"] } });
        assert_eq!(addresses(&service).len(), 2);
        assert_eq!(ranges(&json!({ "spec": { "cidrs": ["10.0.0.0/16"] } })), ["10.0.0.0/16"]);
    }

    #[test]
    fn the_originals_definition_has_no_details() {
        let ours: Value = serde_saphyr::from_str(include_str!(
            "../../../charts/hub-agent/files/crds/networking.fleet.azure.com_endpointsliceexports.yaml"
        ))
        .unwrap();
        assert!(has_endpoint_details(&ours));
        let endpoint = json!({ "properties": { "addresses": {} } });
        let spec = json!({ "properties": { "endpoints": { "items": endpoint } } });
        let schema = json!({ "openAPIV3Schema": { "properties": { "spec": spec } } });
        let original = json!({ "spec": { "versions": [{ "served": true, "schema": schema }] } });
        assert!(!has_endpoint_details(&original));
        assert!(!has_endpoint_details(&json!({})));
    }

    #[test]
    fn cilium_counts_only_where_it_serves_the_api() {
        let of = |value: &str| json!({ "data": { "clustermesh-enable-mcs-api": value } });
        assert!(serves_standard(&of("true")));
        assert!(!serves_standard(&of("false")));
        assert!(!serves_standard(&json!({ "data": {} })));
    }
}
