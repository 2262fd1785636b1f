//! The agents' controllers whose plans the commands compute, and the sources that these read.

use fleet_accumulator::SourceSet;
use fleet_plan::Controller as _;
use hub_agent::member::MemberController;
use hub_agent::member_leases::MemberLeases;
use hub_agent::multicluster::MulticlusterController;
use hub_agent::service::ServiceController;
use hub_agent::snapshot::HubSnapshot;
use member_agent::export::ExportController;
use member_agent::import::ImportController;
use member_agent::membership::MembershipController;
use member_agent::multicluster::export::StandardExportController;
use member_agent::multicluster::import::StandardImportController;
use member_agent::snapshot::MemberSnapshot;

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

    /// What the controllers read, the members' Leases, and what is decided about traffic.
    pub(crate) fn reads(&self) -> SourceSet {
        let own = self.service.reads().union(self.member.reads());
        let traffic = [HubSnapshot::fleet_traffics(), HubSnapshot::member_traffics()];
        let others = MemberLeases::sources().union(traffic.into());
        own.union(self.multicluster.reads()).union(others)
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
            import: ImportController::new(settings.clone()),
            membership: MembershipController::new(settings.clone()),
            standard_export: StandardExportController { settings: settings.clone() },
            standard_import: StandardImportController::new(settings.clone()),
        }
    }

    /// What the controllers read, imported slices with all their fields, and what agents report of traffic policies.
    pub(crate) fn reads(&self) -> SourceSet {
        let traffic = [MemberSnapshot::managed_slices(), MemberSnapshot::service_traffics()];
        let fleet = self.export.reads().union(self.import.reads()).union(self.membership.reads());
        let standard = self.standard_export.reads().union(self.standard_import.reads());
        fleet.union(standard).union(traffic.into())
    }
}
