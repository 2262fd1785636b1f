//! What a ServiceImport contains, and how long it is there.

use std::net::IpAddr;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::hello::{FIRST, Hello, PORT, SECOND, port, texts};

pub(super) async fn lasts(hello: Hello<'_>) -> Result<()> {
    hello.begin(Value::Null).await?;
    hello.export(FIRST).await?;
    let first = hello.imported(FIRST, "there", |_| true).await?;
    hello.deploy(SECOND, Value::Null).await?;
    hello.export(SECOND).await?;
    let both = |import: &Value| import["status"]["clusters"].as_array().map_or(0, Vec::len) == 2;
    hello.imported(FIRST, "from both", both).await?;
    hello.unexport(FIRST).await?;
    let uid = first["metadata"]["uid"].clone();
    hello.stays("the same", |found| found.is_some_and(|it| it["metadata"]["uid"] == uid)).await?;
    hello.unexport(SECOND).await?;
    hello.gone_everywhere().await
}

fn exported(number: u8) -> Value {
    let map = json!({ format!("exported-{number}"): "true" });
    json!({ "exportedLabels": map, "exportedAnnotations": map })
}

/// Whether an import has the metadata of an export, and nothing of the Service or of another export.
fn has_metadata_of(import: &Value, number: u8) -> bool {
    ["labels", "annotations"].iter().all(|kind| {
        let all = import["metadata"][kind].as_object();
        let keys = all.into_iter().flatten().map(|(key, _)| key.as_str());
        let foreign = keys.filter(|key| key.starts_with("exported-") || key.starts_with("dummy"));
        foreign.eq([format!("exported-{number}").as_str()])
    })
}

pub(super) async fn metadata(hello: Hello<'_>) -> Result<()> {
    hello.begin(Value::Null).await?;
    hello.export_with(FIRST, &exported(1)).await?;
    hello.imported_everywhere("labelled", |import| has_metadata_of(import, 1)).await?;
    Ok(())
}

pub(super) async fn metadata_differ(hello: Hello<'_>) -> Result<()> {
    hello.begin(Value::Null).await?;
    hello.deploy(SECOND, Value::Null).await?;
    hello.export_twice(&exported(1), &exported(2)).await?;
    hello.conflict_reported().await?;
    hello.imported_everywhere("the first's", |import| has_metadata_of(import, 1)).await?;
    Ok(())
}

pub(super) async fn cluster_ip(hello: Hello<'_>) -> Result<()> {
    comes_and_goes(hello, Value::Null, "ClusterSetIP").await
}

pub(super) async fn headless(hello: Hello<'_>) -> Result<()> {
    comes_and_goes(hello, json!({ "clusterIP": "None" }), "Headless").await
}

async fn comes_and_goes(hello: Hello<'_>, changes: Value, kind: &str) -> Result<()> {
    hello.begin(changes).await?;
    hello.export(FIRST).await?;
    hello.reported(FIRST, "Valid", "True").await?;
    hello.imported_everywhere(kind, |import| import["spec"]["type"] == kind).await?;
    hello.unexport(FIRST).await?;
    hello.gone_everywhere().await
}

/// Exports the Service with these changes, of which all imports have these fields.
async fn carries(hello: Hello<'_>, changes: Value, fields: Value) -> Result<()> {
    hello.begin(changes).await?;
    hello.export(FIRST).await?;
    let fields = fields.as_object().context("fields")?;
    let has = |import: &Value| fields.iter().all(|(name, value)| import["spec"][name] == *value);
    hello.imported_everywhere(&format!("with {fields:?}"), has).await?;
    Ok(())
}

pub(super) async fn affinity(hello: Hello<'_>) -> Result<()> {
    let config = json!({ "clientIP": { "timeoutSeconds": 10 } });
    let fields = json!({ "sessionAffinity": "ClientIP", "sessionAffinityConfig": config });
    carries(hello, Value::Null, fields).await
}

pub(super) async fn internal_policy(hello: Hello<'_>) -> Result<()> {
    let policy = json!({ "internalTrafficPolicy": "Cluster" });
    carries(hello, policy.clone(), policy).await
}

pub(super) async fn distribution(hello: Hello<'_>) -> Result<()> {
    let distribution = json!({ "trafficDistribution": "PreferClose" });
    carries(hello, distribution.clone(), distribution).await
}

pub(super) async fn families(hello: Hello<'_>) -> Result<()> {
    hello.begin(Value::Null).await?;
    hello.export(FIRST).await?;
    let with_both = |import: &Value| texts(&import["spec"]["ips"]).len() == 2;
    for import in hello.imported_everywhere("of both families", with_both).await? {
        let families = texts(&import["spec"]["ips"]).into_iter().map(|ip| {
            let ip: IpAddr = ip.parse().context("an address")?;
            anyhow::Ok(if ip.is_ipv4() { "IPv4" } else { "IPv6" })
        });
        let families = families.collect::<Result<Vec<_>>>()?;
        ensure!(import["spec"]["ipFamilies"] == json!(families), "{import}");
    }
    Ok(())
}

/// Whether the ports of an import are these, in any order.
fn has_ports(import: &Value, wanted: &[(&str, &str, u16)]) -> bool {
    let ports = import["spec"]["ports"].as_array().into_iter().flatten();
    let found =
        ports.map(|port| [&port["name"], &port["protocol"], &port["port"]].map(Value::to_string));
    let mut found: Vec<_> = found.collect();
    let wanted = wanted.iter().map(|(name, protocol, number)| {
        [json!(name), json!(protocol), json!(number)].map(|field| field.to_string())
    });
    let mut wanted: Vec<_> = wanted.collect();
    found.sort();
    wanted.sort();
    found == wanted
}

const OWN: [(&str, &str, u16); 2] = [("tcp", "TCP", PORT), ("udp", "UDP", PORT)];

pub(super) async fn ports(hello: Hello<'_>) -> Result<()> {
    hello.begin(Value::Null).await?;
    hello.export(FIRST).await?;
    hello.imported_everywhere("with its ports", |import| has_ports(import, &OWN)).await?;
    Ok(())
}

/// The second cluster has other ports.
async fn with_ports(hello: Hello<'_>, second: Value, wanted: &[(&str, &str, u16)]) -> Result<()> {
    hello.begin(Value::Null).await?;
    hello.deploy(SECOND, json!({ "ports": second })).await?;
    hello.export_twice(&json!({}), &json!({})).await?;
    hello.conflict_reported().await?;
    hello.imported_everywhere(&format!("{wanted:?}"), |import| has_ports(import, wanted)).await?;
    Ok(())
}

pub(super) async fn ports_united(hello: Hello<'_>) -> Result<()> {
    let second = json!([port("tcp", "TCP", PORT), port("stcp", "SCTP", 142)]);
    with_ports(hello, second, &[OWN[0], OWN[1], ("stcp", "SCTP", 142)]).await
}

pub(super) async fn ports_differ(hello: Hello<'_>) -> Result<()> {
    with_ports(hello, json!([port("tcp", "TCP", PORT + 1)]), &OWN).await
}

pub(super) async fn no_address(hello: Hello<'_>) -> Result<()> {
    hello.begin(json!({ "clusterIP": "None" })).await?;
    hello.export(FIRST).await?;
    hello.imported(FIRST, "there", |_| true).await?;
    let has_none =
        |found: Option<&Value>| found.is_some_and(|it| texts(&it["spec"]["ips"]).is_empty());
    hello.stays("without an address", has_none).await
}

pub(super) async fn external_name(hello: Hello<'_>) -> Result<()> {
    let elsewhere =
        json!({ "type": "ExternalName", "externalName": "example.com", "ipFamilyPolicy": null });
    hello.begin(elsewhere).await?;
    hello.export(FIRST).await?;
    hello.reported(FIRST, "Valid", "False").await?;
    hello.stays("absent", |found| found.is_none()).await
}

pub(super) async fn types_differ(hello: Hello<'_>) -> Result<()> {
    hello.begin(Value::Null).await?;
    hello.deploy(SECOND, json!({ "clusterIP": "None" })).await?;
    hello.export_twice(&json!({}), &json!({})).await?;
    hello.conflict_reported().await?;
    hello.imported_everywhere("not headless", |it| it["spec"]["type"] == "ClusterSetIP").await?;
    Ok(())
}
