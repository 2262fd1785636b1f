//! What DNS answers in each cluster.

use anyhow::{Result, ensure};
use fleet_nodes::lookup::Found;
use fleet_nodes::pods::{Kind, POD_PORT, cluster_ips};
use serde_json::{Value, json};

use super::hello::{FIRST, Hello, NAME, PORT, texts};
use crate::questions::{Question, both_families};

pub(super) async fn addresses(hello: Hello<'_>) -> Result<()> {
    hello.begin(Value::Null).await?;
    hello.export(FIRST).await?;
    let both = |import: &Value| texts(&import["spec"]["ips"]).len() == 2;
    hello.imported_everywhere("of both families", both).await?;
    let host = hello.host();
    hello.ask_everywhere(|import| both_families(&host, &texts(&import["spec"]["ips"])).into()).await
}

pub(super) async fn ports(hello: Hello<'_>) -> Result<()> {
    hello.begin(Value::Null).await?;
    hello.export(FIRST).await?;
    let host = hello.host();
    let record = Found::records([format!("{host}:{PORT}")]);
    hello.ask_everywhere(|_| vec![("SRV", host.clone(), record.clone())]).await
}

pub(super) async fn own_name(hello: Hello<'_>) -> Result<()> {
    hello.begin(Value::Null).await?;
    hello.export(FIRST).await?;
    hello.imported_everywhere("there", |_| true).await?;
    let own = cluster_ips(hello.cluster(FIRST), hello.namespace(), NAME).await?;
    let own: Vec<String> = own.iter().map(ToString::to_string).collect();
    let name = format!("{NAME}.{}.svc.cluster.local", hello.namespace());
    hello.ask(FIRST, &both_families(&name, &own)).await
}

/// Exports a headless Service; the names of its Pods, with their addresses.
async fn exported(hello: &Hello<'_>, kind: Kind) -> Result<Vec<(String, Vec<String>)>> {
    hello.begin(json!({ "clusterIP": "None" })).await?;
    let servers = hello.serve(FIRST, kind, 2).await?;
    hello.export(FIRST).await?;
    let hosts = servers.hosts(hello.cluster(FIRST)).await?;
    let count = hosts.iter().flat_map(|(_, addresses)| addresses).count();
    ensure!(count == 4, "two Pods of both families: {hosts:?}");
    Ok(hosts)
}

pub(super) async fn headless(hello: Hello<'_>) -> Result<()> {
    let hosts = exported(&hello, Kind::Headless).await?;
    let all: Vec<String> = hosts.into_iter().flat_map(|(_, addresses)| addresses).collect();
    let host = hello.host();
    hello.ask_everywhere(|_| both_families(&host, &all).into()).await
}

pub(super) async fn host_names(hello: Hello<'_>) -> Result<()> {
    let hosts = exported(&hello, Kind::StatefulSet).await?;
    let source = hello.cluster(FIRST).name();
    ensure!(hosts.iter().any(|(name, _)| *name == format!("{NAME}-1")), "{hosts:?}");
    let table = |_: &Value| -> Vec<Question> {
        let of_one = |(name, own): &(String, Vec<String>)| {
            both_families(&format!("{name}.{source}.{}", hello.host()), own)
        };
        hosts.iter().flat_map(of_one).collect()
    };
    hello.ask_everywhere(table).await
}

pub(super) async fn headless_ports(hello: Hello<'_>) -> Result<()> {
    let hosts = exported(&hello, Kind::Headless).await?;
    let (host, source) = (hello.host(), hello.cluster(FIRST).name());
    let records = hosts.iter().map(|(name, _)| format!("{name}.{source}.{host}:{POD_PORT}"));
    let records = Found::records(records);
    hello.ask_everywhere(|_| vec![("SRV", host.clone(), records.clone())]).await
}
