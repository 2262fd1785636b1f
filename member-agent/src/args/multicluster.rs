//! Flags of the standard API of SIG Multicluster.

use std::str::FromStr as _;
use std::time::Duration;

use clap::ArgAction;
use fleet_runtime::args::duration;

use crate::{ImportNamespaces, Multicluster, MulticlusterMode};

/// How the standard API is served.
#[derive(clap::Args, Clone, Debug)]
pub struct MulticlusterArgs {
    /// Whether Services are exported and imported through the standard API of SIG Multicluster (multicluster.x-k8s.io), too: `on`,
    /// `off`, or `clean-up`, which withdraws what was exported and deletes what was imported. The hub agent has the same flag.
    /// Requires the networking features, and definitions of that API in this cluster.
    #[arg(
        id = "multicluster_mode",
        long = "multicluster",
        env = "MULTICLUSTER",
        value_name = "MODE",
        default_value_t,
        value_parser = MulticlusterMode::from_str
    )]
    pub mode: MulticlusterMode,

    /// Time for which the hub's objects of the standard API must have been watched without a break before something that
    /// is missing there counts as deleted.
    #[arg(
        long,
        env = "MULTICLUSTER_SETTLE",
        default_value = "60s",
        value_name = "DURATION",
        value_parser = duration
    )]
    pub multicluster_settle: Duration,

    /// Take the labels and annotations that ServiceExports of the standard API ask for: to other clusters, and from them.
    #[arg(
        long,
        env = "MULTICLUSTER_EXPORTED_METADATA",
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true"
    )]
    pub multicluster_exported_metadata: bool,

    /// Services of other clusters that are imported through the standard API: a list of namespaces, of Services as
    /// namespace/name, or * for all. Into namespaces that this cluster does not have, nothing is imported.
    #[arg(
        long,
        env = "MULTICLUSTER_IMPORT_NAMESPACES",
        default_value = "*",
        value_name = "LIST",
        value_parser = ImportNamespaces::from_str
    )]
    pub multicluster_import_namespaces: ImportNamespaces,

    /// Give endpoints that are imported through the standard API the zones that they have in their own clusters.
    #[arg(
        long,
        env = "MULTICLUSTER_ZONES",
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true"
    )]
    pub multicluster_zones: bool,
}

impl MulticlusterArgs {
    /// The settings that the flags give.
    pub(super) fn settings(&self) -> Multicluster {
        Multicluster {
            mode: self.mode,
            settle: self.multicluster_settle,
            exported_metadata: self.multicluster_exported_metadata,
            import_namespaces: self.multicluster_import_namespaces.clone(),
            zones: self.multicluster_zones,
        }
    }
}
