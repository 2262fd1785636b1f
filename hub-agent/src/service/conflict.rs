//! Status, reason and message of the condition `Conflict`.

use fleet_api::conditions::{self, reasons};
use fleet_model::ports::{self, Difference, PortId};
use fleet_plan::conditions::Wanted;
use fleet_plan::text::truncate;

use super::resolution::PortResolution;
use super::state::{Export, ServiceState};

/// Number of differences that a message lists; it counts the others.
const MAX_DIFFERENCES: usize = 5;
/// Maximum length of a value in a message, in bytes: members can write any length.
const MAX_VALUE: usize = 80;

/// The ports of an export are those in force.
pub(super) fn accepted(state: &ServiceState<'_>) -> Wanted {
    let message = format!("service {} is exported without conflict", state.service);
    wanted(conditions::FALSE, reasons::NO_CONFLICT_FOUND, message)
}

/// The ports of an export differ from those in force. The message reports where, which member has
/// those, and since when.
pub(super) fn rejected(
    state: &ServiceState<'_>,
    export: &Export<'_>,
    resolution: &PortResolution<'_>,
) -> Wanted {
    let winner = &resolution.winner;
    let since = winner.object.meta.created.map(|since| format!(" since {since}"));
    // Times of objects are whole seconds.
    let is_as_old = export.object.meta.created <= winner.object.meta.created;
    let yields = is_as_old && !state.precedence(export).is_by_age();
    let message = format!(
        "ports of service {} differ from those of cluster {}, which has exported it{}{}: {}",
        state.service,
        winner.member,
        since.unwrap_or_default(),
        if yields { format!(" (cluster {} is silent)", export.member) } else { String::new() },
        describe_differences(export, resolution),
    );
    wanted(conditions::TRUE, reasons::CONFLICT_FOUND, message)
}

/// What users of a silent member whose ports were in force have to know.
pub(super) fn yielded(
    state: &ServiceState<'_>,
    export: &Export<'_>,
    resolution: &PortResolution<'_>,
) -> String {
    format!(
        "cluster {} is silent: the ports of service {} are those of cluster {} from now on",
        export.member, state.service, resolution.winner.member,
    )
}

/// Objects cannot be created in the Service's namespace on the hub.
pub(super) fn namespace_missing(state: &ServiceState<'_>) -> Wanted {
    let namespace = &state.service.namespace;
    let message = format!(
        "namespace {namespace} does not exist on the hub or is being deleted: create it there"
    );
    wanted(conditions::UNKNOWN, reasons::PENDING_CONFLICT_RESOLUTION, message)
}

fn describe_differences(export: &Export<'_>, resolution: &PortResolution<'_>) -> String {
    let differences = ports::differences(&export.object.ports, resolution.ports);
    let more = differences.len().saturating_sub(MAX_DIFFERENCES);
    let mut texts: Vec<_> = differences
        .into_iter()
        .take(MAX_DIFFERENCES)
        .map(|(PortId { protocol, number }, difference)| {
            let port = format!("port {}/{number}", truncate(protocol.as_str(), MAX_VALUE));
            match difference {
                Difference::OnlyFirst => format!("{port} is exported here only"),
                Difference::OnlySecond => format!("{port} is exported there only"),
                Difference::Field(field, here, there) => {
                    format!(
                        "{port} has {field} {} here and {} there",
                        truncate(&here, MAX_VALUE),
                        truncate(&there, MAX_VALUE)
                    )
                }
            }
        })
        .collect();
    if more > 0 {
        texts.push(format!("and {more} more"));
    }
    texts.join(", ")
}

/// The caller sets the generation to that of the export.
fn wanted(status: &str, reason: &str, message: String) -> Wanted {
    let (status, reason) = (status.to_owned(), reason.to_owned());
    Wanted { type_: conditions::CONFLICT, status, reason, message, generation: 0 }
}
