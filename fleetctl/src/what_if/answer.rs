//! What would become of the fleet, as data.

use serde::Serialize;

use crate::view::Share;

/// The result of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The action.
    pub action: String,
    /// Objects that differ afterwards, by cluster.
    pub changes: Vec<ObjectChange>,
    /// Endpoints and shares of each Service in each importer where they differ, or where endpoints are lost.
    pub traffic: Vec<ImporterTraffic>,
    /// Services that have no endpoint in an importer afterwards, and had some before.
    pub without_endpoints: Vec<String>,
    /// Members whose clusters were not read as a whole, so that not all is known of what would change there.
    pub unread: Vec<String>,
}

impl Answer {
    /// Whether all was read, and no Service is left without endpoints.
    pub fn is_good(&self) -> bool {
        self.without_endpoints.is_empty() && self.unread.is_empty()
    }

    /// The verdict if no Service was found that is left without endpoints.
    pub(crate) fn none_without(&self) -> &'static str {
        if self.unread.is_empty() {
            "No Service is left without endpoints."
        } else {
            "No Service is left without endpoints, of those that could be read."
        }
    }
}

/// An object that differs afterwards.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectChange {
    /// The member, or `hub`.
    pub cluster: String,
    /// `create`, `update` or `delete`.
    pub verb: &'static str,
    /// Its kind.
    pub kind: &'static str,
    /// Namespace and name.
    pub name: String,
}

/// A Service in an importer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImporterTraffic {
    /// `namespace/name`.
    pub service: String,
    /// The member.
    pub importer: String,
    /// Shares of exporters before.
    pub before: Vec<Share>,
    /// Afterwards.
    pub after: Vec<Share>,
    /// Endpoints of a lost cluster among them.
    pub lost_endpoints: usize,
    /// Whether no endpoint is left that works.
    pub without: bool,
}
