//! When an endpoint address was seen at each station of its way.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// How long a change may be under way before the bench fails.
const DEADLINE: Duration = Duration::from_mins(3);

/// A station of an endpoint change; each is a watch event there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Station {
    /// The user's EndpointSlice.
    Source,
    /// The `EndpointSliceExport` on the hub.
    Export,
    /// The `EndpointSliceImport` on the hub.
    Import,
    /// The imported EndpointSlice.
    Target,
}

/// Number of stations.
pub(super) const STATIONS: usize = 4;

/// When each station was reached; a station that only others than the last one saw late is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Way(pub [Option<Instant>; STATIONS]);

impl Way {
    /// Time from the previous station, or from `begin`, to each.
    pub(super) fn hops(&self, begin: Instant) -> [Option<Duration>; STATIONS] {
        let mut before = Some(begin);
        self.0.map(|reached| {
            let hop = reached.zip(before).map(|(at, before)| at.saturating_duration_since(before));
            before = reached;
            hop
        })
    }

    /// When a station was reached.
    pub(super) fn at(&self, station: Station) -> Option<Instant> {
        self.0[station as usize]
    }
}

/// The addresses that are waited for. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals(Arc<Mutex<HashMap<String, Traveller>>>);

#[derive(Debug)]
struct Traveller {
    way: Way,
    last: Station,
    arrived: oneshot::Sender<Way>,
}

/// The arrival of one address.
#[derive(Debug)]
pub(super) struct Arrival(oneshot::Receiver<Way>);

impl Arrivals {
    /// Waits for an address at `last`. Call it before the address is sent on its way.
    pub(super) fn expect(&self, address: &str, last: Station) -> Arrival {
        let (arrived, arrival) = oneshot::channel();
        let traveller = Traveller { way: Way::default(), last, arrived };
        self.0.lock().insert(address.to_owned(), traveller);
        Arrival(arrival)
    }

    /// An event with these addresses has come from a station now. What is not waited for is ignored.
    pub(super) fn seen<'a>(&self, station: Station, addresses: impl Iterator<Item = &'a str>) {
        let now = Instant::now();
        let mut waiting = self.0.lock();
        if waiting.is_empty() {
            return;
        }
        for address in addresses {
            let Some(traveller) = waiting.get_mut(address) else { continue };
            traveller.way.0[station as usize].get_or_insert(now);
            if traveller.last == station
                && let Some(traveller) = waiting.remove(address)
            {
                // The receiver may have stopped waiting.
                let _ = traveller.arrived.send(traveller.way);
            }
        }
    }
}

impl Arrival {
    /// Waits for it.
    pub(super) async fn wait(self) -> Result<Way> {
        tokio::time::timeout(DEADLINE, self.0)
            .await
            .with_context(|| format!("an endpoint change did not arrive within {DEADLINE:?}"))?
            .context("the watches have ended")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_arrival_tells_its_way() {
        let arrivals = Arrivals::default();
        let arrival = arrivals.expect("a", Station::Target);
        let begin = Instant::now();
        for station in [Station::Source, Station::Export, Station::Import, Station::Target] {
            arrivals.seen(station, ["b", "a"].into_iter());
        }
        let way = arrival.wait().await.unwrap();
        assert!(way.hops(begin).iter().all(Option::is_some));
        assert_eq!(way.at(Station::Target), way.0[3]);
    }

    #[tokio::test]
    async fn a_repeated_event_does_not_count() {
        let arrivals = Arrivals::default();
        let arrival = arrivals.expect("a", Station::Export);
        arrivals.seen(Station::Source, ["a"].into_iter());
        let after_the_first = Instant::now();
        arrivals.seen(Station::Source, ["a"].into_iter());
        arrivals.seen(Station::Export, ["a"].into_iter());
        let way = arrival.wait().await.unwrap();
        assert!(way.at(Station::Source).unwrap() <= after_the_first);
        assert_eq!(way.at(Station::Target), None);
    }
}
