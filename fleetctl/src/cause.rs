//! Why a Service gets no further: a closed set, for scripts and for the page of commands.

use serde::Serialize;

macro_rules! causes {
    ($($name:ident: $meaning:literal,)*) => {
        /// Why a Service gets no further.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        pub enum Cause {
            $(#[doc = $meaning] $name,)*
        }

        impl Cause {
            /// Every cause, in the order of the way.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// What it means.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => $meaning,)*
                }
            }
        }
    };
}

causes! {
    NoRight: "you may not read something that has to be looked at",
    DefinitionMissing: "a cluster does not serve a kind of the fleet: its chart or definitions are not installed",
    NotRead: "something could not be read in time",
    MemberHomeMissing: "the hub has no namespace for the member: it has not joined",
    MemberSilent: "the member's agent has not been heard of for five heartbeats, or never",
    MemberLeaving: "the member is told to leave the fleet",
    MemberLeft: "the member has left the fleet",
    NotExported: "no member exports the Service",
    ExportTerminating: "the ServiceExport is being deleted",
    ServiceNotFound: "there is a ServiceExport without its Service",
    ServiceIneligible: "the Service is headless or only a name (type `ExternalName`)",
    SystemNamespace: "nothing is exported from or imported into the agents' own namespace",
    WeightZero: "the ServiceExport has the weight 0",
    WeightInvalid: "the weight of the ServiceExport is no number from 0 to 1000",
    NoEndpoints: "the Service has no ready endpoint",
    AgentBehind: "a member's agent has not written what it should have: it does not run, or cannot",
    AgentBlocked: "an agent has not written what it should have, and says what it waits for",
    ReferenceRefused: "the hub agent does not believe an export that names another cluster than its own",
    HubNamespaceMissing: "the hub has no namespace of the Service's name",
    HubImportHeld: "somebody else's finalizer holds the ServiceImport of the hub, which is being deleted",
    Conflict: "the ports differ from those that the fleet uses",
    HubAgentBehind: "the hub agent has not written what it should have: it does not run, or cannot",
    NotImported: "the Service is exported, and no member imports it",
    NamespaceTerminating: "a namespace of the Service is being deleted",
    ImportTerminating: "the MultiClusterService is being deleted",
    ImportHeldHere: "another MultiClusterService of the same member has imported the Service",
    ImportForeign: "a ServiceImport of that name is somebody else's",
    NoFreeName: "every name that the derived Service, or the export on the hub, could have is taken",
    ImportHeldByCluster: "another cluster imports the Service alone (`--exclusive-imports`)",
    NotGranted: "the hub has not granted the import",
    SystemNamespaceMissing: "the namespace of derived Services does not exist or is being deleted",
    DerivedServiceMissing: "the derived Service is missing, or being deleted",
}
