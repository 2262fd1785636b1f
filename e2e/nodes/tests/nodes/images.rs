//! The images that the conformance suite of the MCS API names, and every program that it calls in them, called as it does.

use std::time::Duration;

use anyhow::{Result, ensure};
use fleet_nodes::whole::WholeFleet;
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::wait::wait_for;
use fleet_testbed::workload::wait_for_default_account;
use serde_json::{Value, json};

use crate::steps::Steps;

const NAMESPACE: &str = "images";
const NAME: &str = "talker.images.svc.cluster.local";
const TALKER: &str = "alpine/socat:1.7.4.4";
const CALLER: &str = "nicolaka/netshoot:v0.15";
const WORD: &str = "talks from";
const DEADLINE: Duration = Duration::from_mins(1);

/// Calls of a Pod with the image [`CALLER`], and what their output has to contain.
const CALLS: [(&str, &str); 5] = [
    ("echo hi | nc -v -w 2 -4 {name} 42 2>&1", WORD),
    (
        "address=$(nslookup -type=AAAA {name}. 2>&1 | grep '^Address:' | grep -v '#' | tail -1 | awk '{ print $2 }'); \
         echo hi | nc -v -w 2 $address 42 2>&1",
        WORD,
    ),
    ("echo hi | nc -u -w 2 -4 {name} 42 2>&1", WORD),
    ("nslookup -type=A {name}.", "Name:\t{name}\nAddress: 10.96."),
    ("nslookup -type=SRV _tcp._tcp.{name}.", "service = 0 50 42 {name}"),
];

pub(crate) async fn check(fleet: &WholeFleet, steps: &mut Steps) -> Result<()> {
    fleet.fleet().user_namespace(NAMESPACE).await?;
    deploy_talker(fleet.fleet().member(0)).await?;
    let container =
        json!({ "image": CALLER, "args": ["/bin/sh", "-ec", "while :; do echo .; sleep 5; done"] });
    let starting = fleet.shell_in(0, (NAMESPACE, "caller"), container);
    let shell = steps.take("Pods of the conformance suite's images run", starting).await?;
    for (call, wanted) in CALLS {
        let (call, wanted) = (call.replace("{name}", NAME), wanted.replace("{name}", NAME));
        let what = format!("`{call}` prints {wanted}");
        let answered = wait_for(&what, DEADLINE, async || {
            let output = shell.run(&["sh", "-c", &format!("{call} || true")]).await?;
            ensure!(output.contains(&wanted), "{output}");
            Ok(Some(()))
        });
        steps.take(&call, answered).await?;
    }
    Ok(())
}

/// A Pod that answers over TCP and UDP, in both families, by scripts that find out which it has.
async fn deploy_talker(cluster: &Cluster) -> Result<()> {
    let client = cluster.client();
    wait_for_default_account(&client, NAMESPACE).await?;
    let labels = json!({ "app": "talker" });
    let port =
        |name: &str, protocol: &str| json!({ "name": name, "protocol": protocol, "port": 42 });
    apply(
        &client,
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "name": "talker", "namespace": NAMESPACE },
            "spec": {
                "ipFamilyPolicy": "PreferDualStack",
                "selector": labels,
                "ports": [port("tcp", "TCP"), port("udp", "UDP")],
            },
        }),
    )
    .await?;
    apply(
        &client,
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": "talker", "namespace": NAMESPACE, "labels": labels },
            "spec": {
                "terminationGracePeriodSeconds": 0,
                "containers": [talker("TCP"), talker("UDP")],
            },
        }),
    )
    .await
}

fn talker(protocol: &str) -> Value {
    let script = format!(
        "echo \"$ADDRESSES\" | grep -qE '[0-9]{{1,3}}\\.[0-9]{{1,3}}\\.' || exit 1
echo \"$ADDRESSES\" | grep -qE '[0-9a-fA-F]*:[0-9a-fA-F]*:' || exit 1
first=$(echo \"$ADDRESSES\" | tr ',' ' ' | awk '{{ print $1 }}')
export first
socat -v -v {protocol}6-LISTEN:42,crlf,reuseaddr,fork,ipv6only=0 SYSTEM:'echo \"{WORD} $first\"'"
    );
    json!({
        "name": protocol.to_lowercase(),
        "image": TALKER,
        "command": ["/bin/sh"],
        "args": ["-c", script],
        "env": [{ "name": "ADDRESSES", "valueFrom": { "fieldRef": { "fieldPath": "status.podIPs" } } }],
    })
}
