//! `EndpointSliceImport`: a copy of an exported EndpointSlice for one importer, on the hub.

#![allow(clippy::duplicated_attributes, reason = "each column of a table has a type of its own")]

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ExportedSliceSpec;

/// An EndpointSlice to import: the copy of an exported one.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "networking.fleet.azure.com",
    version = "v1alpha1",
    kind = "EndpointSliceImport",
    plural = "endpointsliceimports",
    category = "fleet-networking",
    namespaced,
    derive = "PartialEq",
    derive = "Default",
    doc = "Carries an EndpointSlice of an imported Service from the hub to a member cluster.",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = ".spec.endpointSliceReference.clusterId"
    ),
    printcolumn(
        name = "Service",
        type_ = "string",
        json_path = ".spec.ownerServiceReference.namespacedName"
    ),
    printcolumn(name = "Address-Type", type_ = "string", json_path = ".spec.addressType"),
    printcolumn(
        name = "First-Endpoint",
        type_ = "string",
        json_path = ".spec.endpoints[0].addresses[0]"
    ),
    printcolumn(
        name = "Changed",
        type_ = "date",
        json_path = ".spec.endpointSliceReference.exportedSince"
    ),
    printcolumn(name = "Ports", type_ = "string", json_path = ".spec.ports", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(transparent)]
pub struct EndpointSliceImportSpec(pub ExportedSliceSpec);
