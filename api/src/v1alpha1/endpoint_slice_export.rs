//! `EndpointSliceExport`: an EndpointSlice that a member exports, on the hub.

#![allow(clippy::duplicated_attributes, reason = "each column of a table has a type of its own")]

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ExportedSliceSpec;

/// An exported EndpointSlice.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "networking.fleet.azure.com",
    version = "v1alpha1",
    kind = "EndpointSliceExport",
    plural = "endpointsliceexports",
    category = "fleet-networking",
    namespaced,
    derive = "PartialEq",
    derive = "Default",
    doc = "Carries an EndpointSlice of an exported Service from a member cluster to the hub.",
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
pub struct EndpointSliceExportSpec(pub ExportedSliceSpec);
