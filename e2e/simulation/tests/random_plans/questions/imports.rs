//! What a member has imported.

use std::collections::{BTreeMap, BTreeSet};

use fleet_api::{ObjectName, annotations, kinds, labels};
use fleet_model_server::ModelServer;
use serde_json::Value;

/// Which API a Service is exported by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Api {
    Fleet,
    Standard,
}

impl Api {
    /// The namespace of its Services here.
    pub(crate) fn namespace(self) -> &'static str {
        match self {
            Self::Fleet => crate::base::SHOP,
            Self::Standard => crate::base::TEAM,
        }
    }
}

/// An endpoint: its cluster, and its address.
pub(crate) type Endpoint = (String, String);

/// The endpoints of one import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Imported {
    pub(crate) all: BTreeSet<Endpoint>,
    /// Those that get new connections.
    pub(crate) ready: BTreeSet<Endpoint>,
    /// Those that can get any.
    pub(crate) usable: BTreeSet<Endpoint>,
    /// Endpoints that are in two slices.
    pub(crate) twice: BTreeSet<Endpoint>,
    /// Services that its slices are bound to.
    pub(crate) services: BTreeSet<ObjectName>,
}

/// Which import a slice belongs to, if it is an imported one.
pub(crate) fn import_of(slice: &Value) -> Option<(Api, &str)> {
    let metadata = &slice["metadata"];
    let service = metadata["annotations"][annotations::FLEET_SERVICE].as_str()?;
    match metadata["labels"][labels::MANAGED_BY].as_str()? {
        labels::MANAGED_BY_IMPORT => Some((Api::Fleet, service)),
        labels::MANAGED_BY_MULTICLUSTER => Some((Api::Standard, service)),
        _ => None,
    }
}

fn cluster_of(slice: &Value) -> String {
    let metadata = &slice["metadata"];
    let standard = metadata["labels"][labels::MULTICLUSTER_SOURCE_CLUSTER].as_str();
    let fleet = metadata["annotations"][annotations::ORIGIN_CLUSTER].as_str();
    standard.or(fleet).unwrap_or_default().to_owned()
}

/// All imports of a member, by API and Service.
pub(crate) fn imports(server: &ModelServer) -> BTreeMap<(Api, String), Imported> {
    let mut found: BTreeMap<(Api, String), Imported> = BTreeMap::new();
    for (_, slice) in server.objects(kinds::ENDPOINT_SLICE) {
        let Some((api, service)) = import_of(slice) else { continue };
        add(found.entry((api, service.to_owned())).or_default(), slice);
    }
    found
}

/// One import of a member.
pub(crate) fn import(server: &ModelServer, api: Api, service: &str) -> Imported {
    let mut found = Imported::default();
    for (_, slice) in server.objects(kinds::ENDPOINT_SLICE) {
        if import_of(slice) == Some((api, service)) {
            add(&mut found, slice);
        }
    }
    found
}

fn add(imported: &mut Imported, slice: &Value) {
    if slice["metadata"]["labels"][labels::SERVICE_NAME].as_str().is_none_or(str::is_empty) {
        return; // No proxy reads it.
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &slice["metadata"];
    let service = text(&metadata["labels"][labels::SERVICE_NAME]);
    imported.services.insert(ObjectName::new(text(&metadata["namespace"]), service));
    let cluster = cluster_of(slice);
    for endpoint in slice["endpoints"].as_array().into_iter().flatten() {
        let address = endpoint["addresses"][0].as_str().unwrap_or_default().to_owned();
        let it = (cluster.clone(), address);
        let conditions = &endpoint["conditions"];
        let is_ready = conditions["ready"] != false;
        if is_ready {
            imported.ready.insert(it.clone());
        }
        if is_ready || (conditions["serving"] != false && conditions["terminating"] == true) {
            imported.usable.insert(it.clone());
        }
        if !imported.all.insert(it.clone()) {
            imported.twice.insert(it);
        }
    }
}
