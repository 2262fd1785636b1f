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
use member_agent::args::Args;
use serde_json::json;
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

/// One member with its agent.
pub(crate) struct Member {
    /// Its own cluster.
    pub(crate) server: ApiServer,
    stop: CancellationToken,
    task: JoinHandle<ExitCode>,
}

impl Member {
    /// Joins the hub with credentials of its own and starts the agent; `seen` is called with every change in its cluster.
    pub(crate) async fn start(
        hub: &Cluster,
        folder: &Path,
        name: &str,
        seen: impl Fn(&Change) + Send + Sync + 'static,
    ) -> Result<Self> {
        let token_path = join_hub(hub, name, folder).await?;
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
            for namespace in ["kube-system", SYSTEM_NAMESPACE, NAMESPACE] {
                model.create(kinds::NAMESPACE, &ObjectName::cluster(namespace), json!({})).ok();
            }
        });
        let client = server.client(name);
        let own = ClientSet {
            watch: client.clone(),
            write: client.clone(),
            lease: client,
            url: "memory".to_owned(),
            credential: Credential::default(),
        };
        let named = format!("--member-cluster-name={name}");
        let args = Args::try_parse_from(ARGUMENTS.into_iter().chain([named.as_str()]))?;
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
