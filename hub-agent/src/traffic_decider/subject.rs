use std::sync::{Arc, LazyLock};

use fleet_api::ObjectName;
use fleet_api::names::{MEMBER_LEASE, member_namespace};
use fleet_api::traffic::{
    DrainRequest, DrainStatus, MemberTrafficSpec, MemberTrafficStatus, SilenceInstruction,
};
use fleet_model::objects::{ClusterReport, MemberLease};
use fleet_traffic::Instruction;

use crate::snapshot::HubSnapshot;

static NO_SPEC: LazyLock<MemberTrafficSpec> = LazyLock::new(MemberTrafficSpec::default);
static NO_STATUS: LazyLock<MemberTrafficStatus> = LazyLock::new(MemberTrafficStatus::default);

/// One member: what is asked for and what is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    pub(super) name: &'a Arc<str>,
    pub(super) spec: &'a MemberTrafficSpec,
    pub(super) stored: &'a MemberTrafficStatus,
    pub(super) snapshot: &'a HubSnapshot,
}

impl<'a> Subject<'a> {
    pub(super) fn of(name: &'a Arc<str>, snapshot: &'a HubSnapshot) -> Self {
        let object = snapshot.member_traffics.get(&ObjectName::cluster(Arc::clone(name)));
        let (spec, stored) =
            object.map_or((&*NO_SPEC, &*NO_STATUS), |object| (&object.spec, &object.status));
        Self { name, spec, stored, snapshot }
    }

    pub(super) fn lease(&self) -> Option<&'a MemberLease> {
        let name = ObjectName::new(member_namespace(self.name), MEMBER_LEASE);
        self.snapshot.member_leases.get(&name).map(|lease| &*lease.object)
    }

    pub(super) fn report(&self) -> Option<&'a ClusterReport> {
        let name = ObjectName::new(member_namespace(self.name), Arc::clone(self.name));
        self.snapshot.cluster_reports.get(&name).map(|report| &*report.object)
    }

    /// A confirmation that has lapsed is none.
    pub(super) fn instruction(&self) -> Instruction {
        let lapsed = self.stored.silence.as_ref().is_some_and(|silence| silence.lapsed);
        match self.spec.silence {
            SilenceInstruction::Confirmed if !lapsed => Instruction::Confirmed,
            SilenceInstruction::Auto | SilenceInstruction::Confirmed => Instruction::Auto,
            SilenceInstruction::Never => Instruction::Never,
        }
    }

    pub(super) fn request(&self, service: &str) -> Option<&'a DrainRequest> {
        self.spec.drains.iter().find(|drain| drain.service == service)
    }

    pub(super) fn drain(&self, service: &str) -> Option<&'a DrainStatus> {
        self.stored.drains.iter().find(|drain| drain.service == service)
    }
}
