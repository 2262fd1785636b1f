//! Samples of the latency histogram (docs/design/contract.md#latency-samples, M1 to M7).

use fleet_api::{annotations, kinds};
use fleet_model_server::execute;
use fleet_runtime::engine::Recorder as _;
use prometheus::{Registry, TextEncoder};
use serde_json::{Value, json};

use super::{World, copy, imported, shop};
use crate::metrics::ImportMetrics;

/// A member whose agent measures, and what it has measured since its start.
struct Measuring {
    world: World,
    metrics: ImportMetrics,
    registry: Registry,
}

impl Measuring {
    /// At rest, with an import that an earlier process has settled.
    fn new() -> Self {
        Self::of(World::importing())
    }

    fn of(world: World) -> Self {
        let registry = Registry::new();
        let metrics = ImportMetrics::register(&registry, "b").unwrap();
        Self { world, metrics, registry }
    }

    /// The process ends and another begins.
    fn restart(self) -> Self {
        Self::of(self.world)
    }

    fn settle(&mut self) {
        let world = &mut self.world;
        while !world.plan().steps.is_empty() {
            let plan = world.plan();
            let refused = execute(&plan, &mut [&mut world.own, &mut world.hub]);
            assert_eq!(refused, []);
            for measured in &plan.measurements {
                self.metrics.record(&(), &measured.what, world.own.now());
            }
        }
    }

    /// The exporter changed its endpoints at `since`.
    fn change(&mut self, generation: i64, since: &Value) {
        self.world.change_copy(|copy| {
            let address = format!("10.1.0.{generation}");
            copy["spec"]["endpoints"] = json!([{ "addresses": [address] }]);
            let reference = &mut copy["spec"]["endpointSliceReference"];
            reference["generation"] = json!(generation);
            reference["exportedSince"] = since.clone();
        });
        self.settle();
    }

    /// Number and sum of the samples: those that are first ones, and the others.
    fn counted(&self) -> [(u64, f64); 2] {
        let mut text = String::new();
        TextEncoder::new().encode_utf8(&self.registry.gather(), &mut text).unwrap();
        ["true", "false"].map(|first| {
            let of = |suffix: &str| {
                let mut lines = text.lines().filter(|line| {
                    line.contains(&format!("milliseconds_{suffix}{{"))
                        && line.contains(&format!("is_first_import=\"{first}\""))
                });
                let value = lines.next().and_then(|line| line.rsplit(' ').next());
                assert!(lines.next().is_none(), "more than one origin and destination");
                value.map_or(0.0, |value| value.parse::<f64>().unwrap())
            };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
            (of("count") as u64, of("sum"))
        })
    }

    fn mark(&self) -> &Value {
        let slice = self.world.slice().expect("imported");
        &slice["metadata"]["annotations"][annotations::LAST_OBSERVED_GENERATION]
    }
}

/// Two seconds before the model's clock begins.
fn lately() -> Value {
    json!("2025-12-31T23:59:58Z")
}

/// No export time, no sample; skew counts as a second, and all that is too
/// long as the cap.
#[test]
fn durations_are_counted_within_bounds() {
    let nothing = (0, 0.0);
    for (since, counted) in [
        (Value::Null, nothing),
        (lately(), (1, 2000.0)),
        (json!("2026-01-01T00:00:00Z"), (1, 1000.0)),
        (json!("2026-01-01T01:00:00Z"), (1, 1000.0)),
        (json!("2025-01-01T00:00:00Z"), (1, 100_000.0)),
    ] {
        let mut agent = Measuring::new();
        agent.change(2, &since);
        assert_eq!(agent.counted(), [nothing, counted], "{since}");
        assert_eq!(agent.mark(), "2", "the mark goes with the endpoints");
    }
}

/// M1, M2: a generation is counted once its endpoints are written, and once only.
#[test]
fn each_generation_is_counted_once() {
    let mut agent = Measuring::new();
    for generation in [2, 3, 7] {
        agent.change(generation, &lately());
        agent.change(generation, &lately());
    }
    assert_eq!(agent.counted(), [(0, 0.0), (3, 6000.0)]);
    // The same generation written again, because a user changed the slice.
    let empty = |slice: &mut Value| slice["endpoints"] = json!([]);
    agent.world.edit(kinds::ENDPOINT_SLICE, &imported(), empty);
    agent.settle();
    assert_eq!(agent.counted(), [(0, 0.0), (3, 6000.0)]);
}

/// M4: the first import is flagged, so that late ones can be left out of statistics; a slice that
/// a user deletes is none.
#[test]
fn the_first_import_is_flagged_once() {
    let mut world = World::waiting();
    world.grant(super::granted());
    world.distribute(&["10.1.0.1"]);
    let mut agent = Measuring::of(world);
    agent.settle();
    assert_eq!(agent.counted(), [(1, 2000.0), (0, 0.0)]);
    agent.world.own.delete(kinds::ENDPOINT_SLICE, &imported()).unwrap();
    agent.settle();
    assert!(agent.world.slice().is_some());
    agent.change(2, &lately());
    assert_eq!(agent.counted(), [(1, 2000.0), (1, 2000.0)]);
}

/// M5: what was settled before this process began is not its to measure.
#[test]
fn a_restart_counts_nothing_again() {
    let mut agent = Measuring::new();
    agent.change(2, &lately());
    let mut agent = agent.restart();
    agent.settle();
    assert_eq!(agent.counted(), [(0, 0.0); 2]);
    agent.change(3, &lately());
    assert_eq!(agent.counted(), [(0, 0.0), (1, 2000.0)]);
}

/// A Go agent notes on the copy what it has counted, and leaves no mark on the slice.
#[test]
fn what_a_go_agent_counted_is_not_counted_twice() {
    let go = |agent: &mut Measuring, with_slice: bool| {
        agent.world.change_copy(|copy| {
            copy["metadata"]["annotations"] = json!({ annotations::LAST_OBSERVED_GENERATION: "1" });
        });
        if with_slice {
            let bare = |slice: &mut Value| slice["metadata"]["annotations"] = json!({});
            agent.world.edit(kinds::ENDPOINT_SLICE, &imported(), bare);
        } else {
            agent.world.own.delete(kinds::ENDPOINT_SLICE, &imported()).unwrap();
        }
    };
    for with_slice in [true, false] {
        let mut agent = Measuring::new();
        go(&mut agent, with_slice);
        agent.settle();
        assert_eq!(agent.counted(), [(0, 0.0); 2]);
        assert_eq!(agent.mark(), "1");
        agent.change(2, &lately());
        assert_eq!(agent.counted(), [(0, 0.0), (1, 2000.0)], "not a first one");
    }

    // A slice that it had not got round to noting: it was there before us, all the same.
    let mut agent = Measuring::new();
    let bare = |slice: &mut Value| slice["metadata"]["annotations"] = json!({});
    agent.world.edit(kinds::ENDPOINT_SLICE, &imported(), bare);
    agent.settle();
    assert_eq!(agent.counted(), [(0, 0.0); 2]);
}

/// M3: the mark only grows, is never beyond the source, and heals.
#[test]
fn the_mark_heals() {
    let mut agent = Measuring::new();
    agent.change(5, &lately());
    let before = agent.counted();
    for mark in [json!("9"), json!("x"), json!("")] {
        agent.world.edit(kinds::ENDPOINT_SLICE, &imported(), |slice| {
            slice["metadata"]["annotations"][annotations::LAST_OBSERVED_GENERATION] = mark.clone();
        });
        agent.settle();
        assert_eq!(agent.mark(), "5", "{mark}");
        assert_eq!(agent.counted(), before, "{mark}");
    }
    // A generation without other endpoints is no reason to write.
    agent.world.change_copy(|copy| {
        copy["spec"]["endpointSliceReference"]["generation"] = json!(6);
    });
    assert!(agent.world.plan().is_empty());
}

/// Another incarnation of a copy is another object to measure.
#[test]
fn a_copy_made_anew_is_a_first_one() {
    let mut world = World::waiting();
    world.grant(super::granted());
    world.distribute(&["10.1.0.1"]);
    let mut agent = Measuring::of(world);
    agent.settle();
    agent.world.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &copy()).unwrap();
    agent.settle();
    agent.world.distribute(&["10.1.0.1"]);
    agent.settle();
    assert_eq!(agent.counted(), [(2, 4000.0), (0, 0.0)]);
    assert_eq!(agent.world.valid(&shop()).0, "True");
}

/// M7: origins are those that the hub has recorded. Whatever a member writes into its exports, it
/// adds no series: there is one for first imports and one for others.
#[test]
fn a_member_adds_no_series_by_what_it_claims() {
    let mut agent = Measuring::new();
    for generation in 2..20 {
        agent.world.change_copy(|copy| {
            copy["metadata"]["annotations"] =
                json!({ annotations::ORIGIN_NAMESPACE: "fleet-member-a" });
            let reference = &mut copy["spec"]["endpointSliceReference"];
            reference["clusterId"] = json!(format!("claim-{generation}"));
            reference["uid"] = json!(format!("uid-{generation}"));
        });
        agent.change(generation, &lately());
    }
    assert_eq!(agent.counted(), [(0, 0.0), (18, 36000.0)]);
    let families = agent.registry.gather();
    let series = families.iter().flat_map(prometheus::proto::MetricFamily::get_metric);
    for labels in series.map(prometheus::proto::Metric::get_label) {
        let value = |name| labels.iter().find(|label| label.name() == name).unwrap().value();
        assert_eq!((value("origin_cluster_id"), value("destination_cluster_id")), ("a", "b"));
        assert_eq!(labels.len(), 3);
    }
}
