//! Wrong values are refused, with a message that names them.

use std::sync::atomic::{AtomicUsize, Ordering};

use fleet_testbed::helm::chart;
use serde_json::json;

use crate::{CHARTS, both_helms, needed, with};

#[tokio::test]
async fn wrong_values_of_either_chart() {
    let cases = [
        (json!({ "replicas": 3 }), "additional properties 'replicas' not allowed"),
        (json!({ "image": { "pullPolicy": "Sometimes" } }), "'/image/pullPolicy'"),
        (json!({ "image": { "digest": "latest" } }), "'/image/digest'"),
        (json!({ "replicaCount": "two" }), "'/replicaCount': got string, want integer"),
        (json!({ "leaderElectionNamespace": "Fleet_System" }), "'/leaderElectionNamespace'"),
        (json!({ "networkPolicy": { "apiServerPorts": [70000] } }), "maximum: got 70,000"),
        (json!({ "extraArgs": ["v=2"] }), "'/extraArgs/0'"),
        (json!({ "otlpEndpoint": "collector:4318" }), "'/otlpEndpoint'"),
        (
            json!({ "podMonitor": { "enabled": true }, "serviceMonitor": { "enabled": true } }),
            "choose one",
        ),
    ];
    for name in CHARTS {
        for (values, said) in &cases {
            refused(name, &with(needed(name), values), said).await;
        }
    }
}

#[tokio::test]
async fn wrong_values_of_the_hub_chart() {
    for (values, said) in [
        (json!({ "forceDeleteWaitTime": "15" }), "'/forceDeleteWaitTime'"),
        (json!({ "memberLease": { "silentAfter": "60" } }), "'/memberLease/silentAfter'"),
        (
            json!({ "virtualNodes": { "enabled": true }, "memberLease": { "silentAfter": "5m" } }),
            "needs memberLease.silentAfter=60s",
        ),
        (json!({ "multicluster": { "settle": "1d" } }), "'/multicluster/settle'"),
        (json!({ "multicluster": { "withdrawnFor": "" } }), "'/multicluster/withdrawnFor'"),
        (json!({ "policies": { "reservedCidrs": ["10.1.0/16"] } }), "'/policies/reservedCidrs/0'"),
        (
            json!({ "policies": { "reservedCidrs": ["10.0.0.0/33"] } }),
            "'/policies/reservedCidrs/0'",
        ),
        (
            json!({ "policies": { "reservedCidrs": ["10.0.0.0/08"] } }),
            "'/policies/reservedCidrs/0'",
        ),
        (
            json!({ "policies": { "reservedCidrs": ["fd00::/8", "::1::/64"] } }),
            "'/policies/reservedCidrs/1'",
        ),
        (
            json!({ "policies": { "members": { "east": { "cidrs": ["300.0.0.0/8"] } } } }),
            "'/policies/members/east/cidrs/0'",
        ),
        (json!({ "members": [{ "name": "East" }] }), "'/members/0/name'"),
        (json!({ "members": [{ "nam": "east" }] }), "missing property 'name'"),
        (json!({ "memberTokens": "endless" }), "'/memberTokens'"),
        (json!({ "crds": { "enabled": true } }), "additional properties 'enabled'"),
    ] {
        refused("hub-agent", &values, said).await;
    }
}

#[tokio::test]
async fn wrong_values_of_the_member_chart() {
    let right = needed("member-agent");
    for (values, said) in [
        (json!({ "config": { "memberClusterName": "" } }), "config.memberClusterName is not set"),
        (json!({ "config": { "hubURL": "" } }), "config.hubURL is not set"),
        (json!({ "config": { "hubURL": "http://hub" } }), "'/config/hubURL'"),
        (json!({ "config": { "hubCA": "-----BEGIN CERTIFICATE-----" } }), "'/config/hubCA'"),
        (json!({ "config": { "provider": "azure" } }), "'/config/provider'"),
        (json!({ "config": { "provider": "kubeconfig" } }), "the kubeconfig has both"),
        (json!({ "endpointslices": { "mode": "some" } }), "'/endpointslices/mode'"),
        (json!({ "endpointslices": { "maxEndpointsPerSlice": 1001 } }), "maximum: got 1,001"),
        (json!({ "projected": { "expirationSeconds": 60 } }), "'/projected/expirationSeconds'"),
        (json!({ "token": { "lifetime": "1d" } }), "'/token/lifetime'"),
        (json!({ "token": { "audiences": ["a,b"] } }), "'/token/audiences/0'"),
    ] {
        refused("member-agent", &with(right.clone(), &values), said).await;
    }
}

/// One Helm for each case, in turns: both check the same schema.
async fn refused(name: &str, values: &serde_json::Value, said: &str) {
    static CASES: AtomicUsize = AtomicUsize::new(0);
    let helm = &both_helms().await[CASES.fetch_add(1, Ordering::Relaxed) % 2];
    let result = helm.template(&chart(name), ("fleet-system", name), values).await;
    let Err(error) = result else { panic!("{name} takes {values}") };
    let error = format!("{error:#}");
    assert!(error.contains(said), "{name}: {values}: {error}");
}
