//! The hash by which Kubernetes' controller groups and orders ports: 128-bit FNV-1a over a textual dump.

use std::fmt::Write;

use k8s_openapi::api::discovery::v1::EndpointPort;

/// Sorts ports into the order in which slices list them.
pub(super) fn sort(ports: &mut [EndpointPort]) {
    ports.sort_by_cached_key(element);
}

/// The hash of a list, which does not depend on its order.
pub(super) fn list(ports: &[EndpointPort]) -> String {
    let mut ports = ports.to_vec();
    sort(&mut ports);
    let fields: Vec<String> = ports.iter().map(|port| format!("{{{}}}", fields(port))).collect();
    hex(fnv(&format!("([]v1.EndpointPort)[{}]", fields.join(" "))))
}

fn element(port: &EndpointPort) -> u128 {
    fnv(&format!("(v1.EndpointPort){{{}}}", fields(port)))
}

fn fields(port: &EndpointPort) -> String {
    let mut dump = String::new();
    let number = port.port.map(|number| number.to_string());
    let parts = [
        ("Name", "string", port.name.as_deref()),
        ("Protocol", "v1.Protocol", port.protocol.as_deref()),
        ("Port", "int32", number.as_deref()),
        ("AppProtocol", "string", port.app_protocol.as_deref()),
    ];
    for (at, (name, kind, value)) in parts.into_iter().enumerate() {
        let gap = if at == 0 { "" } else { " " };
        let _ = write!(dump, "{gap}{name}:(*{kind}){}", value.unwrap_or("<nil>"));
    }
    dump
}

fn fnv(text: &str) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    text.bytes().fold(OFFSET, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

fn hex(hash: u128) -> String {
    format!("{hash:032x}")
}
