//! What `kubectl get` prints: an API server makes the table from the columns of a definition.

use anyhow::{Context, Result, ensure};
use fleet_api::ResourceKind;
use fleet_api::kinds::{INTERNAL_MEMBER_CLUSTER, SERVICE_IMPORT};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::join;
use fleet_testbed::objects::api;
use http::Request;
use http::header::ACCEPT;
use kube::Client;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

const NAMESPACE: &str = "tables";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// Lists are shown whole, and a path finds a condition of one agent among several.
pub(super) async fn show_what_a_person_asks(cluster: &Cluster) -> Result<()> {
    let client = cluster.client();
    join::namespace(&client, NAMESPACE).await?;
    let status = json!({
        "type": "ClusterSetIP",
        "clusters": [{ "cluster": "east" }, { "cluster": "west" }],
        "ports": [{ "port": 80, "protocol": "TCP" }, { "port": 443, "protocol": "TCP" }],
    });
    let cells = row(&client, SERVICE_IMPORT, json!({}), status).await?;
    ensure!(cells[..2] == [json!("one"), json!("ClusterSetIP")], "{cells:?}");
    let list = |cell: &Value| -> Result<Value> {
        Ok(serde_json::from_str(cell.as_str().context("a text")?)?)
    };
    ensure!(list(&cells[2])? == json!([{ "cluster": "east" }, { "cluster": "west" }]), "{cells:?}");
    ensure!(list(&cells[3])?[1]["port"] == 443, "{cells:?}");

    let agent = |kind: &str, status: &str| {
        json!({ "type": kind, "lastReceivedHeartbeat": "2026-01-01T00:00:00Z", "conditions": [{
            "type": "Joined", "status": status, "reason": "Why", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]})
    };
    let agents = [agent("MemberAgent", "False"), agent("ServiceExportImportAgent", "True")];
    let spec = json!({ "spec": { "state": "Join" } });
    let status = json!({ "agentStatus": agents });
    let cells = row(&client, INTERNAL_MEMBER_CLUSTER, spec, status).await?;
    ensure!(cells[..3] == [json!("one"), json!("Join"), json!("True")], "{cells:?}");
    // The API server prints an age, in a unit that suits it.
    ensure!(
        cells[3].as_str().is_some_and(|age| age.starts_with(|it: char| it.is_ascii_digit())),
        "{cells:?}"
    );
    Ok(())
}

/// The row of a new object.
async fn row(
    client: &Client,
    kind: ResourceKind,
    mut object: Value,
    status: Value,
) -> Result<Vec<Value>> {
    object["apiVersion"] = kind.api_version().into();
    object["kind"] = kind.kind.into();
    object["metadata"] = json!({ "name": "one" });
    let objects = api(client.clone(), kind, Some(NAMESPACE));
    objects.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    let status = Patch::Merge(json!({ "status": status }));
    objects.patch_status("one", &PatchParams::default(), &status).await?;
    let ResourceKind { group, version, plural, .. } = kind;
    let path = format!("/apis/{group}/{version}/namespaces/{NAMESPACE}/{plural}/one");
    let request = Request::get(path).header(ACCEPT, TABLE).body(Vec::new())?;
    let table: Value = client.request(request).await?;
    let cells = table["rows"][0]["cells"].as_array().context("a row")?;
    Ok(cells.clone())
}
