//! Preparing a member for Go agents, as a command that ends.
//!
//! Exported slices carry nothing of this agent (docs/design/rules.md#user-objects). A Go agent knows the copy of a slice
//! by an annotation on the slice, and takes every copy whose slice lacks it for a leftover: it would delete the copy and
//! export the slice anew under another name, a gap for every importer. So the annotation is written once, between the end
//! of this agent and the start of the other.

mod unknown;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use fleet_accumulator::ClusterId;
use fleet_api::v1alpha1::{EndpointSliceExport, InternalServiceExport, InternalServiceImport};
use fleet_api::{ObjectName, annotations, kinds};
use fleet_plan::json_patch::add;
use fleet_plan::{Action, Precondition, Step};
use fleet_runtime::clients::{self, ClientSet, HubAccess};
use fleet_runtime::metrics::Metrics;
use fleet_runtime::writer::{Failure, WriteGate, Writer, WriterSettings};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::Settings;

pub use unknown::unknown;

/// Attempts before the command gives up because slices keep changing.
const ROUNDS: usize = 10;

/// Annotates every exported slice that lacks the annotation, and prints a line for each.
///
/// # Errors
/// One line; what was written stays, and the command can be repeated.
pub async fn run(
    settings: &Settings,
    kubeconfig: Option<&Path>,
    hub: HubAccess,
) -> anyhow::Result<ExitCode> {
    let own = clients::own(kubeconfig).await?;
    let hub = hub.connect().await?;
    let metrics = Metrics::new("member-agent", env!("CARGO_PKG_VERSION"))?;
    let target = [(ClusterId::Local, own.write.clone())];
    let limits = WriterSettings::new("member-agent");
    let writer = Writer::new(target, limits, WriteGate::open(), metrics.writer());
    for _ in 0..ROUNDS {
        let (copies, steps) = look(settings, &own, &hub).await?;
        let outcome = writer.execute(&steps, &CancellationToken::new()).await;
        for (done, _) in &outcome.acknowledged {
            tell(&format!(
                "EndpointSlice {}: annotated with the name of its EndpointSliceExport",
                steps[*done].name
            ));
        }
        if let Some(failure) = outcome.failures.iter().find(|failure| !is_stale(failure)) {
            bail!("EndpointSlice {}: {}", steps[failure.step].name, failure.message);
        }
        if outcome.failures.is_empty() {
            tell(&format!("{copies} exported EndpointSlices are ready for a Go agent"));
            strangers(settings, &hub).await?.iter().for_each(|sentence| tell(sentence));
            return Ok(ExitCode::SUCCESS);
        }
    }
    bail!("EndpointSlices keep changing: stop the agents of this member, then repeat the command")
}

/// The number of EndpointSliceExports, and the writes that are missing.
async fn look(
    settings: &Settings,
    own: &ClientSet,
    hub: &ClientSet,
) -> anyhow::Result<(usize, Vec<Step>)> {
    let all = ListParams::default();
    let namespace = settings.identity.hub_namespace.as_str();
    let copies: Api<EndpointSliceExport> = Api::namespaced(hub.watch.clone(), namespace);
    let copies = copies.list(&all).await.context("list EndpointSliceExports on the hub")?.items;
    let slices: Api<EndpointSlice> = Api::all(own.watch.clone());
    let slices = slices.list(&all).await.context("list EndpointSlices")?.items;
    Ok((copies.len(), annotate(&slices, &copies)))
}

/// A sentence for each object on the hub that a Go agent does not find.
async fn strangers(settings: &Settings, hub: &ClientSet) -> anyhow::Result<Vec<String>> {
    let (all, namespace) = (ListParams::default(), settings.identity.hub_namespace.as_str());
    let exports: Api<InternalServiceExport> = Api::namespaced(hub.watch.clone(), namespace);
    let exports = exports.list(&all).await.context("list InternalServiceExports on the hub")?;
    let requests: Api<InternalServiceImport> = Api::namespaced(hub.watch.clone(), namespace);
    let requests = requests.list(&all).await.context("list InternalServiceImports on the hub")?;
    Ok(unknown(&exports.items, &requests.items))
}

/// Whether the slice changed after it was read: the next attempt reads it again.
fn is_stale(failure: &Failure) -> bool {
    failure.class.is_stale_view()
}

#[expect(clippy::print_stdout, reason = "what a command that ends did is its output")]
fn tell(line: &str) {
    println!("{line}");
}

/// The annotations that exported slices lack.
///
/// Slices of other address types than IPv4 are left out: Go agents do not export them, and would
/// never update or withdraw a copy that they keep.
pub fn annotate(slices: &[EndpointSlice], copies: &[EndpointSliceExport]) -> Vec<Step> {
    let mut names: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for copy in copies.iter().filter(|copy| copy.metadata.deletion_timestamp.is_none()) {
        let uid = copy.spec.0.endpoint_slice_reference.uid.as_str();
        names.entry(uid).or_default().push(copy.name_any());
    }
    let exported = slices.iter().filter(|slice| slice.address_type == "IPv4");
    exported
        .filter_map(|slice| {
            let names = names.get_mut(slice.metadata.uid.as_deref()?)?;
            names.sort_unstable();
            let seen = slice.annotations().get(annotations::FLEET_UNIQUE_NAME);
            let known = seen.is_some_and(|seen| names.contains(seen));
            if known { None } else { step(slice, names.first()?) }
        })
        .collect()
}

fn step(slice: &EndpointSlice, name: &str) -> Option<Step> {
    let metadata = &slice.metadata;
    let at = Precondition {
        uid: metadata.uid.as_deref()?.into(),
        version: metadata.resource_version.as_deref()?.into(),
    };
    let operations = if metadata.annotations.is_none() {
        vec![add(&["metadata", "annotations"], json!({ annotations::FLEET_UNIQUE_NAME: name }))]
    } else {
        vec![add(&["metadata", "annotations", annotations::FLEET_UNIQUE_NAME], json!(name))]
    };
    let place = ObjectName::new(metadata.namespace.as_deref()?, metadata.name.as_deref()?);
    let action = Action::Patch { operations, status: false, at };
    Some(Step::new(ClusterId::Local, kinds::ENDPOINT_SLICE, place, action))
}

#[cfg(test)]
mod tests {
    use fleet_api::v1alpha1::EndpointSliceExportSpec;
    use serde_json::Value;

    use super::*;

    fn slice(uid: &str, address_type: &str, annotations: &Value) -> EndpointSlice {
        let metadata = json!({ "namespace": "team", "name": "shop-x1", "uid": uid,
            "resourceVersion": "7", "annotations": annotations });
        let slice = json!({ "metadata": metadata, "addressType": address_type, "endpoints": [] });
        serde_json::from_value(slice).unwrap()
    }

    fn copy(name: &str, uid: &str) -> EndpointSliceExport {
        let mut copy = EndpointSliceExport::new(name, EndpointSliceExportSpec::default());
        copy.spec.0.endpoint_slice_reference.uid = uid.to_owned();
        copy
    }

    fn operations(slice: EndpointSlice, copies: &[EndpointSliceExport]) -> Vec<Value> {
        let steps = annotate(&[slice], copies).into_iter();
        let operations = |step: Step| match step.action {
            Action::Patch { operations, .. } => operations,
            other => panic!("{other:?}"),
        };
        steps.flat_map(operations).collect()
    }

    #[test]
    fn an_exported_slice_gets_the_name_of_its_copy() {
        let pointer = "/metadata/annotations/networking.fleet.azure.com~1fleet-unique-name";
        for (annotations, path) in [
            (json!(null), "/metadata/annotations"),
            (json!({}), pointer),
            (json!({ "note": "kept" }), pointer),
            (json!({ annotations::FLEET_UNIQUE_NAME: "of-another" }), pointer),
        ] {
            let patched = operations(slice("u1", "IPv4", &annotations), &[copy("c1", "u1")]);
            assert_eq!(patched.len(), 1);
            assert_eq!(patched[0]["path"], path, "{annotations}");
            assert!(patched[0]["value"].to_string().contains("c1"));
        }
    }

    #[test]
    fn a_slice_that_needs_nothing_is_left_alone() {
        let noted = json!({ annotations::FLEET_UNIQUE_NAME: "c1" });
        let mut going = copy("c1", "u1");
        going.metadata.deletion_timestamp =
            serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        for (slice, copy) in [
            (slice("u1", "IPv4", &noted), copy("c1", "u1")),
            (slice("u1", "IPv4", &json!(null)), copy("c1", "another")),
            (slice("u1", "IPv6", &json!(null)), copy("c1", "u1")),
            (slice("u1", "IPv4", &json!(null)), going),
        ] {
            assert_eq!(operations(slice, &[copy]), Vec::<Value>::new());
        }
    }
}
