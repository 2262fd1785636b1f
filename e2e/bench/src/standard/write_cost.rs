//! What a write of an exported slice costs the hub's API server, and how much of that its admission policies and `managedFields` are:
//! the same writes with them and without, in turns.

use std::time::{Duration, Instant};

use anyhow::Result;
use fleet_api::names::member_namespace;
use fleet_api::{kinds, labels};
use fleet_testbed::fleet::Fleet;
use fleet_testbed::policies;
use serde_json::{Value, json};

use super::importers::{Importers, Played};
use crate::flood::objects;
use crate::hub_account::HubAccount;
use crate::relay::Output;

/// Blocks of each.
const TURNS: usize = 6;
const REST: Duration = Duration::from_secs(2);
const NAMESPACE: &str = "bench-tracked";
pub(super) const SERVICE: &str = "nothing";

/// CPU time per write in milliseconds, and bytes of the object as it is stored.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WriteCost {
    pub(crate) cpu_ms: f64,
    pub(crate) bytes: usize,
}

/// The same write in three ways.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteCosts {
    /// As members write.
    pub(crate) usual: WriteCost,
    /// Without `managedFields`.
    pub(crate) untracked: WriteCost,
    /// Without admission policies.
    pub(crate) unchecked: WriteCost,
}

/// A slice that is written again and again.
pub(super) struct Writer<'a> {
    member: &'a str,
    output: Output,
    /// Its addresses are no other writer's.
    number: u32,
    /// An empty entry in the list: the API server keeps none.
    fields: Option<Value>,
    generation: u32,
    cpu: f64,
}

/// Writes in the three ways, as many of each; each write reaches all of these importers. Leaves the hub with policies.
pub(super) async fn compare(
    fleet: &Fleet,
    played: &[Played],
    hub: &HubAccount,
    writes: usize,
) -> Result<WriteCosts> {
    let member = &played[0].member;
    let play = |name, fields| Writer::new(&played[0], name, fields);
    let mut usual = play(("usual", 0), None);
    let mut untracked = Writer::untracked(&played[0]);
    let mut unchecked = play(("unchecked", 2), None);
    let mut importers = Importers::of_standard(played, SERVICE).await?;
    let each = writes.div_ceil(TURNS);
    for turn in 0..=TURNS {
        // The first turn is the warm-up.
        let count = turn > 0;
        usual.spend(hub, &mut importers, (each, count)).await?;
        untracked.spend(hub, &mut importers, (each, count)).await?;
        policies::remove(fleet.hub(), member).await?;
        unchecked.spend(hub, &mut importers, (each, count)).await?;
        policies::install(fleet.hub(), member).await?;
    }
    let count = f64::from(u32::try_from(each * TURNS)?);
    let found = async |of: &Writer<'_>| {
        anyhow::Ok(WriteCost { cpu_ms: of.cpu / count * 1e3, bytes: of.output.size().await? })
    };
    Ok(WriteCosts {
        usual: found(&usual).await?,
        untracked: found(&untracked).await?,
        unchecked: found(&unchecked).await?,
    })
}

impl<'a> Writer<'a> {
    fn new(played: &'a Played, (name, number): (&str, u32), fields: Option<Value>) -> Self {
        let place = (member_namespace(&played.member), name.to_owned());
        let output = Output::named(played.hub.write.clone(), kinds::ENDPOINT_SLICE_EXPORT, place);
        Self { member: &played.member, output, number, fields, generation: 0, cpu: 0.0 }
    }

    /// As agents write.
    pub(super) fn untracked(played: &'a Played) -> Self {
        Self::new(played, ("untracked", 1), Some(json!([{}])))
    }

    pub(super) async fn write(&mut self) -> Result<()> {
        self.generation += 1;
        let slice = (SERVICE, self.number);
        let mut body = objects::slice(self.member, (NAMESPACE, SERVICE), slice, self.generation);
        body["metadata"]["labels"] = json!({ labels::MULTICLUSTER_NAMESPACE: NAMESPACE });
        if let Some(fields) = &self.fields {
            body["metadata"]["managedFields"] = fields.clone();
        }
        self.output.write(body).await
    }

    /// Writes so often, and counts the CPU time for that, without what the API server needs at rest.
    async fn spend(
        &mut self,
        hub: &HubAccount,
        importers: &mut Importers,
        (writes, counts): (usize, bool),
    ) -> Result<()> {
        let idle = hub.at_rest(REST).await?;
        let (before, begin) = (hub.cpu()?, Instant::now());
        for _ in 0..writes {
            let seen = importers.seen();
            self.write().await?;
            importers.reach_one_more(seen).await?;
        }
        let cpu = hub.cpu()?.saturating_sub(before).as_secs_f64();
        if counts {
            self.cpu += cpu - idle * begin.elapsed().as_secs_f64();
        }
        Ok(())
    }
}
