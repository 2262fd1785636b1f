//! What the demo does, and what must come of it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use fleet_api::{conditions, kinds};

use super::screen::Screen;
use super::stage::{NAMESPACE, Stage};
use super::text::count;
use super::wanted::Wanted;
use fleet_testbed::agents::{AgentOptions, Agents};
use fleet_testbed::exchange;
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ServiceSpec, Workload};
use fleet_testbed::{Options, Testbed};

const SERVICE: &str = "web";
const EXPORTER: &str = "member-1";
const IMPORTER: &str = "member-2";
const HUB: &str = "hub";

/// kube-apiserver holds the creation of a custom resource for 2 s if its CRD is younger than that (`justCreated` in
/// apiextensions-apiserver): such a pause would be taken for the fleet's time.
const CRD_YOUTH: Duration = Duration::from_secs(2);

/// Starts the clusters and the agents.
pub(super) async fn set_up(mut screen: Screen, patience: Duration, keep: bool) -> Result<Stage> {
    screen.chapter(
        "1  Three clusters and three agents",
        "A hub and two members. Each has its own etcd, kube-apiserver and kube-controller-manager. The first run builds \
         these programs unless KUBEBUILDER_ASSETS or PATH has all three.",
    );
    screen.step("starting the control planes and joining the members to the hub");
    let begin = Instant::now();
    // A fixed name only for a fleet that stays: two short demos may run at the same time.
    let name = keep.then(|| NAMESPACE.to_owned());
    let fleet = Testbed::start(Options { name, audit: false, ..Options::members(2) }).await?;
    screen.reached("control planes are ready", begin.elapsed());
    fleet.description().write(fleet.run_path())?;
    for cluster in fleet.clusters() {
        screen.line(&format!("             {:<9} {}", cluster.name(), cluster.server_url()));
    }
    let crds_are_served_since = Instant::now();
    screen.step("starting the agents, each as a process with its own credentials");
    let begin = Instant::now();
    let agents = Agents::start(&fleet, &AgentOptions::default()).await?;
    screen.reached("agents are ready", begin.elapsed());
    for agent in fleet.agents() {
        let (name, pid) = (fleet.agent_name(agent), agents.pid(agent).unwrap_or_default());
        screen.line(&format!("             {name:<14} process {pid}"));
    }
    fleet.user_namespace(NAMESPACE).await?;
    let mut stage = Stage::new(screen, patience, fleet, agents).await?;
    stage.screen.line("\n  While this runs, kubectl reaches the clusters with:");
    stage.directions();
    // Timestamps of conditions have whole seconds, so a CRD may look up to one second older, never younger.
    tokio::time::sleep(CRD_YOUTH.saturating_sub(crds_are_served_since.elapsed())).await;
    Ok(stage)
}

/// The whole story.
pub(super) async fn tell(stage: &mut Stage, keep: bool) -> Result<()> {
    stage.screen.line(
        "\n  Times below: since the user's action, and since the line before, measured by watches on all three clusters.",
    );
    let mut web = deploy(stage).await?;
    export(stage, &web.addresses()).await?;
    import(stage, &web.addresses()).await?;
    stage.screen.chapter(
        "5  Endpoint changes",
        "Pods are added and removed on member-1; clients on member-2 use them through the same derived Service. Kubernetes' \
         EndpointSlice controller waits up to a second when Pods change quickly; the fleet's part starts after it.",
    );
    scale(stage, &mut web, 4).await?;
    scale(stage, &mut web, 1).await?;
    withdraw(stage).await?;
    end_import(stage).await?;
    nothing_left(stage).await?;
    stage
        .screen
        .chapter("9  Summary", "From the user's action to the last effect, seen through watches.");
    stage.summarize();
    if keep {
        stage.screen.chapter(
            "10 Your turn",
            "The Service is exported and imported again, so that you can look at its objects.",
        );
        export_again(stage, &web.addresses()).await?;
        directions(stage);
    } else {
        stage.screen.line("\nEverything is stopped. `make demo KEEP=1` leaves it running, so that you can use kubectl.");
    }
    Ok(())
}

async fn deploy(stage: &mut Stage) -> Result<Workload> {
    stage.screen.chapter(
        "2  A Service on member-1",
        "There is no kubelet: the demo sets the status of the Pods. The EndpointSlice is created by the real controller.",
    );
    let action = async |fleet: &Testbed| {
        Workload::deploy(fleet.member(0), ServiceSpec::http(NAMESPACE, SERVICE), 2).await
    };
    let wanted = |web: &Workload| vec![source_slice(&web.addresses())];
    let (web, followed) =
        stage.act((EXPORTER, "creates Service demo/web and two Pods"), action, wanted).await?;
    stage.screen.reached("the Service has endpoints, on member-1 only", followed.total());
    Ok(web)
}

async fn export(stage: &mut Stage, addresses: &BTreeSet<String>) -> Result<()> {
    stage.screen.chapter(
        "3  Export",
        "A ServiceExport exports the Service to the fleet. The agent of member-1 writes to its own namespace on the hub and \
         to no other; the hub agent creates the ServiceImport that all members can refer to.",
    );
    let action =
        async |fleet: &Testbed| exchange::export(fleet.member(0), NAMESPACE, SERVICE).await;
    let wanted = |(): &()| exported(addresses);
    let ((), followed) =
        stage.act((EXPORTER, "creates ServiceExport demo/web"), action, wanted).await?;
    stage.reached("exported: the hub has the Service, its ports and addresses", followed.total());
    Ok(())
}

fn exported(addresses: &BTreeSet<String>) -> Vec<Wanted> {
    let namespace = member_namespace(EXPORTER);
    let valid = (conditions::VALID, conditions::TRUE);
    let no_conflict = (conditions::CONFLICT, conditions::FALSE);
    vec![
        Wanted::exporters(HUB, kinds::SERVICE_IMPORT, NAMESPACE),
        Wanted::addresses(HUB, kinds::ENDPOINT_SLICE_EXPORT, &namespace, addresses),
        Wanted::condition(EXPORTER, kinds::SERVICE_EXPORT, NAMESPACE, valid),
        Wanted::condition(EXPORTER, kinds::SERVICE_EXPORT, NAMESPACE, no_conflict),
    ]
}

async fn import(stage: &mut Stage, addresses: &BTreeSet<String>) -> Result<()> {
    stage.screen.chapter(
        "4  Import",
        "A MultiClusterService requests the Service. The hub agent accepts the request and copies the addresses into the \
         namespace of member-2; the agent of member-2 creates the derived Service and the imported EndpointSlice.",
    );
    let action = async |fleet: &Testbed| {
        exchange::import(fleet.member(1), NAMESPACE, SERVICE, SERVICE).await
    };
    let wanted = |(): &()| imported(addresses);
    let ((), followed) =
        stage.act((IMPORTER, "creates MultiClusterService demo/web"), action, wanted).await?;
    stage.reached("imported: member-2 has endpoints for the Service", followed.until(0));
    Ok(())
}

fn imported(addresses: &BTreeSet<String>) -> Vec<Wanted> {
    let valid = (conditions::VALID, conditions::TRUE);
    vec![
        imported_slice(addresses),
        Wanted::condition(IMPORTER, kinds::MULTI_CLUSTER_SERVICE, NAMESPACE, valid),
    ]
}

async fn scale(stage: &mut Stage, web: &mut Workload, replicas: usize) -> Result<()> {
    let text = format!("scales demo/web to {}", count(replicas, "Pod"));
    let action = async |_: &Testbed| {
        web.scale(replicas).await?;
        Ok(web.addresses())
    };
    let wanted =
        |addresses: &BTreeSet<String>| vec![source_slice(addresses), imported_slice(addresses)];
    let (_, followed) = stage.act((EXPORTER, &text), action, wanted).await?;
    let served = count(replicas, "address");
    stage.screen.reached(&format!("member-2 has {served}"), followed.until(1));
    stage.reached(
        &format!("endpoint change, from the slice on member-1 to the slice on member-2: {served}"),
        followed.between(0, 1),
    );
    Ok(())
}

async fn withdraw(stage: &mut Stage) -> Result<()> {
    stage.screen.chapter(
        "6  Unexport",
        "Without its ServiceExport the Service is withdrawn: importers remove the addresses, then the derived Service. The \
         request of member-2 stays and waits for another exporter.",
    );
    let action =
        async |fleet: &Testbed| exchange::unexport(fleet.member(0), NAMESPACE, SERVICE).await;
    let wanted = |(): &()| {
        let (exporter, importer) = (member_namespace(EXPORTER), member_namespace(IMPORTER));
        vec![
            Wanted::gone(IMPORTER, kinds::ENDPOINT_SLICE, SYSTEM_NAMESPACE),
            Wanted::gone(HUB, kinds::ENDPOINT_SLICE_IMPORT, &importer),
            Wanted::gone(HUB, kinds::ENDPOINT_SLICE_EXPORT, &exporter),
            Wanted::gone(HUB, kinds::INTERNAL_SERVICE_EXPORT, &exporter),
            Wanted::gone(HUB, kinds::SERVICE_IMPORT, NAMESPACE),
            Wanted::gone(EXPORTER, kinds::SERVICE_EXPORT, NAMESPACE),
            Wanted::gone(IMPORTER, kinds::SERVICE, SYSTEM_NAMESPACE),
        ]
    };
    let ((), followed) =
        stage.act((EXPORTER, "deletes ServiceExport demo/web"), action, wanted).await?;
    stage.reached("unexported: no endpoints on member-2, no export on the hub", followed.total());
    Ok(())
}

async fn end_import(stage: &mut Stage) -> Result<()> {
    stage
        .screen
        .chapter("7  Delete the import", "The request and the derived Service are deleted.");
    let action =
        async |fleet: &Testbed| exchange::unimport(fleet.member(1), NAMESPACE, SERVICE).await;
    let wanted = |(): &()| {
        vec![
            Wanted::gone(IMPORTER, kinds::SERVICE_IMPORT, NAMESPACE),
            Wanted::gone(HUB, kinds::INTERNAL_SERVICE_IMPORT, &member_namespace(IMPORTER)),
            Wanted::gone(IMPORTER, kinds::MULTI_CLUSTER_SERVICE, NAMESPACE),
        ]
    };
    let ((), followed) =
        stage.act((IMPORTER, "deletes MultiClusterService demo/web"), action, wanted).await?;
    stage.reached("import deleted: member-2 has no object of the fleet", followed.total());
    Ok(())
}

async fn nothing_left(stage: &mut Stage) -> Result<()> {
    stage.screen.chapter(
        "8  Nothing is left",
        "All kinds of the fleet in all clusters, and the objects that the agents created.",
    );
    let fleet = stage.fleet();
    let mut left = Vec::new();
    let result = wait_until("no object of the fleet is left", Duration::from_secs(5), async || {
        left = fleet.leftovers().await?;
        Ok(left.is_empty())
    })
    .await;
    if result.is_err() && !left.is_empty() {
        let left: Vec<String> = left.iter().map(ToString::to_string).collect();
        bail!("left behind:\n  {}", left.join("\n  "));
    }
    result?;
    for cluster in [HUB, EXPORTER, IMPORTER] {
        stage.screen.line(&format!("  {cluster:<9} 0 objects of the fleet"));
    }
    stage.screen.line("  The user's Service and Pods are unchanged, on member-1.");
    Ok(())
}

async fn export_again(stage: &mut Stage, addresses: &BTreeSet<String>) -> Result<()> {
    let action = async |fleet: &Testbed| {
        exchange::export(fleet.member(0), NAMESPACE, SERVICE).await?;
        exchange::import(fleet.member(1), NAMESPACE, SERVICE, SERVICE).await
    };
    let wanted = |(): &()| exported(addresses).into_iter().chain(imported(addresses)).collect();
    let text = "creates ServiceExport demo/web, and MultiClusterService demo/web on member-2";
    let ((), followed) = stage.act((EXPORTER, text), action, wanted).await?;
    stage.screen.reached("exported and imported at once", followed.total());
    Ok(())
}

fn directions(stage: &mut Stage) {
    stage.screen.line("\n  kubectl reaches the clusters with:");
    stage.directions();
    let command = std::env::current_exe().unwrap_or_default().with_file_name("fleet-testbed");
    let command = command.display();
    for line in [
        "\n  Things to look at:".to_owned(),
        format!("    eval \"$({command} env member-2 --name {NAMESPACE})\""),
        "    kubectl get multiclusterservices,serviceimports -A".to_owned(),
        "    kubectl get services,endpointslices -n fleet-system".to_owned(),
        format!("    {command} status"),
    ] {
        stage.screen.line(&line);
    }
}

fn source_slice(addresses: &BTreeSet<String>) -> Wanted {
    Wanted::addresses(EXPORTER, kinds::ENDPOINT_SLICE, NAMESPACE, addresses)
}

fn imported_slice(addresses: &BTreeSet<String>) -> Wanted {
    Wanted::addresses(IMPORTER, kinds::ENDPOINT_SLICE, SYSTEM_NAMESPACE, addresses)
}
