//! What must be gone when nothing moves: S17 (nothing without its cause), L5 (deletions end).

use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace, member_of_namespace};
use fleet_api::{annotations, kinds};
use serde_json::Value;

use super::history::{HUB, History, Life};
use super::object::{
    annotation, copied_name, finalizers, is_imported_slice, list, subject, terminating, text,
};
use super::quiescence::{Moment, moments, takes_part};
use super::tenancy::claimants;
use super::violation::{Violation, said};

/// Start of the fleet's own finalizers.
const OURS: &str = "networking.fleet.azure.com/";

/// All of them.
pub(super) fn check(history: &History<'_>) -> Vec<Violation> {
    moments(history).iter().flat_map(|moment| at(history, moment)).collect()
}

/// All of them at one moment.
pub(super) fn at(history: &History<'_>, moment: &Moment) -> Vec<Violation> {
    let mut found = Vec::new();
    for service in history.services(&moment.namespace) {
        found.extend(on_hub(history, moment, service));
        for member in history.members() {
            found.extend(on_member(history, moment, (member, service)));
        }
    }
    found.extend(endless(history, moment));
    found
}

/// Whether an object about the Service is there that fits.
fn is_there<'b, 'a: 'b>(
    lives: impl IntoIterator<Item = &'b Life<'a>>,
    moment: &Moment,
    fits: impl Fn(&Life<'_>, &Value) -> bool,
) -> bool {
    let mut lives = lives.into_iter();
    lives.any(|life| life.at(moment.until()).is_some_and(|object| fits(life, object)))
}

fn on_hub(history: &History<'_>, moment: &Moment, service: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    let on_hub = |kind| history.about(HUB, kind, service);
    let here = |kind, namespace: &str| {
        is_there(on_hub(kind), moment, |life, _| life.namespace() == namespace)
    };
    let origin = |object: &Value| {
        let reference = &object["spec"]["endpointSliceReference"];
        (text(reference, "/clusterId").to_owned(), text(reference, "/uid").to_owned())
    };
    let mut orphans = |kind, why: &str, has_cause: &dyn Fn(&Life<'_>, &Value) -> bool| {
        for life in on_hub(kind) {
            let there = life.at(moment.until()).filter(|object| {
                subject(life.kind, object).as_deref() == Some(service) && !has_cause(life, object)
            });
            if there.is_some() {
                found.extend(said("S17", life, moment, why));
            }
        }
    };
    let member =
        |life: &Life<'_>| member_of_namespace(life.namespace()).unwrap_or_default().to_owned();
    orphans(kinds::INTERNAL_SERVICE_EXPORT, "no cluster exports it", &|life, _| {
        let member = member(life);
        let exports = history.about(&member, kinds::SERVICE_EXPORT, service);
        !history.knows(&member) || is_there(exports, moment, |_, one| !terminating(one))
    });
    orphans(kinds::INTERNAL_SERVICE_IMPORT, "no cluster imports it", &|life, _| {
        let member = member(life);
        let imports = history.about(&member, kinds::SERVICE_IMPORT, service);
        !history.knows(&member) || is_there(imports, moment, |_, _| true)
    });
    orphans(kinds::ENDPOINT_SLICE_EXPORT, "its slice is gone", &|life, object| {
        let member = member(life);
        let (_, uid) = origin(object);
        let slices = history.about(&member, kinds::ENDPOINT_SLICE, service);
        !history.knows(&member) || is_there(slices, moment, |slice, _| slice.uid() == uid)
    });
    orphans(kinds::ENDPOINT_SLICE_IMPORT, "its export or the claim is gone", &|life, object| {
        let home = member_namespace(&origin(object).0);
        let exported = is_there(on_hub(kinds::ENDPOINT_SLICE_EXPORT), moment, |one, _| {
            one.namespace() == home && one.name() == copied_name(life.name(), object)
        });
        let claimed = |_: &Life<'_>, import: &Value| claimants(import).contains(life.namespace());
        exported && is_there(on_hub(kinds::SERVICE_IMPORT), moment, claimed)
    });
    orphans(
        kinds::SERVICE_IMPORT,
        "no cluster exports it, or a claim has no request",
        &|_, import| {
            // A hub that is a member has imports of its own.
            let own = list(import, "/metadata/ownerReferences").next().is_some();
            let exported = is_there(on_hub(kinds::INTERNAL_SERVICE_EXPORT), moment, |_, _| true);
            let claims = claimants(import);
            let asked = |namespace: &String| here(kinds::INTERNAL_SERVICE_IMPORT, namespace);
            own || (exported && claims.iter().all(asked))
        },
    );
    found
}

fn on_member(
    history: &History<'_>,
    moment: &Moment,
    (member, service): (&str, &str),
) -> Vec<Violation> {
    let mut found = Vec::new();
    let home = member_namespace(member);
    for slice in history.about(member, kinds::ENDPOINT_SLICE, service) {
        let imported = slice.at(moment.until()).filter(|slice| is_imported_slice(slice));
        let copies = history.named(HUB, kinds::ENDPOINT_SLICE_IMPORT, (&home, slice.name()));
        let taken = is_there(copies, moment, |_, _| true);
        if imported.is_some() && !taken {
            found.extend(said("S17", slice, moment, "its import is gone"));
        }
    }
    for derived in history.about(member, kinds::SERVICE, service) {
        if derived.namespace() != SYSTEM_NAMESPACE {
            continue;
        }
        let Some(object) = derived.at(moment.until()) else { continue };
        let uid = annotation(object, annotations::MULTI_CLUSTER_SERVICE_UID);
        let imports = history.of_kind(member, kinds::MULTI_CLUSTER_SERVICE);
        if !uid.is_empty() && !is_there(imports, moment, |import, _| import.uid() == uid) {
            found.extend(said("S17", derived, moment, "its import is gone"));
        }
    }
    found
}

/// L5: nothing that only our finalizers hold is still going.
fn endless(history: &History<'_>, moment: &Moment) -> Vec<Violation> {
    let prefix = format!("{}/", moment.namespace);
    let mut found = Vec::new();
    for life in &history.lives {
        let Some(object) = life.at(moment.until()).filter(|object| terminating(object)) else {
            continue;
        };
        let about = subject(life.kind, object).is_some_and(|service| service.starts_with(&prefix));
        let held = finalizers(object);
        let ours = !held.is_empty() && held.iter().all(|finalizer| finalizer.starts_with(OURS));
        let member = if life.cluster == HUB {
            member_of_namespace(life.namespace()).unwrap_or_default()
        } else {
            life.cluster
        };
        let answers = member.is_empty() || takes_part(history, member, moment.until());
        if about && ours && answers {
            found.extend(said("L5", life, moment, "only our finalizers keep it"));
        }
    }
    found
}
