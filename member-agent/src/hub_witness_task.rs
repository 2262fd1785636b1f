//! Asks the hub which one it is, while that is in doubt. [`Witness`] judges; this is the loop around it.

use std::time::Duration;

use fleet_accumulator::one_line;
use fleet_api::kinds;
use fleet_runtime::agent::Connected;
use fleet_runtime::clients::ClientSet;
use fleet_runtime::clock::BootClock;
use http::header::CONNECTION;
use kube::Client;
use serde::Deserialize;
use tokio::time::MissedTickBehavior;

use crate::Identity;
use crate::fence::record_name;
use crate::hub_witness::{Answer, Witness};
use crate::other_hub;
use crate::snapshot::MemberSnapshot;
use crate::traffic_memory::TrafficMemory;

/// Time between two looks whether something is in doubt.
const LOOK: Duration = Duration::from_secs(1);
/// Time between two rounds of questions. All members ask at once while the hub is being rebuilt.
const PAUSE: Duration = Duration::from_secs(10);
/// Questions of one round: two connections that are made one after the other are spread over two hubs most likely.
const QUESTIONS: usize = 2;
/// How long an answer may take.
const WITHIN: Duration = Duration::from_secs(5);

/// The part of a list of reports that matters.
#[derive(Deserialize)]
struct Reports {
    metadata: Versioned,
    #[serde(default)]
    items: Vec<Report>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Versioned {
    resource_version: String,
}

#[derive(Deserialize)]
struct Report {
    metadata: Named,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    uid: String,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    incarnation: String,
}

/// Asks as long as the agent runs.
pub(crate) fn start(
    agent: &mut Connected<MemberSnapshot>,
    identity: &Identity,
    memory: &TrafficMemory,
    hub: &ClientSet,
) {
    let (accumulator, identity) = (agent.accumulator().clone(), identity.clone());
    let (memory, client) = (memory.clone(), hub.fresh.clone());
    agent.task("hub witness", |_, cancel| async move {
        let (mut witness, clock) = (Witness::default(), BootClock::system());
        let mut looks = tokio::time::interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut next = Duration::ZERO;
        while cancel.run_until_cancelled(looks.tick()).await.is_some() {
            let now = clock.now();
            let is_in_doubt = witness.is_doubtful(now)
                || witness.is_inconsistent()
                || other_hub::is_in_doubt(&accumulator.snapshot());
            if now < next || !is_in_doubt {
                continue;
            }
            next = now + PAUSE;
            for _ in 0..QUESTIONS {
                let asked = tokio::time::timeout(WITHIN, ask(&client, &identity));
                let Some(answer) = cancel.run_until_cancelled(asked).await else { return };
                match answer {
                    Ok(Ok(answer)) => witness.observe(answer, clock.now()),
                    Ok(Err(error)) => {
                        if is_refusal(&error) {
                            witness.observe_refusal();
                        }
                        tracing::debug!(error = %one_line(&error), "Cannot ask the hub which one it is");
                    }
                    Err(_) => tracing::debug!("The hub does not answer which one it is"),
                }
            }
            memory.witness(witness.is_inconsistent());
        }
    });
}

/// Whether the hub does not serve the kind, or forbids it.
fn is_refusal(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 403 | 404))
}

/// Asks on a connection of its own, which ends with the answer.
async fn ask(client: &Client, identity: &Identity) -> Result<Answer, kube::Error> {
    let kind = kinds::CLUSTER_REPORT;
    let name = record_name(identity);
    let path = format!(
        "/apis/{}/{}/namespaces/{}/{}?limit=1&fieldSelector=metadata.name%3D{}",
        kind.group, kind.version, name.namespace, kind.plural, name.name
    );
    let request = http::Request::get(path).header(CONNECTION, "close").body(Vec::new());
    let request = request.map_err(|error| kube::Error::Service(error.into()))?;
    let reports: Reports = client.request(request).await?;
    let report = reports.items.into_iter().find(|report| *report.metadata.name == *name.name);
    Ok(Answer {
        hub: report.map(|report| format!("{} {}", report.metadata.uid, report.status.incarnation)),
        // Versions that are no numbers are not comparable.
        version: reports.metadata.resource_version.parse().unwrap_or_default(),
    })
}
