use std::time::Duration;

use fleet_traffic::{Observer, SilenceSettings};

/// Longest time between two looks of a process that runs. After a longer one it stood still, and what it has of the hub is old.
const LONGEST_GAP: Duration = Duration::from_secs(5);

/// What this process knows of itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Standpoint {
    looked: Option<Duration>,
    leads_since: Option<Duration>,
    watches_since: Option<Duration>,
}

impl Standpoint {
    /// Takes note of the time. `live` is whether the watches show the present, `leads` whether the API server has acknowledged
    /// the renewals of the own Lease.
    pub(super) fn pass(&mut self, live: bool, leads: bool, now: Duration) {
        let gap = now.saturating_sub(self.looked.replace(now).unwrap_or(now));
        keep(&mut self.watches_since, live && gap <= LONGEST_GAP, now);
        keep(&mut self.leads_since, leads, now);
    }

    /// Whether it leads and its watches show the present.
    pub(super) fn decides(&self) -> bool {
        self.leads_since.is_some() && self.watches_since.is_some()
    }

    pub(super) fn observer(&self, now: Duration) -> Observer {
        Observer {
            leads_since: self.leads_since.unwrap_or(now),
            watches_since: self.watches_since,
            // A process leads only while its renewals are acknowledged.
            renews_since: self.leads_since,
        }
    }

    /// Whether members had the time to renew their Leases in view of this process, so that it may judge.
    pub(super) fn judges(&self, settings: SilenceSettings, now: Duration) -> bool {
        let since = self.leads_since.zip(self.watches_since);
        since.is_some_and(|(leads, watches)| now >= leads.max(watches) + settings.silent_after)
    }
}

fn keep(since: &mut Option<Duration>, holds: bool, now: Duration) {
    *since = holds.then(|| since.unwrap_or(now));
}
