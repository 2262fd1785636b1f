//! What all clusters have at one moment, and what has become of it later.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use fleet_api::traffic::DrainReason;
use fleet_api::{ObjectName, ResourceKind, annotations, kinds};
use fleetctl::recorded::{ClusterObjects, FleetObjects};
use serde::Deserialize;
use serde_json::{Value, json};

/// What servers fill in, and what shows the time.
const INCIDENTAL: [&str; 9] = [
    "resourceVersion",
    "generation",
    "observedGeneration",
    "uid",
    "creationTimestamp",
    "managedFields",
    "lastTransitionTime",
    "lastReceivedHeartbeat",
    "serial",
];

/// An object that is another one afterwards, as `fleetctl what-if` prints it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(super) struct Change {
    cluster: String,
    verb: String,
    kind: String,
    name: String,
}

/// Cluster, label of the kind and name.
type Key = (String, String, String);

/// What decides, in all clusters.
#[derive(Debug, Default)]
pub(super) struct Moment(BTreeMap<Key, Value>);

impl Moment {
    pub(super) fn of(fleet: &FleetObjects) -> Self {
        let mut moment = Self::default();
        moment.add("hub", &fleet.hub);
        for (name, member) in &fleet.members {
            moment.add(name, &member.objects);
        }
        moment
    }

    fn add(&mut self, cluster: &str, objects: &ClusterObjects) {
        for (kind, of_kind) in &objects.kinds {
            let all = of_kind.objects.iter().filter(|_| *kind != kinds::LEASE);
            for (name, text) in all {
                let content = content(*kind, serde_json::from_str(text).unwrap_or_default());
                self.0.insert(key(cluster, *kind, name), content);
            }
        }
    }

    /// What differs later.
    pub(super) fn changes_to(&self, later: &Self) -> BTreeSet<Change> {
        let change = |verb: &str, (cluster, kind, name): &Key| Change {
            cluster: cluster.clone(),
            verb: verb.to_owned(),
            kind: kind.clone(),
            name: name.clone(),
        };
        let gone = self.0.keys().filter(|key| !later.0.contains_key(*key));
        let gone = gone.map(|key| change("delete", key));
        let there = later.0.iter().filter_map(|(key, object)| match self.0.get(key) {
            None => Some(change("create", key)),
            Some(before) if before != object => Some(change("update", key)),
            Some(_) => None,
        });
        gone.chain(there).collect()
    }

    /// Members with a drain that is about to go on.
    pub(super) fn drains_under_way(&self) -> Vec<&str> {
        let reasons = [DrainReason::Draining, DrainReason::Returning].map(DrainReason::as_str);
        let goes_on =
            |drain: &Value| drain["reason"].as_str().is_some_and(|it| reasons.contains(&it));
        let all = self.0.iter().filter(|((_, kind, _), _)| *kind == kinds::MEMBER_TRAFFIC.label());
        let under_way = all.filter(|(_, member)| {
            member["status"]["drains"].as_array().is_some_and(|drains| drains.iter().any(goes_on))
        });
        under_way.map(|((_, _, name), _)| name.as_str()).collect()
    }

    /// An object before and after, for messages.
    pub(super) fn contents(&self, change: &Change, later: &Self) -> String {
        let key = (change.cluster.clone(), change.kind.clone(), change.name.clone());
        let of = |moment: &Self| moment.0.get(&key).map(Value::to_string).unwrap_or_default();
        format!("{change:?}\n  before: {}\n  after:  {}", of(self), of(later))
    }

    /// Whether importers have the endpoints that were foreseen, ready ones and others.
    pub(super) fn has_traffic(&self, foreseen: &Value) -> Result<()> {
        for row in foreseen.as_array().into_iter().flatten() {
            let importer = row["importer"].as_str().unwrap_or_default();
            let service = row["service"].as_str().unwrap_or_default();
            let shares = row["after"].as_array().into_iter().flatten();
            let wanted: BTreeMap<String, (u64, u64)> = shares
                .map(|share| {
                    let number = |field: &str| share[field].as_u64().unwrap_or_default();
                    let member = share["member"].as_str().unwrap_or_default().to_owned();
                    (member, (number("ready"), number("lastResort")))
                })
                .collect();
            let found = self.endpoints(importer, service);
            ensure!(found == wanted, "{service} in {importer}: {found:?}, not {wanted:?}");
        }
        Ok(())
    }

    /// Endpoints of a Service in an importer, ready ones and others, by their cluster.
    fn endpoints(&self, importer: &str, service: &str) -> BTreeMap<String, (u64, u64)> {
        let mut found: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        let slices = self.0.iter().filter(|((cluster, kind, _), _)| {
            *cluster == importer && *kind == kinds::ENDPOINT_SLICE.label()
        });
        for (_, slice) in slices {
            let marks = &slice["metadata"]["annotations"];
            let Some(origin) = marks[annotations::ORIGIN_CLUSTER].as_str() else { continue };
            if marks[annotations::FLEET_SERVICE] != service {
                continue;
            }
            let of_cluster = found.entry(origin.to_owned()).or_default();
            for endpoint in slice["endpoints"].as_array().into_iter().flatten() {
                if endpoint["conditions"]["ready"] == false {
                    of_cluster.1 += 1;
                } else {
                    of_cluster.0 += 1;
                }
            }
        }
        found
    }
}

fn key(cluster: &str, kind: ResourceKind, name: &ObjectName) -> Key {
    (cluster.to_owned(), kind.label().to_owned(), name.to_string())
}

fn content(kind: ResourceKind, mut object: Value) -> Value {
    // What agents report of a policy decides nothing.
    if kind == kinds::SERVICE_TRAFFIC {
        object["status"] = json!(null);
    }
    decisive(&object)
}

fn decisive(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| !INCIDENTAL.contains(&name.as_str()));
            Value::Object(kept.map(|(name, value)| (name.clone(), decisive(value))).collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(decisive).collect()),
        other => other.clone(),
    }
}
