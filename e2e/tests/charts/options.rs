//! What options change in what is rendered.

use std::collections::BTreeSet;

use fleet_testbed::helm::{Helm, chart};
use serde_json::{Value, json};

use crate::{CHARTS, find, needed, of_kind, with};

async fn render(name: &str, values: &Value) -> Vec<Value> {
    let helm = Helm::v4().await.unwrap();
    let values = with(needed(name), values);
    helm.template(&chart(name), ("fleet-system", name), &values).await.unwrap()
}

fn pod(objects: &[Value]) -> &Value {
    &of_kind(objects, "Deployment")[0]["spec"]["template"]["spec"]
}

fn arguments(objects: &[Value]) -> Vec<&str> {
    let arguments = pod(objects)["containers"][0]["args"].as_array().unwrap();
    arguments.iter().map(|argument| argument.as_str().unwrap()).collect()
}

fn variable<'a>(objects: &'a [Value], name: &str) -> Option<&'a str> {
    let variables = pod(objects)["containers"][0]["env"].as_array()?;
    variables.iter().find(|variable| variable["name"] == name)?["value"].as_str()
}

#[tokio::test]
async fn monitoring_is_there_if_wanted() {
    for name in CHARTS {
        let plain = render(name, &json!({})).await;
        for kind in ["ServiceMonitor", "PodMonitor", "PrometheusRule", "ConfigMap", "NetworkPolicy"]
        {
            assert!(of_kind(&plain, kind).is_empty(), "{name} has a {kind}");
        }
        let wanted = json!({
            "serviceMonitor": { "enabled": true, "interval": "15s", "labels": { "release": "kps" } },
            "prometheusRule": { "enabled": true },
            "dashboards": { "enabled": true },
            "networkPolicy": { "enabled": true },
        });
        let objects = render(name, &wanted).await;
        let monitor = find(&objects, "ServiceMonitor", name).unwrap();
        assert_eq!(
            monitor["spec"]["endpoints"][0],
            json!({ "port": "metrics", "interval": "15s" })
        );
        assert_eq!(monitor["metadata"]["labels"]["release"], "kps");
        let service = find(&objects, "Service", &format!("{name}-metrics")).unwrap();
        assert_eq!(service["spec"]["ports"][0]["name"], "metrics");
        for label in ["app.kubernetes.io/name", "app.kubernetes.io/instance"] {
            let selected = &monitor["spec"]["selector"]["matchLabels"][label];
            assert_eq!(selected, &service["metadata"]["labels"][label], "{label}");
        }
        let rules = &find(&objects, "PrometheusRule", name).unwrap()["spec"]["groups"][0]["rules"];
        assert!(rules.as_array().unwrap().len() > 4);
        // Placeholders of Prometheus and Grafana are not Helm's.
        assert!(rules.to_string().contains("{{ $labels."));
        let dashboards = find(&objects, "ConfigMap", &format!("{name}-dashboards")).unwrap();
        let dashboard = dashboards["data"][format!("{name}.json")].as_str().unwrap();
        let dashboard: Value = serde_json::from_str(dashboard).unwrap();
        assert!(dashboard["panels"].as_array().unwrap().len() > 4);

        let pods = render(name, &json!({ "podMonitor": { "enabled": true } })).await;
        let monitor = find(&pods, "PodMonitor", name).unwrap();
        assert_eq!(monitor["spec"]["podMetricsEndpoints"][0]["port"], "metrics");
        assert!(of_kind(&pods, "Service").is_empty());
    }
}

/// An account that is exempt and does not exist gives its rights to the user who creates it.
#[tokio::test]
async fn no_account_is_exempt_but_those_that_values_name() {
    let exempt = async |values: &Value| {
        let text = serde_json::to_string(&render("hub-agent", values).await).unwrap();
        let accounts = text.split("system:serviceaccount:").skip(1);
        let end = |account: &str| {
            account
                .split(|end: char| !end.is_ascii_alphanumeric() && !"-:.".contains(end))
                .next()
                .map(str::to_owned)
        };
        accounts.filter_map(end).collect::<BTreeSet<_>>()
    };
    let ours = ["fleet-system:hub-agent"];
    let kubernetes = ["kube-system:generic-garbage-collector", "kube-system:namespace-controller"];
    let expected: BTreeSet<_> = ours.into_iter().chain(kubernetes).map(str::to_owned).collect();
    assert_eq!(exempt(&json!({})).await, expected);
    let more = exempt(&json!({ "policies": { "hubUsers": ["system:serviceaccount:a:b"] } })).await;
    assert_eq!(more.difference(&expected).collect::<Vec<_>>(), ["a:b"]);
}

#[tokio::test]
async fn a_network_policy_lets_the_agent_reach_the_hub() {
    let values = json!({
        "networkPolicy": { "enabled": true },
        "config": { "hubURL": "https://hub.example:8443/path" },
    });
    let objects = render("member-agent", &values).await;
    let egress = &find(&objects, "NetworkPolicy", "member-agent").unwrap()["spec"]["egress"];
    let ports = egress[1]["ports"].as_array().unwrap();
    let ports: Vec<_> = ports.iter().map(|port| port["port"].as_u64().unwrap()).collect();
    assert_eq!(ports, [443, 6443, 8443]);
}

#[tokio::test]
async fn traces_are_sent_where_a_collector_is_named() {
    for name in CHARTS {
        let plain = render(name, &json!({})).await;
        assert!(!arguments(&plain).iter().any(|argument| argument.contains("otlp")), "{name}");
        for (endpoint, port) in [
            ("http://collector.monitoring:4318", 4318),
            ("https://collector.example/tenant:9", 443),
            ("http://[fd00::1]", 80),
        ] {
            let values = json!({ "otlpEndpoint": endpoint, "networkPolicy": { "enabled": true } });
            let objects = render(name, &values).await;
            assert!(arguments(&objects).contains(&&*format!("--otlp-endpoint={endpoint}")));
            let egress = &find(&objects, "NetworkPolicy", name).unwrap()["spec"]["egress"];
            assert_eq!(
                egress[2]["ports"],
                json!([{ "port": port, "protocol": "TCP" }]),
                "{endpoint}"
            );
        }
    }
}

#[tokio::test]
async fn each_provider_mounts_its_credentials() {
    let secret = render("member-agent", &json!({ "secret": { "name": "hub", "key": "t" } })).await;
    assert_eq!(
        pod(&secret)["volumes"][0]["secret"]["items"],
        json!([{ "key": "t", "path": "token" }])
    );
    assert_eq!(variable(&secret, "CONFIG_PATH"), Some("/var/run/fleet/hub/token"));
    assert_eq!(variable(&secret, "HUB_SERVER_URL"), Some("https://hub.example:6443"));

    let values =
        json!({ "config": { "provider": "projected" }, "projected": { "audience": "hub" } });
    let projected = render("member-agent", &values).await;
    let token = &pod(&projected)["volumes"][0]["projected"]["sources"][0]["serviceAccountToken"];
    assert_eq!(token["audience"], "hub");
    assert_eq!(variable(&projected, "CONFIG_PATH"), Some("/var/run/fleet/hub/token"));

    let values = json!({ "config": { "provider": "kubeconfig", "hubURL": "" } });
    let kubeconfig = render("member-agent", &values).await;
    assert_eq!(variable(&kubeconfig, "HUB_KUBECONFIG"), Some("/var/run/fleet/hub/kubeconfig"));
    assert_eq!(variable(&kubeconfig, "HUB_SERVER_URL"), None);
    let items = &pod(&kubeconfig)["volumes"][0]["secret"]["items"];
    assert_eq!(items, &json!([{ "key": "kubeconfig", "path": "kubeconfig" }]));
}

#[tokio::test]
async fn further_work_brings_further_rights() {
    let names = |objects: &[Value]| -> Vec<String> {
        let roles = of_kind(objects, "ClusterRole");
        let names = roles.iter().map(|role| role["metadata"]["name"].as_str().unwrap().to_owned());
        names.collect::<BTreeSet<_>>().into_iter().collect()
    };
    let plain = render("member-agent", &json!({})).await;
    assert_eq!(names(&plain), ["member-agent"]);
    let values = json!({
        "externalWorkloads": { "enabled": true },
        "endpointslices": { "mode": "opt-in", "maxEndpointsPerSlice": 50 },
    });
    let more = render("member-agent", &values).await;
    assert_eq!(
        names(&more),
        ["member-agent", "member-agent-endpointslices", "member-agent-external-workloads"]
    );
    for flag in
        ["--external-workloads=true", "--endpointslices=opt-in", "--max-endpoints-per-slice=50"]
    {
        assert!(arguments(&more).contains(&flag), "{flag}");
    }
    assert_eq!(variable(&plain, "LINKERD_NAMESPACE"), None);
    assert_eq!(variable(&more, "LINKERD_NAMESPACE"), Some("linkerd"));
    let none = render("member-agent", &json!({ "rbac": { "create": false } })).await;
    assert!(
        ["Role", "ClusterRole", "RoleBinding"].iter().all(|kind| of_kind(&none, kind).is_empty())
    );
}

/// What `opt-in` has made goes with less than the rights to make it.
#[tokio::test]
async fn slices_that_are_left_can_be_deleted() {
    let values = json!({ "endpointslices": { "mode": "off", "cleanUp": true } });
    let objects = render("member-agent", &values).await;
    let role = find(&objects, "ClusterRole", "member-agent-endpointslices").unwrap();
    assert_eq!(
        role["rules"],
        json!([{
            "apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"],
            "verbs": ["get", "delete"],
        }])
    );
    assert!(find(&objects, "ClusterRoleBinding", "member-agent-endpointslices").is_some());
    let plain = render("member-agent", &json!({ "endpointslices": { "mode": "off" } })).await;
    assert!(find(&plain, "ClusterRole", "member-agent-endpointslices").is_none());
}

#[tokio::test]
async fn the_lease_may_live_in_another_namespace() {
    let objects = render("member-agent", &json!({ "leaderElectionNamespace": "leases" })).await;
    let all = of_kind(&objects, "Role");
    let rights = |namespace: &str| -> Vec<String> {
        let role = all.iter().find(|role| role["metadata"]["namespace"] == namespace).unwrap();
        let rules = role["rules"].as_array().unwrap();
        rules.iter().map(|rule| rule["resources"][0].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(rights("leases"), ["leases"]);
    assert_eq!(rights("fleet-system"), ["services", "endpointslices"]);
}

#[tokio::test]
async fn a_member_of_the_hub_chart_gets_rights_in_its_namespace_alone() {
    let values = json!({ "memberTokens": "long-lived", "members": [
        { "name": "east" },
        { "name": "west", "subjects": [{ "kind": "User", "name": "west" }] },
    ] });
    let objects = render("hub-agent", &values).await;
    for member in ["east", "west"] {
        let namespace = format!("fleet-member-{member}");
        let made = find(&objects, "Namespace", &namespace).unwrap();
        assert_eq!(made["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
        let role = find(&objects, "Role", &format!("fleet-role-{member}")).unwrap();
        assert_eq!(role["metadata"]["namespace"], namespace.as_str());
    }
    let secrets = of_kind(&objects, "Secret");
    assert_eq!(secrets.len(), 1, "who comes with an identity needs no token");
    assert_eq!(secrets[0]["metadata"]["namespace"], "fleet-member-east");
    let binding = find(&objects, "RoleBinding", "fleet-rolebinding-west").unwrap();
    assert_eq!(binding["subjects"], json!([{ "kind": "User", "name": "west" }]));
    assert!(of_kind(&render("hub-agent", &json!({})).await, "Namespace").is_empty());
}

/// Without a cluster the chart cannot see whether members use such tokens, and what it leaves out would be deleted.
#[tokio::test]
async fn a_token_that_never_expires_is_an_explicit_choice() {
    let members = json!({ "members": [{ "name": "east" }] });
    let bound = with(members.clone(), &json!({ "memberTokens": "bound" }));
    assert!(of_kind(&render("hub-agent", &bound).await, "Secret").is_empty());
    let values = with(needed("hub-agent"), &members);
    let place = ("fleet-system", "hub-agent");
    let helm = Helm::v4().await.unwrap();
    let error = helm.template(&chart("hub-agent"), place, &values).await.unwrap_err();
    let error = format!("{error:#}");
    assert!(error.contains("memberTokens is not set"), "{error}");
}

#[tokio::test]
async fn an_agent_may_renew_its_token_in_one_secret() {
    let objects =
        render("member-agent", &json!({ "secret": { "name": "hub", "key": "jwt" } })).await;
    assert_eq!(variable(&objects, "HUB_TOKEN_SECRET"), Some("fleet-system/hub/jwt"));
    assert_eq!(variable(&objects, "HUB_TOKEN_LIFETIME"), Some("24h"));
    assert_eq!(variable(&objects, "HUB_TOKEN_AUDIENCES"), None);
    let role = find(&objects, "Role", "member-agent-token").unwrap();
    assert_eq!(role["metadata"]["namespace"], "fleet-system");
    let only = json!({
        "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["hub"], "verbs": ["get", "update"],
    });
    assert_eq!(role["rules"], json!([only]));
    let audiences = json!({ "token": { "lifetime": "1h", "audiences": ["https://a", "b"] } });
    let objects = render("member-agent", &audiences).await;
    assert_eq!(variable(&objects, "HUB_TOKEN_AUDIENCES"), Some("https://a,b"));
    for without in [
        json!({ "token": { "renew": false } }),
        json!({ "token": null }),
        json!({ "config": { "provider": "projected" } }),
        json!({ "config": { "provider": "kubeconfig", "hubURL": "" } }),
    ] {
        let objects = render("member-agent", &without).await;
        assert!(find(&objects, "Role", "member-agent-token").is_none(), "{without}");
        assert_eq!(variable(&objects, "HUB_TOKEN_SECRET"), None, "{without}");
    }
}

/// Thousands of derived Services are beside the agent's Pods, with names that users choose: variables for each would be too many to start
/// a program, and `kubernetes-service` has the name of one of the API server's.
#[tokio::test]
async fn pods_get_no_variables_of_services() {
    for name in CHARTS {
        assert_eq!(pod(&render(name, &json!({})).await)["enableServiceLinks"], false, "{name}");
    }
}

/// Helm takes 53 characters, and Kubernetes 63 for a Service.
#[tokio::test]
async fn a_release_may_have_the_longest_name() {
    let (helm, release) = (Helm::v4().await.unwrap(), "r".repeat(53));
    for name in CHARTS {
        let values = with(needed(name), &json!({ "serviceMonitor": { "enabled": true } }));
        let place = ("fleet-system", release.as_str());
        let objects = helm.template(&chart(name), place, &values).await.unwrap();
        let service = of_kind(&objects, "Service")[0]["metadata"]["name"].as_str().unwrap();
        assert!(service.len() <= 63 && service.ends_with("-metrics"), "{service}");
    }
}

/// Each list of members is for others than the first one, but one list may be used for all of them.
#[tokio::test]
async fn a_member_in_several_lists_has_each_object_once() {
    let members = json!([{ "name": "east" }]);
    let values = json!({
        "memberTokens": "bound", "members": members,
        "multicluster": { "mode": "on", "members": members },
        "virtualNodes": { "enabled": true, "members": members },
        "traffic": { "enabled": true, "members": members },
        "reachability": { "enabled": true, "members": members },
        "memberLease": { "enabled": true, "members": members },
    });
    let objects = render("hub-agent", &values).await;
    let place = |object: &Value| {
        let meta = &object["metadata"];
        [&object["kind"], &meta["namespace"], &meta["name"]].map(Value::to_string)
    };
    let places: BTreeSet<_> = objects.iter().map(place).collect();
    assert_eq!(places.len(), objects.len());
}

#[tokio::test]
async fn the_definitions_are_kept_and_can_be_left_out() {
    for (name, count) in [("hub-agent", 8), ("member-agent", 3)] {
        let objects = render(name, &json!({})).await;
        let definitions = of_kind(&objects, "CustomResourceDefinition");
        assert_eq!(definitions.len(), count, "{name}");
        for definition in definitions {
            assert_eq!(definition["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
        }
        let none = render(name, &json!({ "crds": { "install": false } })).await;
        assert!(of_kind(&none, "CustomResourceDefinition").is_empty());
    }
    let all = render("hub-agent", &json!({ "crds": { "membership": true } })).await;
    assert!(
        find(&all, "CustomResourceDefinition", "memberclusters.cluster.kubernetes-fleet.io")
            .is_some()
    );
}

#[tokio::test]
async fn an_image_is_named_by_tag_or_digest() {
    let image = |objects: &[Value]| pod(objects)["containers"][0]["image"].clone();
    let tag = json!({ "image": { "repository": "registry.example/hub", "tag": "1.2.3" } });
    assert_eq!(image(&render("hub-agent", &tag).await), "registry.example/hub:1.2.3");
    let digest = format!("sha256:{}", "0".repeat(64));
    let both = with(tag, &json!({ "image": { "digest": digest } }));
    assert_eq!(image(&render("hub-agent", &both).await), format!("registry.example/hub@{digest}"));
}

#[tokio::test]
async fn one_replica_has_no_disruption_budget() {
    let objects = render("hub-agent", &json!({})).await;
    assert_eq!(of_kind(&objects, "PodDisruptionBudget").len(), 1);
    let objects = render("hub-agent", &json!({ "replicaCount": 1 })).await;
    assert!(of_kind(&objects, "PodDisruptionBudget").is_empty(), "it would block every drain");
}
