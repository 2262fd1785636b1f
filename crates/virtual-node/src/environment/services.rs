//! Variables with the addresses of Services.

/// A Service that variables are made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceLink {
    /// Its name.
    pub name: String,
    /// Its cluster IP. A Service without one, such as a headless one, has no variables.
    pub cluster_ip: String,
    /// Its ports.
    pub ports: Vec<ServicePort>,
}

/// A port of a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServicePort {
    /// Its name, if it has one.
    pub name: String,
    /// Its number.
    pub port: u16,
    /// Its protocol.
    pub protocol: String,
}

/// The variables of a Service, by their names.
pub(super) fn variables(service: &ServiceLink) -> Vec<(String, String)> {
    let Some(first) = service.ports.first() else { return Vec::new() };
    let ServiceLink { cluster_ip, ports, .. } = service;
    if cluster_ip.is_empty() || cluster_ip == "None" {
        return Vec::new();
    }
    let prefix = upper(&service.name);
    let mut all = vec![
        (format!("{prefix}_SERVICE_HOST"), cluster_ip.clone()),
        (format!("{prefix}_SERVICE_PORT"), first.port.to_string()),
        (format!("{prefix}_PORT"), url(cluster_ip, first)),
    ];
    for port in ports {
        if !port.name.is_empty() {
            all.push((
                format!("{prefix}_SERVICE_PORT_{}", upper(&port.name)),
                port.port.to_string(),
            ));
        }
        let one = format!("{prefix}_PORT_{}_{}", port.port, port.protocol);
        all.extend([
            (one.clone(), url(cluster_ip, port)),
            (format!("{one}_PROTO"), port.protocol.to_lowercase()),
            (format!("{one}_PORT"), port.port.to_string()),
            (format!("{one}_ADDR"), cluster_ip.clone()),
        ]);
    }
    all
}

fn url(address: &str, port: &ServicePort) -> String {
    let protocol = port.protocol.to_lowercase();
    if address.contains(':') {
        format!("{protocol}://[{address}]:{}", port.port)
    } else {
        format!("{protocol}://{address}:{}", port.port)
    }
}

fn upper(name: &str) -> String {
    name.to_uppercase().replace('-', "_")
}
