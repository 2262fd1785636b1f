//! ServiceExport, v1alpha1: still served, with the same schema as v1beta1.

#![allow(clippy::duplicated_attributes, reason = "each column of a table has a type of its own")]

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ServiceExportStatus;

/// Fields of a ServiceExport beside metadata and status: none.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "networking.fleet.azure.com",
    version = "v1alpha1",
    kind = "ServiceExport",
    plural = "serviceexports",
    shortname = "svcexport",
    category = "fleet-networking",
    namespaced,
    no_spec,
    status = "ServiceExportStatus",
    derive = "PartialEq",
    derive = "Default",
    storage = false,
    doc = "Exports the Service of the same namespace and name to the other clusters of the fleet.",
    validation = crate::crds::rules::name_rule(),
    printcolumn(
        name = "Is-Valid",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Valid')].status"
    ),
    printcolumn(
        name = "Is-Conflicted",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Conflict')].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Valid')].reason"
    ),
    printcolumn(
        name = "Conflict",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Conflict')].message",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct ServiceExportFields {}
