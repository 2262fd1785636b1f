//! What an export is told about its ports.

use fleet_api::conditions::{self, reasons};
use fleet_model::ports::{self, Difference};
use fleet_plan::conditions::Wanted;
use fleet_plan::text::truncate;

use super::resolution::PortResolution;
use super::state::{Export, ServiceState};

/// Differences that are told; the others are counted.
const TOLD: usize = 5;
/// Longest value that is repeated, in bytes: it comes from a member and may be of any length.
const VALUE: usize = 80;

/// The ports are those of the fleet.
pub(super) fn accepted(state: &ServiceState<'_>) -> Wanted {
    let message = format!("service {} is exported without conflict", state.service);
    wanted(conditions::FALSE, reasons::NO_CONFLICT_FOUND, message)
}

/// The ports differ from those of the fleet: says where, whose those are, and since when.
pub(super) fn rejected(
    state: &ServiceState<'_>,
    export: &Export<'_>,
    resolution: &PortResolution<'_>,
) -> Wanted {
    let winner = &resolution.winner;
    let since = winner.object.meta.created.map(|since| format!(" since {since}"));
    let message = format!(
        "ports of service {} differ from those of cluster {}, which exports it{}: {}",
        state.service,
        winner.member,
        since.unwrap_or_default(),
        told(export, resolution),
    );
    wanted(conditions::TRUE, reasons::CONFLICT_FOUND, message)
}

/// The hub has no place for the Service.
pub(super) fn namespace_missing(state: &ServiceState<'_>) -> Wanted {
    let namespace = &state.service.namespace;
    let message = format!("namespace {namespace} does not exist on the hub or is being deleted");
    wanted(conditions::UNKNOWN, reasons::PENDING_CONFLICT_RESOLUTION, message)
}

fn told(export: &Export<'_>, resolution: &PortResolution<'_>) -> String {
    let differences = ports::differences(&export.object.ports, resolution.ports);
    let more = differences.len().saturating_sub(TOLD);
    let mut told: Vec<_> = differences
        .into_iter()
        .take(TOLD)
        .map(|((protocol, port), difference)| {
            let port = format!("port {}/{port}", truncate(protocol.as_str(), VALUE));
            match difference {
                Difference::OnlyFirst => format!("{port} is exported here only"),
                Difference::OnlySecond => format!("{port} is exported there only"),
                Difference::Field(field, here, there) => {
                    format!(
                        "{port} has {field} {} here and {} there",
                        truncate(&here, VALUE),
                        truncate(&there, VALUE)
                    )
                }
            }
        })
        .collect();
    match (told.is_empty(), more) {
        (true, _) => told.push("a port is listed twice".to_owned()),
        (false, 0) => {}
        (false, more) => told.push(format!("and {more} more")),
    }
    told.join(", ")
}

/// The generation is that of the export, which is not known here.
fn wanted(status: &str, reason: &str, message: String) -> Wanted {
    let (status, reason) = (status.to_owned(), reason.to_owned());
    Wanted { type_: conditions::CONFLICT, status, reason, message, generation: 0 }
}
