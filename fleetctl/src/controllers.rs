//! The agents' controllers whose plans the commands compute, and the sources that these read.

use fleet_accumulator::SourceSet;
use fleet_plan::Controller as _;
use hub_agent::member::MemberController;
use hub_agent::member_leases::MemberLeases;
use hub_agent::multicluster::MulticlusterController;
use hub_agent::service::ServiceController;
use member_agent::export::ExportController;
use member_agent::import::ImportController;
use member_agent::membership::MembershipController;
use member_agent::multicluster::export::StandardExportController;
use member_agent::multicluster::import::StandardImportController;

/// The controllers of the hub agent.
#[derive(Default)]
pub(crate) struct HubControllers {
    pub(crate) service: ServiceController,
    pub(crate) member: MemberController,
    pub(crate) multicluster: MulticlusterController,
}

impl HubControllers {
    /// The controllers with these settings.
    pub(crate) fn new(settings: &hub_agent::Settings) -> Self {
        Self {
            service: ServiceController { settings: settings.clone() },
            member: MemberController { settings: settings.clone() },
            multicluster: MulticlusterController { settings: settings.clone() },
        }
    }

    /// What the controllers read, and the members' Leases.
    pub(crate) fn reads(&self) -> SourceSet {
        let own = self.service.reads().union(self.member.reads());
        own.union(self.multicluster.reads()).union(MemberLeases::sources())
    }
}

/// The controllers of a member agent.
pub(crate) struct MemberControllers {
    pub(crate) export: ExportController,
    pub(crate) import: ImportController,
    pub(crate) membership: MembershipController,
    pub(crate) standard_export: StandardExportController,
    pub(crate) standard_import: StandardImportController,
}

impl MemberControllers {
    /// The controllers with these settings.
    pub(crate) fn new(settings: &member_agent::Settings) -> Self {
        Self {
            export: ExportController { settings: settings.clone() },
            import: ImportController { settings: settings.clone() },
            membership: MembershipController { settings: settings.clone() },
            standard_export: StandardExportController { settings: settings.clone() },
            standard_import: StandardImportController { settings: settings.clone() },
        }
    }

    /// What the controllers read.
    pub(crate) fn reads(&self) -> SourceSet {
        let fleet = self.export.reads().union(self.import.reads()).union(self.membership.reads());
        fleet.union(self.standard_export.reads()).union(self.standard_import.reads())
    }
}
