//! What the API server of the hub has refused of what this cluster exports, and would refuse again.
//!
//! A write that is refused leaves nothing behind that a watch would show. An export counts as published when the hub has acknowledged
//! it, which its objects show, or has refused it for good, which is noted here.

use std::collections::HashSet;
use std::sync::Arc;

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, ResourceKind};
use fleet_plan::{Event, Step};
use fleet_runtime::engine::{Answer, Recorder};
use jiff::Timestamp;
use parking_lot::Mutex;

use crate::measurement::Measurement;

/// How many refusals are kept. Beyond, none is: they are noted again as the writes are tried again.
const MOST: usize = 100_000;

/// Refusals of one incarnation of the hub. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct HubAnswers(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// The incarnation that has refused.
    hub: Option<String>,
    refused: HashSet<(ResourceKind, ObjectName)>,
}

impl HubAnswers {
    /// What this incarnation has refused. Another one has refused nothing yet, and neither has one that is not known.
    pub(crate) fn of(&self, hub: Option<&str>) -> Refused {
        let known = &mut *self.0.lock();
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
        let refused = &mut self.0.lock().refused;
        let written = (step.kind, step.name.clone());
        if answer != Answer::Refused {
            refused.remove(&written);
            return;
        }
        if refused.len() >= MOST {
            refused.clear();
        }
        refused.insert(written);
    }
}

/// What the present hub has refused.
#[derive(Clone, Debug)]
pub(crate) struct Refused(HubAnswers);

impl Refused {
    /// Whether the last word on one of these objects was a refusal.
    pub(crate) fn any(
        &self,
        kind: ResourceKind,
        mut names: impl Iterator<Item = ObjectName>,
    ) -> bool {
        let refused = &self.0.0.lock().refused;
        !refused.is_empty() && names.any(|name| refused.contains(&(kind, name)))
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

    fn answered(answer: Answer) -> HubAnswers {
        let answers = HubAnswers::default();
        assert!(!is_refused(&answers, Some("hub/0")));
        answers.answer(kinds::INTERNAL_SERVICE_EXPORT, &web(), answer);
        answers
    }

    #[test]
    fn the_last_answer_counts() {
        let answers = answered(Answer::Refused);
        assert!(is_refused(&answers, Some("hub/0")));
        assert!(!answers.of(Some("hub/0")).any(kinds::EXPORTED_SERVICE, [web()].into_iter()));
        for later in [Answer::Acknowledged, Answer::Open] {
            let answers = answered(Answer::Refused);
            answers.answer(kinds::INTERNAL_SERVICE_EXPORT, &web(), later);
            assert!(!is_refused(&answers, Some("hub/0")), "{later:?}");
        }
    }

    /// What an earlier hub has refused, a rebuilt one may accept.
    #[test]
    fn another_hub_has_refused_nothing() {
        for hub in [Some("hub/1"), Some("other/0"), None] {
            let answers = answered(Answer::Refused);
            assert!(!is_refused(&answers, hub), "{hub:?}");
            assert!(
                !is_refused(&answers, Some("hub/0")),
                "what it was before {hub:?} is forgotten"
            );
        }
    }

    #[test]
    fn what_this_cluster_refuses_is_no_answer_of_the_hub() {
        let answers = answered(Answer::Acknowledged);
        let step = LOCAL.create::<ServiceExport>(web(), json!({}));
        answers.take(&step, Answer::Refused);
        assert!(!answers.of(Some("hub/0")).any(kinds::SERVICE_EXPORT, [web()].into_iter()));
    }
}
