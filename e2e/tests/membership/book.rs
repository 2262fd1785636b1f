//! The `InternalMemberCluster`s, as KubeFleet writes and reads them.

use std::time::Duration;

use anyhow::{Context, Result};
use fleet_api::names::member_namespace;
use fleet_api::{annotations, kinds};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::objects::{api, edit, find};
use fleet_testbed::wait::{wait_for, wait_until};
use kube::api::PostParams;
use serde_json::{Value, json};

const OURS: [&str; 2] = ["MultiClusterServiceAgent", "ServiceExportImportAgent"];

/// What stands in the book about one member.
#[derive(Debug)]
pub(crate) struct Book {
    generation: Value,
    status: Value,
}

impl Book {
    pub(crate) async fn read(hub: &Cluster, member: &str) -> Result<Self> {
        let namespace = member_namespace(member);
        let object = find(hub, kinds::INTERNAL_MEMBER_CLUSTER, (&namespace, member)).await?;
        let object = object.context("the member is not in the book")?;
        let generation = json!(object.metadata.generation);
        Ok(Self { generation, status: object.data["status"].clone() })
    }

    /// Waits until both agent types report this about the object as it is.
    pub(crate) async fn wait(
        hub: &Cluster,
        member: &str,
        joined: &str,
        deadline: Duration,
    ) -> Result<Self> {
        wait_for(&format!("{member} reports Joined={joined}"), deadline, async || {
            let book = Self::read(hub, member).await?;
            let says = |agent: &str| {
                let said = &book.report(agent)["conditions"][0];
                said["status"] == joined && said["observedGeneration"] == book.generation
            };
            Ok(OURS.iter().all(|agent| says(agent)).then_some(book))
        })
        .await
    }

    fn reports(&self) -> impl Iterator<Item = &Value> {
        self.status["agentStatus"].as_array().into_iter().flatten()
    }

    fn report(&self, agent: &str) -> &Value {
        self.reports().find(|report| report["type"] == agent).unwrap_or(&Value::Null)
    }

    /// The last heartbeats of our agent types.
    pub(crate) fn heartbeats(&self) -> Vec<jiff::Timestamp> {
        let time =
            |agent: &&str| self.report(agent)["lastReceivedHeartbeat"].as_str()?.parse().ok();
        OURS.iter().filter_map(time).collect()
    }

    /// Whether both of our agent types wait for a confirmation that the member may leave as the object asks now.
    pub(crate) fn asks(&self) -> bool {
        let waits = |condition: &Value| {
            condition["type"] == "LeaveConfirmed"
                && condition["status"] == "False"
                && condition["observedGeneration"] == self.generation
        };
        OURS.iter().all(|agent| {
            self.report(agent)["conditions"].as_array().is_some_and(|all| all.iter().any(waits))
        })
    }

    /// Reports of other agents.
    pub(crate) fn other_reports(&self) -> Vec<Value> {
        let others = self.reports().filter(|report| !OURS.iter().any(|our| report["type"] == *our));
        others.cloned().collect()
    }

    /// The status beside the reports.
    pub(crate) fn rest(&self) -> Value {
        let mut rest = self.status.clone();
        rest["agentStatus"] = Value::Null;
        rest
    }
}

/// What KubeFleet does when an administrator joins a member or lets it go.
pub(crate) async fn tell(hub: &Cluster, member: &str, state: &str) -> Result<()> {
    set(hub, member, json!({ "state": state })).await
}

/// What an administrator does who has read what the member asks.
pub(crate) async fn confirm(hub: &Cluster, member: &str, book: &Book) -> Result<()> {
    let confirmed = json!({ annotations::CONFIRM_LEAVE: book.generation.to_string() });
    let namespace = member_namespace(member);
    let patch = json!({ "metadata": { "annotations": confirmed } });
    edit(hub, kinds::INTERNAL_MEMBER_CLUSTER, (&namespace, member), patch).await?;
    Ok(())
}

pub(crate) async fn set_period(hub: &Cluster, member: &str, seconds: i32) -> Result<()> {
    set(hub, member, json!({ "heartbeatPeriodSeconds": seconds })).await
}

async fn set(hub: &Cluster, member: &str, spec: Value) -> Result<()> {
    let namespace = member_namespace(member);
    let key = (namespace.as_str(), member);
    edit(hub, kinds::INTERNAL_MEMBER_CLUSTER, key, json!({ "spec": spec })).await?;
    Ok(())
}

/// What KubeFleet's own agent does: its report first in the list, and more of the status.
pub(crate) async fn add_report(hub: &Cluster, member: &str, report: &Value) -> Result<()> {
    let namespace = member_namespace(member);
    let all = api(hub.client(), kinds::INTERNAL_MEMBER_CLUSTER, Some(&namespace));
    wait_until("the status is written", Duration::from_secs(10), async || {
        let mut object = all.get(member).await?;
        let status = &mut object.data["status"];
        status["resourceUsage"] =
            json!({ "capacity": { "cpu": "2" }, "available": { "cpu": "1" } });
        let reports = status["agentStatus"].as_array_mut().context("there are reports")?;
        reports.insert(0, report.clone());
        // An agent may have been faster.
        all.replace_status(member, &PostParams::default(), &object).await?;
        Ok(true)
    })
    .await
}
