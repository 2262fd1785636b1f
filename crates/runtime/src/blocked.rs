//! Reports to users why nothing happens: a controller that cannot read one of its sources, or has another obstacle, plans
//! nothing new, and without a word that looks like an agent that is not there.

use std::sync::Arc;
use std::time::Duration;

use fleet_accumulator::Accumulator;
use fleet_plan::Controller;
use tokio_util::sync::CancellationToken;

use crate::events::EventSink;
use crate::term_waits::TermWaits;
use crate::writer::Writer;

/// How often to look. What lasts from one look to the next is worth an Event; a start is over by then.
const EVERY: Duration = Duration::from_secs(5);
/// Objects that get the Event. A user with more of them finds one that has it.
const TOLD: usize = 50;

/// Reports what blocks `controller`, until `cancel`. The sink keeps it from reporting the same again and again.
pub(crate) async fn report<R: Controller>(
    controller: Arc<R>,
    accumulator: Accumulator<R::Snapshot>,
    writer: Writer,
    waits: TermWaits,
    events: EventSink,
    cancel: CancellationToken,
) {
    let (mut before, mut is_noted) = (Vec::new(), false);
    while cancel.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_some() {
        let mut reasons = accumulator.blocking(controller.required());
        reasons.extend(controller.obstacle(&accumulator.snapshot()));
        let waits_for = waits.of(controller.name());
        if let Some(lists) = waits_for.as_ref().filter(|_| !is_noted) {
            let controller = controller.name();
            tracing::warn!(controller, waits_for = lists, "Leads, but waits for fresh lists");
        }
        is_noted = waits_for.is_some();
        reasons.extend(waits_for.map(|lists| format!("the agent leads, but waits for {lists}")));
        // A standby leaves it to the process that leads.
        if !reasons.is_empty() && reasons == before && writer.may_write() {
            tracing::debug!(controller = controller.name(), ?reasons, "Blocked");
            let told = controller.blocked(&accumulator.snapshot(), &reasons.join("; "));
            for event in told.into_iter().take(TOLD) {
                events.emit(event);
            }
        }
        before = reasons;
    }
}
