use fleet_api::ObjectName;

/// The API by which a Service is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Api {
    /// That of the fleet.
    Fleet,
    /// The standard one of SIG Multicluster.
    Standard,
}

/// An import of a Service of the fleet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// By which API.
    pub api: Api,
    /// The Service.
    pub service: ObjectName,
}

impl Subject {
    /// The import of a Service by the API of the fleet.
    pub fn fleet(service: &ObjectName) -> Self {
        Self { api: Api::Fleet, service: service.clone() }
    }

    /// The import of a Service by the standard API.
    pub fn standard(service: &ObjectName) -> Self {
        Self { api: Api::Standard, service: service.clone() }
    }
}
