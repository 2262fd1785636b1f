mod delivered;

use std::sync::Arc;
use std::time::Duration;

use fleet_accumulator::{ResourceVersion, Uid};
use fleet_api::kinds;
use fleet_plan::Precondition;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use parking_lot::Mutex;

use super::*;
use crate::writer::Class;

/// Keeps the spans that have ended.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Kept {
    fn export(&self, spans: Vec<SpanData>) -> impl Future<Output = OTelSdkResult> + Send {
        self.0.lock().extend(spans);
        std::future::ready(Ok(()))
    }
}

impl Kept {
    fn named(&self, name: &str) -> SpanData {
        let spans = self.0.lock();
        spans.iter().find(|span| span.name == name).expect("it has ended").clone()
    }
}

fn tracer() -> (Tracer, Kept) {
    let kept = Kept::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(kept.clone()).build();
    (Tracer::new(&provider, Clock::fixed(Timestamp::UNIX_EPOCH)), kept)
}

fn context(sampled: bool) -> TraceContext {
    let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    TraceContext { sampled, ..TraceContext::parse(text).unwrap() }
}

fn plain(action: Action) -> Step {
    let name = ObjectName::new("fleet-member-west", "east-shop-web");
    Step::new(ClusterId::Hub, kinds::ENDPOINT_SLICE_IMPORT, name, action).stage("distribute")
}

fn create() -> Action {
    Action::Create(json!({ "metadata": { "annotations": { "kept": "yes" } }, "spec": {} }).into())
}

/// The trace context of the object that is sent.
fn sent(step: &Step) -> Option<&str> {
    let (Action::Create(body) | Action::Replace { body, .. }) = &step.action else { return None };
    let path = "/metadata/annotations/networking.fleet.azure.com~1traceparent";
    body.fields().pointer(path)?.as_str()
}

fn key() -> ObjectName {
    ObjectName::new("shop", "web")
}

fn written(sent_at: Instant, ended: Instant) -> Outcome {
    let exchange = Exchange { step: 0, sent: sent_at, ended };
    Outcome { acknowledged: vec![(0, ended)], exchanges: vec![exchange], ..Outcome::default() }
}

fn attribute(span: &SpanData, key: &str) -> Option<String> {
    let found = span.attributes.iter().find(|pair| pair.key.as_str() == key);
    found.map(|pair| pair.value.to_string())
}

#[test]
fn the_object_carries_the_context_of_the_span_that_wrote_it() {
    let (tracer, kept) = tracer();
    let mut steps = [plain(create()).trace(Trace::Begins)];
    let since = monotonic();
    let spans = tracer.begin(&mut steps, &key(), Some(since));
    spans.end(&steps, &written(since, since));

    let span = kept.named("distribute");
    let carried = TraceContext::parse(sent(&steps[0]).unwrap()).unwrap();
    assert_eq!(remote(carried).trace_id(), span.span_context.trace_id());
    assert_eq!(remote(carried).span_id(), span.span_context.span_id());
    assert!(carried.sampled);
    assert_eq!(span.parent_span_id, opentelemetry::trace::SpanId::INVALID);
    let Action::Create(body) = &steps[0].action else { panic!("it is still a creation") };
    assert_eq!(body.fields()["metadata"]["annotations"]["kept"], "yes");
}

#[test]
fn a_hop_is_the_child_of_the_one_before() {
    let (tracer, kept) = tracer();
    let at = Precondition { uid: Uid::from("1"), version: ResourceVersion::from("1") };
    let replace = Action::Replace { body: json!({ "spec": {} }).into(), at };
    let mut steps = [plain(replace).trace(Trace::Continues(Some(context(true))))];
    tracer.begin(&mut steps, &key(), None).end(&steps, &Outcome::default());

    let (span, parent) = (kept.named("distribute"), remote(context(true)));
    assert_eq!(span.span_context.trace_id(), parent.trace_id());
    assert_eq!(span.parent_span_id, parent.span_id());
    assert!(span.parent_span_is_remote);
    let carried = TraceContext::parse(sent(&steps[0]).unwrap()).unwrap();
    assert_eq!(carried.trace_id, context(true).trace_id);
    assert_ne!(carried.span_id, context(true).span_id);
}

#[test]
fn a_hop_whose_predecessor_left_nothing_begins_a_trace() {
    let (tracer, kept) = tracer();
    let mut steps = [plain(create()).trace(Trace::Continues(None))];
    tracer.begin(&mut steps, &key(), None).end(&steps, &Outcome::default());
    assert_eq!(kept.named("distribute").parent_span_id, opentelemetry::trace::SpanId::INVALID);
    assert!(sent(&steps[0]).is_some());
}

#[test]
fn what_has_arrived_carries_nothing_on() {
    let (tracer, kept) = tracer();
    let mut steps = [plain(create()).trace(Trace::Ends(Some(context(true))))];
    tracer.begin(&mut steps, &key(), None).end(&steps, &Outcome::default());
    assert_eq!(sent(&steps[0]), None);
    assert_eq!(kept.named("distribute").parent_span_id, remote(context(true)).span_id());
}

#[test]
fn other_steps_stay_as_they_are() {
    let (tracer, kept) = tracer();
    let mut steps = [plain(create())];
    tracer.begin(&mut steps, &key(), None).end(&steps, &Outcome::default());
    assert_eq!(steps, [plain(create())]);
    assert!(kept.0.lock().is_empty());
}

#[test]
fn a_trace_that_nobody_records_is_not_recorded_further_on() {
    let (tracer, kept) = tracer();
    let mut steps = [plain(create()).trace(Trace::Continues(Some(context(false))))];
    let now = monotonic();
    tracer.begin(&mut steps, &key(), None).end(&steps, &written(now, now));
    assert!(kept.0.lock().is_empty());
    let carried = TraceContext::parse(sent(&steps[0]).unwrap()).unwrap();
    assert_eq!((carried.trace_id, carried.sampled), (context(false).trace_id, false));
}

#[test]
fn a_span_lasts_from_the_event_to_the_answer_with_the_request_below_it() {
    let (tracer, kept) = tracer();
    let since = monotonic();
    let (sent, ended) = (since + Duration::from_secs(5), since + Duration::from_secs(9));
    let mut steps = [plain(create()).trace(Trace::Begins)];
    tracer.begin(&mut steps, &key(), Some(since)).end(&steps, &written(sent, ended));

    let (span, request) = (kept.named("distribute"), kept.named("create EndpointSliceImport"));
    assert_eq!(request.parent_span_id, span.span_context.span_id());
    let seconds =
        |span: &SpanData| span.end_time.duration_since(span.start_time).unwrap().as_secs();
    assert_eq!((seconds(&span), seconds(&request)), (9, 4));
    for (name, value) in [
        ("k8s.namespace.name", "shop"),
        ("k8s.service.name", "web"),
        ("fleet.slice", "east-shop-web"),
        ("fleet.member", "west"),
        ("fleet.outcome", "written"),
    ] {
        assert_eq!(attribute(&span, name).as_deref(), Some(value), "{name}");
    }
    assert_eq!(attribute(&request, "fleet.cluster").as_deref(), Some("hub"));
    assert_eq!(span.status, Status::Unset);
}

#[test]
fn a_failure_is_told_by_its_class_and_what_waited_for_it_too() {
    let (tracer, kept) = tracer();
    let now = monotonic();
    let mut steps = [
        plain(create()).trace(Trace::Begins),
        plain(create()).stage("import").trace(Trace::Begins),
    ];
    let (class, message) = (Class::Conflict, "somebody was faster".to_owned());
    let outcome = Outcome {
        exchanges: vec![Exchange { step: 0, sent: now, ended: now }],
        failures: vec![Failure { step: 0, class, retry_after: None, message }],
        skipped: vec![1],
        ..Outcome::default()
    };
    tracer.begin(&mut steps, &key(), None).end(&steps, &outcome);

    let failed = kept.named("distribute");
    assert_eq!(attribute(&failed, "error.type").as_deref(), Some("conflict"));
    assert_eq!(failed.status, Status::error("somebody was faster"));
    assert_eq!(
        attribute(&kept.named("create EndpointSliceImport"), "fleet.outcome").as_deref(),
        Some("conflict")
    );
    assert_eq!(attribute(&kept.named("import"), "fleet.outcome").as_deref(), Some("skipped"));
    assert_eq!(kept.0.lock().len(), 3);
}
