//! Traces: one endpoint change is one trace, from the exporting member through the hub to each importing member.
//!
//! What is planned knows nothing of ids, and is the same without traces. A step only has its [part](Trace) in
//! a trace, and which context the object bears that it was made from. Just before it is sent a span begins, and its
//! context goes into an annotation of the object, in the write that happens anyway; the next agent finds it there.

mod delivery;
mod endpoint;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::num::{NonZeroU64, NonZeroU128};
use std::time::{Instant, SystemTime};

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, TraceContext, annotations, names};
use fleet_plan::{Action, Step, Trace};
use jiff::Timestamp;
use opentelemetry::trace::{
    Span, SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt, TraceFlags, TraceState,
    Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, Span as SdkSpan};
use serde_json::json;

use crate::clock::{Clock, monotonic};
use crate::writer::{Exchange, Failure, Outcome};

pub use delivery::{Delivery, DeliveryError, Origin};
pub use endpoint::{BadEndpoint, Endpoint};

const WRITTEN: &str = "written";
/// What came of a step.
const OUTCOME: &str = "fleet.outcome";
/// OpenTelemetry's name for a class of errors.
const ERROR_TYPE: &str = "error.type";

/// Begins spans. Clones share everything.
#[derive(Clone, Debug)]
pub struct Tracer {
    tracer: SdkTracer,
    clock: Clock,
}

impl Tracer {
    /// Spans of `provider`, timed by `clock`.
    pub fn new(provider: &SdkTracerProvider, clock: Clock) -> Self {
        Self { tracer: provider.tracer("fleet-networking"), clock }
    }

    /// Begins a span for each step that is part of a trace, and has the object carry its context where it goes on.
    /// The steps are about `key` because of a change seen at `since`.
    pub(crate) fn begin(
        &self,
        steps: &mut [Step],
        key: &impl Display,
        since: Option<Instant>,
    ) -> Spans {
        let begins = (monotonic(), self.clock.now());
        let mut spans = Spans { tracer: self.tracer.clone(), begins, open: Vec::new() };
        for (index, step) in steps.iter_mut().enumerate() {
            let Some(trace) = step.trace else { continue };
            let mut span = spans.open(step, trace, since.unwrap_or(begins.0));
            if span.is_recording() {
                span.set_attributes(about(step, key));
            }
            if trace.travels_on() {
                mark(&mut step.action, span.span_context());
            }
            spans.open.push((index, span));
        }
        spans
    }
}

impl Delivery {
    /// A tracer whose spans are delivered here, timed by `clock`.
    pub fn tracer(&self, clock: Clock) -> Tracer {
        Tracer::new(self.provider(), clock)
    }
}

/// The spans of a plan's steps.
#[derive(Debug)]
pub(crate) struct Spans {
    tracer: SdkTracer,
    /// When they were begun, by both clocks.
    begins: (Instant, Timestamp),
    open: Vec<(usize, SdkSpan)>,
}

impl Spans {
    fn open(&self, step: &Step, trace: Trace, since: Instant) -> SdkSpan {
        let kind = if trace == Trace::Begins { SpanKind::Producer } else { SpanKind::Consumer };
        let span = SpanBuilder::from_name(step.stage.unwrap_or("write"))
            .with_kind(kind)
            .with_start_time(self.wall(since));
        let parent = trace.parent().map(|parent| below(remote(parent)));
        self.tracer.build_with_context(span, &parent.unwrap_or_default())
    }

    /// When something was by the clock that other machines have, too.
    fn wall(&self, at: Instant) -> SystemTime {
        let (begun, time) = self.begins;
        let time =
            if at < begun { time.checked_sub(begun - at) } else { time.checked_add(at - begun) };
        time.unwrap_or(self.begins.1).into()
    }

    /// Ends them with what came of the steps.
    pub(crate) fn end(mut self, steps: &[Step], outcome: &Outcome) {
        for (index, mut span) in std::mem::take(&mut self.open) {
            let exchange = outcome.exchanges.iter().find(|exchange| exchange.step == index);
            let failure = outcome.failures.iter().find(|failure| failure.step == index);
            if let (Some(exchange), true) = (exchange, span.is_recording()) {
                self.request(&span, &steps[index], *exchange, failure);
            }
            let acknowledged = outcome.acknowledged.iter().any(|(step, _)| *step == index);
            judge(&mut span, if acknowledged { WRITTEN } else { "skipped" }, failure);
            let ended = exchange.map_or_else(monotonic, |exchange| exchange.ended);
            span.end_with_timestamp(self.wall(ended));
        }
    }

    /// The request below the span of its step: the difference is what was waited for.
    fn request(&self, above: &SdkSpan, step: &Step, exchange: Exchange, failure: Option<&Failure>) {
        let verb = step.action.verb();
        let span = SpanBuilder::from_name(format!("{verb} {}", step.kind.label()))
            .with_kind(SpanKind::Client)
            .with_start_time(self.wall(exchange.sent))
            .with_attributes([
                KeyValue::new("fleet.cluster", step.cluster.as_str()),
                KeyValue::new("fleet.verb", verb),
            ]);
        let parent = below(above.span_context().clone());
        let mut span = self.tracer.build_with_context(span, &parent);
        judge(&mut span, WRITTEN, failure);
        span.end_with_timestamp(self.wall(exchange.ended));
    }
}

fn below(parent: SpanContext) -> Context {
    Context::new().with_remote_span_context(parent)
}

fn judge(span: &mut SdkSpan, otherwise: &'static str, failure: Option<&Failure>) {
    let outcome = failure.map_or(otherwise, |failure| failure.class.as_str());
    span.set_attribute(KeyValue::new(OUTCOME, outcome));
    if let Some(failure) = failure {
        span.set_attribute(KeyValue::new(ERROR_TYPE, outcome));
        span.set_status(Status::error(failure.message.clone()));
    }
}

/// What a step is about. A slice has the same name on its whole way.
fn about(step: &Step, key: &impl Display) -> Vec<KeyValue> {
    let mut attributes = vec![KeyValue::new("fleet.slice", step.name.name.to_string())];
    if let Some(service) = ObjectName::parse(&key.to_string()) {
        attributes.push(KeyValue::new("k8s.namespace.name", service.namespace.to_string()));
        attributes.push(KeyValue::new("k8s.service.name", service.name.to_string()));
    }
    let on_hub = step.cluster == ClusterId::Hub;
    if let Some(member) = names::member_of_namespace(&step.name.namespace).filter(|_| on_hub) {
        attributes.push(KeyValue::new("fleet.member", member.to_owned()));
    }
    attributes
}

/// Writes the context of a span into the object that is about to be sent.
fn mark(action: &mut Action, context: &SpanContext) {
    let (Action::Create(object) | Action::Replace { body: object, .. }) = action else { return };
    if let Some(context) = ours(context) {
        let metadata = &mut object.fields_mut()["metadata"];
        metadata["annotations"][annotations::TRACEPARENT] = json!(context.to_string());
    }
}

fn ours(context: &SpanContext) -> Option<TraceContext> {
    Some(TraceContext {
        trace_id: NonZeroU128::new(u128::from_be_bytes(context.trace_id().to_bytes()))?,
        span_id: NonZeroU64::new(u64::from_be_bytes(context.span_id().to_bytes()))?,
        sampled: context.is_sampled(),
    })
}

fn remote(context: TraceContext) -> SpanContext {
    let flags = if context.sampled { TraceFlags::SAMPLED } else { TraceFlags::NOT_SAMPLED };
    let (trace, span) = (context.trace_id.get().into(), context.span_id.get().into());
    SpanContext::new(trace, span, flags, true, TraceState::default())
}
