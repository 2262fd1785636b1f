//! Machines outside of Kubernetes.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use fleet_api::{kinds, labels};
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange;
use fleet_testbed::objects::{api, remove};
use fleet_testbed::observer::Observer;
use fleet_testbed::scrape::Scrape;
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ServiceSpec, Workload, next_address, ready_addresses};
use fleet_testbed::{crds, rbac};
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::definitions;
use crate::stage::{DEADLINE, EXPORTER, IMPORTER, Stage};
use crate::tests::Tests;

/// Folder of the definition, for clusters without Linkerd.
pub(crate) const DEFINITION: &str = "member-agent/files/external-workloads-crds";

/// The Lease that Linkerd's controller holds, in Linkerd's namespace.
const LINKERDS_LEASE: &str = "linkerd-destination-endpoint-write";

pub(crate) fn add(tests: &mut Tests) {
    tests.beside("external_workloads::a_machine_crosses", a_machine_crosses);
    if std::env::var_os(fleet_testbed::fleet::HUB_KUBECONFIG).is_none() {
        // Definitions of existing clusters are not the suite's to delete.
        tests.apart("external_workloads::their_definition_goes_and_comes", they_go_and_come);
    }
}

/// What a user does before an agent is started with `--external-workloads`.
pub(crate) async fn prepare(cluster: &Cluster) -> Result<()> {
    crds::install(&cluster.client(), &crds::load(&[DEFINITION])?).await?;
    rbac::external_workloads().apply(&cluster.client()).await
}

/// EW: machines of the exporter's cluster that a Service selects serve the importer's derived Service, and go with
/// their condition `Ready`. When the last one is deleted, its slice is. A Lease of Linkerd's name in a user's namespace
/// keeps nothing from that.
async fn a_machine_crosses(stage: &Stage) -> Result<()> {
    let namespace = stage.namespace("machines").await?;
    let exporter = stage.exporter();
    let lease = json!({
        "apiVersion": kinds::LEASE.api_version(), "kind": kinds::LEASE.kind,
        "metadata": { "namespace": namespace, "name": LINKERDS_LEASE },
        "spec": { "holderIdentity": "any user", "leaseDurationSeconds": 30 },
    });
    apply(&exporter.client(), lease).await?;
    let service = Workload::deploy(exporter, ServiceSpec::http(&namespace, "web"), 0).await?;
    let addresses = [next_address(), next_address()];
    for (name, address) in ["vm-1", "vm-2"].into_iter().zip(&addresses) {
        add_machine(exporter, (&namespace, name), address).await?;
        set_ready(exporter, (&namespace, name), true).await?;
    }
    exchange::export(exporter, &namespace, "web").await?;
    exchange::import(stage.importer(), &namespace, "web", "web").await?;
    arrived(stage, &namespace, &addresses).await.context("both are ready")?;

    set_ready(exporter, (&namespace, "vm-1"), false).await?;
    arrived(stage, &namespace, &addresses[1..]).await.context("one is not ready")?;
    set_ready(exporter, (&namespace, "vm-1"), true).await?;
    arrived(stage, &namespace, &addresses).await.context("both are ready again")?;

    for name in ["vm-1", "vm-2"] {
        remove(exporter, kinds::EXTERNAL_WORKLOAD, (&namespace, name)).await?;
    }
    arrived(stage, &namespace, &[]).await.context("both are gone")?;
    wait_until("no slice of machines is left", DEADLINE, async || {
        let slices = service.slices().await?;
        let managers = slices.iter().filter_map(|slice| slice.metadata.labels.as_ref());
        let mut managers = managers.filter_map(|labels| labels.get(labels::MANAGED_BY));
        Ok(managers.all(|manager| manager != labels::MANAGED_BY_EXTERNAL_WORKLOADS))
    })
    .await?;

    end(stage, &namespace, service).await
}

/// F27: the definition of the kind is deleted, and with it a single machine. No slice of ours goes for that, and no
/// agent is started again when kind and machine are back.
async fn they_go_and_come(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let namespace = stage.namespace("machinekinds").await?;
    let (exporter, machine) = (stage.exporter(), (namespace.as_str(), "vm-1"));
    let service = Workload::deploy(exporter, ServiceSpec::http(&namespace, "web"), 0).await?;
    let addresses = [next_address()];
    add_machine(exporter, machine, &addresses[0]).await?;
    set_ready(exporter, machine, true).await?;
    exchange::export(exporter, &namespace, "web").await?;
    exchange::import(stage.importer(), &namespace, "web", "web").await?;
    arrived(stage, &namespace, &addresses).await?;

    let mut observer = Observer::start_for([(exporter, kinds::ENDPOINT_SLICE)]).await?;
    definitions::delete(exporter, &[kinds::EXTERNAL_WORKLOAD]).await?;
    definitions::let_go(exporter, &[kinds::EXTERNAL_WORKLOAD]).await?;
    let missing = [("source", "external_workloads"), ("state", "missing")];
    wait_until("the agent knows that the kind is not served", DEADLINE, async || {
        let scrape = Scrape::of(agents, Agent::Member(EXPORTER)).await?;
        Ok(scrape.sum("fleet_accumulator_source_state", &missing) > 0.0)
    })
    .await?;
    let seen = observer.take();
    let touched = seen.iter().any(|seen| seen.name().contains("external-web-"));
    ensure!(!touched, "the slice was written: {seen:?}");
    arrived(stage, &namespace, &addresses).await?;

    prepare(exporter).await?;
    let moved = [next_address()];
    add_machine(exporter, machine, &moved[0]).await?;
    set_ready(exporter, machine, true).await?;
    arrived(stage, &namespace, &moved).await.context("the machine is back elsewhere")?;
    remove(exporter, kinds::EXTERNAL_WORKLOAD, machine).await?;
    end(stage, &namespace, service).await
}

async fn end(stage: &Stage, namespace: &str, service: Workload) -> Result<()> {
    exchange::unexport(stage.exporter(), namespace, "web").await?;
    exchange::unimport(stage.member(IMPORTER), namespace, "web").await?;
    service.delete().await?;
    stage.nothing_left(namespace).await
}

async fn arrived(stage: &Stage, namespace: &str, addresses: &[String]) -> Result<()> {
    let addresses: BTreeSet<String> = addresses.iter().cloned().collect();
    exchange::wait_imported(stage.importer(), namespace, "web", &addresses, DEADLINE).await
}

/// The exporter's agent makes and deletes a slice for a machine, in its own cluster.
pub(crate) async fn own_slices_come_and_go(stage: &Stage, namespace: &str) -> Result<()> {
    let (exporter, machine) = (stage.exporter(), (namespace, "vm-1"));
    let service = Workload::deploy(exporter, ServiceSpec::http(namespace, "web"), 0).await?;
    let address = next_address();
    add_machine(exporter, machine, &address).await?;
    set_ready(exporter, machine, true).await?;
    has_endpoints(&service, &[address]).await?;
    set_ready(exporter, machine, false).await?;
    has_endpoints(&service, &[]).await?;
    remove(exporter, kinds::EXTERNAL_WORKLOAD, machine).await?;
    service.delete().await
}

/// Waits until exactly these addresses are ready in the slices of a Service.
async fn has_endpoints(service: &Workload, addresses: &[String]) -> Result<()> {
    let wanted: BTreeSet<String> = addresses.iter().cloned().collect();
    let what = format!("slices with {wanted:?}");
    wait_until(&what, DEADLINE, async || Ok(ready_addresses(&service.slices().await?) == wanted))
        .await
}

/// Adds a machine that the Service "web" selects.
async fn add_machine(
    cluster: &Cluster,
    (namespace, name): (&str, &str),
    address: &str,
) -> Result<()> {
    let kind = kinds::EXTERNAL_WORKLOAD;
    let machine: DynamicObject = serde_json::from_value(json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": { "namespace": namespace, "name": name, "labels": { "app": "web" } },
        "spec": {
            "meshTLS": { "identity": name, "serverName": name },
            "ports": [{ "port": 8080 }],
            "workloadIPs": [{ "ip": address }],
        },
    }))?;
    let machines = api(cluster.client(), kind, Some(namespace));
    machines.create(&PostParams::default(), &machine).await.context("add a machine")?;
    Ok(())
}

async fn set_ready(cluster: &Cluster, (namespace, name): (&str, &str), ready: bool) -> Result<()> {
    let status = if ready { "True" } else { "False" };
    let status = json!({ "status": { "conditions": [{ "type": "Ready", "status": status }] } });
    api(cluster.client(), kinds::EXTERNAL_WORKLOAD, Some(namespace))
        .patch_status(name, &PatchParams::default(), &Patch::Merge(status))
        .await
        .context("say whether a machine is ready")?;
    Ok(())
}
