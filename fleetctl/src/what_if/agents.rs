//! The controllers of the agents that take part.

use std::collections::BTreeSet;
use std::time::Duration;

use fleet_plan::Plan;
use fleet_runtime::clock::BootClock;
use hub_agent::member::MemberController;
use hub_agent::multicluster::MulticlusterController;
use hub_agent::service::ServiceController;
use hub_agent::snapshot::HubSnapshot;
use hub_agent::traffic::TrafficController;
use jiff::Timestamp;
use member_agent::MulticlusterMode as Mode;
use member_agent::export::ExportController;
use member_agent::import::ImportController;
use member_agent::measurement::Measurement;
use member_agent::multicluster::export::StandardExportController;
use member_agent::multicluster::import::StandardImportController;
use member_agent::snapshot::MemberSnapshot;
use member_agent::traffic_memory::TrafficMemory;

use super::worker::Worker;
use crate::controllers::{HubControllers, MemberControllers};

/// The controllers of the hub agent.
pub(super) struct HubWorkers {
    service: Worker<ServiceController>,
    member: Worker<MemberController>,
    multicluster: Option<Worker<MulticlusterController>>,
    traffic: Worker<TrafficController>,
}

impl HubWorkers {
    pub(super) fn new(settings: &hub_agent::Settings) -> Self {
        let HubControllers { service, member, multicluster } = HubControllers::new(settings);
        let is_on = settings.multicluster != Mode::Off;
        Self {
            service: Worker::new(service),
            member: Worker::new(member),
            multicluster: is_on.then(|| Worker::new(multicluster)),
            traffic: Worker::new(TrafficController),
        }
    }

    /// The plans of all of them.
    pub(super) fn plans(
        &mut self,
        snapshot: &HubSnapshot,
        now: Timestamp,
        at: Duration,
    ) -> Vec<Plan> {
        let mut plans = unkeyed(self.service.plans(snapshot, now, at));
        plans.extend(unkeyed(self.member.plans(snapshot, now, at)));
        if let Some(multicluster) = &mut self.multicluster {
            plans.extend(unkeyed(multicluster.plans(snapshot, now, at)));
        }
        plans.extend(unkeyed(self.traffic.plans(snapshot, now, at)));
        plans
    }

    /// When something is planned again without a change.
    pub(super) fn next_due(&self) -> Option<Duration> {
        let multicluster = self.multicluster.as_ref().and_then(Worker::next_due);
        let own = [self.service.next_due(), self.member.next_due(), self.traffic.next_due()];
        own.into_iter().chain([multicluster]).flatten().min()
    }
}

fn unkeyed<K, M>(plans: Vec<(K, Plan<M>)>) -> Vec<Plan> {
    plans.into_iter().map(|(_, plan)| plan.unmeasured()).collect()
}

/// The controllers of a member agent, and what they remember.
pub(super) struct MemberWorkers {
    export: Worker<ExportController>,
    import: Worker<ImportController>,
    standard: Option<(Worker<StandardExportController>, Worker<StandardImportController>)>,
    memory: TrafficMemory,
}

impl MemberWorkers {
    /// The agent does not import the Services `left_out` by the standard API.
    pub(super) fn new(
        settings: &member_agent::Settings,
        left_out: BTreeSet<String>,
        clock: BootClock,
    ) -> Self {
        let controllers = MemberControllers::new(settings);
        let memory = TrafficMemory::new(clock);
        let import = ImportController { memory: memory.clone(), ..controllers.import };
        let standard_import =
            StandardImportController { memory: memory.clone(), ..controllers.standard_import };
        let is_on = settings.multicluster.is_watched();
        let standard = || {
            let import = Worker::new(standard_import).without(left_out);
            (Worker::new(controllers.standard_export), import)
        };
        Self {
            export: Worker::new(controllers.export),
            import: Worker::new(import),
            standard: is_on.then(standard),
            memory,
        }
    }

    /// The plans of all of them.
    pub(super) fn plans(
        &mut self,
        snapshot: &MemberSnapshot,
        now: Timestamp,
        at: Duration,
    ) -> Vec<Plan<Measurement>> {
        let mut plans = measured(self.export.plans(snapshot, now, at));
        plans.extend(measured(self.import.plans(snapshot, now, at)));
        if let Some((export, import)) = &mut self.standard {
            plans.extend(measured(export.plans(snapshot, now, at)));
            plans.extend(measured(import.plans(snapshot, now, at)));
        }
        plans
    }

    /// Takes note of what a plan has decided that was carried out.
    pub(super) fn remember(&self, plan: &Plan<Measurement>) {
        for measured in &plan.measurements {
            self.memory.take(&measured.what);
        }
    }

    /// When something is planned again without a change.
    pub(super) fn next_due(&self) -> Option<Duration> {
        let standard = self.standard.iter();
        let standard = standard.flat_map(|(export, import)| [export.next_due(), import.next_due()]);
        let own = [self.export.next_due(), self.import.next_due()];
        own.into_iter().chain(standard).flatten().min()
    }
}

fn measured<K>(plans: Vec<(K, Plan<Measurement>)>) -> Vec<Plan<Measurement>> {
    plans.into_iter().map(|(_, plan)| plan).collect()
}
