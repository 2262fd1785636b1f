//! Random actions, and how they are asked about.

use std::fmt;

use fleet_api::traffic::FLEET_TRAFFIC;
use fleet_api::{ResourceKind, kinds};
use fleet_testbed::random::Random;
use serde_json::{Value, json};

use super::{MEMBERS, SERVICES, SHOP};

const PREFERENCES: [&str; 2] = ["None", "LocalFirst"];

/// What is done. Members are positions.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Lose(usize),
    Drain { member: usize, service: Option<&'static str>, force: bool },
    Undrain(usize),
    Unexport { service: &'static str, from: Option<usize> },
    Fleet(Value),
    Policy { to: Option<usize>, service: &'static str, spec: Value },
}

impl Action {
    pub(super) fn any(random: &mut Random) -> Self {
        let member = random.below(MEMBERS);
        let service = SERVICES[random.below(SERVICES.len())];
        let preference = PREFERENCES[random.below(2)];
        match random.below(10) {
            0 | 1 => {
                let service = (random.below(2) > 0).then_some(service);
                Self::Drain { member, service, force: random.below(3) == 0 }
            }
            2 | 3 => Self::Undrain(member),
            4 => Self::Unexport { service, from: (random.below(3) > 0).then_some(member) },
            5 => {
                let defaults = json!({ "preference": preference });
                Self::Fleet(json!({ "silentAfterSeconds": 30, "defaults": defaults }))
            }
            _ => {
                let weights = json!([{ "cluster": name(member), "weight": random.below(2) }]);
                let spec = json!({ "preference": preference, "weights": weights });
                let to = (random.below(2) > 0).then(|| random.below(MEMBERS));
                Self::Policy { to, service, spec }
            }
        }
    }

    /// Kind, namespace, name and specification of what is applied, and the member that it is applied to.
    pub(super) fn applied(&self) -> Option<Applied> {
        let (kind, name, spec, to) = match self {
            Self::Undrain(member) => {
                (kinds::MEMBER_TRAFFIC, name(*member), json!({ "drains": [] }), None)
            }
            Self::Fleet(spec) => {
                (kinds::FLEET_TRAFFIC, FLEET_TRAFFIC.to_owned(), spec.clone(), None)
            }
            Self::Policy { to, service, spec } => {
                (kinds::SERVICE_TRAFFIC, (*service).to_owned(), spec.clone(), *to)
            }
            _ => return None,
        };
        Some(Applied { kind, namespace: kind.namespaced.then_some(SHOP), name, spec, to })
    }

    /// The document that is applied.
    pub(super) fn document(&self) -> Option<Value> {
        let Applied { kind, namespace, name, spec, .. } = self.applied()?;
        Some(json!({
            "apiVersion": kind.api_version(), "kind": kind.kind,
            "metadata": { "name": name, "namespace": namespace }, "spec": spec,
        }))
    }

    /// Arguments of `what-if`, where `file` has the document.
    pub(super) fn arguments(&self, file: &str) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        match self {
            Self::Lose(member) => words(&["lose", &name(*member)]),
            Self::Drain { member, service, force } => {
                let mut all: Vec<String> = words(&["drain", &name(*member)]);
                if let Some(service) = service {
                    all.extend(["--service".to_owned(), format!("{SHOP}/{service}")]);
                }
                all.extend(force.then(|| "--force".to_owned()));
                all
            }
            Self::Unexport { service, from } => {
                let mut all: Vec<String> = words(&["unexport", &format!("{SHOP}/{service}")]);
                if let Some(member) = from {
                    all.extend(["--from".to_owned(), name(*member)]);
                }
                all
            }
            _ => {
                let mut all: Vec<String> = words(&["apply", "-f", file]);
                if let Some(member) = self.applied().and_then(|it| it.to) {
                    all.extend(["--to".to_owned(), name(member)]);
                }
                all
            }
        }
    }
}

/// As a line of a log.
impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.arguments("-").join(" "))?;
        self.document().map_or(Ok(()), |document| write!(f, " {document}"))
    }
}

/// What is applied, and where.
pub(super) struct Applied {
    pub(super) kind: ResourceKind,
    pub(super) namespace: Option<&'static str>,
    pub(super) name: String,
    pub(super) spec: Value,
    pub(super) to: Option<usize>,
}

/// The name of a member.
pub(super) fn name(member: usize) -> String {
    format!("member-{}", member + 1)
}
