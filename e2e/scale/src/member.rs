//! A member that is played: the agent's own library between a cluster in memory and the real hub.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Parser;
use fleet_accumulator::ClusterId;
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{ObjectName, kinds};
use fleet_model_server::{ApiServer, Change, ModelServer};
use fleet_runtime::clients::{ClientSet, Credential, HubAccess, HubSettings};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::join::join_hub;
use fleet_testbed::rbac;
use member_agent::args::Args;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The users' namespace.
pub(crate) const NAMESPACE: &str = "shops";

/// Nothing of the process itself: many of them share one.
const ARGUMENTS: [&str; 4] = [
    "member-agent",
    "--leader-elect=false",
    "--derived-service-grace-period=0s",
    // Many members on few cores: a slow watch is not a dead one.
    "--hub-watch-timeout=290s",
];

/// What serves the standard API beside that. Nothing is missed in these fleets, so that nothing has to be waited for.
const SERVING: [&str; 2] = ["--multicluster=on", "--multicluster-settle=1s"];

/// One member with its agent.
pub(crate) struct Member {
    /// Its own cluster.
    pub(crate) server: ApiServer,
    stop: CancellationToken,
    task: JoinHandle<ExitCode>,
}

impl Member {
    /// Joins the hub with credentials of its own and starts the agent, which serves the standard API if asked to; `seen` is
    /// called with every change in its cluster.
    pub(crate) async fn start(
        hub: &Cluster,
        folder: &Path,
        (name, standard): (&str, bool),
        seen: impl Fn(&Change) + Send + Sync + 'static,
    ) -> Result<Self> {
        let token_path = join_hub(hub, name, folder).await?;
        if standard {
            rbac::multicluster_on_hub(name).apply(&hub.client()).await?;
        }
        let settings = HubSettings {
            url: hub.server_url(),
            token_path,
            ca_pem_base64: hub.ca_pem().map(|pem| STANDARD.encode(pem)),
            headers: Vec::new(),
            insecure: false,
        };
        let on_hub = HubAccess::Variables(settings).connect().await?;
        let server = ApiServer::observed(ModelServer::new(ClusterId::Local), seen);
        server.write(|model| {
            if standard {
                model.give_addresses(&["IPv4"]);
            }
            for namespace in ["kube-system", SYSTEM_NAMESPACE, NAMESPACE] {
                model.create(kinds::NAMESPACE, &ObjectName::cluster(namespace), json!({})).ok();
            }
            // By its uid a hub knows a cluster. No two have the same.
            let distinct = |object: &mut Value| object["metadata"]["uid"] = json!(name);
            model.edit(kinds::NAMESPACE, &ObjectName::cluster("kube-system"), distinct).ok();
        });
        let client = server.client(name);
        let own = ClientSet {
            watch: client.clone(),
            write: client.clone(),
            lease: client.clone(),
            fresh: client,
            url: "memory".to_owned(),
            is_verified: true,
            credential: Credential::default(),
        };
        let named = format!("--member-cluster-name={name}");
        let more = if standard { &SERVING[..] } else { &[] };
        let arguments = ARGUMENTS.into_iter().chain(more.iter().copied()).chain([named.as_str()]);
        let args = Args::try_parse_from(arguments)?;
        let agent = member_agent::app::embed(&args, own, on_hub).context("start the agent")?;
        let stop = CancellationToken::new();
        let task = tokio::spawn(agent.run_until(stop.clone().cancelled_owned()));
        Ok(Self { server, stop, task })
    }

    /// Ends the agent as a shutdown would: what it has exported stays.
    pub(crate) async fn stop(self) -> Result<()> {
        self.stop.cancel();
        let code = self.task.await.context("the agent has panicked")?;
        ensure!(code == ExitCode::SUCCESS, "the agent has failed");
        Ok(())
    }
}
