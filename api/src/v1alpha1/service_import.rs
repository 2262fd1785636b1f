//! ServiceImport: a Service of the fleet, on the hub and in clusters that import it.

#![allow(clippy::duplicated_attributes, reason = "each column of a table has a type of its own")]

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ServiceImportStatus;

/// Fields of a ServiceImport beside metadata and status: none.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "networking.fleet.azure.com",
    version = "v1alpha1",
    kind = "ServiceImport",
    plural = "serviceimports",
    shortname = "svcimport",
    category = "fleet-networking",
    namespaced,
    no_spec,
    status = "ServiceImportStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "A Service that clusters of the fleet export under this namespace and name.",
    validation = crate::crds::rules::name_rule(),
    printcolumn(name = "Type", type_ = "string", json_path = ".status.type"),
    printcolumn(name = "Clusters", type_ = "string", json_path = ".status.clusters"),
    printcolumn(name = "Ports", type_ = "string", json_path = ".status.ports"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct ServiceImportFields {}
