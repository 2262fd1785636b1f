//! Settings of the hub agent's controllers.

use std::time::Duration;

use fleet_api::names;
use fleet_model::denied_namespaces::DeniedNamespaces;
use fleet_model::multicluster::mode::Mode;

/// Default time that a member has to leave after its MemberCluster is deleted.
pub(crate) const FORCE_DELETE_WAIT: Duration = Duration::from_mins(15);

/// Default time for which exports must have been watched without a break before their absence counts.
const SETTLE: Duration = Duration::from_mins(1);

/// Default time for which a Service stays on the hub after its last export by the standard API.
const WITHDRAWN_FOR: Duration = Duration::from_hours(1);

/// Settings of the controllers. A plan depends on these, a snapshot and the time alone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct Settings {
    /// Only one member at a time can import a Service, as with the Go hub agent.
    pub exclusive_imports: bool,
    /// Namespaces whose Services are neither exported nor imported.
    pub denied_namespaces: DeniedNamespaces,
    /// Whether what a member policy does not list is withdrawn.
    pub enforce_member_policies: bool,
    /// How many endpoints a member may export for one Service.
    pub max_endpoints_per_service: usize,
    /// How many Services a member may export.
    pub max_services_per_member: usize,
    /// Time that a member has to leave after its MemberCluster is deleted.
    pub force_delete_wait: Duration,
    /// Time without a heartbeat after which a member is reported; `None`: five heartbeat periods, at least 60 s.
    pub heartbeat_ttl: Option<Duration>,
    /// Whether the agent serves the API of multicluster.x-k8s.io.
    pub multicluster: Mode,
    /// Id of the clusterset that the members form.
    pub clusterset_id: String,
    /// For how long exports by the standard API must have been watched without a break before one that is absent is withdrawn.
    pub multicluster_settle: Duration,
    /// How long a Service is kept, marked as withdrawn, after its last export.
    pub multicluster_withdrawn_for: Duration,
    /// Whether Pods are carried between members.
    pub virtual_nodes: bool,
    /// Whether drains and silent members are decided about.
    pub traffic: bool,
}

impl Default for Settings {
    /// The defaults of the flags.
    fn default() -> Self {
        Self {
            exclusive_imports: false,
            denied_namespaces: DeniedNamespaces::default().and(names::SYSTEM_NAMESPACE),
            enforce_member_policies: true,
            max_endpoints_per_service: 10_000,
            max_services_per_member: 5_000,
            force_delete_wait: FORCE_DELETE_WAIT,
            heartbeat_ttl: None,
            multicluster: Mode::Off,
            clusterset_id: "fleet".to_owned(),
            multicluster_settle: SETTLE,
            multicluster_withdrawn_for: WITHDRAWN_FOR,
            virtual_nodes: false,
            traffic: false,
        }
    }
}
