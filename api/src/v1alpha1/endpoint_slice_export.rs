//! `EndpointSliceExport`: an EndpointSlice that a member exports, on the hub.

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
    doc = "Carries an EndpointSlice of an exported Service from a member cluster to the hub."
)]
#[serde(transparent)]
pub struct EndpointSliceExportSpec(pub ExportedSliceSpec);
