//! Cost of reconciling one Service: after no change, of one endpoint, of all endpoints, of the port. Pods are kept as an
//! agent keeps them: with only the fields that endpoints need.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use fleet_endpointslice::{Config, Input, NodeView, Outcome, PodView, Pods, reconcile};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

/// Numbers of endpoints. The large ones are for measuring only, not for test runs.
fn sizes() -> &'static [usize] {
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    if has("--bench") && !has("--test") { &[10, 1_000, 10_000, 100_000] } else { &[10] }
}

fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("it is of that kind")
}

fn service(port: u16) -> Service {
    object(json!({
        "metadata": { "namespace": "team", "name": "web", "uid": "web-uid" },
        "spec": {
            "selector": { "app": "web" },
            "ipFamilies": ["IPv4"],
            "ports": [{ "name": "http", "protocol": "TCP", "port": 80, "targetPort": port }],
        },
    }))
}

#[derive(Clone)]
struct Pod {
    name: String,
    uid: String,
    ip: String,
    node: String,
    ready: bool,
}

fn pod(number: usize, ready: bool) -> Pod {
    Pod {
        name: format!("web-{number}"),
        uid: format!("0b5f0d2c-1111-4222-8333-{number:012}"),
        ip: format!("10.{}.{}.{}", number / 65_536, number / 256 % 256, number % 256),
        node: format!("node-{}", number % 100),
        ready,
    }
}

impl PodView for Pod {
    fn namespace(&self) -> &'static str {
        "team"
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn uid(&self) -> &str {
        &self.uid
    }

    fn is_terminating(&self) -> bool {
        false
    }

    fn is_finished(&self) -> bool {
        false
    }

    fn is_ready(&self) -> bool {
        self.ready
    }

    fn has_address(&self) -> bool {
        true
    }

    fn addresses(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.ip.as_str())
    }

    fn node_name(&self) -> Option<&str> {
        Some(&self.node)
    }

    fn host(&self) -> (Option<&str>, Option<&str>) {
        (None, None)
    }

    fn named_port(&self, _: &str, _: &str) -> Option<i32> {
        None
    }
}

/// Calls `then` with the missing writes.
fn run(service: &Service, pods: &[Pod], slices: &[EndpointSlice], then: impl FnOnce(Outcome<'_>)) {
    let pods: Vec<&Pod> = pods.iter().collect();
    let existing: Vec<&EndpointSlice> = slices.iter().collect();
    let node = |_: &str| Some(NodeView { zone: Some("zone-a") });
    let source = Pods { pods: &pods, node: &node, addresses: None };
    let config = Config::pods();
    then(reconcile(&Input {
        service,
        source: &source,
        existing: &existing,
        trigger_time: None,
        topology: None,
        config: &config,
    }));
}

/// The slices as an API server would hold them.
fn stored(service: &Service, pods: &[Pod]) -> Vec<EndpointSlice> {
    let mut slices = Vec::new();
    run(service, pods, &[], |outcome| {
        slices.extend(outcome.changes.into_iter().flat_map(|changes| changes.creates));
    });
    for (number, slice) in slices.iter_mut().enumerate() {
        slice.metadata.name = Some(format!("web-{number}"));
        slice.metadata.uid = Some(format!("slice-{number}"));
        slice.metadata.resource_version = Some("1".to_owned());
    }
    slices
}

fn writes(outcome: &Outcome<'_>) -> usize {
    let of = outcome.changes.iter();
    of.map(|one| one.creates.len() + one.updates.len() + one.deletes.len()).sum()
}

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reconcile");
    for &size in sizes() {
        let before: Vec<Pod> = (0..size).map(|number| pod(number, true)).collect();
        let mut one = before.clone();
        one[size / 2] = pod(size / 2, false);
        let all: Vec<Pod> = (0..size).map(|number| pod(number, false)).collect();
        let slices = stored(&service(8080), &before);
        let count = slices.len();
        for (what, port, pods, expected) in [
            ("no change", 8080, &before, 0),
            ("one endpoint", 8080, &one, 1),
            ("all endpoints", 8080, &all, count),
            ("port", 9090, &before, count),
        ] {
            let service = service(port);
            run(&service, pods, &slices, |outcome| {
                assert_eq!(writes(&outcome), expected, "{what}");
            });
            let used = allocation_counter::measure(|| {
                run(&service, pods, &slices, |outcome| drop(black_box(outcome)));
            });
            let (allocations, bytes) = (used.count_total, used.bytes_total);
            eprintln!("reconcile/{what}/{size}: {allocations} allocations, {bytes} bytes");
            group.bench_function(BenchmarkId::new(what, size), |bencher| {
                bencher.iter(|| run(&service, pods, &slices, |outcome| drop(black_box(outcome))));
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = all; config = Criterion::default().without_plots().sample_size(20); targets = benches
}
criterion_main!(all);
