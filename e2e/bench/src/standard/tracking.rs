//! What it costs the hub's API server to keep `managedFields` of exported slices: the same writes with them and without, in
//! turns.

use std::time::{Duration, Instant};

use anyhow::Result;
use fleet_api::names::member_namespace;
use fleet_api::{kinds, labels};
use serde_json::{Value, json};

use super::importers::{Importers, Played};
use crate::flood::objects;
use crate::hub_account::HubAccount;
use crate::relay::Output;

/// Blocks of each.
const TURNS: usize = 6;
const REST: Duration = Duration::from_secs(2);
const NAMESPACE: &str = "bench-tracked";
const SERVICE: &str = "nothing";

/// CPU time per write in milliseconds, and bytes of the object as it is stored.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tracking {
    pub(crate) cpu_ms: f64,
    pub(crate) bytes: usize,
}

/// A slice that is written again and again.
struct Writer<'a> {
    member: &'a str,
    output: Output,
    /// An empty entry in the list: the API server keeps none.
    fields: Option<Value>,
    generation: u32,
    cpu: f64,
}

/// With `managedFields`, and without; each write reaches all of these importers.
pub(super) async fn compare(
    played: &[Played],
    hub: &HubAccount,
    writes: usize,
) -> Result<[Tracking; 2]> {
    let mut courses = [None, Some(json!([{}]))].map(|fields| Writer::new(&played[0], fields));
    let mut importers = Importers::of_standard(played, SERVICE).await?;
    let each = writes.div_ceil(TURNS);
    for turn in 0..=TURNS {
        for course in &mut courses {
            let cpu = course.spend(hub, &mut importers, each).await?;
            // The first turn is the warm-up.
            course.cpu += if turn > 0 { cpu } else { 0.0 };
        }
    }
    let count = f64::from(u32::try_from(each * TURNS)?);
    let mut found = [Tracking::default(); 2];
    for (found, course) in found.iter_mut().zip(&courses) {
        *found = Tracking { cpu_ms: course.cpu / count * 1e3, bytes: course.output.size().await? };
    }
    Ok(found)
}

impl<'a> Writer<'a> {
    fn new(played: &'a Played, fields: Option<Value>) -> Self {
        let name = if fields.is_none() { "tracked" } else { "untracked" };
        let place = (member_namespace(&played.member), name.to_owned());
        let output = Output::named(played.hub.write.clone(), kinds::ENDPOINT_SLICE_EXPORT, place);
        Self { member: &played.member, output, fields, generation: 0, cpu: 0.0 }
    }

    async fn write(&mut self) -> Result<()> {
        self.generation += 1;
        let slice = (SERVICE, u32::from(self.fields.is_some()));
        let mut body = objects::slice(self.member, (NAMESPACE, SERVICE), slice, self.generation);
        body["metadata"]["labels"] = json!({ labels::MULTICLUSTER_NAMESPACE: NAMESPACE });
        if let Some(fields) = &self.fields {
            body["metadata"]["managedFields"] = fields.clone();
        }
        self.output.write(body).await
    }

    /// CPU time of so many writes in seconds, without what the API server needs at rest.
    async fn spend(
        &mut self,
        hub: &HubAccount,
        importers: &mut Importers,
        writes: usize,
    ) -> Result<f64> {
        let idle = hub.at_rest(REST).await?;
        let (before, begin) = (hub.cpu()?, Instant::now());
        for _ in 0..writes {
            let seen = importers.seen();
            self.write().await?;
            importers.reach_one_more(seen).await?;
        }
        let cpu = hub.cpu()?.saturating_sub(before).as_secs_f64();
        Ok(cpu - idle * begin.elapsed().as_secs_f64())
    }
}
