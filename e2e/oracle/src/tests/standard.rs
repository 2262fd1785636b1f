//! Violations of the standard API, planted into a story in which member `a` exports and both import.

use fleet_api::multicluster::standard::CLUSTERSET_ID;
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{annotations, kinds, labels};
use serde_json::{Value, json};

use super::super::kind::{STANDARD_EXPORT, STANDARD_IMPORT};
use super::seeds::Seed;
use super::story::{HUB, SLICE, Story, TEAM, USER, WEB, agent, condition, own, slice};

const DERIVED: &str = "derived-0123456789";
const IMPORT: (&str, &str) = (TEAM, WEB);

/// Everything is in its place.
pub(super) fn make(story: &mut Story) {
    for member in ["a", "b"] {
        let property = json!({ "metadata": { "name": CLUSTERSET_ID } });
        story.put(&agent(member), member, kinds::CLUSTER_PROPERTY, property);
    }
    story.put(&USER, "a", STANDARD_EXPORT, json!({ "metadata": own() }));
    ready(story, "True");
    let object = |namespace: &str, spec: Value| {
        let metadata = json!({ "namespace": namespace, "name": "team-web" });
        json!({ "metadata": metadata, "spec": spec })
    };
    let exported = object("fleet-member-a", json!({ "service": own() }));
    story.put(&agent("a"), "hub", kinds::EXPORTED_SERVICE, exported);
    let exporters = json!([{ "cluster": "a" }]);
    let resolved = json!({ "service": own(), "type": "ClusterSetIP", "exporters": exporters });
    story.put(&HUB, "hub", kinds::RESOLVED_SERVICE, object(SYSTEM_NAMESPACE, resolved));
    for member in ["a", "b"] {
        import(story, member);
    }
    story.pause();
}

/// What the ServiceExport shows its user.
fn ready(story: &mut Story, status: &str) {
    story.edit(&agent("a"), "a", STANDARD_EXPORT, IMPORT, |export| {
        export["status"] = json!({ "conditions": [condition("Ready", status)] });
    });
}

fn import(story: &mut Story, member: &str) {
    let by = agent(member);
    let mut metadata = own();
    metadata["annotations"] = json!({ annotations::MULTICLUSTER_HUB: "uid/0" });
    let ports = json!([{ "name": "http", "protocol": "TCP", "port": 80 }]);
    let spec = json!({ "type": "ClusterSetIP", "ipFamilies": ["IPv4"], "ports": ports });
    story.put(&by, member, STANDARD_IMPORT, json!({ "metadata": metadata, "spec": spec }));
    let metadata = json!({
        "namespace": TEAM, "name": DERIVED, "ownerReferences": owners(story, member),
        "annotations": { annotations::FLEET_SERVICE: "team/web" },
    });
    let spec = json!({ "type": "ClusterIP", "clusterIPs": ["10.0.0.9"], "ports": ports });
    story.put(&by, member, kinds::SERVICE, json!({ "metadata": metadata, "spec": spec }));
    let slice = imported(story, member, &["10.1.0.1"]);
    story.put(&by, member, kinds::ENDPOINT_SLICE, slice);
    story.edit(&by, member, STANDARD_IMPORT, IMPORT, |import| {
        import["spec"]["ips"] = json!(["10.0.0.9"]);
    });
    story.edit(&by, member, STANDARD_IMPORT, IMPORT, |import| {
        import["status"] = json!({ "clusters": [{ "cluster": "a" }] });
    });
}

fn owners(story: &Story, member: &str) -> Value {
    json!([{ "kind": "ServiceImport", "uid": story.uid(member, STANDARD_IMPORT, IMPORT) }])
}

fn imported(story: &Story, member: &str, addresses: &[&str]) -> Value {
    let mut slice = slice(1, addresses);
    slice["ports"] = json!([{ "name": "http", "protocol": "TCP", "port": 8080 }]);
    slice["metadata"] = json!({
        "namespace": TEAM, "name": SLICE, "ownerReferences": owners(story, member),
        "labels": {
            labels::MANAGED_BY: labels::MANAGED_BY_MULTICLUSTER,
            labels::MULTICLUSTER_SERVICE_NAME: WEB,
            labels::MULTICLUSTER_SOURCE_CLUSTER: "a",
            labels::SERVICE_NAME: DERIVED,
        },
        "annotations": { annotations::FLEET_SERVICE: "team/web" },
    });
    slice
}

pub(super) const SEEDS: [Seed; 19] = [
    ("S17", "an export of which no cluster knows", |story| {
        make(story);
        story.delete(&USER, "a", STANDARD_EXPORT, IMPORT);
    }),
    ("S17", "an exporter that does not export", |story| {
        make(story);
        story.edit(&HUB, "hub", kinds::RESOLVED_SERVICE, (SYSTEM_NAMESPACE, "team-web"), |it| {
            it["spec"]["exporters"] = json!([{ "cluster": "a" }, { "cluster": "b" }]);
        });
    }),
    ("S17", "a slice without its import", |story| {
        make(story);
        story.delete(&USER, "b", STANDARD_IMPORT, IMPORT);
    }),
    ("S33", "a cluster without the import", |story| {
        make(story);
        story.delete(&USER, "b", STANDARD_IMPORT, IMPORT);
    }),
    ("S33", "an import of what no cluster exports", |story| {
        make(story);
        story.edit(&HUB, "hub", kinds::RESOLVED_SERVICE, (SYSTEM_NAMESPACE, "team-web"), |it| {
            it["spec"]["exporters"] = json!([]);
        });
    }),
    ("S33", "other addresses than those of its Service", |story| {
        make(story);
        story.edit(&USER, "b", STANDARD_IMPORT, IMPORT, |import| {
            import["spec"]["ips"] = json!(["192.0.2.1"]);
        });
    }),
    ("S33", "other exporters than those in force", |story| {
        make(story);
        story.edit(&USER, "b", STANDARD_IMPORT, IMPORT, |import| import["status"] = json!({}));
    }),
    ("S34", "an endpoint that does not arrive", |story| {
        make(story);
        story.put(&USER, "a", kinds::ENDPOINT_SLICE, slice(2, &["10.1.0.1", "10.1.0.2"]));
    }),
    ("S35", "an address that is nobody's", |story| {
        make(story);
        let slice = imported(story, "b", &["10.9.9.9"]);
        story.put(&agent("b"), "b", kinds::ENDPOINT_SLICE, slice);
    }),
    ("S36", "the import of another implementation", |story| {
        make(story);
        let metadata = json!({ "namespace": TEAM, "name": "alien" });
        story.put(&USER, "b", STANDARD_IMPORT, json!({ "metadata": metadata }));
        story.edit(&agent("b"), "b", STANDARD_IMPORT, (TEAM, "alien"), |import| {
            import["metadata"]["annotations"] = json!({ annotations::MULTICLUSTER_HUB: "uid/0" });
        });
    }),
    ("S17", "a slice for all members of what is not exported", |story| {
        make(story);
        let name = ("fleet-member-a", SLICE);
        story.edit(&agent("a"), "hub", kinds::ENDPOINT_SLICE_EXPORT, name, |slice| {
            slice["metadata"]["labels"] = json!({ labels::MULTICLUSTER_NAMESPACE: TEAM });
        });
        story.delete(&USER, "hub", kinds::EXPORTED_SERVICE, ("fleet-member-a", "team-web"));
    }),
    ("S37", "a derived Service with a selector", |story| {
        make(story);
        story.edit(&USER, "b", kinds::SERVICE, (TEAM, DERIVED), |service| {
            service["spec"]["selector"] = json!({ "app": "evil" });
        });
    }),
    ("S37", "a derived Service with another port", |story| {
        make(story);
        story.edit(&USER, "b", kinds::SERVICE, (TEAM, DERIVED), |service| {
            service["spec"]["ports"][0]["port"] = json!(81);
        });
    }),
    ("S37", "a derived Service that would stay", |story| {
        make(story);
        story.edit(&USER, "b", kinds::SERVICE, (TEAM, DERIVED), |service| {
            service["metadata"]["ownerReferences"] = json!([]);
        });
    }),
    ("S37", "a derived Service of a headless import", |story| {
        make(story);
        story.edit(&USER, "b", STANDARD_IMPORT, IMPORT, |import| {
            import["spec"]["type"] = json!("Headless");
        });
    }),
    ("S37", "a slice of another Service", |story| {
        make(story);
        story.edit(&USER, "b", kinds::ENDPOINT_SLICE, (TEAM, SLICE), |slice| {
            slice["metadata"]["labels"][labels::SERVICE_NAME] = json!("other");
        });
    }),
    ("S37", "a slice with a port of its own", |story| {
        make(story);
        story.edit(&USER, "b", kinds::ENDPOINT_SLICE, (TEAM, SLICE), |slice| {
            slice["ports"][0]["name"] = json!("admin");
        });
    }),
    ("S38", "a name that resolves to nothing", |story| {
        make(story);
        story.edit(&agent("b"), "b", STANDARD_IMPORT, IMPORT, |import| {
            import["spec"]["ips"] = json!(["192.0.2.1"]);
        });
    }),
    ("S39", "an export that never gets ready", |story| {
        make(story);
        ready(story, "False");
    }),
];
