//! Sentences that several parts of this path share.

use fleet_api::multicluster::ServicePort;

use crate::explain::words::named;
use crate::picture::Picture;

/// Advice for a member whose agent does not serve the API.
pub(super) const SERVE: &str = "install the definitions of the API and start the member agent with --multicluster=on (chart value multicluster.mode)";
/// Advice for a hub whose agent does not serve the API.
pub(super) const SERVE_ON_HUB: &str = "start the hub agent with --multicluster=on (chart value multicluster.mode, which also installs the definitions)";
/// Advice where the hub agent has not answered a member.
pub(super) const ACCEPT: &str = "check that the hub agent runs with --multicluster=on, and that the member's role on the hub is of this \
                                 release: fleetctl join gives it";

/// Members whose agents do not serve the API, as far as they could be read.
pub(super) fn off_in(picture: &Picture) -> String {
    let seen = picture.members.iter().filter(|(_, member)| member.blind.is_none());
    let off = seen.filter(|(_, member)| !member.settings.multicluster.is_watched());
    let off: Vec<_> = off.map(|(name, _)| name.as_str()).collect();
    if off.is_empty() {
        return String::new();
    }
    format!("; the API is not served in {}", named(&off))
}

/// Ports as `80/TCP`, separated by commas.
pub(super) fn ports_text(ports: &[ServicePort]) -> String {
    let one = |port: &ServicePort| format!("{}/{}", port.port, port.protocol.as_str());
    let ports: Vec<_> = ports.iter().map(one).collect();
    match ports.len() {
        0 => "no ports".to_owned(),
        1 => format!("port {}", ports.join("")),
        _ => format!("ports {}", ports.join(", ")),
    }
}
