//! The objects of a kind.

use anyhow::Result;
use fleet_api::ResourceKind;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::objects::api;
use kube::api::{DynamicObject, ListParams};

pub(crate) async fn objects(
    cluster: &Cluster,
    kind: ResourceKind,
    namespace: &str,
) -> Result<Vec<DynamicObject>> {
    let api = api(cluster.client(), kind, Some(namespace));
    Ok(api.list(&ListParams::default()).await?.items)
}

pub(crate) async fn all(cluster: &Cluster, kind: ResourceKind) -> Result<Vec<DynamicObject>> {
    Ok(api(cluster.client(), kind, None).list(&ListParams::default()).await?.items)
}
