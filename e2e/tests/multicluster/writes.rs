//! How many API writes a change costs, from the audit logs.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fleet_testbed::audit::{Write, WriteMeter};
use fleet_testbed::fleet::Fleet;

use crate::DEADLINE;

/// Longer than the half second after which "waiting" is written.
const QUIET: Duration = Duration::from_millis(1200);
/// What takes longer than this may report "waiting" to users meanwhile, which are further writes of a status.
const PROMPT: Duration = Duration::from_millis(400);

/// The writes of one change.
pub(crate) struct Count {
    meter: WriteMeter,
    what: &'static str,
    begin: Instant,
}

impl Count {
    /// Starts when nothing is being written.
    pub(crate) async fn start(fleet: &Fleet, what: &'static str) -> Result<Self> {
        let mut meter = WriteMeter::start(fleet)?;
        meter.wait_quiet(QUIET, DEADLINE).await.context(what)?;
        meter.take()?;
        Ok(Self { meter, what, begin: Instant::now() })
    }

    /// The change has arrived: an error unless it took so many writes on the hub and so many in all members, none of them
    /// refused.
    pub(crate) async fn expect(self, hub: usize, members: usize) -> Result<()> {
        let what = self.what;
        let writes = self.writes().await?;
        let writes: Vec<_> = writes.into_iter().filter(|(_, write)| !is_early(write)).collect();
        let refused = writes.iter().find(|(_, write)| !(200..300).contains(&write.code));
        ensure!(refused.is_none(), "{what}: {refused:?}");
        let on_hub = writes.iter().filter(|(cluster, _)| cluster == "hub").count();
        let found = (on_hub, writes.len() - on_hub);
        ensure!(
            found == (hub, members),
            "{what}: {hub} writes on the hub and {members} in members expected, not {found:?}\n{}",
            lines(&writes)
        );
        Ok(())
    }

    /// The writes, when nothing more is written.
    pub(crate) async fn writes(mut self) -> Result<Vec<(String, Write)>> {
        let prompt = self.begin.elapsed() < PROMPT;
        self.meter.wait_quiet(QUIET, DEADLINE).await.context(self.what)?;
        let mut seen = BTreeSet::new();
        let mut first = |(cluster, write): &(String, Write)| {
            let is_status = write.resource.ends_with("/status");
            prompt
                || !is_status
                || seen.insert((cluster.clone(), write.resource.clone(), write.object.clone()))
        };
        Ok(self.meter.writes().iter().filter(|write| first(write)).cloned().collect())
    }
}

/// Whether a Service was to have the address of one that has just been deleted, which the API server frees a moment later.
fn is_early(write: &Write) -> bool {
    (&*write.verb, &*write.resource, write.code) == ("create", "services", 422)
}

/// A line for each write.
pub(crate) fn lines(writes: &[(String, Write)]) -> String {
    let line = |(cluster, write): &(String, Write)| {
        format!("{cluster}: {} {} {} {}", write.code, write.verb, write.resource, write.object)
    };
    writes.iter().map(line).collect::<Vec<_>>().join("\n")
}
