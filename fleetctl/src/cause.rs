//! Reasons why a Service does not reach its importers: a closed set, for scripts and for docs/fleetctl.md.

use serde::Serialize;

macro_rules! causes {
    ($($name:ident: $meaning:literal,)*) => {
        /// The reason why a Service does not reach its importers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        pub enum Cause {
            $(#[doc = $meaning] $name,)*
        }

        impl Cause {
            /// Every cause, in the order of the path from exporter to importer.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its meaning, for docs/fleetctl.md.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => $meaning,)*
                }
            }
        }
    };
}

impl Cause {
    /// Whether a fleet that works has it now and then, between two writes.
    pub(crate) fn is_passing(self) -> bool {
        matches!(
            self,
            Self::AgentBehind
                | Self::HubAgentBehind
                | Self::NotGranted
                | Self::DerivedServiceMissing
                | Self::NoAddress
                | Self::NotAccepted
                | Self::StandardOff
        )
    }
}

causes! {
    NoRight: "you lack the right to read a kind that the command needs",
    DefinitionMissing: "a cluster does not serve a kind of the fleet: its chart or definitions are not installed",
    NotRead: "an object could not be read in time",
    MemberHomeMissing: "the hub has no namespace for the member: it has not joined",
    OtherCluster: "the hub has recorded another cluster under the member's name, so the agent of this one writes nothing",
    MemberSilent: "the member's agent has missed five heartbeats, or never sent one",
    MemberLeaving: "the member is asked to leave the fleet",
    MemberLeft: "the member has left the fleet",
    StandardOff: "an agent does not serve the API of multicluster.x-k8s.io (`--multicluster`), or the definitions of that API are not installed",
    NotAccepted: "the hub agent has not accepted the member for the API of multicluster.x-k8s.io",
    OtherClusterId: "the ClusterProperty `cluster.clusterset.k8s.io` gives the cluster another id than the fleet",
    NotExported: "no member exports the Service",
    ExportTerminating: "the ServiceExport is being deleted",
    ServiceNotFound: "there is a ServiceExport without its Service",
    ServiceIneligible: "the Service is headless (which multicluster.x-k8s.io exports), of type `ExternalName`, or was made for an import",
    NoAddress: "the Service has no cluster IP yet",
    SystemNamespace: "Services in the agents' own namespace cannot be exported or imported",
    PolicyDenied: "the member policy on the hub does not list the Service among the exports or imports of the member",
    NamespaceDenied: "Services of the namespace are neither exported nor imported (`--denied-namespaces`)",
    WeightZero: "the ServiceExport has the weight 0",
    WeightInvalid: "the weight of the ServiceExport is not a number from 0 to 1000",
    NoEndpoints: "the Service has no ready endpoint",
    AgentBehind: "a member agent has not made a write that is due: it does not run, or cannot write",
    AgentBlocked: "an agent has not made a write that is due, and reports what blocks it",
    ReferenceRefused: "the hub agent rejects an export that names another cluster than its namespace does",
    ExportRefused: "the hub agent rejects an export of multicluster.x-k8s.io: it cannot be decoded, or has ports that no Service can have",
    DuplicateExport: "the hub agent rejects an export, since the member has an older one of the same Service",
    LimitExceeded: "the hub agent rejects an export because a field exceeds a bound, for example the number of ports, or because the member exports too many Services",
    HubNamespaceMissing: "the hub has no namespace of the Service's name",
    HubImportHeld: "the hub's ServiceImport is being deleted, and a finalizer of another party is still on it",
    Conflict: "the ports differ from those in force",
    PortsWithheld: "ports of an exporter contradict those in force by multicluster.x-k8s.io, so no importer uses them",
    HubAgentBehind: "the hub agent has not made a write that is due: it does not run, or cannot write",
    NotImported: "the Service is exported, and no member imports it",
    NamespaceTerminating: "a namespace of the Service is being deleted",
    ImportTerminating: "the MultiClusterService is being deleted",
    ImportHeldHere: "another MultiClusterService of the same member imports the Service",
    ImportForeign: "a ServiceImport of that name exists that the agent did not create",
    NoFreeName: "every possible name of the derived Service, or of the export on the hub, is taken",
    ImportHeldByCluster: "another cluster imports the Service exclusively (`--exclusive-imports`)",
    NotGranted: "the hub has not granted the import",
    SystemNamespaceMissing: "the namespace of derived Services does not exist or is being deleted",
    FamilyNotSupported: "the importing cluster has no addresses of a family that the exporters have",
    ImportKept: "the hub has lost the Service, and the importing cluster keeps what it had",
    EndpointsRefused: "the importing cluster skips endpoints: their addresses are reserved there, or an exporter has too many",
    NamesNotServed: "the cluster does not serve ServiceImports in the version that CoreDNS reads, so no name in clusterset.local resolves",
    DerivedServiceMissing: "the derived Service is missing, or being deleted",
    NotReached: "connections that the importing cluster's agent opens are not answered (`reachability.mode`): the name, the address, the route or the endpoints",
}
