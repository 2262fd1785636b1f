//! When changes arrive where they are imported.
//!
//! Every change of a slice gets a number, and its first address is that number: an importer of the slice shows by its
//! address which change has arrived. A change that was overtaken by a later one of the same slice arrives with that.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use hdrhistogram::Histogram;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

/// Which slice, and who imports it.
type Transfer = (usize, usize);

/// What was sent and has arrived.
pub(crate) struct Arrivals {
    state: Mutex<State>,
    /// How many are under way.
    under_way: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    /// By number: when it was sent, and of which slice it is.
    sent: Vec<(Instant, usize)>,
    pending: HashMap<Transfer, VecDeque<usize>>,
    count: usize,
    /// How long each took, in microseconds.
    took: Vec<u64>,
}

impl Arrivals {
    /// Nothing was sent.
    pub(crate) fn new() -> Self {
        Self { state: Mutex::default(), under_way: watch::Sender::new(0) }
    }

    /// Notes a change of a slice that is on its way to all who import it from now on. Returns its address.
    pub(crate) fn send(&self, slice: usize, importers: &[usize]) -> String {
        let mut state = self.state.lock();
        let number = state.sent.len();
        state.sent.push((Instant::now(), slice));
        for importer in importers {
            state.pending.entry((slice, *importer)).or_default().push_back(number);
            state.count += 1;
        }
        self.under_way.send_replace(state.count);
        address(number)
    }

    /// Notes what a member shows of a slice.
    pub(crate) fn seen(&self, importer: usize, slice: &Value) {
        let Some(number) = number_of(slice) else { return };
        let mut state = self.state.lock();
        let state = &mut *state;
        let Some((_, of_slice)) = state.sent.get(number) else { return };
        let Some(pending) = state.pending.get_mut(&(*of_slice, importer)) else { return };
        while let Some(arrived) = pending.pop_front_if(|first| *first <= number) {
            let took = state.sent[arrived].0.elapsed();
            state.took.push(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
            state.count -= 1;
        }
        self.under_way.send_replace(state.count);
    }

    /// Waits until everything that was sent has arrived.
    pub(crate) async fn all(&self, deadline: Duration) -> Result<()> {
        let mut under_way = self.under_way.subscribe();
        let arrived = tokio::time::timeout(deadline, under_way.wait_for(|count| *count == 0)).await;
        let left = *self.under_way.borrow();
        ensure!(arrived.is_ok(), "{left} changes have not arrived after {deadline:?}");
        Ok(())
    }

    /// How long those took that have arrived since the last call.
    pub(crate) fn take(&self) -> Result<Times> {
        let took = std::mem::take(&mut self.state.lock().took);
        let mut histogram = Histogram::new(3)?;
        for micros in took {
            histogram.record(micros)?;
        }
        Ok(Times(histogram))
    }
}

/// How long changes took.
pub(crate) struct Times(Histogram<u64>);

impl Times {
    /// That many percent took at most so long.
    pub(crate) fn percentile(&self, percent: f64) -> Duration {
        Duration::from_micros(self.0.value_at_percentile(percent))
    }
}

/// 10.0.0.0/8 has room for sixteen million changes.
fn address(number: usize) -> String {
    format!("10.{}.{}.{}", number >> 16 & 0xff, number >> 8 & 0xff, number & 0xff)
}

fn number_of(slice: &Value) -> Option<usize> {
    let address = slice["endpoints"][0]["addresses"][0].as_str()?.strip_prefix("10.")?;
    address.split('.').try_fold(0, |number, part| Some(number << 8 | part.parse::<usize>().ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(address: &str) -> Value {
        json!({ "endpoints": [{ "addresses": [address] }, { "addresses": ["11.0.0.1"] }] })
    }

    #[test]
    fn addresses_tell_numbers() {
        for number in [0, 1, 255, 256, 70_000, 16_000_000] {
            assert_eq!(number_of(&shown(&address(number))), Some(number));
        }
        assert_eq!(number_of(&shown("11.0.0.1")), None);
        assert_eq!(number_of(&json!({ "endpoints": [] })), None);
    }

    #[tokio::test]
    async fn a_change_arrives_at_each_importer_or_with_a_later_one() {
        let arrivals = Arrivals::new();
        let first = arrivals.send(7, &[1, 2]);
        let second = arrivals.send(7, &[1, 2]);
        let other = arrivals.send(8, &[1]);
        arrivals.seen(1, &shown(&first));
        assert_eq!(arrivals.state.lock().count, 4);
        arrivals.seen(2, &shown(&second));
        arrivals.seen(1, &shown(&second));
        arrivals.seen(1, &shown(&second));
        assert_eq!(arrivals.state.lock().count, 1);
        assert!(arrivals.all(Duration::ZERO).await.is_err());
        arrivals.seen(1, &shown(&other));
        arrivals.all(Duration::ZERO).await.unwrap();
        assert_eq!(arrivals.take().unwrap().0.len(), 5);
        assert_eq!(arrivals.take().unwrap().0.len(), 0);
    }
}
