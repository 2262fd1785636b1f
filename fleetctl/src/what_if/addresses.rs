//! Addresses of Services that are new, in the families that a cluster has.

use fleet_api::kinds;
use fleet_model_server::ModelServer;

/// Lets a server give addresses as those of the Services that it has.
pub(super) fn give(server: &mut ModelServer) {
    let services = server.objects(kinds::SERVICE).map(|(_, service)| service);
    let addresses = services.filter_map(|service| service["spec"]["clusterIPs"].as_array());
    let addresses = addresses.flatten();
    let (mut four, mut six) = (false, false);
    for address in addresses.filter_map(serde_json::Value::as_str) {
        six |= address.contains(':');
        four |= address.contains('.');
    }
    let families: &[&'static str] = match (four, six) {
        (true, true) => &["IPv4", "IPv6"],
        (true, false) => &["IPv4"],
        (false, true) => &["IPv6"],
        (false, false) => return,
    };
    server.give_addresses(families);
}
