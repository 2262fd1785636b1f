//! What an object costs. A binary of its own: it measures the whole process.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use fleet_accumulator::{Object, Tracked, View};
use fleet_api::{ObjectName, ResourceKind, kinds};
use k8s_openapi::api::core::v1::ConfigMap;

/// Ten endpoints as a compact record holds them.
#[derive(Debug, PartialEq)]
struct Slice {
    service: Arc<str>,
    endpoints: Box<[Endpoint]>,
    ports: Box<[(u16, u8)]>,
}

#[derive(Debug, PartialEq)]
struct Endpoint {
    address: [u8; 4],
    flags: u8,
    node: u32,
    zone: u32,
}

impl Tracked for Slice {
    const KIND: ResourceKind = kinds::ENDPOINT_SLICE;
    type Wire = ConfigMap;
    type Index = Arc<str>;

    fn project(_: ConfigMap) -> Result<Self, String> {
        Err("built by hand".to_owned())
    }

    fn index(&self, _: &ObjectName) -> Vec<Arc<str>> {
        vec![Arc::clone(&self.service)]
    }
}

/// Memory of this process that is in use, in bytes.
#[cfg(target_os = "linux")]
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let line = text.lines().find(|line| line.starts_with("Rss:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

#[test]
#[cfg(target_os = "linux")]
fn a_slice_of_ten_endpoints_stays_within_its_budget() {
    const COUNT: usize = 20_000;
    let namespace: Arc<str> = "team".into();
    let services: Vec<Arc<str>> = (0..COUNT / 10).map(|n| format!("service-{n}").into()).collect();
    let before = resident();
    let view = View::of((0..COUNT).map(|number| {
        let endpoints =
            (0..10).map(|at| Endpoint { address: [10, 0, 0, at], flags: 1, node: 7, zone: 1 });
        let slice = Slice {
            service: Arc::clone(&services[number / 10]),
            endpoints: endpoints.collect(),
            ports: Box::new([(80, 0)]),
        };
        let name = ObjectName::new(Arc::clone(&namespace), format!("slice-{number:05}"));
        let uid = format!("00000000-0000-4000-8000-{number:012x}");
        Object::new(name, uid.into(), "123456".into(), slice)
    }));
    let each = resident().saturating_sub(before) / COUNT;
    assert_eq!(view.len(), COUNT);
    println!("{each} bytes per slice with record, map and one index entry");
    // About 290 of these are the content above, the rest is name, version, map and index.
    assert!(each <= 560, "{each} bytes per slice");
}
