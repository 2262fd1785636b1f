use crate::local::LocalEndpoints;

/// How far own endpoints have passed from one writer to the other, as the cluster shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct Handover {
    /// This cluster is an exporter.
    pub exported: bool,
    /// The derived Service has the selector.
    pub selected: bool,
    /// A slice of the agent names zones.
    pub hinted: bool,
    /// Kubernetes has slices of the derived Service, of every family that is needed.
    pub written: bool,
    /// It has slices of the derived Service.
    pub lingers: bool,
    /// In its slices is every endpoint that is ready, with the ports that it has, and its selector is that of the exported Service.
    pub covered: bool,
    /// Own slices of the agent are there and take no traffic, and the selector is that of the exported Service.
    pub recorded: bool,
    /// All own slices of the agent take traffic.
    pub bound: bool,
}

/// What is to be next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is one write or none")]
pub struct HandoverSteps {
    /// The derived Service has the selector.
    pub selects: bool,
    /// Own slices of the agent take no traffic: Kubernetes' own do.
    pub records: bool,
    /// What Kubernetes has left behind goes.
    pub sweeps: bool,
    /// Endpoints name no zones, since those that Kubernetes writes do not.
    pub plain: bool,
}

impl Handover {
    /// The steps towards a mode. Each waits until the cluster shows the one before, so that some slice has the own endpoints at
    /// any time:
    ///
    /// ```text
    /// Agent → Kubernetes   no hints → selector → Kubernetes has written all → own slices step aside
    /// Kubernetes → Agent   own slices take traffic → no selector → Kubernetes' slices go → hints
    /// ```
    pub fn steps(self, mode: LocalEndpoints) -> HandoverSteps {
        match mode {
            LocalEndpoints::Kubernetes => HandoverSteps {
                selects: self.selected || !self.hinted,
                records: self.selected && self.written && (self.recorded || self.covered),
                sweeps: false,
                plain: true,
            },
            LocalEndpoints::Agent => {
                // Without an export here no own endpoint is to be in use.
                let is_done = self.bound || !self.exported;
                HandoverSteps {
                    selects: self.selected && !is_done,
                    records: false,
                    sweeps: self.lingers && !self.selected && is_done,
                    plain: self.selected || self.lingers,
                }
            }
        }
    }
}
