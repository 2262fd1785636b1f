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
        "A hub and two members: for each an etcd, a kube-apiserver and a kube-controller-manager of its own. The first \
         run builds these programs.",
    );
    screen.step("starting the control planes and joining the members to the hub");
    let begin = Instant::now();
    // A name of its own only for a fleet that stays: two short demos may run side by side.
    let name = keep.then(|| NAMESPACE.to_owned());
    let fleet = Testbed::start(Options { name, audit: false, ..Options::members(2) }).await?;
    screen.reached("control planes are ready", begin.elapsed());
    fleet.description().write(fleet.run_path())?;
    for cluster in fleet.clusters() {
        screen.line(&format!("             {:<9} {}", cluster.name(), cluster.server_url()));
    }
    let crds_are_served_since = Instant::now();
    screen.step("starting the agents, each a process with credentials of its own");
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
        "\n  Times below: since the user's action, and since the line before; taken from watches on all three clusters.",
    );
    let mut web = deploy(stage).await?;
    export(stage, &web.addresses()).await?;
    import(stage, &web.addresses()).await?;
    stage.screen.chapter(
        "5  The addresses follow",
        "Pods come and go on member-1; clients on member-2 see it behind the same derived Service. Kubernetes' own \
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
            "10 Yours",
            "The Service is exported and imported once more, for a look around.",
        );
        export_again(stage, &web.addresses()).await?;
        directions(stage);
    } else {
        stage.screen.line("\nEverything is stopped. `make demo KEEP=1` leaves it running, for a look with kubectl.");
    }
    Ok(())
}

async fn deploy(stage: &mut Stage) -> Result<Workload> {
    stage.screen.chapter(
        "2  A Service on member-1",
        "The Pods run nowhere: there is no kubelet, the demo fills in their status. The EndpointSlice is the real \
         controller's.",
    );
    let action = async |fleet: &Testbed| {
        Workload::deploy(fleet.member(0), ServiceSpec::http(NAMESPACE, SERVICE), 2).await
    };
    let wanted = |web: &Workload| vec![source_slice(&web.addresses())];
    let (web, followed) =
        stage.act((EXPORTER, "creates Service demo/web and two Pods"), action, wanted).await?;
    stage.screen.reached("the Service has its addresses, on member-1 only", followed.total());
    Ok(web)
}

async fn export(stage: &mut Stage, addresses: &BTreeSet<String>) -> Result<()> {
    stage.screen.chapter(
        "3  Export",
        "A ServiceExport offers the Service to the fleet. member-1's agent writes to its own namespace of the hub and \
         to no other; the hub's agent makes the ServiceImport that all members can refer to.",
    );
    let action =
        async |fleet: &Testbed| exchange::export(fleet.member(0), NAMESPACE, SERVICE).await;
    let wanted = |(): &()| exported(addresses);
    let ((), followed) =
        stage.act((EXPORTER, "creates ServiceExport demo/web"), action, wanted).await?;
    stage.reached("exported: the fleet has the Service, its ports and addresses", followed.total());
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
        "A MultiClusterService asks for it. The hub grants the request and copies the addresses into member-2's \
         namespace; member-2's agent makes the derived Service and binds the imported EndpointSlice to it.",
    );
    let action = async |fleet: &Testbed| {
        exchange::import(fleet.member(1), NAMESPACE, SERVICE, SERVICE).await
    };
    let wanted = |(): &()| imported(addresses);
    let ((), followed) =
        stage.act((IMPORTER, "creates MultiClusterService demo/web"), action, wanted).await?;
    stage.reached("imported: member-2 has an address for the Service", followed.until(0));
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
    stage.screen.reached(&format!("member-2 serves {served}"), followed.until(1));
    stage.reached(
        &format!("endpoint change crossed, from member-1's own slice to member-2's: {served}"),
        followed.between(0, 1),
    );
    Ok(())
}

async fn withdraw(stage: &mut Stage) -> Result<()> {
    stage.screen.chapter(
        "6  Unexport",
        "Without its ServiceExport the Service leaves the fleet: importers lose the addresses, then the derived Service. \
         member-2's request stays and waits for another exporter.",
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
    stage.reached(
        "unexported: nothing to talk to on member-2, no offer on the hub",
        followed.total(),
    );
    Ok(())
}

async fn end_import(stage: &mut Stage) -> Result<()> {
    stage.screen.chapter("7  Delete the import", "The request and the derived Service go.");
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
    stage.reached("import deleted: member-2 is as it was", followed.total());
    Ok(())
}

async fn nothing_left(stage: &mut Stage) -> Result<()> {
    stage.screen.chapter(
        "8  Nothing is left",
        "All kinds of the fleet in all clusters, and what the agents made.",
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
    stage.screen.line("  The user's Service and Pods are where they were, on member-1.");
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
