//! A Service `foo` in `test`, pods behind it, and an API server's view of its slices.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use crate::{Config, Input, Measures, NodeView, Outcome, Pods, TopologyCache, reconcile};

/// Everything a reconcile looks at, with the slices as the API server holds them.
pub(crate) struct World {
    pub(crate) service: Service,
    pub(crate) pods: Vec<Pod>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) slices: Vec<EndpointSlice>,
    pub(crate) config: Config,
    pub(crate) topology: Option<TopologyCache>,
    pub(crate) trigger_time: Option<Timestamp>,
    made: usize,
}

/// How many creates, updates and deletes.
pub(crate) type Counts = (usize, usize, usize);

/// An object from its JSON.
pub(crate) fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// The Service of the tests: one port, IPv4, no cluster IP.
pub(crate) fn service() -> Service {
    object(json!({
        "metadata": {"name": "foo", "namespace": "test", "uid": "service-uid",
            "creationTimestamp": "2024-01-01T00:00:00Z"},
        "spec": {"ports": [{"name": "foo", "protocol": "TCP", "port": 80, "targetPort": 80}],
            "selector": {"foo": "bar"}, "ipFamilies": ["IPv4"]},
    }))
}

/// Changes a Service through its JSON, by pointer.
pub(crate) fn with(service: &Service, path: &str, value: Value) -> Service {
    object(set(serde_json::to_value(service).unwrap(), path, value))
}

fn set(mut object: Value, path: &str, value: Value) -> Value {
    let (parent, key) = path.rsplit_once('/').unwrap();
    let mut at = &mut object;
    for part in parent.split('/').skip(1) {
        at = match at {
            Value::Array(items) => &mut items[part.parse::<usize>().unwrap()],
            other => {
                if other[part].is_null() {
                    other[part] = json!({});
                }
                &mut other[part]
            }
        };
    }
    at[key.replace("~1", "/")] = value;
    object
}

/// Pod number `n` on `node-1`, with one IPv4 address; ready or not.
pub(crate) fn pod(n: usize, ready: bool) -> Pod {
    pod_on(n, "node-1", ready)
}

/// Pod number `n` on a node.
pub(crate) fn pod_on(n: usize, node: &str, ready: bool) -> Pod {
    let ip = format!("10.{}.{}.{}", n / 60000, (n / 200) % 200, 1 + n % 200);
    object(json!({
        "metadata": {"name": format!("pod{n}"), "namespace": "test", "uid": format!("uid{n}"),
            "labels": {"foo": "bar"}},
        "spec": {"nodeName": node, "containers": [{"name": "main"}]},
        "status": {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}],
            "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}]},
    }))
}

/// A ready node of one CPU in a zone, or in none.
pub(crate) fn node(name: &str, zone: Option<&str>, cpu: &str) -> Node {
    let mut labels = json!({});
    if let Some(zone) = zone {
        labels["topology.kubernetes.io/zone"] = json!(zone);
    }
    object(json!({
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"cpu": cpu}, "conditions": [{"type": "Ready", "status": "True"}]},
    }))
}

/// `count` pods, every third of which is not ready.
pub(crate) fn pods(count: usize) -> Vec<Pod> {
    (0..count).map(|n| pod(n, n % 3 != 0)).collect()
}

impl World {
    pub(crate) fn new(service: Service, pods: Vec<Pod>) -> Self {
        Self {
            service,
            pods,
            nodes: vec![node("node-1", Some("us-central1-a"), "1")],
            slices: Vec::new(),
            config: Config::pods(),
            topology: None,
            trigger_time: None,
            made: 0,
        }
    }

    /// Adds owned slices that hold these pods as they are now, without writing.
    pub(crate) fn given(mut self, parts: &[&[Pod]]) -> Self {
        let pods = std::mem::take(&mut self.pods);
        for part in parts {
            self.pods = part.to_vec();
            let limit = std::mem::replace(&mut self.config.limit, 1000);
            let others = std::mem::take(&mut self.slices);
            self.run(|_| ());
            self.slices.splice(0..0, others);
            self.config.limit = limit;
        }
        self.pods = pods;
        self
    }

    /// Reconciles, lets `look` see the outcome, and writes it.
    pub(crate) fn run<T>(&mut self, look: impl FnOnce(&Outcome<'_>) -> T) -> T {
        let pods: Vec<&Pod> = self.pods.iter().collect();
        let nodes: BTreeMap<&str, NodeView<'_>> = self
            .nodes
            .iter()
            .map(|node| (node.metadata.name.as_deref().unwrap(), NodeView::of(node)))
            .collect();
        let source = Pods { pods: &pods, node: &|name| nodes.get(name).copied(), addresses: None };
        let before = self.slices.clone();
        let existing: Vec<&EndpointSlice> = before.iter().collect();
        let key = "test/foo";
        let outcome = reconcile(&Input {
            service: &self.service,
            source: &source,
            existing: &existing,
            trigger_time: self.trigger_time,
            topology: self.topology.as_ref().map(|topology| topology.overview(key)),
            config: &self.config,
        });
        write(&mut self.slices, &mut self.made, &outcome);
        let seen = look(&outcome);
        let hints = outcome.hints;
        if let Some(topology) = &mut self.topology {
            topology.set_hints(key, hints);
        }
        seen
    }

    /// Reconciles and counts the writes.
    pub(crate) fn counts(&mut self) -> Counts {
        self.run(counts)
    }

    /// Sizes of the slices, largest first.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        let mut sizes: Vec<usize> = self.slices.iter().map(|slice| slice.endpoints.len()).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        sizes
    }

    /// What the last reconcile measured, from a reconcile that sees everything anew.
    pub(crate) fn measured(&mut self) -> (Vec<Measures>, Counts) {
        self.run(|outcome| {
            let measures = outcome.changes.iter().map(|changes| changes.measures.clone());
            (measures.collect(), counts(outcome))
        })
    }

    /// The only slice.
    pub(crate) fn only(&self) -> &EndpointSlice {
        assert_eq!(self.slices.len(), 1);
        &self.slices[0]
    }
}

/// How many writes an outcome has.
pub(crate) fn counts(outcome: &Outcome<'_>) -> Counts {
    let sum = |of: fn(&crate::Changes<'_>) -> usize| outcome.changes.iter().map(of).sum::<usize>();
    (
        sum(|changes| changes.creates.len()),
        sum(|changes| changes.updates.len()),
        sum(|changes| changes.deletes.len()) + outcome.unsupported.len(),
    )
}

fn write(slices: &mut Vec<EndpointSlice>, made: &mut usize, outcome: &Outcome<'_>) {
    let doomed =
        outcome.changes.iter().flat_map(|changes| &changes.deletes).chain(&outcome.unsupported);
    for slice in doomed {
        slices.retain(|known| known.metadata.name != slice.metadata.name);
    }
    for changes in &outcome.changes {
        for update in &changes.updates {
            let at =
                slices.iter().position(|known| known.metadata.name == update.slice.metadata.name);
            let stored = &mut slices[at.unwrap()];
            assert_eq!(update.slice.metadata.uid, stored.metadata.uid, "conditional");
            *stored = update.slice.clone();
            *stored.metadata.generation.get_or_insert_default() += 1;
        }
        for create in &changes.creates {
            *made += 1;
            let mut slice = create.clone();
            slice.metadata.name =
                Some(format!("{}{made:03}", create.metadata.generate_name.as_ref().unwrap()));
            slice.metadata.uid = Some(format!("uid-{made}"));
            slice.metadata.generation = Some(1);
            slices.push(slice);
        }
    }
    for slice in slices {
        // Empty lists come back absent.
        slice.ports = slice.ports.take().filter(|ports| !ports.is_empty());
    }
}
