//! `EndpointSliceImport`: a copy of an exported EndpointSlice for one importer, on the hub.

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
    doc = "Carries an EndpointSlice of an imported Service from the hub to a member cluster."
)]
#[serde(transparent)]
pub struct EndpointSliceImportSpec(pub ExportedSliceSpec);
