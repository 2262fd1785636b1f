//! Events as an API server keeps them.

use std::time::Duration;

use anyhow::{Context, Result};
use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, kinds};
use fleet_plan::{Event, EventType};
use fleet_runtime::clock::Clock;
use fleet_runtime::events::EventSink;
use fleet_runtime::metrics::Metrics;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::wait::wait_until;
use k8s_openapi::api::events::v1::Event as KubeEvent;
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use tokio_util::sync::CancellationToken;

const DEADLINE: Duration = Duration::from_mins(2);

fn event(note: &str) -> Event {
    Event {
        cluster: ClusterId::Hub,
        kind: kinds::SERVICE_EXPORT,
        name: ObjectName::new("default", "shop"),
        uid: "00000000-0000-4000-8000-000000000001".into(),
        event_type: EventType::Warning,
        reason: "Repeated",
        note: note.to_owned(),
    }
}

/// What is repeated is one Event with a series, also where the server has forgotten the Event by then.
pub(super) async fn are_counted_not_repeated(hub: &Cluster) -> Result<()> {
    let count = Metrics::new("conformance", "0")?.events();
    let clients = [(ClusterId::Hub, hub.client())];
    let (sink, task) =
        EventSink::new(clients, "conformance", Clock::system(), count, Duration::ZERO);
    let cancel = CancellationToken::new();
    let task = tokio::spawn(task.run(cancel.clone()));

    for note in ["often", "often", "once", "often"] {
        sink.emit(event(note));
    }
    wait_for_counts(hub, &[("often", Some(3)), ("once", None)]).await?;
    let events: Api<KubeEvent> = Api::namespaced(hub.client(), "default");
    let often = ours(hub).await?.remove(0).metadata.name.context("a name")?;
    events.delete(&often, &DeleteParams::default()).await?;
    sink.emit(event("often"));
    wait_for_counts(hub, &[("often", Some(4)), ("once", None)]).await?;

    cancel.cancel();
    Ok(task.await?)
}

/// The Events of this test, by their notes.
async fn ours(hub: &Cluster) -> Result<Vec<KubeEvent>> {
    let events: Api<KubeEvent> = Api::namespaced(hub.client(), "default");
    let mut events = events.list(&ListParams::default()).await?.items;
    events.retain(|event| event.reporting_controller.as_deref() == Some("conformance"));
    events.sort_by(|one, other| one.note.cmp(&other.note));
    Ok(events)
}

async fn wait_for_counts(hub: &Cluster, wanted: &[(&str, Option<i32>)]) -> Result<()> {
    wait_until(&format!("Events {wanted:?}"), DEADLINE, async || {
        let events = ours(hub).await?;
        let counts = events.iter().map(|event| {
            let series = event.series.as_ref();
            (event.note.as_deref().unwrap_or_default(), series.map(|series| series.count))
        });
        Ok(counts.eq(wanted.iter().copied()))
    })
    .await
}
