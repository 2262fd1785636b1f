//! Releases of the members' agents, as the chart labels their Deployments.

use std::collections::BTreeMap;
use std::time::Duration;

use fleet_runtime::clients::ClientSet;
use futures::future::join_all;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::ListParams;
use kube::{Api, Client};

use crate::deployments::MEMBER_AGENT;

/// Label of the chart's Deployments with the release.
const VERSION: &str = "app.kubernetes.io/version";
/// More Deployments of that name are not an installation of the chart.
const FEW: u32 = 10;

/// The releases of the members whose Deployments the user may list. Each member has this time to answer.
pub(crate) async fn read<'a>(
    members: impl Iterator<Item = (&'a String, &'a ClientSet)>,
    patience: Duration,
) -> BTreeMap<String, String> {
    let read = members.map(async |(name, own)| {
        let version = tokio::time::timeout(patience, of_member(&own.watch)).await;
        Some((name.clone(), version.ok()??))
    });
    join_all(read).await.into_iter().flatten().collect()
}

async fn of_member(own: &Client) -> Option<String> {
    let deployments: Api<Deployment> = Api::all(own.clone());
    let of_chart = ListParams::default().labels(MEMBER_AGENT).limit(FEW);
    let found = deployments.list(&of_chart).await.ok()?.items.into_iter().next()?;
    found.metadata.labels?.remove(VERSION)
}
