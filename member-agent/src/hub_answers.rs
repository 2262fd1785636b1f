//! What the API server of the hub has refused of what this cluster exports, and would refuse again.
//!
//! A write that is refused leaves nothing behind that a watch would show. An export counts as published when the hub has acknowledged
//! it, which its objects show, or has refused it for good, which is noted here.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, ResourceKind};
use fleet_plan::{Event, Step};
use fleet_runtime::clock::BootClock;
use fleet_runtime::engine::{Answer, Recorder};
use jiff::Timestamp;
use parking_lot::Mutex;

use crate::measurement::Measurement;

/// How many refusals are kept. Beyond, none is: they are noted again as the writes are tried again.
const MOST: usize = 100_000;

/// For how long the hub has to refuse something until that is for good. Policies and quotas of a hub that is being rebuilt may come
/// after its members; for as long, it is being rebuilt at most.
const STANDS: Duration = Duration::from_mins(5);

/// Refusals of one incarnation of the hub. Clones share them.
#[derive(Clone, Debug)]
pub struct HubAnswers {
    /// Read when an answer comes, never when something is planned.
    clock: BootClock,
    known: Arc<Mutex<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    /// The incarnation that has refused.
    hub: Option<String>,
    refused: HashMap<(ResourceKind, ObjectName), Refusal>,
}

/// What was refused each time that it was tried, from the first time to the last one.
#[derive(Clone, Copy, Debug)]
struct Refusal {
    first: Duration,
    last: Duration,
}

impl Refusal {
    fn is_for_good(self) -> bool {
        self.last.saturating_sub(self.first) >= STANDS
    }
}

impl Default for HubAnswers {
    fn default() -> Self {
        Self::new(BootClock::system())
    }
}

impl HubAnswers {
    /// Nothing is refused.
    pub(crate) fn new(clock: BootClock) -> Self {
        Self { clock, known: Arc::default() }
    }

    /// What this incarnation has refused. Another one has refused nothing yet, and neither has one that is not known.
    pub(crate) fn of(&self, hub: Option<&str>) -> Refused {
        let known = &mut *self.known.lock();
        if hub.is_none() || known.hub.as_deref() != hub {
            known.hub = hub.map(str::to_owned);
            known.refused.clear();
        }
        Refused(self.clone())
    }

    fn take(&self, step: &Step, answer: Answer) {
        if step.cluster != ClusterId::Hub {
            return;
        }
        let now = self.clock.now();
        let refused = &mut self.known.lock().refused;
        let written = (step.kind, step.name.clone());
        if answer != Answer::Refused {
            refused.remove(&written);
            return;
        }
        if refused.len() >= MOST && !refused.contains_key(&written) {
            refused.clear();
        }
        match refused.entry(written) {
            Entry::Occupied(mut refusal) => refusal.get_mut().last = now,
            Entry::Vacant(new) => {
                new.insert(Refusal { first: now, last: now });
            }
        }
    }
}

/// What the present hub has refused.
#[derive(Clone, Debug)]
pub(crate) struct Refused(HubAnswers);

impl Refused {
    /// Whether the last word on one of these objects was a refusal, as every one for minutes before.
    pub(crate) fn any(
        &self,
        kind: ResourceKind,
        mut names: impl Iterator<Item = ObjectName>,
    ) -> bool {
        let refused = &self.0.known.lock().refused;
        let is_for_good = |name| refused.get(&(kind, name)).is_some_and(|it| it.is_for_good());
        !refused.is_empty() && names.any(is_for_good)
    }
}

/// Notes answers, and records everything with another recorder.
#[derive(Debug)]
pub(crate) struct Noting<R> {
    pub(crate) answers: HubAnswers,
    pub(crate) others: R,
}

impl<K: 'static, R: Recorder<K, Measurement>> Recorder<K, Measurement> for Noting<R> {
    fn record(&mut self, key: &K, what: &Measurement, at: Timestamp) -> Vec<Event> {
        self.others.record(key, what, at)
    }

    fn refused(&mut self, key: &K, step: &Step, why: &str) {
        self.others.refused(key, step, why);
    }

    fn answered(&mut self, key: &K, step: &Step, answer: Answer) {
        self.answers.take(step, answer);
        self.others.answered(key, step, answer);
    }

    fn begin(&mut self, since: Instant) {
        self.others.begin(since);
    }
}

/// Records nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nothing;

impl<K> Recorder<K, Measurement> for Nothing {
    fn record(&mut self, _: &K, _: &Measurement, _: Timestamp) -> Vec<Event> {
        Vec::new()
    }
}

#[cfg(test)]
impl HubAnswers {
    /// Nothing is refused, and its time passes with [`Self::stand`] alone.
    pub(crate) fn by_hand() -> Self {
        Self::new(BootClock::by_hand())
    }

    /// So much time passes that what is refused again is so for good.
    pub(crate) fn stand(&self) {
        self.clock.advance(STANDS);
    }

    /// The hub refuses a creation for as long as counts.
    pub(crate) fn refuse(&self, kind: ResourceKind, name: &ObjectName) {
        self.answer(kind, name, Answer::Refused);
        self.stand();
        self.answer(kind, name, Answer::Refused);
    }

    /// An answer of the hub to a creation.
    pub(crate) fn answer(&self, kind: ResourceKind, name: &ObjectName, answer: Answer) {
        use fleet_accumulator::Tracked as _;
        use fleet_model::objects::multicluster::ExportedService;
        use fleet_model::objects::{EndpointSliceExport, InternalServiceExport};
        use fleet_model::steps::HUB;

        let body = serde_json::json!({});
        let step = if kind == EndpointSliceExport::KIND {
            HUB.create::<EndpointSliceExport>(name.clone(), body)
        } else if kind == ExportedService::KIND {
            HUB.create::<ExportedService>(name.clone(), body)
        } else {
            HUB.create::<InternalServiceExport>(name.clone(), body)
        };
        self.take(&step, answer);
    }
}

#[cfg(test)]
mod tests {
    use fleet_api::kinds;
    use fleet_model::objects::ServiceExport;
    use fleet_model::steps::LOCAL;
    use serde_json::json;

    use super::*;

    fn web() -> ObjectName {
        ObjectName::new("fleet-member-a", "shop-web")
    }

    fn is_refused(answers: &HubAnswers, hub: Option<&str>) -> bool {
        answers.of(hub).any(kinds::INTERNAL_SERVICE_EXPORT, [web()].into_iter())
    }

    /// What one hub has answered.
    fn answers() -> HubAnswers {
        let answers = HubAnswers::by_hand();
        assert!(!is_refused(&answers, Some("hub/0")));
        answers
    }

    fn refusing() -> HubAnswers {
        let answers = answers();
        answers.refuse(kinds::INTERNAL_SERVICE_EXPORT, &web());
        assert!(is_refused(&answers, Some("hub/0")));
        answers
    }

    #[test]
    fn the_last_answer_counts() {
        assert!(!refusing().of(Some("hub/0")).any(kinds::EXPORTED_SERVICE, [web()].into_iter()));
        for later in [Answer::Acknowledged, Answer::Open] {
            let answers = refusing();
            answers.answer(kinds::INTERNAL_SERVICE_EXPORT, &web(), later);
            assert!(!is_refused(&answers, Some("hub/0")), "{later:?}");
        }
    }

    /// While a hub is being rebuilt, its policies and quotas may not be complete.
    #[test]
    fn what_was_refused_for_minutes_is_refused_for_good() {
        let answers = answers();
        let answer = |answer| answers.answer(kinds::INTERNAL_SERVICE_EXPORT, &web(), answer);
        answer(Answer::Refused);
        answers.clock.advance(STANDS.checked_sub(Duration::from_secs(1)).unwrap());
        answer(Answer::Refused);
        assert!(!is_refused(&answers, Some("hub/0")));
        answers.clock.advance(Duration::from_secs(1));
        assert!(!is_refused(&answers, Some("hub/0")), "it may be accepted now");
        answer(Answer::Refused);
        assert!(is_refused(&answers, Some("hub/0")));
        // Anything else in between begins it anew.
        answer(Answer::Open);
        answer(Answer::Refused);
        assert!(!is_refused(&answers, Some("hub/0")));
    }

    /// What an earlier hub has refused, a rebuilt one may accept.
    #[test]
    fn another_hub_has_refused_nothing() {
        for hub in [Some("hub/1"), Some("other/0"), None] {
            let answers = refusing();
            assert!(!is_refused(&answers, hub), "{hub:?}");
            assert!(
                !is_refused(&answers, Some("hub/0")),
                "what it was before {hub:?} is forgotten"
            );
        }
    }

    #[test]
    fn what_this_cluster_refuses_is_no_answer_of_the_hub() {
        let answers = answers();
        let step = LOCAL.create::<ServiceExport>(web(), json!({}));
        answers.take(&step, Answer::Refused);
        answers.stand();
        answers.take(&step, Answer::Refused);
        assert!(!answers.of(Some("hub/0")).any(kinds::SERVICE_EXPORT, [web()].into_iter()));
    }
}
