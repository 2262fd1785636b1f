use sha2::{Digest as _, Sha256};

use crate::source::Endpoint;

/// Family of the addresses of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// What the order of endpoints depends on besides the endpoints: each importer orders them differently, so that small subsets
/// of many importers spread over all endpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// Name of the importing cluster.
    pub importer: String,
    /// Namespace of the Service.
    pub namespace: String,
    /// Name of the Service.
    pub name: String,
    /// Family of the addresses.
    pub family: Family,
}

/// Position of an endpoint: comparable across sources, the same for equal input on every machine.
pub(crate) type Place = [u8; 32];

impl Seed {
    /// Rendezvous hashing: the place of an endpoint depends on itself alone, so that another endpoint that comes or goes
    /// changes no order among the others.
    pub(crate) fn place(&self, cluster: &str, endpoint: &Endpoint) -> Place {
        let family = match self.family {
            Family::V4 => "IPv4",
            Family::V6 => "IPv6",
        };
        let service = [self.importer.as_str(), self.namespace.as_str(), self.name.as_str()];
        let parts = service.into_iter().chain([family, cluster, endpoint.address.as_str()]);
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        hash.finalize().into()
    }
}
