//! Recordings of fleets that agents have brought to rest in memory.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};
use fleet_api::names::member_namespace;
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleetctl::recorded::{FleetObjects, MemberObjects, Writer};
use fleetctl::what_if::Rehearsal;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// Users' objects of a fleet: each member exports every so many Services, and two others import each.
pub(crate) fn users(members: usize, services: usize) -> FleetObjects {
    let at: Timestamp = "2026-06-01T09:00:00Z".parse().unwrap();
    let mut fleet = FleetObjects::new(at);
    let mut versions = 0;
    let name = |index: usize| format!("member-{:03}", index % members);
    let mut add = |objects: &mut fleetctl::recorded::ClusterObjects,
                   kind: ResourceKind,
                   name: ObjectName,
                   object: Value| {
        versions += 1;
        let mut object = object;
        object["metadata"]["name"] = json!(name.name);
        object["metadata"]["namespace"] = json!(name.namespace);
        object["metadata"]["uid"] = json!(format!("uid-{versions}"));
        object["metadata"]["resourceVersion"] = json!(versions.to_string());
        object["metadata"]["generation"] = json!(1);
        object["metadata"]["creationTimestamp"] = json!("2026-06-01T08:00:00Z");
        objects.insert(kind, name, object.to_string().into());
    };
    let namespaces = ["shop", "team", "data", "pay"];
    for namespace in namespaces.iter().chain(&["kube-system", "fleet-system"]) {
        add(&mut fleet.hub, kinds::NAMESPACE, ObjectName::cluster(*namespace), json!({}));
    }
    for index in 0..members {
        let own = name(index);
        let home = member_namespace(&own);
        add(&mut fleet.hub, kinds::NAMESPACE, ObjectName::cluster(home.as_str()), json!({}));
        let joined = json!([{
            "type": "Joined", "status": "True", "reason": "Joined", "message": "",
            "lastTransitionTime": "2026-06-01T08:00:00Z",
        }]);
        let agents = ["MultiClusterServiceAgent", "ServiceExportImportAgent"].map(|agent| {
            json!({ "type": agent, "lastReceivedHeartbeat": "2026-06-01T08:59:50Z", "conditions": joined })
        });
        let heartbeat = json!({
            "spec": { "state": "Join", "heartbeatPeriodSeconds": 60 }, "status": { "agentStatus": agents },
        });
        let at = ObjectName::new(home, own.as_str());
        add(&mut fleet.hub, kinds::INTERNAL_MEMBER_CLUSTER, at, heartbeat);
        let mut member = MemberObjects {
            context: Some(own.clone()),
            names_served: Some(true),
            ..MemberObjects::default()
        };
        for namespace in namespaces.iter().chain(&["kube-system", "fleet-system"]) {
            add(&mut member.objects, kinds::NAMESPACE, ObjectName::cluster(*namespace), json!({}));
        }
        fleet.members.insert(own, member);
    }
    for index in 0..services {
        let service =
            ObjectName::new(namespaces[index % namespaces.len()], format!("web-{index:04}"));
        for (offset, endpoints) in
            [(0, 3), (5, 2)].into_iter().take(if index % 3 == 0 { 2 } else { 1 })
        {
            let own = &mut fleet.members.get_mut(&name(index + offset)).unwrap().objects;
            let ports =
                json!([{ "name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080 }]);
            let spec =
                json!({ "spec": { "type": "ClusterIP", "clusterIP": "10.0.0.1", "ports": ports } });
            add(own, kinds::SERVICE, service.clone(), spec);
            add(own, kinds::SERVICE_EXPORT, service.clone(), json!({}));
            let endpoints: Vec<_> = (0..endpoints)
                .map(|at| json!({ "addresses": [format!("10.{}.{}.{}", 1 + offset, index / 60, index % 60 * 4 + at + 1)] }))
                .collect();
            let slice = json!({
                "metadata": { "labels": { "kubernetes.io/service-name": service.name } },
                "addressType": "IPv4", "endpoints": endpoints,
                "ports": [{ "name": "http", "protocol": "TCP", "port": 8080 }],
            });
            let slice_name =
                ObjectName::new(service.namespace.clone(), format!("{}-1", service.name));
            add(own, kinds::ENDPOINT_SLICE, slice_name, slice);
        }
        for offset in [1, 2] {
            let own = &mut fleet.members.get_mut(&name(index + offset)).unwrap().objects;
            let wanted = json!({ "spec": { "serviceImport": { "name": service.name } } });
            add(own, kinds::MULTI_CLUSTER_SERVICE, service.clone(), wanted);
        }
    }
    fleet
}

/// Records the fleet at rest, and once more after one member's endpoints are gone.
pub(crate) fn record(folder: &Path, members: usize, services: usize) -> Result<PathBuf> {
    let path = folder.join(format!("fleet-{members}-{services}.jsonl"));
    let mut writer = Writer::create(&path)?;
    let mut agents = Rehearsal::new(&users(members, services));
    agents.run(Duration::from_secs(1));
    let mut fleet = agents.objects();
    ensure!(writer.add(&fleet)?, "the first frame fits");
    let first = fleet.members.values_mut().next().unwrap();
    let slices = first.objects.kinds.get_mut(&kinds::ENDPOINT_SLICE).unwrap();
    slices.objects.retain(|name, _| *name.namespace == *"fleet-system");
    fleet.at = fleet.at.checked_add(SignedDuration::from_secs(60))?;
    let mut agents = Rehearsal::new(&fleet);
    agents.run(Duration::from_secs(1));
    ensure!(writer.add(&agents.objects())?, "the second frame fits");
    Ok(path)
}
