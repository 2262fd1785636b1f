//! Exports that do not count, and why.

use fleet_accumulator::Object;
use fleet_api::conditions::{self, standard};
use fleet_api::{ObjectName, events};
use fleet_model::objects::multicluster::ExportedService;
use fleet_model::steps::HUB;
use fleet_plan::Plan;
use fleet_plan::conditions::{Wanted, apply};
use fleet_plan::text::truncate;
use jiff::Timestamp;
use serde_json::json;

use crate::snapshot::HubSnapshot;

/// Maximum length of what is reported about an object that cannot be decoded, in bytes: it quotes the object.
const MAX_DEFECT: usize = 256;

/// Why an export does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Its namespace belongs to no member.
    NoMember,
    /// No Service can have the name in it.
    NoService,
    /// It cannot be decoded.
    Unreadable(String),
    /// It exceeds a bound.
    Excess(String),
    /// One of its ports is none that a Service can have.
    PortsInvalid,
    /// It has the same port twice.
    PortsNotUnique,
    /// Services of the namespace are not shared, and this one was not before.
    NamespaceDenied,
    /// The member policy does not list its Service.
    PolicyDenied,
    /// Its member exports as many Services as it may, which is this many.
    NoPlace(usize),
    /// The member has an older one for the same Service.
    Duplicate,
    /// What is in force would become too large.
    NoRoom,
}

impl Refusal {
    /// The reason of the condition and, where there is one, of the Event.
    fn reason(&self) -> &'static str {
        match self {
            Self::NoMember | Self::NoService | Self::Unreadable(_) => standard::INVALID,
            Self::Excess(_) | Self::NoRoom | Self::NoPlace(_) => standard::LIMIT_EXCEEDED,
            Self::PortsInvalid => standard::PORTS_INVALID,
            Self::PortsNotUnique => standard::PORTS_NOT_UNIQUE,
            Self::NamespaceDenied => standard::NAMESPACE_DENIED,
            Self::PolicyDenied => standard::POLICY_DENIED,
            Self::Duplicate => standard::DUPLICATE,
        }
    }

    fn event(&self) -> &'static str {
        match self {
            Self::NoMember
            | Self::NoService
            | Self::Unreadable(_)
            | Self::PortsInvalid
            | Self::PortsNotUnique => events::EXPORT_REFUSED,
            Self::Excess(_) | Self::NoRoom | Self::NoPlace(_) => events::LIMIT_EXCEEDED,
            Self::NamespaceDenied => events::NAMESPACE_DENIED,
            Self::PolicyDenied => events::POLICY_DENIED,
            Self::Duplicate => events::DUPLICATE,
        }
    }

    /// What the user of the member has to know.
    fn message(&self) -> String {
        match self {
            Self::NoMember => "its namespace on the hub belongs to no member".to_owned(),
            Self::NoService => "no Service can have the name in spec.service".to_owned(),
            Self::Unreadable(defect) => {
                format!("it cannot be decoded: {}", truncate(defect, MAX_DEFECT))
            }
            Self::Excess(excess) => excess.clone(),
            Self::PortsInvalid => {
                "no Service can have the name, protocol, number or application protocol of one of its ports"
                    .to_owned()
            }
            Self::PortsNotUnique => {
                "two of its ports have the same name, or the same protocol and number".to_owned()
            }
            Self::NamespaceDenied => "the hub shares no services of this namespace".to_owned(),
            Self::PolicyDenied => {
                "the member policy does not list the service among its exports".to_owned()
            }
            Self::NoPlace(limit) => format!(
                "the member exports as many services as the hub accepts of a member (--max-services-per-member={limit})"
            ),
            Self::Duplicate => "the member has an older export of the same service".to_owned(),
            Self::NoRoom => {
                "too many ports of other exporters have the same names or numbers as its own, or too many clusters export \
                 the service"
                    .to_owned()
            }
        }
    }
}

/// Reports to an export whether it is refused, unless that is known already.
pub(super) fn report(
    export: &Object<ExportedService>,
    refusal: Option<&Refusal>,
    now: Timestamp,
    plan: &mut Plan,
) {
    let present = &export.conditions;
    let conditions = match refusal {
        Some(refusal) => {
            let message = refusal.message();
            plan.events.push(HUB.warning(export, refusal.event(), format!("rejected: {message}")));
            let wanted = Wanted {
                type_: conditions::READY,
                status: conditions::FALSE.to_owned(),
                reason: refusal.reason().to_owned(),
                message,
                generation: export.meta.generation,
            };
            apply(present, [wanted], now)
        }
        None => (!present.is_empty()).then(Vec::new),
    };
    if let Some(conditions) = conditions {
        plan.push(HUB.status(export, &json!({ "conditions": conditions })));
    }
}

/// Reports to an export that it names no Service.
pub(super) fn of_nothing(
    name: &ObjectName,
    snapshot: &HubSnapshot,
    now: Timestamp,
    plan: &mut Plan,
) {
    let export = snapshot.exported_services.get(name);
    // Deleted, or it names one by now.
    let export = export.filter(|it| it.service.is_none() && !it.meta.is_terminating());
    let Some(export) = export else { return };
    let defect = export.unreadable.as_ref().map(|defect| Refusal::Unreadable(defect.to_string()));
    report(export, Some(&defect.unwrap_or(Refusal::NoService)), now, plan);
}
