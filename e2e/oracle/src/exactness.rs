//! What importers have when nothing moves: S02 (exactly the ready endpoints), S06 (of accepted exporters only), S12 (bound
//! to a derived Service that is theirs); and L1 (in the end all of this holds).

use std::collections::{BTreeMap, BTreeSet};

use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use fleet_api::{annotations, kinds, labels};
use serde_json::Value;

use super::history::{HUB, History};
use super::object::{
    addresses, annotation, back_pointer, condition_status, exporters, is_imported_slice, label,
    ready, subject, terminating, text,
};
use super::quiescence::{Moment, moments, takes_part};
use super::violation::{Violation, said};
use super::{orphans, standard, truth};

/// All of them.
pub(super) fn check(history: &History<'_>) -> Vec<Violation> {
    let moments = moments(history);
    let mut found: Vec<Violation> = moments.iter().flat_map(|moment| at(history, moment)).collect();
    found.extend(in_the_end(history, &moments));
    found
}

fn at(history: &History<'_>, moment: &Moment) -> Vec<Violation> {
    let mut found = Vec::new();
    for service in history.services(&moment.namespace) {
        let carried = carried(history, moment, service);
        for member in history.members() {
            found.extend(endpoints(history, moment, (member, service), &carried));
            found.extend(bindings(history, moment, (member, service)));
        }
        found.extend(accepted_only(history, moment, service));
    }
    found
}

/// What every exporter has to offer, as far as its family of addresses travels at all.
fn carried(history: &History<'_>, moment: &Moment, service: &str) -> BTreeSet<String> {
    let until = moment.until();
    let imports = history.about(HUB, kinds::SERVICE_IMPORT, service);
    let mut carried = BTreeSet::new();
    for import in imports.filter_map(|import| import.at(until)) {
        for exporter in exporters(import) {
            if !history.knows(exporter) || !takes_part(history, exporter, until) {
                continue;
            }
            let slices = history.about(exporter, kinds::ENDPOINT_SLICE, service);
            let slices = slices.filter_map(|slice| slice.at(until)).filter(|slice| {
                subject(kinds::ENDPOINT_SLICE.kind, slice).as_deref() == Some(service)
                    && !is_imported_slice(slice)
                    && !terminating(slice)
                    && travels(history, text(slice, "/addressType"))
            });
            for slice in slices {
                carried
                    .extend(addresses(slice, "/endpoints", ready).into_iter().map(str::to_owned));
            }
        }
    }
    carried
}

/// Hubs whose CRDs are the original's know IPv4 only.
fn travels(history: &History<'_>, family: &str) -> bool {
    let exported = || {
        let mut exports = history.of_kind(HUB, kinds::ENDPOINT_SLICE_EXPORT);
        exports.any(|one| one.states().any(|one| text(one.object(), "/spec/addressType") == family))
    };
    family == "IPv4" || (family == "IPv6" && exported())
}

/// S02: a bound import has what is carried, no more and no less.
fn endpoints(
    history: &History<'_>,
    moment: &Moment,
    (member, service): (&str, &str),
    carried: &BTreeSet<String>,
) -> Vec<Violation> {
    let until = moment.until();
    let mut found = Vec::new();
    for wish in history.about(member, kinds::MULTI_CLUSTER_SERVICE, service) {
        let Some(object) = wish.at(until).filter(|wish| {
            !terminating(wish)
                && condition_status(wish, "Valid") == "True"
                && subject(kinds::MULTI_CLUSTER_SERVICE.kind, wish).as_deref() == Some(service)
        }) else {
            continue;
        };
        let derived = label(object, labels::DERIVED_SERVICE);
        let slices = history.about(member, kinds::ENDPOINT_SLICE, service);
        let bound = slices.filter_map(|slice| slice.at(until)).filter(|slice| {
            is_imported_slice(slice) && label(slice, labels::SERVICE_NAME) == derived
        });
        let mut has: BTreeSet<String> = BTreeSet::new();
        let mut origins: BTreeMap<String, &Value> = BTreeMap::new();
        for slice in bound {
            has.extend(addresses(slice, "/endpoints", ready).into_iter().map(str::to_owned));
            origins.insert(text(slice, "/metadata/name").to_owned(), slice);
        }
        if has != *carried {
            let missing: Vec<_> = carried.difference(&has).collect();
            let extra: Vec<_> = has.difference(carried).collect();
            let sentence = format!("it lacks {missing:?} and has {extra:?} too much");
            found.extend(said("S02", wish, moment, sentence));
        }
    }
    found
}

/// S06: what importers are given comes from members that the hub has accepted.
fn accepted_only(history: &History<'_>, moment: &Moment, service: &str) -> Vec<Violation> {
    let until = moment.until();
    let mut found = Vec::new();
    for copy in history.about(HUB, kinds::ENDPOINT_SLICE_IMPORT, service) {
        let Some(object) = copy.at(until).filter(|copy| !terminating(copy)) else { continue };
        let origin = text(object, "/spec/endpointSliceReference/clusterId");
        let mut imports = history.about(HUB, kinds::SERVICE_IMPORT, service);
        let named =
            imports.any(|one| one.at(until).is_some_and(|one| exporters(one).contains(origin)));
        let home = member_namespace(origin);
        let mut exports = history.about(HUB, kinds::INTERNAL_SERVICE_EXPORT, service);
        let accepted = exports.any(|one| {
            let is_accepted = |one: &Value| condition_status(one, "Conflict") == "False";
            one.namespace() == home && one.at(until).is_some_and(is_accepted)
        });
        if !named || !accepted {
            let sentence = format!("{origin} is no accepted exporter");
            found.extend(said("S06", copy, moment, sentence));
        }
    }
    found
}

/// S12: an imported slice hangs on a derived Service of an import of its own Service.
fn bindings(
    history: &History<'_>,
    moment: &Moment,
    (member, service): (&str, &str),
) -> Vec<Violation> {
    let until = moment.until();
    let mut found = Vec::new();
    for slice in history.about(member, kinds::ENDPOINT_SLICE, service) {
        let Some(object) = slice.at(until).filter(|slice| is_imported_slice(slice)) else {
            continue;
        };
        if annotation(object, annotations::FLEET_SERVICE) != service {
            continue;
        }
        let key = (SYSTEM_NAMESPACE, label(object, labels::SERVICE_NAME));
        let mut services = history.named(member, kinds::SERVICE, key);
        let bound = services.any(|derived| {
            let import = derived.at(until).filter(|one| !terminating(one)).and_then(back_pointer);
            import.is_some_and(|import| is_import_of(history, moment, (member, service), &import))
        });
        if !bound {
            found.extend(said(
                "S12",
                slice,
                moment,
                "it is bound to no derived Service of its own",
            ));
        }
    }
    found
}

fn is_import_of(
    history: &History<'_>,
    moment: &Moment,
    (member, service): (&str, &str),
    import: &str,
) -> bool {
    let mut imports = history.about(member, kinds::MULTI_CLUSTER_SERVICE, service);
    imports.any(|one| {
        format!("{}/{}", one.namespace(), one.name()) == import
            && one.at(moment.until()).is_some_and(|one| {
                subject(kinds::MULTI_CLUSTER_SERVICE.kind, one).as_deref() == Some(service)
            })
    })
}

/// L1: once users have done their last, everything comes to hold and stays so.
fn in_the_end(history: &History<'_>, moments: &[Moment]) -> Vec<Violation> {
    let mut found = Vec::new();
    for moment in moments.iter().filter(|moment| moment.last) {
        let mut broken = at(history, moment);
        broken.extend(orphans::at(history, moment));
        broken.extend(truth::at(history, moment));
        broken.extend(standard::at(history, moment));
        found.extend(broken.into_iter().map(|one| Violation {
            invariant: "L1",
            sentence: format!("in the end: {}: {}", one.invariant, one.sentence),
            ..one
        }));
    }
    found
}
