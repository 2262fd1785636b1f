//! What users read: L8 (nothing is forgotten), L9 (conditions are true, and their time is that of the last change).

use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use fleet_api::{annotations, kinds, labels};
use serde_json::Value;

use super::history::{HUB, History, Life};
use super::object::{
    annotation, condition, condition_status, exporters, label, list, subject, terminating, text,
};
use super::quiescence::{Moment, moments, takes_part};
use super::tenancy::claimants;
use super::violation::{Violation, said};

/// All of them.
pub(super) fn check(history: &History<'_>) -> Vec<Violation> {
    let moments = moments(history);
    let mut found: Vec<Violation> = moments.iter().flat_map(|moment| at(history, moment)).collect();
    for life in &history.lives {
        found.extend(false_times(life));
    }
    found
}

/// What users read at a moment.
pub(super) fn at(history: &History<'_>, moment: &Moment) -> Vec<Violation> {
    let mut found = Vec::new();
    for service in history.services(&moment.namespace) {
        for member in history.members() {
            if takes_part(history, member, moment.until()) {
                found.extend(exports(history, moment, (member, service)));
                found.extend(imports(history, moment, (member, service)));
            }
        }
        found.extend(grants(history, moment, service));
    }
    found
}

/// The objects about a Service that are there and stay.
fn living<'b, 'a: 'b>(
    lives: impl Iterator<Item = &'b Life<'a>>,
    moment: &Moment,
    service: &str,
) -> Vec<(&'b Life<'a>, &'a Value)> {
    let there = |life: &'b Life<'a>| life.at(moment.until()).map(|object| (life, object));
    let stays = |(life, object): &(&Life<'_>, &Value)| {
        !terminating(object) && subject(life.kind, object).as_deref() == Some(service)
    };
    lives.filter_map(there).filter(stays).collect()
}

/// A ServiceExport states whether its Service can be exported, and what the hub decided.
fn exports(
    history: &History<'_>,
    moment: &Moment,
    (member, service): (&str, &str),
) -> Vec<Violation> {
    let mut found = Vec::new();
    for (life, export) in
        living(history.about(member, kinds::SERVICE_EXPORT, service), moment, service)
    {
        let mut say = |invariant, sentence: String| {
            found.extend(said(invariant, life, moment, sentence));
        };
        let valid = condition_status(export, "Valid");
        if valid.is_empty() {
            say("L8", "no agent has looked at it".to_owned());
            continue;
        }
        let services = living(history.about(member, kinds::SERVICE, service), moment, service);
        let eligible = services.first().is_some_and(|(_, service)| is_eligible(service));
        let weight = annotation(export, annotations::WEIGHT);
        let weighed = weight.is_empty()
            || weight.parse().is_ok_and(|weight: i64| (0..=1000).contains(&weight));
        let expected = eligible && weighed && life.namespace() != SYSTEM_NAMESPACE;
        if (valid == "True") != expected {
            say("L9", format!("Valid is {valid}, but eligible is {expected}"));
        }
        let home = member_namespace(member);
        let on_hub = history.about(HUB, kinds::INTERNAL_SERVICE_EXPORT, service);
        let judged = living(on_hub, moment, service);
        let judged = judged.iter().find(|(one, _)| one.namespace() == home);
        let verdict = judged.map_or("", |(_, one)| condition_status(one, "Conflict"));
        let told = condition_status(export, "Conflict");
        if matches!(verdict, "True" | "False") && told != verdict {
            say("L9", format!("Conflict is {told}, but the hub has {verdict}"));
        }
        for wanted in ["Valid", "Conflict"] {
            let seen = condition(export, wanted).map(|one| &one["observedGeneration"]);
            if seen.is_some_and(|seen| *seen != export["metadata"]["generation"]) {
                say("L9", format!("{wanted} is about another generation"));
            }
        }
    }
    found
}

fn is_eligible(service: &Value) -> bool {
    let spec = &service["spec"];
    spec["type"] != "ExternalName" && spec["clusterIP"] != "None"
}

/// A MultiClusterService is valid if its import is resolved and its Service is there.
fn imports(
    history: &History<'_>,
    moment: &Moment,
    (member, service): (&str, &str),
) -> Vec<Violation> {
    let mut found = Vec::new();
    let wishes = history.about(member, kinds::MULTI_CLUSTER_SERVICE, service);
    for (life, wish) in living(wishes, moment, service) {
        let valid = condition_status(wish, "Valid");
        if valid.is_empty() {
            found.extend(said("L8", life, moment, "no agent has looked at it"));
            continue;
        }
        let imports =
            living(history.about(member, kinds::SERVICE_IMPORT, service), moment, service);
        let resolved = imports.iter().any(|(_, import)| {
            let mut owners = list(import, "/metadata/ownerReferences");
            let ours = owners.any(|owner| text(owner, "/uid") == life.uid());
            ours && !exporters(import).is_empty()
        });
        let key = (SYSTEM_NAMESPACE, label(wish, labels::DERIVED_SERVICE));
        let mut derived = history.named(member, kinds::SERVICE, key);
        let expected = resolved && derived.any(|derived| derived.alive(moment.until()));
        if (valid == "True") != expected {
            let sentence = format!("Valid is {valid}, but what it needs is there: {expected}");
            found.extend(said("L9", life, moment, sentence));
        }
    }
    found
}

/// The hub's answer to an import is there exactly while the claim is, and something is exported.
fn grants(history: &History<'_>, moment: &Moment, service: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    let imports = living(history.about(HUB, kinds::SERVICE_IMPORT, service), moment, service);
    let asks = history.about(HUB, kinds::INTERNAL_SERVICE_IMPORT, service);
    for (life, ask) in living(asks, moment, service) {
        let granted = imports.iter().any(|(_, import)| {
            claimants(import).contains(life.namespace()) && !exporters(import).is_empty()
        });
        let answered = !exporters(ask).is_empty();
        if granted != answered {
            let sentence = format!("granted is {granted}, but its status is {answered}");
            found.extend(said("L9", life, moment, sentence));
        }
    }
    // S09, the other way: who exports without a conflict is named.
    let exports = history.about(HUB, kinds::INTERNAL_SERVICE_EXPORT, service);
    for (life, export) in living(exports, moment, service) {
        let accepted = condition_status(export, "Conflict") == "False";
        let named = imports.iter().any(|(_, import)| {
            exporters(import).iter().any(|one| member_namespace(one) == life.namespace())
        });
        if accepted != named {
            let sentence = format!("accepted is {accepted}, but the import names it: {named}");
            found.extend(said("S09", life, moment, sentence));
        }
    }
    found
}

/// L9: the time of a condition changes with its status, and not otherwise.
fn false_times(life: &Life<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    for (before, after) in life.changes() {
        if !after.author().is_agent() || after.is_end() {
            continue;
        }
        for now in list(after.object(), "/status/conditions") {
            let Some(then) = condition(before.object(), text(now, "/type")) else { continue };
            let same = now["status"] == then["status"];
            if same && now["lastTransitionTime"] != then["lastTransitionTime"] {
                let sentence = format!("{} has a new time, but no new status", text(now, "/type"));
                found.push(Violation::of("L9", life, after, sentence));
            }
        }
    }
    found
}
