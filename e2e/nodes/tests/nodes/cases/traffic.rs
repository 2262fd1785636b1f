//! Who answers, asked from a Pod of each cluster.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use fleet_nodes::pods::{Kind, Servers};
use serde_json::{Value, json};

use super::hello::{FIRST, Hello, PORT, SECOND, port, texts};
use crate::questions::no_such_names;

const TRIES: usize = 5;
const OTHER_PORT: u16 = 4242;

/// The name does not exist, and nothing answers.
pub(super) async fn nothing(hello: Hello<'_>) -> Result<()> {
    hello.begin(Value::Null).await?;
    hello.serve(FIRST, Kind::Deployment, 1).await?;
    let host = hello.host();
    for (position, shell) in hello.shells().iter().enumerate() {
        shell.run(&["true"]).await?;
        hello.ask(position, &no_such_names(&[&host]).collect::<Vec<_>>()).await?;
        for _ in 0..TRIES {
            let answer = shell.get(&host, PORT).await;
            ensure!(answer.is_err(), "it answers: {answer:?}");
        }
    }
    Ok(())
}

pub(super) async fn answers(hello: Hello<'_>) -> Result<()> {
    hello.begin(Value::Null).await?;
    let servers = hello.serve(FIRST, Kind::Deployment, 1).await?;
    hello.export(FIRST).await?;
    leads_to(&hello, PORT, FIRST, &servers).await
}

pub(super) async fn one_exporter(hello: Hello<'_>) -> Result<()> {
    hello.begin(Value::Null).await?;
    hello.deploy(SECOND, Value::Null).await?;
    let servers = hello.serve(FIRST, Kind::Deployment, 1).await?;
    hello.serve(SECOND, Kind::Deployment, 1).await?;
    hello.export(FIRST).await?;
    leads_to(&hello, PORT, FIRST, &servers).await
}

pub(super) async fn other_number(hello: Hello<'_>) -> Result<()> {
    let (first, _) = with_second_port(&hello, "tcp").await?;
    leads_to(&hello, PORT, FIRST, &first).await
}

pub(super) async fn other_port(hello: Hello<'_>) -> Result<()> {
    let (first, second) = with_second_port(&hello, "tcp2").await?;
    leads_to(&hello, PORT, FIRST, &first).await?;
    leads_to(&hello, OTHER_PORT, SECOND, &second).await
}

/// Both clusters serve and export; the second one has a port of another number and of this name.
async fn with_second_port(hello: &Hello<'_>, name: &str) -> Result<(Servers, Servers)> {
    hello.begin(Value::Null).await?;
    hello.deploy(SECOND, json!({ "ports": [port(name, "TCP", OTHER_PORT)] })).await?;
    let first = hello.serve(FIRST, Kind::Deployment, 1).await?;
    let second = hello.serve(SECOND, Kind::Deployment, 1).await?;
    hello.export_twice(&json!({}), &json!({})).await?;
    hello.conflict_reported().await?;
    Ok((first, second))
}

/// From each cluster, by name and by each address, only the Pods of one cluster answer.
async fn leads_to(hello: &Hello<'_>, port: u16, position: usize, servers: &Servers) -> Result<()> {
    let pods: BTreeSet<String> = servers.pod_names(hello.cluster(position)).await?;
    let both = |import: &Value| texts(&import["spec"]["ips"]).len() == 2;
    let imports = hello.imported_everywhere("of both families", both).await?;
    for (shell, import) in hello.shells().iter().zip(imports) {
        let by_address = texts(&import["spec"]["ips"]);
        for host in [hello.host()].into_iter().chain(by_address) {
            shell.wait_for_pods(&host, port, &pods).await?;
        }
    }
    Ok(())
}
