//! Writes the report on the hub: a read and a write, as one object that this agent alone writes.

use std::time::Duration;

use fleet_accumulator::one_line;
use fleet_api::multicluster::{ReachReport, ReachReportSpec};
use fleet_runtime::clock::Clock;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::PostParams;
use kube::{Api, Client};

use crate::Identity;

/// Maximum time for both requests.
const PATIENCE: Duration = Duration::from_secs(10);

/// Writes the report.
#[derive(Clone)]
pub(super) struct Reporter {
    reports: Api<ReachReport>,
    name: String,
}

impl Reporter {
    pub(super) fn new(hub: Client, identity: &Identity) -> Self {
        let reports = Api::namespaced(hub, &identity.hub_namespace);
        Self { reports, name: identity.cluster.clone() }
    }

    /// Writes a report; `None` if that failed, which the next attempt makes good.
    pub(super) async fn write(&self, report: ReachReportSpec) -> Option<ReachReportSpec> {
        match tokio::time::timeout(PATIENCE, self.try_write(report)).await {
            Ok(Ok(written)) => Some(written),
            Ok(Err(error)) => {
                tracing::warn!(error = one_line(&error), "Could not report what is reached");
                None
            }
            Err(_) => {
                tracing::warn!("The hub did not answer to the report of what is reached");
                None
            }
        }
    }

    async fn try_write(&self, report: ReachReportSpec) -> kube::Result<ReachReportSpec> {
        let now = Clock::system().now();
        let observed = jiff::Timestamp::from_second(now.as_second()).unwrap_or(now);
        let spec = ReachReportSpec { observed: Some(Time(observed)), ..report.clone() };
        let params = PostParams::default();
        match self.reports.get_opt(&self.name).await? {
            Some(mut found) => {
                found.spec = spec;
                self.reports.replace(&self.name, &params, &found).await?;
            }
            None => {
                self.reports.create(&params, &ReachReport::new(&self.name, spec)).await?;
            }
        }
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use fleet_accumulator::ClusterId;
    use fleet_api::{ObjectName, kinds};
    use fleet_model_server::{ApiServer, ModelServer};
    use serde_json::json;

    use super::*;

    fn spec(reachable: i32) -> ReachReportSpec {
        ReachReportSpec { reachable, ..ReachReportSpec::default() }
    }

    #[tokio::test]
    async fn one_object_is_made_and_then_replaced() {
        let mut model = ModelServer::new(ClusterId::Hub);
        let namespace = ObjectName::cluster("fleet-member-west");
        model.create(kinds::NAMESPACE, &namespace, json!({})).unwrap();
        let hub = ApiServer::new(model);
        let reporter = Reporter::new(hub.client("west"), &Identity::new("west"));
        let name = ObjectName::new("fleet-member-west", "west");
        for reachable in [1, 2] {
            let written = reporter.write(spec(reachable)).await;
            assert_eq!(written, Some(spec(reachable)), "what is compared has no time");
            let found = hub.read(|hub| hub.get(kinds::REACH_REPORT, &name).unwrap().clone());
            assert_eq!(found["spec"]["reachable"], reachable);
            assert!(found["spec"]["observed"].is_string(), "{found}");
        }
        assert_eq!(hub.sent().len(), 2, "{:?}", hub.sent());
    }
}
