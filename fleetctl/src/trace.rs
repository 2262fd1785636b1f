//! `fleetctl trace`: the path of endpoint changes, as the watches show it.

mod journey;
mod stages;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use fleet_accumulator::{
    Accumulator, Change, Object, Snapshot, SnapshotChange, SourceSet, Tracked, View,
};
use fleet_api::names::member_of_namespace;
use fleet_api::{ExportedSliceSpec, ObjectName, annotations, labels};
use fleet_model::objects::EndpointSlice;
use hub_agent::snapshot::HubSnapshot;
use member_agent::snapshot::MemberSnapshot;
use serde::Serialize;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::args::{Cli, TraceArgs};
use crate::gather::Watched;
use crate::output::{Format, Paint, answer, next_data, print, report, terminal};
use journey::{Hop, Sighting, Stage, Tracker};
use stages::wanted;

/// Follows changes until the requested number has arrived.
pub(crate) async fn run(cli: &Cli, args: &TraceArgs) -> Result<ExitCode> {
    let watched = Watched::start(&cli.access).await?;
    let wanted = wanted(&watched.picture(), &args.service)?;
    let places: BTreeSet<_> = wanted.values().flatten().collect();
    let places = places.into_iter().filter(|stage| **stage != Stage::Origin).count();
    // What is there already is read before the user is asked: a change would be taken for a part of it otherwise.
    let mut sightings = follow_all(&watched, &args.service).await;
    report(&format!(
        "Watching {} at {} stages; change its endpoints now.",
        args.service,
        places + 1
    ));
    let mut tracker = Tracker::new(wanted);
    let (mut done, paint) = (0, cli.output.paint());
    let deadline = Duration::from_secs(args.deadline);
    while args.count == 0 || done < args.count {
        let next = tokio::time::timeout(deadline, sightings.recv()).await;
        let Ok(Some(sighting)) = next else {
            return Ok(give_up(&tracker, args));
        };
        let Some(hop) = tracker.take(sighting) else { continue };
        done += usize::from(hop.last);
        print(&text_of(&hop, cli.output.format, paint)?)?;
    }
    Ok(answer(true))
}

fn give_up(tracker: &Tracker, args: &TraceArgs) -> ExitCode {
    let missing: Vec<_> = tracker.missing().into_iter().map(ToString::to_string).collect();
    if missing.is_empty() {
        report(&format!("No endpoint of {} changed within {} s.", args.service, args.deadline));
    } else {
        report(&format!(
            "Did not arrive within {} s: {}. To see where it stops: fleetctl explain service {}",
            args.deadline,
            missing.join("; "),
            args.service
        ));
    }
    answer(false)
}

async fn follow_all(watched: &Watched, service: &ObjectName) -> UnboundedReceiver<Sighting> {
    let (sender, receiver) = unbounded_channel();
    let asked = service.clone();
    follow(&watched.hub, &sender, move |step| on_hub(step, &asked)).await;
    for (name, member) in &watched.members() {
        let Ok((accumulator, _)) = &member.seen else { continue };
        let (asked, name, hub) = (service.clone(), name.clone(), watched.hub.clone());
        let seen = move |step: &_| on_member(step, &asked, &name, &hub.snapshot());
        follow(accumulator, &sender, seen).await;
    }
    receiver
}

/// Returns when what is there already is taken for known; what changes from then on is followed by a task.
async fn follow<S: Snapshot>(
    accumulator: &Accumulator<S>,
    sender: &UnboundedSender<Sighting>,
    sightings: impl Fn(&SnapshotChange<S>) -> Vec<Sighting> + Send + 'static,
) {
    let mut cursor = accumulator.cursor(SourceSet::EMPTY);
    let sender = sender.clone();
    let pass_on = move |step: &SnapshotChange<S>, known| {
        let mut seen = sightings(step).into_iter();
        seen.all(|sighting| sender.send(Sighting { known, ..sighting }).is_ok())
    };
    let Some(first) = cursor.next().await else { return };
    pass_on(&first, true);
    cursor.commit(first);
    tokio::spawn(async move {
        while let Some(step) = cursor.next().await {
            if !pass_on(&step, false) {
                return;
            }
            cursor.commit(step);
        }
    });
}

/// The objects of one view that differ, each with what is left of it.
fn changed<'a, S, T: Tracked>(
    step: &'a SnapshotChange<S>,
    view: impl Fn(&'a S) -> &'a View<T>,
) -> impl Iterator<Item = (&'a Object<T>, bool)> {
    step.diff(view).filter_map(|change| match change {
        Change::Removed(old) => Some((old, true)),
        change => change.new().map(|new| (new, false)),
    })
}

fn on_hub(step: &SnapshotChange<HubSnapshot>, service: &ObjectName) -> Vec<Sighting> {
    let exports = changed(step, |it: &HubSnapshot| &it.slice_exports);
    let exports = exports.filter_map(|(export, gone)| {
        let member = member_of_namespace(&export.name.namespace)?;
        sighting(step, "hub", Stage::Published, service, (&export.spec, member), gone)
    });
    let copies = changed(step, |it: &HubSnapshot| &it.slice_imports);
    let copies = copies.filter_map(|(copy, gone)| {
        let stage = Stage::Copied(member_of_namespace(&copy.name.namespace)?.to_owned());
        let origin = copy.spec.endpoint_slice_reference.cluster_id.as_str();
        sighting(step, "hub", stage, service, (&copy.spec, origin), gone)
    });
    exports.chain(copies).collect()
}

fn sighting(
    step: &SnapshotChange<HubSnapshot>,
    cluster: &str,
    stage: Stage,
    service: &ObjectName,
    (spec, member): (&ExportedSliceSpec, &str),
    gone: bool,
) -> Option<Sighting> {
    spec.owner_service_reference.object().filter(|of| of == service)?;
    let slice = (member.to_owned(), spec.endpoint_slice_reference.object()?);
    let addresses = spec.endpoints.iter().flat_map(|endpoint| &endpoint.addresses);
    let addresses = (!gone).then(|| sorted(addresses));
    let (at, cluster) = (step.received, cluster.to_owned());
    Some(Sighting { at, cluster, stage, slice, addresses, known: false })
}

/// Changes of the exporter's own and of imported EndpointSlices; the latter are named like their export.
fn on_member(
    step: &SnapshotChange<MemberSnapshot>,
    service: &ObjectName,
    name: &str,
    hub: &HubSnapshot,
) -> Vec<Sighting> {
    let slices = changed(step, |it: &MemberSnapshot| &it.endpoint_slices);
    let seen = |(object, gone): (&Object<EndpointSlice>, bool)| {
        let (stage, slice) = if object.imported_for().as_ref() == Some(service) {
            let stage =
                if object.is_imported_by_standard() { Stage::Imported } else { Stage::Arrived };
            (stage(name.to_owned()), origin(object, hub)?)
        } else {
            object.backs(&object.name.namespace).filter(|of| of == service)?;
            (Stage::Origin, (name.to_owned(), object.name.clone()))
        };
        let addresses = (!gone).then(|| sorted(object.ready.addresses()));
        let (at, cluster) = (step.received, name.to_owned());
        Some(Sighting { at, cluster, stage, slice, addresses, known: false })
    };
    slices.filter_map(seen).collect()
}

/// The exporter's slice that a slice was imported from. Export, copy and imported slice share one name, unless another member has
/// taken it.
fn origin(object: &Object<EndpointSlice>, hub: &HubSnapshot) -> Option<(String, ObjectName)> {
    let name = fleet_model::objects::named(&object.name.name);
    let exports = hub.slice_exports.by(&name).map(|export| &export.object.spec);
    let copies = hub.slice_imports.by(&name).map(|copy| &copy.object.spec);
    let source = object.meta.label(labels::MULTICLUSTER_SOURCE_CLUSTER);
    let mut specs = exports.chain(copies).filter(|spec| {
        source.is_none_or(|cluster| spec.endpoint_slice_reference.cluster_id == cluster)
    });
    let by_name = specs.next().or_else(|| {
        let (own, on_hub) = (annotations::SLICE_UID, annotations::SLICE_EXPORT_UID);
        let [own, on_hub] = [own, on_hub].map(|key| object.meta.annotation(key));
        let mut exports = hub.slice_exports.by(&object.imported_for()?);
        let export = exports.find(|export| match own {
            Some(uid) => export.spec.endpoint_slice_reference.uid == uid,
            None => on_hub.is_some_and(|uid| export.uid.is(uid)),
        });
        export.map(|export| &export.object.spec)
    });
    let reference = &by_name?.endpoint_slice_reference;
    Some((reference.cluster_id.clone(), reference.object()?))
}

/// The stages that a change passes, by exporter, for tests.
#[cfg(test)]
pub(crate) fn stages_of(
    picture: &crate::picture::Picture,
    service: &ObjectName,
) -> Result<std::collections::BTreeMap<String, Vec<String>>> {
    let wanted = wanted(picture, service)?.into_iter();
    let texts = |stages: BTreeSet<Stage>| stages.iter().map(ToString::to_string).collect();
    Ok(wanted.map(|(exporter, stages)| (exporter, texts(stages))).collect())
}

fn sorted(addresses: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
    let mut addresses: Vec<String> = addresses.into_iter().map(Into::into).collect();
    addresses.sort();
    addresses
}

/// A step, for JSON and YAML.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    milliseconds: f64,
    step_milliseconds: f64,
    cluster: &'a str,
    stage: String,
    slice: String,
    addresses: Option<&'a [String]>,
    last: bool,
}

fn text_of(hop: &Hop, format: Format, paint: Paint) -> Result<String> {
    let millis = |time: Duration| time.as_secs_f64() * 1000.0;
    let (since, step) = (millis(hop.since), millis(hop.step));
    let (cluster, stage) = (&hop.cluster, &hop.stage);
    let slice = format!("{}/{}", hop.slice.0, hop.slice.1);
    if matches!(format, Format::Json | Format::Yaml) {
        let (stage, addresses, last) = (stage.to_string(), hop.addresses.as_deref(), hop.last);
        let line = Line {
            milliseconds: since,
            step_milliseconds: step,
            cluster,
            stage,
            slice,
            addresses,
            last,
        };
        // One line or document per step, so that a program can read them as they arrive.
        return Ok(next_data(format, &line)?.unwrap_or_default());
    }
    let what = match &hop.addresses {
        None => "deleted".to_owned(),
        Some(addresses) if format == Format::Wide => format!("{} of {slice}", addresses.join(" ")),
        Some(addresses) => format!("{} ready", addresses.len()),
    };
    let times = format!("{since:8.1} ms  {step:>+8.1} ms");
    let seen = format!("{times}  {cluster:12}  {stage}: {what}");
    let mut text = terminal::line(&seen).into_owned() + "\n";
    if hop.last {
        text += &(paint.good(&format!("{since:8.1} ms  arrived everywhere")) + "\n");
    }
    Ok(text)
}
