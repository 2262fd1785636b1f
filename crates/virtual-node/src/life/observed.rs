//! What is observed of one Pod and its virtual node.

use std::net::IpAddr;
use std::time::Duration;

use fleet_api::offload::{
    ConfigCopy, ConfigKind, OffloadTerms, PodExportSpec, PodRejection, RemoteStatus,
    VirtualNodePhase,
};
use fleet_model::cidr::Cidrs;

use crate::pod::{DnsOption, LocalPod};
use crate::status::Link;

/// The export of a Pod, as the hub has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExportState {
    /// What crosses.
    pub spec: PodExportSpec,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether the executor has taken it.
    pub accepted: bool,
    /// Why it is not taken.
    pub rejected: Option<PodRejection>,
    /// The status of the remote Pod.
    pub remote: Option<RemoteStatus>,
    /// Whether the executor has nothing of it any more.
    pub released: bool,
}

/// For how long the views that a decision rests on have been complete without a break; `None` while they are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Views {
    /// That of the Pods of this cluster.
    pub pods: Option<Duration>,
    /// That of the hub's exports. It begins anew with another incarnation of the hub.
    pub exports: Option<Duration>,
}

/// The virtual node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeState {
    /// The member that the agent runs in.
    pub cluster: String,
    /// The executor.
    pub executor: String,
    /// How far the virtual node is.
    pub phase: VirtualNodePhase,
    /// What the executor accepts.
    pub terms: OffloadTerms,
    /// Ranges of its Pods.
    pub ranges: Cidrs,
    /// The link to it.
    pub link: Link,
    /// For how long the executor has given no sign; `None` while it does. Measured by the clock of the origin.
    pub silent: Option<Duration>,
    /// Names of this cluster for Pods, if the executor offers that and the administrators want it.
    pub dns: Option<DnsOption>,
    /// Address of the virtual node.
    pub address: Option<IpAddr>,
    /// Whether an administrator has given up the executor: its Pods are released without its confirmation.
    pub abandoned: bool,
}

/// Everything that a decision about one uid rests on.
pub struct Observed<'a> {
    /// The uid.
    pub uid: &'a str,
    /// The Pod that is bound to the virtual node. One of another uid is another Pod.
    pub pod: Option<&'a LocalPod>,
    /// Its export.
    pub export: Option<&'a ExportState>,
    /// The virtual node.
    pub node: &'a NodeState,
    /// How complete the views are.
    pub views: Views,
    /// Contents of config maps and Secrets of the Pod's namespace.
    pub config: &'a dyn Fn(ConfigKind, &str) -> Option<ConfigCopy>,
}

impl<'a> Observed<'a> {
    /// The Pod of this uid.
    pub(super) fn local(&self) -> Option<&'a LocalPod> {
        self.pod.filter(|pod| pod.uid == self.uid)
    }
}

/// Whether the executor has reported nothing of an export: neither a Pod, nor that it takes none.
pub(super) fn is_unreported(export: &ExportState) -> bool {
    export.remote.is_none() && export.rejected.is_none()
}

/// Whether what a view lacks can be taken for gone: it has been complete for long enough.
pub(super) fn is_settled(view: Option<Duration>) -> bool {
    view.is_some_and(|complete| complete >= SETTLED)
}

/// For how long a view has to be complete before something that it lacks counts as gone.
pub(super) const SETTLED: Duration = Duration::from_mins(1);
