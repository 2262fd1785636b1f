//! A Pod of east that runs in west, on a virtual node.

use anyhow::{Context, Result, ensure};
use fleet_api::offload::CONSENT;
use fleet_api::{ResourceKind, kinds};
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::wait_gone;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::objects::{api, find};
use fleet_testbed::played_node::{PlayedNode, remote};
use fleet_testbed::pod::NAMESPACE;
use fleet_testbed::virtual_node::{agree, node_of, offer};
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::wait_for_default_account;
use kube::api::DeleteParams;
use serde_json::json;

use crate::lists::all;
use crate::members::DEADLINE;
use crate::part::{EAST, WEST};
use crate::services::RESTING;

const POD: &str = "guest";

/// What virtual nodes keep on the hub.
const ON_HUB: [ResourceKind; 4] =
    [kinds::OFFLOAD_OFFER, kinds::VIRTUAL_NODE, kinds::POD_EXPORT, kinds::POD_IMPORT];

/// The Pod, and the node in west that plays its containers.
#[derive(Debug)]
pub(crate) struct Offload {
    played: PlayedNode,
    /// Uid of the Pod, and of the one that runs for it.
    uids: (Option<String>, Vec<Option<String>>),
}

impl Offload {
    /// Administrators agree, and the Pod runs.
    pub(crate) async fn begin(fleet: &Fleet) -> Result<Self> {
        let (east, west) = (fleet.member(EAST), fleet.member(WEST));
        let played = PlayedNode::for_others(west.client());
        wait_for_default_account(&east.client(), RESTING).await?;
        agree(east, west, offer(east, RESTING, &json!({}))).await?;
        apply(&east.client(), pod(&node_of(west))).await?;
        wait_until("the Pod runs in west", DEADLINE, async || is_ready(east).await).await?;
        let uids = uids(east, west).await?;
        ensure!(uids.1.len() == 1, "{} Pods run for one", uids.1.len());
        Ok(Self { played, uids })
    }

    /// An error unless the same Pod runs, and the same one for it.
    pub(crate) async fn runs(&self, fleet: &Fleet) -> Result<()> {
        let (east, west) = (fleet.member(EAST), fleet.member(WEST));
        ensure!(is_ready(east).await?, "the Pod of the virtual node is not ready");
        let now = uids(east, west).await?;
        ensure!(now == self.uids, "{now:?} runs instead of {:?}", self.uids);
        Ok(())
    }

    /// The Pod ends, and what administrators have agreed on, before agents are switched off that bring it to an end.
    pub(crate) async fn end(self, fleet: &Fleet) -> Result<()> {
        let (east, west) = (fleet.member(EAST), fleet.member(WEST));
        api(east.client(), kinds::POD, Some(RESTING)).delete(POD, &DeleteParams::default()).await?;
        wait_gone(east, kinds::POD, RESTING, POD, DEADLINE).await?;
        for member in [west, east] {
            let consents = api(member.client(), kinds::CONFIG_MAP, Some(NAMESPACE));
            consents.delete(CONSENT, &DeleteParams::default()).await?;
        }
        wait_gone(east, kinds::NODE, "", &node_of(west), DEADLINE).await?;
        wait_until("the hub has nothing of virtual nodes", DEADLINE, async || {
            for kind in ON_HUB {
                let left = all(fleet.hub(), kind).await?;
                ensure!(left.is_empty(), "{} of {}", left.len(), kind.plural);
            }
            Ok(true)
        })
        .await?;
        let seen = self.played.end().await?;
        ensure!(seen.len() == 1, "west ran Pods for {} of east", seen.len());
        ensure!(
            seen.values().all(|pods| pods.len() == 1),
            "more than one Pod ran for it: {seen:?}"
        );
        Ok(())
    }
}

fn pod(node: &str) -> serde_json::Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": POD, "namespace": RESTING },
        "spec": {
            "nodeName": node, "terminationGracePeriodSeconds": 1,
            "tolerations": [{ "operator": "Exists" }],
            "containers": [{ "name": "web", "image": "example.com/web:1" }],
        },
    })
}

async fn is_ready(east: &Cluster) -> Result<bool> {
    let pod = find(east, kinds::POD, (RESTING, POD)).await?.context("no Pod")?;
    let conditions = pod.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
    Ok(conditions.iter().any(|one| one["type"] == "Ready" && one["status"] == "True"))
}

async fn uids(east: &Cluster, west: &Cluster) -> Result<(Option<String>, Vec<Option<String>>)> {
    let pod = find(east, kinds::POD, (RESTING, POD)).await?.context("no Pod")?;
    let remote = remote(&west.client()).await?;
    Ok((pod.metadata.uid, remote.into_iter().map(|pod| pod.metadata.uid).collect()))
}
